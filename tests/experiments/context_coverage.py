#!/usr/bin/env python3
"""How much of the right answer stands in what a model is given to read.

    context_coverage.py --socket S -c MANUAL QUESTIONS.jsonl [--count N]

For each question with an answer: the prompt that `ask` packs (its "read" with explain; one token is
written), without the question. Prints JSON with 95 % intervals: `whole`, the share of questions one of whose
answers stands in it word for word; `words`, the share of an answer's words (as often as they stand) that it
holds; `right`, the share whose right section is among the sections read.
"""
import argparse
import json
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import is_right, read_jsonl
from harness.daemon import Client
from peers import interval, words


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions")
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", dest="manual", required=True)
    parser.add_argument("--count", type=int, default=10 ** 9)
    args = parser.parse_args()
    daemon = Client(args.socket)
    rows = {"whole": [], "words": [], "right": []}
    for question in [q for q in read_jsonl(args.questions) if q.get("answer")][:args.count]:
        answer = daemon.call("ask", query=question["question"], manual=args.manual, answer="generated",
                             max_tokens=1, explain=True)
        read = answer.get("read", {"prompt": "", "sources": []})
        text = words(read["prompt"].rsplit("\n\nQuestion: ", 1)[0])
        held = Counter(text.split())
        references = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
        rows["whole"].append(float(any(words(r) in text for r in references)))
        rows["words"].append(max(sum((Counter(words(r).split()) & held).values()) / max(len(words(r).split()), 1)
                                 for r in references))
        if question.get("section"):
            paths = [daemon.call("get", node=node)["path"] for source in read["sources"] for node in source["nodes"]]
            rows["right"].append(float(any(is_right(path, question) for path in paths)))
    report = {"questions": len(rows["whole"])}
    for name, values in rows.items():
        if values:
            report[name] = {"value": round(sum(values) / len(values), 4), "interval": interval(values)}
    print(json.dumps(report))


if __name__ == "__main__":
    sys.exit(main())
