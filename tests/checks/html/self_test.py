#!/usr/bin/env python3
"""The instruments must accept a right tree and notice every kind of break:  self_test.py BUILD

What needs pandoc or w3m is left out, and said so, where they are not installed.
"""
import copy
import json
import os
import shutil
import sys
import tempfile

import chrome
import contents
import headings
import manuals
import spans
import words

PAGE = """<!DOCTYPE html><html><head><title>Page</title></head><body>
<div class="navheader"><a href="x.html">Prev</a> Chapter 2</div>
<h1>Title &amp; more</h1><p>The first paragraph has <b>words</b>.</p>
<div class="note"><h3>Note</h3><p>Noted.</p></div>
<h2>Part one</h2><p>Another paragraph stands here.</p><pre>code (
    goes on)</pre>
<table><tr><td>left cell<td>right cell<tr><td>below left<td>below right</table>
<h3>Part of a part</h3><ol><li>First thing<li>Second thing</ol>
<div style="display: none">Hidden words</div></body></html>"""


class Broken(Exception):
    pass


def expect(truth, what):
    if not truth:
        raise Broken(what)


def drop_block(nodes):
    del nodes[1]["blocks"][0]


def drop_node(nodes):
    del nodes[2]


def swap_blocks(nodes):
    nodes[1]["blocks"].reverse()


def rename(nodes):
    nodes[1]["title"] = "Part two"


def lift(nodes):
    nodes[1]["level"] = 1


def swap_nodes(nodes):
    nodes[1], nodes[2] = nodes[2], nodes[1]


def broken(tree, damage):
    bad = copy.deepcopy(tree)
    damage(bad["nodes"])
    return bad


def test_headings(path, tree):
    wanted = [(level, headings.clean(title)) for level, title in headings.with_pandoc(path)]
    aside = headings.set_aside(manuals.read_text(path), "docbook")
    expect(aside == {(3, "note"): 1}, f"labels of admonitions: {aside}")
    wanted.remove((3, "note"))
    expect(headings.differences(wanted, headings.with_lectern(tree)) == ([], []), "a right tree was refused")
    for damage, why in ((drop_node, "heading lost"), (rename, "another title"), (lift, "level"), (swap_nodes, "order")):
        lost, extra = headings.differences(wanted, headings.with_lectern(broken(tree, damage)))
        expect(lost and headings.cause(lost, extra) == why, f"{damage.__name__}: {lost}, {extra}")


def test_words(path, tree):
    theirs = words.words_of_lines(words.with_w3m(path, "docbook"), set())
    expect(sum(word.chrome for word in theirs) == 5, f"chrome: {[w for w in theirs if w.chrome]}")
    counts, gone = words.judge(theirs, words.words_of_tree(tree))
    expect(counts["in_order"] == counts["words"] and not gone, f"a right tree was refused: {gone}")
    counts, _ = words.judge(theirs, words.words_of_tree(broken(tree, drop_block)))
    expect(counts["gone"] == 4, f"a block lost: {counts}")
    counts, _ = words.judge(theirs, words.words_of_tree(broken(tree, swap_blocks)))
    expect(counts["moved"] and not counts["gone"], f"blocks in another order: {counts}")


def test_spans(path, tree):
    data = manuals.read_bytes(path)
    for node in tree["nodes"]:
        for block in node["blocks"]:
            expect(not spans.judge(data, "utf-8", block), f"a right span was refused: {block}")
            start, end = block["span"]
            for span in ([start + 2, end], [start, end - 3], [0, 5], [start, len(data) + 1]):
                expect(spans.judge(data, "utf-8", {**block, "span": span}), f"{span} of {block} was accepted")
    code = next(block for node in tree["nodes"] for block in node["blocks"] if block["kind"] == "code")
    flat = {**code, "text": manuals.squeeze(code["text"])}
    expect(spans.judge(data, "utf-8", flat) == "another white space", "white space of code")


def node(title, file, *children):
    return {"id": f"{file}/{title}", "title": title, "file": file, "anchor": None, "level": 1, "children": list(children)}


def test_contents(folder):
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write('<div class="toc"><dl><dt><a href="a.html">1. A</a></dt><dd><dl><dt><a href="b.html">1.1. B</a></dt><dt>'
                   '<a href="c.html">1.2. C</a></dt></dl></dd><dt><a href="d.html">2. D</a></dt></dl></div>')
    for name in "abcd":
        open(os.path.join(folder, name + ".html"), "w", encoding="utf-8").close()
    manual = manuals.Manual("m", "p", "i", "docbook", "", os.path.dirname(folder))
    manual.root = folder
    entries = contents.printed(manual, "index.html", contents.in_lists, "div.toc")
    expect([entry.depth for entry in entries] == [1, 2, 2, 1], "depths of printed contents")

    def judge(*children):
        return contents.compare(contents.Tree(node("m", None, *children)), "index.html", entries)

    b, c, d = node("1.1. B", "b.html"), node("1.2. C", "c.html"), node("D", "d.html")
    result, wrong = judge(node("1. A", "a.html", b, c), d)
    expect(not wrong and result["right"] == 4 and not result["extra"], f"a right tree was refused: {wrong}")
    for what, children in {"order": (node("1. A", "a.html", c, b), d), "lost": (node("1. A", "a.html", b), d),
                           "below a neighbour": (node("1. A", "a.html", node("1.2. C", "c.html", b)), d),
                           "lifted": (node("1. A", "a.html", b), c, d), "title": (node("Else", "a.html", b, c), d),
                           "first level": (d, node("1. A", "a.html", b, c))}.items():
        expect(judge(*children)[1], f"{what} went unnoticed")


def test_chrome():
    source = '<p>a</p><nav><nav>b</nav>c</nav><div class="navfooter">d</div><p hidden>e</p><nav>open'
    found = [source[start:end] for start, end in chrome.regions(source, "docbook")]
    expect(found == ["<nav>b</nav>c", "d", "e"], f"chrome: {found}")


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    folder = tempfile.mkdtemp(prefix="lectern-check-")
    try:
        path = os.path.join(folder, "page.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PAGE)
        manual = manuals.Manual("m", "p", "i", "docbook", "", folder)
        manual.root = folder
        tree = dict(manuals.trees(build, manual, ["page.html"]))["page.html"]
        tests = [("spans", None, test_spans, (path, tree)), ("contents", None, test_contents, (folder,)),
                 ("chrome", None, test_chrome, ()), ("headings", "pandoc", test_headings, (path, tree)),
                 ("words", "w3m", test_words, (path, tree))]
        failed = 0
        for name, program, test, given in tests:
            if program and not shutil.which(program):
                print(f"{name} self-test: SKIP: no {program}")
                continue
            try:
                test(*given)
                print(f"{name} self-test: fine")
            except Broken as why:
                failed += 1
                print(f"{name} self-test: {why}")
                print(json.dumps(tree["nodes"])[:2000])
        return failed > 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
