#!/usr/bin/env python3
"""How long a search takes in a store of many sections, over the daemon's socket.

    latency.py BUILD STORE MODEL [--questions FILE] [--count N] [--write FILE] [FOLDER...]

Starts a daemon on STORE (which must have none), adds each FOLDER as a manual, and waits until all is
indexed, has its memories and, where there are enough vectors, their search index. Then asks N (400)
questions in each mode, ten results with their text, one after the other; the first twenty of each mode
do not count. The questions are FILE's (as `lectern eval` reads them), else titles of random sections in
five templates; --write keeps them. Prints JSON: what the store holds, and milliseconds as the client
sees them and as the daemon says; `core`: of the daemon's processor time, in the mean; `mib`: its memory in the end. `dense in auto`: the search index, or each row.
"""
import argparse
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon

MODES = ("lexical", "dense", "tree", "auto")
TEMPLATES = ("How do I use {}?", "What is {}?", "{}", "I need help with {}", "Where is {} explained?")
WARM = 20


class Timed(Daemon):
    """Tells of each call also the seconds until all of its answer was read."""

    def call(self, method, **params):
        start = time.perf_counter()
        result = super().call(method, **params)
        return result, time.perf_counter() - start

    def settle(self):
        self.call("wait")
        while True:
            status, _ = self.call("status", open=True)
            if status["state"] != "indexing" and not status["vectors"]["due"]:
                return status
            time.sleep(1)


def titles(daemon, manuals):
    found, waiting = [], []
    for manual in manuals:
        waiting.append(daemon.call("toc", manual=manual)[0])
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        if node["title"] and len(node["title"]) < 80:
            found.append(node["title"])
    return sorted(set(found))


def questions_of(daemon, manuals, count):
    chance = random.Random(1)
    all_titles = titles(daemon, manuals)
    chosen = chance.sample(all_titles, min(count, len(all_titles)))
    return [TEMPLATES[i % len(TEMPLATES)].format(title) for i, title in enumerate(chosen)]


def spread(values):
    values = sorted(values)
    return {"p50": round(values[len(values) // 2], 2), "p95": round(values[len(values) * 95 // 100], 2),
            "most": round(values[-1], 2)}


def measure(daemon, mode, questions):
    whole, parts = [], {"embed": [], "route": [], "total": []}
    for n, question in enumerate(questions[:WARM] + questions):
        if n == WARM:
            core = daemon.cpu_seconds()
        result, seconds = daemon.call("search", query=question, mode=mode, n=10)
        if n < WARM:
            continue
        whole.append(seconds * 1000)
        for name, values in parts.items():
            values.append(result["ms"][name])
    core = (daemon.cpu_seconds() - core) * 1000 / len(questions)
    return {"ms": spread(whole), "core": round(core, 2), **{name: spread(values) for name, values in parts.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("store")
    parser.add_argument("model")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--questions")
    parser.add_argument("--write")
    parser.add_argument("--count", type=int, default=400)
    args = parser.parse_args()
    daemon = Timed(args.build, os.path.abspath(args.store) + ".latency", args.model,
                   store=os.path.abspath(args.store), watch="off", log="error")
    try:
        for folder in args.folders:
            daemon.call("add", dir=os.path.abspath(folder))
        status = daemon.settle()
        manuals = [manual["name"] for manual in status["manuals"]]
        if args.questions:
            with open(args.questions, encoding="utf-8") as file:
                questions = [json.loads(line)["question"] for line in file][:args.count]
        else:
            questions = questions_of(daemon, manuals, args.count)
        if args.write:
            with open(args.write, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"question": question}) + "\n" for question in questions)
        explained, _ = daemon.call("search", query=questions[0], mode="auto", explain=True)
        report = {
            "manuals": len(manuals), "nodes": sum(manual["nodes"] for manual in status["manuals"]),
            "words": sum(manual["words"] for manual in status["manuals"]), "vectors": status["vectors"],
            "questions": len(questions), "load": os.getloadavg()[0],
            "dense in auto": explained["explain"].get("dense")}
        report["modes"] = {mode: measure(daemon, mode, questions) for mode in MODES
                           if status["vectors"]["segments"] or mode == "lexical"}
        report["mib"] = {name: kib // 1024 for name, kib in daemon.memory().items()}
        print(json.dumps(report, indent=1))
    finally:
        daemon.stop()


if __name__ == "__main__":
    main()
