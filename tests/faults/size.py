#!/usr/bin/env python3
"""Manuals of unusual size: many thousand files, one page of many megabytes.

    size.py [--build build/release] [--files 100000] [--megabytes 50] [NAME...]

Reports times, peak memory and the daemon's state on the way; afterwards nothing may spin.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, Daemon, check, until
from disk_faults import rests
from pages import WORDS
from run_faults import run_faults

ARGS = argparse.Namespace()


def page(dice, number, sections=2):
    body = "".join(f"<h2 id='s{i}'>{' '.join(dice.choices(WORDS, k=3))}</h2>"
                   f"<p>{' '.join(dice.choices(WORDS, k=30))}.</p>" for i in range(sections))
    return f"<html><head><title>Page {number}</title></head><body><h1>Page {number}</h1>{body}"


def follow(daemon, name):
    """Waits for its end; seconds, and the states that it went through."""
    start, states = time.time(), []
    while True:
        manual, status = daemon.manual(name), daemon.call("status")
        if not states or manual["state"] != states[-1]:
            states.append(manual["state"])
        if status["state"] != "indexing":
            return time.time() - start, states
        time.sleep(0.2)


def peak(daemon):
    return f"peak {daemon.memory()['VmHWM'] / 1024:.0f} MiB"


def many_files():
    house, dice = tempfile.mkdtemp(prefix="lectern-size-"), random.Random(1)
    root = os.path.join(house, "m")
    for number in range(ARGS.files):
        folder = os.path.join(root, f"d{number // 100}")
        if number % 100 == 0:
            os.makedirs(folder)
        with open(os.path.join(folder, f"p{number}.html"), "w") as file:
            file.write(page(dice, number))
    with Daemon(ARGS.build, house) as daemon:
        daemon.call("add", dir=root, name="m", wait=False)
        took, states = follow(daemon, "m")
        manual = daemon.manual("m")
        check(manual["files"] == ARGS.files and not manual["failed"], manual)
        said = [f"{took:.0f} s ({' '.join(states)}), {manual['nodes']} nodes, {peak(daemon)}, store "
                f"{daemon.call('status')['store']['bytes'] >> 20} MiB, "
                f"{daemon.call('status')['watch']}"]
        said.append(f"idle {rests(daemon, 'with many files'):.2%}")
        start = time.time()
        daemon.call("update", manual="m", wait=True)
        said.append(f"nothing changed {time.time() - start:.2f} s")
        start = time.time()
        with open(os.path.join(root, "d7", "p701.html"), "a") as file:
            file.write("<p>platypuses</p>")
        until(lambda: daemon.call("search", query="platypuses", manual="m", mode="lexical")["results"],
              "an edit is found", 120)
        said.append(f"edit found {time.time() - start:.2f} s")
        start = time.time()
        daemon.call("search", query="okapi zebra", manual="m")
        said.append(f"search {time.time() - start:.3f} s")
        daemon.call("wait")
        start = time.time()
        daemon.call("rm", manual="m")
        said.append(f"rm {time.time() - start:.2f} s")
        until(lambda: daemon.cpu_seconds() == (time.sleep(1), daemon.cpu_seconds())[1], "collecting ends", 300)
        said.append(f"idle after rm {rests(daemon, 'after rm'):.2%}")
    shutil.rmtree(house)
    return "; ".join(said)


def one_big_page():
    house, dice = tempfile.mkdtemp(prefix="lectern-size-"), random.Random(2)
    root = os.path.join(house, "m")
    os.makedirs(root)
    with open(os.path.join(root, "index.html"), "w") as file:
        file.write(page(dice, 0))
    path = os.path.join(root, "big.html")
    with open(path, "w") as file:
        file.write("<html><head><title>Big</title></head><body><h1>Big</h1>")
        number = 0
        while file.tell() < ARGS.megabytes << 20:
            number += 1
            file.write(f"<h2 id='s{number}'>Section {number} of {dice.choice(WORDS)}</h2>" + "".join(
                f"<p>{' '.join(dice.choices(WORDS, k=80))}.</p>" for _ in range(5)))
    with Daemon(ARGS.build, house) as daemon:
        daemon.call("add", dir=root, name="m", wait=False)
        took, states = follow(daemon, "m")
        manual = daemon.manual("m")
        said = [f"{os.path.getsize(path) >> 20} MiB: {took:.1f} s ({' '.join(states)}), "
                f"{manual['nodes']} nodes, {manual['failed']} failed "
                f"{[f['reason'] for f in daemon.call('failed')['files']]}, {peak(daemon)}",
                f"idle {rests(daemon, 'with a big page'):.2%}"]
        start = time.time()
        hits = daemon.call("search", query=f"Section {number // 2}", manual="m", n=3)["results"]
        said.append(f"search {time.time() - start:.3f} s, {len(hits)} hits")
        start = time.time()
        with open(path, "a") as file:
            file.write("<p>platypuses</p>")
        until(lambda: daemon.call("search", query="platypuses", manual="m", mode="lexical")["results"] or
              manual["failed"], "an edit is found", 300)
        said.append(f"edit found {time.time() - start:.1f} s")
        daemon.call("wait")
        said.append(f"idle {rests(daemon, 'with a big page that was edited'):.2%}, {peak(daemon)}")
    shutil.rmtree(house)
    return "; ".join(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--files", type=int, default=100000)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("names", nargs="*")
    parser.parse_args(namespace=ARGS)
    run_faults([many_files, one_big_page], ARGS.names)


if __name__ == "__main__":
    main()
