#!/usr/bin/env python3
"""Questions of people, searched and answered as they are and with `expand`: what a model's words find.

    expand.py --judge JUDGE.PY --split tune|held --socket SOCKET [--scoped] [--out FILE.jsonl]

The daemon behind SOCKET has the split's manuals (judge.py adds them) and an `answer_model` that answers in its own
words. Answers are quoted. Prints first, among three, among ten, MRR and answered of both, and the paired difference
(95 %, bootstrap).
"""
import argparse
import importlib.util
import json
import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Client  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location("judge", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(judge, daemon, item, scoped, expand):
    params = {"query": item["question"]}
    if scoped:
        params["manual"] = item["manual"]
    if expand:
        params["expand"] = True
    start = time.monotonic()
    found = daemon.call("search", n=10, **params)
    ms = 1000 * (time.monotonic() - start)
    answer = daemon.call("ask", answer="passages", **params)
    rank = next((n for n, hit in enumerate(found["results"], 1)
                 if hit["manual"] == item["manual"] and judge.right_place(item["gold"], hit)), None)
    text = "\n".join([answer.get("answer") or ""] + [c.get("quote") or "" for c in answer.get("citations", [])])
    return {"id": item["id"], "kind": item["kind"], "rank": rank, "words": found.get("expanded"), "ms": ms,
            "answered": judge.facts_in(item["facts"], text) == len(item["facts"]), "refused": answer["kind"] == "none"}


def within(most):
    return lambda result: float(bool(result["rank"]) and result["rank"] <= most)


FIGURES = {"first": within(1), "three": within(3), "ten": within(10), "MRR": lambda r: 1 / r["rank"] if r["rank"] else 0.0,
           "answered": lambda r: float(r["answered"]), "refused": lambda r: float(r["refused"])}


def interval(differences):
    dice = random.Random(1)
    means = sorted(statistics.fmean(dice.choices(differences, k=len(differences))) for _ in range(2000))
    return f"{statistics.fmean(differences):+.3f} ({means[50]:+.3f} to {means[1949]:+.3f})"


def main():
    parser = argparse.ArgumentParser()
    for name in ("judge", "split", "socket"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--scoped", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    judge, daemon = load(options.judge), Client(options.socket)
    names = {name for name, split, *_ in judge.manuals() if split == options.split}
    items = [item for item in judge.questions() if item["manual"] in names]
    plain, both = ([ask(judge, daemon, item, options.scoped, expand) for item in items] for expand in (False, True))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(pair) + "\n" for pair in zip(plain, both))
    pairs = [(a, b) for a, b in zip(plain, both) if a["kind"] not in judge.OFF]
    for name, figure in FIGURES.items():
        a, b = [figure(x) for x, _ in pairs], [figure(y) for _, y in pairs]
        print(f"{name:9} {statistics.fmean(a):.3f} -> {statistics.fmean(b):.3f}  {interval([y - x for x, y in zip(a, b)])}")
    print("ms", *(f"{statistics.median(pair[i]['ms'] for pair in pairs):.1f}" for i in (0, 1)))


if __name__ == "__main__":
    main()
