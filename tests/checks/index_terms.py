#!/usr/bin/env python3
"""Makes questions from a DocBook manual's own index, for `lectern eval` and the checks here.

    index_terms.py HTMLDIR > QUESTIONS.jsonl

One line per index entry with links into the text. The question is the entry as it reads, a
sub-entry after its parents ("index, partial"). Right is the section that holds the link's target:
`section` for the first link, `sections` for all of them, as [title of the section above, title].
Entries that only say "see" are skipped. A summary goes to standard error; exit code 1 when a link
leads nowhere or no question came out. This proves nothing by itself: it is the ruler.
"""
import json
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

from docbook import Manual, squeeze

INDEX_PAGE = "bookindex.html"


class Index(HTMLParser):
    """Entries of nested dt/dd lists: [(question, [href, ...]), ...] in order of the index."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.entries = []
        self.parents = []   # terms of the dl levels around
        self.term = None    # text of the open dt up to its first link
        self.last = ""      # term of the last dt at this level
        self.hrefs = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "dl":
            self.parents.append(self.last)
        elif tag == "dt":
            self.term, self.hrefs, self.frozen = "", [], False
        elif tag == "a" and self.term is not None:
            self.frozen = True
            if "indexterm" in (attrs.get("class") or "").split() and attrs.get("href"):
                self.hrefs.append(attrs["href"])

    def handle_endtag(self, tag):
        if tag == "dl":
            self.last = self.parents.pop()
        elif tag == "dt" and self.term is not None:
            self.last = squeeze(self.term).removesuffix(",").rstrip()
            terms = [term for term in self.parents if term] + [self.last]
            self.entries.append((", ".join(terms), self.hrefs))
            self.term = None
        elif tag == "div":
            self.last = ""

    def handle_data(self, data):
        if self.term is not None and not self.frozen:
            self.term += data


def questions(folder, manual):
    """Yields the question objects, and (question, href) for links that lead nowhere."""
    with open(os.path.join(folder, INDEX_PAGE), encoding="utf-8") as stream:
        entries = Index(stream.read()).entries
    for number, (question, hrefs) in enumerate(entries, 1):
        sections, places, dead = [], [], []
        for href in hrefs:
            file, _, anchor = unquote(href).partition("#")
            heading = manual.target(file, anchor)
            if not heading:
                dead.append((question, href))
                continue
            section = manual.path(heading)[-2:]
            if section not in sections:
                sections.append(section)
                places.append((file, anchor or None))
        line = None
        if sections:
            line = {"id": f"index-{number:04}", "question": question, "answer": None,
                    "section": sections[0], "sections": sections, "evidence": None,
                    "document": None, "file": places[0][0], "anchor": places[0][1]}
        yield line, dead, bool(hrefs)


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: index_terms.py HTMLDIR > QUESTIONS.jsonl")
    manual = Manual(sys.argv[1])
    entries = linked = made = links = 0
    dead = []
    for line, nowhere, has_links in questions(sys.argv[1], manual):
        entries += 1
        linked += has_links
        dead += nowhere
        if line:
            made += 1
            links += len(line["sections"])
            print(json.dumps(line, ensure_ascii=False))
    print(f"index_terms: {entries} entries, {linked} with links, {made} questions, {links} right sections, "
          f"{len(dead)} dead links", file=sys.stderr)
    for question, href in dead[:10]:
        print(f"  {question!r} -> {href}", file=sys.stderr)
    return 1 if dead or not made else 0


if __name__ == "__main__":
    sys.exit(main())
