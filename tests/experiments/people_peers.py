#!/usr/bin/env python3
"""Questions as people ask them, over manuals that a daemon has indexed: Lectern beside other ways of
searching the very same sections.

    people_peers.py --socket S --judge JUDGE.py --split tune|held [--scoped] [--recoll FOLDER] [--txtai MODEL]

JUDGE.py has questions(), manuals(), OFF and right_place(gold, hit); its questions say which file and anchor or
title is right. Rows: auto and lexical, the daemon's modes; dense, its flat search by vectors (with a model made to
embed: flat search by that model); fts5, SQLite's BM25 as tests/checks/fts5_baseline.py sets it up, over title and
text of each section; rrf, the reciprocal ranks (k = 60) of fts5 and dense; recoll and txtai where asked for
(search_peers.py), the former's pages in a new FOLDER. Prints JSON: first, three, ten in
percent, MRR, and auto minus each by paired bootstrap (10,000 resamples, fixed seed, 95 %).
"""
import argparse
import importlib.util
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from fts5_baseline import TITLE_WEIGHT, TOKENIZER, Baseline
from harness.daemon import Client
from search_peers import Recoll, Txtai

DEPTH, K = 10, 60


def load(path):
    spec = importlib.util.spec_from_file_location("judge", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections_of(daemon, manual):
    """(title, text, place as a hit of search has it) of every section with text."""
    waiting = [daemon.call("toc", manual=manual)]
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        content = daemon.call("get", node=node["id"])
        text = "\n".join(block["text"] for block in content["blocks"])
        if text:
            yield content["path"][-1], text, {"manual": manual, "node": node["id"], "file": node["file"],
                                              "anchor": node["anchor"], "path": content["path"]}


class Searches:
    """What each way finds for a question: places, best first."""

    def __init__(self, daemon, manuals, recoll, txtai):
        self.daemon = daemon
        sections = {manual: list(sections_of(daemon, manual)) for manual in manuals}
        self.tables = {manual: Baseline(rows, TOKENIZER, TITLE_WEIGHT) for manual, rows in sections.items()}
        self.tables[None] = Baseline([row for rows in sections.values() for row in rows], TOKENIZER, TITLE_WEIGHT)
        self.others = {}
        if recoll:
            self.others["recoll"] = Recoll(sections, recoll)
        if txtai:
            self.others["txtai"] = Txtai(sections, txtai)

    def mode(self, question, manual, mode, depth=DEPTH):
        scope = {"manual": manual} if manual else {}
        return self.daemon.call("search", query=question, n=depth, mode=mode, **scope)["results"]

    def all(self, question, manual):
        fts5 = self.tables[manual].search(question, 100)
        dense = self.mode(question, manual, "dense", 100)
        places, scores = {}, {}
        for found in (fts5, dense):
            for rank, place in enumerate(found, 1):
                places[place["node"]] = place
                scores[place["node"]] = scores.get(place["node"], 0) + 1 / (K + rank)
        rrf = [places[node] for node in sorted(scores, key=lambda node: -scores[node])]
        return {"auto": self.mode(question, manual, "auto"), "lexical": self.mode(question, manual, "lexical"),
                "dense": dense[:DEPTH], "fts5": fts5[:DEPTH], "rrf": rrf[:DEPTH],
                **{name: other.search(question, manual, DEPTH) for name, other in self.others.items()}}


def interval(differences, draw):
    count = len(differences)
    means = sorted(sum(draw.choices(differences, k=count)) / count for _ in range(10000))
    return [round(sum(differences) / count, 4), round(means[250], 4), round(means[9749], 4)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--split", required=True, choices=("tune", "held"))
    parser.add_argument("--scoped", action="store_true")
    parser.add_argument("--recoll")
    parser.add_argument("--txtai")
    args = parser.parse_args()
    judge, daemon = load(args.judge), Client(args.socket)
    searches = Searches(daemon, [row[0] for row in judge.manuals() if row[1] == args.split], args.recoll,
                        args.txtai)
    ranks = {}
    for item in judge.questions():
        if item["split"] != args.split or item["kind"] in judge.OFF:
            continue
        for way, found in searches.all(item["question"], item["manual"] if args.scoped else None).items():
            right = (rank for rank, hit in enumerate(found, 1)
                     if hit["manual"] == item["manual"] and judge.right_place(item["gold"], hit))
            ranks.setdefault(way, []).append(next(right, None))
    draw, report = random.Random(1), {}
    for way, found in ranks.items():
        worth = [1 / rank if rank else 0 for rank in found]
        row = {name: round(100 * sum(1 for rank in found if rank and rank <= depth) / len(found), 1)
               for name, depth in (("first", 1), ("three", 3), ("ten", 10))}
        row["mrr"] = round(sum(worth) / len(worth), 4)
        if way != "auto":
            auto = [1 / rank if rank else 0 for rank in ranks["auto"]]
            row["auto minus it, MRR"] = interval([a - b for a, b in zip(auto, worth)], draw)
            for depth in (1, 10):
                hits = [(r is not None and r <= depth) - (o is not None and o <= depth) for r, o in zip(ranks["auto"], found)]
                row[f"auto minus it, @{depth}"] = interval(hits, draw)
        report[way] = row
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
