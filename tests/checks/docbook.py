"""Reads a manual made by the DocBook XSL style sheets: headings, anchors and text.

Shared by the checks in this folder. It knows nothing of Lectern: structure comes from
the section divs that DocBook writes and from the "Up" link in each page's header.
"""
import os
import re
from html.parser import HTMLParser

VOID = set("area base br col embed hr img input link meta source track wbr".split())
CHROME_TAGS = {"head", "script", "style", "nav", "template"}
CHROME_CLASSES = {"navheader", "navfooter", "toc", "list-of-tables", "list-of-figures",
                  "list-of-examples"}
SECTION_CLASSES = set(
    "set book part reference preface chapter appendix article glossary bibliography index "
    "dedication colophon acknowledgements partintro section simplesect "
    "sect1 sect2 sect3 sect4 sect5 refentry refsynopsisdiv refsection refsect1 refsect2 refsect3 "
    "glossdiv bibliodiv indexdiv".split())
LABEL_CLASSES = {"note", "tip", "warning", "caution", "important"}
BELOW_TITLE = {"author", "corpauthor", "editor", "subtitle"}  # of a title page: no headings
PERMALINK_CLASSES = {"headerlink", "id_link", "permalink", "anchorjs-link"}
INLINE = set("a abbr acronym b bdo big cite code dfn em font i kbd q s samp small span strike "
             "strong sub sup tt u var".split())
UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))  # soft hyphen, zero width


def squeeze(text):
    """White space folded, no-break spaces included; break opportunities without width removed."""
    return " ".join(text.translate(UNSEEN).split())


def clean_title(text):
    """A heading as it reads, without a permalink sign at its end."""
    return re.sub(r"\s*[¶🔗]+$", "", squeeze(text))


class Heading:
    """One h1 to h6. `parent` is the heading of the enclosing section div, if the page has one."""

    def __init__(self, file, level, parent, offset):
        self.file, self.level, self.parent, self.offset = file, level, parent, offset
        self.title, self.text = "", ""  # text: what follows, up to the next heading


class Section:
    """A section div that is open while the page is read; its first heading names it."""

    def __init__(self, outer):
        self.outer, self.heading = outer, None

    def named(self):
        """The heading of this section or of the nearest one around it that has one."""
        section = self
        while section and not section.heading:
            section = section.outer
        return section.heading if section else None


class Page(HTMLParser):
    """One page: `headings` in order, `labels` (admonitions), `up`, `anchors` (id -> Section)."""

    def __init__(self, file, text):
        super().__init__(convert_charrefs=True)
        self.file, self.headings, self.labels = file, [], []
        self.anchors, self.up, self.title_parts = {}, None, None
        self.stack = []       # (tag, classes, section or None) of the open elements
        self.section = None   # innermost open section div
        self.hidden = 0       # open elements that are chrome
        self.permalink = 0    # open elements that are permalink signs
        self.body = []        # text since the last heading
        self.feed(text)
        self.close()
        self.end_text()

    def end_text(self):
        if self.headings:
            self.headings[-1].text += squeeze("".join(self.body))
        self.body = []

    @staticmethod
    def is_chrome(tag, classes):
        return tag in CHROME_TAGS or bool(classes & CHROME_CLASSES)

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        classes = set(attrs.get("class", "").split())
        if tag == "a" and attrs.get("accesskey") == "u" and not self.up:
            self.up = attrs.get("href")
        if tag not in INLINE:
            self.handle_data(" ")
        if tag in VOID:
            return
        section = None
        if tag == "div" and classes & SECTION_CLASSES and not self.hidden:
            section = self.section = Section(self.section)
        if "id" in attrs and not self.hidden:
            self.anchors.setdefault(attrs["id"], self.section)
        self.hidden += self.is_chrome(tag, classes)
        self.permalink += bool(classes & PERMALINK_CLASSES)
        self.stack.append((tag, classes, section))
        if re.fullmatch("h[1-6]", tag) and not self.hidden and not classes & BELOW_TITLE:
            self.start_heading(int(tag[1]), classes)

    def start_heading(self, level, classes):
        above, above_classes = self.stack[-2][:2] if len(self.stack) > 1 else ("", set())
        label = above == "div" and above_classes & LABEL_CLASSES and "title" in classes
        section = self.section
        parent = section.named() if section else None
        self.title_parts = []
        self.open_heading = Heading(self.file, level, parent, self.getpos())
        if label:
            self.labels.append(self.open_heading)
            return
        self.end_text()
        self.headings.append(self.open_heading)
        if section and not section.heading:
            section.heading = self.open_heading

    def handle_endtag(self, tag):
        if tag in VOID or all(tag != entry[0] for entry in self.stack):
            return
        while self.stack:
            name, classes, section = self.stack.pop()
            if section:
                self.section = section.outer
            self.hidden -= self.is_chrome(name, classes)
            self.permalink -= bool(classes & PERMALINK_CLASSES)
            if re.fullmatch("h[1-6]", name) and self.title_parts is not None:
                self.open_heading.title = clean_title("".join(self.title_parts))
                if self.open_heading in self.labels:
                    self.body.append(self.open_heading.title)
                self.title_parts = None
            if name == tag:
                break
        if tag not in INLINE:
            self.handle_data(" ")

    def handle_data(self, data):
        if self.hidden or self.permalink:
            return
        (self.body if self.title_parts is None else self.title_parts).append(data)


class Manual:
    """All pages of a folder, with parents resolved over the pages' Up links."""

    def __init__(self, folder):
        self.pages = {}
        for file in sorted(os.listdir(folder)):
            if file.endswith((".html", ".xhtml", ".htm")):
                with open(os.path.join(folder, file), encoding="utf-8") as stream:
                    self.pages[file] = Page(file, stream.read())
        if not any(page.headings for page in self.pages.values()):
            raise SystemExit(f"{folder}: no HTML page with a heading")

    def first(self, file):
        """The first heading of a page, or None."""
        page = self.pages.get(file)
        return page.headings[0] if page and page.headings else None

    def parent(self, heading):
        """The heading above: in the page, else the first heading of the page that Up leads to."""
        if heading.parent:
            return heading.parent
        first = self.first(heading.file)
        if heading is not first:
            return first
        up = self.pages[heading.file].up
        return self.first(up.split("#")[0]) if up else None

    def path(self, heading):
        """Titles from the top down to the heading."""
        titles, seen = [], set()
        while heading and id(heading) not in seen:
            seen.add(id(heading))
            titles.insert(0, heading.title)
            heading = self.parent(heading)
        return titles

    def target(self, file, anchor):
        """The heading of the section that holds an anchor; without anchor the page's first."""
        page = self.pages.get(file)
        if not page or (anchor and anchor not in page.anchors):
            return None
        section = page.anchors[anchor] if anchor else None
        return (section.named() if section else None) or self.first(file)
