#!/usr/bin/env python3
"""Asks a sample of index questions; counts right first citations and proves the quotes.

    ask_sample.py --lectern build/lectern --socket S -c NAME --questions QUESTIONS.jsonl
                  --root HTMLDIR [--seed N] [--count 200] [--out ANSWERS.jsonl]

Questions come from index_terms.py. Right: the first citation's path ends with a right section;
`below` adds those one level under one (a reference entry, perhaps). The quotes are checked as
quotes.py does. Prints one line; fails on a failed command or a miss among the quotes.
"""
import argparse
import json
import random
import sys

import quotes
from common import ask, is_right, read_jsonl


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lectern", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", "--manual", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--out")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    questions = [q for q in read_jsonl(args.questions) if q.get("section")]
    sample = random.Random(args.seed).sample(questions, min(args.count, len(questions)))
    answers, right, below, none, failed = [], 0, 0, 0, []
    for question in sample:
        code, answer = ask(args.lectern, args.socket, args.manual, question["question"])
        answers.append({**answer, "id": question["id"], "question": question["question"]})
        none += answer.get("kind") == "none"
        if code != (1 if answer.get("kind") == "none" else 0):
            failed.append({"id": question["id"], "exit": code, "error": answer.get("error")})
        first = next(iter(answer.get("citations") or []), {})
        path = first.get("path") or []
        hit = is_right(path, question) or (first.get("entry", False) and is_right(path[:-1], question))
        right += hit
        below += hit or is_right(path[:-1], question)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)

    totals, misses = quotes.check(args.root, answers)
    count = max(len(sample), 1)
    report = {"asked": len(sample), "seed": args.seed, "right": round(right / count, 4),
              "right_or_below": round(below / count, 4), "none": round(none / count, 4),
              "failed": len(failed), "quotes": dict(totals), "misses": len(misses)}
    if args.json:
        print(json.dumps(report))
    else:
        print(f"ask_sample: {len(sample)} asked (seed {args.seed}), first citation right {right / count:.3f} "
              f"(or just below {below / count:.3f}), none {none / count:.3f}, {len(failed)} failed; "
              + quotes.summary(totals, misses))
    for problem in (failed + misses)[:10]:
        print(json.dumps(problem, ensure_ascii=False), file=sys.stderr)
    return 1 if failed or misses or not totals["citations"] else 0


if __name__ == "__main__":
    sys.exit(main())
