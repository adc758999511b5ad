#!/usr/bin/env python3
"""What answers of each extent hold of what people ask for, over manuals that a daemon has indexed.

    people_answers.py --socket S --judge JUDGE.py --split tune|held [--scoped | --right] [EXTENT...]

JUDGE.py has questions(), OFF, right_place() and facts_in(), as for people_peers.py. --scoped: each question in its
manual; --right: in the section that is right, if search has it among fifty. Of each EXTENT (brief normal full) a
line: questions, those whose quotes hold all facts and some, in percent, and the bytes of an answer in the mean.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Client
from people_peers import load


def right_section(daemon, judge, question):
    hits = daemon.call("search", query=question["question"], manual=question["manual"], n=50)["results"]
    return next((hit["node"] for hit in hits if judge.right_place(question["gold"], hit)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--split", required=True)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scoped", action="store_true")
    where.add_argument("--right", action="store_true")
    parser.add_argument("extents", nargs="*", default=["brief", "normal"], metavar="EXTENT")
    args = parser.parse_args()
    daemon, judge = Client(args.socket), load(args.judge)
    asked = []
    for question in judge.questions():
        if question["split"] != args.split or question["kind"] in judge.OFF:
            continue
        under = right_section(daemon, judge, question) if args.right else None
        if under or not args.right:
            asked.append((question, {"under": under} if under else {"manual": question["manual"]} if args.scoped else {}))
    for extent in args.extents:
        held, size = [], 0
        for question, scope in asked:
            answer = daemon.call("ask", query=question["question"], answer="passages", extent=extent, **scope)
            text = "\n".join([answer.get("answer") or ""] + [c.get("quote") or "" for c in answer.get("citations", [])])
            held.append(judge.facts_in(question["facts"], text) / len(question["facts"]))
            size += len((answer.get("answer") or "").encode())
        print(f"{extent:7} {len(asked)} questions, whole {100 * sum(h == 1 for h in held) / len(held):.1f} %, "
              f"partly {100 * sum(0 < h < 1 for h in held) / len(held):.1f} %, {size / len(asked):.0f} bytes")


if __name__ == "__main__":
    main()
