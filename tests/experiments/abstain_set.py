#!/usr/bin/env python3
"""Questions that a manual can answer and questions that it cannot, for the precision of abstaining.

    abstain_set.py --socket S --manual NAME --terms TERMS.jsonl --others OTHER,... [--other-socket S]
                   [--count 200] [--seed 1] > QUESTIONS.jsonl

Answerable: entries of the manual's own index (TERMS.jsonl, of index_terms.py) with their sections.
Unanswerable ("unanswerable": true): headings of other manuals, as many from each; left out are those whose
every word stands in some heading or index term of the manual asked, and those of fewer than two words. Both
are put into the same templates, so that nothing but the subject tells them apart. That a heading's subject
is not treated somewhere in the manual is likely, not proven. Written before anything was measured with it;
no threshold was set on what comes out.
"""
import argparse
import json
import random
import re
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import fold, read_jsonl
from harness.daemon import Client

TEMPLATES = ["What does the manual say about {}?", "How does {} work?", "Tell me about {}.", "{}",
             "Where can I read about {}?", "What should I know about {}?", "I need help with {}.", "What is {}?"]
NO_SUBJECT = {"a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}


def words(text):
    return [word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in NO_SUBJECT]


def subject(title):
    """The title without its number."""
    return re.sub(r"^(?:[A-Z]?[\d.]+|[A-Z]\.)\s+", "", title).strip()


def titles(daemon, manual):
    waiting, found = [daemon.call("toc", manual=manual)], []
    while waiting:
        node = waiting.pop()
        waiting += reversed(node["children"])
        if node["level"] and not node.get("entry"):
            found.append(subject(node["title"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket", required=True)
    parser.add_argument("--other-socket")
    parser.add_argument("--manual", required=True)
    parser.add_argument("--terms", required=True)
    parser.add_argument("--others", required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    terms = [q for q in read_jsonl(args.terms) if len(words(q["question"])) >= 2]
    known = {word for title in titles(Client(args.socket), args.manual) for word in words(title)}
    known |= {word for q in terms for word in words(q["question"])}
    for number, question in enumerate(rng.sample(terms, args.count)):
        print(json.dumps({**question, "id": f"answerable-{number}",
                          "question": rng.choice(TEMPLATES).format(question["question"])}, ensure_ascii=False))
    others, daemon, number = args.others.split(","), Client(args.other_socket or args.socket), 0
    for place, other in enumerate(others):
        share = (args.count * (place + 1)) // len(others) - number
        fit = {fold(title): title for title in titles(daemon, other)
               if len(words(title)) >= 2 and not set(words(title)) <= known and len(title) < 80}
        for title in rng.sample(sorted(fit.values()), share):
            print(json.dumps({"id": f"unanswerable-{number}", "manual": other, "unanswerable": True,
                              "question": rng.choice(TEMPLATES).format(title)}, ensure_ascii=False))
            number += 1


if __name__ == "__main__":
    sys.exit(main())
