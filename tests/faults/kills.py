#!/usr/bin/env python3
"""SIGKILL at random moments: nothing acknowledged is lost, nothing is damaged, and it goes on.

    kills.py [--build build/release] [--kills 200] [--seed 1] [--every 25] [--model DIR]

A daemon watches a small manual that is edited all the time; a second one is added and removed,
updates are forced, the store is compacted.  At a random moment the daemon is killed, or a parser of
its is, which it must survive.  The next daemon opens and verifies the store: every manual is there
at no older a generation than was acknowledged, and none that had been removed.  Every so many kills
all comes to rest and must equal a fresh index: toc, get of every node, links, searches in all
modes.  Ends with exit 1 at the first thing that is wrong.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, SMALL_MODEL, Broken, Daemon, Refused, check
from pages import Pages
from stores import check_whole
from torture import Different, compare, view_and_search


class Worker(threading.Thread):
    """Edits and calls until the daemon is gone; notes what was acknowledged."""

    def __init__(self, trial, daemon):
        super().__init__(daemon=True)
        self.trial, self.server = trial, daemon
        self.client = daemon.connect()
        self.halt = threading.Event()
        self.problem = None

    def note(self):
        manuals = self.client.call("status")["manuals"]
        with self.trial.lock:
            self.trial.promised = {m["name"]: m["generation"] for m in manuals}
            self.trial.unsure = set()

    def act(self):
        dice, pages = self.trial.dice, self.trial.pages
        deed = dice.random()
        if deed < 0.5:
            for _ in range(dice.randrange(1, 4)):
                pages.edit()
            if dice.random() < 0.6:
                self.client.call("update", manual="m", wait=True)
        elif deed < 0.6:
            self.client.call("update", manual="m", force=True, wait=True)
        elif deed < 0.75:
            self.change_other()
        elif deed < 0.85:
            self.client.call("compact")
        else:
            self.client.call("wait")

    def change_other(self):
        with self.trial.lock:
            self.trial.unsure = {"other"}
        if "other" in self.trial.promised:
            self.client.call("rm", manual="other")
        else:
            self.client.call("add", dir=self.trial.other.root, name="other", wait=True)

    def run(self):
        try:
            while not self.halt.is_set():
                self.act()
                self.note()
        except Refused as problem:
            self.problem = problem
        except (OSError, ValueError):
            pass  # it was killed


class Trial:
    def __init__(self, args):
        self.args = args
        self.house = tempfile.mkdtemp(prefix="lectern-kills-")
        self.dice = random.Random(args.seed)
        self.pages = Pages(os.path.join(self.house, "m"), self.dice, 12)
        self.other = Pages(os.path.join(self.house, "other"), self.dice, 3)
        self.promised, self.unsure, self.lock = {}, set(), threading.Lock()
        self.done = collections.Counter()

    def start(self):
        return Daemon(self.args.build, self.house, model=self.args.model, sweep_seconds=3)

    def holds_what_it_promised(self, daemon):
        found = {m["name"]: m["generation"] for m in daemon.call("status")["manuals"]}
        for name, generation in self.promised.items():
            check(found.get(name, -1) >= generation or name in self.unsure,
                  f"{name} has generation {found.get(name)}, {generation} was acknowledged")
        for name in found:
            check(name in self.promised or name in self.unsure, f"{name} is there again")
        self.promised, self.unsure = found, set()

    def kill_parser(self, daemon):
        parsers = daemon.children()
        if not parsers:
            return
        try:
            os.kill(self.dice.choice(parsers), signal.SIGKILL)
            self.done["parsers killed"] += 1
        except ProcessLookupError:
            pass  # it ended meanwhile

    def one(self):
        """A daemon's life."""
        daemon = self.start()
        check_whole(daemon)
        self.holds_what_it_promised(daemon)
        if not self.promised:
            daemon.call("add", dir=self.pages.root, name="m", wait=False)
            self.promised = {"m": 0}
        worker = Worker(self, daemon)
        worker.start()
        end = time.time() + self.dice.random() * self.dice.choice((0.05, 0.3, 1.0))
        while time.time() < end and worker.is_alive():
            if self.dice.random() < 0.1:
                self.kill_parser(daemon)
            time.sleep(min(0.05, max(0.0, end - time.time())))
        if worker.problem:
            raise Broken(f"a call failed: {worker.problem}")
        check(daemon.alive(), f"the daemon has ended by itself: {daemon.last_words()}")
        daemon.kill()
        worker.halt.set()
        worker.join(60)
        if worker.problem:
            raise Broken(f"a call failed: {worker.problem}")
        self.done["kills"] += 1

    def rest(self):
        """All comes to rest, and is what a fresh index is."""
        seed = self.args.seed + self.done["kills"]
        with self.start() as daemon:
            self.holds_what_it_promised(daemon)
            daemon.call("failed", retry=True)  # a file whose parser was killed
            daemon.call("wait")
            now = view_and_search(daemon, seed)
            self.promised = {m["name"]: m["generation"] for m in daemon.call("status")["manuals"]}
        fresh_house = os.path.join(self.house, "fresh")
        shutil.rmtree(fresh_house, ignore_errors=True)
        with Daemon(self.args.build, fresh_house, model=self.args.model, watch="off") as daemon:
            daemon.call("add", dir=self.pages.root, name="m", wait=True)
            anew = view_and_search(daemon, seed)
        compare(now, anew)
        self.done["compared"] += 1

    def run(self):
        while self.done["kills"] < self.args.kills:
            self.one()
            if self.done["kills"] % self.args.every == 0:
                self.rest()
                print(dict(self.done), flush=True)
        self.rest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--model", default=SMALL_MODEL)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--every", type=int, default=25, help="kills between comparisons with a fresh index")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trial = Trial(args)
    try:
        trial.run()
    except (Broken, Different, Refused, RuntimeError) as problem:
        print(f"FAILED after {dict(trial.done)} (seed {args.seed}), {trial.house} is kept: {problem}")
        sys.exit(1)
    shutil.rmtree(trial.house)
    print(f"kills: seed {args.seed}: {dict(trial.done)}: nothing was lost, nothing damaged")


if __name__ == "__main__":
    main()
