#!/usr/bin/env python3
"""The corpus of quill-0: freely licensed Debian manuals as JSONL of trees.

    corpus.py fetch WORK               download and unpack the packages
    corpus.py trees WORK --bin BUILD   read them with Lectern itself

`trees` lets a daemon of its own index every manual and asks it for every node
over its socket, so that the model is trained on exactly what it will read.
One line a node, in pre-order, of WORK/corpus.jsonl:

    {"manual", "split": "train"|"held", "id", "parent", "children": [id],
     "title", "path": [title], "file", "blocks": [[kind, info, text]],
     "refs": [[text, id]], "index": [term]}
"""
import argparse
import html
import json
import os
import re
import socket
import subprocess
import sys
import time
from bisect import bisect_right
from urllib.parse import unquote

# name: (package, folder below usr/share, held out, ignored globs).
# Licences: README.md.  Never PostgreSQL's or Python's own manuals.
DOC = "doc/"
MANUALS = {
    "cmake": ("cmake-doc", "doc/cmake-data/html", True, []),
    "swi-prolog": ("swi-prolog-doc", "swi-prolog/doc/Manual", True, []),
    "sqlite": ("sqlite3-doc", "doc/sqlite3", False, ["releaselog/*"]),
    "llvm": ("llvm-14-doc", "doc/llvm-14-doc/html", False, ["AMDGPU/*"]),
    "django": ("python-django-doc", "doc/python-django-doc/html", False,
               ["_modules/*"]),
    "sqlalchemy": ("python-sqlalchemy-doc", "doc/python-sqlalchemy-doc/html",
                   False, ["_modules/*"]),
    "boost": ("libboost1.81-doc", "doc/libboost1.81-doc/doc/html", False, []),
    "rust-book": ("rust-doc", "doc/rust-doc/html/book", False, ["print.html"]),
    "rust-reference": ("rust-doc", "doc/rust-doc/html/reference", False,
                       ["print.html"]),
    "rust-nomicon": ("rust-doc", "doc/rust-doc/html/nomicon", False,
                     ["print.html"]),
    "rust-by-example": ("rust-doc", "doc/rust-doc/html/rust-by-example", False,
                        ["print.html"]),
    "rust-embedded": ("rust-doc", "doc/rust-doc/html/embedded-book", False,
                      ["print.html"]),
    "rust-editions": ("rust-doc", "doc/rust-doc/html/edition-guide", False,
                      ["print.html"]),
    "rust-std": ("rust-doc", "doc/rust-doc/html/std", False,
                 ["arch/*", "simd/*", "os/*"]),
    "erlang": ("erlang-doc", "doc/erlang-doc", False,
               ["lib/wx*", "lib/jinterface*", "lib/megaco*"]),
    "apache": ("apache2-doc", "doc/apache2-doc/manual/en", False, []),
    "nodejs": ("nodejs-doc", "doc/nodejs/api", False, ["all.html"]),
    "sphinx": ("sphinx-doc", "doc/sphinx-doc/html", False, ["_modules/*"]),
    "jinja": ("python-jinja2-doc", "doc/python-jinja2-doc/html", False, []),
    "flask": ("python-flask-doc", "doc/python-flask-doc/html", False, []),
    "cryptography": ("python-cryptography-doc",
                     "doc/python-cryptography-doc/html", False, []),
    "ntpsec": ("ntpsec-doc", "doc/ntpsec-doc/html", False, []),
    "varnish": ("varnish-doc", "doc/varnish/html", False, []),
    "zsh": ("zsh-doc", "doc/zsh-common/html", False, []),
    "docbook-xsl": ("docbook-xsl-doc-html", "doc/docbook-xsl-doc-html/doc",
                    False, []),
    "ada": ("ada-reference-manual-2012",
            "doc/ada-reference-manual-2012/arm2012.html", False, []),
    "h5py": ("python-h5py-doc", "doc/python-h5py-doc/html", False, []),
    "pandas": ("python-pandas-doc", "doc/python-pandas-doc/html", False,
               ["reference/*", "generated/*", "_modules/*"]),
}


def fetch(work):
    debs, out = os.path.join(work, "debs"), os.path.join(work, "x")
    os.makedirs(debs, exist_ok=True)
    for package in sorted({m[0] for m in MANUALS.values()}):
        at = os.path.join(out, package)
        if os.path.isdir(at):
            continue
        names = [f for f in os.listdir(debs) if f.startswith(package + "_")]
        if not names:
            subprocess.run(["apt-get", "download", package], cwd=debs,
                           check=True)
            names = [f for f in os.listdir(debs)
                     if f.startswith(package + "_")]
        os.makedirs(at)
        subprocess.run(["dpkg", "-x", os.path.join(debs, names[0]), at],
                       check=True)


class Daemon:
    """JSON-RPC, one object a line, over the daemon's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")

    def call(self, method, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method,
                   "params": params}
        self.file.write((json.dumps(request) + "\n").encode())
        self.file.flush()
        while True:
            reply = json.loads(self.file.readline())
            if "error" in reply:
                raise RuntimeError(reply["error"])
            if "result" in reply:
                return reply["result"]


def walk(node, parent, out):
    out.append((node["id"], parent, [c["id"] for c in node["children"]]))
    for child in node["children"]:
        walk(child, node["id"], out)


ENTRY = re.compile(r'<a href="([^"#]+)#([^"]+)">(.*?)</a>', re.S)
TAG = re.compile(r"<[^>]*>")


def index_terms(folder, nodes):
    """A Sphinx index gives its terms to the nodes that hold the anchors."""
    path = os.path.join(folder, "genindex.html")
    pages = [path] if os.path.exists(path) else []
    pages += [os.path.join(folder, f) for f in sorted(os.listdir(folder))
              if re.fullmatch(r"genindex-.+\.html", f)]
    spans = {}
    for node in nodes:
        for origin in node.pop("origins"):
            spans.setdefault(origin["file"], []).append(
                (origin["span"][0], origin["span"][1], node))
    for file in spans:
        spans[file].sort(key=lambda s: s[:2])
    files, count = {}, 0
    for page in pages:
        for url, anchor, text in ENTRY.findall(
                open(page, encoding="utf-8", errors="replace").read()):
            file = unquote(url)
            text = html.unescape(TAG.sub("", text)).strip()
            if file not in spans or not text or text.startswith("["):
                continue
            if file not in files:
                files[file] = open(os.path.join(folder, file), "rb").read()
            at = files[file].find(b'id="%s"' % unquote(anchor).encode())
            if at < 0:
                continue
            starts = [s[0] for s in spans[file]]
            # The last node that begins before it or a little behind it (an
            # anchor precedes its heading).
            i = bisect_right(starts, at + 200) - 1
            if i >= 0 and text not in spans[file][i][2]["index"]:
                spans[file][i][2]["index"].append(text)
                count += 1
    return count


def trees(work, bin_folder):
    sock = os.path.join(work, "corpus.sock")
    store = os.path.join(work, "corpus.store")
    lectern = [os.path.join(bin_folder, "lectern")]
    own = ["--socket", sock, "--store", store]
    partial = os.path.join(work, "corpus.jsonl.part")
    out = open(partial, "w")
    total = 0
    for name, (package, folder, held, ignore) in MANUALS.items():
        at = os.path.join(work, "x", package, "usr/share", folder)
        begin = time.time()
        command = lectern + ["add", at, "-c", name, "--wait", "--quiet"] + own
        for pattern in ignore:
            command += ["--ignore", pattern]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        daemon = Daemon(sock)
        listed = []
        sys.setrecursionlimit(10000)
        walk(daemon.call("toc", manual=name), None, listed)
        nodes, seen = [], set()
        for node, parent, children in listed:
            got = daemon.call("get", node=node)
            blocks = []
            for block in got["blocks"]:
                key = hash(block["text"])
                # A paragraph repeated anywhere in a manual is boilerplate.
                if len(block["text"]) > 40 and key in seen:
                    continue
                seen.add(key)
                blocks.append([block["kind"], block.get("info", ""),
                               block["text"]])
            refs = [[r["text"], r["node"]] for r in got["refs"]
                    if r["node"] and r["text"] and r["node"] != node]
            nodes.append({"manual": name, "split": "held" if held else "train",
                          "id": node, "parent": parent, "children": children,
                          "title": got["title"], "path": got["path"],
                          "file": got["file"], "blocks": blocks,
                          "refs": refs, "index": [],
                          "origins": got["origins"]})
        terms = index_terms(at, nodes)
        text = sum(len(b[2]) for n in nodes for b in n["blocks"])
        refs = sum(len(n["refs"]) for n in nodes)
        total += text
        for node in nodes:
            out.write(json.dumps(node, ensure_ascii=False) + "\n")
        print("%-16s %6d nodes %6.2f MB text %6d index terms %6d links "
              "%5.1f s" % (name, len(nodes), text / 1e6, terms, refs,
                           time.time() - begin), flush=True)
    out.close()
    os.replace(partial, os.path.join(work, "corpus.jsonl"))
    print("%.1f MB of text" % (total / 1e6))
    subprocess.run(lectern + ["daemon", "--stop"] + own, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stage", choices=["fetch", "trees"])
    parser.add_argument("work")
    parser.add_argument("--bin", default="build",
                        help="folder of lectern, lecternd, lectern-parse")
    args = parser.parse_args()
    if args.stage == "fetch":
        fetch(args.work)
    else:
        trees(args.work, args.bin)


if __name__ == "__main__":
    main()
