#!/usr/bin/env python3
"""Baseline: how often SQLite's FTS5 finds the right place of the same manual.

    fts5_baseline.py HTMLDIR QUESTIONS.jsonl        (questions: see index_terms.py)

Two units, because they give very different figures. `section`: one row per heading, with the text
up to the next heading; right is a right section itself. This is what a search for
sections compares with. `page`: one row per HTML page; right is a page that holds a right section.
Chrome, printed tables of contents and the index page are left out.

Set-up: FTS5 with TOKENIZER below (Porter stems, "_" part of a word), rank bm25() with the title
weighted TITLE_WEIGHT to 1, the question's words quoted and OR-ed, ties in page order. A question
counts as right at k when any of its right places is among the first k rows.
Prints one JSON line. Fails when a question's section is not in the manual at all: a fault
of the questions, not a miss of the search.
"""
import argparse
import json
import re
import sqlite3
import sys
from collections import defaultdict

from common import fold, read_jsonl
from docbook import Manual
from index_terms import INDEX_PAGE

TOKENIZER = "porter unicode61 tokenchars '_'"
TITLE_WEIGHT = 10.0
DEPTH = 10


class Baseline:
    """An FTS5 table over rows of (title, text, place)."""

    def __init__(self, rows, tokenizer, weight):
        self.places, self.weight = [place for _, _, place in rows], weight
        self.base = sqlite3.connect(":memory:")
        self.base.execute(f'CREATE VIRTUAL TABLE row USING fts5(title, text, tokenize = "{tokenizer}")')
        self.base.executemany("INSERT INTO row(rowid, title, text) VALUES (?, ?, ?)",
                              ((n, title, text) for n, (title, text, _) in enumerate(rows)))

    def search(self, question, depth=DEPTH):
        """Places of the first rows, best first."""
        words = re.findall(r"\w+", question) or [question]
        query = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        return [self.places[n] for n, in self.base.execute(
            "SELECT rowid FROM row WHERE row MATCH ? ORDER BY bm25(row, ?, 1.0), rowid LIMIT ?",
            (query, self.weight, depth))]

    def measure(self, questions, right):
        """Recall and MRR; right[i] is the set of right places of questions[i]."""
        ranks = []
        for question, wanted in zip(questions, right):
            found = self.search(question["question"])
            ranks.append(next((r for r, place in enumerate(found, 1) if place in wanted), None))
        count = max(len(ranks), 1)
        report = {"rows": len(self.places)}
        for k in (1, 3, 5, 10):
            report[f"recall@{k}"] = round(sum(1 for r in ranks if r and r <= k) / count, 4)
        report["mrr"] = round(sum(1 / r for r in ranks if r) / count, 4)
        return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("htmldir")
    parser.add_argument("questions")
    parser.add_argument("--tokenizer", default=TOKENIZER)
    parser.add_argument("--title-weight", type=float, default=TITLE_WEIGHT)
    args = parser.parse_args()

    manual = Manual(args.htmldir)
    pages = {file: page.headings for file, page in manual.pages.items()
             if file != INDEX_PAGE and page.headings}
    sections, whole, by_suffix = [], [], defaultdict(set)
    for file, headings in pages.items():
        whole.append((headings[0].title, "\n".join(h.title + "\n" + h.text for h in headings), file))
        for heading in headings:
            path = tuple(fold(title) for title in manual.path(heading))
            sections.append((heading.title, heading.text, (file, path)))
            for start in range(len(path)):  # every ending of the path names the section
                by_suffix[path[start:]].add((file, path))

    questions = [q for q in read_jsonl(args.questions) if q.get("section")]
    right = [set().union(*(by_suffix[tuple(fold(title) for title in section)]
                           for section in q.get("sections") or [q["section"]])) for q in questions]
    unknown = [q for q, places in zip(questions, right) if not places]
    report = {"questions": len(questions), "unknown": len(unknown),
              "tokenizer": args.tokenizer, "title_weight": args.title_weight}
    for unit, rows, wanted in (("section", sections, right),
                               ("page", whole, [{file for file, _ in places} for places in right])):
        report[unit] = Baseline(rows, args.tokenizer, args.title_weight).measure(questions, wanted)
    print(json.dumps(report))
    for question in unknown[:10]:
        print(f"no such section: {question['id']} {question['section']}", file=sys.stderr)
    return 1 if unknown or not questions else 0


if __name__ == "__main__":
    sys.exit(main())
