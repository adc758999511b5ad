#!/usr/bin/env python3
"""Counts refusals: questions the manual cannot answer should get none, the others an answer.

    abstain.py --lectern build/lectern --socket S -c NAME [--half tune|held|all] [--json]

Asks tests/questions/postgresql-on-topic.jsonl and -off-topic.jsonl. `tune` is for choosing a threshold,
`held` for judging it. A refusal is kind "none" with exit code 1; either without the other,
or a failed command, fails. The counts themselves set no bound.
"""
import argparse
import json
import os
import sys

from common import ask, read_jsonl

SETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "questions")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lectern", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", "--manual", required=True)
    parser.add_argument("--half", choices=("tune", "held", "all"), default="all")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    report, failed, unlike = {"half": args.half}, [], []
    for topic, refusal_is_right in (("off-topic", True), ("on-topic", False)):
        questions = [q for q in read_jsonl(os.path.join(SETS, f"postgresql-{topic}.jsonl"))
                     if args.half in ("all", q["half"])]
        none = 0
        for question in questions:
            code, answer = ask(args.lectern, args.socket, args.manual, question["question"])
            refused = code == 1 and answer.get("kind") == "none"
            none += refused
            if not refused and (code != 0 or answer.get("kind") not in ("generated", "passages")):
                failed.append({"id": question["id"], "exit": code, "kind": answer.get("kind"),
                               "error": answer.get("error")})
            elif refused != refusal_is_right:
                unlike.append({"id": question["id"], "question": question["question"]})
        report[topic] = {"asked": len(questions), "none": none}
    report["failed"] = len(failed)
    if args.json:
        print(json.dumps({**report, "wrong": unlike}, ensure_ascii=False))
    else:
        off, on = report["off-topic"], report["on-topic"]
        print(f"abstain ({args.half}): off-topic {off['none']} of {off['asked']} refused, "
              f"on-topic {on['none']} of {on['asked']} refused, {len(failed)} failed")
    for problem in (failed + unlike)[:10]:
        print(json.dumps(problem, ensure_ascii=False), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
