#!/usr/bin/env python3
"""Questions of a manual's FAQ with the pages that their answers link to.

    faq_links.py HTMLDIR [--faq faq] [--leave GLOB...] > QUESTIONS.jsonl

One line per section of FAQ/*.html (of FAQ itself, if it is a page: faq.html) that has no section below it
and whose text links to other pages of the manual. The question is its heading, without its number; right is any
page linked to (`pages`), unless a GLOB leaves it out (of what Debian installs as X.html.gz the name is X.html here,
too). A page that does not mark its sections (Sphinx and AsciiDoc do) is read by its headings, paragraphs that are
one bold question, and terms that end in "?"; each goes on to the next, and links in what is called navigation or
footer are passed over. The FAQ itself answers its questions, so what is asked must be an index without it:

    lectern add HTMLDIR --ignore 'faq/*' --ignore 'genindex*'
"""
import argparse
import fnmatch
import gzip
import json
import os
import posixpath
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
NUMBER = re.compile(r"^\s*(\d+\.)*\d*\.?\)?\s+")
ASIDE = re.compile(r"nav|foot|sidebar|related|toc|breadcrumb", re.IGNORECASE)
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
NO_CONTENT = ("genindex", "search.html", "py-modindex", "contents.html", "index.html")


class Sections(HTMLParser):
    """The sections of a page: [title, anchor, links, whether one is below it]. Older Sphinx has a div for each."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.done, self.open, self.title, self.permalink = [], [], None, False
        self.divs = []  # of the open ones: is it a section?
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        section = tag == "section" or tag == "div" and "section" in (attrs.get("class") or "").split()
        if tag == "div":
            self.divs.append(section)
        if section:
            if self.open:
                self.open[-1][3] = True
            self.open.append(["", attrs.get("id", ""), [], False])
        elif not self.open:
            return
        elif tag in HEADINGS and not self.open[-1][0]:
            self.title = ""
        elif tag == "a" and "headerlink" in (attrs.get("class") or ""):
            self.permalink = True
        elif tag == "a" and attrs.get("href"):
            self.open[-1][2].append(attrs["href"])

    def handle_endtag(self, tag):
        section = self.divs.pop() if tag == "div" and self.divs else tag == "section"
        if section and self.open:
            self.done.append(self.open.pop())
        elif tag in HEADINGS and self.title is not None:
            self.open[-1][0] = " ".join(self.title.split())
            self.title = None
        elif tag == "a":
            self.permalink = False

    def handle_data(self, data):
        if self.title is not None and not self.permalink:
            self.title += data


class Headings(HTMLParser):
    """The same of a page whose sections are not marked: what asks goes on to the next that does."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.done, self.level, self.title, self.within, self.open, self.aside = [], 0, None, None, [], 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        aside = tag in ("nav", "footer", "aside") or bool(
            tag in ("div", "ul", "table") and ASIDE.search(f"{attrs.get('class')} {attrs.get('id')}"))
        if tag not in VOID:
            self.open.append((tag, aside))
            self.aside += aside
        if tag in HEADINGS or tag in ("dt", "b", "strong"):
            if self.within is None:
                self.title, self.within = "", tag
        elif tag == "a" and attrs.get("href") and self.done and not self.aside:
            self.done[-1][2].append(attrs["href"])

    def handle_endtag(self, tag):
        if any(tag == other for other, _ in self.open):
            while True:
                other, aside = self.open.pop()
                self.aside -= aside
                if other == tag:
                    break
        if tag != self.within:
            return
        title, level = " ".join(self.title.split()), int(tag[1]) if tag in HEADINGS else 9
        self.title = self.within = None
        if self.aside or not title or level == 9 and not title.endswith("?"):
            return
        if self.done and level > self.level:
            self.done[-1][3] = True
        self.level = level
        self.done.append([title, f"q{len(self.done) + 1}", [], False])

    def handle_data(self, data):
        if self.title is not None:
            self.title += data


def sections_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    marked = Sections(text).done
    return marked if sum(bool(section[0]) for section in marked) > 1 else Headings(text).done


def is_file(root, page):
    path = os.path.join(root, page)
    return os.path.isfile(path) or os.path.isfile(path + ".gz")


def pages_of(root, file, links, faq, leave=()):
    """Files of the manual, outside the FAQ, that the links lead to, in order."""
    pages = []
    for link in links:
        target = unquote(urldefrag(link)[0])
        if not target or "://" in target or target.startswith("mailto:"):
            continue
        page = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        if (faq in (page, page.split("/")[0]) or page in pages or page.startswith(NO_CONTENT)
                or not page.endswith((".html", ".htm")) or not is_file(root, page)
                or any(fnmatch.fnmatch(page, glob) for glob in leave)):
            continue
        pages.append(page)
    return pages


def files_of(root, faq):
    folder = os.path.join(root, faq)
    if not os.path.isdir(folder):
        return [faq]
    return [f"{faq}/{name}" for name in sorted(os.listdir(folder)) if name.endswith((".html", ".html.gz"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("htmldir")
    parser.add_argument("--faq", default="faq")
    parser.add_argument("--leave", action="append", default=[], metavar="GLOB")
    args = parser.parse_args()
    count = 0
    for file in files_of(args.htmldir, args.faq):
        name = os.path.basename(file)
        for title, anchor, links, has_below in sections_of(os.path.join(args.htmldir, file)):
            pages = pages_of(args.htmldir, file, links, args.faq, args.leave)
            title = NUMBER.sub("", title)
            if has_below or not title or not pages:
                continue
            count += 1
            print(json.dumps({"id": f"{name.split('.')[0]}-{anchor}", "question": title, "pages": pages},
                             ensure_ascii=False))
    print(f"faq_links: {count} questions", file=sys.stderr)
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
