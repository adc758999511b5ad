#!/usr/bin/env python3
"""Reads folders of LaTeX as people keep it, and compares the tree with what their sources say.

    latex_repositories.py BUILD FOLDER [NAME...]      # each folder below FOLDER is a repository

The sources are read once more, by regular expressions: headings in their order, outside of comments, verbatim text and
definitions; words of four letters and more outside of commands, arguments that are no text, and mathematics; lines of
code in listings.  A heading is met when a node has its words as its title; nested right when the nearest heading above
it in the same file is the nearest above it in the tree.  Of paragraphs 40 a repository are sampled (by a fixed seed)
that have eight words in a row: one is there when these stand in a node in their order, in the right section when the
heading above it in the file is the node's title or one above that.  It is a rough instrument: macros that make headings or text
are not followed, and what no main file includes counts as missing when the program does not take it for a document.
"""
import collections
import json
import os
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon  # noqa: E402

LEVELS = {name: i for i, name in enumerate(
    ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph"))}
CODE = r"lstlisting|minted|verbatim|Verbatim|codeblock|alltt|BVerbatim"
NOISE = re.compile(r"\\(?:def\b|let\b|expandafter|(?:cs|tl|seq|clist|int|bool|prop)_[a-z]|ifx|fi\b|else\b|relax|csname|[a-z]*@)")


def strip_comments(text):
    return re.sub(r"(?<!\\)((?:\\\\)*)%.*?(?:\n[ \t]*|$)", r"\1", text)


def documentation(text):
    """Of a .dtx its comments, without the code."""
    lines, code = [], False
    for line in text.split("\n"):
        if re.match(r"%\s*\\begin\{(?:macrocode|verbatim)\*?\}", line):
            code = True
        elif re.match(r"%\s*\\end\{(?:macrocode|verbatim)\*?\}", line):
            code = False
        elif not code and line.startswith("%") and not line.startswith("%<"):
            lines.append(line.lstrip("%"))
    return "\n".join(lines)


def group(text, at):
    """The argument whose brace is at `at`, and where it ends."""
    depth = 0
    for end in range(at, min(len(text), at + 3000)):
        if text[end] == "\\":
            continue
        depth += (text[end] == "{" and text[end - 1] != "\\") - (text[end] == "}" and text[end - 1] != "\\")
        if depth == 0:
            return text[at + 1:end], end + 1
    return None, at + 1


def fold(title):
    title = re.sub(r"\\texorpdfstring\s*\{(?:[^{}]|\{[^{}]*\})*\}", "", title)
    title = re.sub(r"\\(?:label|index|footnote|cite\w*|ref|hypertarget)\s*\{[^{}]*\}", "", title)
    title = re.sub(r"\$[^$]*\$", " ", title)
    title = re.sub(r"\\[A-Za-z@]+\*?|\\[^_&#%]", " ", title).replace("\\", "")
    return " ".join(re.findall(r"\w+", title.lower()))


def headings(text):
    """(level, folded title, folded title above or None)."""
    text = re.sub(rf"\\begin\{{({CODE})\*?\}}.*?\\end\{{\1\*?\}}", "", text, flags=re.S)
    text = re.sub(r"\\(?:re)?newcommand\*?\s*\{?\\\w+\}?(?:\[[^\]]*\])*\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", "", text)
    above, found = [], []
    for match in re.finditer(r"\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?\s*(\[[^\]]*\])?\s*(?=\{)", text):
        title, _ = group(text, match.end())
        if title is None or "#" in title:
            continue
        level, words = LEVELS[match[1]], fold(title)
        while above and above[-1][0] >= level:
            above.pop()
        if words:
            found.append((level, words, above[-1][1] if above else None))
        above.append((level, words))
    return found


PLAIN = re.compile(r"(?<![\\\w{$-])(?:[^\W\d_]+ ){7}[^\W\d_]+")
HEADING = re.compile(r"\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?\s*(\[[^\]]*\])?\s*(?=\{)")


def paragraphs(text):
    """(eight words in a row, folded heading above or None)."""
    text = re.sub(rf"\\begin\{{({CODE})\*?\}}.*?\\end\{{\1\*?\}}", "\n\n", text, flags=re.S)
    begin = text.find("\\begin{document}")
    places = [(match.start(), fold(group(text, match.end())[0] or "")) for match in HEADING.finditer(text)]
    at = 0
    for part in re.split(r"\n[ \t]*\n", text):
        start = text.find(part, at)
        at = start + len(part)
        if start < begin or HEADING.search(part) or re.search(r"\\(?:def|newcommand|let|caption|footnote)\b", part):
            continue
        match = PLAIN.search(re.sub(r"\s+", " ", part))
        above = [title for place, title in places if place < start]
        if match and (not above or above[-1]):
            yield match[0], above[-1] if above else None


def words(text):
    text = re.sub(r"\\begin\{(?:equation|align|gather|multline|tikzpicture|tikzcd|displaymath|eqnarray|math|picture)\*?\}.*?"
                  r"\\end\{(?:equation|align|gather|multline|tikzpicture|tikzcd|displaymath|eqnarray|math|picture)\*?\}", " ", text, flags=re.S)
    text = re.sub(r"\$\$.*?\$\$|\\\[.*?\\\]|\\\(.*?\\\)|\$[^$]*\$", " ", text, flags=re.S)
    text = re.sub(r"\\(?:label|\w*ref|\w*cite\w*|usepackage|documentclass|input|include|bibliography\w*|begin|end|index|"
                  r"includegraphics|set\w*|newcommand|renewcommand|def|let|new\w+|Require\w*|hspace|vspace|import|subimport|"
                  r"subfile|href|url|color|definecolor|tikzset|usetikzlibrary|pgf\w*|Declare\w*|Provide\w*|hypersetup)\*?"
                  r"(?:\s*\[[^\]]*\])*(?:\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})?", " ", text)
    text = re.sub(r"\\[A-Za-z@]+\*?", " ", text)
    return re.findall(r"[^\W\d_]{4,}", text)


def listings(text):
    """The longest line of each listing."""
    for match in re.finditer(rf"\\begin\{{({CODE})\*?\}}(.*?)\\end\{{\1\*?\}}", text, flags=re.S):
        lines = [line.strip() for line in match[2].split("\n")[1:]]
        line = max(lines, key=len, default="")
        if len(line) > 12 and "\\" not in line and "%" not in line:
            yield re.sub(r"\s+", " ", line)


def sources(folder):
    for place, _, files in os.walk(folder):
        for name in sorted(files):
            if name.endswith((".tex", ".dtx", ".ltx")):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    text = file.read()
                yield os.path.join(place, name), strip_comments(documentation(text) if name.endswith(".dtx") else text)


class Tree:
    def __init__(self, client, manual):
        self.titles, self.nested, self.text, self.blocks = collections.Counter(), collections.Counter(), [], 0
        self.noisy, self.nodes = 0, []
        self.client = client
        for child in client.call("toc", manual=manual)["children"]:
            self.walk(child, [])

    def walk(self, node, above):
        title = self.plain(node["title"])
        if title:
            self.titles[title] += 1
            for one in above[-3:]:
                self.nested[one, title] += 1
        first = len(self.text)
        for block in self.client.call("get", node=node["id"])["blocks"]:
            self.blocks += 1
            self.noisy += block["kind"] not in ("code", "math") and bool(NOISE.search(re.sub(r"\$[^$]*\$", "", block["text"])))
            self.text.append(block["text"])
        self.text.append(node["title"])
        self.nodes.append((" ".join(re.findall(r"\w+", " ".join(self.text[first:]))), [*above, title]))
        for child in node.get("children", []):
            self.walk(child, above + [title])

    @staticmethod
    def plain(title):
        title = re.sub(r"^(?:(?:Chapter|Part|Appendix|Chapitre|Partie|Cap\S+) )?(?:[IVXLC]+|[A-Z]|\d+)(?:\.\w+)*\.?\s+", "", title)
        return " ".join(re.findall(r"\w+", re.sub(r"\$[^$]*\$", " ", title).lower()))


def within(title, other):
    """Whether the title's words stand in the other's, in their order; macros may have made a few more."""
    rest = iter(other.split())
    return len(other.split()) <= len(title.split()) + 3 and all(word in rest for word in title.split())


class Titles:
    """Each node's title can be met once."""

    def __init__(self, titles):
        self.left = titles.copy()
        self.by_word = collections.defaultdict(set)
        for title in titles:
            for word in title.split():
                self.by_word[word].add(title)

    def take(self, title):
        found = title if self.left[title] > 0 else next(
            (one for one in sorted(self.by_word[title.split()[0]]) if self.left[one] > 0 and within(title, one)), None)
        if found:
            self.left[found] -= 1
        return found


def place(tree, phrase, heading):
    """2: in the right section, 1: there, 0: not."""
    found = [titles for text, titles in tree.nodes if phrase in text]
    if not found:
        return 0
    right = heading is None or any(within(heading, title) or within(title, heading) for titles in found for title in titles if title)
    return 2 if right else 1


def sample(tree, files):
    """Sampled paragraphs, those that are there, those in the right section, a few that are not."""
    every = [one for _, text in files for one in paragraphs(text)]
    some = random.Random(1).sample(every, min(40, len(every)))
    ranks = [place(tree, *one) for one in some]
    return ([len(some), sum(rank > 0 for rank in ranks), sum(rank > 1 for rank in ranks)],
            [(rank, *one) for rank, one in zip(ranks, some) if rank < 2][:8])


def compare(client, name, folder):
    started = time.monotonic()
    report = client.call("add", dir=folder, name=name, wait=True)
    seconds = time.monotonic() - started
    tree = Tree(client, name)
    files = list(sources(folder))
    expected = [one for _, text in files for one in headings(text)]
    met = nested = nestable = 0
    titles = Titles(tree.titles)
    missing = []
    for _, title, above in expected:
        found = titles.take(title)
        if not found:
            missing.append(title)
            continue
        met += 1
        if above:
            nestable += 1
            nested += any(within(above, one) for one, other in tree.nested if other == found)
    wanted = collections.Counter(word for _, text in files for word in words(text))
    have = collections.Counter(re.findall(r"[^\W\d_]{4,}", "\n".join(tree.text)))
    there = sum(min(count, have[word]) for word, count in wanted.items())
    code = [line for path, text in files for line in listings(text)]
    whole = re.sub(r"\s+", " ", " ".join(tree.text))
    size = sum(os.path.getsize(path) for path, _ in files)
    warnings = client.call("failed", manual=name)
    sampled, misplaced = sample(tree, files)
    return {"name": name, "files": len(files), "mb": round(size / 1e6, 2), "seconds": round(seconds, 2),
            "nodes": sum(tree.titles.values()), "headings": [met, len(expected)], "nested": [nested, nestable],
            "words": round(there / max(1, sum(wanted.values())), 4), "listings": [sum(line in whole for line in code), len(code)],
            "noise": [tree.noisy, tree.blocks], "failed": len(warnings["files"]),
            "paragraphs": sampled, "misplaced": misplaced,
            "told": sum("of its words" in w["message"] or "words" in w["message"] for w in warnings["warnings"]),
            "missing": missing[:40], "parsed": report.get("parsed")}


def main():
    build, root, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as home:
        daemon = Daemon(build, home, watch="off")
        client = daemon.connect()
        for name in names or sorted(os.listdir(root)):
            result = compare(client, name, os.path.join(root, name))
            print(json.dumps(result, ensure_ascii=False), flush=True)
        daemon.process.kill()


main()
