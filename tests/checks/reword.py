#!/usr/bin/env python3
"""Index entries as a person would ask for them.

    reword.py TERMS.jsonl --count 600 --seed 1 > REWORDED.jsonl

TERMS.jsonl is index_terms.py's; which entries are taken, and which template each gets, follows from
the seed. A sub-entry ("index, partial") is asked for together with what it stands under. The
templates were fixed before anything was measured with them and share no frame with the ones that a
model was trained on (model/train/wording.json).
"""
import argparse
import json
import random
import re

ALONE = [
    "I came across {t} in a colleague's setup: what is it good for?",
    "Which part of the documentation covers {t}?",
    "Our team has to decide about {t}; what should we read first?",
    "Could you show me the details on {t}",
    "Someone mentioned {t} in a review. What did they mean?",
    "I keep seeing {t} and would like to understand it properly",
    "what are the rules and restrictions around {t}",
    "How is {t} meant to be used in practice?",
    "Background on {t}, please",
    "We ran into trouble with {t}. Where is that explained?",
]
BELOW = [
    "In connection with {p}, what about {t}?",
    "{t} when working with {p}",
    "How does {p} deal with {t}?",
    "I am reading up on {p} and got stuck at {t}",
    "What has {t} got to do with {p}?",
    "Please point me to {t} as far as {p} is concerned",
    "For {p}: where do I find something on {t}?",
    "is there anything on {t} under the heading of {p}",
]


def wording(entry, rng):
    parts = [part.strip() for part in entry.split(", ") if part.strip()]
    term = parts[-1]
    # "of a table" under "size" reads as it stands; other sub-entries by a template.
    if len(parts) == 1:
        return rng.choice(ALONE).format(t=term)
    above = " ".join(parts[:-1])
    if re.match(r"(in|of|for|with|on|by|from|as|and|to) ", term):
        return rng.choice(ALONE).format(t=f"{above} {term}")
    return rng.choice(BELOW).format(p=above, t=term)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("terms")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with open(args.terms, encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream if line.strip()]
    rng = random.Random(args.seed)
    # Signs alone ("|", "->") cannot be reworded.
    lines = [line for line in lines if re.search(r"[A-Za-z]{2}", line["question"])]
    for line in sorted(rng.sample(lines, min(args.count, len(lines))), key=lambda one: one["id"]):
        line["reworded_from"] = line["question"]
        line["question"] = wording(line["question"], rng)
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
