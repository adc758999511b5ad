#!/usr/bin/env python3
"""Compares the headings of every file with pandoc's reading of the same file.

    headings.py FOLDER [NAME...] [--sample N] [--details FILE]

Title, level and order of h1 to h3 must agree, before files are assembled. Set aside: chrome and
printed contents as chrome.py tells them, titles that stand on more than half of the manual's pages, and the label of
an admonition ("Note"), which is no heading of the text. Headings of Lectern's that the source has as no
<h1> to <h3> of that text (Doxygen's <div class="title">) are counted as `made`. A file differs for one cause, the first that explains it; see cause(). The check fails below
99 % of the files that pandoc can read.
"""
import difflib
import html
import json
import os
import re
import subprocess
import sys
from collections import Counter

import chrome
import manuals

SIGNS = re.compile(r"^[\s◆]+|[\s¶§#🔗◆]+$")
NEEDED = 0.99


def clean(title):
    return manuals.fold(SIGNS.sub("", manuals.squeeze(title)))


# ---- Pandoc ----

def text_of(inlines):
    out = []
    for inline in inlines:
        kind, content = inline["t"], inline.get("c")
        if kind == "Str":
            out.append(content)
        elif kind in ("Space", "SoftBreak", "LineBreak"):
            out.append(" ")
        elif kind in ("Code", "Math"):
            out.append(content[1])
        elif kind == "Quoted":
            out.append("“%s”" % text_of(content[1]) if content[0]["t"] == "DoubleQuote"
                       else "‘%s’" % text_of(content[1]))
        elif kind in ("Link", "Span", "Cite", "Image"):
            out.append(text_of(content[1]))
        elif kind in ("Emph", "Strong", "Underline", "Strikeout", "Superscript", "Subscript", "SmallCaps"):
            out.append(text_of(content))
    return "".join(out)


def headers(value, found):
    if isinstance(value, dict):
        if value.get("t") == "Header":
            level, _, inlines = value["c"]
            if level <= 3:
                found.append((level, text_of(inlines)))
            return
        value = value.get("c")
    if isinstance(value, list):
        for item in value:
            headers(item, found)


def with_pandoc(path):
    """[(level, title)], or a sentence: why pandoc cannot read the file."""
    source = UNSEEN.sub("", manuals.read_text(path))
    try:
        done = subprocess.run(["pandoc", "-f", "html", "-t", "json", "+RTS", "-M4g", "-RTS"], input=source.encode(),
                              capture_output=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "takes longer than 300 s"
    if done.returncode:
        return done.stderr.decode(errors="replace").strip()[:200] or f"exit code {done.returncode}"
    found = []
    sys.setrecursionlimit(100000)
    headers(json.loads(done.stdout)["blocks"], found)
    return found


# ---- Lectern ----

def with_lectern(tree):
    return [(node["level"], clean(node["title"])) for node in tree.get("nodes", [])
            if 1 <= node["level"] <= 3]


# ---- What is no heading of the text, told from the source ----

UNSEEN = re.compile(r"""<a\s[^>]*aria-hidden\s*=\s*["']?true[^>]*>[^<]*</a>""", re.I)
HEADING = re.compile(r"<h([1-3])(?=[\s>/])[^>]*>(.*?)</h\1\s*>", re.S | re.I)
LABEL = re.compile(r"""<div[^>]*\sclass\s*=\s*["']?(?:[^"'>]*\s)?(?:admonition|note|tip|caution|warning|important)(?=["'\s>])"""
                   r"""[^>]*>\s*(?:<(?:table|tbody|tr|td|th|span)[^>]*>\s*|<img[^>]*>\s*|</td>\s*)*"""
                   r"""<h([1-3])[^>]*>(.*?)</h\1\s*>""", re.S | re.I)
TAG = re.compile(r"<[^>]*>")


def counted(matches):
    return Counter((int(heading.group(1)), clean(html.unescape(TAG.sub("", heading.group(2))))) for heading in matches)


def set_aside(source, generator):
    """Headings in chrome and printed contents, and the labels of admonitions."""
    parts = chrome.regions(source, generator) + chrome.regions(source, generator, contents=True)
    found = [heading for start, end in parts
             for heading in HEADING.finditer(source, start, end)]
    return counted(found + list(LABEL.finditer(source)))


# ---- Comparing ----

def differences(wanted, got):
    lost, extra = [], []
    for what, a, b, c, d in difflib.SequenceMatcher(None, wanted, got, autojunk=False).get_opcodes():
        if what != "equal":
            lost += wanted[a:b]
            extra += got[c:d]
    return lost, extra


def bare(title):
    return "".join(char for char in title if char.isalnum())


def cause(lost, extra):
    """Of a difference: what explains all of it."""
    if sorted(lost) == sorted(extra):
        return "order"
    if sorted(title for _, title in lost) == sorted(title for _, title in extra):
        return "level"
    if [(n, bare(t)) for n, t in lost] == [(n, bare(t)) for n, t in extra]:
        return "spacing or signs in the title"
    if not any(title for _, title in lost) and not extra:
        return "empty heading"
    if len(lost) == len(extra) and [n for n, _ in lost] == [n for n, _ in extra]:
        return "another title"
    if not extra:
        return "heading lost"
    if not lost:
        return "heading added"
    return "several"


def check(args, manual, report):
    files = manual.sample(args.sample)
    paths = [os.path.join(manual.root, file) for file in files]
    theirs = dict(zip(files, manuals.in_parallel(
        args.jobs, lambda path: args.memory.get("pandoc headings 3", path, with_pandoc), paths)))
    for file, found in theirs.items():
        if not isinstance(found, str):
            theirs[file] = [(level, clean(title)) for level, title in found]
    ours, failures = {}, {}
    for file, tree in manuals.trees(args.build, manual, files):
        if "failure" in tree:
            failures[file] = tree["failure"]
        else:
            ours[file] = with_lectern(tree)
    pages = Counter()
    for found in theirs.values():
        if not isinstance(found, str):
            pages.update(set(found))
    everywhere = {heading for heading, count in pages.items() if len(files) > 4 and count * 2 > len(files)}
    result = {"manual": manual.name, "files": len(files), "failed": len(failures), "unreadable": 0, "agree": 0,
              "headings": 0, "made": 0, "lost": 0, "added": 0, "causes": Counter()}
    for file in files:
        wanted = theirs[file]
        if isinstance(wanted, str):
            result["unreadable"] += 1
            report({"manual": manual.name, "file": file, "cause": "pandoc cannot read it", "why": wanted})
            continue
        source = manuals.read_text(os.path.join(manual.root, file))
        aside, elements = set_aside(source, manual.generator), counted(HEADING.finditer(source))
        for heading in everywhere:
            aside[heading] += len(wanted)
        spare, made = Counter(wanted), []
        spare.subtract(ours.get(file, []))
        kept = []
        for heading in wanted:
            if aside[heading] and spare[heading] > 0:
                aside[heading] -= 1
                spare[heading] -= 1
            elif heading[1]:
                kept.append(heading)
        got = []
        for heading in ours.get(file, []):
            if heading in kept or elements[heading]:
                got.append(heading)
            elif heading[1]:
                result["made"] += 1
                made.append(heading)
        lost, extra = differences(kept, got)
        result["headings"] += len(kept)
        result["lost"] += len(lost)
        result["added"] += len(extra)
        if not lost and not extra and file not in failures:
            result["agree"] += 1
            continue
        why = "file failed" if file in failures else cause(lost, extra)
        result["causes"][why] += 1
        report({"manual": manual.name, "file": file, "cause": why, "lost": lost[:8], "added": extra[:8], "made": made[:4],
                "why": failures.get(file)})
    readable = len(files) - result["unreadable"]
    result["rate"] = round(result["agree"] / readable, 5) if readable else 1.0
    return result


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None

    def report(difference):
        if details:
            print(json.dumps(difference, ensure_ascii=False), file=details, flush=True)

    agree = readable = 0
    for manual in args.manuals:
        result = check(args, manual, report)
        agree += result["agree"]
        readable += result["files"] - result["unreadable"]
        print(json.dumps(result, ensure_ascii=False), flush=True)
    rate = agree / readable if readable else 0
    print(f"headings: {agree} of {readable} files agree with pandoc ({100 * rate:.2f} %)")
    return rate < NEEDED


if __name__ == "__main__":
    sys.exit(main())
