#!/usr/bin/env python3
"""Counts the words of `w3m -dump` that are in some block or title of the file's tree, in order.

    words.py FOLDER [NAME...] [--sample N] [--details FILE]

Set aside: lines that stand on more than half of the manual's pages, and `chrome` and printed `contents`
as chrome.py tells them (how much of them reached a block all the same is `..._kept`). w3m lays the cells of a table
side by side, so that their lines mix; it is given the page with cells as blocks, one after the other, and without
what it would only name (frames, a picture behind the text).
A word is a run of letters and digits; words that only one side splits ("foo2", "foo 2") are found.
Words in no block are `linked` when they stand in runs of links, else `gone`; `moved` are out of order. Pages
that are taken for an index, a redirect or a search form have no blocks: they are counted apart and named. The check fails below 99.5 % in any manual.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

import chrome
import manuals

NEEDED = 0.995
LINK, LINK_END, CHROME, CHROME_END, LIST, LIST_END = MARKS = "\ue000\ue001\ue002\ue003\ue004\ue005"
CELLS = {"table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"}
WORD = re.compile(r"[^\W_]+|[\ue000-\ue005]")
MARK = re.compile("[\ue000-\ue005]")
NEUTRAL = re.compile(r"\d+|.|[ivxlc]+")


def for_w3m(source, generator):
    """Cells as blocks, pictures as their alternative text, links and chrome between marks."""
    marks = {}
    for contents, first, last in (True, LIST, LIST_END), (False, CHROME, CHROME_END):
        for start, end in chrome.regions(source, generator, contents):
            marks[start] = marks.get(start, "") + first
            marks[end] = marks.get(end, "") + last
    out, at = [], 0
    for part in chrome.PART.finditer(source):
        out.append(source[at:part.start()])
        at = part.end()
        tag, close, rest = (part.group("tag") or "").lower(), part.group("close"), part.group("rest")
        if close and part.start() in marks:
            out.append(marks[part.start()])
        if tag in CELLS:
            out.append(f"<{close}div>")
        elif tag == "a":
            out.append(part.group() + (LINK_END if close else LINK if "href" in rest.lower() else ""))
        elif tag == "img":
            out.append(chrome.attributes(rest).get("alt", ""))
        elif tag == "body":  # a picture behind the text is none of its words
            out.append(f"<{close}body>")
        elif tag not in ("input", "frame", "frameset"):
            out.append(part.group())
        if not close and at in marks:
            out.append(marks[at])
    return "".join(out) + source[at:]


def with_w3m(path, generator):
    """The page's lines, folded, with marks, without empty ones."""
    source = for_w3m(re.sub("[\0\ue000-\ue005]", "", manuals.read_text(path)), generator)
    done = subprocess.run(["w3m", "-dump", "-T", "text/html", "-I", "UTF-8", "-O", "UTF-8", "-cols", "20000",
                           "-o", "display_ins_del=0"], input=source.encode(),
                          capture_output=True, timeout=300, check=True)
    lines = (manuals.fold(line) for line in done.stdout.decode(errors="replace").split("\n"))
    return [line for line in lines if line]


class Word(str):
    """A word of w3m's, and where it stands."""
    linked = chrome = contents = False


def words_of_lines(lines, everywhere):
    """The words of all lines but those that stand everywhere; marks are read and left out."""
    words, on = [], set()
    for line in lines:
        common = plain(line) in everywhere
        if not on and not MARK.search(line):
            words += [] if common else map(Word, WORD.findall(line))
            continue
        for text in WORD.findall(line):
            if text in MARKS:
                mark = MARKS.index(text)
                (on.discard if mark % 2 else on.add)(MARKS[mark - mark % 2])
            elif not common:
                word = Word(text)
                word.linked, word.chrome, word.contents = LINK in on, CHROME in on, LIST in on
                words.append(word)
    return words


def plain(line):
    """Without marks; w3m's lines are squeezed already."""
    return manuals.squeeze(MARK.sub("", line)) if MARK.search(line) else line


def words_of_tree(tree):
    """Of titles and blocks as they stand in the file: what follows a reference entry comes after it. The
    blocks of one node stay in its order."""
    pieces = []
    for node in tree["nodes"]:
        place = node.get("span", [0])[0]
        pieces.append((place, node["title"]))
        for block in node["blocks"]:
            place = max(place, block["span"][0])
            if block["kind"] == "note":
                pieces.append((place, block["info"]))
            pieces.append((place, block["text"]))
    pieces.sort(key=lambda piece: piece[0])
    return [word for _, text in pieces for word in WORD.findall(manuals.fold(text))]


def align(theirs, ours):
    """[(in both, words of theirs, words of ours)] in order, by diff(1)."""
    if theirs == ours:
        return [(True, theirs, ours)]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, words in (("a", theirs), ("b", ours)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "w", encoding="utf-8") as stream:
                stream.writelines(word + "\n" for word in words)
        done = subprocess.run(["diff", "-a", "--old-line-format=-%L", "--new-line-format=+%L",
                               "--unchanged-line-format= %L"] + paths, capture_output=True, check=False)
    if done.returncode > 1:
        raise SystemExit(done.stderr.decode())
    runs, place = [], 0
    for line in done.stdout.decode().split("\n")[:-1]:
        both = line[0] == " "
        if not runs or runs[-1][0] != both:
            runs.append((both, [], []))
        if line[0] in " -":
            runs[-1][1].append(theirs[place])
            place += 1
        if line[0] in " +":
            runs[-1][2].append(line[1:])
    return runs


def is_contents(run):
    """Words of links, but for their numbers: a list of contents, or the way to other pages."""
    telling = [word for word in run if not NEUTRAL.fullmatch(word)]
    return sum(word.linked for word in telling) >= 0.8 * len(telling)


def judge(theirs, ours):
    """Counts, and [(run of words that are nowhere, after which)]."""
    aside = Counter(word for word in theirs if word.chrome)
    listed = Counter(word for word in theirs if word.contents and not word.chrome)
    theirs = [word for word in theirs if not word.chrome and not word.contents]
    counts = Counter(words=len(theirs), chrome=aside.total(), contents=listed.total())
    spare, missing, before = Counter(), [], []
    for both, a, b in align(theirs, ours):
        if both or "".join(a) == "".join(b):
            counts["in_order"] += len(a)
        else:
            spare.update(b)
            if a:
                missing.append((a, " ".join(before)))
        before = (before + a)[-6:]
    counts["chrome_kept"] = (aside & spare).total()
    counts["contents_kept"] = (listed & spare).total()
    gone = []
    for run, context in missing:
        lost = []
        for word in run:
            if spare[word]:
                spare[word] -= 1
                counts["moved"] += 1
            else:
                lost.append(word)
        if lost:
            what = "linked" if is_contents(lost) else "gone"
            counts[what] += len(lost)
            gone.append((what, lost, context))
    return counts, gone


def remembered(args, manual, path):
    """The number is raised whenever for_w3m makes something else of the page."""
    named = re.search(rb"background|<frameset", manuals.read_bytes(path), re.I)
    return args.memory.get(("w3m 4" if named else "w3m 3") + manual.generator, path,
                           lambda path: with_w3m(path, manual.generator))


def check(args, manual, report):
    files = manual.sample(args.sample)
    paths = [os.path.join(manual.root, file) for file in files]
    pages = dict(zip(files, manuals.in_parallel(args.jobs, lambda path: remembered(args, manual, path), paths)))
    counts = Counter(line for lines in pages.values() for line in set(map(plain, lines)))
    everywhere = {line for line, count in counts.items() if len(files) > 4 and count * 2 > len(files)}
    total, roles = Counter(), Counter()
    for file, tree in manuals.trees(args.build, manual, files):
        theirs = words_of_lines(pages[file], everywhere)
        if "failure" in tree:
            total["failed"] += 1
            report({"manual": manual.name, "file": file, "failure": tree["failure"]})
        elif tree["role"] != "content":
            roles[tree["role"]] += 1
            total["not_content"] += len(theirs)
            report({"manual": manual.name, "file": file, "role": tree["role"], "words": len(theirs)})
        else:
            counts, gone = judge(theirs, words_of_tree(tree))
            total.update(counts)
            if gone or counts["moved"] or counts["chrome_kept"]:
                report({"manual": manual.name, "file": file, **counts, "runs": [
                    {"what": what, "after": after, "lost": " ".join(run[:40]), "words": len(run)}
                    for what, run, after in sorted(gone, key=lambda g: (g[0] != "gone", -len(g[1])))[:12]]})
    due = total["words"]
    return {"manual": manual.name, "files": len(files), **total, "pages_aside": roles,
            "rate": round(total["in_order"] / due, 5) if due else 1.0}


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None

    def report(difference):
        if details:
            print(json.dumps(difference, ensure_ascii=False), file=details, flush=True)

    short = 0
    for manual in args.manuals:
        result = check(args, manual, report)
        short += result["rate"] < NEEDED
        print(json.dumps(result, ensure_ascii=False), flush=True)
    print(f"words: {short} of {len(args.manuals)} manuals below {100 * NEEDED} %")
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
