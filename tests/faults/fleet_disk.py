#!/usr/bin/env python3
"""A fleet on disks that are full: that of the packs, in a folder and behind nginx, and that of a reader.

    fleet_disk.py --build DIR [--seed N] [--rounds 6]

Needs root, for small disks in memory (tmpfs). Where packs are full, an indexer must say so, the registry must offer
whole packs alone, and nothing half may stay there; a reader that is full must find what it held, say in its status why
it is not current, and be current when there is room again. Prints a line of counts; ends with status 1 if something is
forbidden.
"""
import argparse
import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.database import Database
from harness.files import FileServer
from harness.home import Home

PATIENCE = 300
STORE_MB, PACKS_KB = 24, 180


@contextlib.contextmanager
def disk(path, size):
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=False)


def resize(path, size):
    subprocess.run(["mount", "-o", f"remount,size={size}", path], check=True)


class Machines:
    def __init__(self, args, database, stack):
        self.draw, self.database, self.faults = random.Random(args.seed), database, []
        self.counts = {"refused by the place": 0, "published": 0, "reader full": 0, "searches": 0}
        self.indexer, self.reader = (stack.enter_context(Home(args.build, model=None)) for _ in range(2))
        self.packs = os.path.join(self.indexer.path, "packs")

    def of(self, home, *args, code=0):
        done = home.run(*args, "--json", seconds=PATIENCE, text=True)
        if code is not None and done.returncode != code:
            raise SystemExit(f"{args}: {done.returncode} {done.stdout}{done.stderr}")
        return done

    def json(self, home, *args):
        return json.loads(self.of(home, *args).stdout)

    def write(self, number, version):
        """A pack of some 60 KB."""
        words = " ".join(f"{self.draw.getrandbits(48):012x}" for _ in range(6000))
        self.indexer.write(f"m{number}/a.html", f"<title>M</title><h1>M</h1><p>The sentinel{number}x{version} is kept dry. {words}</p>")

    def publish(self, number, version):
        self.write(number, version)
        self.of(self.indexer, "fleet", "publish", f"m{number}", os.path.join(self.indexer.path, f"m{number}"))

    def offered(self):
        """Each offered pack must be there, whole; and nothing else that is half."""
        offers = self.database.sql("SELECT name, sha256, file FROM lectern.offers")
        for name, sha256, file in offers:
            with open(os.path.join(self.packs, file), "rb") as pack:
                if hashlib.sha256(pack.read()).hexdigest() != sha256:
                    self.faults.append(f"{name}: the pack that is offered is not whole")
        left = set(os.listdir(self.packs)) - {file for _, _, file in offers} - {".body"}
        if left:
            self.faults.append(f"half a pack stays: {left}")
        return {name for name, _, _ in offers}

    def found(self, number, version):
        self.counts["searches"] += 1
        done = self.of(self.reader, "search", f"sentinel{number}x{version}", "-c", f"m{number}", code=None)
        return done.returncode == 0 and bool(json.loads(done.stdout)["results"])

    def fill_place(self, http):
        """More packs than there is room for, then room."""
        with disk(self.packs, f"{PACKS_KB}k"), FileServer(self.indexer.path) as server:
            self.of(self.indexer, "fleet", "init", self.database.where(), server.where if http else self.packs)
            names = {f"m{number}" for number in range(6)}
            for number in range(6):
                self.publish(number, 0)
            self.of(self.indexer, "fleet", "work", "--once")
            offered = self.offered()
            state = {m["name"]: m["problem"] for m in self.json(self.indexer, "fleet", "status")["manuals"]}
            if offered == names or any(not state[name] for name in names - offered):
                self.faults.append(f"full: {sorted(offered)} offered, {state}")
            self.counts["refused by the place"] += len(names - offered)
            resize(self.packs, "64m")
            for number in range(6):
                self.of(self.indexer, "fleet", "publish", f"m{number}")
            self.of(self.indexer, "fleet", "work", "--once")
            self.database.sql("UPDATE lectern.settings SET value = '0' WHERE name = 'grace_seconds'")
            self.of(self.indexer, "fleet", "work", "--once")
            if self.offered() != names:
                self.faults.append("there is room, and not all is published")
            self.counts["published"] += len(names)
            for number in range(6):
                self.of(self.indexer, "fleet", "withdraw", f"m{number}")
            self.of(self.indexer, "fleet", "work", "--once")
            if set(os.listdir(self.packs)) - {".body"}:
                self.faults.append("withdrawn, and not removed")

    def fill_reader(self, rounds):
        self.of(self.indexer, "fleet", "init", self.database.where(), self.packs)
        self.publish(0, 0)
        self.of(self.indexer, "fleet", "work", "--once")
        with disk(self.reader.store, f"{STORE_MB}m"):
            self.of(self.reader, "fleet", "fetch", "--once")
            for version in range(1, rounds + 1):
                self.publish(0, version)
                self.of(self.indexer, "fleet", "work", "--once")
                room = self.draw.choice((0, 8, 40, 80, 150, 300)) * 1024
                filler = os.path.join(self.reader.store, "filler")
                disk_now = os.statvfs(self.reader.store)
                with open(filler, "wb") as file:
                    file.write(bytes(max(disk_now.f_bavail * disk_now.f_frsize - room, 0)))
                full = self.of(self.reader, "fleet", "fetch", "--once", code=None).returncode != 0
                self.counts["reader full"] += full
                if not self.found(0, version - full):
                    self.faults.append(f"full, {room} bytes left: what was held is not found")
                state = self.json(self.reader, "status").get("fleet", {})
                os.remove(filler)
                again = self.of(self.reader, "fleet", "fetch", "--once", code=None)
                if again.returncode or not self.found(0, version):
                    self.faults.append(f"there is room again ({room} bytes before): {again.stdout}")
                if full and state.get("fresh"):
                    self.faults.append(f"full, {room} bytes left, and said to be fresh")
            self.of(self.reader, "daemon", "--stop")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    if os.getuid():
        raise SystemExit("root is needed, for disks in memory")
    with contextlib.ExitStack() as stack:
        machines = Machines(args, stack.enter_context(Database()), stack)
        key, trusted = (os.path.join(machines.indexer.path, name) for name in ("key", "trusted"))
        for home in (machines.indexer, machines.reader):
            home.configure(watch="off", fleet=machines.database.where(), fleet_key=key, trusted_keys=trusted)
        machines.write(9, 0)
        machines.of(machines.indexer, "add", os.path.join(machines.indexer.path, "m9"), "-c", "m9", "--wait")
        signer = machines.json(machines.indexer, "pack", "m9", os.path.join(machines.indexer.path, "m9.pack"), "--key", key)["signer"]
        machines.indexer.write("trusted", signer + "\n")
        for http in (False, True):
            machines.fill_place(http)
        machines.fill_reader(args.rounds)
    print(json.dumps({"seed": args.seed, **machines.counts, "faults": machines.faults}))
    sys.exit(1 if machines.faults else 0)


if __name__ == "__main__":
    main()
