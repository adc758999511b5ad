#!/usr/bin/env python3
"""All that makes a Quill, on three little invented manuals: near-duplicates, tasks and their check, tokenizer, the stages, pieces, export.

    quill_stages.py --probe build/probe --work DIR

Fails when a stage does, when the packs are not the same twice, when a copied section stays, when what is built of a bag of words has other keys than
the bag, when pieces of a stage do not give what one run gives, when a stage moves what makes memories, when the tasks' own check passes what it must
not, or when the engine and the training code differ.
"""
import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys

import torch

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../model/train")
sys.path.insert(0, TRAIN)
import corpus_pack  # noqa: E402
import tasks  # noqa: E402

THINGS = "valve pump lamp gear rope wheel drum coil spring lever fuse belt crank hinge bolt nozzle".split()
DOES = "opens closes turns lifts lowers starts stops cools heats drains".split()
WHAT = "the first chamber|the lower tank|a second wheel|the main line|every other drum|its own cover|the cold side|the outer ring".split("|")


def sentence(rng):
    return f"The {rng.choice(THINGS)} {rng.choice(DOES)} {rng.choice(WHAT)} when {rng.choice(WHAT)} is {rng.choice(('full', 'empty', 'closed', 'warm'))}."


def manual(name, count, rng):
    node = lambda parent, level, title, blocks, **more: dict(parent=parent, level=level, title=title, entry=False, file="a.html", blocks=blocks,
                                                            refs=[], aliases=[], **more)
    nodes = [node(-1, 0, f"{name} handbook", [])]
    for c in range(count):
        chapter = len(nodes)
        nodes.append(node(0, 1, f"Working with the {rng.choice(THINGS)} of kind {c}", [["paragraph", "", " ".join(sentence(rng) for _ in range(6))]]))
        for s in range(4):
            own = f"{name}_{rng.choice(THINGS)}_{c}_{s}"
            blocks = [["paragraph", "", " ".join(sentence(rng) for _ in range(5))], ["code", "sh", f"{own} --size {rng.randrange(99)}"],
                      ["definition", "", f"size_{c}_{s}\n  {sentence(rng)}"], ["note", "warning", sentence(rng)]]
            nodes.append(node(chapter, 2, own, blocks) | dict(entry=True, aliases=[f"{rng.choice(THINGS)} number {c}.{s}"], refs=[["the part on machines", 1]] if s else []))
    return nodes


def run(*command):
    print("$", *map(str, command), flush=True)
    done = subprocess.run([sys.executable, os.path.join(TRAIN, command[0]), *map(str, command[1:])], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout[-1500:])
    if done.returncode:
        sys.exit(done.stderr[-3000:] or f"{command[0]} failed")


def packs(work):
    found = {}
    for name in sorted(os.listdir(os.path.join(work, "packs"))):
        with open(os.path.join(work, "packs", name), "rb") as file:
            found[name] = file.read()
    return found


def make_corpus(work):
    os.makedirs(os.path.join(work, "trees"))
    made = {name: manual(name, count, random.Random(name)) for name, count in (("flask", 30), ("jinja", 30), ("sphinx", 12), ("varnish", 12))}
    made["jinja"][5]["blocks"] = [list(b) for b in made["varnish"][2]["blocks"]]  # a held-out section copied into what is trained on
    for name, nodes in made.items():
        corpus_pack.write_nodes(os.path.join(work, "trees", name + ".jsonl.xz"), nodes)
    with open(os.path.join(work, "licences.json"), "w") as out:
        json.dump({name: dict(licence="none") for name in made}, out)
    run("corpus_pack.py", "pack", work)
    once = packs(work)
    run("corpus_pack.py", "pack", work)
    if packs(work) != once:
        sys.exit("the same trees were packed otherwise")
    jinja = corpus_pack.read_nodes(os.path.join(work, "packs/jinja.jsonl.xz"))
    if [i for i, n in enumerate(jinja) if n.get("duplicate")] != [5]:
        sys.exit("the copied section, and only that, had to go")


def check_unanswerable():
    node = dict(parent=-1, title="foreign.name", aliases=["a.word"], entry=True, blocks=[["paragraph", "", "Text."]])
    for term, asked in (("foreign.name", 0), ("a.word", 0), ("other.name", 1)):
        if len(tasks.unanswerable("one", "train", [node], [term], 1, random.Random(1))) != asked:
            sys.exit(f"{term}: whether a manual has a name is taken wrongly")


def check_tasks(work):
    check_unanswerable()
    run("tasks.py", "make", work)
    run("tasks.py", "check", work)
    every = tasks.load(work)
    at = next(i for i, q in enumerate(every) if q["form"] == "span")
    for change in (dict(answer="this stands nowhere"), dict(question=every[at + 1]["question"], manual=every[at + 1]["manual"], node=every[at + 1]["node"]), dict(use="held")):
        bad = [dict(q) for q in every]
        bad[at].update(change)
        text = io.StringIO()
        for q in bad:
            text.write(json.dumps(q) + "\n")
        with corpus_pack.lzma.open(os.path.join(work, "tasks.jsonl.xz"), "wt") as out:
            out.write(text.getvalue())
        done = subprocess.run([sys.executable, os.path.join(TRAIN, "tasks.py"), "check", work], capture_output=True, check=False)
        if done.returncode != 1:
            sys.exit(f"the check passed {change}")
    run("tasks.py", "make", work)


def check_built(work):
    """The layers have the bag's keys, which learned something."""
    with open(os.path.join(work, "tiny.jsonl"), encoding="utf-8") as lines:
        said = [json.loads(line) for line in lines]
    built = next(line["cosine_to_the_bag"] for line in said if line.get("stage") == "built")
    found = [line["probe"][2] for line in said if line.get("stage") == "words"]
    print(f"keys of layers and bag: cosines {built}; the bag's reciprocal ranks {found[0]}, learned {max(found)}")
    if not min(built) > 0.99 or not max(found) > found[0]:
        sys.exit("the layers are not the bag, or it learned nothing")


MEMORY = ("embed.", "norm", "mem", "recall.", *(f"layers.{i}." for i in range(3)))


def check_frozen(work):
    built, now = states(work, "built"), states(work, "answers")
    moved = [name for name in now if not torch.equal(built[name], now[name])]
    if any(name.startswith(MEMORY) for name in moved) or not {"head", "pool.wq", "layers.3.q_proj.weight"} <= set(moved):
        sys.exit(f"learning moved {moved}")


def states(work, stage):
    return torch.load(os.path.join(work, f"tiny-{stage}.pt"))["model"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--probe", required=True)
    p.add_argument("--work", required=True)
    o = p.parse_args()
    shutil.rmtree(o.work, ignore_errors=True)
    make_corpus(o.work)
    check_tasks(o.work)
    run("quill.py", "tokenizer", o.work, "--vocabulary", 600)
    run("quill.py", "prepare", o.work)
    run("quill.py", "words", o.work, "--size", "tiny", "--steps", 60)
    run("quill.py", "build", o.work, "--size", "tiny")
    check_built(o.work)
    small = ["--size", "tiny", "--threads", 1, "--context", 200, "--tokens", 800, "--probes", 1]
    for stage in ("language", "routing", "answers"):
        kept = os.path.join(o.work, f"tiny-{stage}.pt")
        run("quill.py", stage, o.work, *small, "--steps", 2)
        whole = states(o.work, stage)
        os.remove(kept)
        for _ in range(4):  # a piece of no time is no step; the rest is done by pieces of one
            if os.path.exists(kept) and torch.load(kept)["step"] == 2:
                break
            run("quill.py", stage, o.work, *small, "--steps", 2, "--seconds", 1e-3)
        apart = torch.stack([(whole[k] - v).abs().max() for k, v in states(o.work, stage).items()]).max().item()
        print(f"{stage}: one run and pieces are {apart:.1e} apart")
        if not apart <= 1e-6:
            sys.exit("pieces do not give what one run gives")
    check_frozen(o.work)
    run("quill.py", "export", o.work, os.path.join(o.work, "out"), "--size", "tiny")
    run("quill.py", "check", o.work, os.path.join(o.work, "out"), "--size", "tiny", "--probe", o.probe)


if __name__ == "__main__":
    main()
