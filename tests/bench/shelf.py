#!/usr/bin/env python3
"""A shelf of very many sections, made of a real manual, and what it costs to index and to hold.

    shelf.py BUILD STORE MANUAL FOLDER [--to 158] [--seconds 500] [--model none]

Makes copies of MANUAL (a folder of HTML) below FOLDER, in which words are other ones: an eighth of the
longer ones is exchanged among themselves, so that texts differ and words stay as frequent as they are,
and a sixteenth is new with each copy, so that the vocabulary grows as it does with real manuals. Adds
each as a manual to a daemon on STORE until there are --to of them or the time is over; a later run goes
on. Prints JSON: sections, bytes, seconds by the clock and of the daemon's processor time in this run, its
memory at the end and at most. Searching them is measured by latency.py.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon

TEXT = re.compile(r"(<[^>]*>)")
WORD = re.compile(r"[a-z]{6,}")
SKIPPED = ("<script", "<style")


def draw(word, copy):
    return int.from_bytes(hashlib.blake2b(f"{copy} {word}".encode(), digest_size=4).digest(), "little")


class Copier:
    """The words of the manual, and what they are in one copy."""

    def __init__(self, manual):
        self.pages = {}
        for name in sorted(os.listdir(manual)):
            if name.endswith((".html", ".htm")):
                with open(os.path.join(manual, name), encoding="utf-8", errors="replace") as file:
                    self.pages[name] = TEXT.split(file.read())
        words = set()
        for parts in self.pages.values():
            for text in parts[::2]:
                words.update(WORD.findall(text))
        self.words = sorted(words)

    def others(self, copy):
        exchanged = [word for word in self.words if draw(word, copy) % 8 == 0]
        table = dict(zip(exchanged, sorted(exchanged, key=lambda word: draw(word, -copy - 1))))
        table.update({word: f"{word}{chr(97 + copy % 26)}{chr(97 + copy // 26)}" for word in self.words if draw(word, copy) % 16 == 1})
        return table

    def write(self, folder, copy):
        shutil.rmtree(folder + ".new", ignore_errors=True)
        os.makedirs(folder + ".new")
        table = self.others(copy)
        for name, parts in self.pages.items():
            made = [WORD.sub(lambda m: table.get(m[0], m[0]), part) if i % 2 == 0 and not (i and parts[i - 1].startswith(SKIPPED))
                    else part for i, part in enumerate(parts)]
            with open(os.path.join(folder + ".new", name), "w", encoding="utf-8") as file:
                file.write("".join(made))
        os.rename(folder + ".new", folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "store", "manual", "folder"):
        parser.add_argument(name)
    parser.add_argument("--to", type=int, default=158)
    parser.add_argument("--seconds", type=int, default=500)
    parser.add_argument("--model", default="none")
    args = parser.parse_args()
    copier, end = Copier(args.manual), time.time() + args.seconds
    daemon = Daemon(args.build, os.path.abspath(args.store) + ".shelf", args.model, store=os.path.abspath(args.store),
                    watch="off", log="error")
    seconds = 0
    try:
        held = {manual["name"] for manual in daemon.call("ls")["manuals"]}
        for copy in range(args.to):
            name, folder = f"copy{copy}", os.path.join(os.path.abspath(args.folder), f"copy{copy}")
            if name in held or time.time() > end:
                continue
            if not os.path.exists(folder):
                copier.write(folder, copy)
            start = time.perf_counter()
            daemon.call("add", dir=folder, name=name, wait=True)
            seconds += time.perf_counter() - start
        status = daemon.call("status")
        print(json.dumps({
            "manuals": len(status["manuals"]), "before": len(held), "nodes": sum(m["nodes"] for m in status["manuals"]),
            "words": sum(m["words"] for m in status["manuals"]), "failed": sum(m["failed"] for m in status["manuals"]),
            "store_bytes": status["store"]["bytes"], "seconds": round(seconds, 1), "core_seconds": round(daemon.cpu_seconds(), 1),
            "mib": {name: kib // 1024 for name, kib in daemon.memory().items()}, "load": os.getloadavg()[0]}))
    finally:
        daemon.stop()


if __name__ == "__main__":
    main()
