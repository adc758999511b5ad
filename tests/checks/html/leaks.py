#!/usr/bin/env python3
"""Looks for lines in the index that stand on more than half of a manual's pages.

    leaks.py FOLDER [NAME...] [--details FILE]

Such lines are chrome and reach no memory. Each manual is indexed by a private daemon, and the text of all
its nodes is read back; a line counts once a page. Code, definitions, rows of a word or two, lines of
fewer than three letters and manuals of fewer than eight pages with content are left out.
"""
import json
import os
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.home import Home, walk
import manuals


def lines_of(block):
    """Labels that entries of every page have ("Returns:") are no chrome: definitions and short rows are left out."""
    if block["kind"] in ("code", "definition"):
        return
    for line in block["text"].split("\n"):
        line = manuals.fold(line).lstrip("-•0123456789. ")
        if sum(char.isalpha() for char in line) >= 3 and (block["kind"] != "table" or len(line.split()) > 2):
            yield line


def pages_of(home, manual):
    """{file: set of lines} of all blocks that stand in the index, and how many words."""
    pages, words = defaultdict(set), 0
    for node in walk(home.json("toc", "-c", manual.name)):
        got = home.call("get", node=node["id"])
        if "blocks" not in got:
            raise SystemExit(f"get {node['id']}: {got}")
        for block in got["blocks"]:
            pages[block["file"]].update(lines_of(block))
            words += len(block["text"].split())
    return pages, words


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None
    leaks = 0
    with Home(args.build) as home:
        for manual in args.manuals:
            home.json("add", os.path.realpath(manual.root), "-c", manual.name, "--wait")
            pages, words = pages_of(home, manual)
            counts = Counter(line for lines in pages.values() for line in lines)
            common = [(line, count) for line, count in counts.most_common() if len(pages) >= 8 and count * 2 > len(pages)]
            leaks += len(common)
            print(json.dumps({"manual": manual.name, "pages": len(pages), "words": words, "lines": len(common),
                              "examples": common[:5]}, ensure_ascii=False), flush=True)
            for line, count in common if details else []:
                print(json.dumps({"manual": manual.name, "line": line, "pages": count}, ensure_ascii=False), file=details)
    print(f"leaks: {leaks} lines on most pages of their manual")
    return leaks > 0


if __name__ == "__main__":
    sys.exit(main())
