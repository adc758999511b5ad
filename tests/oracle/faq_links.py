#!/usr/bin/env python3
"""Questions of a Sphinx manual's FAQ with the pages that their answers link to.

    faq_links.py HTMLDIR [--faq faq] > QUESTIONS.jsonl

One line per section of FAQ/*.html (of FAQ itself, if it is a page: faq.html) that has no section below it
and whose text links to other pages of the manual. The question is its heading; right is any page linked to
(`pages`). The FAQ itself answers its questions, so what is asked must be an index without it:

    lectern add HTMLDIR --ignore 'faq/*' --ignore 'genindex*'
"""
import argparse
import json
import os
import posixpath
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
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


def pages_of(root, file, links, faq):
    """Files of the manual, outside the FAQ, that the links lead to, in order."""
    pages = []
    for link in links:
        target = unquote(urldefrag(link)[0])
        if not target or "://" in target or target.startswith("mailto:"):
            continue
        page = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        if (faq in (page, page.split("/")[0]) or page in pages or page.startswith(NO_CONTENT)
                or not page.endswith(".html") or not os.path.isfile(os.path.join(root, page))):
            continue
        pages.append(page)
    return pages


def files_of(root, faq):
    folder = os.path.join(root, faq)
    if not os.path.isdir(folder):
        return [faq]
    return [f"{faq}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".html")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("htmldir")
    parser.add_argument("--faq", default="faq")
    args = parser.parse_args()
    count = 0
    for file in files_of(args.htmldir, args.faq):
        name = os.path.basename(file)
        with open(os.path.join(args.htmldir, file), encoding="utf-8") as stream:
            sections = Sections(stream.read()).done
        for title, anchor, links, has_below in sections:
            pages = pages_of(args.htmldir, file, links, args.faq)
            if has_below or not title or not pages:
                continue
            count += 1
            print(json.dumps({"id": f"{name[:-5]}-{anchor}", "question": title, "pages": pages},
                             ensure_ascii=False))
    print(f"faq_links: {count} questions", file=sys.stderr)
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
