"""Teaches quill-0 to write: language, then grounded answers.

Only what writing needs is trained (circuits.frozen): feed-forward of layers 1
to 3, attention of layers 2 and 3.  Memories stay what they were.
"""
import os
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import circuits
from grounded import answer_ids
from quill0 import (D, END, HEAD, HQ, PAD, PROBE, SEED, VOCAB, Clock, Quill,
                    encode_all, load_data, load_model, load_tokenizer, log,
                    rotate, save, saved, training_stream)

ROW = 256     # tokens of a row of language
BEGIN = 4.0   # weight of the first two tokens of an answer
POINT, COPY = 0.3, 0.3  # weights of the guidance of attention
MARKS = 3     # passages of a prompt: " [1]" to " [3]"


def stage_circuits(args):
    """WORK/circuits.pt: the model of `pool` with circuits for writing."""
    torch.manual_seed(SEED)
    torch.set_num_threads(args.threads)
    stream = torch.from_numpy(training_stream(load_data(args.work))
                              .astype(np.int64))
    model = Quill()
    model.load_state_dict(saved(args.work, "pool"))
    with torch.no_grad():
        circuits.build(model, torch.bincount(stream, minlength=VOCAB).float())
    save(os.path.join(args.work, "circuits.pt"), model.state_dict())
    log(args.work, stage="circuits",
        probe=Prompts(args.work).measure(model))


POINTER = 3  # head of layer 2 that is guided to where the answer stands


def scores(attention, h, here, at, cos, sin):
    """Attention [rows, heads, n, t] of positions `at` (their states: `here`
    [rows, n, D]) over h [rows, t, D]."""
    q = attention.q_norm(attention.q_proj(here).unflatten(-1, (HQ, HEAD)))
    k = attention.k_norm(attention.k_proj(h).unflatten(-1, (HQ, HEAD)))
    q = rotate(q.transpose(1, 2), cos[at][:, None], sin[at][:, None])
    k = rotate(k.transpose(1, 2), cos, sin)
    late = torch.arange(h.shape[1]) > at[:, None, :, None]
    return (q @ k.transpose(-1, -2) / HEAD ** 0.5).masked_fill(
        late, -1e9).softmax(-1)


def hidden_at(model, ids, at, ret_looks=None):
    """Final states at positions `at` [rows, n] of ids [rows, tokens]; what
    the others would make of themselves in the last layer is left out.
    ret_looks: takes the attention of layer 2 at the first of them and of
    layer 3 at all of them."""
    layers, t = model.model.layers, ids.shape[1]
    cos, sin = model.cos[:t], model.sin[:t]
    with torch.no_grad():
        x = layers[0](model.model.embed_tokens(ids), cos, sin)
        x = x + layers[1].self_attn(layers[1].input_layernorm(x), cos, sin)
    x = x + layers[1].mlp(layers[1].post_attention_layernorm(x))
    first = layers[2].input_layernorm(x)
    x = layers[2](x, cos, sin)
    last, attention = layers[3], layers[3].self_attn
    index = at[..., None].expand(-1, -1, D)
    h = last.input_layernorm(x)
    looks = scores(attention, h, h.gather(1, index), at, cos, sin)
    if ret_looks is not None:
        ret_looks += [scores(layers[2].self_attn, first, first.gather(
            1, index[:, :1]), at[:, :1], cos, sin), looks]
    v = attention.v_proj(h).unflatten(-1, (HQ, HEAD)).transpose(1, 2)
    x = x.gather(1, index) + attention.o_proj(
        (looks @ v).transpose(1, 2).flatten(2))
    return model.model.norm(x + last.mlp(last.post_attention_layernorm(x)))


class Prompts:
    """Prompts with their answers; those of the probe's manuals, and of those
    held out, apart."""

    def __init__(self, work, most=100):
        tokenizer = load_tokenizer(work)
        self.tails = [np.array(tokenizer.encode(" [%d]" % n).ids, np.uint16)
                      for n in range(MARKS + 1)]
        every = torch.load(os.path.join(work, "prompts.pt"),
                           weights_only=False)
        self.learn = [p for p in every["train"] if p[4] not in PROBE]
        self.learn.sort(key=lambda p: len(p[0]))
        self.probe, self.held = ({kind: [p for p in some if p[5] == kind]
                                  for kind in ("lead", "cloze")} for some in (
            [p for p in every["train"] if p[4] in PROBE], every["held"]))
        for prompts in self.probe.values():
            del prompts[most:]

    def batch(self, rng, tokens):
        """Prompts of about one length, `tokens` in all."""
        at = rng.randrange(len(self.learn))
        count = max(1, tokens // len(self.learn[at][0]))
        return self.learn[max(0, at - count // 2):][:count]

    def rows(self, some):
        """ids [n, t], positions that write [n, a], what they write (PAD:
        nothing)."""
        answers = [answer_ids(p, self.tails) for p in some]
        t = max(len(p[0]) + len(a) - 1 for p, a in zip(some, answers))
        a = max(map(len, answers))
        ids = np.full((len(some), t), PAD, np.int64)
        at = np.zeros((len(some), a), np.int64)
        target = np.full((len(some), a), PAD, np.int64)
        for r, (p, answer) in enumerate(zip(some, answers)):
            n = len(p[0])
            ids[r, :n] = p[0]
            ids[r, n:n + len(answer) - 1] = answer[:-1]
            at[r, :len(answer)] = np.arange(n - 1, n - 1 + len(answer))
            target[r, :len(answer)] = answer
        return (torch.from_numpy(x) for x in (ids, at, target))

    def measure(self, model, sets=None):
        """Of the probe's prompts, by kind: share of answers written exactly
        (greedily), with any passage's number, share of first tokens and of
        all tokens right, mean loss a token."""
        found = {}
        with torch.no_grad():
            for kind, prompts in (sets or self.probe).items():
                out = []
                prompts = sorted(prompts, key=lambda p: len(p[0]))
                for k in range(0, len(prompts), 16):
                    ids, at, target = self.rows(prompts[k:k + 16])
                    logits = model.logits(hidden_at(model, ids, at))
                    there = target != PAD
                    loss = F.cross_entropy(
                        logits.transpose(1, 2), target, reduction="none")
                    right = (logits.argmax(-1) == target) | ~there
                    free = right.clone()  # before "]" and <|end|>: the digit
                    free[torch.arange(len(free)), there.sum(1) - 3] = True
                    for r in range(len(ids)):
                        n = int(there[r].sum())
                        out.append((right[r].all(), free[r].all(), right[r, 0],
                                    right[r, :n].float().mean(),
                                    loss[r, :n].mean()))
                found[kind] = [round(float(np.mean([
                    float(o[i]) for o in out])), 3) for i in range(5)]
        return found


def guidance(looks, some):
    """How far attention is from where the answer stands: of a head of layer
    2 when it begins, from the span; of layer 3, from the token that comes
    next."""
    pointed, copied = [], []
    for r, (_, first, end, *_) in enumerate(some):
        mass = looks[0][r, POINTER, 0, first:end].sum()
        pointed.append(-mass.clamp_min(1e-6).log())
        n = torch.arange(end - first)
        copied.append(-looks[1][r, :, n, first + n].clamp_min(1e-6).log()
                      .mean())
    return torch.stack(pointed).mean(), torch.stack(copied).mean()


def answer_loss(model, prompts, rng, tokens):
    some, looks = prompts.batch(rng, tokens), []
    ids, at, target = prompts.rows(some)
    there = target != PAD
    weight = torch.ones(target.shape)
    weight[:, :2] = BEGIN  # where to begin decides the rest
    logits = model.logits(hidden_at(model, ids, at, looks)[there])
    pointed, copied = guidance(looks, some)
    each = F.cross_entropy(logits, target[there], reduction="none")
    weight = weight[there]
    loss = (each * weight).sum() / weight.sum() \
        + POINT * pointed + COPY * copied
    return loss, {"answers": each.mean().item(), "pointed": pointed.item(),
                  "copied": copied.item(), "tokens": ids.numel(), "right": (
        logits.argmax(-1) == target[there]).float().mean().item()}


def language_loss(model, stream, rng, tokens):
    """Rows of the training manuals; a third of the positions is asked."""
    begin = [rng.randrange(len(stream) - ROW - 1)
             for _ in range(max(1, tokens // ROW))]
    ids = torch.from_numpy(np.stack([stream[b:b + ROW + 1] for b in begin])
                           .astype(np.int64))
    at = torch.rand(len(begin), ROW).argsort(1)[:, :ROW // 3].sort(1)[0]
    logits = model.logits(hidden_at(model, ids[:, :-1], at))
    loss = F.cross_entropy(logits.flatten(0, 1),
                           ids.gather(1, at + 1).flatten())
    return loss, {"language": loss.item(), "tokens": ids.numel()}


def write_stage(args, stage, before, share):
    """share: of steps that are language."""
    torch.set_num_threads(args.threads)
    model = Quill()
    model.load_state_dict(saved(args.work, before))
    masks = circuits.frozen(model)
    for name, p in model.named_parameters():
        p.requires_grad_(name in masks)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=args.rate, betas=(0.9, 0.98))
    stream = training_stream(load_data(args.work))
    prompts = Prompts(args.work)
    clock, step, sums, tokens, best = Clock(args), 0, {}, 0, -1.0
    path = os.path.join(args.work, stage + ".pt")

    def measure():
        found = prompts.measure(model)
        good = sum(v[1] for v in found.values()) - 0.01 * sum(
            v[4] for v in found.values())
        log(args.work, stage=stage, step=step, probe=found,
            kept=good > best or share == 1)
        if good > best or share == 1:
            save(path, model.state_dict())
        return max(good, best)

    best = measure()
    noted = probed = time.time()
    while clock.progress(step) < 1:
        progress = clock.progress(step)
        rng = random.Random(SEED * 1000003 + step)
        torch.manual_seed(SEED * 1000003 + step)
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1.0, (step + 1) / 30,
                                          (1 - progress) / 0.6 + 0.02)
        if rng.random() < share:
            loss, figures = language_loss(model, stream, rng, args.batch)
        else:
            loss, figures = answer_loss(model, prompts, rng, args.batch)
        loss.backward()
        for name, p in model.named_parameters():
            if p.grad is not None:
                p.grad *= masks[name]
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        tokens += figures.pop("tokens")
        for key, value in figures.items():
            sums.setdefault(key, []).append(value)
        if time.time() - noted > 30:
            log(args.work, stage=stage, step=step, progress=round(progress, 3),
                tokens=tokens, tokens_s=round(tokens / (time.time()
                                                        - clock.begin)),
                **{k: round(sum(v) / len(v), 4) for k, v in sums.items()})
            sums, noted = {}, time.time()
        if time.time() - probed > 480:
            best, probed = measure(), time.time()
    measure()


def generate(model, prompt, most=96):
    """Greedily, as the engine does."""
    ids = prompt.astype(np.int64).tolist()
    with torch.no_grad():
        for _ in range(most):
            hidden = hidden_at(model, torch.tensor([ids]),
                               torch.tensor([[len(ids) - 1]]))
            ids.append(int(model.logits(hidden)[0, 0].argmax()))
            if ids[-1] == END:
                break
    return ids[len(prompt):]


def memories_kept(model, other, texts):
    """Least cosine of two models' memories: of questions, of leaves, and of
    parents (what is recalled: five texts' mean)."""
    found, recalled = {}, None
    for name, some in (("mem", [t[:32] for t in texts]), ("mem0", texts),
                       ("recall", texts)):
        soft = recalled if name == "recall" else getattr(other.lectern, name)
        mine, theirs = (encode_all(m, some, soft) for m in (model, other))
        found[name] = F.cosine_similarity(mine, theirs).min().item()
        recalled = theirs.view(-1, 5, D).mean(1).repeat_interleave(5, 0)
    return found


def as_exported(model):
    for p in model.parameters():
        p.data = p.data.bfloat16().float()
    return model


def stage_written(args):
    """What a stage's model writes to the prompts of the held-out manuals, and
    its loss on their text."""
    torch.set_num_threads(args.threads)
    model, prompts = as_exported(load_model(args)), Prompts(args.work)
    tokenizer, before = load_tokenizer(args.work), {}
    rng = random.Random(SEED)
    nodes = load_data(args.work)["nodes"]
    texts = rng.sample([n["segments"][0] for n in nodes if n["held"]
                        and n["own"]], 200)
    for stage in ("circuits", "pool"):
        other = Quill()
        other.load_state_dict(saved(args.work, stage))
        with torch.no_grad():
            before[stage] = memories_kept(model, as_exported(other), texts)
    rows = []
    with torch.no_grad():
        for node in nodes:
            segment = node["segments"][0]
            if node["held"] and len(segment) > 64 and rng.random() < 0.05:
                ids = torch.from_numpy(segment[None].astype(np.int64))
                logits = model.logits(hidden_at(
                    model, ids, torch.arange(len(segment) - 1)[None]))
                rows.append(F.cross_entropy(logits[0], ids[0, 1:]).item())
    some = [p for kind in prompts.held.values() for p in kind[:5]]
    log(args.work, stage="written", model=args.stage, least_cosine=before,
        texts=len(rows), language=round(float(np.mean(rows)), 3),
        held=prompts.measure(model, prompts.held), answers=[
            {"asked": tokenizer.decode(p[0].tolist()).split("Question: ")[-1],
             "right": tokenizer.decode(answer_ids(
                 p, prompts.tails).tolist()),
             "given": tokenizer.decode(generate(model, p[0]))} for p in some])


def stage_language(args):
    write_stage(args, "language", "circuits", 1.0)


def stage_answers(args):
    write_stage(args, "answers", "language", 0.15)
