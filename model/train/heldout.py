#!/usr/bin/env python3
"""Questions on the held-out manuals, for setting weights and thresholds.

    heldout.py WORK MANUAL > QUESTIONS.jsonl    (MANUAL: cmake, swi-prolog)

The questions and answers that quill0.py made from structure, and as many
again (up to 500) that ask for a sentence by a part of its words, as `lectern
eval` reads them.  No model was trained on them, and nothing that is reported
of other manuals was set by other questions than these.
"""
import json
import os
import random
import sys

from grounded import cloze_examples
from quill0 import HERE, SEED, corpus, load_data


def main():
    work, manual = sys.argv[1:]
    data, nodes = load_data(work), list(corpus(work))
    answers = {(i, question): answer for question, answer, i in
               data["answers"]}
    lines = [(question, i, None) for _, _, i, question in data["pairs"]]
    lines += [(question, i, answer) for (i, question), answer in
              answers.items()]
    with open(os.path.join(HERE, "questions.json")) as file:
        table = json.load(file)["reword"]
    own = [i for i, node in enumerate(nodes) if node["manual"] == manual]
    lines += [(question, i, answer) for question, answer, i, _ in
              cloze_examples(nodes, own, table, random.Random(SEED), 500)]
    for n, (question, i, answer) in enumerate(lines):
        node = nodes[i]
        if node["manual"] != manual:
            continue
        print(json.dumps({
            "id": "%s-%d" % (manual, n), "question": question,
            "answer": answer, "section": node["path"][-2:], "evidence": None,
            "document": None}, ensure_ascii=False))


if __name__ == "__main__":
    main()
