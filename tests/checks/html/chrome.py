"""What is not the text of a page, told from its source by each generator's own habits.

Independent of Lectern: a table of elements, found by tag, class or id. The tags of an element are
counted until it closes; one that never does is left alone.
"""
import functools
import re

# A part of a source that is no text, or a whole tag.
PART = re.compile(r"""<!--(?P<comment>.*?)-->|<(?P<raw>script|style|textarea|title)(?=[\s>]).*?</(?P=raw)\s*>"""
                  r"""|<(?P<close>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*)(?P<rest>(?:"[^"]*"|'[^']*'|[^"'>])*)>""", re.S | re.I)
ATTRIBUTE = re.compile(r"""([A-Za-z-]+)\s*(?:=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
VOID = {"br", "hr", "img", "input", "link", "meta", "area", "base", "col", "embed", "param", "source", "track", "wbr"}

# Selectors: tag, .class, #id, [role].
EVERYWHERE = ["nav", "footer", "template", "noscript", "select", "[navigation]", "[search]"]
GENERATORS = {
    "docbook": [".navheader", ".navfooter"],
    "sphinx": [".related", ".sphinxsidebar", ".footer", ".headerlink", ".backrefs", ".viewcode-link",
               ".viewcode-back"],
    "texinfo": [".header", ".nav-panel", ".copiable-anchor"],
    "latex2html": [".navigation"],
    "doc2tex": [".navigate"],
    "doxygen": ["#top", "#nav-path", "#titlearea", ".summary", ".ingroups", ".lineno", ".nav-panel", "address"],
    "javadoc": [".top-nav", ".sub-nav", ".top-nav-bar"],
    "mdbook": ["#menu-bar", "#search-wrapper", ".nav-chapters", ".mobile-nav-chapters"],
    "scribble": [".navsettop", ".navsetbottom", ".tocset", "#contextindicator"],
    "nodejs": ["#column2", ".picker-header", ".mark"],
    "asciidoc": ["#footer"],
    "hand": [".nosearch", ".searchmenu"],
    "gtkdoc": ["#top", ".footer"],
    "nimdoc": [".three"],
    "ada": [], "vim2html": [], "yodl": [],
}
# Printed contents: lists of what stands on this page or below it.
CONTENTS = {
    "gtkdoc": [".toc"], "nimdoc": ["#tocRoot"],
    "docbook": [".toc", ".list-of-examples", ".list-of-figures", ".list-of-tables", ".list-of-equations"],
    "sphinx": [".contents"], "texinfo": [".contents", ".shortcontents", ".Contents_element"],
    "latex2html": [".ChildLinks"], "doc2tex": [".toc"], "doxygen": [".toc", ".contents_element", "#SEC_Contents"],
    "nodejs": ["#toc"], "hand": [".fancy_toc"], "scribble": [".toc"],
    "javadoc": [".constructor-summary", ".enum-constant-summary", ".field-summary", ".method-summary"],
}
COMMENTS = ("Navigation Panel", "End of Navigation Panel")  # LaTeX2HTML's


def attributes(rest):
    return {name.lower(): value.strip("\"'") for name, value in ATTRIBUTE.findall(rest)}


def is_hidden(found):
    style = re.sub(r"\s", "", found.get("style", "").lower())
    return "hidden" in found or "display:none" in style


@functools.lru_cache(maxsize=None)
def rules(generator, contents):
    listed = set([] if contents else EVERYWHERE)
    for name in generator.split("+"):
        listed.update(CONTENTS.get(name, []) if contents else GENERATORS[name])
    return {kind: {rule.strip(kind + "]") for rule in listed if rule[0] == kind} for kind in ".#["} | {
        "tag": {rule for rule in listed if rule[0].isalpha()}}


def is_listed(generator, contents, tag, rest):
    known = rules(generator, contents)
    if tag in known["tag"]:
        return True
    if not rest.strip():
        return False
    found = attributes(rest)
    return (not contents and is_hidden(found) or found.get("role", "") in known["["] or found.get("id", "") in known["#"]
            or any(name in known["."] for name in found.get("class", "").split()))


def regions(source, generator, contents=False):
    """[(from, to)], where the content of each outermost element that is chrome (or contents) stands."""
    found, inside, depth, start = [], None, 0, 0
    tags = list(PART.finditer(source))
    at = 0
    while at < len(tags):
        part = tags[at]
        at += 1
        comment, tag = part.group("comment"), (part.group("tag") or "").lower()
        if inside is None:
            if not contents and comment and comment.strip() == COMMENTS[0]:
                inside, start, first = "comment", part.end(), at
            elif tag and tag not in VOID and not part.group("close") and not part.group("rest").endswith("/") \
                    and is_listed(generator, contents, tag, part.group("rest")):
                inside, start, first, depth = tag, part.end(), at, 1
        elif inside == "comment":
            if comment and comment.strip() == COMMENTS[1]:
                found.append((start, part.start()))
                inside = None
        elif tag == inside and not part.group("rest").endswith("/"):
            depth += -1 if part.group("close") else 1
            if not depth:
                found.append((start, part.start()))
                inside = None
        if inside is not None and at == len(tags):  # it never closes: look again after its tag
            inside, at = None, first
    return found
