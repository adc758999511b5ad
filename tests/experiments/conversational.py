#!/usr/bin/env python3
"""Puts questions with known sections into the words of a conversation.

    conversational.py QUESTIONS.jsonl [--count 1000] [--seed 1] > TALK.jsonl

Half of what comes out names a section by its title, half wraps the question as it stands; around
it stand words that say nothing about the subject. Sections whose title is not unique, or says too
little to be found by, are left out. The templates were written before anything was measured.
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

ABOUT_TITLE = [
    "Somebody at work keeps mentioning {}; could you tell me in a few words what that means?",
    "We had a long discussion yesterday about {} and nobody was quite sure. Any idea?",
    "My boss asked me to look into {}, where do I start?",
    "Quick one: what should I know about {} before I go home tonight?",
    "I've been reading about {} all morning but still don't really get it.",
    "Would you mind explaining {} to a complete beginner?",
    "Last week a friend showed me {} and it looked great. How does it actually work?",
    "Honestly I never understood {}. Help please!",
    "For a project I'm thinking of trying {}. Is that wise, and what are the pitfalls?",
    "Hi there, hope you are well. I'm stuck with {} and would be grateful for a pointer.",
]

AROUND_QUESTION = [
    "Sorry if this is a silly thing to ask, but I wonder: {}",
    "Hello everybody! {} Thanks a lot in advance, any hint is appreciated.",
    "I tried everything I could think of and gave up. {}",
    "{} My team would be really happy to finally know.",
    "Maybe you remember this better than I do: {}",
    "It probably sounds strange, but here is what bothers me: {}",
    "{} Someone told me it was easy, though I can't seem to manage.",
    "Before I spend another evening on it: {}",
]


def subject(title):
    """The title without its number."""
    return re.sub(r"^(?:[A-Z]?[\d.]+|[A-Z]\.)\s+", "", title).strip()


def unique_titles(questions):
    """The subject of each section that no other shares."""
    sections = {}
    for question in questions:
        title = subject(question["section"][-1])
        sections.setdefault(fold(title), set()).add(tuple(question["section"]))
    return {name for name, paths in sections.items() if len(paths) == 1 and len(name) >= 6}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    questions = read_jsonl(args.questions)
    unique = unique_titles(questions)
    questions = [q for q in questions if fold(subject(q["section"][-1])) in unique]
    rng.shuffle(questions)
    for number, question in enumerate(questions[:args.count]):
        if number % 2:
            text = rng.choice(AROUND_QUESTION).format(question["question"])
        else:
            text = rng.choice(ABOUT_TITLE).format(subject(question["section"][-1]))
        print(json.dumps({**question, "id": f"talk-{question['id']}", "question": text},
                         ensure_ascii=False))
    if not questions:
        sys.exit("no question has a section of its own")


if __name__ == "__main__":
    main()
