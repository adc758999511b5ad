#!/usr/bin/env python3
"""words.py must accept a right tree and notice words that are lost or misplaced:  self_test.py BUILD

Needs pdflatex, pdftotext and pdftohtml; says so where they are not installed.
"""
import collections
import copy
import os
import shutil
import sys
import tempfile

import common
import words

MANUAL = r"""\documentclass{article}
\usepackage[bookmarksnumbered]{hyperref}
\pagestyle{headings} % the head is the title of the first section that begins on the page
\begin{document}
\tableofcontents
\section{Fruit}
Apples ripen early in orchards\footnote{Cherries ripen before them.}, whereas quinces need warmth until October
and must be cooked thoroughly before anybody enjoys their extraordinary fragrance.
\begin{verbatim}
harvest --everything
\end{verbatim}
harvest everything
\section{Vegetables}
Carrots, parsnips and celeriac keep throughout winter underground, \LaTeX\ permitting.
\begin{figure}[b]\centering Cabbages floating\caption{Kale beside turnips}\end{figure}
\clearpage
Pumpkins go on overleaf, below their own head.
\section{Herbs}
Thyme wants sunshine; parsley tolerates shadow.
\section*{References}\addcontentsline{toc}{section}{References}
\bibliographystyle{plain} Nobody, Nothing, Nowhere.
\end{document}
"""


class Broken(Exception):
    pass


def expect(truth, what):
    if not truth:
        raise Broken(what)


def section(nodes, word):
    return next(node for node in nodes if word in node["title"])


def lose_paragraph(nodes):
    section(nodes, "Vegetables")["blocks"].pop(0)


def move_paragraph(nodes):
    section(nodes, "Herbs")["blocks"].append(section(nodes, "Vegetables")["blocks"].pop(0))


def lose_word(nodes):
    block = section(nodes, "Herbs")["blocks"][0]
    block["text"] = block["text"].replace("parsley", "")


def lose_title(nodes):
    node = section(nodes, "Herbs")
    section(nodes, "Vegetables")["blocks"] += node["blocks"]
    nodes.remove(node)


def swap_titles(nodes):
    one, other = section(nodes, "Fruit"), section(nodes, "Vegetables")
    one["blocks"], other["blocks"] = other["blocks"], one["blocks"]


def measure(pdf, tree, elsewhere=()):
    return words.compare(*words.read_pdf(pdf), tree, elsewhere)[1]


def test(folder, build):
    with open(os.path.join(folder, "m.tex"), "w", encoding="utf-8") as file:
        file.write(MANUAL)
    pdf = common.typeset(folder, "m.tex", {}, os.path.join(folder, "run"), runs=3, pdf=True) + ".pdf"
    tree = common.read_tree(build, folder, "m.tex")
    counts = measure(pdf, tree)
    expect(counts["right"] > 40, f"too few words: {counts}")
    expect(not counts["lost"] and not counts["misplaced"], f"a right tree was refused: {counts}")
    expect(counts["contents"] >= 3 and counts["bibliography"] >= 3, f"lists are not set aside: {counts}")
    for damage, state, least in ((lose_paragraph, "lost", 7), (move_paragraph, "misplaced", 7), (lose_word, "lost", 1),
                                 (lose_title, "misplaced", 6), (swap_titles, "misplaced", 15)):
        bad = copy.deepcopy(tree)
        damage(bad["nodes"])
        counts = measure(pdf, bad)
        expect(counts[state] >= least, f"{damage.__name__} went unnoticed: {counts}")
    bad = copy.deepcopy(tree)
    lose_paragraph(bad["nodes"])
    counts = measure(pdf, bad, [collections.Counter(words.long(words.words_in(MANUAL)))])
    expect(counts["installation"] >= 7 and not counts["lost"], f"what another file has is not told apart: {counts}")
    bad = copy.deepcopy(tree)
    section(bad["nodes"], "Herbs")["title"] = "3"
    counts = measure(pdf, bad)
    expect(counts["lost"] == 1 and not counts["misplaced"], f"a section whose title is only its number was not found: {counts}")
    known = {"def", "control", "sequence", "equals", "the"}.__contains__
    expect(words.unsigned("defhcontrol", known) == ["def", "control"] and words.unsigned("sequenceihequalsi", known) ==
           ["sequence", "equals"] and words.unsigned("thicket", known) == ["thicket"], "brackets are not undone")


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    for program in ("pdflatex", "pdftotext", "pdftohtml"):
        if not shutil.which(program):
            print(f"words self-test: SKIP: no {program}")
            return 0
    with tempfile.TemporaryDirectory(prefix="lectern-words-") as folder:
        try:
            test(folder, build)
            print("words self-test: fine")
            return 0
        except Broken as why:
            print(f"words self-test: {why}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
