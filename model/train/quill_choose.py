#!/usr/bin/env python3
"""Chooses what Lectern needs to know of a trained model, on manuals that it was not trained on: weights of the fused mode, and its config's "lectern".

    quill_choose.py WORK MODEL --build ../../build --into DIR [--only weights|answers] [--layouts 448,3,130:560,4,130] [--write]

WORK is quill.py's: packages (corpus_pack.py fetch), packs, tasks. Indexed are the held-out manuals, and of those that are never trained on the ones of FAQS,
in a daemon of its own, whose store stays in DIR.

weights   tests/experiments/fusion.py's grid of terms, dense and tree beside lexical 1. Four kinds of question, which count alike: tasks (of tasks.py,
          their templates are those of training, their manuals not), references and definitions (tests/experiments/structure.py), and questions by people, right being
          a page that the FAQ links to (tests/experiments/faq_links.py). Taken is the grid's best if, chosen without a manual and measured on that one, it
          is no worse in the mean than the standard weights; else those.
answers   each question of tasks.py (needles excepted) is asked for a generated answer and for passages, --questions of those that have an answer and a third as many of
          those that have none, in each of the LAYOUTS (prompt_tokens, passages, passage_tokens). Taken are the layout with the best ROUGE-L of what is
          generated, and with it the least threshold at which (tests/experiments/answer_threshold.py) answers shown in auto are no worse than passages, and at most
          one in twenty of the questions without an answer gets one; else 1, never.

--write puts the "lectern" that was chosen into MODEL's config.json. Weights are printed; memory/routing/route.c has them. Nothing of docs/log/retrieval.md's
five sets is asked. Needs numpy.
"""
import argparse
import itertools
import json
import lzma
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../tests/experiments"))

import answer_threshold  # noqa: E402
import fusion  # noqa: E402
from corpus_pack import manuals, package_folder  # noqa: E402
from corpus_table import MANUALS  # noqa: E402
from measured import Measured, digest_of  # noqa: E402
from models import made, written  # noqa: E402

SEED, HELD = 1, ("cmake", "swi-prolog", "varnish")
FAQS = {  # of the manuals that are never trained on: where the FAQ is, and what is left out of the index with it
    "celery": ("faq.html", ("faq.html", "genindex*", "_modules/*", "history/*")),
    "scrapy": ("faq.html", ("faq.html", "genindex*", "_modules/*", "news.html")),
    "sqlalchemy": ("faq", ("faq/*", "genindex*", "_modules/*", "changelog/*"))}
GRID = list(itertools.product((0, 0.15, 0.25), (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1), (0, 0.05, 0.15)))
FEWEST, STEP, MOST_FALSE = 30, 0.05, 0.05


def tasks_of(work):
    """Held-out questions with what `lectern eval` needs."""
    nodes = {name: some for name, some in manuals(work, "held") if name in HELD}
    with lzma.open(os.path.join(work, "tasks.jsonl.xz"), "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            q = json.loads(line)
            if q["manual"] not in nodes or q["form"] == "needle":
                continue
            path, at = [], q["node"]
            while at > 0:
                path, at = [nodes[q["manual"]][at]["title"]] + path, nodes[q["manual"]][at]["parent"]
            yield {"id": f"{q['task']}-{number}", "manual": q["manual"], "form": q["form"], "question": q["question"], "answer": q["answer"],
                   "section": path[-2:], "own": q["form"] != "where" or q["answer"] == path[-1], "unanswerable": q["form"] == "none"}


def drawn(questions, count):
    return random.Random(SEED).sample(questions, min(count, len(questions)))


# ---- Weights ----

def question_sets(args, daemon, tasks):
    """KIND:MANUAL=FILE, as fusion.py collects them."""
    own = lambda name: os.path.join(args.into, name + ".jsonl")
    for name in args.held:
        some = [q for q in tasks if q["manual"] == name and q["own"] and not q["unanswerable"]]
        yield f"tasks:{name}={written(own('tasks-' + name), drawn(some, args.each))}"
        for kind in ("references", "definitions"):
            yield f"{kind}:{name}=" + made(own(f"{kind}-{name}"), "structure.py", kind, "--socket", daemon.socket_path, "-c", name, "--count", str(args.each // 2))
    for name in args.faqs:
        faq, ignored = FAQS[name]
        leave = [arg for glob in ignored for arg in ("--leave", glob)]
        yield f"faq:{name}=" + made(own(f"faq-{name}"), "faq_links.py", package_folder(args.work, name), "--faq", faq, *leave)


def choose_weights(args, daemon, tasks):
    folder = os.path.join(args.into, "collected-" + os.path.basename(daemon.home))
    collecting = argparse.Namespace(socket=daemon.socket_path, into=folder, sets=list(question_sets(args, daemon, tasks)))
    fusion.collect(collecting)
    sets = fusion.read(folder)
    kinds, names = sorted({kind for kind, _ in sets}), {manual for _, manual in sets}
    print("MRR, and minus the standard weights (95 %), by (terms, dense, tree):")
    alone = {"lexical alone": lambda one: one["lexical"], "dense alone": lambda one: one["dense"], "tree alone": lambda one: one["tree"]}
    standard = fusion.measured(sets, fusion.weighed(fusion.STANDARD))
    for name, score in alone.items():
        fusion.compare(name, fusion.measured(sets, score), standard, kinds, names)
    best, gained = fusion.weights(sets, kinds, names, GRID)
    taken = best if gained >= 0 else fusion.STANDARD
    print(f"weights taken: lexical 1, terms {taken[0]}, dense {taken[1]}, tree {taken[2]} (left out, in the mean of kinds: {gained:+.4f})\n", flush=True)


# ---- Answers ----

def with_layout(args, layout):
    """A folder of the model that says so."""
    folder = os.path.join(args.into, "model")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(args.model, folder)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as stream:
        config = json.load(stream)
    config["lectern"] = {**config.get("lectern", {}), **dict(zip(("prompt_tokens", "passages", "passage_tokens"), layout, strict=True))}
    config["lectern"].pop("answer_threshold", None)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out)
    return folder


def asked(args, daemon, questions):
    """One report of `eval` a manual."""
    for name in args.held:
        some = [{key: q[key] for key in ("id", "question", "answer", "unanswerable")} for q in questions if q["manual"] == name]
        path = written(os.path.join(args.into, f"answers-{name}.jsonl"), some)
        yield daemon.lectern("eval", path, "-c", name, "--answers", "generated,passages")


def judged(reports, none):
    """Rows of answer_threshold.py, with how many of the questions without an answer would get one."""
    replies = [reply for report in reports for reply in report["replies"]]
    pairs = answer_threshold.pairs([{"replies": [reply for reply in replies if reply["id"] not in none]}])
    false = [reply["answer_confidence"] for reply in replies if reply["id"] in none and reply["method"] == "generated"
             and reply["kind"] == "generated" and reply.get("declined") in (None, answer_threshold.NOT_SURE)]
    rows, low = [], min([c for c, _, _ in pairs if c is not None], default=0)
    for place in range(int(low / STEP) - 1, 1):
        row = answer_threshold.judge(pairs, place * STEP)
        rows.append({**row, "false": sum(one >= place * STEP for one in false) / max(1, len(none))})
    return sum(g for _, g, _ in pairs) / len(pairs), sum(p for _, _, p in pairs) / len(pairs), rows


def choose_answers(args, store, tasks):
    some = [q for q in tasks if q["manual"] in args.held]
    questions = drawn([q for q in some if not q["unanswerable"]], args.questions) + drawn([q for q in some if q["unanswerable"]], args.questions // 3)
    none = {q["id"] for q in questions if q["unanswerable"]}
    best = None
    for layout in args.layouts:
        with Measured(args.build, store, with_layout(args, layout), aliases="no") as daemon:
            daemon.lectern("wait")
            generated, passages, rows = judged(list(asked(args, daemon, questions)), none)
        print(f"layout {layout}: ROUGE-L of what is generated {generated:.4f}, of passages {passages:.4f}", flush=True)
        if not best or generated > best[0]:
            best = generated, layout, rows
    _, layout, rows = best
    for row in rows:
        if row["shown"]:
            print(f"{row['threshold']:6.2f}  shown {row['shown']:4}: ROUGE-L {row['generated']:.4f}, passages {row['passages']:.4f}, {row['difference']:+.4f} "
                  f"({row['interval'][0]:+.4f} to {row['interval'][1]:+.4f}); of questions without an answer {row['false']:.3f}")
    chosen = answer_threshold.choose([row for row in rows if row["false"] <= MOST_FALSE], FEWEST)
    lectern = dict(prompt_tokens=layout[0], passages=layout[1], passage_tokens=layout[2],
                   answer_threshold=chosen["threshold"] if chosen else answer_threshold.NEVER)
    print(f'"lectern": {json.dumps(lectern)}', flush=True)
    return lectern


def write(model, lectern):
    path = os.path.join(model, "config.json")
    with open(path, encoding="utf-8") as stream:
        config = json.load(stream)
    with open(path, "w", encoding="utf-8") as out:
        json.dump({**config, "lectern": {**config.get("lectern", {}), **lectern}}, out, indent=2)
        out.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work")
    parser.add_argument("model")
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--into", required=True)
    parser.add_argument("--only", choices=("weights", "answers"))
    parser.add_argument("--each", type=int, default=200, help="questions of tasks a manual; of references and of definitions half")
    parser.add_argument("--questions", type=int, default=600, help="that have an answer")
    parser.add_argument("--layouts", default="448,3,130", help="of which the best is taken")
    parser.add_argument("--held", nargs="*", default=list(HELD))
    parser.add_argument("--faqs", nargs="*", default=list(FAQS))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    args.build, args.into, args.model = (os.path.abspath(path) for path in (args.build, args.into, args.model))
    args.layouts = [tuple(map(int, one.split(","))) for one in args.layouts.split(":")]
    os.makedirs(args.into, exist_ok=True)
    tasks = list(tasks_of(args.work))
    store = os.path.join(args.into, digest_of(os.path.join(args.model, "model.safetensors")))
    with Measured(args.build, store, args.model, aliases="no") as daemon:
        for name in args.held:
            daemon.add(name, package_folder(args.work, name), MANUALS[name][3])
        if args.only != "answers":
            for name in args.faqs:
                daemon.add(name, package_folder(args.work, name), FAQS[name][1])
            choose_weights(args, daemon, tasks)
    if args.only != "weights":
        lectern = choose_answers(args, store, tasks)
        if args.write:
            write(args.model, lectern)


if __name__ == "__main__":
    main()
