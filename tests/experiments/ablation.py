#!/usr/bin/env python3
"""What each part of the search buys: the same questions with all parts, and without one.

    ablation.py --socket S [--without PART=SOCKET...] [--each N] MANUAL=QUESTIONS.jsonl...

Rankings are left out of the fused one by their weights, of which `search` takes any. For any other part, a daemon
of a program without it, over the same store, answers at SOCKET: the product has no switches for this.
Prints, for each set, a row with all, then rows without a part as differences to it: recall@1, recall@10 and MRR with
the 95 % interval of a paired bootstrap. --each N asks each N-th question. Right is what `lectern eval` calls right.
Needs numpy.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import fold, read_jsonl
from harness.daemon import Client
from peers import DEPTH, cell, figures, words

RANKINGS = ("lexical", "terms", "dense", "tree")
KEYS = ("recall@1", "recall@10", "mrr")


def is_right(question, hit):
    path = [fold(title) for title in hit["path"]]
    for place in filter(None, question.get("sections") or [question.get("section")]):
        wanted = [fold(title) for title in place]
        if path[-len(wanted):] == wanted or hit.get("entry") and path[:-1][-len(wanted):] == wanted:
            return True
    return hit["file"] in (question.get("pages") or []) or any(
        evidence.strip() and words(evidence) in words(hit["text"]) for evidence in question.get("evidence") or [])


def ranks(daemon, manual, questions, **params):
    out = []
    for question in questions:
        more = {"file": question["document"]} if question.get("document") else {}
        hits = daemon.call("search", query=question["question"], manual=manual, n=DEPTH, **more, **params)["results"]
        out.append(next((r for r, hit in enumerate(hits, 1) if is_right(question, hit)), 0))
    return out


def rows(args, manual, questions):
    """(name, ranks), the first with all parts."""
    daemon = Client(args.socket)
    yield "all", ranks(daemon, manual, questions)
    asked = daemon.call("search", query=questions[0]["question"], manual=manual, explain=True)
    standard = {name: asked["explain"]["weights"][name] for name in RANKINGS}  # they depend on the model
    for part in RANKINGS:
        weights = [0 if name == part else weight for name, weight in standard.items()]
        yield part, ranks(daemon, manual, questions, weights=weights)
    yield "dense, tree", ranks(daemon, manual, questions, weights=[standard["lexical"], standard["terms"], 0, 0])
    for without in args.without:
        part, socket = without.split("=", 1)
        yield part, ranks(Client(socket), manual, questions)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--without", action="append", default=[], help="PART=SOCKET")
    parser.add_argument("--each", type=int, default=1)
    args = parser.parse_args()
    for item in args.sets:
        manual, path = item.split("=", 1)
        questions = [q for q in read_jsonl(path)
                     if any(q.get(key) for key in ("section", "sections", "evidence", "pages"))][::args.each]
        print(f"{path}: {len(questions)} questions\n\n| without | @1 | @10 | MRR |\n|---|---|---|---|", flush=True)
        every = None
        for name, found in rows(args, manual, questions):
            shown = figures(found, every)
            every = every or found
            print(f"| {name} | {' | '.join(cell(shown[key], name != 'all') for key in KEYS)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
