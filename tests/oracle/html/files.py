#!/usr/bin/env python3
"""Looks for files that are lost: neither in the tree, nor among the failed, nor a page without content.

    files.py FOLDER [NAME...] [--details FILE]

For each manual: files found by a walk of its own, in the tree, failed, taken for a redirect, an index or a
search page, the same as another file, and lost. A page without content is one by Lectern's word: the counts
and --details are there to be looked at.
"""
import hashlib
import json
import os
import sys
from collections import Counter

import house
import manuals


def check(args, home, manual, report):
    home.json("add", os.path.realpath(manual.root), "-c", manual.name, "--wait")
    there, todo = set(), [home.json("toc", "-c", manual.name)]
    while todo:
        node = todo.pop()
        there.update(origin["file"] for origin in node.get("origins") or [] if origin.get("file"))
        there.add(node["file"])
        todo += node["children"]
    failed = {item.get("path") or item.get("file") for item in home.json("failed").get("files", [])}
    counts, contents = Counter(), {}
    files = manual.files()
    for file, tree in manuals.trees(args.build, manual, files):
        digest = hashlib.sha256(manuals.read_bytes(os.path.join(manual.root, file))).digest()
        twin = contents.setdefault(digest, file)
        if file in there:
            what = "in_tree"
        elif any(path and (path == file or path.endswith("/" + file)) for path in failed):
            what = "failed"
        elif tree.get("role") not in (None, "content"):
            what = tree["role"]
        elif twin != file:
            what = "same_as_another"
        else:
            what = "lost"
        counts[what] += 1
        if what != "in_tree":
            report({"manual": manual.name, "file": file, "what": what, "failure": tree.get("failure")})
    return {"manual": manual.name, "files": len(files), **counts}


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None

    def report(item):
        if details:
            print(json.dumps(item, ensure_ascii=False), file=details, flush=True)

    lost = 0
    with house.House(args.build) as home:
        for manual in args.manuals:
            result = check(args, home, manual, report)
            lost += result.get("lost", 0)
            print(json.dumps(result), flush=True)
    print(f"files: {lost} lost")
    return lost > 0


if __name__ == "__main__":
    sys.exit(main())
