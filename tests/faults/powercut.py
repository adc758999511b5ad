#!/usr/bin/env python3
"""Power cuts: the store as the disk may have it must open, be whole, and hold what was promised.

    powercut.py --record build/release/tests/faults/record.so [--build build/release] [--seed 1] [--runs 3]
                [--acts 30] [--random 3] [--between 100] [--most N]

A daemon works on a store under a recorder that notes each write and flush in order: it indexes a
small manual (from nothing in the first run), follows edits, adds and removes a second manual,
rewrites all postings, makes vectors, compacts, makes backups, unpacks packs with their files.  Then
the disk is rebuilt as a cut could have left it: before and after every flush, with what was not
flushed dropped, kept, or dropped at random by pages of 4 KiB; and at --between moments in between.
Each is verified and opened by a daemon, which must have every manual at no older a generation than
was acknowledged before the cut, and none that had been removed; the files of packs must be whole.
What a daemon answers to add, update, rm, unpack and status is an acknowledgement.
"""
import argparse
import bisect
import collections
import contextlib
import hashlib
import os
import random
import shutil
import sys
import tempfile
import time
import zipfile

import disk
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, SMALL_MODEL, Broken, Daemon, check
from harness.home import Home
from pages import Pages
from stores import look_into, verify


class Recorded:
    """One run of a daemon, and what it promised when."""

    def __init__(self, args, house, dice, manuals, start_from=None):
        self.args, self.house, self.dice = args, house, dice
        self.pages, self.other = manuals
        self.folder = os.path.join(house, "disk")
        self.store = os.path.join(self.folder, "store")
        self.log = os.path.join(house, "log.bin")
        os.makedirs(self.folder)
        if start_from:
            shutil.copytree(start_from, self.store)
        self.before = disk.Disk(self.folder)
        self.promises = []  # (ns, {manual: generation})
        self.backups = []   # (ns, its name), likewise
        self.unpacked = []  # (ns, its folder), likewise
        self.acts = collections.Counter()

    def promise(self, daemon):
        generations = {m["name"]: m["generation"] for m in daemon.call("status")["manuals"]}
        self.promises.append((time.monotonic_ns(), generations))

    def edit(self, daemon):
        for _ in range(self.dice.randrange(1, 4)):
            self.pages.edit()
        daemon.call("update", manual="m", wait=True)

    def edit_unasked(self, _daemon):
        self.pages.edit()
        time.sleep(self.dice.random() * 0.1)

    def force(self, daemon):
        daemon.call("update", manual="m", force=True, wait=True)

    def add(self, daemon):
        daemon.call("add", dir=self.other.root, name="other", wait=True)

    def remove(self, daemon):
        if daemon.manual("other"):
            daemon.call("rm", manual="other")

    def rest(self, _daemon):
        time.sleep(0.15)  # what was deleted is collected

    def compact(self, daemon):
        daemon.call("compact")

    def backup(self, daemon):
        name = f"backup{len(self.backups)}"
        daemon.call("backup", dir=os.path.join(self.folder, name))
        self.backups.append((time.monotonic_ns(), name))

    def unpack(self, daemon):
        pack, name = os.path.join(self.house, "pack"), f"unpacked{len(self.unpacked)}"
        daemon.call("pack", manual="m", file=pack, files=True)
        root = daemon.call("unpack", file=pack, name=name, untrusted=True)["root"]
        self.unpacked.append((time.monotonic_ns(), root))

    def run(self):
        """One daemon after the other: each opens what the last one left."""
        acts = [self.edit] * 4 + [self.edit_unasked] * 2 + [self.force, self.add, self.remove, self.rest]
        acts += [self.compact] * 2 + [self.backup, self.unpack]
        env = {"LD_PRELOAD": os.path.abspath(self.args.record), "RECORD_FOLDER": self.folder,
               "RECORD_LOG": self.log}
        for part in range(2):
            with Daemon(self.args.build, self.house, model=SMALL_MODEL, env=env, store=self.store,
                        sweep_seconds=5) as daemon:
                daemon.call("add", dir=self.pages.root, name="m", wait=True)
                self.promise(daemon)
                chosen = [self.dice.choice(acts) for _ in range(self.args.acts // 2)]
                at = self.dice.randrange(len(chosen))
                chosen[at:at + 1] = [self.compact, self.edit]  # at least one, and what it may lose
                for act in chosen:
                    act(daemon)
                    self.acts[act.__name__] += 1
                    self.promise(daemon)
        self.records = disk.read_log(self.log)

    def promised(self, before_ns):
        """Name -> least generation, and the names that may be there besides."""
        last, later = {}, set()
        for at, generations in self.promises:
            if at < before_ns:
                last = generations
            else:
                later = set(generations)
                break
        return last, later


def around(recorded, kinds):
    """Before and after each record of these kinds."""
    return {j for i, record in enumerate(recorded.records) if record[1] in kinds for j in (i, i + 1)}


def at_promises(recorded, most):
    """After each rename, when so many things have been promised since."""
    times = [record[0] for record in recorded.records]
    promised = [at for at, _ in recorded.promises]
    found = set()
    for at, kind, *_ in recorded.records:
        if kind == disk.RENAME:
            later = bisect.bisect_right(promised, at)
            found.update(bisect.bisect_right(times, then) for then in promised[later:later + most])
    return found


def moments(recorded, args, dice):
    """How many records have been done when the power goes: those around renames (a store is made,
    a compacted one takes its place, a backup gets its name) and after what was promised next, and
    as many others as are wanted."""
    renames = around(recorded, (disk.RENAME,)) | at_promises(recorded, 3)
    others = around(recorded, (disk.SYNC, disk.WRITTEN, disk.SYNC_ALL))
    others |= {dice.randrange(len(recorded.records) + 1) for _ in range(args.between)}
    others = sorted(others - renames)
    if args.most is not None:
        others = dice.sample(others, min(len(others), max(0, args.most - len(renames))))
    return renames | set(others)


def check_files(image, folder, root):
    """What is on the disk of what was unpacked is all of it."""
    for name in os.listdir(root):
        path = os.path.join(root, name)
        with open(path, "rb") as file:
            check(image.get(os.path.relpath(path, folder)) == file.read(), f"{path} was unpacked and is not on the disk")


class Cuts:
    def __init__(self, args, recorded):
        self.args, self.recorded, self.dice = args, recorded, recorded.dice
        self.seen = set()
        self.done = collections.Counter()
        self.image = os.path.join(recorded.house, "image")

    def cut(self, now, moment, keep):
        recorded = self.recorded
        end = len(recorded.records)
        before_ns = recorded.records[moment][0] if moment < end else 2 ** 63
        least, may = recorded.promised(before_ns)
        backups = [name for at, name in recorded.backups if at < before_ns]
        unpacked = [root for at, root in recorded.unpacked if at < before_ns]
        image = now.cut(keep, self.dice)
        image.pop("store/lock.mdb", None)  # made anew by who opens it alone
        name = hashlib.blake2b(repr((sorted(least.items()), backups, unpacked)).encode())
        for path in sorted(image):
            name.update(path.encode() + b"\0" + (b"" if image[path] is disk.FOLDER else image[path]))
        self.done["cuts"] += 1
        if name.digest() in self.seen:
            return
        self.seen.add(name.digest())
        self.done["different"] += 1
        for root in unpacked:
            check_files(image, recorded.folder, root)
        self.open(image, least, may, backups, f"moment {moment} of {end}, {keep} kept")

    def open(self, image, least, may, backups, what):
        shutil.rmtree(self.image, ignore_errors=True)
        os.makedirs(self.image)
        disk.write_out(image, self.image)
        store = os.path.join(self.image, "store")
        try:
            found = look_into(self.args.build, os.path.join(self.image, "house"), store)
            for manual, generation in least.items():
                check(found.get(manual, -1) >= generation or manual not in may and manual not in found,
                      f"{manual} has generation {found.get(manual)}, {generation} was promised")
            for manual in found:
                check(manual in least or manual in may, f"{manual} is there again")
            for backup in backups[-1:]:
                verify(self.args.build, os.path.join(self.image, backup))
        except Broken as problem:
            kept = self.image + ".bad"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.image, kept)
            raise Broken(f"{what}: {problem}; kept in {kept}") from problem

    def all(self):
        args, recorded = self.args, self.recorded
        wanted, now = moments(recorded, args, self.dice), recorded.before
        flushes = sum(r[1] in (disk.SYNC, disk.WRITTEN, disk.SYNC_ALL) for r in recorded.records)
        for moment in range(len(recorded.records) + 1):
            if moment in wanted:
                for keep in ["none", "all"] + ["some"] * args.random:
                    self.cut(now, moment, keep)
            if moment < len(recorded.records):
                now.apply(recorded.records[moment])
        unseen = {path for path in now.mapped if os.path.basename(path) != "lock.mdb"}
        check(not unseen, f"written through a map, which no recorder sees: {unseen}")
        return flushes


@contextlib.contextmanager
def away(manuals):
    """While nothing can be read again, a daemon shows what the store holds."""
    for pages in manuals:
        os.rename(pages.root, pages.root + ".away")
    yield
    for pages in manuals:
        os.rename(pages.root + ".away", pages.root)


def add_archive(args, house):
    """What `lectern add` has unpacked is on the disk."""
    with Home(args.build) as home:
        zebra = home.write("zebra.zip", b"")
        with zipfile.ZipFile(zebra, "w") as file:
            file.writestr("a.html", "<h1>Animals</h1><p>The zebra eats grass.</p>")
        home.run("status")  # the daemon is not recorded
        now, log = disk.Disk(home.store), os.path.join(house, "archive.bin")
        home.env |= {"LD_PRELOAD": os.path.abspath(args.record), "RECORD_FOLDER": home.store, "RECORD_LOG": log}
        check(home.run("add", zebra, "--wait").returncode == 0, "an archive is added")
        for record in disk.read_log(log):
            now.apply(record)
        check_files(now.cut("none", random.Random(args.seed)), home.store, os.path.join(home.store, "manuals", "zebra"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--record", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--acts", type=int, default=30)
    parser.add_argument("--random", type=int, default=3, help="random cuts at each moment")
    parser.add_argument("--between", type=int, default=100)
    parser.add_argument("--most", type=int, help="moments of a run; those around renames are among them, the others chosen at random")
    args = parser.parse_args()
    top = tempfile.mkdtemp(prefix="lectern-power-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    dice, total, previous = random.Random(args.seed), collections.Counter(), None
    manuals = Pages(os.path.join(top, "m"), dice, 8), Pages(os.path.join(top, "other"), dice, 3)
    for number in range(args.runs):
        house = os.path.join(top, str(number))
        os.makedirs(house)
        recorded = Recorded(args, house, dice, manuals, previous)
        try:
            add_archive(args, house)
            recorded.run()
            cuts = Cuts(args, recorded)
            with away(manuals):
                total["flushes"] += cuts.all()
        except Broken as problem:
            print(f"FAILED: run {number} of seed {args.seed}: {problem}")
            sys.exit(1)
        total += cuts.done
        total["records"] += len(recorded.records)
        total["promises"] += len(recorded.promises)
        print(f"run {number}: {len(recorded.records)} records, {dict(recorded.acts)}, "
              f"{dict(cuts.done)}", flush=True)
        previous = recorded.store
        if number % 3 == 2:
            previous = None  # from nothing again
    shutil.rmtree(top)
    print(f"power cuts: seed {args.seed}: {dict(total)}: all opened, whole, nothing promised was lost")


if __name__ == "__main__":
    main()
