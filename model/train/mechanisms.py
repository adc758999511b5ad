#!/usr/bin/env python3
"""Trains models of some 150,000 parameters that differ in nothing but their
attention, on finding pairs in random text, and has the engine run them.

    python3 -m venv venv && venv/bin/pip install torch numpy safetensors
    venv/bin/python mechanisms.py golden ../../tests/golden    # what is trained is what the engine's cases say
    venv/bin/python mechanisms.py train WORK KIND [--steps N] [--seed S]
    venv/bin/python mechanisms.py export WORK KIND             # WORK/KIND/{config.json,model.safetensors}
    venv/bin/python mechanisms.py ask WORK KIND --probe ../../build/probe [--times 1,4,16,64] [--count N]

KIND: full   causal attention to everything
      hils   HiLS: chunks of 8 slots, a window of 16, 4 chunks chosen, HoPE
      star   STAR: chunks of 8 tokens and a summary token, 4 chunks chosen
      hici   HiCI, causal, segments of 42 tokens, 8 slots, 4 global ones
      local  causal attention within STAR's chunks and nothing else

A text is random filler in which pairs lie hidden, a key and the two values after it; at the end stand questions: a mark and a
key; its two values are the answer.  *passkey*: one pair.  *multi-key*: six pairs, one asked for.  Training: 126 tokens, one to six
pairs, six questions, the loss on answers alone; the same steps, batches and seeds for every kind.
"""
import argparse
import json
import math
import os
import subprocess
import time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

KEYS, VALUES, FILLERS = 24, 24, 48
MARK = 2
FIRST_KEY, FIRST_VALUE, FIRST_FILLER = 3, 3 + KEYS, 3 + KEYS + VALUES
VOCABULARY = FIRST_FILLER + FILLERS + 1  # of the tokens that texts are made of
LENGTH, QUESTIONS, PAIRS = 126, 6, 6
WIDTH, LAYERS, HQ, HKV, D, HIDDEN = 64, 3, 4, 2, 16, 128
CHUNK, WINDOW, TOP_K, RANK = 8, 16, 4, 16
STAR_CHUNK, STAR_TOP_K = 8, 4
SEGMENT = 42
THETA, EPS = 10000.0, 1e-6
KINDS = ("full", "hils", "star", "hici", "local")


# ---- The task ----


def texts(rng, count, length, pairs, questions):
    """ids [count, length] and where an answer's tokens stand.  A question is [MARK, key, value, value]."""
    ids = rng.integers(FIRST_FILLER, FIRST_FILLER + FILLERS, (count, length))
    answer = np.zeros((count, length), bool)
    body = length - 4 * questions
    for row in range(count):
        n = pairs if isinstance(pairs, int) else int(rng.integers(pairs[0], pairs[1] + 1))
        keys = rng.permutation(KEYS)[:n] + FIRST_KEY
        values = rng.integers(FIRST_VALUE, FIRST_VALUE + VALUES, (n, 2))
        # places of three tokens that do not touch: n of (body - 2 n) positions, spread
        places = np.sort(rng.choice(body - 2 * n, n, replace=False)) + 2 * np.arange(n)
        for i in range(n):
            ids[row, places[i]:places[i] + 3] = keys[i], values[i, 0], values[i, 1]
        for j in range(questions):
            i = int(rng.integers(n))
            at = body + 4 * j
            ids[row, at:at + 4] = MARK, keys[i], values[i, 0], values[i, 1]
            answer[row, at + 2:at + 4] = True
    return ids, answer


# ---- Attention.  q [B, T, hq, d], k and v [B, N, hkv, d]: the equations of kernels/kernels.h, differentiable, all scores at once ----


def groups(k, hq):
    return k.repeat_interleave(hq // k.shape[2], 2)


def scores_of(q, k):
    """[B, hq, T, N]; queries of a group of heads share a product."""
    (_, t, hq, d), hkv = q.shape, k.shape[2]
    rows = (q / math.sqrt(d)).transpose(1, 2).unflatten(1, (hkv, hq // hkv)).flatten(2, 3)
    return (rows @ k.permute(0, 2, 3, 1)).unflatten(2, (-1, t)).flatten(1, 2)


def weighted(p, v, hq):
    t, hkv = p.shape[2], v.shape[2]
    out = p.unflatten(1, (hkv, hq // hkv)).flatten(2, 3) @ v.transpose(1, 2)
    return out.unflatten(2, (-1, t)).flatten(1, 2).transpose(1, 2)


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def masked_attention(q, k, v, seen):
    return weighted(scores_of(q, k).masked_fill(~seen, -torch.inf).softmax(-1), v, q.shape[2])


def summaries(k, proxy, chunk, landmark):
    """k [B, C chunk, hkv, d], proxy [B, C, hq, d] -> key [B, C, hq, d], bias [B, C, hq]."""
    b, c, hq, d = proxy.shape
    kc = groups(k, hq).reshape(b, c, chunk, hq, d)
    if landmark:
        kc = kc[:, :, :-1]
    s = torch.einsum("bcjhd,bchd->bchj", kc, proxy) / math.sqrt(d)
    p = s.softmax(-1)
    return torch.einsum("bchj,bcjhd->bchd", p, kc), -(p * F.log_softmax(s, -1)).sum(-1)


def hils_attention(q, qhat, k, v, key, bias, landmark, chunk, window, top_k, softmax1=False):
    """Query i stands at slot i.  landmark [N]: slots that nobody attends to."""
    b, n, hq, d = q.shape
    hkv, c = k.shape[2], key.shape[1]
    slot = torch.arange(n)
    left = torch.clamp(torch.div(slot - window + 1, chunk, rounding_mode="floor") * chunk, min=0)
    s = scores_of(q, k)
    inside = (slot[None] >= left[:, None]) & (slot[None] <= slot[:, None]) & ~landmark[None]
    own = s.masked_fill(~inside, -torch.inf)
    z_window = torch.logsumexp(own, -1)  # [b, hq, n]
    chunk_score = torch.einsum("bthd,bchd->bhtc", qhat, key) / math.sqrt(d) + bias.permute(0, 2, 1)[:, :, None]
    candidate = torch.arange(c)[None] < (left // chunk)[:, None]
    chunk_score = chunk_score.masked_fill(~candidate, -torch.inf)
    if c:
        total = torch.logaddexp(z_window, torch.logsumexp(chunk_score, -1))
        rank = (chunk_score - total[..., None]).detach().reshape(b, hkv, hq // hkv, n, c).amax(2)
        best = rank.topk(min(top_k, c), -1)
        chosen = torch.zeros_like(rank, dtype=torch.bool).scatter_(-1, best.indices, True) & (rank > -torch.inf)
        chosen = chosen.repeat_interleave(hq // hkv, 1)
        kept = chunk_score.masked_fill(~chosen, -torch.inf)
        z = torch.logaddexp(z_window, torch.logsumexp(kept, -1))
    else:
        z = z_window
    if softmax1:
        z = torch.logaddexp(z, torch.zeros(()))
    out = weighted((own - z[..., None]).exp(), v, hq)
    if c:
        within = s[..., :c * chunk].masked_fill(landmark[:c * chunk], -torch.inf).reshape(b, hq, n, c, chunk).softmax(-1)
        p = within * (kept - z[..., None]).exp()[..., None]
        out = out + weighted(p.reshape(b, hq, n, c * chunk), v[:, :c * chunk], hq)
    return out


def chunk_attention(q, k, v, chunk):
    """Causal attention in each chunk."""
    n = q.shape[1]
    cut = lambda t: F.pad(t, (0, 0, 0, 0, 0, -n % chunk)).unflatten(1, (-1, chunk)).flatten(0, 1)
    out = masked_attention(cut(q), cut(k), cut(v), causal(chunk))  # what pads the last chunk is after all its queries
    return out.unflatten(0, (len(q), -1)).flatten(1, 2)[:, :n]


def star_attention(q, k, v, gate, chunk, top_k, last=None):
    """A chunk is `chunk` slots, the last its summary token.  `last`: of so many queries alone, all behind the first chunk."""
    n, hq = q.shape[1], q.shape[2]
    own, c = chunk_attention(q, k, v, chunk), n // chunk
    if n <= chunk:
        return own
    first = n - last if last else chunk
    s = scores_of(q[:, first:], k[:, :c * chunk])  # of the queries that have a chunk before theirs
    before = torch.arange(c)[None] < torch.arange(first, n)[:, None] // chunk
    alpha = s[..., chunk - 1::chunk].masked_fill(~before, -torch.inf).softmax(-1)
    best = alpha.detach().masked_fill(~before, -1.0).topk(min(top_k, c), -1)
    chosen = torch.zeros_like(alpha, dtype=torch.bool).scatter_(-1, best.indices, True) & before
    bar = torch.zeros_like(alpha).masked_fill_(~chosen, -torch.inf)[..., None]
    fine = (s.unflatten(-1, (c, chunk)) + bar).flatten(-2).softmax(-1)
    coarse = weighted(alpha, v[:, chunk - 1::chunk][:, :c], hq)
    g = gate.softmax(-1)
    far = g[0] * own[:, first:] + g[1] * coarse + g[2] * weighted(fine, v[:, :c * chunk], hq)
    return far if last else torch.cat((own[:, :chunk], far), 1)


class HiciContext(nn.Module):
    """Local construction and global integration (HiCI eq. 1-10): x [B, S, n, D] -> what each segment is shown, causally."""

    def __init__(self, width=WIDTH, slots=8, queries=4, heads=4, a=32, s=16, b=32):
        super().__init__()
        line = lambda i, o: nn.Linear(i, o, bias=False)
        self.heads = heads
        self.memory_slots = nn.Parameter(torch.randn(slots, width) * 0.5)
        self.lq, self.lk, self.lv, self.lo = line(width, a), line(width, a), line(width, a), line(a, width)
        self.gc, self.gb, self.ge = line(width, s), line(s, b), line(b, width)
        self.gc_norm, self.gb_norm = nn.LayerNorm(s), nn.LayerNorm(b)
        self.query = nn.Parameter(torch.randn(queries, b) * 0.5)
        self.gq, self.gk, self.gv, self.go = line(b, b), line(b, b), line(b, b), line(b, b)
        self.beta = nn.Parameter(torch.zeros(1))

    def attend(self, q, k, v):
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        q, k, v = split(q), split(k), split(v)
        p = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        return (p @ v).transpose(-2, -3).flatten(-2)

    def local(self, x):
        return self.lo(self.attend(self.lq(self.memory_slots), self.lk(x), self.lv(x)))

    def integrate(self, slots):
        """slots [..., n, D] -> G [..., queries, D]."""
        mean = slots.mean(-2)
        deviation = torch.clamp((slots - mean[..., None, :]).pow(2).mean(-2), min=1e-12).sqrt()
        stats = torch.stack((mean, slots.amax(-2), slots.amin(-2), deviation, mean / torch.clamp(mean.norm(dim=-1, keepdim=True), min=1e-6)), -2)
        h = self.gb_norm(self.gb(self.gc_norm(self.gc(stats))))
        return self.ge(self.go(self.attend(self.gq(self.query), self.gk(h), self.gv(h)))) * F.softplus(self.beta)

    def forward(self, x, causal=True):
        local = self.local(x)  # [B, S, slots, D]
        count = x.shape[1]
        if not causal:
            g = self.integrate(local.flatten(1, 2))
            return local, g, torch.cat((g[:, None].expand(-1, count, -1, -1), local), 2)
        shown = [torch.zeros_like(torch.cat((local[:, 0, :self.query.shape[0]], local[:, 0]), 1))]
        for i in range(1, count):
            shown.append(torch.cat((self.integrate(local[:, :i].flatten(1, 2)), local[:, i - 1]), 1))
        return local, None, torch.stack(shown, 1)


def hici_attention(q, k, v, slot_k, slot_v, first_sees_none):
    """q, k, v [B, S, n, h, d]; slot_k, slot_v [B, S, shown, h, d]."""
    b, s, n, hq, d = q.shape
    flat = lambda t: t.flatten(0, 1)
    shown = slot_k.shape[2]
    seen = torch.cat((torch.ones(n, shown, dtype=torch.bool), causal(n)), 1).expand(s, n, n + shown).clone()
    if first_sees_none:
        seen[0, :, :shown] = False
    seen = seen.expand(b, s, n, n + shown).flatten(0, 1)[:, None]
    out = masked_attention(flat(q), torch.cat((flat(slot_k), flat(k)), 1), torch.cat((flat(slot_v), flat(v)), 1), seen)
    return out.unflatten(0, (b, s))


# ---- The model ----


def frequencies(hope_context):
    f = THETA ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    if hope_context:
        keep = f >= 2 * math.pi / hope_context
        keep[0] = True
        f = f * keep
    return f


def rotary(x, position, frequency):
    angle = (position[:, None].double() * frequency).float()[:, None]
    one, two = x.chunk(2, -1)
    return torch.cat((one * angle.cos() - two * angle.sin(), two * angle.cos() + one * angle.sin()), -1)


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def inserted(ids, every, extra):
    """After every `every` tokens the token `extra`."""
    b, n = ids.shape
    whole = n // every * every
    head = ids[:, :whole].reshape(b, -1, every)
    head = torch.cat((head, torch.full_like(head[..., :1], extra)), -1).reshape(b, -1)
    return torch.cat((head, ids[:, whole:]), 1)


def kept(n, every):
    """Where the tokens of a text of n stand once others are inserted."""
    i = torch.arange(n)
    return i + i // every


class Layer(nn.Module):
    def __init__(self, kind):
        super().__init__()
        line = lambda i, o: nn.Linear(i, o, bias=False)
        self.kind = kind
        self.input_layernorm, self.post_attention_layernorm = (nn.Parameter(torch.ones(WIDTH)) for _ in range(2))
        self.q_norm, self.k_norm = (nn.Parameter(torch.ones(D)) for _ in range(2))
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = line(WIDTH, HQ * D), line(WIDTH, HKV * D), line(WIDTH, HKV * D), line(HQ * D, WIDTH)
        self.gate_proj, self.up_proj, self.down_proj = line(WIDTH, HIDDEN), line(WIDTH, HIDDEN), line(HIDDEN, WIDTH)
        if kind == "hils":
            self.lmk_down, self.lmk_up = line(WIDTH, RANK), line(RANK, HQ * D)
            self.lmk_q_norm = nn.Parameter(torch.ones(HQ * D))
        if kind == "star":
            self.gate = nn.Parameter(torch.zeros(3))
        if kind == "hici":
            self.context = HiciContext()

    def attention(self, h, position, frequency, landmark, last):
        heads = lambda t, n: t.unflatten(-1, (n, D))
        b, n, _ = h.shape
        raw = self.q_proj(h)
        q, k, v = rms(heads(raw, HQ), self.q_norm), rms(heads(self.k_proj(h), HKV), self.k_norm), heads(self.v_proj(h), HKV)
        q, k = rotary(q, position, frequency), rotary(k, position, frequency)
        if self.kind == "full":
            return masked_attention(q if last is None else q[:, -last:], k, v, causal(n) if last is None else causal(n)[-last:])
        if self.kind == "local":
            return chunk_attention(q, k, v, STAR_CHUNK + 1)
        if self.kind == "star":
            return star_attention(q, k, v, self.gate, STAR_CHUNK + 1, STAR_TOP_K, last)
        if self.kind == "hils":
            qhat = rotary(heads(rms(raw + self.lmk_up(self.lmk_down(h)), self.lmk_q_norm), HQ), position, frequency)
            c = n // CHUNK
            key, bias = summaries(k[:, :c * CHUNK], qhat[:, CHUNK - 1::CHUNK][:, :c], CHUNK, True)
            return hils_attention(q, qhat, k, v, key, bias, landmark, CHUNK, WINDOW, TOP_K)
        s = n // SEGMENT  # hici: whole segments alone in training
        cut = lambda t: t.unflatten(1, (s, SEGMENT))
        _, _, shown = self.context(cut(h))
        slot_k = rms(heads(self.k_proj(shown), HKV), self.k_norm)
        return hici_attention(cut(q), cut(k), cut(v), slot_k, heads(self.v_proj(shown), HKV), True).flatten(1, 2)

    def forward(self, x, position, frequency, landmark, last):
        h = rms(x, self.input_layernorm)
        mixed = self.attention(h, position, frequency, landmark, last).flatten(-2)
        if last:
            x, mixed = x[:, -last:], mixed[:, -last:]
        x = x + self.o_proj(mixed)
        h = rms(x, self.post_attention_layernorm)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Model(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.embed = nn.Embedding(VOCABULARY + 1, WIDTH)  # the last row: the landmark or summary token
        nn.init.normal_(self.embed.weight, std=0.5)
        self.layers = nn.ModuleList(Layer(kind) for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.ones(WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.frequency = frequencies(LENGTH if kind == "hils" else 0)

    def forward(self, ids, last=None):
        """Logits; `last`: of so many tokens alone, of a text of more than a chunk."""
        n = ids.shape[1]
        place = torch.arange(n)
        if self.kind == "hils":
            ids, place = inserted(ids, CHUNK - 1, VOCABULARY), kept(n, CHUNK - 1)
        if self.kind in ("star", "local"):
            ids, place = inserted(ids, STAR_CHUNK, VOCABULARY), kept(n, STAR_CHUNK)
        slot = torch.arange(ids.shape[1])
        position = slot - slot // CHUNK if self.kind == "hils" else slot
        landmark = slot % CHUNK == CHUNK - 1
        x, count = self.embed(ids), len(slot)
        rows = count - place[-last].item() if last else None
        for layer in self.layers:
            x = layer(x, position, self.frequency, landmark, rows if layer is self.layers[-1] else None)
        if last:
            place = place[-last:] - (count - rows)
        return self.head(rms(x[:, place], self.norm))


# ---- Commands ----


def golden(folder):
    """The attention above against the cases that the engine passes."""
    worst = 0.0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        with safe_open(os.path.join(folder, name), "pt") as f:
            meta, t = f.metadata(), {k: f.get_tensor(k) for k in f.keys()}
        one = lambda k: t["in." + k][None].double()
        op = meta["op"]
        if op == "hils_attention" and meta["mode"] == "hils":
            # every slot has a query in these cases but where positions say otherwise
            if not torch.equal(t["in.position"], torch.arange(len(t["in.q"]), dtype=torch.int32)):
                continue
            got = hils_attention(one("q"), one("qhat"), one("k"), one("v"), one("summary_key"), one("summary_bias"), t["in.landmark"] != 0,
                                 int(meta["chunk"]), int(meta["window"]), int(meta["top_k"]), meta["softmax1"] == "1")[0]
        elif op == "star_attention":
            got = star_attention(one("q"), one("k"), one("v"), t["in.gate"].double(), int(meta["chunk"]), int(meta["top_k"]))[0]
        elif op == "chunk_summary":
            c, chunk = len(t["in.proxy_query"]), int(meta["chunk"])
            key, bias = summaries(one("k")[:, :c * chunk], one("proxy_query"), chunk, meta["landmark"] == "1")
            error = (bias[0] - t["out.summary_bias"]).abs().max() / t["out.summary_bias"].abs().max()
            worst = max(worst, error.item())
            got, t["out.out"] = key[0], t["out.summary_key"]
        elif op == "hici_prefill":
            x, causal_ = t["in.x"].double(), meta["causal"] == "1"
            width, a, s, b = x.shape[2], t["in.l_wq"].shape[1], t["in.g_wc"].shape[1], t["in.g_wb"].shape[1]
            m = HiciContext(width, len(t["in.slots"]), len(t["in.g_q"]), int(meta["heads"]), a, s, b).double()
            with torch.no_grad():
                for field, line in dict(lq="l_wq", lk="l_wk", lv="l_wv", lo="l_wo", gc="g_wc", gb="g_wb", ge="g_wexp", gq="g_wq", gk="g_wk",
                                        gv="g_wv", go="g_wo").items():
                    getattr(m, field).weight.copy_(t["in." + line].T)
                for field, line in dict(memory_slots="slots", query="g_q", beta="g_beta").items():
                    getattr(m, field).copy_(t["in." + line])
                for norm in "cb":
                    getattr(m, f"g{norm}_norm").weight.copy_(t[f"in.g_ln{norm}_w"])
                    getattr(m, f"g{norm}_norm").bias.copy_(t[f"in.g_ln{norm}_b"])
                _, _, shown = m(x[None], causal_)
                heads = lambda y: y.unflatten(-1, (int(meta["heads"]), -1))
                q, k, v = (heads(x[None] @ t["in.b_w" + n].double()) for n in "qkv")
                sk, sv = (heads(shown @ t["in.b_w" + n].double()) for n in "kv")
                got = hici_attention(q, k, v, sk, sv, causal_)[0].flatten(-2)
        else:
            continue
        error = ((got - t["out.out"]).abs().max() / t["out.out"].abs().max()).item()
        print(f"{name:40} {error:.1e}")
        worst = max(worst, error)
    if worst > 1e-4:
        raise SystemExit(f"the worst is {worst:.1e}: not what the engine computes")


def accuracy(model, rng, pairs, count=64):
    ids, answer = texts(rng, count, LENGTH, pairs, 1)
    with torch.no_grad():
        said = model(torch.from_numpy(ids)).argmax(-1).numpy()[:, :-1]
    right = (said == ids[:, 1:]) | ~answer[:, 1:]
    return right.all(1).mean()


def train(work, kind, steps, seed, rate, batch):
    os.makedirs(work, exist_ok=True)
    torch.manual_seed(seed)
    rng, check = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    model = Model(kind)
    count = sum(p.numel() for p in model.parameters())
    optimiser = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.01)
    start, spent, log = time.time(), time.process_time(), open(os.path.join(work, kind + ".jsonl"), "w")
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, step / 100) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        ids, answer = texts(rng, batch, LENGTH, (1, 2) if step < steps * 0.1 else (1, PAIRS), QUESTIONS)
        ids, answer = torch.from_numpy(ids), torch.from_numpy(answer)
        end = 4 * QUESTIONS  # tokens, of which some are answers
        asked = answer[:, 1 - end:]
        logits = model(ids, end)[:, :-1][asked]
        loss = F.cross_entropy(logits, ids[:, 1 - end:][asked])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0 or step == steps:
            line = dict(kind=kind, parameters=count, step=step, loss=round(loss.item(), 4), passkey=accuracy(model, check, 1),
                        multikey=accuracy(model, check, PAIRS), seconds=round(time.time() - start), cpu=round(time.process_time() - spent))
            print(json.dumps(line), flush=True)
            print(json.dumps(line), file=log, flush=True)
            torch.save(model.state_dict(), os.path.join(work, kind + ".pt"))


def export(work, kind):
    """As the engine reads it: model/inference/sparse_config.h and model/weights/weights.h say the keys and names."""
    state = torch.load(os.path.join(work, kind + ".pt"))
    folder = os.path.join(work, kind)
    os.makedirs(folder, exist_ok=True)
    config = dict(model_type="qwen3", hidden_size=WIDTH, num_attention_heads=HQ, num_key_value_heads=HKV, head_dim=D, num_hidden_layers=LAYERS,
                  intermediate_size=HIDDEN, rms_norm_eps=EPS, vocab_size=VOCABULARY, tie_word_embeddings=False, rope_theta=THETA,
                  max_position_embeddings=1 << 17, hidden_act="silu", attention_bias=False, eos_token_id=0)
    embed, head, tensors = state["embed.weight"], state["head.weight"], {}
    if kind == "hils":
        config.update(model_type="qwen_hils", chunk_size=CHUNK, hils_sliding_window=WINDOW, hils_topk=TOP_K, full_attn_interleave=1, num_swa_layers=0,
                      enable_lmk_q_proj=True, lmk_q_lora_dim=RANK, layerwise_lmkq_norm=True, apply_hils_rope=True, enable_inrange_rope=True,
                      rope_context_length=LENGTH, rope_period_multiplier=1.0, insert_landmarks=True, enable_softmax1=False)
        padded = torch.zeros((VOCABULARY + 32) // 32 * 32, WIDTH)
        padded[:VOCABULARY + 1] = embed
        tensors["model.embed_tokens.weight"] = padded
        tensors["lm_head.weight"] = F.pad(head, (0, 0, 0, len(padded) - VOCABULARY))
    else:
        tensors["model.embed_tokens.weight"], tensors["lm_head.weight"] = embed[:VOCABULARY].clone(), head
    if kind in ("star", "local"):
        config["lectern_attention"] = dict(kind="star", chunk=STAR_CHUNK + 1, top_k=STAR_TOP_K)
        tensors["lectern.star.summary"] = embed[VOCABULARY].clone()
        gate = [state.get(f"layers.{i}.gate", torch.tensor([60.0, 0.0, 0.0])) for i in range(LAYERS)]
        tensors["lectern.star.gate"] = torch.stack(gate)
    if kind == "hici":
        config["lectern_attention"] = dict(kind="hici", segment=SEGMENT, heads=4, causal=True)
    tensors["model.norm.weight"] = state["norm"]
    names = {"lmk_down.weight": "self_attn.lmk_q_proj.0.weight", "lmk_up.weight": "self_attn.lmk_q_proj.1.weight", "lmk_q_norm": "self_attn.lmk_q_norm.weight"}
    names.update({f"{n}_proj.weight": f"self_attn.{n}_proj.weight" for n in "qkvo"})
    names.update({f"{n}_norm": f"self_attn.{n}_norm.weight" for n in "qk"})
    names.update({f"{n}_proj.weight": f"mlp.{n}_proj.weight" for n in ("gate", "up", "down")})
    names.update({n: n + ".weight" for n in ("input_layernorm", "post_attention_layernorm")})
    local, whole = "self_attn.local_constructor.", "self_attn.global_integrator."
    names.update({"context.memory_slots": local + "memory_slots", "context.query": whole + "global_queries", "context.beta": whole + "expand_scale_param",
                  "context.gc.weight": whole + "shared_compressor.0.weight", "context.gb.weight": whole + "stat_expand.0.weight",
                  "context.ge.weight": whole + "expand.weight"})
    for part in ("weight", "bias"):
        names[f"context.gc_norm.{part}"], names[f"context.gb_norm.{part}"] = whole + f"shared_compressor.1.{part}", whole + f"stat_expand.1.{part}"
    for n in "qkvo":
        names[f"context.l{n}.weight"], names[f"context.g{n}.weight"] = local + f"{n}_proj.weight", whole + f"{n}_proj.weight"
    for name, tensor in state.items():
        if name.startswith("layers.") and not name.endswith(".gate"):
            _, layer, part = name.split(".", 2)
            tensors[f"model.layers.{layer}.{names[part]}"] = tensor
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=2)


def engine_says(probe, folder, ids, steps):
    """The logits after each of `ids`, the last `steps` of which are read one by one."""
    out = os.path.join(folder, f"logits.{os.getpid()}")
    subprocess.run([probe, "logits", "--model", folder, "--ids", ",".join(map(str, ids)), "--decode", str(steps), "--out", out], check=True)
    with safe_open(out, "pt") as f:
        logits = f.get_tensor("logits")[:, :VOCABULARY]
    os.remove(out)
    return logits


def ask(work, kind, probe, times, count, seed):
    """Shares of right answers by the engine, and how far its logits are from the training code's where that can read as much."""
    folder, model = os.path.join(work, kind), Model(kind)
    model.load_state_dict(torch.load(os.path.join(work, kind + ".pt")))
    for many in times:
        for task, pairs in (("passkey", 1), ("multi-key", PAIRS)):
            rng, right, apart = np.random.default_rng(seed + many), 0, 0.0
            for _ in range(count):
                ids, answer = (t[0] for t in texts(rng, 1, LENGTH * many, pairs, 1))
                logits = engine_says(probe, folder, ids[:-1], 0 if kind == "hici" else 1)  # HiCI reads finished texts
                right += bool((logits.argmax(-1).numpy() == ids[1:])[answer[1:]].all())
                if many == 1:
                    with torch.no_grad():
                        expected = model(torch.from_numpy(ids)[None])[0, :-1]
                    new = ((logits - expected).abs().max() / expected.abs().max()).item()
                    apart = max(apart, new) if math.isfinite(new) else math.inf
            line = dict(kind=kind, task=task, tokens=LENGTH * many, right=right / count, of=count)
            if many == 1:
                line["logits_apart"] = apart
            print(json.dumps(line), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("command", choices=("golden", "train", "export", "ask"))
    p.add_argument("work")
    p.add_argument("kind", nargs="?", choices=KINDS)
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rate", type=float, default=2e-3)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--probe")
    p.add_argument("--times", default="1,4,16,64")
    p.add_argument("--count", type=int, default=100)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    if o.command == "golden":
        golden(o.work)
    elif o.command == "train":
        train(o.work, o.kind, o.steps, o.seed, o.rate, o.batch)
    elif o.command == "export":
        export(o.work, o.kind)
    else:
        ask(o.work, o.kind, o.probe, [int(t) for t in o.times.split(",")], o.count, o.seed)


if __name__ == "__main__":
    main()
