#!/usr/bin/env python3
"""Does the store stay bounded under endless edits?

    growth.py BUILD-FOLDER MANUAL-FOLDER [EDITS] [none|MODEL-FOLDER] [FOLDER]

Copies a few pages of the manual, edits one at random EDITS (5000) times, each time waiting until it
is indexed, and looks at the store's size after every tenth; then at that of a fresh index of the
same files, and at the edited one once it is compacted. Prints JSON; exit code 1 when the store was
ever more than 3 times as large as a fresh one, still grew in the last half, or is not clean.
FOLDER: where to work (a fresh one under /tmp).
"""
import json
import os
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon

BUILD, MANUAL = (os.path.abspath(path) for path in sys.argv[1:3])
EDITS = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
MODEL = sys.argv[4] if len(sys.argv) > 4 else "none"
PAGES = ("ddl", "indexes")
WORDS = "table index row column key value check partial unique view role grant".split()


def started(folder, name):
    return Daemon(BUILD, os.path.join(folder, name), model=MODEL, watch="off", log="error")


def size(daemon):
    return daemon.call("status")["store"]["bytes"]


def edit(folder, names, chance, turn):
    path = os.path.join(folder, chance.choice(names))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    words = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(3, 40)))
    kind = chance.randrange(3)
    if kind == 0 and "<p class=edit>" in text:
        start = text.index("<p class=edit>")
        text = text[:start] + text[text.index("</p>", start) + 4:]
    elif kind == 1:
        text = text.replace("</body>", f"<h3>Turn {turn}</h3><p class=edit>{words}</p></body>")
    else:
        text = text.replace("<p>", f"<p>{words} {turn}. ", 1)
    if len(text) > 60000:  # so that it does not grow for ever
        with open(os.path.join(MANUAL, os.path.basename(path)), encoding="utf-8") as file:
            text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    folder = sys.argv[5] if len(sys.argv) > 5 else tempfile.mkdtemp(prefix="lectern-growth-")
    manual = os.path.join(folder, "manual")
    os.makedirs(manual)
    names = [n for n in sorted(os.listdir(MANUAL)) if n.endswith(".html") and n.startswith(PAGES)]
    for name in names:
        shutil.copy(os.path.join(MANUAL, name), manual)
    chance = random.Random(4)
    daemon = started(folder, "edited")
    daemon.call("add", dir=manual, name="m", wait=True)
    first = size(daemon)
    sizes, start = [], time.time()
    for turn in range(EDITS):
        edit(manual, names, chance, turn)
        daemon.call("update", manual="m", wait=True)
        if turn % 10 == 9:
            sizes.append(size(daemon))
    seconds = time.time() - start
    last = daemon.call("status")["store"]
    faults = daemon.call("verify")["fault_count"]
    compacted = daemon.call("compact")["after"]
    faults += daemon.call("verify")["fault_count"]
    daemon.stop()
    fresh_daemon = started(folder, "fresh")
    fresh_daemon.call("add", dir=manual, name="m", wait=True)
    fresh = size(fresh_daemon)
    fresh_daemon.stop()
    shutil.rmtree(folder)
    middle = len(sizes) // 2
    report = {"edits": EDITS, "model": os.path.basename(MODEL), "seconds": round(seconds, 1),
              "first_bytes": first, "fresh_bytes": fresh, "most_bytes": max(sizes),
              "most_in_first_half": max(sizes[:middle]), "most_in_last_half": max(sizes[middle:]),
              "last_bytes": last["bytes"], "last_free_bytes": last["free"],
              "compacted_bytes": compacted, "most_of_fresh": round(max(sizes) / fresh, 2),
              "faults": faults}
    print(json.dumps(report))
    bounded = max(sizes) <= 3 * fresh and max(sizes[middle:]) <= 1.1 * max(sizes[:middle])
    sys.exit(0 if bounded and not faults else 1)


main()
