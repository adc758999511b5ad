#!/usr/bin/env python3
"""Proves that the table of contents holds every heading, under the right parent.

    lectern toc -c NAME --json > TOC.json
    headings.py HTMLDIR TOC.json [--json] [--strict]
    headings.py --self-test HTMLDIR

Expected: every h1 to h3 of a DocBook manual outside page chrome, except the label of an
admonition. Its parent is the heading of the nearest section div around it; for the first
heading of a page, the first heading of the page that "Up" leads to. A page without "Up"
may stand anywhere. Equal headings are counted: two of the same name need two nodes.
`unexpected` are nodes of levels 1 to 3 that carry a heading's file but no heading's title, or one too
often; they fail only with --strict. An admonition's label that became a node always fails.
"""
import argparse
import copy
import json
import sys
from collections import Counter

from docbook import Manual, clean_title

ANY = "(any parent)"


def key(heading):
    return (heading.file, heading.title) if heading else ANY


def expected_headings(manual):
    """Counter of ((file, title), parent) and the counters needed to judge the rest."""
    wanted, deeper, labels = Counter(), Counter(), Counter()
    for page in manual.pages.values():
        for heading in page.headings:
            if heading.level <= 3:
                wanted[key(heading), key(manual.parent(heading))] += 1
            else:
                deeper[key(heading)] += 1
        labels.update(key(label) for label in page.labels)
    return wanted, deeper, labels


def toc_nodes(root):
    """Counter of ((file, title), (file, title) of the parent), for all nodes."""
    nodes, todo = Counter(), [(root, None)]
    while todo:
        node, parent = todo.pop()
        here = (node.get("file"), clean_title(node.get("title") or ""))
        nodes[here, parent] += 1
        todo += [(child, here) for child in node.get("children") or []]
    return nodes


def compare(manual, root):
    wanted, deeper, labels = expected_headings(manual)
    nodes = toc_nodes(root)
    by_place, titles = Counter(), Counter()
    for (here, _), count in nodes.items():
        by_place[here] += count
        titles[here[1]] += count
    wanted_places = Counter()
    for (here, _), count in wanted.items():
        wanted_places[here] += count

    failures = []
    for (here, parent), count in sorted(wanted.items(), key=str):
        found = by_place[here] if parent == ANY else nodes[here, parent]
        if found >= count:
            continue
        if by_place[here] >= wanted_places[here]:
            kind = "parent"
        elif by_place[here] == 0 and titles[here[1]]:
            kind = "file"
        else:
            kind = "missing"
        got = [p for (h, p) in nodes if h == here]
        failures += [{"kind": kind, "file": here[0], "title": here[1], "parent": parent, "found_under": got}
                     ] * (count - found)
    extra = Counter()
    for here, count in by_place.items():
        allowed = wanted_places[here] + deeper[here]
        if here[0] in manual.pages and count > allowed:
            if labels[here] and not allowed:
                failures += [{"kind": "label", "file": here[0], "title": here[1]}] * count
            else:
                extra[here] = count - allowed
    kinds = Counter(failure["kind"] for failure in failures)
    total = sum(wanted.values())
    return {"headings": total, "found": total - kinds["missing"] - kinds["file"] - kinds["parent"],
            "missing": kinds["missing"], "wrong_file": kinds["file"], "wrong_parent": kinds["parent"],
            "labels_as_nodes": kinds["label"], "nodes": sum(nodes.values()),
            "unexpected": sum(extra.values()), "failures": failures,
            "unexpected_examples": [list(here) for here in list(extra)[:10]]}


def build_toc(manual):
    """A table of contents as it should be, from the expected headings themselves."""
    nodes = {}
    for page in manual.pages.values():
        for heading in page.headings:
            nodes[id(heading)] = {"title": heading.title, "file": heading.file,
                                  "level": heading.level, "children": []}
    root = {"title": "manual", "file": None, "children": []}
    for page in manual.pages.values():
        for heading in page.headings:
            above = manual.parent(heading)
            (nodes[id(above)] if above else root)["children"].append(nodes[id(heading)])
    return root


def self_test(manual):
    """The comparison must pass on a right tree and notice each kind of break."""
    good = build_toc(manual)
    report = compare(manual, good)
    if report["failures"] or report["unexpected"]:
        raise SystemExit(f"self-test: a right tree was refused: {report['failures'][:3]}")

    def leaf(tree):  # the parent of some deep childless node that is an expected heading
        node = tree
        while any(child["children"] for child in node["children"]):
            node = next(child for child in node["children"] if child["children"])
        return node

    def drop(tree):
        leaf(tree)["children"].pop(0)

    def lift(tree):
        tree["children"].append(leaf(tree)["children"].pop(0))

    def rename(tree):
        leaf(tree)["children"][0]["title"] += " x"

    def move_file(tree):
        leaf(tree)["children"][0]["file"] = "elsewhere.html"

    def add_label(tree):
        label = next(label for page in manual.pages.values() for label in page.labels)
        leaf(tree)["children"].append({"title": label.title, "file": label.file, "children": []})

    for damage, field in ((drop, "missing"), (lift, "wrong_parent"), (rename, "missing"),
                          (move_file, "wrong_file"), (add_label, "labels_as_nodes")):
        bad = copy.deepcopy(good)
        damage(bad)
        report = compare(manual, bad)
        if not (report["failures"] and report[field]):
            raise SystemExit(f"self-test: {damage.__name__} went unnoticed: {report['failures'][:3]}")
    print(f"headings self-test: right tree accepted, 5 of 5 broken ones refused ({report['headings']} headings)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("htmldir")
    parser.add_argument("toc", nargs="?")
    parser.add_argument("--json", action="store_true", help="report as JSON, all failures included")
    parser.add_argument("--strict", action="store_true", help="unexpected nodes fail too")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    manual = Manual(args.htmldir)
    if args.self_test:
        return self_test(manual)
    if not args.toc:
        parser.error("TOC.json is needed")
    with open(args.toc, encoding="utf-8") as stream:
        report = compare(manual, json.load(stream))
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("headings: {headings} expected, {found} found, {missing} missing, {wrong_file} in the wrong "
              "file, {wrong_parent} under the wrong parent, {labels_as_nodes} labels taken for headings; "
              "{nodes} nodes, {unexpected} unexpected".format(**report))
    for failure in report["failures"][:10]:
        print(json.dumps(failure, ensure_ascii=False), file=sys.stderr)
    return 1 if report["failures"] or (args.strict and report["unexpected"]) else 0


if __name__ == "__main__":
    sys.exit(main())
