#!/usr/bin/env python3
"""How long it takes from a page's saving until it is found, by words and by memories.

    edits.py --manual build/manuals/postgresql [--build build] [--model tests/golden/models/memory] [--copies 3] [--edits 9]

The manual is copied several times into one folder, which a daemon of its own watches. A word of its own goes into one
paragraph of one page; then `search` asks for it over the socket until it is found, and the manual's state until its
memories are of that generation. Prints JSON: milliseconds (median, least, most), processor time of the daemon for an
edit with its second look two seconds later, segments encoded, load.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from harness.daemon import Daemon  # noqa: E402

REST = 3  # seconds: an update is followed by a second look


def edited(page, word, dice):
    """The page with the word in one of its paragraphs; None if it has none."""
    places = [match.end() for match in re.finditer(rb"<p>", page)]
    if not places:
        return None
    at = dice.choice(places)
    return page[:at] + word.encode() + b" " + page[at:]


def copied(manual, folder, end):
    """Each page with a text of its own: of equal files one stands in the tree."""
    shutil.copytree(manual, folder)
    for name in os.listdir(folder):
        if name.endswith(".html"):
            path = os.path.join(folder, name)
            page = open(path, "rb").read().replace(b"</body>", end)
            with open(path, "wb") as file:
                file.write(page)


def edit(daemon, client, folder, dice):
    """(words, memories) in seconds."""
    word, page = f"okapi{dice.randrange(10**8)}", None
    while page is None:
        path = os.path.join(folder, dice.choice(sorted(name for name in os.listdir(folder) if name.endswith(".html"))))
        page = edited(open(path, "rb").read(), word, dice)
    with open(path + "~", "wb") as file:
        file.write(page)
    start = time.perf_counter()
    os.rename(path + "~", path)
    while not client.call("search", query=word, manual="m", n=1, mode="lexical")["results"]:
        time.sleep(0.005)
    words = time.perf_counter() - start
    while daemon.manual("m")["memories"] not in ("fresh", "current"):
        time.sleep(0.005)
    return words, time.perf_counter() - start


def three(seconds):
    return [round(1000 * value) for value in (statistics.median(seconds), min(seconds), max(seconds))]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--manual", required=True)
    p.add_argument("--build", default=os.path.join(HERE, "../../build"))
    p.add_argument("--model", default=os.path.join(HERE, "../golden/models/memory"))
    p.add_argument("--copies", type=int, default=3)
    p.add_argument("--edits", type=int, default=9)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    home, dice = tempfile.mkdtemp(prefix="lectern-edits-"), random.Random(o.seed)
    for copy in range(o.copies):
        copied(o.manual, os.path.join(home, "m", str(copy)), f"<p>Copy {copy}.</p></body>".encode())
    daemon = Daemon(os.path.abspath(o.build), home, model=os.path.abspath(o.model))
    try:
        client = daemon.connect(timeout=3000)
        client.call("add", dir=os.path.join(home, "m"), name="m", wait=True)
        client.call("wait")
        time.sleep(REST)
        words, memories, spent, encoded = [], [], [], []
        for _ in range(o.edits):
            cpu, before = daemon.cpu_seconds(), daemon.manual("m")["encoded"]
            found = edit(daemon, client, os.path.join(home, "m", str(dice.randrange(o.copies))), dice)
            time.sleep(REST)
            words.append(found[0])
            memories.append(found[1])
            spent.append(daemon.cpu_seconds() - cpu)
            encoded.append(daemon.manual("m")["encoded"] - before)
        manual = daemon.manual("m")
        print(json.dumps({"nodes": manual["nodes"], "segments": manual.get("segments"), "words_ms": three(words),
                          "memories_ms": three(memories), "cpu_ms": three(spent), "encoded": encoded, "load": os.getloadavg()[0]}))
    finally:
        daemon.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
