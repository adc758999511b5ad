#!/usr/bin/env python3
"""Trains Quill, in pieces.

    quill.py tokenizer WORK [--vocabulary 16384]         WORK/tokenizer.json, of WORK/packs
    quill.py prepare WORK [--prompts N]                  WORK/data.pkl, of packs and tasks
    quill.py teach WORK --teacher DIR [--seconds N]      WORK/teacher.pkl (quill_teacher.py); may be left out
    quill.py words WORK [--steps N]                      WORK/words.pt, a bag of words (quill_bag.py)
    quill.py build WORK --size cpu                       WORK/SIZE-built.pt, layers that compute it (quill_built.py); without: all is learned
    quill.py language|routing|answers WORK --size cpu|gpu [--seconds N] [--budget N] [--workers N] [--context N] [--bf16] [--compile]
    quill.py speed WORK --size cpu [--context N]         tokens a second of a step
    quill.py loss WORK --stage language [--context N]    nats a token of held-out rows of N tokens, by where in them (--measured rows)
    quill.py recall WORK --stage routing [--use held]    questions to sections of the probe's or held-out manuals (quill_recall.py)
    quill.py families WORK --use held                    children's questions to families, by ways of pooling (quill_families.py)
    quill.py export WORK DIR --size cpu [--stage answers]
    quill.py check WORK DIR --size cpu --probe PROBE     the exported model: tokens, logits, memories as the engine has them

A stage begins with the stage before it and does --steps steps, or lasts --budget seconds in all. It stops after --seconds (the step that
is under way is finished), keeps WORK/SIZE-STAGE.pt (weights, optimiser, step), every --keep seconds too, and goes on from there when
called again. What a step sees follows from the seed, its number and the worker's alone, so that pieces give what one run gives; where the
budget is of seconds the rate depends on the clock. WORK/SIZE.jsonl has every figure. What stages learn from: quill_losses.py.
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

import quill_data
from quill_bag import stage_words
from quill_built import stage_build
from quill_check import memories_apart, too_far
from quill_data import load_data, load_tokenizer
from quill_families import families
from quill_model import Quill, export
from quill_muon import Both
from quill_recall import recall
from quill_teacher import Encoder, stage_teach
from quill_train import DEFAULTS, STAGES, compiled, log, one_step, path_of, stage_train

SEED = 37
SAME_CHOICE, ALIKE = 1e-4, 0.99  # logits, by the largest; share of the tokens that choose chunks: of two that are as good a rounding chooses
# What the daemon gives it to read; answers are shown unasked only from a threshold that quill_choose.py has chosen.
ANSWERING = dict(prompt_tokens=448, passages=3, passage_tokens=130, answer_threshold=1, copies=True)


def stage_speed(args):
    """Steps of language on random tokens: tokens a second of wall time and of processor time."""
    model = Quill(args.size, args.vocabulary, args.full).to(args.device)
    args.steps, args.rate, args.tokens, args.measuring, args.workers = 1000, 1e-3, args.tokens or 4096, False, 1
    if args.compile:
        compiled(model)
    data = dict(stream=np.random.default_rng(SEED).integers(2, args.vocabulary, 200000).astype(np.uint16))
    optimiser, rows = Both(model, args.rate), []
    for step in range(args.measured + 2):
        wall, own = time.time(), time.process_time()
        done = one_step(model, optimiser, "language", data, args, step, 0, 0.5)["tokens"]
        if step > 1:
            rows.append((done / (time.time() - wall), done / (time.process_time() - own)))
    wall, own = np.median(rows, 0)
    log(args, stage="speed", parameters=sum(p.numel() for p in model.parameters()), context=args.context, batch=args.tokens,
        threads=args.threads, bf16=args.bf16, compiled=args.compile, tokens_a_second=round(wall), tokens_a_cpu_second=round(own))


def stage_loss(args):
    """Rows that do not overlap, spread evenly over the held-out manuals; the mean of each eighth of a row."""
    model = Quill(args.size, load_tokenizer(args.work).get_vocab_size(), args.full).eval()
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    stream, parts, n = load_data(args.work)[args.use]["stream"], [], args.context
    rows = min(args.measured, (len(stream) - 1) // n)
    for k in range(rows):
        ids = torch.from_numpy(stream[(len(stream) - n - 1) * k // max(1, rows - 1):][:n + 1].astype(np.int64))
        with torch.no_grad():
            nats = F.cross_entropy(model(ids[None, :-1])[0].float(), ids[1:], reduction="none")
        parts.append([part.mean().item() for part in nats.chunk(8)])
    eighths = np.mean(parts, 0)
    log(args, stage=args.stage, loss=round(float(eighths.mean()), 4), context=n, rows=rows, of=args.use, eighths=[round(float(e), 4) for e in eighths])


def stage_recall(args):
    """On the probe's or, with --use held, on the held-out manuals; without a trained stage the others alone."""
    tokenizer, kept, model = load_tokenizer(args.work), path_of(args, args.stage), None
    if os.path.exists(kept):
        model = Quill(args.size, tokenizer.get_vocab_size(), args.full).eval()
        model.load_state_dict(torch.load(kept, map_location="cpu")["model"])
    teacher = Encoder(args.teacher) if args.teacher else None
    with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
        for manual, who, figures in recall(model, load_data(args.work)[args.use], tokenizer, args.section, teacher, args.probe, args.dir):
            log(args, stage=args.stage, recall=manual, by=who, **figures)


def stage_families(args):
    model = Quill(args.size, load_tokenizer(args.work).get_vocab_size(), args.full).eval()
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    for manual, policy, figures in families(model, load_data(args.work)[args.use], load_tokenizer(args.work), args.section):
        log(args, stage=args.stage, families_of=manual, by=policy, **figures)


def stage_export(args):
    model = Quill(args.size, load_tokenizer(args.work).get_vocab_size(), args.full)
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    export(model, args.dir, torch.bfloat16 if args.bf16 else torch.float32, lectern=ANSWERING)
    shutil.copyfile(os.path.join(args.work, "tokenizer.json"), os.path.join(args.dir, "tokenizer.json"))


def stage_check(args):
    from safetensors.torch import load_file
    data, tokenizer = load_data(args.work), load_tokenizer(args.work)
    model = Quill(args.size, tokenizer.get_vocab_size(), args.full).eval()
    model.load_state_dict(torch.load(path_of(args, args.stage), map_location="cpu")["model"])
    rng, stream, rows = random.Random(SEED), data["held"]["stream"], os.path.join(args.work, "rows")
    apart, alike, vocabulary = 0.0, [], tokenizer.get_vocab_size()
    choosing = model.s["top_k"] * model.s["chunk"] + model.s["window"]  # tokens before have all chunks
    for _ in range(args.measured):
        n = rng.choice(args.lengths)
        at = rng.randrange(len(stream) - n)
        ids = stream[at:at + n].astype(np.int64)
        subprocess.run([args.probe, "logits", "--model", args.dir, "--ids", ",".join(map(str, ids)), "--decode", "3", "--out", rows], check=True)
        with torch.no_grad():
            mine = model(torch.from_numpy(ids)[None])[0]
        by_token = (load_file(rows)["logits"][:, :vocabulary] - mine).abs().amax(1) / mine.abs().max()
        new = by_token.max().item()
        alike += (by_token[choosing:] <= SAME_CHOICE).tolist()
        apart = max(apart, by_token[:choosing].max().item()) if math.isfinite(new) else math.inf
    texts = [tokenizer.decode(s.tolist()) for s in rng.sample(sorted(data["held"]["sections"].values(), key=len), 50 if len(data["held"]["sections"]) > 50 else 5)]
    texts += ["tab\tand\r\nline ends", "ünïcode – 日本語 😀", "  spaces   between ", "x" * 300]
    lines = "".join(json.dumps(t) + "\n" for t in texts)
    said = subprocess.run([args.probe, "tokenize", "--model", args.dir], input=lines, text=True, capture_output=True, check=True).stdout
    wanted = [tokenizer.encode(t).ids for t in texts]
    differ = sum(json.loads(a) != b for a, b in zip(said.splitlines(), wanted, strict=True))
    memories = memories_apart(model, args.probe, args.dir, wanted[:10], rows)
    log(args, stage="check", logits_apart=apart, choosing=len(alike), choosing_alike=float(np.mean(alike or [1])), texts=len(texts), tokenized_otherwise=differ, **memories)
    if differ or not apart <= SAME_CHOICE or np.mean(alike or [1]) < ALIKE or too_far(memories):
        sys.exit("the engine does not do what the training code does")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", choices=["tokenizer", "prepare", "teach", "words", "build", *STAGES, "speed", "loss", "recall", "families", "export", "check"])
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
    parser.add_argument("--context", type=int, default=4096, help="tokens of a row of language, and of the longest prompt")
    parser.add_argument("--long", type=int, default=8, help="one step of language in so many has rows of --context tokens, the others shorter ones")
    parser.add_argument("--vocabulary", type=int, default=16384)
    parser.add_argument("--prompts", type=int, default=60000)
    parser.add_argument("--probes", type=int, default=4, help="batches that a stage is measured by")
    parser.add_argument("--measured", type=int, default=5, help="speed: steps; loss, check: rows")
    parser.add_argument("--stage", default="answers", choices=("built", *STAGES))
    parser.add_argument("--lengths", type=int, nargs="+", default=[50, 300, 1500], help="check: tokens of rows")
    parser.add_argument("--bf16", action="store_true", help="a stage: products in it; export: weights")
    parser.add_argument("--compile", action="store_true", help="torch.compile, worth its minutes on a CPU")
    parser.add_argument("--workers", type=int, default=1, help="processes of a stage")
    parser.add_argument("--budget", type=float, help="seconds that a stage takes in all, in place of --steps")
    parser.add_argument("--keep", type=float, default=240, help="seconds between checkpoints")
    parser.add_argument("--use", default="probe", choices=["probe", "held"])
    parser.add_argument("--section", type=int, default=128, help="recall, families: tokens of a section that are read")
    parser.add_argument("--teacher", help="teach, recall: folder of the encoder")
    parser.add_argument("--probe")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.begun = time.time()
    if args.command in STAGES:
        args.stage_now = args.command
        stage_train(args)
    elif args.command in ("tokenizer", "prepare"):
        getattr(quill_data, "stage_" + args.command)(args)
    else:
        dict(teach=stage_teach, words=stage_words, build=stage_build, recall=stage_recall, families=stage_families, speed=stage_speed, loss=stage_loss, export=stage_export, check=stage_check)[args.command](args)


if __name__ == "__main__":
    main()
