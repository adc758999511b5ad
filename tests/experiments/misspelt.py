#!/usr/bin/env python3
"""Puts a slip of the keyboard into questions with known sections.

    misspelt.py QUESTIONS.jsonl [--count 500] [--seed 1] > SLIPS.jsonl

The longest word of a question (of 5 letters at least) loses a letter, gets one twice, has two
exchanged or one replaced; the first letter stays. Questions without such a word are left out.
"""
import argparse
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from common import read_jsonl


def slip(word, rng):
    at = rng.randrange(1, len(word) - 1)
    return rng.choice([
        word[:at] + word[at + 1:],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2:],
        word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1:],
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    questions = read_jsonl(args.questions)
    rng.shuffle(questions)
    left = args.count
    for question in questions:
        words = re.findall(r"[A-Za-z]{5,}", question["question"])
        if not words or not left:
            continue
        word = max(words, key=len)
        text = question["question"].replace(word, slip(word, rng), 1)
        if text != question["question"]:
            left -= 1
            print(json.dumps({**question, "id": f"slip-{question['id']}", "question": text},
                             ensure_ascii=False))


if __name__ == "__main__":
    main()
