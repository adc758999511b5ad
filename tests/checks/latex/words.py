#!/usr/bin/env python3
"""Counts the words of a typeset manual that stand in the blocks of the right section.

    words.py BUILD MANUALS [NAME...] [--details FILE] [--work FOLDER]

MANUALS is the folder that latex-manuals.sh fills. The typeset document is the PDF that the package ships beside the
main file; where there is none and --work is given, pdflatex makes it there. pdftotext (poppler-utils) reads it. A word
is a run of three letters or more, after hyphenation is undone and ligatures and accents are folded away.

The right section is the one under whose printed title the word stands. The titles are the PDF's bookmarks (of a
PDF without: the .toc that pdflatex writes), each looked for as a line of its page; the node of the tree is
the one with this title, in order. A bookmark whose title is not found as a line parts nothing, in the print or the tree.
A word is `right` when the section's node has it as often as it is printed there. Else it is `floated` when it is
part of a run that stands in the caption, table, figure, code or note at the foot of the page of a section on the same page or
the two before or after: TeX moves these, and they are right, too. Else `misplaced`, if another section has it to spare, or `lost`.

Set aside, each counted: `contents` (lists of contents, figures and tables, lines that end with dots and a number),
`index`, `bibliography` and glossaries (by their titles), `running` (lines that head or foot many pages, numbers of
pages; the title of a section begun before), `installation` (runs of five words and more that a file outside of the manual
has, which it takes from the TeX installation: the option "elsewhere"), `rendered` (a run of words that stand in one piece of code of the section, and had to be printed twice: the code and what it makes). The check fails below 98 %.
"""
import argparse
import collections
import functools
import html
import json
import os
import re
import subprocess
import sys
import unicodedata

import common
import index_entries

NEEDED = 0.98
WORD = re.compile(r"[^\W\d_]+")
ASIDE = (("contents", r"(short|brief|table of )?contents|lists? of .*|sommaire|illustrations"),
         ("index", r"(general )?ind(ex|ices)|ind(ex|ices) of .*|.* index"),
         ("glossary", r"glossary|command summary"),
         ("bibliography", r"references|(annotated )?bibliography|literature"))
LEADERS = re.compile(r"(?:\. ?){4,}\s*[\divxlc]*\s*$")
LOGO = re.compile(r"\bL\s*A\s*T ?E ?X")  # the raised letter may be a line of its own
MARKS = re.compile("[\u00a8\u00b4\u00b8\u02c6\u02c7\u02d8\u02d9\u02da\u02db\u02dc\u02dd`^~]")


def fold(text):
    """Letters without accents and ligatures, in lower case; the rest as it is."""
    text = unicodedata.normalize("NFKD", MARKS.sub("", text).replace("ı", "i").replace("ȷ", "j"))
    text = "".join(c for c in text if not unicodedata.combining(c)).replace("ß", "ss").replace("\u00ad", "")
    text = re.sub(r"\bL ?A ?T ?E ?X", "LaTeX", text)
    text = re.sub(r"\bT ?E ?X\b", "TeX", text)
    return re.sub(r"\bB ?IB ?T ?E ?X\b", "BibTeX", text).replace("æ", "ae").replace("œ", "oe").replace("ø", "o").replace("ł", "l").casefold()


def squeeze(text):
    """What a title is compared by: its letters and digits."""
    return "".join(c for c in fold(text) if c.isalnum())


# ---- The typeset document ----

class Line:
    def __init__(self, page, text, first, last):
        self.page, self.text, self.squeezed = page, text, squeeze(text)
        self.first, self.last = first, last  # of its page
        self.aside = None
        self.foot = False  # at or below what looks like the first footnote of its page


def mark_feet(headings, lines):
    """From the first line in the lower two thirds of a page on that begins with the mark of a note, below all titles."""
    last = {lines[h.line].page: max(h.line + 1, h.end) for h in headings if h.line is not None}
    pages = collections.defaultdict(list)
    for at, line in enumerate(lines):
        pages[line.page].append(at)
    for page, places in pages.items():
        begun = False
        for place, at in enumerate(places):
            begun = begun or place >= len(places) // 3 and at >= last.get(page, 0) and re.match(
                r"\s*(\d{1,2}|[*†‡§¶])\s?[^\W\d_]", lines[at].text) is not None
            lines[at].foot = begun


def read_lines(pdf):
    done = subprocess.run(["pdftotext", "-raw", "-enc", "UTF-8", pdf, "-"], capture_output=True, check=True)
    lines = []
    for page, text in enumerate(done.stdout.decode("utf-8", "replace").split("\f"), 1):
        texts = [line for line in LOGO.sub("LaTeX", text).split("\n") if line.strip()]
        lines += [Line(page, line, at < 2, at >= len(texts) - 2) for at, line in enumerate(texts)]
    return lines


def without_digits(line):
    return re.sub(r"\d+|\b[ivxlc]+\b", "", fold(line.text)).strip()


def set_running_aside(lines):
    """Numbers of pages, and lines that head or foot at least three pages or hold the title of a section there."""
    counts = collections.Counter(key for line in lines if line.first or line.last for key in {without_digits(line)})
    for line in lines:
        if not (line.first or line.last):
            continue
        bare = without_digits(line)
        if not squeeze(bare) or counts[bare] >= 3:
            line.aside = "running"


def aside_of(title):
    """What kind of list a section of this title is, or None."""
    words = " ".join(re.findall(r"[^\W\d_]+", NUMBER.sub("", title).casefold()))
    return next((kind for kind, pattern in ASIDE if re.fullmatch(pattern, words)), None)


def read_bookmarks(pdf):
    """(title, page, depth)."""
    done = subprocess.run(["pdftohtml", "-xml", "-i", "-stdout", "-f", "1", "-l", "1", pdf], capture_output=True, check=True)
    depth = 0
    for match in re.finditer(r'<(/?)outline>|<item page="(\d+)">(.*?)</item>', done.stdout.decode("utf-8", "replace"), re.S):
        if match.group(2):
            yield html.unescape(re.sub("<[^>]*>", "", match.group(3))).strip(), int(match.group(2)), depth
        else:
            depth += -1 if match.group(1) else 1


ENTRY_NAME = re.compile(r"(?:\\begin\{)?([\w\\@*]*)")  # an entry's title is a signature
FORMULA = re.compile(r"\$[^$]*\$")  # a bookmark has none
PAGE_NUMBER = re.compile(r"^\s*\d+\s+(?=[^\W\d_])|\s+\d+\s*$")
NUMBER = re.compile(r"^(?:[^\W\d_]{3,} )?(?:[0-9]+|[A-Z]|[IVXLC]+)(?:\.[0-9A-Z]+)*[.:]? +(?=\S)", re.I)


def bare(title):
    return squeeze(NUMBER.sub("", title))


def read_toc(path):
    """(title, depth) of a .toc."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if line.startswith("\\contentsline"):
                level, end = index_entries.group(line, 0)
                title, _ = index_entries.group(line, end)
                if level.strip() in index_entries.LEVELS:
                    yield index_entries.titles_of(level.strip(), title)[0], index_entries.LEVELS.index(level.strip())


class Heading:
    def __init__(self, title, page, depth):
        self.title, self.page, self.depth = title, page, depth
        self.aside = aside_of(title)  # or that of a title above
        self.names = {squeeze(title), bare(title)} - {""}
        numbered = NUMBER.match(title)
        self.number = squeeze(numbered.group()) if numbered else None  # all that is left of one made by a macro not there
        self.line = self.end = None  # where it is printed
        self.node = None


def match_at(lines, at, names):
    """The line after a title that begins at this one, and is all of what it and the next three lines hold; or None."""
    text, page = "", lines[at].page
    for end in range(at, min(at + 5, len(lines))):
        if lines[end].page != page:
            break
        if lines[end].aside:
            continue
        text += lines[end].squeezed
        for name in names:
            if text == name:
                return end + 1
            number = text[:-len(name)] if text.endswith(name) else ""
            if number and re.fullmatch(r"(?:part|chapter|appendix|section)?(?:\d+[a-z]?\d*|[a-z]\d*|[ivxlc]+|section\d+)", number):
                return end + 1
    return None


def begins_with(line, names):
    """Does a line begin with the title, as those of paragraphs do?"""
    return any(len(name) >= 4 and (line.squeezed.startswith(name) or bare(line.text).startswith(name)) for name in names)


def not_head(found, lines, alike):
    """The first of these places; where that is a page's head, the one further down that page, if there is one that is
    none of the `alike` other sections of this name there."""
    at, end = found[0]
    below = [place for place in found if lines[place[0]].page == lines[at].page and not lines[place[0]].first]
    return below[0] if lines[at].first and end == at + 1 and len(below) > alike else found[0]


def locate(headings, lines):
    """Finds the titles in the print, in order.  A whole line, else one that begins so."""
    pages = collections.defaultdict(list)
    for at, line in enumerate(lines):
        pages[line.page].append(at)
    alike = collections.Counter((heading.page, bare(heading.title)) for heading in headings)
    before = -1
    for heading in headings:
        places = [at for page in (heading.page, heading.page + 1) for at in pages[page] if at > before]
        found = [(at, end) for at in places for end in [match_at(lines, at, heading.names)] if end]
        if found:
            heading.line, heading.end = not_head(found, lines, alike[heading.page, bare(heading.title)] - 1)
        else:
            for at in places:
                if not lines[at].aside and begins_with(lines[at], heading.names):
                    heading.line = heading.end = at
                    break
            else:
                if heading.aside and places:
                    heading.line = heading.end = places[0]
        if heading.line is not None:
            before = heading.line


def set_heads_aside(headings, lines):
    """What heads or foots a page and is the title of a section that has begun there or before."""
    located = {at for h in headings if h.line is not None for at in range(h.line, max(h.end, h.line + 1))}
    begun = collections.defaultdict(set)
    for heading in headings:
        if heading.line is not None:
            begun[lines[heading.line].page] |= heading.names
    names, page = set(), 0
    for at, line in enumerate(lines):
        for page in range(page + 1, line.page + 1):
            names |= begun[page]
        text = PAGE_NUMBER.sub("", line.text)
        if (line.first or line.last) and not line.aside and at not in located and names & {squeeze(text), bare(text)}:
            line.aside = "running"


def locate_without_pages(headings, lines):
    """From the end on, so that the contents come last."""
    after = len(lines)
    for heading in reversed(headings):
        for at in range(after - 1, -1, -1):
            if lines[at].aside or LEADERS.search(lines[at].text):
                continue
            end = match_at(lines, at, heading.names)
            if end and (after - at < 4000):
                heading.line, heading.end = at, end
                after = at
                break


def inherit_aside(headings):
    """What stands below an index is one, too."""
    above = []
    for heading in headings:
        above = [h for h in above if h.depth < heading.depth]
        heading.aside = heading.aside or (above[-1].aside if above else None)
        above.append(heading)


def pages_of_lists(lines):
    """The pages most of whose lines end with a number, as those of contents and an index do."""
    ends = collections.defaultdict(list)
    for line in lines:
        if not line.aside:
            ends[line.page].append(re.search(r"\d\s*$", line.text) is not None)
    return {page for page, found in ends.items() if 2 * sum(found) > len(found)}


def set_lists_aside(headings, lines):
    """Contents, index and bibliography, from their title to the next one."""
    named = {h.line: h.aside for h in headings if h.line is not None}
    lists = pages_of_lists(lines)
    kind = page = None
    for at, line in enumerate(lines):
        if page and line.page != page and line.page not in lists:
            kind = page = None
        if at in named:
            kind, page = named[at], None
        elif line.first and aside_of(line.text) and (not line.aside or not kind and line.page in lists):
            kind, page = aside_of(line.text), line.page  # it has no bookmark
        if not line.aside and (kind or LEADERS.search(line.text)):
            line.aside = kind or "contents"


# ---- The tree ----

def words_in(text):
    return WORD.findall(fold(text))


def long(words):
    return [word for word in words if len(word) >= 3]


class Part:
    """A section: what is printed of it, and the nodes of the tree."""

    def __init__(self, heading):
        self.heading, self.lines, self.nodes = heading, [], []

    def read_nodes(self):
        texts = [text for node in self.nodes for text in [node["title"]] + [b["text"] for b in node["blocks"]]
                 + [b["info"] for b in node["blocks"] if b["kind"] == "note"]]
        tokens = [words_in(text) for text in texts]
        self.bag = collections.Counter(word for words in tokens for word in long(words))
        # Words that the print does not part: two or three that follow each other.
        self.joined = {"".join(words[i:i + n]) for words in tokens for n in (2, 3) for i in range(len(words) - n + 1)}
        self.code = [collections.Counter(long(words_in(b["text"]))) for node in self.nodes for b in node["blocks"]
                     if b["kind"] in ("code", "math")]
        blocks = [b for node in self.nodes for b in node["blocks"]]
        self.prose = [collections.Counter(long(words_in(b["text"]))) for b in blocks if b["kind"] == "paragraph"]
        self.movable = [collections.Counter(long(words_in(b["text"]))) for b in blocks
                        if b["kind"] in ("figure", "table", "code")]


def match_nodes(headings, tree):
    """Gives each heading its node: the longest common sequence of titles, in which a number before one counts half."""
    ours = [(squeeze(node["title"]), bare(node["title"]), bare(FORMULA.sub("", node["title"])),
             squeeze(ENTRY_NAME.match(node["title"]).group(1)) if node.get("entry") else None) for node in tree["nodes"]]
    best = [[0] * (len(ours) + 1) for _ in range(len(headings) + 1)]

    def worth(heading, names):
        whole = squeeze(heading.title)
        return 2 if whole and whole == names[0] else bool((heading.names | {heading.number}) & set(names) - {None, ""})

    for a in range(len(headings) - 1, -1, -1):
        row, below = best[a], best[a + 1]
        for b in range(len(ours) - 1, -1, -1):
            row[b] = max(below[b], row[b + 1], below[b + 1] + worth(headings[a], ours[b]))
    a = b = 0
    while a < len(headings) and b < len(ours):
        if worth(headings[a], ours[b]) and best[a][b] == best[a + 1][b + 1] + worth(headings[a], ours[b]):
            headings[a].node = b
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1


def make_parts(headings, lines, tree):
    """The sections whose title is printed: their lines and their nodes."""
    parts = [Part(None)]
    of_line = {h.line: h for h in headings if h.line is not None}
    of_node = {h.node: h for h in headings if h.line is not None and h.node is not None}
    part_of = {}
    for at, line in enumerate(lines):
        if at in of_line:
            parts.append(Part(of_line[at]))
            part_of[of_line[at]] = parts[-1]
        parts[-1].lines.append(line)
    part = parts[0]
    for at, node in enumerate(tree["nodes"]):
        if at in of_node:
            part = part_of[of_node[at]]
        part.nodes.append(node)
    for part in parts:
        part.read_nodes()
    return parts


# ---- Comparing ----

class Word:
    def __init__(self, text, line):
        self.text, self.page, self.foot = text, line.page, line.foot
        self.short = len(text) < 3
        self.state = None


def unsigned(token, known):
    """The words of one that is none itself.  Of a PDF that does not say what the signs of TeX's mathematical fonts are,
    the brackets of a<b><c>d are read as "ahbihcid"."""
    best = [[] if not at else None for at in range(len(token) + 1)]
    for end in range(2, len(token) + 1):
        for sign in ("", "h", "i", "ih"):
            for begin in range(end - 1):
                word = token[begin + len(sign):end]
                fits = known(word) or sign and 0 < len(word) < 3  # of the shortest words nothing is known
                if fits and best[begin] is not None and token.startswith(sign, begin) and (sign or not begin):
                    if best[end] is None or len(best[begin]) + 1 < len(best[end]):
                        best[end] = best[begin] + [word]
    whole = best[-1] or (best[-2] if token[-1] == "i" else None)
    return whole or [token]


def has_signs_as_letters(lines, known):
    tokens = [token for line in lines for token in words_in(line.text)]
    return sum(token[0] == "h" and token[-1] == "i" and not known(token) and known(token[1:-1]) for token in tokens) >= 20


def printed_words(lines, known, signs):
    """The words of these lines; a word parted at the end of a line is one, unless only its parts are known."""
    words, held = [], None
    for line in lines:
        tokens = words_in(line.text)
        if held and tokens:
            whole = held + tokens[0]
            if known(whole) or not (known(held) and known(tokens[0])):
                tokens[0] = whole
            else:
                words.append(Word(held, line))
        held = None
        if re.search(r"[^\W\d_][-\u00ad\u2010\u2011]\s*$", line.text) and tokens:
            held = tokens.pop()
        for token in tokens:
            parts = unsigned(token, known) if signs and not known(token) and len(token) < 60 else [token]
            words += [Word(part, line) for part in parts]
    if held:
        words.append(Word(held, lines[-1]))
    return words


def take(bag, text):
    if bag[text] > 0:
        bag[text] -= 1
        return True
    return False


def runs_of(words):
    """Runs of words without a state, short ones passed over."""
    run = []
    for word in words:
        if word.short:
            continue
        if word.state is None:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def find_right(part, words, spare):
    for word in words:
        if not word.short and take(spare, word.text):
            word.state = "right"
    for i, word in enumerate(words):
        if word.short or word.state:
            continue
        if word.text in part.joined:
            word.state = "right"
        for j in (i - 1, i, i - 2):  # words that only the print parts
            for size in (2, 3):
                around = words[max(j, 0):j + size]
                if word in around and take(spare, "".join(w.text for w in around)):
                    word.state = "right"
                    for other in around:
                        other.state = other.state or "right"


def holds(bag, run):
    wanted = collections.Counter(word.text for word in run)
    return all(bag[text] >= count for text, count in wanted.items())


@functools.cache
def dummy_text():
    """The words that the package lipsum prints, if it is installed."""
    done = subprocess.run(["kpsewhich", "lipsum.ltd.tex"], capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        return frozenset()
    with open(done.stdout.strip(), encoding="utf-8") as stream:
        return frozenset(words_in(stream.read()))


def share_held(bag, run):
    """How much of the run stands in the piece, however often; dummy text counts as what a piece that asks for it prints."""
    dummy = dummy_text() if bag["lipsum"] else ()
    return sum(bag[word.text] > 0 or word.text in dummy for word in run) / len(run)


def are_in_turn(run, bags):
    """Is the run made of pieces of two words and more, each of which one of these has?"""
    while run:
        longest = 0
        for bag in bags:
            left = collections.Counter(bag)
            length = next((i for i, word in enumerate(run) if not take(left, word.text)), len(run))
            longest = max(longest, length)
        if longest < 2:
            return False
        run = run[longest:]
    return True


def is_footnote(run, near):
    """It stands at the foot of a page, and in paragraphs of sections before it on this page."""
    page = run[0].page
    return len(run) > 1 and all(word.foot for word in run) and are_in_turn(
        run, [bag for part in near if part.lines[0].page <= page <= part.lines[-1].page for bag in part.prose])


def read_elsewhere(options):
    """The words of each file that the manual takes from the TeX installation."""
    files = []
    for name in common.elsewhere_files(options):
        with open(name, encoding="utf-8", errors="replace") as stream:
            files.append(collections.Counter(long(words_in(stream.read()))))
    return files


def judge(parts, elsewhere=()):
    """Counts, and the runs that are lost or misplaced."""
    everything = set().union(*(part.bag.keys() for part in parts))
    total, counts, wrong = collections.Counter(), collections.Counter(), []
    known = everything.__contains__
    signs = has_signs_as_letters([line for part in parts for line in part.lines], known)
    for part in parts:
        part.words = printed_words([line for line in part.lines if not line.aside], known, signs)
        part.spare = collections.Counter(part.bag)
        find_right(part, part.words, part.spare)
        for line in part.lines:
            if line.aside:
                counts[line.aside] += len(long(words_in(line.text)))
    for part in parts:
        total.update(part.spare)
    for at, part in enumerate(parts):
        near = [p for p in parts[max(at - 12, 0):at + 13] if p is not part and p.lines and part.lines
                and p.lines[0].page <= part.lines[-1].page + 2 and p.lines[-1].page >= part.lines[0].page - 2]
        for run in runs_of(part.words):
            if len(run) > 1 and any(holds(bag, run) for p in near for bag in p.movable) or is_footnote(run, near):
                state = "floated"
            elif any(share_held(bag, run) >= 0.8 for bag in part.code):
                state = "rendered"
            elif len(run) >= 5 and any(share_held(bag, run) >= 0.9 for bag in elsewhere):
                state = "installation"
            else:
                state = None
            for word in run:
                word.state = state or ("misplaced" if take(total, word.text) else "lost")
            if not state:
                wrong.append((part, run))
        counts.update(word.state for word in part.words if not word.short)
    return counts, wrong


def report(name, wrong, stream):
    for part, run in wrong:
        print(json.dumps({"manual": name, "section": part.heading.title if part.heading else None, "page": run[0].page,
                          "node": bool(part.nodes), "lost": sum(w.state == "lost" for w in run), "words": len(run),
                          "run": " ".join(word.text for word in run[:40])}, ensure_ascii=False), file=stream)


def compare(headings, lines, tree, elsewhere=()):
    match_nodes(headings, tree)
    parts = make_parts(headings, lines, tree)
    return parts, *judge(parts, elsewhere)


def read_pdf(pdf, toc=None):
    """Headings that are located, and lines, of which some are set aside."""
    lines = read_lines(pdf)
    set_running_aside(lines)
    headings = [Heading(*bookmark) for bookmark in read_bookmarks(pdf)]
    inherit_aside(headings)
    if headings:
        locate(headings, lines)
    elif toc:
        headings = [Heading(title, None, depth) for title, depth in toc]
        inherit_aside(headings)
        locate_without_pages(headings, lines)
    set_heads_aside(headings, lines)
    mark_feet(headings, lines)
    set_lists_aside(headings, lines)
    return headings, lines


def pdf_of(args, name, path, options):
    """(PDF, titles for one without bookmarks)."""
    folder = os.path.join(args.manuals, name)
    stem = re.sub(r"\.(tex|ltx)(\.gz)?$", "", path)
    shipped = os.path.join(folder, options.get("pdf", stem + ".pdf"))
    toc = None
    made = os.path.join(args.work, f"{name}.pdfrun", stem) if args.work else ""
    if args.work and not (os.path.exists(shipped) and list(read_bookmarks(shipped))):
        if not os.path.exists(made + ".pdf"):
            common.typeset(folder, path, options, os.path.join(args.work, f"{name}.pdfrun"), runs=3, pdf=True)
        if os.path.exists(made + ".toc"):
            toc = list(read_toc(made + ".toc"))
    return (shipped if os.path.exists(shipped) else made + ".pdf"), toc


def check(args, name, path, options, details):
    pdf, toc = pdf_of(args, name, path, options)
    if not os.path.exists(pdf):
        return None
    headings, lines = read_pdf(pdf, toc)
    tree = common.read_tree(args.build, os.path.join(args.manuals, name), path)
    parts, counts, wrong = compare(headings, lines, tree, read_elsewhere(options))
    if details:
        report(name, wrong, details)
    aside = ("contents", "index", "glossary", "bibliography", "running", "rendered", "installation")
    words = sum(count for state, count in counts.items() if state not in aside)
    besides = sum(sum(part.spare.values()) for part in parts)
    return {"manual": name, "titles": len(headings), "printed": sum(h.line is not None for h in headings),
            "with_node": sum(h.line is not None and h.node is not None for h in headings), "words": words,
            **{state: counts[state] for state in ("right", "floated", "misplaced", "lost", *aside)}, "besides": besides,
            "rate": round((counts["right"] + counts["floated"]) / max(words, 1), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("manuals")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--details")
    parser.add_argument("--work")
    args = parser.parse_args()
    details = open(args.details, "w", encoding="utf-8") if args.details else None
    short = measured = 0
    for name, path, options in common.manuals(args.names):
        result = check(args, name, path, options, details)
        if not result:
            print(f"{name}: no PDF")
            continue
        measured += 1
        short += result["rate"] < NEEDED
        print(json.dumps(result), flush=True)
    print(f"words: {short} of {measured} manuals below {100 * NEEDED:g} %")
    return short > 0 or not measured


if __name__ == "__main__":
    sys.exit(main())
