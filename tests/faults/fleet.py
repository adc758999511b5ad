#!/usr/bin/env python3
"""A fleet under kills: indexers and readers over a real PostgreSQL, on this machine.

    fleet.py --build DIR [--seed N] [--acts 100] [--kills 0] [--indexers 4] [--readers 3] [--manuals 12] [--http] [--clocks] [--files]

At random a manual is changed and asked for, or withdrawn, all workers at once, a reader or the daemon of one are killed (SIGKILL) and
started again, the database is stopped for a moment, the folder of packs is away for a moment, or with --http nginx, which then serves
them, is killed or stopped. --kills: that many processes at least. --clocks: those of the first indexer and reader are an hour fast and
slow (Debian's libfaketime). --files: packs have the manuals' files in them, and in the end readers have those of what they hold, and no others. After each act every reader must find what it held before. In the end nothing is killed any more, and: every reader has the newest generation of every manual; the
packs are byte for byte those of one daemon that indexes the folders afresh; no revision was published twice. Prints a
line of counts; ends with status 1 if something is forbidden.
"""
import argparse
import contextlib
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.database import Database
from harness.files import FileServer
from harness.home import Home

PATIENCE, LEASE_SECONDS = 300, 3


class Machine(Home):
    """A home with `lectern fleet work` or `fetch`, which is started again after a kill."""

    def __init__(self, build, verb, clock=None, **config):
        super().__init__(build, model=None, prefix="lectern-fleet-")
        self.build, self.verb, self.process = build, verb, None
        if clock:  # of its daemon as well
            self.env.update(LD_PRELOAD=glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0], FAKETIME=clock)
        self.configure(watch="off", **config)

    def start(self):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([os.path.join(self.build, "lectern"), "fleet", self.verb, "--quiet", "--store", self.store],
                                            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lectern(self, *args):
        return self.run(*args, "--json", seconds=PATIENCE, text=True)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill_daemon(self):
        """The one that has the store, whose lock has its number."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(os.path.join(self.store, "lock"), encoding="utf-8") as file:
                number = int(file.read().split()[0])
            with open(f"/proc/{number}/cmdline", encoding="utf-8") as file:
                if self.store in file.read():  # not another that has it by now
                    os.kill(number, signal.SIGKILL)


def write(folder, number, version):
    os.makedirs(folder, exist_ok=True)
    for page in range(6):
        with open(os.path.join(folder, f"p{page}.html"), "w", encoding="utf-8") as file:
            file.write(f"<html><head><title>Part {page}</title></head><body><h1>Part {page}</h1>"
                       f"<p>The sentinel{number}x{page} of this part is kept dry.</p>"
                       f"<h2>Version</h2><p>It was changed {version if page == 0 else 0} times.</p></body></html>")


class Fleet:
    def __init__(self, args):
        self.args, self.draw = args, random.Random(args.seed)
        self.counts = dict.fromkeys(("published", "withdrawn", "worker", "reader", "daemon", "database", "folder", "killed", "searched"), 0)
        self.faults, self.versions, self.known = [], [0] * args.manuals, {}
        self.database = Database()
        self.owner = Home(args.build, model=None, prefix="lectern-fleet-")
        self.sources, self.packs, self.key = (os.path.join(self.owner.path, name) for name in ("sources", "packs", "key"))
        os.mkdir(self.packs)
        self.server = FileServer(self.owner.path) if args.http else None
        self.gone = set()  # withdrawn once
        self.database.sql("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN")
        self.owner.configure(watch="off", fleet=self.database.where())
        self.of(self.owner, "fleet", "init", self.database.where(), self.server.where if args.http else self.packs)
        self.database.sql(f"GRANT lectern_indexer TO ann; GRANT lectern_reader TO bob; UPDATE lectern.settings SET value = '{LEASE_SECONDS}' "
                          "WHERE name = 'lease_seconds'; UPDATE lectern.settings SET value = '20' WHERE name = 'grace_seconds'")
        write(os.path.join(self.owner.path, "any"), 0, 0)
        self.of(self.owner, "add", os.path.join(self.owner.path, "any"), "-c", "any", "--wait")
        signer = self.of(self.owner, "pack", "any", os.path.join(self.owner.path, "any.pack"), "--key", self.key)["signer"]
        trusted = os.path.join(self.owner.path, "trusted")
        with open(trusted, "w", encoding="utf-8") as file:
            file.write(signer + "\n")
        fast, slow = ("+3600s", "-3600s") if args.clocks else (None, None)
        self.indexers = [Machine(args.build, "work", None if i else fast, fleet=self.database.where("ann"), fleet_key=self.key,
                                fleet_files="yes" if args.files else "no")
                         for i in range(args.indexers)]
        self.readers = [Machine(args.build, "fetch", None if i else slow, fleet=self.database.where("bob"), trusted_keys=trusted)
                        for i in range(args.readers)]
        self.machines = self.indexers + self.readers

    def of(self, home, *args):
        done = home.run(*args, "--json", seconds=PATIENCE, text=True)
        if done.returncode:
            raise SystemExit(f"{args}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def source(self, number):
        return os.path.join(self.sources, f"m{number}")

    # ---- Acts ----

    def publish(self, number):
        self.versions[number] += 1
        fresh = self.source(number) + ".new"
        write(fresh, number, self.versions[number])
        shutil.rmtree(self.source(number), ignore_errors=True)
        os.rename(fresh, self.source(number))
        self.of(self.owner, "fleet", "publish", f"m{number}", self.source(number))
        self.counts["published"] += 1

    def act(self):
        kind = self.draw.choices(("published", "withdrawn", "worker", "reader", "daemon", "database", "folder"), (5, 0.3, 4, 2, 3, 1, 1))[0]
        if kind == "published":
            return self.publish(self.draw.randrange(self.args.manuals))
        self.counts[kind] += 1
        if kind == "withdrawn":
            number = self.draw.randrange(self.args.manuals)
            self.gone.add(number)
            self.of(self.owner, "fleet", "withdraw", f"m{number}")
        elif kind == "worker":  # all of them, shortly after one has begun
            self.publish(self.draw.randrange(self.args.manuals))
            time.sleep(self.draw.random() / 2)
            for machine in self.indexers:
                machine.kill()
            self.counts["killed"] += len(self.indexers)
        elif kind == "reader":
            self.draw.choice(self.readers).kill()
            self.counts["killed"] += 1
        elif kind == "daemon":
            self.draw.choice(self.machines).kill_daemon()
            self.counts["killed"] += 1
        elif kind == "database":
            self.database.stop(self.draw.choice(("fast", "immediate")))
            time.sleep(self.draw.random())
            self.database.start()
        elif self.server:
            self.server.stop(self.draw.choice((signal.SIGTERM, signal.SIGKILL)))
            time.sleep(2 * self.draw.random())
            self.server.start()
        else:
            os.rename(self.packs, self.packs + ".gone")
            time.sleep(2 * self.draw.random())
            os.rename(self.packs + ".gone", self.packs)
        return None

    # ---- Rules ----

    def search(self, reader, number):
        done = reader.lectern("search", f"sentinel{number}x{self.draw.randrange(6)}", "-c", f"m{number}")
        self.counts["searched"] += 1
        return done.returncode == 0 and json.loads(done.stdout)["results"], done

    def look(self):
        """What a reader had once it still finds; and what it has now is noted."""
        for reader in self.readers:
            had = self.known.setdefault(reader.store, set())
            number = self.draw.randrange(self.args.manuals)
            found, done = self.search(reader, number)
            if number in self.gone:  # when it goes, and comes, is the reader's to say
                continue
            if not found and number in had:
                self.faults.append(f"m{number} was there: {done.stdout[-300:]}{done.stderr[-300:]}")
            if found:
                had.add(number)

    def is_settled(self):
        for machine in self.machines:
            machine.start()
        state = self.of(self.owner, "fleet", "status")
        offered = sum(not m["withdrawn"] for m in state["manuals"])
        return (all(m["published"] == m["wanted"] for m in state["manuals"]) and len(state["readers"]) == len(self.readers)
                and all(r["current"] == r["manuals"] == offered for r in state["readers"])
                and all(self.held(reader) == self.newest() for reader in self.readers))

    def newest(self):
        return dict(self.database.sql("SELECT name, sha256 FROM lectern.offers"))

    def held(self, reader):
        with open(os.path.join(reader.store, "fleet", "held.json"), encoding="utf-8") as file:
            return json.load(file)

    def check_end(self):
        files = dict(self.database.sql("SELECT name, file FROM lectern.offers"))
        for reader in self.readers:
            for number in range(self.args.manuals):
                if bool(self.search(reader, number)[0]) != (f"m{number}" in files):
                    self.faults.append(f"m{number} is not found in the end, or though it was withdrawn")
        for number in (int(name[1:]) for name in files):
            name, alone = f"m{number}", os.path.join(self.owner.path, f"alone{number}.pack")
            self.of(self.owner, "add", self.source(number), "-c", name, "--wait")
            self.of(self.owner, "pack", name, alone, "--key", self.key, *(["--files"] if self.args.files else []))
            with open(alone, "rb") as one, open(os.path.join(self.packs, files[name]), "rb") as other:
                if one.read() != other.read():
                    self.faults.append(f"the pack of {name} is not that of one daemon")
        def needless():
            return set(os.listdir(self.packs)) - set(files.values()) - {".body"}
        end = time.time() + PATIENCE  # what nobody needs goes
        while time.time() < end and needless():
            time.sleep(1)
            self.owner.run("fleet", "work", "--once", seconds=PATIENCE)
        if needless():
            self.faults.append(f"packs that nobody needs stay: {needless()}")
        def wrong_files():
            return [reader.store for reader in self.readers if self.args.files and
                    set(os.listdir(os.path.join(reader.store, "fleet/files"))) != set(self.held(reader).values())]
        end = time.time() + PATIENCE  # those of packs before go at the next look
        while time.time() < end and wrong_files():
            time.sleep(1)
        if wrong_files():
            self.faults.append(f"files are not those of the packs: {wrong_files()}")
        twice = self.database.sql("SELECT manual, revision FROM lectern.generations GROUP BY 1, 2 HAVING count(*) > 1")
        if twice:
            self.faults.append(f"published twice: {twice}")
        outcomes = dict(self.database.sql("SELECT coalesce(outcome, 'open'), count(*) FROM lectern.attempts GROUP BY 1"))
        lost = int(outcomes.get("lost", 0)) + int(outcomes.get("failed", 0))
        deaths = sum(self.counts[kind] * (len(self.indexers) if kind == "worker" else 1)
                     for kind in ("worker", "daemon", "database", "folder", "withdrawn"))
        if lost > deaths:
            self.faults.append(f"{lost} leases lost or given back, {deaths} reasons")
        return outcomes

    def run(self):
        for number in range(self.args.manuals):
            self.publish(number)
        for machine in self.machines:
            machine.start()
        acts = 0
        while acts < self.args.acts or self.counts["killed"] < self.args.kills:
            acts += 1
            self.act()
            self.look()
            for machine in self.machines:
                machine.start()
            time.sleep(self.draw.random() / 2)
        end = time.time() + PATIENCE
        while not self.is_settled():
            if time.time() > end:
                self.faults.append(f"not settled: {json.dumps(self.of(self.owner, 'fleet', 'status'))[:3000]}")
                return {}
            time.sleep(0.5)
        return self.check_end()

    def close(self):
        for machine in self.machines:
            if machine.process and machine.process.poll() is None:
                machine.kill()
        for home in [*self.machines, self.owner]:
            home.run("daemon", "--stop", seconds=60)
            shutil.rmtree(home.path, ignore_errors=True)
        self.database.close()
        if self.server:
            self.server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    for name, value in (("seed", 1), ("acts", 100), ("kills", 0), ("indexers", 4), ("readers", 3), ("manuals", 12)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--clocks", action="store_true")
    parser.add_argument("--files", action="store_true")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    fleet = Fleet(args)
    try:
        outcomes = fleet.run()
    finally:
        fleet.close()
    print(json.dumps({"seed": args.seed, **fleet.counts, "leases": outcomes, "faults": fleet.faults}))
    sys.exit(1 if fleet.faults else 0)


if __name__ == "__main__":
    main()
