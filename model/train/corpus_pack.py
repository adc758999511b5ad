#!/usr/bin/env python3
"""Quill's corpus: freely licensed Debian manuals as packed trees.

    corpus_pack.py fetch WORK                 download and unpack the packages of corpus_table.py
    corpus_pack.py licences WORK              WORK/licences.json, from the packages' copyright files
    corpus_pack.py read WORK --bin BUILD      WORK/trees/NAME.jsonl.xz, by Lectern itself
    corpus_pack.py pack WORK                  WORK/packs/NAME.jsonl.xz without near-duplicates, WORK/corpus.json

Each stage does what is not yet done: `fetch` by package, `read` by manual.  `read` has a daemon of its own index the manual in
a store of its own and asks it for every node over its socket, so that the model is trained on exactly what it will read.
`pack` gives the same bytes for the same trees.

A line of a pack is a node, in pre-order; its number is that of its line:

    {"parent": number or -1, "level", "title", "entry", "file", "blocks": [[kind, info, text]],
     "refs": [[text, number]], "aliases": [term]}

Blocks of more than 40 characters that a manual repeats are kept once (boilerplate).  Sections are near-duplicates when MinHash
(PERMUTATIONS minima over shingles of SHINGLE words, BANDS bands for finding candidates) puts their Jaccard at SIMILAR or more;
the one that comes first in the table stays, the other keeps its title and loses its blocks, "duplicate" being true.
"""
import argparse
import io
import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib

from corpus_table import LICENCE, MANUALS

SHINGLE, PERMUTATIONS, BANDS, SIMILAR = 5, 64, 16, 0.8
SHORTEST = 30  # words: shorter sections are not compared
SEED = 11
ALLOWED = re.compile(r"apache([ -]2(\.0)?)?|apache-2-llvm-exceptions|bsd(-[234](-clause)?(-darwin)?)?|mit|expat|isc|bsl-1\.0|mpl-2\.0|x11|public-domain|"
                     r"arm \(copied in any form, alterations marked\)", re.I)
DOCUMENTATION = re.compile(r"(^|/)(doc|docs|documentation|manual|user_guide)(/|$|\*)(?!.*\.(py|js|css|png|svg|gif|jpg)$)", re.I)


def package_folder(work, name):
    package, folder, _, _ = MANUALS[name]
    return os.path.join(work, "x", package, "usr/share", folder or f"doc/{package}/html")


def fetch(work):
    debs = os.path.join(work, "debs")
    os.makedirs(debs, exist_ok=True)
    for package in dict.fromkeys(row[0] for row in MANUALS.values()):
        at = os.path.join(work, "x", package)
        if os.path.isdir(at):
            continue
        own = lambda: [f for f in os.listdir(debs) if f.startswith(package + "_") and f.endswith(".deb")]
        if not own():
            subprocess.run(["apt-get", "download", "-q", package], cwd=debs, check=True)
        shutil.rmtree(at + ".part", ignore_errors=True)
        os.makedirs(at + ".part")
        subprocess.run(["dpkg", "-x", os.path.join(debs, own()[0]), at + ".part"], check=True)
        os.replace(at + ".part", at)
        print(package, flush=True)


# ---- Licences ----


def copyright_text(work, package):
    path = os.path.join(work, "x", package, "usr/share/doc", package, "copyright")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def paragraphs_of(text):
    """(patterns of files, licence's short name), in their order."""
    for paragraph in re.split(r"\n\s*\n", text):
        files = re.search(r"^Files:((?:.*\n?)(?:[ \t].*\n?)*)", paragraph, re.M)
        licence = re.search(r"^License:[ \t]*(\S.*)$", paragraph, re.M)
        if files and licence:
            yield files.group(1).split(), licence.group(1).strip()


def licence_of(package, text):
    """The short name of the paragraph of all files, and of those of documentation that have one of their own."""
    if package in LICENCE:
        licence, phrase = LICENCE[package]
        return licence if phrase in re.sub(r"\s+", " ", text) else None
    found = [licence for files, licence in paragraphs_of(text) if "*" in files]
    found += [licence for files, licence in paragraphs_of(text) if any(DOCUMENTATION.search(f) and not f.startswith("debian/") for f in files)]
    if not any("*" in files for files, _ in paragraphs_of(text)):
        return None
    return " and ".join(dict.fromkeys(part for licence in found for part in licence.split(" and ")))


def permitted(licence):
    """Whether all that "and" joins is allowed, by one of those that "or" joins."""
    return bool(licence) and all(any(ALLOWED.fullmatch(one.strip()) for one in re.split(r"\s+or\s+", part))
                                 for part in (re.split(r"\s+and\s+|,\s+(?!alterations)", licence)))


def licences(work):
    """Every package with what its copyright file says; one that is not allowed to be trained on ends it."""
    found, wrong = {}, []
    for name, (package, _, use, _) in MANUALS.items():
        text = copyright_text(work, package)
        licence = licence_of(package, text) if text else None
        found[name] = dict(package=package, licence=licence, use=use)
        if use == "train" and not permitted(licence):
            wrong.append(f"{name} ({package}): {licence or 'no licence found'}")
    with open(os.path.join(work, "licences.json"), "w") as out:
        json.dump(found, out, indent=1)
    for row in sorted(f"{v['use']:6} {v['package']:28} {v['licence']}" for v in found.values()):
        print(row)
    if wrong:
        sys.exit("not to be trained on:\n  " + "\n  ".join(wrong))


# ---- Reading ----


class Daemon:
    """JSON-RPC, one object a line, over the daemon's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")

    def call(self, method, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.file.write((json.dumps(request) + "\n").encode())
        self.file.flush()
        while True:
            reply = json.loads(self.file.readline())
            if "error" in reply:
                raise RuntimeError(reply["error"])
            if "result" in reply:
                return reply["result"]


def nodes_of(daemon, name):
    """A manual's nodes in pre-order, as the module says."""
    order, waiting = [], [(daemon.call("toc", manual=name), -1)]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, len(order)) for child in reversed(node["children"])]
        order.append((node, parent))
    number = {node["id"]: i for i, (node, _) in enumerate(order)}
    seen = set()
    for i, (node, parent) in enumerate(order):
        got = daemon.call("get", node=node["id"])
        blocks = []
        for block in got["blocks"]:
            text = block["text"].strip()
            key = zlib.crc32(text.encode()), len(text)
            if not text or len(text) > 40 and key in seen:
                continue
            seen.add(key)
            blocks.append([block["kind"], block.get("info", ""), text])
        refs = sorted({(" ".join(r["text"].split()), number[r["node"]]) for r in got["refs"]
                       if r["node"] in number and number[r["node"]] != i and r["text"].strip()})
        yield dict(parent=parent, level=node["level"], title=" ".join(got["title"].split()), entry=bool(got.get("entry")), file=got["file"],
                   blocks=blocks, refs=refs, aliases=got.get("aliases", []))


def write_nodes(path, nodes):
    with lzma.open(path + ".part", "wb", preset=4) as file, io.TextIOWrapper(file, encoding="utf-8") as out:
        for node in nodes:
            out.write(json.dumps(node, ensure_ascii=False, separators=(",", ":")) + "\n")
    os.replace(path + ".part", path)


def read_nodes(path):
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read(work, bin_folder, only):
    os.makedirs(os.path.join(work, "trees"), exist_ok=True)
    for name, (_, _, _, ignore) in MANUALS.items():
        path, at = os.path.join(work, "trees", name + ".jsonl.xz"), package_folder(work, name)
        if os.path.exists(path) or only and name not in only:
            continue
        if not os.path.isdir(at):
            print(f"{name}: no {at}", flush=True)
            continue
        begin, store, sock = time.time(), os.path.join(work, "store"), os.path.join(work, "sock")
        own = ["--socket", sock, "--store", store, "--model", "none"]
        shutil.rmtree(store, ignore_errors=True)
        command = [os.path.join(bin_folder, "lectern"), "add", at, "-c", name, "--wait", "--quiet"] + own
        for pattern in ignore:
            command += ["--ignore", pattern]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            nodes = list(nodes_of(Daemon(sock), name))
        except (subprocess.CalledProcessError, RuntimeError) as error:
            print(f"{name}: {error}", flush=True)
            continue
        finally:
            subprocess.run([os.path.join(bin_folder, "lectern"), "daemon", "--stop", "--quiet"] + own, check=False, stdout=subprocess.DEVNULL)
            shutil.rmtree(store, ignore_errors=True)
        write_nodes(path, nodes)
        text = sum(len(b[2]) for n in nodes for b in n["blocks"])
        print(f"{name:16} {len(nodes):6} nodes {text / 1e6:6.2f} MB {sum(len(n['refs']) for n in nodes):6} links "
              f"{sum(len(n['aliases']) for n in nodes):6} index {time.time() - begin:6.1f} s", flush=True)


# ---- Near-duplicates ----


class Near:
    """Sections seen so far, by MinHash."""

    def __init__(self):
        import numpy as np
        self.np = np
        rng = np.random.default_rng(SEED)
        self.a = rng.integers(1, 1 << 61, PERMUTATIONS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self.b = rng.integers(0, 1 << 62, PERMUTATIONS, dtype=np.uint64)
        self.words, self.tables, self.kept = {}, [{} for _ in range(BANDS)], []

    def signature(self, text):
        np, known = self.np, self.words
        words = re.findall(r"\w+", text.lower())
        if len(words) < SHORTEST:
            return None
        h = np.fromiter((known.get(w) or known.setdefault(w, zlib.crc32(w.encode()) + 1) for w in words), np.uint64, len(words))
        s = np.zeros(len(h) - SHINGLE + 1, np.uint64)
        with np.errstate(over="ignore"):
            for k in range(SHINGLE):
                s = s * np.uint64(0x9E3779B97F4A7C15) + h[k:k + len(s)]
            s = np.unique(s ^ (s >> np.uint64(31)))
            out = np.full(PERMUTATIONS, np.iinfo(np.uint64).max, np.uint64)
            for k in range(0, len(s), 4096):  # the upper half of a multiplied hash is what is mixed well
                out = np.minimum(out, ((s[k:k + 4096, None] * self.a + self.b) >> np.uint64(32)).min(0))
        return out

    def seen(self, text):
        """Whether one like it was given before; else it is remembered."""
        signature = self.signature(text)
        if signature is None:
            return False
        rows = signature.reshape(BANDS, -1)
        keys = [row.tobytes() for row in rows]
        for table, key in zip(self.tables, keys):
            for i in table.get(key, ()):
                if (self.kept[i] == signature).mean() >= SIMILAR:
                    return True
        self.kept.append(signature)
        for table, key in zip(self.tables, keys):
            table.setdefault(key, []).append(len(self.kept) - 1)
        return False


def pack(work):
    near, rows = Near(), {}
    with open(os.path.join(work, "licences.json")) as file:
        licence = json.load(file)
    os.makedirs(os.path.join(work, "packs"), exist_ok=True)
    for name, (package, _, use, _) in MANUALS.items():
        path = os.path.join(work, "trees", name + ".jsonl.xz")
        if not os.path.exists(path):
            continue
        nodes, dropped, before, after = read_nodes(path), 0, 0, 0
        for node in nodes:
            text = "\n".join(b[2] for b in node["blocks"])
            before += len(text.encode())
            if near.seen(text):
                node["blocks"], node["duplicate"], dropped = [], True, dropped + 1
            else:
                after += len(text.encode())
        packed = 0
        if use != "never":
            to = os.path.join(work, "packs", name + ".jsonl.xz")
            write_nodes(to, nodes)
            packed = os.path.getsize(to)
        rows[name] = dict(package=package, licence=licence[name]["licence"], use=use, nodes=len(nodes), duplicates=dropped,
                          bytes_read=before, bytes=after if packed else 0, packed=packed)
        print(f"{name:16} {use:5} {len(nodes):6} nodes {dropped:6} duplicates {after / 1e6:6.2f} of {before / 1e6:6.2f} MB, packed {packed / 1e6:5.2f}", flush=True)
    with open(os.path.join(work, "corpus.json"), "w") as out:
        json.dump(rows, out, indent=1)
    for use in ("train", "probe", "held"):
        some = [r for r in rows.values() if r["use"] == use]
        print(f"{use}: {len(some)} manuals, {sum(r['nodes'] for r in some)} nodes, {sum(r['bytes'] for r in some) / 1e6:.1f} MB of text, "
              f"{sum(r['packed'] for r in some) / 1e6:.1f} packed, {sum(r['duplicates'] for r in some)} duplicates dropped")


def manuals(work, use):
    """(name, nodes) of the packed manuals of that use, in the table's order."""
    for name, row in MANUALS.items():
        path = os.path.join(work, "packs", name + ".jsonl.xz")
        if row[2] == use and use != "never" and os.path.exists(path):
            yield name, read_nodes(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("stage", choices=["fetch", "licences", "read", "pack"])
    parser.add_argument("work")
    parser.add_argument("--bin", default="build", help="folder of lectern, lecternd, lectern-parse")
    parser.add_argument("--only", nargs="*", help="read: these manuals")
    args = parser.parse_args()
    if args.stage == "read":
        read(args.work, args.bin, args.only)
    else:
        dict(fetch=fetch, licences=licences, pack=pack)[args.stage](args.work)


if __name__ == "__main__":
    main()
