"""Stages of training: how a step is done, by one process or by some together, kept and gone on with.

With --workers N so many processes take a part of every step, each of other rows, and take the mean of their gradients (gloo): on cores that others
use too that waits once a step, where threads wait at every product.

The rate warms up in a fiftieth of the stage, stays, and falls in the last FALL of it to LEAST.  How far a stage is: its step by --steps, or with
--budget the seconds that its processes have run for by so many; those end where the machine lets them.
"""
import datetime
import json
import math
import os
import random
import subprocess
import sys
import time

import numpy as np
import torch
from torch import distributed, nn

from quill_data import load_data, load_tokenizer
from quill_losses import LOSSES, Entropy, indexed
from quill_model import Layer, Quill
from quill_muon import Both
from quill_teacher import load_teacher

SEED = 37
STAGES = ("language", "routing", "answers")
FALL, LEAST = 0.4, 0.05
DEFAULTS = {  # Muon's rate, steps, tokens of a step, by size and stage
    "tiny": dict(language=(2e-2, 50, 2048), routing=(1e-2, 20, 2048), answers=(1e-2, 20, 2048)),
    "scaled": dict(language=(2e-2, 150, 8192), routing=(1e-2, 20, 2048), answers=(1e-2, 20, 2048)),
    "cpu": dict(language=(2e-2, 2000, 8192), routing=(1e-2, 800, 8192), answers=(1e-2, 800, 8192)),
    "gpu": dict(language=(2e-2, 3000, 131072), routing=(1e-2, 1500, 65536), answers=(1e-2, 1500, 65536)),
}


def path_of(args, stage, kind="pt"):
    return os.path.join(args.work, f"{args.size}{'-full' if args.full else ''}-{stage}.{kind}")


def log(args, **record):
    line = json.dumps(record)
    print(line, flush=True)
    with open(os.path.join(args.work, f"{args.size}{'-full' if args.full else ''}.jsonl"), "a") as out:
        out.write(line + "\n")


def measured(model, stage, data, args):
    """The same batches always, of the manuals that choose checkpoints."""
    found, block, rows, args.measuring = {}, model.block, Entropy.rows, True
    model.block, Entropy.rows = Layer.forward, staticmethod(sys.modules["quill_losses"].entropy_of_rows)
    with torch.no_grad(), autocast(args):
        for k in range(args.probes):
            args.kind = random.Random(f"probe {k}")
            _, figures = LOSSES[stage](model, data, random.Random(f"probe {k}"), args.tokens // args.workers, args)
            for key, value in figures.items():
                found.setdefault(key, []).append(value)
    model.block, Entropy.rows, args.measuring = block, staticmethod(rows), False
    found.pop("tokens", None)
    return {k: round(float(np.mean(v)), 4) for k, v in found.items()}


# ---- Workers ----


def join(args):
    """This process's place among the workers; the first starts the others."""
    rank, others = int(os.environ.get("QUILL_WORKER", 0)), []
    if args.workers > 1:
        meeting = os.environ.setdefault("QUILL_MEETING", os.path.join(args.work, f"meeting-{os.getpid()}"))
        if rank == 0:
            others = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, QUILL_WORKER=str(k))) for k in range(1, args.workers)]
        distributed.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=args.workers,
                                       timeout=datetime.timedelta(minutes=15))
    return rank, others


def leave(args, others):
    if args.workers > 1:
        distributed.destroy_process_group()
        if any([other.wait() for other in others]):
            sys.exit("a worker failed")


def together(args, model):
    """The mean of the workers' gradients."""
    if args.workers == 1:
        return
    every = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in every])
    distributed.all_reduce(flat)
    flat /= args.workers
    for p, grad in zip(every, flat.split([p.numel() for p in every])):
        p.grad = grad.view_as(p)


def agreed(args, *values):
    """The first worker's numbers."""
    if args.workers == 1:
        return values
    told = torch.tensor(values, dtype=torch.float64)
    distributed.broadcast(told, 0)
    return told.tolist()


# ---- A stage ----


def start(args, stage, vocabulary):
    """The model and what is kept of the stage.  What quill_built.py made is begun from, and stays."""
    torch.manual_seed(SEED)
    model = Quill(args.size, vocabulary, args.full).to(args.device)
    built, kept, state = path_of(args, "built"), path_of(args, stage), None
    before = built if stage == STAGES[0] else path_of(args, STAGES[STAGES.index(stage) - 1])
    if os.path.exists(kept):
        state = torch.load(kept, map_location=args.device)
        model.load_state_dict(state["model"])
    elif os.path.exists(before):
        model.load_state_dict(torch.load(before, map_location=args.device)["model"])
    elif stage != STAGES[0]:
        sys.exit(f"no {before}: train {STAGES[STAGES.index(stage) - 1]} first")
    if os.path.exists(built):
        model.freeze()
    return model, state


def compiled(model):
    import torch._dynamo
    torch._dynamo.config.recompile_limit = 64
    model.block = torch.compile(Layer.forward, dynamic=False)
    Entropy.rows = staticmethod(torch.compile(Entropy.rows, dynamic=False))


def autocast(args):
    """Products in bf16; a CPU must have instructions for it."""
    return torch.autocast(args.device.split(":")[0], torch.bfloat16, enabled=args.bf16 or args.device.startswith("cuda"))


def scale(far):
    return min(1.0, (far + 1e-4) / 0.02, LEAST + (1 - LEAST) * (1 - far) / FALL)


def one_step(model, optimiser, stage, data, args, step, rank, far):
    optimiser.rate(args.rate * scale(far))
    args.kind = random.Random(f"{SEED} {stage} {step}")
    with autocast(args):
        loss, figures = LOSSES[stage](model, data, random.Random(f"{SEED} {stage} {step} worker {rank}"), args.tokens // args.workers, args)
    loss.backward()
    together(args, model)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
    if not math.isfinite(norm):
        sys.exit(f"{stage}, step {step}: the gradient is {norm}")
    optimiser.step()
    return dict(figures, norm=norm)


def save(args, stage, model, optimiser, **more):
    path = path_of(args, stage)
    torch.save(dict(model=model.state_dict(), optimiser=optimiser.state_dict(), **more), path + ".part")
    os.replace(path + ".part", path)


class Sums:
    """Means of figures since the last line of the log."""

    def __init__(self):
        self.values, self.since = {}, time.time()

    def add(self, figures):
        for key, value in figures.items():
            self.values.setdefault(key, []).append(value)

    def line(self):
        out = {k: round(float(np.mean(v)), 4) for k, v in self.values.items()}
        self.__init__()
        return out


def stage_train(args):
    stage, (rank, others), every = args.stage_now, join(args), load_data(args.work)
    rate, steps, size = DEFAULTS[args.size][stage]
    args.rate, args.steps, args.tokens, args.measuring = args.rate or rate, args.steps or steps, args.tokens or size, False
    data, probe = indexed(every["train"], load_teacher(args.work)), indexed(every["probe"])
    model, state = start(args, stage, load_tokenizer(args.work).get_vocab_size())
    optimiser, step, tokens, before, budget = Both(model, args.rate), 0, 0, 0.0, args.budget
    if state:
        optimiser.load_state_dict(state["optimiser"])
        step, tokens, before, budget = state["step"], state["tokens"], state["seconds"], args.budget or state["budget"]
    elif rank == 0:
        log(args, stage=stage, parameters=sum(p.numel() for p in model.parameters()), steps=args.steps, budget=budget, rate=args.rate, tokens=args.tokens)
    del state
    if args.compile:
        compiled(model)
    begin = kept = time.time()
    sums, first = Sums(), step
    spent = lambda: before + time.time() - args.begun
    while True:
        far, going = agreed(args, spent() / budget if budget else step / args.steps, time.time() - begin < args.seconds)
        if far >= 1 or not going:
            break
        figures = one_step(model, optimiser, stage, data, args, step, rank, far)
        step, tokens = step + 1, tokens + args.workers * figures.pop("tokens")
        sums.add(figures)
        if rank == 0 and time.time() - sums.since > 20:
            log(args, stage=stage, step=step, tokens=tokens, far=round(far, 4), seconds=round(spent(), 1), cpu=round(time.process_time()), **sums.line())
        if rank == 0 and time.time() - kept > args.keep:
            save(args, stage, model, optimiser, step=step, tokens=tokens, seconds=spent(), budget=budget)
            kept = time.time()
    if rank == 0:
        log(args, stage=stage, step=step, tokens=tokens, did=step - first, seconds=round(spent(), 1), **sums.line())
        save(args, stage, model, optimiser, step=step, tokens=tokens, seconds=spent(), budget=budget)
        if len(probe["stream"]) > 1000:
            log(args, stage=stage, step=step, probe=measured(model, stage, probe, args))
    leave(args, others)
