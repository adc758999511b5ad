#!/usr/bin/env python3
"""Questions from what a manual says of itself: its cross-references and its definitions.

    structure.py --socket S -c MANUAL references|definitions [--count 600] [--seed 1] > QUESTIONS.jsonl

references: the text of a link, and the section that it leads to. Only texts of two words or more, or
    with the signs of an identifier, that are not the title of that section, not a number ("Section 9.4",
    "Chapter 3") and not a work cited ("Byrd, 1980"); a text that leads to several sections is answered by any of them.
definitions: a term that a section defines, in a list of terms or as an entry of its own, and that
    section; one that several define is answered by any of them. The term must not be the title of a section
    other than an entry.

Links and definitions are those that Lectern reads (`get`), but retrieval uses no links. Which are taken, and
which template each gets, follows from the seed; the templates were fixed before anything was measured with
them. A summary goes to standard error.
"""
import argparse
import json
import random
import re
import os
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import fold
from harness.daemon import Client

REFERENCES = [
    "{t}",
    "Where does the manual go into {t}?",
    "The text I am reading only mentions {t}; where is the full account?",
    "Take me to what is written about {t}",
    "I followed a pointer to {t}. Which section is that?",
    "More on {t}?",
]
DEFINITIONS = [
    "{t}",
    "What does {t} mean?",
    "What is the effect of {t}?",
    "Please define {t}",
    "I found {t} in a listing and do not know what it stands for",
    "When would one choose {t}?",
]
NUMBERED = re.compile(r"(section|chapter|part|appendix|table|figure|example|page|step|item|note|§)?\s*[\d.]+[a-z]?\W*",
                      re.IGNORECASE)
CITED = re.compile(r".*\b(1[6-9]|20)\d\d[a-z]?\)?")  # "Byrd, 1980"
LONGEST = 80


def sections(daemon, manual):
    """Every section: (path, what `get` says of it)."""
    waiting = [daemon.call("toc", manual=manual)]
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        content = daemon.call("get", node=node["id"])
        yield content["path"], content


def is_telling(text):
    words = text.split()
    return (3 < len(text) <= LONGEST and not NUMBERED.fullmatch(text) and not CITED.fullmatch(text)
            and (len(words) > 1 or re.search(r"\w[_.:()-]+\w|\(\)|^--", text))
            and re.search(r"[A-Za-z]{2}", text))


def references(found):
    """Text of links -> sections that they lead to."""
    paths = {content["id"]: path for path, content in found}
    right = defaultdict(list)
    for path, content in found:
        for ref in content["refs"]:
            text, target = " ".join(ref["text"].split()), ref["node"]
            if not target or target == content["id"] or target not in paths or not is_telling(text):
                continue
            if fold(text) not in [fold(title) for title in paths[target][-2:]] + [fold(path[-1])]:
                right[text].append(paths[target][-2:])
    return right


def definitions(found):
    """Terms -> sections that define them."""
    right, titles = defaultdict(list), set()
    for path, content in found:
        if content.get("entry"):
            right[path[-1]].append(path[-2:])
        else:
            titles.add(fold(path[-1]))
        for block in content["blocks"]:
            if block["kind"] != "definition":
                continue
            for line in block["text"].split("\n"):
                if line and not line.startswith(" "):
                    right[" ".join(line.split())].append(path[-2:])
    return {term: where for term, where in right.items()
            if fold(term) not in titles and 2 < len(term) <= LONGEST and re.search(r"[A-Za-z]{2}", term)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("references", "definitions"))
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", dest="manual", required=True)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    daemon = Client(args.socket)
    found = list(sections(daemon, args.manual))
    right = (references if args.kind == "references" else definitions)(found)
    templates = REFERENCES if args.kind == "references" else DEFINITIONS
    rng = random.Random(args.seed)
    chosen = sorted(rng.sample(sorted(right), min(args.count, len(right))))
    for number, text in enumerate(chosen):
        paths = [list(path) for path in dict.fromkeys(map(tuple, right[text]))]
        print(json.dumps({
            "id": f"{args.kind}-{number:04}", "question": rng.choice(templates).format(t=text), "answer": None,
            "section": paths[0], "sections": paths, "evidence": None, "document": None}, ensure_ascii=False))
    print(f"structure: {len(found)} sections, {len(right)} {args.kind}, {len(chosen)} questions", file=sys.stderr)
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main())
