"""Manuals that packages have registered: `lectern add --installed`."""
import os

from e2e.house import check, house, page, test
from e2e.terminal import on_terminal, plain


def register(h, name, page_path, *more):
    """A record as doc-base has it."""
    h.write(f"doc-base/{name}", "\n".join([f"Document: {name}", f"Title: The {name} book", "Author: Nobody", "Abstract: Text",
                                           " that goes on, and", " Format: is not a field here", "Section: Text", "",
                                           *more, "Format: HTML", f"Index: {page_path}",
                                           f"Files: {os.path.dirname(page_path)}/*.html", ""]))


def registered(h):
    """Two manuals, one of them registered twice, and what is none."""
    for name in ("pumps", "valves"):
        for number in range(3):
            h.write(f"doc/{name}/{number}.html", page(f"{name} {number}", f"<p>The {name} chapter, number {number}.</p>"))
        register(h, name, os.path.join(h.path, f"doc/{name}/0.html"))
    register(h, "pumps-again", os.path.join(h.path, "doc/pumps/1.html"), "Format: text", "Index: /nowhere/a.txt", "")
    register(h, "gone", os.path.join(h.path, "doc/gone/index.html"))
    h.write("doc-base/text", "Document: text\nTitle: Text\n\nFormat: Text\nIndex: /etc/passwd\n")
    h.write("doc-base/odd", b"\xff\0\n\n\n:\nIndex\n")
    h.env["LECTERN_DOC_BASE"] = os.path.join(h.path, "doc-base")


def names(h):
    return sorted(manual["name"] for manual in h.json("ls")["manuals"])


@test
def registered_manuals_are_offered():
    with house() as h:
        registered(h)
        said = h.run("add", "--installed")
        check("2 manuals, " in said.stdout and "The pumps book" in said.stdout and "gone" not in said.stdout, said.stdout)
        check("--yes" in said.stderr and names(h) == [], "nothing is added unasked")
        offer = h.json("add", "--installed")["installed"]
        check([(m["name"], m["files"], m["added"]) for m in offer] == [("pumps", 3, False), ("valves", 3, False)], offer)
        h.run("add", "--installed", "valves", "--wait")
        check(names(h) == ["valves"] and h.json("search", "valves chapter")["results"], "by name")
        check("The valves book" not in h.run("add", "--installed").stdout, "what is indexed is not offered again")
        h.run("add", "--installed", "--yes", "--wait")
        check(names(h) == ["pumps", "valves"], names(h))
        check("all manuals" in h.run("add", "--installed").stderr, "nothing is left")
        check("--installed lists" in h.run("add", "--installed", "gone", code=2).stderr, "not there")
        check(h.run("add", "--installed", "-c", "x", code=2) and h.run("add", code=2), "wrong arguments")
        h.env["LECTERN_DOC_BASE"] = os.path.join(h.path, "none")
        check("no package" in h.run("add", "--installed").stderr, "no registry")


@test
def one_question_is_asked():
    with house() as h:
        registered(h)
        said, status = on_terminal(h, "add", "--installed", keys=b"n\n")
        check(status == 0 and plain(said).count("[y/N]") == 1 and names(h) == [], said)
        said, status = on_terminal(h, "add", "--installed", keys=b"y\n")
        check(status == 0 and names(h) == ["pumps", "valves"], said)
