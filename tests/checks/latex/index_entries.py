#!/usr/bin/env python3
"""Makes questions from a LaTeX manual's own index, for `lectern eval` and the checks here.

    index_entries.py MANUALS WORK NAME > QUESTIONS.jsonl

MANUALS is the folder that latex-manuals.sh fills, NAME one of latex-manuals.txt, WORK is for LaTeX to run in.
Nothing of Lectern's is used: pdflatex writes the entries and the headings of the contents to one .aux, each when its page
is done, so that an entry stands after the heading of its section; makeindex, with the signs of the manual's own
style file, sorts and unites them.

One line per entry. The question is the entry as it reads, a sub-entry after its parents ("index, partial"). Right
are the sections where it stands: `sections`, each as [title] with its number as printed; of a chapter also
as "Chapter 3. Title" and "Appendix A. Title". `section` is the first. Left out, and counted: entries that
only say "see", ends of ranges, entries before the first heading, and those without two letters or digits.
A summary goes to standard error; exit code 1 when no question came out.
"""
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter

import common

LEVELS = ("book", "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
# \index of LaTeX and hyperref writes to the .idx; here to the .aux, in which nobody reads it.
HOOK = (r"\makeatletter\AddToHook{begindocument/end}{\def\@wrindex#1{\protected@write\@auxout{}{\string\@gobbletwo"
        r"{index}{#1}}\endgroup\@esphack}}\makeatother")
ENTRY = re.compile(r"\\@gobbletwo\s*\{index\}\s*|\\@@wrindexm@m\s*\{[^}]*\}\s*")
HEADING = re.compile(r"\\@writefile\s*\{toc\}\s*\{\s*(?:\\par\s*)?\\contentsline\s*")
NUMBER = re.compile(r"\s*\\[a-z]*number[a-z]*line\s*\{")
# What makeindex is to write: a line an entry, its depth, text and pages between signs of our own.
STYLE = r"""
preamble "" postamble "" group_skip "" headings_flag 0 line_max 1000000 indent_length 0 indent_space ""
item_0 "\n<0>" item_1 "\n<1>" item_2 "\n<2>" item_01 "\n<1>" item_12 "\n<2>" item_x1 "\n<1>" item_x2 "\n<2>"
delim_0 "<=>" delim_1 "<=>" delim_2 "<=>" delim_n "<,>" delim_r "<->" encap_prefix "<e " encap_infix ">" encap_suffix "</e>"
"""
SIGNS = re.compile(r"^\s*(actual|quote|level|encap|escape|arg_open|arg_close|range_open|range_close)\s+('.*?'|\".*?\")", re.M)


def group(text, at):
    """(inside of the braces that open at or after `at`, end); ("", at) when none do."""
    begin = text.find("{", at)
    if begin < 0:
        return "", at
    depth, place = 0, begin
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
        if not depth:
            return text[begin + 1:place - 1], place
    return "", at


def lines_of(base):
    """The lines of the .aux and, in their places, of those of included files."""
    folder = os.path.dirname(base)
    with open(base + ".aux", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            inner = re.match(r"\\@input\{(.*)\.aux\}", line)
            if inner and os.path.exists(os.path.join(folder, inner.group(1) + ".aux")):
                yield from lines_of(os.path.join(folder, inner.group(1)))
            else:
                yield line


LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "i": "ı",
           "textbackslash": "\\", "textunderscore": "_", "textasciitilde": "~", "textasciicircum": "^", "textbar": "|",
           "textless": "<", "textgreater": ">", "slash": "/", "nobreakspace": " ", "space": " ", "textemdash": "—",
           "textendash": "–", "textquoteright": "’", "textquoteleft": "‘", "textdollar": "$", "textbraceleft": "{",
           "textbraceright": "}", "bslash": "\\", "&": "&", "%": "%", "#": "#", "_": "_", "$": "$", "{": "{", "}": "}"}
LOGOS = {"TeX", "LaTeX", "BibTeX", "MakeIndex", "PlainTeX", "AmS", "MF", "MP"}
ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "c": "\u0327", "v": "\u030c",
           "=": "\u0304", ".": "\u0307", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328"}
NAMED = re.compile(r"\{\\[a-zA-Z@]+\s*\*?")  # a command's name as an argument is meant to be printed
TOKEN = re.compile(r"\\([a-zA-Z@]+|.)\s*|[{}]|~|[^\\{}~]", re.S)


def plain(text):
    """What TeX text reads like: letters, accents and signs, arguments of commands, no commands."""
    text = re.sub(r"\\(?:hspace|vspace|hskip|kern)\s*\*?\s*(?:\{[^}]*\}|-?[\d.]+\s*[a-z]{2})", "", text)
    text = re.sub(r"\\(?:hyperlink|hyperref|color|textcolor|selectlanguage|index)\s*(?:\{[^}]*\}|\[[^\]]*\])", "", text)
    out, accent = [], ""
    for match in TOKEN.finditer(text):
        name, token = match.group(1), match.group()
        if name is None:
            if token in "{}":
                continue
            out.append(" " if token == "~" else token + accent)
            accent = ""
        elif name in ACCENTS and (len(name) > 1 or not name.isalpha()):
            accent = ACCENTS[name]
        elif name in "cvuHrk" and text[match.end():match.end() + 1] == "{":
            accent = ACCENTS[name]
        elif name in LETTERS:
            out.append(LETTERS[name])
        elif name in LOGOS:
            out.append(name)
        elif name in (" ", ",", "\\", "/"):
            out.append(" " if name != "/" else "")
        elif NAMED.fullmatch(text[match.start() - 1:].partition("}")[0]):
            out.append("\\" + name)
    return " ".join(unicodedata.normalize("NFC", "".join(out)).replace("$", "").split())


def titles_of(level, toc_title):
    """All ways the heading is printed."""
    match = NUMBER.match(toc_title)
    if not match:
        part = re.match(r"\s*([IVXLC]+)\s*\\hspace\s*\{1em\}", toc_title)
        if not part:
            return [plain(toc_title)]
        return [f"Part {part.group(1)}. {plain(toc_title[part.end():])}"]
    number, end = group(toc_title, match.end() - 1)
    number, title = plain(number).rstrip("."), plain(toc_title[end:])
    ways = [f"{number} {title}"]
    if level == "chapter":
        ways += [f"Chapter {number}. {title}", f"Appendix {number}. {title}"]
    elif level == "part":
        ways += [f"Part {number}. {title}"]
    return ways


def read(base):
    """(titles of each heading, [(entry, ordinal of its heading)])."""
    headings, entries = [], []
    for line in lines_of(base):
        heading = HEADING.match(line)
        if heading:
            level, end = group(line, heading.end())
            title, _ = group(line, end)
            if level.strip() in LEVELS:
                headings.append(titles_of(level.strip(), title))
            continue
        entry = ENTRY.match(line)
        if entry:
            entries.append((group(line, entry.end())[0], len(headings)))
    return headings, entries


def style_of(folder):
    """STYLE, with the signs of the folder's own style file, if there is one."""
    signs = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".ist"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                signs = signs or dict(SIGNS.findall(re.sub(r"(?m)^\s*%.*", "", stream.read())))
    return STYLE + "".join(f"{name} {sign}\n" for name, sign in signs.items())


def sorted_entries(base, entries, counts):
    """(levels of text, ordinals of headings) of each entry, by makeindex."""
    with open(base + ".lectern.ist", "w", encoding="utf-8") as stream:
        stream.write(style_of(os.path.dirname(base)))
    with open(base + ".lectern.idx", "w", encoding="utf-8") as stream:
        for text, heading in entries:
            stream.write(f"\\indexentry{{{text}}}{{{heading}}}\n")
    done = subprocess.run(["makeindex", "-r", "-s", f"{os.path.basename(base)}.lectern.ist", "-o",
                           f"{os.path.basename(base)}.lectern.ind", "-t", f"{os.path.basename(base)}.lectern.ilg",
                           f"{os.path.basename(base)}.lectern.idx"], cwd=os.path.dirname(base), capture_output=True, check=False)
    rejected = re.search(rb"(\d+) rejected", done.stderr)
    counts["rejected by makeindex"] = int(rejected.group(1)) if rejected else 0
    above = []
    with open(base + ".lectern.ind", encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    for item in re.split(r"\n<(?=[012]>)", text)[1:]:
        depth, (levels, _, pages) = int(item[0]), item[2:].partition("<=>")
        above = above[:depth] + [plain(levels)]
        pages = re.sub(r"<e see\w*\{.*?</e>", "", pages, flags=re.S)
        yield ", ".join(filter(None, above)), sorted({int(page) for page in re.findall(r"(?<![\w{])\d+(?!\w)", pages)})


def questions(base, counts):
    headings, entries = read(base)
    counts.update(headings=len(headings), entries=len(entries))
    number = 0
    for question, ordinals in sorted_entries(base, entries, counts):
        counts["different"] += 1
        ordinals = [ordinal for ordinal in ordinals if ordinal]
        if not ordinals:
            counts["only see, or before the first heading"] += 1
        elif sum(char.isalnum() for char in question) < 2:
            counts["without two letters"] += 1
        else:
            number += 1
            sections = [[title] for ordinal in ordinals for title in headings[ordinal - 1]]
            yield {"id": f"index-{number:04}", "question": question, "answer": None, "section": sections[0],
                   "sections": sections, "evidence": None, "document": None, "file": None, "anchor": None}
    counts["questions"] = number


def main():
    if len(sys.argv) != 4:
        raise SystemExit("usage: index_entries.py MANUALS WORK NAME > QUESTIONS.jsonl")
    folder, work, name = sys.argv[1:]
    (_, path, options), = common.manuals([name])
    base = common.typeset(os.path.join(folder, name), path, options, os.path.join(work, f"{name}.index"), before=HOOK)
    counts = Counter()
    for line in questions(base, counts):
        print(json.dumps(line, ensure_ascii=False))
    print(f"index_entries: {name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), file=sys.stderr)
    return not counts["questions"]


if __name__ == "__main__":
    sys.exit(main())
