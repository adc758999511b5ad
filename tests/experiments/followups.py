#!/usr/bin/env python3
"""Follow-up questions, with the conversation and without it.

    followups.py --lectern L --socket S -c MANUAL [--count 300] [--seed 1]

Conversations are made from the manual's own tree. The first question names a section A whose title no
other section has; the second one cannot be understood alone:
  part   names a section B below A by a title that others have, too ("and the synopsis?"); right is that B;
  it     names nothing ("how do I use it?"); right is A or what is below it.
Each is asked in a session, and without one. Counted is the first hit (recall@1) and the first five of
"route". Prints JSON, the difference by paired bootstrap (10,000 resamples, fixed seed), and how often the
first question found A at all. The templates were written before anything was measured.
"""
import argparse
import json
import random
import re
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import fold
from harness.daemon import Client
from peers import interval

FIRST = ["What is {}?", "Tell me about {}.", "{}", "Where is {} explained?"]
PART = ["and the {}?", "What about {}?", "what does it say about {}?", "And {}?"]
IT = ["how do I use it?", "Can you show me an example of that?", "when would I need this?", "why?",
      "And how do I turn it off?"]


def subject(title):
    """The title without its number."""
    return re.sub(r"^(?:[A-Z]?[\d.]+|[A-Z]\.)\s+", "", title).strip()


def conversations(toc, count, rng):
    """(kind, first, second, right ids, ids of A and what is below it)."""
    nodes, waiting = [], [(toc, None)]
    while waiting:
        node, parent = waiting.pop()
        nodes.append((node, parent))
        waiting += [(child, node) for child in node["children"]]
    titles = Counter(fold(subject(node["title"])) for node, _ in nodes)
    found = []
    for node, parent in nodes:
        if parent is None or not parent["level"] or titles[fold(subject(parent["title"]))] > 1:
            continue
        below = [n["id"] for n in walk(parent)]
        first = rng.choice(FIRST).format(subject(parent["title"]))
        if titles[fold(subject(node["title"]))] > 1 and not node.get("entry"):
            second = rng.choice(PART).format(subject(node["title"]).lower())
            found.append(("part", first, second, [node["id"]], below))
        else:
            found.append(("it", first, rng.choice(IT), below, below))
    rng.shuffle(found)
    parts = [f for f in found if f[0] == "part"][:count]
    once, its = set(), []
    for item in found:  # one question about a section
        if item[0] == "it" and item[4][0] not in once:
            once.add(item[4][0])
            its.append(item)
    return parts + its[:count]


def walk(node):
    yield node
    for child in node["children"]:
        yield from walk(child)


def rank(answer, right):
    hits = [hit["node"] for hit in answer["route"]]
    return next((r for r, node in enumerate(hits, 1) if node in right), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lectern", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", dest="manual", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    daemon, rng = Client(args.socket), random.Random(args.seed)
    talks = conversations(daemon.call("toc", manual=args.manual), args.count, rng)
    rows, begun, told = {}, {}, {}
    for number, (kind, first, second, right, below) in enumerate(talks):
        name = f"followups-{args.seed}-{number}"
        begin = daemon.call("ask", query=first, manual=args.manual, session=name, answer="passages")
        inside = daemon.call("ask", query=second, manual=args.manual, session=name, answer="passages")
        alone = daemon.call("ask", query=second, manual=args.manual, answer="passages")
        rows.setdefault(kind, []).append((rank(inside, right), rank(alone, right)))
        begun.setdefault(kind, []).append(rank(begin, below) == 1)
        told.setdefault(kind, []).append(inside["session"]["follows"])
    report = {}
    for kind, ranks in rows.items():
        row = report[kind] = {"conversations": len(ranks), "began in A": round(sum(begun[kind]) / len(ranks), 4),
                              "taken for a follow-up": round(sum(told[kind]) / len(ranks), 4)}
        for k in (1, 5):
            with_it, without = [[0 < pair[i] <= k for pair in ranks] for i in (0, 1)]
            difference = [a - b for a, b in zip(with_it, without)]
            row[f"recall@{k}"] = {"session": round(sum(with_it) / len(ranks), 4),
                                  "alone": round(sum(without) / len(ranks), 4),
                                  "difference": round(sum(difference) / len(ranks), 4),
                                  "interval": interval(difference)}
    print(json.dumps(report, indent=1))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
