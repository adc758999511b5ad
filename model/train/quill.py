#!/usr/bin/env python3
"""Trains Quill, in pieces.

    quill.py tokenizer WORK [--vocabulary 16384]         WORK/tokenizer.json, of WORK/packs
    quill.py prepare WORK [--prompts N]                  WORK/data.pkl, of packs and tasks
    quill.py language|routing|answers WORK --size cpu|gpu [--seconds N]
    quill.py speed WORK --size cpu [--context N]         tokens a second of a step
    quill.py export WORK DIR --size cpu [--stage answers]
    quill.py check WORK DIR --size cpu --probe PROBE     the exported model: tokens, logits, memories as the engine has them

A stage begins with the stage before it and does --steps steps. It stops after --seconds (the step that is under way is
finished), keeps WORK/SIZE-STAGE.pt (weights, optimiser, step) and goes on from there when called again; what a step sees follows
from the seed and its number alone, so that pieces give what one run gives. WORK/SIZE.jsonl has every figure.

language  rows of the manuals, --context tokens
routing   questions towards their sections, a question's rivals being of the same manual in six batches of ten; children's
          questions towards what their family's memories come to, by mean or attention pooling, and towards the parent that
          recalled it
answers   prompts and what is to be written: a span and where it stands, or that there is none
--full: attention to everything in place of HiLS, to compare with. On a GPU: --device cuda, products in bf16.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import quill_data
from quill_check import memories_apart, too_far
from quill_data import load_data, load_tokenizer
from quill_model import PAD, Quill, export

SEED = 37
STAGES = ("language", "routing", "answers")
SHARP = 20.0         # of cosines in routing; |q Wq| |k Wk| / sqrt p is drawn towards it
DEFAULTS = {  # rate, steps, tokens of a step, by size and stage
    "tiny": dict(language=(3e-3, 50, 2048), routing=(1e-3, 20, 2048), answers=(1e-3, 20, 2048)),
    "cpu": dict(language=(2e-3, 2400, 4096), routing=(3e-4, 400, 8192), answers=(5e-4, 800, 4096)),
    "gpu": dict(language=(1.5e-3, 3000, 131072), routing=(3e-4, 1500, 65536), answers=(5e-4, 1500, 65536)),
}


def path_of(args, stage, kind="pt"):
    return os.path.join(args.work, f"{args.size}{'-full' if args.full else ''}-{stage}.{kind}")


def log(args, **record):
    line = json.dumps(record)
    print(line, flush=True)
    with open(os.path.join(args.work, f"{args.size}{'-full' if args.full else ''}.jsonl"), "a") as out:
        out.write(line + "\n")


def tensor(rows, device):
    """Rows of ids, filled up with PAD."""
    out = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for i, row in enumerate(rows):
        out[i, :len(row)] = row
    return torch.from_numpy(out).to(device)


# ---- What a step learns from: (model, data, rng, tokens, args) -> loss, figures ----


def rows_of(stream, begin, context):
    return torch.from_numpy(np.stack([stream[b:b + context + 1] for b in begin]).astype(np.int64))


def language_loss(model, data, rng, tokens, args):
    context = min(args.context, len(data["stream"]) - 2)
    begin = [rng.randrange(len(data["stream"]) - context - 1) for _ in range(max(1, tokens // context))]
    ids = rows_of(data["stream"], begin, context).to(args.device)
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].flatten())
    return loss, {"language": loss.item(), "tokens": ids.numel()}


def contrast(queries, keys):
    """Query i to key i, by cosines, and the lengths that recall's softmax wants."""
    length = math.sqrt(SHARP * math.sqrt(queries.shape[1]))
    q, k = F.normalize(queries, dim=-1), F.normalize(keys, dim=-1)
    score, right = SHARP * q @ k.T, torch.arange(len(q), device=q.device)
    far = ((queries.norm(dim=-1) / length - 1) ** 2).mean() + ((keys.norm(dim=-1) / length - 1) ** 2).mean()
    return F.cross_entropy(score, right) + 0.1 * far, (score.argmax(-1) == right).float().mean().item()


def choose_pairs(pairs, by_manual, rng, count):
    pool = rng.choices(list(by_manual.values()), [len(p) ** 0.7 for p in by_manual.values()])[0] if rng.random() < 0.6 else pairs
    seen, out = set(), []
    for pair in rng.sample(pool, min(len(pool), 3 * count)):
        if pair[2:] not in seen and len(out) < count:
            seen.add(pair[2:])
            out.append(pair)
    return out


def family_loss(model, data, asked, rng, args, count):
    """Children's questions to what their families come to."""
    families = rng.sample(data["asked_families"], min(count, len(data["asked_families"])))
    texts, questions, spans = [], [], []
    for name, parent, children in families:
        some = rng.sample(children, min(len(children), 6))
        spans.append((len(texts), len(texts) + len(some)))
        texts += [data["sections"][name, c][:128] for c in some]
        questions.append(rng.choice(asked[name, rng.choice([c for c in children if (name, c) in asked])])[0])
    memories = model.encode(texts, model.mem0).float()
    pooled = torch.stack([model.pooled(memories[a:b]) if rng.random() < 0.5 else memories[a:b].mean(0) for a, b in spans])
    parents = model.encode([data["sections"][name, parent][:128] for name, parent, _ in families], pooled.to(memories.dtype)).float()
    queries = model.queries(model.encode(questions, model.mem)) * math.sqrt(model.s["recall"])
    one, hit = contrast(queries, model.keys(pooled))
    two, found = contrast(queries, model.keys(parents))
    return one + two, {"families": hit, "parents": found}, sum(map(len, texts))


def routing_loss(model, data, rng, tokens, args):
    asked, by_manual = data["asked"], data["by_manual"]
    some = choose_pairs(data["pairs"], by_manual, rng, max(4, tokens // 200))
    queries = model.queries(model.encode([p[0] for p in some], model.mem)) * math.sqrt(model.s["recall"])
    keys = model.keys(model.encode([p[1] for p in some], model.mem0))
    loss, hit = contrast(queries, keys)
    figures = {"routing": hit, "tokens": sum(len(p[0]) + len(p[1]) for p in some)}
    if len(data["asked_families"]) > 3:
        more, found, size = family_loss(model, data, asked, rng, args, max(4, tokens // 1600))
        loss, figures = loss + 0.5 * more, {**figures, **found, "tokens": figures["tokens"] + size}
    return loss, figures


def answers_loss(model, data, rng, tokens, args):
    """Prompts of about one length; the loss is of what is written. One step in seven is language."""
    if rng.random() < 1 / 7:
        return language_loss(model, data, rng, tokens, args)
    prompts = data["by_length"]
    at = rng.randrange(len(prompts))
    count = max(1, tokens // (len(prompts[at][0]) + 32))
    some = prompts[max(0, at - count // 2):][:count]
    ids = tensor([np.concatenate(p[:2]) for p in some], args.device)
    place = torch.arange(ids.shape[1] - 1, device=args.device)[None]
    first, last = (torch.tensor(x, device=args.device)[:, None] for x in (
        [len(p[0]) for p in some], [len(p[0]) + len(p[1]) for p in some]))
    written = (place + 1 >= first) & (place + 1 < last)
    hidden = model.hidden(model.embed(ids[:, :-1]))[written]
    wanted = ids[:, 1:][written]
    logits = model.logits(hidden).float()
    loss = F.cross_entropy(logits, wanted)
    return loss, {"answers": loss.item(), "right": (logits.argmax(-1) == wanted).float().mean().item(), "tokens": ids.numel()}


LOSSES = {"language": language_loss, "routing": routing_loss, "answers": answers_loss}


def indexed(data):
    """What the losses look up."""
    data["by_manual"], data["asked"] = {}, {}
    for pair in data["pairs"]:
        data["by_manual"].setdefault(pair[2], []).append(pair)
        data["asked"].setdefault(pair[2:], []).append(pair)
    data["asked_families"] = [f for f in data["families"] if any((f[0], c) in data["asked"] for c in f[2])]
    data["by_length"] = sorted(data["prompts"], key=lambda p: len(p[0]))
    return data


def measured(model, stage, data, args):
    """The same batches always, of the manuals that choose checkpoints."""
    found = {}
    with torch.no_grad():
        for k in range(args.probes):
            _, figures = LOSSES[stage](model, data, random.Random(f"probe {k}"), args.tokens, args)
            for key, value in figures.items():
                found.setdefault(key, []).append(value)
    found.pop("tokens", None)
    return {k: round(float(np.mean(v)), 4) for k, v in found.items()}


# ---- A stage ----


def start(args, stage, vocabulary):
    """The model and what is kept of the stage."""
    torch.manual_seed(SEED)
    model = Quill(args.size, vocabulary, args.full).to(args.device)
    kept, before = path_of(args, stage), None
    if os.path.exists(kept):
        state = torch.load(kept, map_location=args.device)
        model.load_state_dict(state["model"])
        return model, state
    if stage != STAGES[0]:
        before = path_of(args, STAGES[STAGES.index(stage) - 1])
        if not os.path.exists(before):
            sys.exit(f"no {before}: train {STAGES[STAGES.index(stage) - 1]} first")
        model.load_state_dict(torch.load(before, map_location=args.device)["model"])
    return model, None


def optimiser_of(model, rate):
    wide = [p for p in model.parameters() if p.dim() > 1]
    flat = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([dict(params=wide, weight_decay=0.1), dict(params=flat, weight_decay=0.0)], rate, betas=(0.9, 0.95))


def one_step(model, optimiser, stage, data, args, step):
    """Warm up a fiftieth, then a cosine to a tenth."""
    warm = min(1.0, (step + 1) / max(1, args.steps // 50))
    for group in optimiser.param_groups:
        group["lr"] = args.rate * warm * (0.1 + 0.45 * (1 + math.cos(math.pi * step / args.steps)))
    with torch.autocast("cuda", torch.bfloat16, enabled=args.device.startswith("cuda")):
        loss, figures = LOSSES[stage](model, data, random.Random(f"{SEED} {stage} {step}"), args.tokens, args)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
    if not math.isfinite(norm):
        sys.exit(f"{stage}, step {step}: the gradient is {norm}")
    optimiser.step()
    optimiser.zero_grad()
    return dict(figures, loss=loss.item(), norm=norm)


def save(args, stage, model, optimiser, step, tokens):
    path = path_of(args, stage)
    torch.save(dict(model=model.state_dict(), optimiser=optimiser.state_dict(), step=step, tokens=tokens), path + ".part")
    os.replace(path + ".part", path)


def stage_train(args):
    stage, every = args.stage_now, load_data(args.work)
    rate, steps, size = DEFAULTS[args.size][stage]
    args.rate, args.steps, args.tokens = args.rate or rate, args.steps or steps, args.tokens or size
    data, probe = indexed(every["train"]), indexed(every["probe"])
    model, state = start(args, stage, load_tokenizer(args.work).get_vocab_size())
    optimiser, step, tokens = optimiser_of(model, args.rate), 0, 0
    if state:
        optimiser.load_state_dict(state["optimiser"])
        step, tokens = state["step"], state["tokens"]
    else:
        log(args, stage=stage, parameters=sum(p.numel() for p in model.parameters()), steps=args.steps, rate=args.rate, tokens=args.tokens)
    begin = noted = time.time()
    sums, first = {}, step
    while step < args.steps and time.time() - begin < args.seconds:
        figures = one_step(model, optimiser, stage, data, args, step)
        step, tokens = step + 1, tokens + figures.pop("tokens")
        for key, value in figures.items():
            sums.setdefault(key, []).append(value)
        if time.time() - noted > 20 or step == args.steps:
            log(args, stage=stage, step=step, tokens=tokens, seconds=round(time.time() - begin, 1),
                **{k: round(float(np.mean(v)), 4) for k, v in sums.items()})
            sums, noted = {}, time.time()
    save(args, stage, model, optimiser, step, tokens)
    if len(probe["stream"]) > 1000:
        log(args, stage=stage, step=step, did=step - first, probe=measured(model, stage, probe, args))


def stage_speed(args):
    """Steps of language on random tokens: tokens a second of wall time and of processor time."""
    model = Quill(args.size, args.vocabulary, args.full).to(args.device)
    args.steps, args.rate, args.tokens = 1000, 1e-3, args.tokens or 4096
    data = dict(stream=np.random.default_rng(SEED).integers(2, args.vocabulary, 200000).astype(np.uint16))
    optimiser, rows = optimiser_of(model, args.rate), []
    for step in range(args.measured + 1):
        wall, own = time.time(), time.process_time()
        done = one_step(model, optimiser, "language", data, args, step)["tokens"]
        if step:
            rows.append((done / (time.time() - wall), done / (time.process_time() - own)))
    wall, own = np.median(rows, 0)
    log(args, stage="speed", parameters=sum(p.numel() for p in model.parameters()), context=args.context, batch=args.tokens,
        threads=args.threads, tokens_a_second=round(wall), tokens_a_cpu_second=round(own))


def stage_export(args):
    model = Quill(args.size, load_tokenizer(args.work).get_vocab_size(), args.full)
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    export(model, args.dir, torch.bfloat16 if args.bf16 else torch.float32)
    shutil.copyfile(os.path.join(args.work, "tokenizer.json"), os.path.join(args.dir, "tokenizer.json"))


def stage_check(args):
    from safetensors.torch import load_file
    data, tokenizer = load_data(args.work), load_tokenizer(args.work)
    model = Quill(args.size, tokenizer.get_vocab_size(), args.full).eval()
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    rng, stream, rows = random.Random(SEED), data["held"]["stream"], os.path.join(args.work, "rows")
    apart, vocabulary = 0.0, tokenizer.get_vocab_size()
    for _ in range(args.measured):
        n = rng.choice((50, 300, 1500))
        at = rng.randrange(len(stream) - n)
        ids = stream[at:at + n].astype(np.int64)
        subprocess.run([args.probe, "logits", "--model", args.dir, "--ids", ",".join(map(str, ids)), "--decode", "3", "--out", rows], check=True)
        with torch.no_grad():
            mine = model(torch.from_numpy(ids)[None])[0]
        new = ((load_file(rows)["logits"][:, :vocabulary] - mine).abs().max() / mine.abs().max()).item()
        apart = max(apart, new) if math.isfinite(new) else math.inf
    texts = [tokenizer.decode(s.tolist()) for s in rng.sample(sorted(data["held"]["sections"].values(), key=len), 50 if len(data["held"]["sections"]) > 50 else 5)]
    texts += ["tab\tand\r\nline ends", "ünïcode – 日本語 😀", "  spaces   between ", "x" * 300]
    lines = "".join(json.dumps(t) + "\n" for t in texts)
    said = subprocess.run([args.probe, "tokenize", "--model", args.dir], input=lines, text=True, capture_output=True, check=True).stdout
    wanted = [tokenizer.encode(t).ids for t in texts]
    differ = sum(json.loads(a) != b for a, b in zip(said.splitlines(), wanted, strict=True))
    memories = memories_apart(model, args.probe, args.dir, wanted[:10], rows)
    log(args, stage="check", logits_apart=apart, texts=len(texts), tokenized_otherwise=differ, **memories)
    if differ or not apart <= 1e-4 or too_far(memories):
        sys.exit("the engine does not do what the training code does")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", choices=["tokenizer", "prepare", *STAGES, "speed", "export", "check"])
    parser.add_argument("work")
    parser.add_argument("dir", nargs="?")
    parser.add_argument("--size", default="cpu", choices=list(DEFAULTS))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--tokens", type=int, help="of a step")
    parser.add_argument("--context", type=int, default=4096, help="tokens of a row of language")
    parser.add_argument("--vocabulary", type=int, default=16384)
    parser.add_argument("--prompts", type=int, default=60000)
    parser.add_argument("--probes", type=int, default=4, help="batches that a stage is measured by")
    parser.add_argument("--measured", type=int, default=5, help="speed: steps; check: rows")
    parser.add_argument("--stage", default="answers", choices=STAGES)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--probe")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.command in STAGES:
        args.stage_now = args.command
        stage_train(args)
    elif args.command in ("tokenizer", "prepare"):
        getattr(quill_data, "stage_" + args.command)(args)
    else:
        dict(speed=stage_speed, export=stage_export, check=stage_check)[args.command](args)


if __name__ == "__main__":
    main()
