#!/usr/bin/env python3
"""Two models beside each other, through the daemon: finding sections, answering, and how long both take.

    models.py BEFORE=MODEL AFTER=MODEL --build build --work DIR [--sample 600] [--seed 1]
              [--weights TERMS,DENSE,TREE] [--postgresql HTML] [--python HTML] [--memoir MANUALS] [--smart-remote DIR] [--papers DIR]

Sets (those of docs/log/retrieval.md), each where its folder is given: index terms, as they are and reworded (index_terms.py, reword.py); Python's FAQ
(faq_links.py); the index of memoir (latex/index_entries.py; needs LaTeX); smart-remote and papers, folders with html/ and questions.jsonl. Of a set
of more than --sample questions so many are drawn by the seed. For each: recall@1/5/10 and MRR of both models in the modes auto, dense and tree, and
of words alone, with 95 % intervals, and AFTER minus BEFORE by paired bootstrap (10,000 resamples). --weights: auto of AFTER has these (lexical 1), in
finding; answers are found with those that the program has.

Answers, on smart-remote and papers: each question is asked for a generated answer and for passages (`lectern eval --answers`), 50 questions
of the one model and then of the other. ROUGE-L and token F1 of what is generated; of passages; and of auto, which shows what is generated where
nothing speaks against it (the model's own threshold included) and passages elsewhere. "true": all that is cited stands there.

Speed: smart-remote, else memoir, is indexed anew three times by each in turn: tokens a second of the daemon's processor time. First token:
median and 95 % quantile by the clock, and processor time a question; other load on the machine is in them.

Stores stay in DIR, by the digest of the model's weights, so what was indexed is not indexed again. Prints Markdown. Needs numpy.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from ablation import ranks
from common import read_jsonl
from measured import Measured, digest_of
from harness.daemon import Client
from peers import figures, interval

HERE = os.path.dirname(os.path.abspath(__file__))
MODES, KEYS, PART, TIMES = ("auto", "dense", "tree"), ("recall@1", "recall@5", "recall@10", "mrr"), 50, 3
ABSTAINED = "Not in these passages."  # as Quill was taught


# ---- Sets: (name, manual, folder, ignored globs, questions) ----

def made(path, *command):
    """The questions that a script of this folder prints, kept in path."""
    if not os.path.exists(path):
        with open(path + ".part", "w", encoding="utf-8") as out:
            subprocess.run([sys.executable, os.path.join(HERE, command[0]), *command[1:]], stdout=out, check=True)
        os.replace(path + ".part", path)
    return path


def sets(args):
    own = lambda name: os.path.join(args.work, name + ".jsonl")
    if args.postgresql:
        terms = made(own("terms"), "../checks/index_terms.py", args.postgresql)
        yield "PostgreSQL, index terms", "pg", args.postgresql, (), terms
        yield "PostgreSQL, reworded", "pg", args.postgresql, (), made(own("reworded"), "../checks/reword.py", terms, "--count", "600", "--seed", "1")
    if args.python:
        questions = made(own("python"), "faq_links.py", args.python)
        yield "Python's FAQ", "python", args.python, ("faq/*", "genindex*"), questions
    if args.memoir:
        questions = made(own("memoir"), "../checks/latex/index_entries.py", args.memoir, os.path.join(args.work, "latex"), "memoir")
        yield "memoir", "memoir", os.path.join(args.memoir, "memoir"), (), questions
    for name, folder in (("smart-remote", args.smart_remote), ("papers", args.papers)):
        if folder:
            yield name, name, os.path.join(folder, "html"), (), os.path.join(folder, "questions.jsonl")


def sampled(args, name, path, most):
    """A file of so many of the questions that have a place."""
    placed = [q for q in read_jsonl(path) if any(q.get(key) for key in ("section", "sections", "evidence", "pages"))]
    if len(placed) > most:
        placed = [placed[i] for i in sorted(random.Random(args.seed).sample(range(len(placed)), most))]
    return written(os.path.join(args.work, f"asked-{name}.jsonl"), placed)


def written(path, questions):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(q, ensure_ascii=False) + "\n" for q in questions)
    return path


# ---- Finding ----

def cell(figure, signed=False):
    low, high = figure["interval"]
    sign = "+" if signed else ""
    return f"{figure['value']:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})".replace("0.", ".")


def ranked(house, manual, path, mode, weights=None):
    if weights:
        return ranks(Client(house.socket_path), manual, read_jsonl(path), weights=[1, *weights])
    return [row["rank"] or 0 for row in house.lectern("eval", path, "-c", manual, "--mode", mode)["ranks"]]


def finding(args, name, houses, manual, path):
    before, after = houses
    rows = {(mode, which): ranked(house, manual, path, mode, args.weights if (mode, which) == ("auto", after) else None)
            for which, house in houses.items() for mode in MODES}
    rows["lexical", before] = ranked(houses[before], manual, path, "lexical")
    print(f"{name}, {len(rows['lexical', before])} questions:\n\n| | @1 | @5 | @10 | MRR |\n|---|---|---|---|---|")
    order = [(mode, which) for mode in MODES for which in houses] + [("lexical", before)]
    for mode, which in order:
        label = mode if mode == "lexical" else f"{mode}, {which}"
        found = figures(rows[mode, which])
        print(f"| {label} | {' | '.join(cell(found[key]) for key in KEYS)} |")
        if which == after:
            less = figures(rows[mode, after], rows[mode, before])
            print(f"| {mode}, {after} minus {before} | {' | '.join(cell(less[key], True) for key in KEYS)} |")
    for which in houses:
        less = figures(rows["auto", which], rows["lexical", before])
        print(f"| auto, {which}, minus lexical | {' | '.join(cell(less[key], True) for key in KEYS)} |")
    print(flush=True)


# ---- Answering ----

def answered(args, houses, manual, path):
    """{model: replies}, {model: processor seconds}"""
    questions = read_jsonl(path)
    questions = [questions[i] for i in sorted(random.Random(args.seed).sample(range(len(questions)), min(args.answers, len(questions))))]
    replies, used = {which: [] for which in houses}, dict.fromkeys(houses, 0.0)
    for start in range(0, len(questions), PART):
        part = written(os.path.join(args.work, f"part-{manual}.jsonl"), questions[start:start + PART])
        for which, house in houses.items():
            before = house.cpu_seconds()
            replies[which] += house.lectern("eval", part, "-c", manual, "--answers", "generated,passages")["replies"]
            used[which] += house.cpu_seconds() - before
    return replies, used


def judged(replies):
    """By question: what was generated, what passages say, what auto shows."""
    by = {}
    for reply in replies:
        by.setdefault(reply["id"], {})[reply["method"]] = reply
    for one in by.values():
        good = one["generated"]["kind"] == "generated" and not one["generated"].get("declined")
        one["auto"] = one["generated"] if good else one["passages"]
    return by


def answering(args, name, houses, manual, path):
    replies, used = answered(args, houses, manual, path)
    by = {which: judged(some) for which, some in replies.items()}
    print(f"Answers, {name}, {len(next(iter(by.values())))} questions:\n")
    print("| | generated: ROUGE-L | F1 | passages: ROUGE-L | F1 | auto: ROUGE-L | F1 |\n|---|---|---|---|---|---|---|")
    scores = {}
    for which, found in by.items():
        cells = []
        for method in ("generated", "passages", "auto"):
            for key in ("rouge_l", "f1"):
                scores[which, method, key] = values = [one[method][key] for one in found.values() if one[method]["scored"]]
                cells.append(cell({"value": sum(values) / len(values), "interval": interval(values)}))
        print(f"| {which} | {' | '.join(cells)} |")
    before, after = houses
    cells = []
    for method in ("generated", "passages", "auto"):
        for key in ("rouge_l", "f1"):
            less = [a - b for a, b in zip(scores[after, method, key], scores[before, method, key], strict=True)]
            cells.append(cell({"value": sum(less) / len(less), "interval": interval(less)}, True))
    print(f"| {after} minus {before} | {' | '.join(cells)} |\n")
    print("| of them | refused before | says that it is not there | cites, all true | cites, not all true | cites nothing | nothing written "
          "| shown in auto | first token, ms: median, 95 % | processor seconds |\n|---|---|---|---|---|---|---|---|---|---|")
    for which, found in by.items():
        wrote = [one["generated"] for one in found.values()]
        why = [one.get("declined") for one in wrote]
        first = [one["first_token"] for one in wrote if one.get("first_token")]
        counts = [sum(one["kind"] == "none" and not one.get("declined") for one in wrote),
                  sum(one["answer"].strip() == ABSTAINED for one in wrote),
                  sum(one["kind"] == "generated" and one.get("declined") in (None, "the model is not sure") for one in wrote),
                  sum(reason in ("a citation is not true", "its end is not cited") for reason in why),
                  sum(reason == "nothing is cited" and one["answer"].strip() != ABSTAINED for one, reason in zip(wrote, why)),
                  sum(reason == "nothing was written" for reason in why),
                  sum(one["auto"]["kind"] == "generated" for one in found.values())]
        print(f"| {which} | {' | '.join(map(str, counts))} | {numpy.median(first):.0f}, {numpy.quantile(first, 0.95):.0f} "
              f"| {used[which] / max(1, len(found)):.2f} |")
    print(flush=True)


# ---- Speed ----

def speed(args, models, manual, folder):
    took = {which: [] for which in models}
    for _ in range(TIMES):
        for which, model in models.items():
            place = os.path.join(args.work, "speed")
            shutil.rmtree(place, ignore_errors=True)
            with Measured(args.build, place, model, aliases="no") as house:
                took[which].append(house.add(manual, folder))
    print(f"Indexing {manual} anew, {TIMES} times each in turn:\n\n| | segments | tokens | tokens a second of processor time | by the clock |\n|---|---|---|---|---|")
    for which, some in took.items():
        rates = [[one["tokens"] / one[key] for one in some] for key in ("processor", "clock")]
        cells = [f"{statistics.median(rate):,.0f} ({min(rate):,.0f} to {max(rate):,.0f})" for rate in rates]
        print(f"| {which} | {some[0]['segments']} | {some[0]['tokens']:,} | {' | '.join(cells)} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs=2, metavar="NAME=MODEL")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--work", required=True)
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--answers", type=int, default=150, help="most questions of a set that are answered")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", type=lambda text: [float(one) for one in text.split(",")])
    for name in ("postgresql", "python", "memoir", "smart-remote", "papers"):
        parser.add_argument("--" + name)
    args = parser.parse_args()
    args.build, args.work = os.path.abspath(args.build), os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    begun = time.time()
    models = {which: os.path.abspath(path) for which, path in (item.split("=", 1) for item in args.models)}
    houses = {which: Measured(args.build, os.path.join(args.work, digest_of(os.path.join(path, "model.safetensors"))), path, aliases="no")
              for which, path in models.items()}
    try:
        chosen = list(sets(args))
        for name, manual, folder, ignored, path in chosen:
            for house in houses.values():
                house.add(manual, folder, ignored)
            finding(args, name, houses, manual, sampled(args, manual, path, args.sample))
        for name, manual, _, _, path in chosen:
            if name in ("smart-remote", "papers"):
                answering(args, name, houses, manual, path)
    finally:
        for house in houses.values():
            house.stop()
    quick = [row for row in chosen if row[0] in ("memoir", "smart-remote")]
    if quick:
        speed(args, models, *quick[-1][1:3])
    print(f"All this took {time.time() - begun:.0f} s, {sum(os.times()[:4]):.0f} s of processor time.")


if __name__ == "__main__":
    main()
