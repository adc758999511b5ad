"""Manuals that packages have registered: `lectern add --installed`."""
import gzip
import os
import shutil
import subprocess

from e2e.house import LECTERN, PATIENCE, Skip, check, house, page, test
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
        for more in (("--man", "1"), ("--no-follow-links",)):
            h.run("add", "--installed", *more, code=2)
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


def man_page(h, path, text, packed=False):
    content = f'.TH {os.path.basename(path).split(".")[0].upper()} 1 2026-01-01\n{text}\n'.encode()
    return h.write(path, gzip.compress(content) if packed else content)


@test
def manual_pages_become_a_manual():
    if not shutil.which("mandoc"):
        raise Skip("there is no mandoc")
    with house() as h:
        h.env["MANPATH"] = ":".join(os.path.join(h.path, place) for place in ("local", "share", "none"))
        pump = man_page(h, "share/man1/pump.1.gz", ".SH NAME\npump \\- moves water\n.SH OPTIONS\n.TP\n.B \\-\\-prime\nFills the casing.",
                        packed=True)
        man_page(h, "share/man1/valve.1", ".SH NAME\nvalve \\- of the package")
        man_page(h, "local/man1/valve.1", ".SH NAME\nvalve \\- of this machine")
        h.write("share/man1/tap.1", ".so man1/valve.1\n")
        os.symlink(pump, os.path.join(h.path, "share/man1/pumpe.1.gz"))
        h.run("add", "--man", "1", "--wait")
        manual = h.manual("man1")
        check(sorted(os.listdir(manual["root"])) == ["pump.1.html", "valve.1.html"], "other names of a page are no pages")
        hit = h.json("search", "pump --prime")["results"][0]
        check(hit["path"][:2] == ["PUMP(1)", "OPTIONS"], hit)
        check("of this machine" in h.json("search", "valve")["results"][0]["text"], "the first place has the page")
        times = {name: os.stat(os.path.join(manual["root"], name)).st_ino for name in os.listdir(manual["root"])}
        man_page(h, "share/man1/pump.1.gz", ".SH NAME\npump \\- moves mud", packed=True)
        os.utime(pump, (1, 1))  # of another version, and older
        os.unlink(os.path.join(h.path, "local/man1/valve.1"))
        os.unlink(os.path.join(h.path, "share/man1/valve.1"))
        man_page(h, "share/man1/hose.1", ".SH NAME\nhose \\- bends")
        h.run("add", "--man", "1", "--wait")
        check(sorted(os.listdir(manual["root"])) == ["hose.1.html", "pump.1.html"], "what has gone goes")
        check(h.json("search", "mud")["results"] and not h.json("search", "prime", code=1)["results"], "what has changed")
        check(os.stat(os.path.join(manual["root"], "pump.1.html")).st_ino != times["pump.1.html"], "made anew")
        before = os.stat(os.path.join(manual["root"], "hose.1.html")).st_ino
        h.run("add", "--man", "1", "--wait")
        check(os.stat(os.path.join(manual["root"], "hose.1.html")).st_ino == before, "made again without need")
        for section in ("9", "../1", "", "1 "):
            h.run("add", "--man", section, code=2)
        h.env["PATH"] = h.path
        man_page(h, "share/man2/late.2", ".SH NAME\nlate \\- new")
        check("apt install mandoc" in h.run("add", "--man", "2", code=2).stderr, "without mandoc")


@test
def a_page_that_is_made_in_part_is_made_again():
    """Mandoc is killed, or its disk is full: what there is of the page must not stand for it."""
    with house() as h:
        h.env["MANPATH"] = os.path.join(h.path, "share")
        man_page(h, "share/man1/pump.1", ".SH NAME\npump \\- moves water")
        made = "<html><body><h1>PUMP(1)</h1><p>It moves water.</p>"
        for end, pages in (("kill -9 $$", []), ("exit 6", []), ("exit 3", ["pump.1.html"])):
            os.chmod(h.write("bin/mandoc", f"#!/bin/sh\necho '{made}'\n{end}\n"), 0o755)
            env = dict(h.env, PATH=f"{h.path}/bin:{h.env['PATH']}")
            subprocess.run([LECTERN, "add", "--man", "1", "--wait", "--store", h.store], env=env, capture_output=True, timeout=PATIENCE)
            folder = os.path.join(h.store, "manuals/man1")
            check((os.listdir(folder) if os.path.isdir(folder) else []) == pages, (end, os.listdir(folder)))


@test
def without_mandoc_nothing_is_left_behind():
    with house() as h:
        h.env["MANPATH"] = os.path.join(h.path, "share")
        man_page(h, "share/man1/pump.1", ".SH NAME\npump \\- moves water")
        h.env["PATH"] = h.path
        check("apt install mandoc" in h.run("add", "--man", "1", code=2).stderr, "what is missing")
        check(not os.path.exists(os.path.join(h.store, "manuals/man1")), "left behind")
