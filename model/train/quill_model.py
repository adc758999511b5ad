"""Quill: a decoder of the Qwen3 kind whose layers all attend by HiLS, and what Lectern's memories need besides.

After every chunk - 1 tokens a landmark is inserted; a token attends to the slots of its window and to the top_k chunks before
it whose summary keys, made of the landmarks' calibrated queries, it likes best (Hierarchical Sparse Attention Done Right; the
equations stand in kernels/kernels.h).  Attention is computed a block of queries after the other, each recomputed for its
gradient, so that a context of 8 K fits; it is torch alone, on a CPU or a GPU.

A text's vector is made by the first layers alone (config.json's lectern_memory_layers); the others, and a head of their own, only write.
So they can be learned without moving a memory: `freeze`.

Sizes: SIZES.  Names of tensors and keys of config.json: model/weights/weights.h and model/inference/sparse_config.h.  Soft tokens: E_t(X) is the final
state, after the last norm, at the last position of [t; X; t].
"""
import json
import math
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.utils.checkpoint import checkpoint

END, PAD = 0, 1
EPS, THETA = 1e-6, 10000.0
PERIODS = 2.0
AT_ONCE, LENGTHS = 32, (32, 130, 258, 514)  # texts whose shape is to be one of few
NEVER = -1e30  # a score that nothing is left of, finite so that its gradient is 0

# What a token reads, and the positions that HoPE is for: Quill's, and an eighth of all that, so that rows of 1,024 tokens choose.
READS = dict(chunk=64, window=512, top_k=32, context=8192)
EIGHTH = dict(chunk=16, window=64, top_k=16, context=1024)

# width, layers, those of them that make memories, query heads, key-value heads, feed-forward, rank of the calibration, widths of recall and of pooling
SIZES = {
    "tiny": dict(width=64, layers=4, memory=3, hq=4, hkv=2, head=16, inner=128, rank=8, recall=32, pool=16, **READS),
    "scaled": dict(width=128, layers=4, memory=3, hq=4, hkv=2, head=32, inner=320, rank=16, recall=64, pool=32, **EIGHTH),
    "cpu": dict(width=256, layers=8, memory=3, hq=4, hkv=2, head=64, inner=704, rank=32, recall=256, pool=64, **READS),
    "gpu": dict(width=384, layers=10, memory=4, hq=6, hkv=2, head=64, inner=1088, rank=64, recall=256, pool=64, **READS),
}


def frequencies(s, full):
    """HoPE: what turns less than PERIODS times in the context does not turn."""
    f = THETA ** (-torch.arange(0, s["head"], 2, dtype=torch.float64) / s["head"])
    return f if full else f * (f >= 2 * math.pi * PERIODS / s["context"])


def rms(x, weight):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPS) * weight.float()).to(x.dtype)


def rotary(x, cos, sin):
    """x [B, n, h, d]; cos and sin [n, 1, d / 2]."""
    one, two = x.chunk(2, -1)
    return torch.cat((one * cos - two * sin, two * cos + one * sin), -1).to(x.dtype)


def grouped(q, hkv):
    """[B, n, hq, d] -> [B, hkv, hq / hkv, n, d]"""
    return q.unflatten(2, (hkv, -1)).permute(0, 2, 3, 1, 4)


def summaries(k, proxy, chunk):
    """k [B, C chunk, hkv, d], proxy [B, C, hq, d] -> key [B, hkv, g, C, d], bias [B, hkv, g, C]: each chunk's keys but the
    landmark's, by the landmark's query, and the entropy of that."""
    hkv, d = k.shape[2], k.shape[3]
    kc = k.unflatten(1, (-1, chunk))[:, :, :-1].permute(0, 3, 1, 2, 4)[:, :, None]  # [B, hkv, 1, C, chunk - 1, d]
    s = (kc.float() * grouped(proxy, hkv)[..., None, :].float()).sum(-1) / math.sqrt(d)
    log_p = s.log_softmax(-1)
    p = log_p.exp()
    return (p[..., None] * kc.float()).sum(-2), -(p * log_p).sum(-1)


def block_attention(q, qhat, k, v, key, bias, first, chunk, window, top_k):
    """Queries of the slots from `first` on: q, qhat [B, t, hq, d]; k, v [B, first + t, hkv, d], the last slot of a chunk being
    a landmark's; key and bias of `summaries` -> [B, t, hq, d]."""
    b, t, hq, d = q.shape
    hkv, scale, device = k.shape[2], 1 / math.sqrt(d), q.device
    slot = torch.arange(first, first + t, device=device)
    left = torch.clamp(torch.div(slot - window + 1, chunk, rounding_mode="floor") * chunk, min=0)
    begin = max(0, (first - window + 1) // chunk * chunk)
    count = max(0, (first + t - window) // chunk)  # chunks that the last query does not have in its window
    qg = grouped(q, hkv)
    kt, vt = k.permute(0, 2, 1, 3)[:, :, None], v.permute(0, 2, 1, 3)[:, :, None]
    there = torch.arange(begin, first + t, device=device)
    inside = (there >= left[:, None]) & (there <= slot[:, None]) & (there % chunk != chunk - 1)
    own = (qg @ kt[..., begin:, :].transpose(-1, -2)).float() * scale
    own = own.masked_fill(~inside, NEVER)
    z = torch.logsumexp(own, -1)
    if count:
        score = (grouped(qhat, hkv).float() @ key[..., :count, :].transpose(-1, -2)) * scale + bias[..., None, :count]
        candidate = torch.arange(count, device=device) < (left // chunk)[:, None]
        score = score.masked_fill(~candidate, NEVER)
        if count > top_k:
            total = torch.logaddexp(z, torch.logsumexp(score, -1))
            rank = (score - total[..., None]).detach().amax(2, keepdim=True)
            best = rank.sort(dim=-1, descending=True, stable=True).indices[..., :top_k]  # of equals the first, as in the engine
            chosen = torch.zeros_like(rank, dtype=torch.bool).scatter_(-1, best, True)
            score = score.masked_fill(~chosen, NEVER)
        z = torch.logaddexp(z, torch.logsumexp(score, -1))
    out = (own - z[..., None]).exp().to(v.dtype) @ vt[..., begin:, :]
    if count:
        s = (qg @ kt[..., :count * chunk, :].transpose(-1, -2)).float() * scale
        s = s.unflatten(-1, (count, chunk))
        s = torch.cat((s[..., :-1], torch.full_like(s[..., -1:], NEVER)), -1).softmax(-1)
        p = (s * (score - z[..., None]).exp()[..., None]).flatten(-2)
        out = out + p.to(v.dtype) @ vt[..., :count * chunk, :]
    return out.permute(0, 3, 1, 2, 4).reshape(b, t, hq, d)


def causal(q, k, v):
    """q [B, n, hq, d], k and v [B, n, hkv, d] -> [B, n, hq, d]"""
    groups = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True).transpose(1, 2)


def within_window(n, chunk, window):
    """Whether so few tokens come, with their landmarks, that none has a chunk outside its window.  Attention is then causal, to
    everything but landmarks, and they can be left out."""
    return n + n // (chunk - 1) < window + chunk


def attention(q, qhat, k, v, chunk, window, top_k, block=128):
    n = q.shape[1]
    whole = n // chunk
    key, bias = summaries(k[:, :whole * chunk], qhat[:, chunk - 1::chunk][:, :whole], chunk)
    out, again = [], q.requires_grad and n > block
    for i in range(0, n, block):
        args = q[:, i:i + block], qhat[:, i:i + block], k[:, :i + block], v[:, :i + block], key, bias, i, chunk, window, top_k
        out.append(checkpoint(block_attention, *args, use_reentrant=False) if again else block_attention(*args))
    return torch.cat(out, 1)


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=0.02)
    return layer


class Layer(nn.Module):
    def __init__(self, s, full):
        super().__init__()
        d = s["head"]
        self.s, self.full = s, full
        ones = lambda n: nn.Parameter(torch.ones(n))
        self.input_layernorm, self.post_attention_layernorm, self.q_norm, self.k_norm = ones(s["width"]), ones(s["width"]), ones(d), ones(d)
        self.q_proj, self.o_proj = linear(s["width"], s["hq"] * d), linear(s["hq"] * d, s["width"])
        self.k_proj, self.v_proj = linear(s["width"], s["hkv"] * d), linear(s["width"], s["hkv"] * d)
        self.gate_proj, self.up_proj, self.down_proj = linear(s["width"], s["inner"]), linear(s["width"], s["inner"]), linear(s["inner"], s["width"])
        if not full:
            self.lmk_down, self.lmk_up, self.lmk_q_norm = linear(s["width"], s["rank"]), linear(s["rank"], s["hq"] * d), ones(s["hq"] * d)
        for last in (self.o_proj, self.down_proj):
            nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * s["layers"]))

    def forward(self, x, cos, sin, landmarks):
        s, heads = self.s, lambda t, n: t.unflatten(-1, (n, self.s["head"]))
        h = rms(x, self.input_layernorm)
        raw = self.q_proj(h)
        q = rotary(rms(heads(raw, s["hq"]), self.q_norm), cos, sin)
        k = rotary(rms(heads(self.k_proj(h), s["hkv"]), self.k_norm), cos, sin)
        v = heads(self.v_proj(h), s["hkv"])
        if not landmarks:
            o = causal(q, k, v)
        else:
            qhat = rotary(heads(rms(raw + self.lmk_up(self.lmk_down(h)), self.lmk_q_norm), s["hq"]), cos, sin)
            o = attention(q, qhat, k, v, s["chunk"], s["window"], s["top_k"])
        x = x + self.o_proj(o.flatten(-2))
        h = rms(x, self.post_attention_layernorm)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Projections(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        w = torch.randn(width, p) / math.sqrt(width)
        self.wq, self.wk = nn.Parameter(w.clone()), nn.Parameter(w.clone())


class Quill(nn.Module):
    """full: the same with full attention, plain rotary positions and no landmarks, to compare with."""

    def __init__(self, size, vocabulary, full=False):
        super().__init__()
        s = self.s = dict(SIZES[size], name=size, vocabulary=vocabulary)
        self.full, self.block = full, Layer.forward  # block: or what that is compiled to
        rows = -(-(vocabulary + 1) // 32) * 32  # as the engine wants it; the landmark has row `vocabulary`
        self.embed = nn.Embedding(rows, s["width"])
        nn.init.normal_(self.embed.weight, std=0.05)
        self.head = nn.Parameter(self.embed.weight[:vocabulary].detach().clone())
        self.layers = nn.ModuleList(Layer(s, full) for _ in range(s["layers"]))
        self.norm = nn.Parameter(torch.full((s["width"],), 0.25))  # memories re-enter as inputs: of a like length
        self.mem, self.mem0 = (nn.Parameter(torch.randn(s["width"]) * 0.05) for _ in range(2))
        self.recall, self.pool = Projections(s["width"], s["recall"]), Projections(s["width"], s["pool"])
        self.register_buffer("frequency", frequencies(s, full), persistent=False)

    def freeze(self):
        """All that makes memories, but for pooling, stays as it is."""
        for p in (self.embed.weight, self.norm, self.mem, self.mem0, *self.recall.parameters(), *self.layers[:self.s["memory"]].parameters()):
            p.requires_grad_(False)

    def frozen(self):
        return not self.embed.weight.requires_grad

    def hidden(self, embeds, layers=None):
        """embeds [B, n, D] of tokens -> final states [B, n, D] of the same, by the first layers, or all."""
        b, n, width = embeds.shape
        place, x = torch.arange(n, device=embeds.device), embeds
        chunk = self.s["chunk"]
        landmarks = not self.full and not within_window(n, chunk, self.s["window"])
        if landmarks:
            every = chunk - 1
            whole = n // every * every
            head = embeds[:, :whole].reshape(b, -1, every, width)
            mark = self.embed.weight[self.s["vocabulary"]].to(embeds.dtype).expand(b, head.shape[1], 1, width)
            x = torch.cat((torch.cat((head, mark), 2).flatten(1, 2), embeds[:, whole:]), 1)
            place = place + place // every
        slot = torch.arange(x.shape[1], device=x.device)
        position = slot - slot // chunk if landmarks else slot
        angle = (position[:, None].double() * self.frequency)[:, None]
        cos, sin = angle.cos().float(), angle.sin().float()  # of a float's angle of 1,000 four digits are left
        block = Layer.forward if landmarks else self.block  # rows of any length need not be compiled
        for layer in self.layers[:layers]:
            x = block(layer, x, cos, sin, landmarks)
        return rms(x[:, place], self.norm)

    def logits(self, hidden):
        return F.linear(hidden, self.head)

    def forward(self, ids):
        return self.logits(self.hidden(self.embed(ids)))

    def encode(self, texts, soft, fixed=False):
        """E_t of each text (ids, lists or arrays): soft [D] or [n, D] -> [n, D].  fixed: AT_ONCE at a time, filled up, as long as one
        of LENGTHS, as what is compiled wants it."""
        if not fixed:
            return self.encoded(texts, soft, len(texts), 0)
        out = []
        for i in range(0, len(texts), AT_ONCE):
            some = texts[i:i + AT_ONCE]
            own = soft if soft.dim() == 1 else soft[i:i + AT_ONCE]
            width = max(map(len, some)) + 2
            out.append(self.encoded(some, own, AT_ONCE, next((w for w in LENGTHS if w >= width), width)))
        return torch.cat(out)

    def encoded(self, texts, soft, rows, width):
        n, device = len(texts), self.norm.device
        last = torch.tensor([len(t) + 1 for t in texts])
        ids = torch.full((rows, max(width, int(last.max()) + 1)), PAD)
        for i, text in enumerate(texts):
            ids[i, 1:len(text) + 1] = torch.as_tensor(text, dtype=torch.long)
        where = torch.zeros(ids.shape, dtype=torch.bool)
        where[:, 0] = where[torch.arange(n), last] = True
        soft = soft.expand(n, -1)
        soft = torch.cat((soft, soft[:1].expand(rows - n, -1)))[:, None]
        embeds = torch.where(where.to(device)[..., None], soft, self.embed(ids.to(device)))
        return self.hidden(embeds, self.s["memory"])[torch.arange(n, device=device), last.to(device)]

    def queries(self, questions):
        return questions.float() @ self.recall.wq / math.sqrt(self.s["recall"])

    def keys(self, memories):
        return memories.float() @ self.recall.wk

    def recalled(self, query, memories):
        """softmax((q Wq)(L Wk)^T / sqrt p) L: query [D], memories [n, D]."""
        return (self.queries(query) @ self.keys(memories).T).softmax(-1) @ memories.float()

    def pooled(self, children):
        """Attention that each child gets from the others, as weights: [n, D] -> [D]."""
        n = len(children)
        if n == 1:
            return children[0]
        score = (children @ self.pool.wq) @ (children @ self.pool.wk).T / math.sqrt(self.s["pool"])
        weight = score.masked_fill(torch.eye(n, dtype=torch.bool, device=score.device), NEVER).softmax(-1).sum(0)
        return (weight / weight.sum()) @ children


def config_of(s, full):
    config = dict(
        model_type="qwen3" if full else "qwen_hils", hidden_size=s["width"], num_attention_heads=s["hq"], num_key_value_heads=s["hkv"],
        head_dim=s["head"], num_hidden_layers=s["layers"], intermediate_size=s["inner"], rms_norm_eps=EPS, vocab_size=s["vocabulary"],
        tie_word_embeddings=False, lectern_memory_layers=s["memory"], rope_theta=THETA, max_position_embeddings=1 << 17, hidden_act="silu", attention_bias=False,
        eos_token_id=END, pad_token_id=PAD)
    if not full:
        config.update(chunk_size=s["chunk"], hils_sliding_window=s["window"], hils_topk=s["top_k"], full_attn_interleave=1, num_swa_layers=0,
                      enable_lmk_q_proj=True, lmk_q_lora_dim=s["rank"], layerwise_lmkq_norm=True, apply_hils_rope=True,
                      enable_inrange_rope=True, rope_context_length=s["context"], rope_period_multiplier=PERIODS, insert_landmarks=True,
                      enable_softmax1=False)
    return config


LAYER = {"lmk_down.weight": "self_attn.lmk_q_proj.0.weight", "lmk_up.weight": "self_attn.lmk_q_proj.1.weight", "lmk_q_norm": "self_attn.lmk_q_norm.weight",
         "input_layernorm": "input_layernorm.weight", "post_attention_layernorm": "post_attention_layernorm.weight",
         **{f"{n}_proj.weight": f"self_attn.{n}_proj.weight" for n in "qkvo"}, **{f"{n}_norm": f"self_attn.{n}_norm.weight" for n in "qk"},
         **{f"{n}_proj.weight": f"mlp.{n}_proj.weight" for n in ("gate", "up", "down")}}
OTHER = {"embed.weight": "model.embed_tokens.weight", "head": "lm_head.weight", "norm": "model.norm.weight", "mem": "lectern.mem", "mem0": "lectern.mem0",
         **{f"{m}.{w}": f"lectern.{m}.{w}" for m in ("recall", "pool") for w in ("wq", "wk")}}


def export(model, folder, dtype=torch.float32, **more):
    """config.json and model.safetensors; tokenizer.json is copied by the caller."""
    os.makedirs(folder, exist_ok=True)
    tensors = {}
    for name, tensor in model.state_dict().items():
        if name.startswith("layers."):
            _, layer, part = name.split(".", 2)
            name = f"model.layers.{layer}.{LAYER[part]}"
        else:
            if name == "embed.weight" and model.full:
                tensor = tensor[:model.s["vocabulary"]]
            name = OTHER[name]
        tensors[name] = tensor.detach().to("cpu", dtype).contiguous()
    save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(dict(config_of(model.s, model.full), **more), out, indent=2)
        out.write("\n")
