#!/usr/bin/env python3
"""Random edits of a watched manual: at every rest the index must equal a fresh one.

    torture.py --build build --manual HTMLDIR [--minutes 10] [--edits N] [--seed N] [--pages 40]
               [--model tests/golden/models/memory] [--every 40] [--log docs/log/torture.md]

A daemon watches a copy of some pages.  Pages are edited (through a rename, in place, in two halves),
created, copied, touched, renamed, moved between folders and in and out of the manual, whole folders
too, one at a time or in bursts that run into the updates.  Nobody asks for an update.

After each turn: `wait`, and the number of segments encoded since is held against those that may have
changed (turns of one edit).  Every so many edits a daemon of its own indexes the same files from
nothing; toc, get of every node, links and searches in all modes must be the same up to ids, scores
that come from vectors as far as vectors at cosine .9999 allow, .0141.  Any difference ends the run with exit 1, the folder kept.
"""
import argparse
import collections
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon

TOLERANCE = (2 * (1 - .9999)) ** .5  # of a cosine with unit vectors that are at cosine .9999
LIMIT = 256  # tokens of a segment
WORDS = "okapi zebra index table vacuum trigger constraint heron quartz lattice partition".split()


def flat(node, depth=0):
    yield node, depth
    for child in node["children"]:
        yield from flat(child, depth + 1)


def view(daemon):
    """All that can be read of the manual, node ids replaced by places in the toc."""
    nodes = list(flat(daemon.call("toc", manual="m")))
    place = {node["id"]: i for i, (node, _) in enumerate(nodes)}
    if len(place) != len(nodes):
        raise RuntimeError("an id twice")
    shown = []
    for node, depth in nodes:
        got = daemon.call("get", node=node["id"])
        refs = [(r["text"], r["url"], place[r["node"]] if r["node"] else None) for r in got["refs"]]
        shown.append({"depth": depth, "level": node["level"], "title": node["title"],
                      "file": node["file"], "anchor": node["anchor"], "origins": node["origins"],
                      "path": got["path"], "blocks": got["blocks"], "refs": refs})
    return shown, place


def view_and_search(daemon, dice_seed):
    shown, place = view(daemon)
    dice = random.Random(dice_seed)
    found = []
    for number in range(8):
        words = dice.sample(WORDS, 1 + dice.randrange(3))
        if number % 2:
            words = dice.choice(shown)["title"].split()[:6] or words
        for mode in ("lexical", "auto", "tree", "dense"):
            result = daemon.call("search", query=" ".join(words), manual="m", mode=mode, n=1000,
                                 explain=True)
            if not result["fresh"]:
                old = [(hit["file"], hit["path"]) for hit in result["results"] if not hit["fresh"]]
                raise RuntimeError(f"not fresh at rest: {daemon.home}, {words}, {old}, "
                                   f"{state(daemon)[1]}")
            found.append((mode, words, {place[hit["node"]]: (hit["score"], hit["coverage"])
                                        for hit in result["results"]}))
    return shown, found


class Different(Exception):
    pass


def compare(now, anew):
    """The greatest difference of a score by vectors, and how many were compared."""
    for a, b in zip(now[0], anew[0]):
        for key in a:
            if a[key] != b[key]:
                raise Different(f"{key} of {b['path']}:\n{a[key]}\n{b[key]}")
    if len(now[0]) != len(anew[0]):
        raise Different(f"{len(now[0])} nodes, not {len(anew[0])}")
    worst = scores = 0
    for (mode, words, a), (_, _, b) in zip(now[1], anew[1]):
        if a.keys() != b.keys():
            raise Different(f"{mode} {words}: found {sorted(a.keys() ^ b.keys())} in one only")
        apart = max((abs(x - y) for place in a for x, y in zip(a[place], b[place])), default=0)
        if mode == "lexical" and apart > 1e-6 or not apart <= TOLERANCE:
            raise Different(f"{mode} {words}: scores {apart} apart")
        if mode == "dense":
            worst, scores = max(worst, apart), scores + len(a)
    return worst, scores


class Folder:
    """The manual's files, and what is done to them."""

    def __init__(self, args, house, dice):
        self.root = os.path.join(house, "m")
        self.aside = os.path.join(house, "aside")
        os.makedirs(self.root)
        os.makedirs(self.aside)
        self.dice, self.most, self.serial = dice, args.pages, 0
        self.deeds = collections.Counter()
        pages = sorted(f for f in os.listdir(args.manual) if f.endswith(".html"))
        chosen = [f for f in pages if f.startswith(("index.", "ddl", "indexes", "sql-create"))]
        if len(chosen) < 10:
            chosen = sorted(pages, key=lambda name: name != "index.html")
        for name in chosen[:args.pages * 2 // 3]:
            shutil.copy(os.path.join(args.manual, name), self.root)

    def pages(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.root)
                      for name in names if name.endswith(".html"))

    def folders(self):
        return sorted(folder for folder, _, _ in os.walk(self.root))

    def fresh_name(self, folder):
        self.serial += 1
        return os.path.join(folder, f"p{self.serial}.html")

    def words(self):
        return " ".join(self.dice.choices(WORDS, k=1 + self.dice.randrange(12)))

    def edited(self, text):
        deed, at = self.dice.randrange(5), self.dice.randrange(len(text) + 1)
        end = text.find("</p>", at)
        if deed == 0 and end > 0:
            return text[:end] + " " + self.words() + text[end:]
        if deed == 1 and end > 0:
            return text[:end + 4] + f"<p>{self.words()}</p>" + text[end + 4:]
        if deed == 2 and end > 0:
            self.serial += 1
            return (text[:end + 4] + f"<h3 id='s{self.serial}'>{self.words()}</h3><p>{self.words()}"
                    "</p>" + text[end + 4:])
        if deed == 3:
            start = text.rfind("<p", 0, at)
            stop = text.find("</p>", start)
            if 0 < start < stop:
                return text[:start] + text[stop + 4:]
        return text + f"<!-- {self.words()} -->"

    def edit(self, path):
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return self.edited(file.read()).encode("utf-8", "surrogateescape")

    def by_rename(self, path):
        data = self.edit(path)
        with open(path + "~", "wb") as file:
            file.write(data)
        os.rename(path + "~", path)

    def in_place(self, path):
        data = self.edit(path)
        with open(path, "wb") as file:
            file.write(data)

    def in_halves(self, path):
        data = self.edit(path)
        with open(path, "wb") as file:
            file.write(data[:len(data) // 2])
            file.flush()
            time.sleep(self.dice.random() * 0.1)
            file.write(data[len(data) // 2:])

    def touch(self, path):
        os.utime(path)

    def rename(self, path):
        os.rename(path, self.fresh_name(os.path.dirname(path)))

    def move(self, path):
        folder = self.dice.choice(self.folders())
        if self.dice.random() < 0.3 and len(self.folders()) < 8:
            self.serial += 1
            folder = os.path.join(folder, f"d{self.serial}", "e")
            os.makedirs(folder)
        os.rename(path, self.fresh_name(folder))

    def swap(self, path):
        other = self.dice.choice(self.pages())
        if other != path:
            os.rename(path, path + "~")
            os.rename(other, path)
            os.rename(path + "~", other)

    def copy(self, path):
        if len(self.pages()) < self.most:
            shutil.copy2(path, self.fresh_name(self.dice.choice(self.folders())))

    def create(self, _path):
        if len(self.pages()) < self.most:
            title = self.words()
            with open(self.fresh_name(self.dice.choice(self.folders())), "w") as file:
                file.write(f"<html><head><title>{title}</title></head><body><h1>{title}</h1>"
                           f"<p>{self.words()}</p><h2>{self.words()}</h2><p>{self.words()}</p>")

    def repeat(self, _path):
        """A line on about half of the pages, so that it comes to be on most, or is no longer."""
        line = f"<p>A line on many pages, number {self.dice.randrange(3)}.</p>".encode()
        for path in self.pages():
            with open(path, "rb") as file:
                data = file.read()
            if self.dice.random() < 0.2:
                with open(path, "wb") as file:
                    file.write(data.replace(line, b""))
            elif line not in data and self.dice.random() < 0.4:
                start = data.find(b"</h1>") + 5
                with open(path, "wb") as file:
                    file.write(data[:start] + line + data[start:] if start > 5 else data + line)

    def heading_or_entry(self, path):
        """The same title and text, now as a section, now as an entry."""
        text = b"An okapi that is told of by name, and that stays so until it is told another way."
        section = b'<h2 id="turned">vacuum_table_index</h2><p>' + text + b'</p>'
        entry = (b'<dl><dt id="turned"><code>vacuum_table_index</code></dt>'
                 b'<dd><p>' + text + b'</p></dd></dl>')
        with open(path, "rb") as file:
            data = file.read()
        other = data.replace(section, entry) if section in data else data.replace(entry, section)
        with open(path, "wb") as file:
            file.write(other if other != data else data + section)

    def delete(self, path):
        if len(self.pages()) > 10:
            os.remove(path)

    def out(self, path):
        if len(self.pages()) > 10:
            os.rename(path, os.path.join(self.aside, os.path.basename(path)))

    def back(self, _path):
        waiting = sorted(os.listdir(self.aside))
        if waiting and len(self.pages()) < self.most:
            os.rename(os.path.join(self.aside, self.dice.choice(waiting)),
                      self.fresh_name(self.dice.choice(self.folders())))

    def move_folder(self, _path):
        below = [f for f in self.folders() if f != self.root]
        if below:
            folder = self.dice.choice(below)
            self.serial += 1
            target = self.dice.choice([f for f in self.folders() if not f.startswith(folder)])
            os.rename(folder, os.path.join(target, f"d{self.serial}"))

    def do(self):
        deed = self.dice.choice((self.by_rename,) * 4 + (self.in_place,) * 3 + (
            self.in_halves, self.touch, self.touch, self.rename, self.move, self.move, self.swap,
            self.copy, self.create, self.repeat, self.heading_or_entry, self.heading_or_entry, self.delete, self.out, self.back, self.move_folder))
        deed(self.dice.choice(self.pages()))
        self.deeds[deed.__name__] += 1


class Tokens:
    """How many a text has, by the model's own tokenizer."""

    def __init__(self, args):
        self.command = [os.path.join(args.build, "probe"), "tokenize", "--model", args.model]
        self.known = {}

    def count(self, texts):
        new = sorted({text for text in texts if text not in self.known})
        if new:
            done = subprocess.run(self.command, input="".join(json.dumps(t) + "\n" for t in new),
                                  capture_output=True, text=True, check=True)
            for text, line in zip(new, done.stdout.splitlines()):
                self.known[text] = len(json.loads(line))
        return [self.known[text] for text in texts]


def hashes(shown):
    """Of each node: its own content, and its content with all that is below it."""
    own = [hash((node["title"],) + tuple((b["kind"], b["text"]) for b in node["blocks"]))
           for node in shown]
    whole, below = own[:], []
    for i in range(len(shown) - 1, -1, -1):
        depth = shown[i]["depth"]
        children = [w for d, w in below if d == depth + 1]
        while below and below[-1][0] > depth:
            below.pop()
        whole[i] = hash((own[i], *children))
        below.append((depth, whole[i]))
    return own, whole


def bound(before, after, tokens, recalls):
    """Most segments that may be encoded between two views: those of nodes whose own content is new
    or, where nodes recall their parts, that stand above a change.  A node of t tokens has at most
    1 + 2 t / LIMIT segments: two neighbours never fit into one."""
    known, now = hashes(before)[recalls], hashes(after)[recalls]
    known = set(known)
    texts = ["\n".join([node["title"]] + [b["text"] for b in node["blocks"]])
             for node, name in zip(after, now) if name not in known]
    return sum(1 + 2 * count // LIMIT for count in tokens.count(texts))


def state(daemon):
    status = daemon.call("status")
    return status, status["manuals"][0]


def rest(daemon):
    daemon.call("wait", manual="m")
    status, manual = state(daemon)
    if status["state"] != "idle" and not manual.get("backlog", {}).get("changed"):
        raise Different(f"not at rest after wait: {status}")
    return manual


def fresh_view(args, house, root, seed):
    shutil.rmtree(house, ignore_errors=True)
    daemon = Daemon(args.build, house, model=args.model, watch="off")
    try:
        daemon.call("add", dir=root, name="m", wait=True)
        return view_and_search(daemon, seed)
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--manual", required=True)
    parser.add_argument("--model", default=os.path.join(here, "golden/models/memory"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--edits", type=int, default=10 ** 9)
    parser.add_argument("--every", type=int, default=40, help="edits between full comparisons")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="a file that gets a row of a table")
    args = parser.parse_args()

    house = tempfile.mkdtemp(prefix="lectern-torture-")
    dice = random.Random(args.seed)
    folder, tokens = Folder(args, house, dice), Tokens(args)
    daemon = Daemon(args.build, os.path.join(house, "watching"), model=args.model, watch="auto")
    daemon.call("add", dir=folder.root, name="m", wait=True)
    recalls = daemon.call("status")["model"].get("recalls", False)
    start = time.time()
    edits = rests = compared = singles = scores = encoded_single = allowed = 0
    worst, slowest, reached, encoded = 0.0, 0.0, 0, state(daemon)[1]["encoded"]
    first = encoded
    before = None
    try:
        while time.time() - start < args.minutes * 60 and edits < args.edits:
            single = dice.random() < 0.4
            if single and before is None:
                rest(daemon)
                before = view(daemon)[0]
            for _ in range(1 if single else 2 + dice.randrange(24)):
                folder.do()
                edits += 1
                if not single:
                    time.sleep(dice.random() * dice.choice((0.002, 0.02, 0.1)))
            began = time.time()
            manual = rest(daemon)
            rests += 1
            slowest = max(slowest, time.time() - began)
            halves = single and folder.deeds["in_halves"] != reached
            reached = folder.deeds["in_halves"]
            if single:
                after = view(daemon)[0]
                most, did = bound(before, after, tokens, recalls), manual["encoded"] - encoded
                if did > most and not halves:
                    raise Different(f"{did} segments encoded, at most {most} changed")
                before = after
                if not halves:
                    singles, allowed, encoded_single = singles + 1, allowed + most, encoded_single + did
            else:
                before = None
            encoded = manual["encoded"]
            if edits >= (compared + 1) * args.every:
                now = view_and_search(daemon, args.seed + edits)
                anew = fresh_view(args, os.path.join(house, "fresh"), folder.root, args.seed + edits)
                apart, count = compare(now, anew)
                worst, scores, compared = max(worst, apart), scores + count, compared + 1
                print(f"{edits} edits, {rests} rests, {compared} compared, {len(now[0])} nodes, "
                      f"{len(folder.pages())} pages, worst {worst:.2g}, encoded {encoded_single} of "
                      f"at most {allowed}", flush=True)
    except (Different, RuntimeError) as problem:
        print(f"DIFFERENT after {edits} edits (seed {args.seed}), {house} is kept: {problem}")
        sys.exit(1)
    finally:
        watch = daemon.call("status")["watch"] if daemon.process.poll() is None else {}
        daemon.stop()
    hours = (time.time() - start) / 3600
    print(f"torture: seed {args.seed}, {hours:.2f} h, {edits} edits {dict(folder.deeds)}, {rests} rests, "
          f"{compared} compared with a fresh index, {scores} scores by vectors at most {worst:.2g} "
          f"apart; {singles} turns of one edit encoded {encoded_single} segments, at most {allowed} "
          f"may have changed; {encoded - first} encoded in all; longest wait {slowest:.2f} s; {watch}")
    if args.log:
        with open(args.log, "a") as log:
            log.write(f"| {datetime.date.today()} | {args.seed} | {hours:.2f} | {edits} | {rests} | "
                      f"{compared} | {scores} | {worst:.1g} | {encoded_single} / {allowed} |\n")
    shutil.rmtree(house)


if __name__ == "__main__":
    main()
