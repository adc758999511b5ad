#!/usr/bin/env python3
"""Looks for files that are lost: neither in the tree, nor among the failed, nor left out with a reason.

    files.py FOLDER [NAME...] [--details FILE]

For each manual: files found by a walk of its own, in the tree, failed, left out (by the reason that
`lectern failed --excluded` gives), and lost. Reasons are looked into where that is easy: a redirect has to say
where to, what is the same as another has to be so, byte for byte, and what is left out as a menu must have
hardly more than links; what does not hold is `doubtful`. Both fail the check.
"""
import hashlib
import json
import os
import re
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.home import Home, walk
import manuals

BESIDES = 20  # words of a menu that are none of its links', or half of all


def is_menu(tree):
    words = sum(len(block["text"].split()) for node in tree["nodes"] for block in node["blocks"])
    linked = sum(len(ref["text"].split()) for node in tree["nodes"] for ref in node["refs"])
    return words - linked <= max(BESIDES, words / 2)


def holds(reason, source, tree, twins):
    if reason == "redirect":
        return re.search(rb"http-equiv\s*=\s*.?refresh", source, re.I) is not None
    if reason == "same":
        return twins > 1
    if reason == "menu":
        return re.search(rb"<frame\b", source, re.I) is not None or is_menu(tree)
    return True


def check(args, home, manual, report):
    home.json("add", os.path.realpath(manual.root), "-c", manual.name, "--wait")
    there = {origin["file"] for node in walk(home.json("toc", "-c", manual.name))
             for origin in [node] + (node.get("origins") or [])}
    listed = home.json("failed", "--excluded", "-c", manual.name)
    failed = {item["file"] for item in listed["files"]}
    reasons = {item["file"]: item["reason"] for item in listed["excluded"]}
    files = manual.files()
    sources = {file: manuals.read_bytes(os.path.join(manual.root, file)) for file in files}
    twins = Counter(hashlib.sha256(source).digest() for source in sources.values())
    counts = Counter()
    for file, tree in manuals.trees(args.build, manual, files):
        reason, source = reasons.get(file), sources[file]
        what = reason or ("failed" if file in failed else "in_tree" if file in there else "lost")
        doubtful = reason and not holds(reason, source, tree, twins[hashlib.sha256(source).digest()])
        counts.update([what] + ["doubtful"] * bool(doubtful))
        if what != "in_tree":
            report({"manual": manual.name, "file": file, "what": what, "doubtful": bool(doubtful),
                    "failure": tree.get("failure")})
    return {"manual": manual.name, "files": len(files), **counts}


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None

    def report(item):
        if details:
            print(json.dumps(item, ensure_ascii=False), file=details, flush=True)

    lost = doubtful = 0
    with Home(args.build) as home:
        for manual in args.manuals:
            result = check(args, home, manual, report)
            lost += result.get("lost", 0)
            doubtful += result.get("doubtful", 0)
            print(json.dumps(result), flush=True)
    print(f"files: {lost} lost, {doubtful} left out for a doubtful reason")
    return lost > 0 or doubtful > 0


if __name__ == "__main__":
    sys.exit(main())
