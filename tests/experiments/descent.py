#!/usr/bin/env python3
"""Questions as people ask them, asked within the part of the manual that holds the answer: where the
descent down the tree (mode `tree`) stands beside flat search (`dense`), words and all of them.

    descent.py --socket S --judge JUDGE.py [--split tune]

The daemon has the manuals of the split, as people_peers.py wants them. A line of JSON for each depth, 0 (the whole
manual), 1 (its parts) and 2: how many questions, the median of the nodes searched, and for each mode how many of a
hundred have the right section first, among three, among ten."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Client
from people_peers import load

MODES, DEPTHS = ("lexical", "dense", "tree", "auto"), (0, 1, 2)


def places_of(manual, node, above, path):
    """Each node as search names it, with itself and what it stands in, outermost first."""
    above, path = [*above, node["id"]], [*path, node["title"]]
    yield {"manual": manual, "file": node["file"], "anchor": node["anchor"], "path": path}, above
    for child in node["children"]:
        yield from places_of(manual, child, above, path)


def rank(judge, gold, hits):
    return next((i for i, hit in enumerate(hits) if judge.right_place(gold, hit)), len(hits) + 10)


def measure(daemon, judge, items, trees, depth):
    ranks, sizes = {mode: [] for mode in MODES}, []
    for item in items:
        places = trees[item["manual"]]
        under = next((above[depth] for place, above in places
                      if len(above) > depth and judge.right_place(item["gold"], place)), None)
        if under is None:
            continue
        sizes.append(sum(under in above for _, above in places))
        for mode in MODES:
            hits = daemon.call("search", query=item["question"], n=10, mode=mode, manual=item["manual"],
                               under=under)["results"]
            ranks[mode].append(rank(judge, item["gold"], hits))
    shares = {mode: [round(100 * sum(at < most for at in its) / len(its), 1) for most in (1, 3, 10)]
              for mode, its in ranks.items()}
    return {"depth": depth, "questions": len(sizes), "nodes": sorted(sizes)[len(sizes) // 2], **shares}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--split", default="tune")
    args = parser.parse_args()
    judge, daemon = load(args.judge), Client(args.socket)
    items = [item for item in judge.questions() if item["split"] == args.split and item["kind"] not in judge.OFF]
    trees = {manual: list(places_of(manual, daemon.call("toc", manual=manual), [], []))
             for manual in sorted({item["manual"] for item in items})}
    for depth in DEPTHS:
        print(json.dumps(measure(daemon, judge, items, trees, depth)), flush=True)


if __name__ == "__main__":
    main()
