#!/usr/bin/env python3
"""Compares the first two levels of each manual's tree with the table of contents that its index page prints.

    contents.py FOLDER [NAME...] [--details FILE]

Each manual is indexed by a private daemon. A printed entry is right when the node of its target (file and
anchor, else title) stands below the node of the printed entry above it, on the first level below the
manual's root or the index page's node, all at the same place; and when what stands there is in printed
order. Set aside and counted: `repeated`, a page that is printed at several places stands at one of them; `deeper`,
the page's own headings have a place below another of its headings; `own_orders`, the page has its places in another
order, or before the pages below it. `extra` counts nodes beside them that are not printed. Manuals of one page are
left out.
"""
import json
import os
import posixpath
import re
import sys
import urllib.parse
from html.parser import HTMLParser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.home import Home, walk
import manuals

LISTS = {"ul", "ol", "dl", "menu", "dir"}


class Entry:
    def __init__(self, depth, href, title):
        self.depth, self.href, self.title = depth, href, title


class Page(HTMLParser):
    """The page as (what, tag, attributes or text); `within` leaves an element's part of it."""

    def __init__(self, path):
        super().__init__()
        self.events = []
        self.feed(manuals.read_text(path))
        self.close()

    def handle_starttag(self, tag, attrs):
        self.events.append(("start", tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        self.events.append(("end", tag, {}))

    def handle_data(self, data):
        self.events.append(("text", data, {}))

    def within(self, selector):
        """Events of every element "tag", "tag.class" or "tag#id"; "": all."""
        if not selector:
            return self.events
        tag, sign, name = re.fullmatch(r"(\w+)([.#]?)(.*)", selector).groups()
        found, depth = [], 0
        for event in self.events:
            what, here, attrs = event
            if not depth:
                names = (attrs.get("class") or "").split() if sign == "." else [attrs.get("id")]
                depth = what == "start" and here == tag and (not sign or name in names)
                continue
            if here == tag and what != "text":
                depth += 1 if what == "start" else -1
            if depth:
                found.append(event)
        return found


def links(events):
    """(attributes of the link, text, event index where it begins) of each <a href>."""
    inside, text, begin = None, "", 0
    for index, (what, name, attrs) in enumerate(events):
        if what == "start" and name == "a" and attrs.get("href"):
            inside, text, begin = attrs, "", index
        elif what == "text" and inside is not None:
            text += name
        elif what == "end" and name == "a" and inside is not None:
            yield inside, manuals.squeeze(text), begin
            inside = None


def in_lists(page, selector, all_links=False):
    """Entries of nested lists: the first link of each item, as deep as lists are open."""
    events = page.within(selector)
    starts = {begin: (attrs["href"], text) for attrs, text, begin in links(events)}
    depth, fresh, found = int(re.split("[.#]", selector)[0] in LISTS), True, []
    for index, (what, name, _) in enumerate(events):
        if name in LISTS and what != "text":
            depth += 1 if what == "start" else -1
        elif what == "start" and name in ("li", "dt"):
            fresh = True
        elif index in starts and depth and (fresh or all_links):
            found.append(Entry(depth, *starts[index]))
            fresh = False
    least = min((entry.depth for entry in found), default=1)
    for entry in found:
        entry.depth -= least - 1
    return found


def by_class(page, selector, depths):
    """Entries in elements whose class tells the depth; the class may be the link's own."""
    events, depth, found = page.within(selector), 0, []
    starts = {begin: (attrs["href"], text) for attrs, text, begin in links(events)}
    for index, (what, _, attrs) in enumerate(events):
        if what != "start":
            continue
        for name in (attrs.get("class") or "").split():
            depth = depths.get(name, depth)
        if depth and index in starts:
            found.append(Entry(depth, *starts[index]))
            depth = 0
    return found


def scribble(page, _):
    """Rows of a table; the blanks before a link tell its depth."""
    found, blanks = [], 0
    starts = {begin: (attrs, text) for attrs, text, begin in links(page.events)}
    for index, (what, name, attrs) in enumerate(page.events):
        if what == "start" and name == "tr":
            blanks = 0
        elif what == "text":
            blanks += name.count("\xa0")
        if index in starts and (starts[index][0].get("class") or "") in ("toptoclink", "toclink"):
            attrs, text = starts[index]
            found.append(Entry(1 if attrs["class"] == "toptoclink" else blanks // 2 - 1, attrs["href"], text))
    return found


def numbered(page, selector):
    """Entries of lines; the number before a link tells its depth."""
    events, found, before = page.within(selector), [], ""
    starts = {begin: (attrs["href"], text) for attrs, text, begin in links(events)}
    for index, (what, name, _) in enumerate(events):
        if what == "text":
            before = name
        elif index in starts:
            number = re.search(r"((?:\d+|[A-Z])(?:\.\d+)*)\.?\s*$", before)
            found.append(Entry(number.group(1).count(".") + 1 if number else 1, *starts[index]))
            before = ""
    return found


def directory(page, _):
    """Doxygen's table: id="row_1_0_"."""
    events, depth, found = page.within("table.directory"), 0, []
    starts = {begin: (attrs["href"], text) for attrs, text, begin in links(events)}
    for index, (what, name, attrs) in enumerate(events):
        if what == "start" and name == "tr":
            depth = (attrs.get("id") or "").count("_") - 1
        elif depth > 0 and index in starts:
            found.append(Entry(depth, *starts[index]))
            depth = 0
    return found


def showhide(page, _):
    """SQLite's: headings that unfold, links below them."""
    events, found, text, heading = page.within("ul.showhide"), [], "", False
    starts = {begin: (attrs["href"], name) for attrs, name, begin in links(events)}
    for index, (what, name, attrs) in enumerate(events):
        if what == "start" and name == "a" and attrs.get("onclick"):
            heading, text = True, ""
        elif what == "text" and heading:
            text += name
        elif what == "end" and name == "a" and heading:
            found.append(Entry(1, None, manuals.squeeze(text).lstrip("▼► ")))
            heading = False
        elif index in starts:
            found.append(Entry(2, *starts[index]))
    return found


def plain(page, selector):
    """A flat row of links."""
    return [Entry(1, attrs["href"], text) for attrs, text, _ in links(page.within(selector))]


# Manual: [(index page, reader, its arguments)], one for each work in the folder.
PRINTED = {
    "postgresql": [("index.html", in_lists, "div.toc")],
    "python": [("contents.html", in_lists, "div.toctree-wrapper")],
    "octave": [("octave.html/index.html", in_lists, "div.contents"),
               ("liboctave.html/index.html", in_lists, "div.contents")],
    "gnuplot": [("index.html", in_lists, "ul.ChildLinks")],
    "bacula": [(f"{work}/index.html", in_lists, "ul.ChildLinks")
               for work in ("console", "developers", "main", "misc", "problems", "utility")],
    "swi-prolog": [("Manual/Contents.html", by_class, "div.toc", {"toc-h1": 1, "toc-h2": 2, "toc-h3": 3, "toc-h4": 4})],
    "annotations": [("cplusplus.html", in_lists, "dl")],
    "xfig": [("contents.html", in_lists, "body", True), ("japanese/contents.html", in_lists, "body", True)],
    "sqlite": [("docs.html", showhide, "")],
    "ada": [("arm2012.html/rm-TOC.html", numbered, "div.Normal"), ("aarm2012.html/aa-TOC.html", numbered, "div.Normal")],
    "nodejs": [("index.html", plain, "div#apicontent")],
    "ffmpeg": [("api/modules.html", directory, "")],
    "lang3": [("index.html", plain, "div#all-packages-table")],
    "rust-book": [("index.html", in_lists, "ol.chapter")],
    "racket": [("index.html", scribble, "")],
    # Of held-out.txt.
    "policy": [("policy.html/index.html", in_lists, "div.toctree-wrapper")],
    "valgrind": [("index.html", in_lists, "div.toc")],
    "postfix": [("index.html", plain, "body")],
    "ntpsec": [("sitemap.html", plain, "div#content")],
    "glib": [(f"{work}/index.html", in_lists, "div.toc") for work in ("gio", "glib", "gobject")],
    "nim": [("overview.html", in_lists, "div#content")],
}


# Pages that are printed in the contents and kept out of the tree.
WITHOUT_CONTENT = {"index", "contents", "tableofcontents", "search", "searchpage"}


def printed(manual, page, reader, *rest):
    """The entries of the first two depths whose target is a file of the manual, or a heading in it."""
    kept = []
    for entry in reader(Page(os.path.join(manual.root, page)), *rest):
        if entry.depth > 2:
            continue
        if entry.href is not None:
            target = urllib.parse.urlsplit(entry.href)
            if target.scheme or target.netloc:
                continue
            path = urllib.parse.unquote(target.path)
            entry.file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            entry.anchor = urllib.parse.unquote(target.fragment)
            real = os.path.join(manual.root, entry.file)
            if os.path.islink(real):
                entry.file = os.path.relpath(os.path.realpath(real), os.path.realpath(manual.root))
            if not os.path.exists(real):
                continue
        else:
            entry.file = entry.anchor = ""
        if not kept and entry.depth == 2 or not has_heading(manual, entry):
            continue
        kept.append(entry)
    return kept


def has_heading(manual, entry):
    """Is there a heading at the entry's target?  A place within a section can be no node."""
    if not getattr(entry, "anchor", ""):
        return True
    source = manuals.read_text(os.path.join(manual.root, entry.file))
    place = re.search(r"""\s(?:id|name)\s*=\s*["']?""" + re.escape(entry.anchor) + r"""(?=["'\s>])""", source)
    if not place:
        return False
    around = source[max(0, place.start() - 60):place.end() + 300]
    return bool(re.search(r"<(?:h[1-6]|dt|section)(?=[\s>])", around, re.I))


def bare(title):
    return re.sub(r"[\W_]", "", manuals.fold(title))


def same_title(printed, title):
    """Numbers may stand on one side only; a printed title may be shortened."""
    a, b = (re.sub(r"^(?:chapter|appendix|part)?\s*(?:\d+|[a-z]|[ivx]+)?(?:\.\d+)*[.:]?\s+", "", manuals.fold(text))
            for text in (printed, title))
    a, b = bare(a), bare(b)
    return a in b or b in a if min(len(a), len(b)) > 3 else a == b


class Tree:
    def __init__(self, root):
        self.root, self.parent, self.by_file, self.by_title, self.by_anchor = root, {}, {}, {}, {}
        for node in walk(root):
            for child in node["children"]:
                self.parent[child["id"]] = node
            for file in [node["file"]] + [origin["file"] for origin in node.get("origins") or []]:
                self.by_file.setdefault(file, node)
            self.by_anchor.setdefault((node["file"], node["anchor"]), node)
            self.by_title.setdefault((node["file"], bare(node["title"])), node)
            self.by_title.setdefault(bare(node["title"]), node)

    def find(self, entry):
        if not entry.file:  # a heading without a page of its own
            return next((node for node in walk(self.root) if node["file"] is None
                         and bare(node["title"]) == bare(entry.title)), self.by_title.get(bare(entry.title)))
        if entry.anchor:
            node = self.by_anchor.get((entry.file, entry.anchor))
            if node and same_title(entry.title, node["title"]):
                return node
            return (self.by_title.get((entry.file, bare(entry.title))) or node or self.numbered(entry))
        return self.by_file.get(entry.file)

    def above(self, node):
        return self.parent.get(node["id"])

    def within(self, node, wanted):
        while node and node["id"] != wanted:
            node = self.above(node)
        return node is not None

    def numbered(self, entry):
        """A title that the page gives a number and the contents do not, or the other way round."""
        wanted = re.sub(r"^\d+", "", bare(entry.title))
        return next((node for node in walk(self.root) if node["file"] == entry.file
                     and re.sub(r"^\d+", "", bare(node["title"])) == wanted), None)


def pages_of(nodes, above):
    """The order of the pages below the page `above`, whose own sections come first; within one, its text decides."""
    files = [node["file"] for node in nodes if node["file"] != above]
    return [file for at, file in enumerate(files) if not at or files[at - 1] != file]


def compare(tree, page, entries):
    """{counts} and what is wrong."""
    wrong, places, above, found = [], {}, None, []
    allowed = {tree.root["id"]}
    for file in page, posixpath.join(posixpath.dirname(page), "index.html"):
        if tree.by_file.get(file):
            allowed.add(tree.by_file[file]["id"])
    for entry in entries:
        node = tree.find(entry)
        if not node and bare(entry.title) in WITHOUT_CONTENT:
            continue
        above = node if entry.depth == 1 else above
        found.append((entry, node, above))
        if entry.depth == 1 and node and tree.above(node):
            under = tree.above(node)["id"]
            places[under] = places.get(under, 0) + 1
    common = max(places, key=places.get) if places else None
    if common not in allowed:
        folder = next((n for n in walk(tree.root) if n["id"] == common), None)
        if folder and tree.parent.get(common, {}).get("id") != tree.root["id"]:
            wrong.append({"what": "first level is not below the root or the index page", "under": folder["title"]})
    children, order, settled, repeated, deeper = {}, [], set(), 0, 0
    for entry, node, above in found:
        wanted = common if entry.depth == 1 else above and above["id"]
        if node and tree.above(node) and tree.above(node)["id"] == wanted and node["id"] not in settled:
            settled.add(node["id"])
            children.setdefault(wanted, []).append(node)
    for entry, node, above in found:
        under = tree.above(node) if node else None
        wanted = common if entry.depth == 1 else above and above["id"]
        if not node:
            wrong.append({"what": "no node", "title": entry.title, "href": entry.href})
        elif under and under["id"] != wanted and node["id"] in settled:
            repeated += 1
        elif under and under["id"] != wanted and above and under["file"] == above["file"] and tree.within(node, wanted):
            deeper += 1
        elif not under or under["id"] != wanted:
            wrong.append({"what": "under another", "title": entry.title, "href": entry.href,
                          "under": under and under["title"],
                          "wanted": above and above["title"] if entry.depth == 2 else None})
        if node and not same_title(entry.title, node["title"]):
            wrong.append({"what": "another title", "title": entry.title, "node": node["title"], "href": entry.href})
    nodes = {node["id"]: node for node in walk(tree.root)}
    extra, own = [], 0
    for parent, printed_here in children.items():
        here = nodes[parent]["children"]
        ids = [node["id"] for node in printed_here]
        extra += [node["title"] for node in here if node["id"] not in ids]
        file = nodes[parent]["file"]
        if pages_of((node for node in here if node["id"] in ids), file) != pages_of(printed_here, file):
            order.append(nodes[parent]["title"])
        else:
            own += [node["id"] for node in here if node["id"] in ids] != ids
    for title in order:
        wrong.append({"what": "another order below", "title": title})
    misplaced = sum(item["what"] in ("no node", "under another") for item in wrong)
    return {"printed": len(entries), "right": len(entries) - misplaced, "repeated": repeated, "deeper": deeper,
            "orders": len(order), "own_orders": own,
            "titles": sum(item["what"] == "another title" for item in wrong),
            "extra": len(extra), "extra_examples": extra[:6]}, wrong


def main():
    args = manuals.arguments(__doc__)
    details = open(args.details, "w", encoding="utf-8") if args.details else None
    failed = 0
    with Home(args.build) as home:
        for manual in args.manuals:
            if manual.name not in PRINTED:
                continue
            home.json("add", os.path.realpath(manual.root), "-c", manual.name, "--wait")
            tree = Tree(home.json("toc", "-c", manual.name))
            for page, *reading in PRINTED[manual.name]:
                result, wrong = compare(tree, page, printed(manual, page, *reading))
                failed += not result["printed"] or any(item["what"] != "another title" for item in wrong)
                print(json.dumps({"manual": manual.name, "page": page, **result, "wrong": wrong[:3]},
                                 ensure_ascii=False), flush=True)
                for item in wrong if details else []:
                    print(json.dumps({"manual": manual.name, "page": page, **item}, ensure_ascii=False), file=details)
    print(f"contents: {failed} printed tables differ from the tree")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
