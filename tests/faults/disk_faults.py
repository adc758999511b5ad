#!/usr/bin/env python3
"""Full disks, read-only stores, permissions, clocks that jump, manuals that go while they are read.

    disk_faults.py [--build build/release] [--preloads build/release/tests/faults] [NAME...]

Needs root, for small file systems of its own (tmpfs) and to run a daemon as somebody else.  Each
trial is a function below: it says what it has measured, fails, or is skipped where nothing may be
mounted.
"""
import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, SMALL_MODEL, Broken, Daemon, Refused, Skip, check, until
from pages import Pages
from run_faults import run_faults
from stores import verify

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
IDLE_SECONDS, MOST_IDLE = 4, 0.02  # share of a core
GOES_ON_SECONDS = 100              # by itself, once there is space


@contextlib.contextmanager
def house():
    path = tempfile.mkdtemp(prefix="lectern-disk-")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def mount(*args):
    done = subprocess.run(["mount", *args], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"cannot mount: {done.stderr.strip()}")


class Tmpfs:
    """A file system of so many KiB."""

    def __init__(self, path, kib):
        self.path = path
        os.makedirs(path, exist_ok=True)
        mount("-t", "tmpfs", "-o", f"size={kib}k,mode=755", "none", path)

    def resize(self, kib):
        mount("-o", f"remount,size={kib}k", self.path)

    def fill(self, leave=0):
        """A file takes all but `leave` bytes."""
        with open(os.path.join(self.path, "filler"), "wb", buffering=0) as file, \
                contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        if leave:
            size = os.path.getsize(file.name)
            os.truncate(file.name, max(0, size - leave))

    def free(self):
        os.remove(os.path.join(self.path, "filler"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)


def failing(daemon, name):
    manual = daemon.manual(name)
    return manual if manual and ("error" in manual or "memories_error" in manual) else None


def is_full(message):
    return any(words in message for words in ("the disk is full", "the disk may be full", "No space left"))


def says_full(manual):
    message = manual.get("error", manual.get("memories_error", {})).get("message", "")
    check(is_full(message), f"not clear: {message}")
    return message


def idle_share(daemon):
    start = daemon.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return (daemon.cpu_seconds() - start) / IDLE_SECONDS


def rests(daemon, what):
    """What was deleted is collected, young time stamps are looked at again: then it is idle."""
    for _ in range(5):
        share = idle_share(daemon)
        if share <= MOST_IDLE:
            break
    check(share <= MOST_IDLE, f"{what}: {share:.1%} of a core while idle")
    return share


def goes_on(daemon, name, ready=lambda manual: True):
    """Nobody asks: the manual recovers by itself.  How many seconds it took."""
    start = time.time()
    until(lambda: daemon.call("status")["state"] == "idle" and ready(daemon.manual(name)),
          f"{name} goes on by itself: {daemon.manual(name)}", GOES_ON_SECONDS, 0.2)
    return time.time() - start


def nodes(build, place, root):
    """How many a fresh index of it has."""
    shutil.rmtree(place, ignore_errors=True)
    with Daemon(build, place, watch="off") as daemon:
        daemon.call("add", dir=root, name="m", wait=True)
        return daemon.manual("m")["nodes"]


# ---- Full disks ----

def index_on_a_disk_that_is_too_small():
    said = []
    for kib in ARGS.sizes:
        with house() as place, Tmpfs(os.path.join(place, "disk"), kib) as disk:
            dice = random.Random(kib)
            small, big = (Pages(os.path.join(place, name), dice, count)
                          for name, count in (("small", 4), ("big", ARGS.pages)))
            with Daemon(ARGS.build, place, store=os.path.join(disk.path, "store"), sweep_seconds=2) as daemon:
                daemon.call("add", dir=small.root, name="small", wait=True)
                daemon.call("add", dir=big.root, name="m")
                manual = until(lambda: failing(daemon, "m"), "it fails")
                said_full = says_full(manual)
                check(daemon.call("search", query="okapi zebra", manual="small")["results"],
                      "search of the other manual")
                rests(daemon, f"disk of {kib} KiB full")
                disk.resize(200 << 10)
                took = goes_on(daemon, "m", lambda m: m["nodes"])
                check(daemon.manual("m")["nodes"] == nodes(ARGS.build, os.path.join(place, "f"), big.root),
                      "as many nodes as a fresh index")
                store = daemon.store
            verify(ARGS.build, store)
            said.append(f"{kib} KiB: {said_full!r}, went on after {took:.0f} s")
    return "; ".join(said)


def update_on_a_full_disk():
    with house() as place, Tmpfs(os.path.join(place, "disk"), 64 << 10) as disk:
        dice = random.Random(1)
        pages = Pages(os.path.join(place, "m"), dice, 40)
        with Daemon(ARGS.build, place, store=os.path.join(disk.path, "store"), sweep_seconds=2) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)
            before = daemon.manual("m")["generation"]
            disk.fill()
            for _ in range(60):
                pages.edit()
            says_full(until(lambda: failing(daemon, "m"), "it fails"))
            found = daemon.call("search", query="okapi zebra", manual="m")
            check(found["results"] and not found["fresh"], "the old generation serves, and says so")
            status = daemon.call("status")
            check(status["state"] == "degraded" and daemon.manual("m")["generation"] == before, status)
            rests(daemon, "full disk")
            # Of the manuals too, when it is killed and starts on a full disk.
            daemon.kill()
            verify(ARGS.build, daemon.store)
        with Daemon(ARGS.build, place, store=daemon.store, sweep_seconds=2) as daemon:
            check(daemon.call("search", query="okapi zebra", manual="m")["results"], "after a start")
            until(lambda: failing(daemon, "m"), "it fails again")
            disk.free()
            took = goes_on(daemon, "m", lambda m: m["generation"] > before)
            check(daemon.manual("m")["nodes"] == nodes(ARGS.build, os.path.join(place, "f"), pages.root),
                  "as many nodes as a fresh index")
        verify(ARGS.build, daemon.store)
        return f"went on after {took:.0f} s"


def memories_on_a_full_disk():
    with house() as place, Tmpfs(os.path.join(place, "disk"), 64 << 10) as disk:
        pages = Pages(os.path.join(place, "m"), random.Random(2), 60)
        with Daemon(ARGS.build, place, store=os.path.join(disk.path, "store"), model=SMALL_MODEL) as daemon:
            daemon.call("add", dir=pages.root, name="m")
            until(lambda: daemon.manual("m")["state"] == "encoding", "memories are made", pause=0.002)
            disk.fill()
            said = says_full(until(lambda: failing(daemon, "m"), "it fails"))
            check(daemon.call("search", query="okapi zebra", manual="m")["results"], "search by words")
            disk.free()
            took = goes_on(daemon, "m", lambda m: m["memories"] == "current")
            check(daemon.call("search", query="okapi zebra", manual="m", mode="dense")["results"],
                  "search by meaning")
        verify(ARGS.build, daemon.store)
        return f"{said!r}, went on after {took:.0f} s"


def start_on_a_full_disk():
    """No store can be made: it says why, and leaves nothing that is in the way later."""
    with house() as place, Tmpfs(os.path.join(place, "disk"), 64) as disk:
        store = os.path.join(disk.path, "store")
        for leave in (0, 4096, 8192, 12288, 20480, 28672, 36864):
            shutil.rmtree(store, ignore_errors=True)
            disk.fill(leave)
            daemon = Daemon(ARGS.build, place, store=store, wait=False)
            if leave < 20480:
                code = daemon.process.wait(30)
                check(code == 6 and is_full(daemon.last_words()), (leave, code, daemon.last_words()))
            else:
                try:
                    daemon.reach()
                except Broken:
                    check(daemon.process.returncode == 6 and is_full(daemon.last_words()),
                          (leave, daemon.process.returncode, daemon.last_words()))
                daemon.stop()
            disk.free()
        disk.resize(8192)
        pages = Pages(os.path.join(place, "m"), random.Random(3), 3)
        with Daemon(ARGS.build, place, store=store) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)


def verbs_on_a_full_disk():
    """add, rm and update answer with an error that says why; what was there stays."""
    with house() as place, Tmpfs(os.path.join(place, "disk"), 8 << 10) as disk:
        one, two = (Pages(os.path.join(place, name), random.Random(4), 5) for name in ("one", "two"))
        with Daemon(ARGS.build, place, store=os.path.join(disk.path, "store")) as daemon:
            daemon.call("add", dir=one.root, name="one", wait=True)
            disk.fill()
            answers = []
            for verb, params in (("add", {"dir": two.root, "name": "two", "wait": True}),
                                 ("update", {"manual": "one", "force": True, "wait": True}),
                                 ("rm", {"manual": "one"})):
                try:
                    daemon.call(verb, **params)
                    answers.append(f"{verb}: done")
                except Refused as refused:
                    check("full" in refused.error["message"], f"not clear: {refused}")
                    answers.append(f"{refused}")
            for name in ("one", "two"):
                manual = daemon.manual(name)
                if manual and manual["nodes"]:
                    check(daemon.call("search", query="okapi zebra index", manual=name)["results"], name)
            disk.free()
            daemon.call("add", dir=two.root, name="two", wait=True)
        verify(ARGS.build, daemon.store)
        return "; ".join(answers)


def compact_on_a_full_disk():
    """Too little room for the copy, told beforehand or found out: the store stays, and serves."""
    with house() as place, Tmpfs(os.path.join(place, "disk"), 32 << 10) as disk:
        pages = Pages(os.path.join(place, "m"), random.Random(12), 60)
        said = set()
        with Daemon(ARGS.build, place, store=os.path.join(disk.path, "store")) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)
            size = os.path.getsize(os.path.join(daemon.store, "data.mdb"))
            for leave in range(0, size + (256 << 10), 12 << 10):
                disk.fill(leave)
                try:
                    daemon.call("compact")
                    said.add("done")
                except Refused as refused:
                    check(is_full(refused.error["message"]) or "left" in refused.error["message"], refused)
                    said.add("refused")
                disk.free()
                check(daemon.call("search", query="okapi zebra", manual="m")["results"], "search")
            pages.edit()
            daemon.call("update", manual="m", wait=True)
        verify(ARGS.build, daemon.store)
        check(said == {"done", "refused"}, said)


# ---- Stores that cannot be written ----

def read_only_store():
    with house() as place:
        pages = Pages(os.path.join(place, "m"), random.Random(5), 3)
        with Daemon(ARGS.build, place) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)
        store = daemon.store
        mount("--bind", store, store)
        try:
            mount("-o", "remount,bind,ro", store)
            daemon = Daemon(ARGS.build, place, wait=False)
            code = daemon.process.wait(30)
            said = daemon.last_words(200).strip().splitlines()[-1]
            check(code == 6 and "Read-only" in said and store in said, (code, said))
        finally:
            subprocess.run(["umount", store], check=True)
        with Daemon(ARGS.build, place) as daemon:
            check(daemon.call("search", query="okapi zebra", manual="m")["results"], "afterwards")
        return f"exit {code}: {said!r}"


# ---- Permissions ----

def reasons(daemon):
    return {entry["file"]: entry["reason"] for entry in daemon.call("failed")["files"]}


def permissions_under_a_watched_tree():
    with house() as place:
        os.chmod(place, 0o777)
        binaries = os.path.join(place, "bin")
        os.makedirs(binaries)
        for program in ("lecternd", "lectern-parse", "lectern"):
            shutil.copy(os.path.join(ARGS.build, program), binaries)
        pages = Pages(os.path.join(place, "m"), random.Random(6), 6)
        below = Pages(os.path.join(pages.root, "d"), random.Random(7), 3)
        with Daemon(binaries, os.path.join(place, "h"), prefix=NOBODY, wait=False, sweep_seconds=300) as daemon:
            pass
        os.chmod(os.path.join(place, "h"), 0o777)
        with Daemon(binaries, os.path.join(place, "h"), prefix=NOBODY, sweep_seconds=300) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)
            all_nodes = daemon.manual("m")["nodes"]

            def after(path, mode, reached, what):
                os.chmod(path, mode)
                start = time.time()
                until(reached, f"{what}: {daemon.manual('m')}, {reasons(daemon)}", 45)
                return f"{what} after {time.time() - start:.1f} s"

            page = os.path.join(pages.root, pages.names()[0])
            said = [after(page, 0, lambda: "Permission" in reasons(daemon).get(pages.names()[0], ""),
                          "page failed"),
                    after(page, 0o644, lambda: not reasons(daemon) and
                          daemon.manual("m")["nodes"] == all_nodes, "page back"),
                    after(below.root, 0, lambda: any("Permission" in r for r in reasons(daemon).values()),
                          "folder failed"),
                    after(below.root, 0o755, lambda: not reasons(daemon) and
                          daemon.manual("m")["nodes"] == all_nodes, "folder back"),
                    after(pages.root, 0, lambda: "Permission" in str(daemon.manual("m").get("error")),
                          "root failed")]
            check(daemon.manual("m")["nodes"] == all_nodes, "the generation stays when all is locked")
            check(daemon.call("search", query="okapi zebra", manual="m")["results"], "and serves")
            said.append(after(pages.root, 0o755, lambda: "error" not in daemon.manual("m") and
                              daemon.call("status")["state"] == "idle", "root back"))
            # And it watches again.
            Pages.write(below, below.names()[0], "<h1>Back</h1><p>platypuses</p>")
            until(lambda: daemon.call("search", query="platypuses", manual="m", mode="lexical")["results"],
                  "an edit is found", 10)
            rests(daemon, "after changes of permissions")
        return ", ".join(said)


# ---- Clocks ----

def clocks_that_jump():
    with house() as place:
        offset = os.path.join(place, "offset")
        pages = Pages(os.path.join(place, "m"), random.Random(8), 5)
        env = {"LD_PRELOAD": os.path.join(os.path.abspath(ARGS.preloads), "clock.so"),
               "CLOCK_OFFSET_FILE": offset}

        def set_clock(seconds):
            with open(offset + "~", "w") as file:
                file.write(str(seconds))
            os.rename(offset + "~", offset)

        year, said = 365 * 86400, []
        set_clock(0)
        with Daemon(ARGS.build, place, env=env, sweep_seconds=300) as daemon:
            daemon.call("add", dir=pages.root, name="m", wait=True)
            for number, jump in enumerate((0, 3600, -3600, 20 * year, -20 * year, -55 * year, 0)):
                set_clock(jump)
                for stamp in (None, 0, time.time() + jump, time.time() + 10 * year, 2 ** 33):
                    word = f"platypus{number}x{int(stamp or 1) % 997}"
                    name = random.Random(number).choice(pages.names())
                    pages.write(name, f"<h1>{word}</h1><p>{word} here</p>")
                    if stamp is not None:
                        os.utime(os.path.join(pages.root, name), (stamp, max(stamp, 0)))
                    until(lambda: daemon.call("search", query=word, manual="m", mode="lexical")["results"],
                          f"an edit with the clock {jump} s off and a stamp of {stamp}", 15)
                    daemon.call("wait")
                    check(daemon.call("search", query=word, manual="m", mode="lexical")["fresh"], "fresh")
                time.sleep(2.5)  # stamps too young to tell changes apart are looked at again
                daemon.call("wait")
                said.append(f"{jump}: {rests(daemon, f'the clock {jump} s off'):.2%}")
        return "idle at clock offsets " + ", ".join(said)


# ---- Manuals that go ----

def a_manual_removed_while_it_is_indexed():
    with house() as place:
        small, big = (Pages(os.path.join(place, name), random.Random(9), count)
                      for name, count in (("small", 4), ("big", ARGS.pages)))
        dice = random.Random(10)
        with Daemon(ARGS.build, place, model=SMALL_MODEL) as daemon:
            daemon.call("add", dir=small.root, name="small", wait=True)
            longest = 0.0
            for _ in range(15):
                daemon.call("add", dir=big.root, name="big")
                time.sleep(dice.random() * dice.choice((0.02, 0.5, 2)))
                start = time.time()
                daemon.call("rm", manual="big")
                longest = max(longest, time.time() - start)
                check(not daemon.manual("big"), "it is still there")
            daemon.call("wait")
            check(daemon.call("status")["state"] == "idle", daemon.call("status"))
            time.sleep(1)
            rests(daemon, "after removals")
        verify(ARGS.build, daemon.store)
        return f"longest rm {longest:.2f} s"


def a_folder_deleted_while_it_is_indexed():
    with house() as place:
        dice, said = random.Random(11), []
        with Daemon(ARGS.build, place, model=SMALL_MODEL, sweep_seconds=2) as daemon:
            for number in range(8):
                pages = Pages(os.path.join(place, "m"), dice, ARGS.pages // 2)
                daemon.call("add", dir=pages.root, name="m")
                time.sleep(dice.random() * 0.5)
                shutil.rmtree(pages.root)
                until(lambda: failing(daemon, "m"), "it says that the folder has gone")
                said.append(daemon.manual("m")["error"]["message"])
                rests(daemon, "its folder gone") if number == 0 else None
                if number % 2:
                    daemon.call("rm", manual="m")
            Pages(os.path.join(place, "m"), dice, 3)
            daemon.call("add", dir=os.path.join(place, "m"), name="m", wait=True)
            check(daemon.manual("m")["files"] == 3, daemon.manual("m"))
        verify(ARGS.build, daemon.store)
        return repr(said[-1])


TRIALS = [index_on_a_disk_that_is_too_small, update_on_a_full_disk, memories_on_a_full_disk,
          start_on_a_full_disk, verbs_on_a_full_disk, compact_on_a_full_disk, read_only_store,
          permissions_under_a_watched_tree, clocks_that_jump, a_manual_removed_while_it_is_indexed,
          a_folder_deleted_while_it_is_indexed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--preloads", default=os.path.join(ROOT, "build/release/tests/faults"))
    parser.add_argument("--pages", type=int, default=1500, help="of a manual that does not fit")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 256, 600, 1200], help="KiB")
    parser.add_argument("names", nargs="*")
    parser.parse_args(namespace=ARGS)
    run_faults(TRIALS, ARGS.names)


ARGS = argparse.Namespace()

if __name__ == "__main__":
    main()
