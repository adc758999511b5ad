#!/usr/bin/env python3
"""Files made to break a reader: each must end as a clear `failed` entry or as a right result.

    hostile.py [--build DIR] [--keep FOLDER] [NAME...]

A private daemon indexes a folder of them. It must stay the same process, answer `status` within two
seconds all the while, be done within the time limit, name a reason for every file that failed, and still
find the ordinary page among them. Then the memory that lectern-parse takes for one page of 11 MB is
measured: at most 500 MB. Run as root, the daemon runs as nobody, for whom unreadable files are unreadable.
"""
import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.home import Home, walk

SECONDS = 600
PATIENCE = 2.0
MOST_MEMORY = 500 << 20
NOBODY = 65534
FINE, FAILED, EITHER = "indexed", "failed", "indexed or failed"


def page(body, head=""):
    return f"<!DOCTYPE html><html><head><title>t</title>{head}</head><body><h1>Title</h1>{body}</body></html>"


def xhtml(doctype, body):
    return (f'<?xml version="1.0"?>\n<!DOCTYPE html {doctype}>\n<html xmlns="http://www.w3.org/1999/xhtml"><head>'
            f"<title>t</title></head><body><h1>Title</h1>{body}</body></html>")


def laughs():
    entities = '<!ENTITY l0 "lol">' + "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return xhtml(f"[{entities}]", "<p>needle &l11;</p>")


def misnested(count):
    return "".join(f"<b><i><p id=x{n}><font size={n % 9}>t</b>" for n in range(count))


# Name: (content, what may come of it). Text that says "needle" must be found when it is indexed.
CASES = {
    "ordinary": (page("<p>The ordinary page has a needle.</p>"), FINE),
    "deep-div": (page("<div>" * 200000 + "needle"), EITHER),
    "deep-closed": (page("<div>" * 200000 + "needle" + "</div>" * 200000), EITHER),
    "deep-list": (page("<ul><li>" * 200000 + "needle"), EITHER),
    "deep-table": (page("<table><tr><td>" * 100000 + "needle"), EITHER),
    "deep-inline": (page("<b><i><u>" * 70000 + "needle"), EITHER),
    "deep-font": (page("<font>" * 200000 + "needle"), EITHER),
    "deep-quote": (page("<blockquote>" * 200000 + "needle"), EITHER),
    "deep-svg": (page("<svg>" + "<g>" * 200000 + "needle"), EITHER),
    "deep-template": (page("<template>" * 200000 + "x</template><p>needle"), EITHER),
    "deep-select": (page("<select>" + "<optgroup><option>" * 100000 + "x"), EITHER),
    "deep-anchors": (page("<a href=x>" * 200000 + "needle"), EITHER),
    "misnested": (page(misnested(50000) + "needle"), EITHER),
    "open-paragraphs": (page("<p>word " * 1000000 + "<p>needle"), EITHER),
    "open-formats": (page("<p><b><i><tt>x" * 20000 + "needle"), EITHER),
    "attributes": (page("<p " + " ".join(f"a{n}=1" for n in range(200000)) + ">needle</p>"), FINE),
    "same-attributes": (page("<p " + "class=x " * 1000000 + ">needle</p>"), FINE),
    "long-attribute": (page(f'<p title="{"x" * 10000000}">needle</p>'), FINE),
    "long-name": (page(f"<{'x' * 5000000}>needle"), EITHER),
    "many-classes": (page(f'<div class="{"c " * 2000000}"><p>needle</p></div>'), FINE),
    "many-headings": (page("<h2>x</h2>" * 500000 + "<p>needle"), EITHER),
    "many-anchors": (page("".join(f"<a name=n{n}></a>" for n in range(500000)) + "<p>needle"), EITHER),
    "many-links": (page("".join(f"<a href=n{n}>l</a> " for n in range(500000)) + "<p>needle"), EITHER),
    "long-title": (page(f"<h2>{'title ' * 1000000}</h2><p>needle"), EITHER),
    "long-word": (page("<p>" + "x" * 20000000 + " needle</p>"), EITHER),
    "long-line": (page("<p>" + "word " * 20000000 + "needle</p>"), EITHER),
    "long-pre": (page("<pre>" + "code line\n" * 2000000 + "needle</pre>"), EITHER),
    "less-than": (page("<p>needle</p>" + "<" * 5000000), EITHER),
    "ampersands": (page("<p>needle</p>" + "&" * 5000000), EITHER),
    "references": (page("<p>needle</p>" + "&CounterClockwiseContourIntegra" * 300000), EITHER),
    "open-comment": (page("<p>needle</p><!-- " + "- " * 1000000), FINE),
    "open-script": (page("<p>needle</p><script>" + "</scrip" * 1000000), FINE),
    "open-tag": (page("<p>needle</p>") + "<p class=" + "x" * 1000000, FINE),
    "open-cdata": (page("<p>needle</p><svg><![CDATA[" + "]]" * 1000000), FINE),
    "laughs.xhtml": (laughs(), EITHER),
    "quadratic.xhtml": (xhtml(f'[<!ENTITY a "{"x" * 100000}">]', "<p>needle " + "&a;" * 20000 + "</p>"), EITHER),
    "external.xhtml": (xhtml('[<!ENTITY a SYSTEM "file:///etc/passwd">]', "<p>needle &a;</p>"), EITHER),
    "outside.xhtml": (xhtml('SYSTEM "http://127.0.0.1:9/x.dtd"', "<p>needle</p>"), EITHER),
    "own-entity.xhtml": (xhtml('[<!ENTITY a "&a;">]', "<p>needle &a;</p>"), EITHER),
    "not-well-formed.xhtml": (xhtml("", "<p>needle<b></p>"), EITHER),
    "nul-bytes": (page("<p>nee\0dle needle\0\0</p>" + "\0" * 1000000), EITHER),
    "only-nul": ("\0" * 1000000, EITHER),
    "invalid-utf8": (page("<p>needle \ue000</p>", '<meta charset="utf-8">').encode().replace(
        "\ue000".encode(), b"\xff\xfe\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80" * 10000), FINE),
    "cut-utf8": (page("<p>needle \u20ac").encode()[:-19], EITHER),
    "utf16": (page("<p>needle</p>").encode("utf-16"), EITHER),
    "wrong-charset": (page("<p>needle \u00e9</p>", '<meta charset="no-such-thing">').encode("latin-1"), FINE),
    "utf7": (page("<p>needle +ADw-script+AD4-</p>", '<meta charset="utf-7">'), EITHER),
    "empty": ("", EITHER),
    "only-bom": ("\ufeff", EITHER),
    "white-space": (" \n" * 1000000, EITHER),
    "random": (random.Random(1).randbytes(3000000), EITHER),
    "png": (b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(100000), EITHER),
    "frames": ("<html><frameset>" * 50000 + "<frame src=ordinary.html>", EITHER),
    "itself": (page('<p>needle</p><a href="itself.html">next</a>',
                    '<link rel="next" href="itself.html"><link rel="up" href="itself.html">'), FINE),
    "circle-a": (page("<p>needle</p>", '<link rel="next" href="circle-b.html"><link rel="up" href="circle-b.html">'), FINE),
    "circle-b": (page("<p>needle</p>", '<link rel="next" href="circle-a.html"><link rel="up" href="circle-a.html">'), FINE),
    "refresh": (page("<p>needle</p>", '<meta http-equiv="refresh" content="0; url=refresh.html">'), EITHER),
    "outside-link": (page('<p>needle</p><a href="../../../../etc/passwd">x</a>',
                          '<link rel="up" href="../../../../../etc/passwd">'), FINE),
    "span-cells": (page('<table><tr><td colspan=1000000000 rowspan=1000000000>needle<td colspan=65535 '
                        "rowspan=65535>x</table>"), FINE),
    "wide-table": (page("<table>" + ("<tr>" + "<td>x" * 2000) * 300 + "</table><p>needle</p>"), EITHER),
    "list-start": (page("<ol start=99999999999999999999><li>needle<li value=-99999999999999>x</ol>"), FINE),
}
# As they lie in a folder; names that no shell likes.
NAMES = ["new\nline.html", "-rf.html", "quo'te\".html", "x" * 240 + ".html", b"latin-\xe9.html", "spaces and %41.html",
         "#hash?.html", "\u202eltr.html", "..html"]


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def lay(folder, names):
    """Writes all files and returns {relative path: what may come of it}."""
    wanted = {}
    for name, (content, outcome) in CASES.items():
        if not names or name in names or name == "ordinary":
            file = name if "." in name else name + ".html"
            write(os.path.join(folder, file), content)
            wanted[file] = outcome
    if names:
        return wanted
    os.mkdir(os.path.join(folder, "names"))
    for name in NAMES:
        write(os.path.join(os.fsencode(folder), b"names", os.fsencode(name)), page("<p>A needle.</p>"))
    with gzip.open(os.path.join(folder, "bomb.html.gz"), "wb", 9) as file:
        for _ in range(200):
            file.write(b" " * 10000000)
    write(os.path.join(folder, "cut.html.gz"), gzip.compress(page("<p>needle</p>").encode() * 100)[:-20])
    write(os.path.join(folder, "false.html.gz"), page("<p>needle</p>"))
    links(folder)
    for name in "locked.html", "locked":
        path = os.path.join(folder, name)
        os.mkdir(path) if name == "locked" else write(path, page("<p>secret</p>"))
        os.chmod(path, 0)
    deep = folder
    for _ in range(300):
        deep = os.path.join(deep, "d")
        os.mkdir(deep)
    write(os.path.join(deep, "deep.html"), page("<p>needle</p>"))
    # Links are followed to regular files, wherever these are.
    wanted |= {"locked.html": FAILED, "passwd.html": FINE}
    return wanted


def links(folder):
    """Symbolic links in circles, outside, to nowhere, to a device; a pipe and a folder that end in .html."""
    os.mkdir(os.path.join(folder, "..", "outside"))
    write(os.path.join(folder, "..", "outside", "page.html"), page("<p>From outside.</p>"))
    os.symlink("..", os.path.join(folder, "..", "outside", "back"))
    def link(target, name):
        os.symlink(target, os.path.join(folder, name))
    link("a.html", "b.html")
    link("b.html", "a.html")
    link(".", "again")
    link("..", "above")
    link("../outside", "outside")
    link("nowhere.html", "nowhere-link.html")
    link("/dev/zero", "zero.html")
    link("/proc/self/mem", "mem.html")
    link("/etc/passwd", "passwd.html")
    os.mkfifo(os.path.join(folder, "pipe.html"))
    os.mkdir(os.path.join(folder, "folder.html"))


class Restless(threading.Thread):
    """A file that changes while it is read: grown, cut, replaced, gone."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path = os.path.join(folder, "restless.html")
        self.over = threading.Event()
        write(self.path, page("<p>restless</p>"))

    def run(self):
        turn = 0
        while not self.over.is_set():
            turn += 1
            try:
                if turn % 4 == 3:
                    os.truncate(self.path, turn % 1000)
                elif turn % 4 == 2:
                    os.unlink(self.path)
                else:
                    write(self.path, page("<p>restless</p>" * (turn % 5000)))
            except OSError:
                pass
            time.sleep(0.003)
        write(self.path, page("<p>restless is at rest</p>"))


class Watch(threading.Thread):
    """Asks for the status again and again; remembers the longest wait and the process."""

    def __init__(self, home):
        super().__init__(daemon=True)
        self.home, self.over = home, threading.Event()
        self.longest, self.pids, self.errors = 0.0, set(), []

    def run(self):
        while not self.over.is_set():
            start = time.monotonic()
            done = self.home.run("status", "--json", seconds=120)
            self.longest = max(self.longest, time.monotonic() - start)
            try:
                self.pids.add(json.loads(done.stdout)["pid"])
            except (ValueError, KeyError):
                self.errors.append((done.stdout + done.stderr)[-200:].decode(errors="replace"))
            time.sleep(0.1)


class Private(Home):
    """As nobody, when that is needed for a file to be unreadable."""

    def __init__(self, build):
        super().__init__(build)
        os.chmod(self.path, 0o777)
        self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if not os.getuid() else []

    def run(self, *words, seconds=3600):
        command = [*self.prefix, self.program, *words, "--store", self.store, "--model", "none"]
        return subprocess.run(command, env=self.env, capture_output=True, timeout=seconds, check=False)


def reasons(home):
    """{path: reason} of `lectern failed`, and the paths of what is left out of the tree."""
    listed = home.json("failed", "--excluded")
    return {item.get("path") or item.get("file"): str(item.get("reason") or item.get("failure") or item.get("message")
                                                      or item.get("why") or "") for item in listed.get("files", [])}, {
        item["file"] for item in listed["excluded"]}


def judge(home, wanted, added, seconds, watch):
    """Sentences that say what is wrong."""
    wrong = []
    if seconds > SECONDS:
        wrong.append(f"indexing took {seconds:.0f} s")
    if watch.longest > PATIENCE:
        wrong.append(f"`status` was answered after {watch.longest:.1f} s")
    if len(watch.pids) != 1 or watch.errors:
        wrong.append(f"the daemon did not live through it: {watch.pids}, {watch.errors[:2]}")
    failed, left_out = reasons(home)
    nodes = list(walk(home.json("toc", "-c", "hostile")))
    there = {node["file"] for node in nodes}
    for file, outcome in wanted.items():
        if file in failed:
            if outcome == FINE:
                wrong.append(f"{file} failed: {failed[file]}")
            if len(failed[file]) < 5:
                wrong.append(f"{file} failed without a reason: {failed[file]!r}")
        elif file not in there and file not in left_out:
            wrong.append(f"{file} is neither in the tree nor failed nor left out")
        elif outcome == FAILED:
            wrong.append(f"{file} did not fail")
    found = json.loads(home.run("search", "ordinary needle", "-c", "hostile", "--json").stdout or "{}")
    if not any(hit["file"] == "ordinary.html" for hit in found.get("results", [])):
        wrong.append("the ordinary page is not found")
    for secret, why in ("secret", "nobody may read it"), ("From outside", "its folder is outside"):
        got = json.loads(home.run("search", secret, "-c", "hostile", "--json").stdout or "{}").get("results", [])
        if any(secret in hit["text"] for hit in got):
            wrong.append(f"{secret!r} came in, though {why}")
    strange = [file for file in there if file and file.startswith(("again/", "above/", "outside/back/", "../"))]
    if strange:
        wrong.append(f"links led in a circle: {strange[:3]}")
    print(json.dumps({"added": added, "from_outside": "outside/page.html" in there, "seconds": round(seconds, 1), "longest_status": round(watch.longest, 2),
                      "failed": failed}, ensure_ascii=False))
    return wrong


def large_page():
    """11 MB of what manuals hold."""
    section = ("<div class='section'><h2 id='s{0}'>Section {0}</h2><p>Some <em>words</em> &mdash; and a "
               "<a href='p{0}.html#x'>link</a> to <code>name_{0}()</code>.</p><pre>int main(void)\n{{\n}}\n</pre><table><tr>"
               "<th>a<th>b<tr><td>1<td>2</table><ul><li>one<li>two<dl><dt>term<dd>meaning</dl></ul></div>\n")
    text = "".join(section.format(n) for n in range(38200))
    return page(text)


def memory_of_parser(build, path):
    """Most memory (bytes) that lectern-parse had, and what came of the file."""
    command = [os.path.join(build, "trees"), os.path.join(build, "lectern-parse")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(path.encode() + b"\n")
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        peak = 0
        for child in children:
            with open(f"/proc/{child}/status", encoding="ascii") as file:
                peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) << 10
        process.stdin.close()
    return peak, reply.get("failure") or f"{len(reply['nodes'])} nodes"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of cases; default: all")
    parser.add_argument("--build", default="build")
    parser.add_argument("--keep", help="folder to lay the files in; stays")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="lectern-hostile-")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    manual = os.path.join(folder, "hostile")
    os.mkdir(manual)
    wanted = lay(manual, args.names)
    restless = Restless(manual)
    with Private(args.build) as home:
        home.json("status")
        watch = Watch(home)
        watch.start()
        restless.start()
        start = time.monotonic()
        added = home.json("add", manual, "-c", "hostile", "--wait", seconds=SECONDS * 2)
        seconds = time.monotonic() - start
        restless.over.set()
        restless.join()
        home.run("update", "--json")
        home.run("wait", "--json", seconds=SECONDS)
        watch.over.set()
        watch.join()
        wrong = judge(home, wanted, added, seconds, watch)
    write(os.path.join(folder, "large.html"), large_page())
    peak, outcome = memory_of_parser(args.build, os.path.join(folder, "large.html"))
    print(f"one page of {os.path.getsize(os.path.join(folder, 'large.html')) / 1e6:.1f} MB: {peak >> 20} MiB, {outcome}")
    if peak > MOST_MEMORY:
        wrong.append(f"lectern-parse took {peak >> 20} MiB")
    for sentence in wrong:
        print("hostile:", sentence)
    if not args.keep:
        os.chmod(os.path.join(manual, "locked"), 0o700) if not args.names else None
        shutil.rmtree(folder, ignore_errors=True)
    print(f"hostile: {len(wanted)} files, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
