#!/usr/bin/env python3
"""The n-th failure: each call of a class fails in turn, once or from then on, while a verb runs.

    nth.py [--build build/release] [--preload build/release/tests/faults/nth.so] [--seed 1] [--most 40]
           (with :build/cov/tests/faults/flush.so a build that counts branches keeps its counters)
           [--verbs add,update,...] [--classes memory,open,...] [--model]

For each verb, class and n = 1, 2, 3, ... until the verb completes untouched (of more than --most calls a
sample: the first, the last and some between) a daemon runs the verb while that call fails.  Held after
each:

    the daemon lives, and answers within a minute
    what it answers is what it answers without a failure, or an error that names its cause, or an answer
    that says what it lacks; never an empty one where there is one, never a text that is not the manual's
    without failures the same verb then succeeds, and what an update brought is found
    killed at once and started again, its store verifies and has every generation that was acknowledged
    (of the verbs that write, and of `start`)

`start` is a daemon's own start; it may end, with a status and a reason.
"""
import argparse
import collections
import gzip
import hashlib
import itertools
import mmap
import os
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, SMALL_MODEL, Broken, Daemon, Refused
from pages import Pages
from stores import check_whole, look_into, walk

CLASSES = ("memory", "open", "read", "write", "map", "flush", "name", "socket", "thread", "process")
CAUSES = {
    "memory": "memory",
    "open": "Too many open files|Cannot allocate memory",
    "read": "Input/output error|Connection reset",
    "write": "No space left|disk is full|disk may be full|Connection reset|Broken pipe",
    "map": "memory",
    "flush": "Input/output error",
    "name": "Input/output error",
    "socket": "Too many open files|Connection reset|connection",
    "thread": "Resource temporarily unavailable|thread",
    "process": "Resource temporarily unavailable|Too many open files"}
FOREVER = 1 << 62
PATIENCE = 60  # seconds
HEALS = 15     # seconds, for what was told and is read again


class Forbidden(Exception):
    """What must not come of any failure."""


class Control:
    """Drawn in nth.h."""
    FORM = struct.Struct("iiqqq")

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            self.map = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.disarm()

    def arm(self, kind, n, forever):
        self.map[:self.FORM.size] = self.FORM.pack(-1, forever, n, 0, 0)
        self.map[:4] = struct.pack("i", CLASSES.index(kind))

    def disarm(self):
        """(calls seen, calls failed) since it was armed."""
        self.map[:4] = struct.pack("i", -1)
        return self.FORM.unpack(self.map[:self.FORM.size])[3:]


# ---- What is asked, and what of an answer counts ----

def hits(result):
    return [(tuple(hit["path"]), hit["text"]) for hit in result["results"]]


def quotes(result):
    return [(tuple(c["path"]), c["quote"]) for c in result["citations"]]


def titles(result):
    return [node["title"] for node in walk(result)]


def texts(result):
    return [block["text"] for block in result["blocks"]]


def add_kinds(pages):
    """What is read in other ways: below a folder, by a link, packed, DocBook, LaTeX with what it includes."""
    for path in ("sub", "far"):
        os.makedirs(os.path.join(pages.root, path), exist_ok=True)
    page = pages.read(pages.names()[0])

    def put(path, text):
        with open(os.path.join(pages.root, path), "wb") as file:
            file.write(text)
    put("sub/below.html", page.replace("<h1>", "<h1>Below ").encode())
    put("far/target.html", page.replace("<h1>", "<h1>Linked ").encode())
    os.symlink("../far/target.html", os.path.join(pages.root, "sub/link.html"))
    put("packed.html.gz", gzip.compress(page.replace("<h1>", "<h1>Packed ").encode()))
    put("book.xml", b"""<!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook XML V4.2//EN" "x.dtd">
<article><title>A book</title><section><title>Of pages</title><para>Okapi and heron.</para></section></article>""")
    put("paper.tex", b"\\documentclass{article}\\begin{document}\\section{Paper}Lattice.\\input{part}\\end{document}")
    put("part.tex", b"\\section{Part}A cursor of quartz.")


class House:
    """A daemon under failures, its manual, and what the manual's answers are."""

    def __init__(self, args, dice):
        self.args, self.dice = args, dice
        self.place = tempfile.mkdtemp(prefix="lectern-nth-")
        self.control = Control(os.path.join(self.place, "control"))
        self.pages = Pages(os.path.join(self.place, "m"), dice, 5)
        self.other = Pages(os.path.join(self.place, "other"), dice, 3)
        add_kinds(self.pages)
        add_kinds(self.other)
        self.serial = 0
        self.word = None
        self.acknowledged = 0
        self.daemon = None
        self.start()
        self.daemon.call("add", dir=self.pages.root, name="m", wait=True)
        self.acknowledge()

    def start(self, wait=True):
        self.daemon = Daemon(self.args.build, self.place, wait=wait, watch="off",
                             model=SMALL_MODEL if self.args.model else "none",
                             env={"LD_PRELOAD": ":".join(map(os.path.abspath, self.args.preload.split(":"))),
                                  "NTH_CONTROL": self.control.path})
        if wait:
            self.daemon.client.socket.settimeout(PATIENCE)

    def acknowledge(self):
        self.acknowledged = self.daemon.manual("m")["generation"]

    def reconnect(self):
        """After its connection was the one that failed."""
        self.daemon.forget()
        self.daemon.reach()
        self.daemon.client.socket.settimeout(PATIENCE)

    def restart(self):
        """As a power cut ends it; what was acknowledged is there."""
        self.daemon.kill()
        found = look_into(self.args.build, os.path.join(self.place, "second"), self.daemon.store)
        if found.get("m", 0) < self.acknowledged:
            raise Forbidden(f"generation {found.get('m')} of {self.acknowledged} that was acknowledged")
        self.start()

    def close(self):
        self.control.disarm()
        if self.daemon.alive():
            self.daemon.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    # Each verb: prepare() without failures, then act(), whose answer is compared.

    def prepare_read(self):
        pass

    prepare_search = prepare_ask = prepare_get = prepare_toc = prepare_verify = prepare_compact = prepare_read

    def act_search(self):
        return hits(self.complete(self.daemon.call("search", query="okapi zebra vacuum", n=5)))

    def act_ask(self):
        return quotes(self.complete(self.daemon.call("ask", query="what is the okapi zebra vacuum trigger")))

    def act_get(self):
        node = list(walk(self.daemon.call("toc", manual="m")))[-1]["id"]
        return texts(self.complete(self.daemon.call("get", node=node)))

    def act_toc(self):
        return titles(self.complete(self.daemon.call("toc", manual="m")))

    def act_verify(self):
        return self.daemon.call("verify")["fault_count"]

    def act_compact(self):
        self.daemon.call("compact")
        return True

    def prepare_backup(self):
        self.serial += 1

    def act_backup(self):
        self.daemon.call("backup", dir=os.path.join(self.place, f"backup{self.serial}"))
        return True

    def prepare_pack(self):
        self.serial += 1

    def act_pack(self):
        """What it wrote is whole: the bytes of one that nothing kept from it, of the same index."""
        pack = os.path.join(self.place, f"pack{self.serial}")
        self.daemon.call("pack", manual="m", file=pack, files=True)
        with open(pack, "rb") as file:
            found = file.read()
        os.unlink(pack)
        return hashlib.sha256(found).hexdigest()

    def prepare_unpack(self):
        self.pack = os.path.join(self.place, "whole.pack")
        if not os.path.exists(self.pack):
            self.daemon.call("pack", manual="m", file=self.pack, files=True)
        if self.daemon.manual("unpacked"):
            self.daemon.call("rm", manual="unpacked")
        self.serial += 1

    def act_unpack(self):
        """A manual that is there is a whole one."""
        folder = os.path.join(self.place, f"unpacked{self.serial}")
        self.daemon.call("unpack", file=self.pack, name="unpacked", dir=folder, untrusted=True)
        return titles(self.daemon.call("toc", manual="unpacked"))

    def prepare_add(self):
        if self.daemon.manual("other"):
            self.daemon.call("rm", manual="other")

    def act_add(self):
        self.daemon.call("add", dir=self.other.root, name="other", wait=True)
        self.indexed("other")
        return titles(self.daemon.call("toc", manual="other"))

    def prepare_update(self):
        self.serial += 1
        self.word = f"quagga{self.serial}x"
        name = self.pages.names()[0]
        text = re.sub(r"<p>quagga\w*\.</p>", "", self.pages.read(name))
        self.pages.write(name, text + f"<p>{self.word}.</p>")

    def act_update(self):
        self.daemon.call("update", manual="m", wait=True)
        self.indexed("m")
        found = self.daemon.call("search", query=self.word, manual="m", mode="lexical")["results"]
        return titles(self.daemon.call("toc", manual="m")) if found else []

    def indexed(self, name):
        """True; or the reason that a file or the manual has failed."""
        manual = self.daemon.manual(name)
        for field in ("error", "memories_error"):
            if field in manual:
                raise Refused(name, manual[field])
        failed = self.daemon.call("failed", manual=name)
        for problem in [*failed["files"], *failed.get("warnings", ())]:
            raise Refused(name, {"message": str(problem)})
        return True

    def complete(self, result):
        """Says by an error what the answer says that it lacks."""
        for part in result.get("damaged", ()):
            raise Refused("part", {"message": part["reason"]})
        for warning in result.get("warnings", ()):
            raise Refused("part", {"message": str(warning)})
        return result


VERBS = ("search", "ask", "get", "toc", "verify", "compact", "backup", "update", "add", "pack", "unpack")
WRITES = ("compact", "backup", "update", "add", "unpack")


# ---- One failure ----

class Trial:
    def __init__(self, house, verb, kind, forever):
        self.house, self.verb, self.kind, self.forever = house, verb, kind, forever
        self.prepare, self.act = (getattr(house, f"{part}_{verb}") for part in ("prepare", "act"))
        self.cause = re.compile(CAUSES[kind], re.I)

    def expected(self):
        self.prepare()
        return self.act()

    def count(self):
        """How many calls of the class the verb makes."""
        self.prepare()
        self.house.control.arm(self.kind, FOREVER, 0)
        self.act()
        return self.house.control.disarm()[0]

    def run(self, n, expected):
        """(calls that failed, what came of it); raises Forbidden."""
        house = self.house
        self.prepare()
        house.control.arm(self.kind, n, self.forever)
        try:
            found, said = self.act(), None
        except Refused as refusal:
            found, said = None, refusal.error["message"]
        except (ConnectionError, BrokenPipeError, ValueError):
            found, said = None, "connection"
        except TimeoutError:
            raise Forbidden(f"no answer in {PATIENCE} s") from None
        finally:
            failed = house.control.disarm()[1]
        self.judge(found, said, expected, failed)
        if self.verb == "update" and said:
            lost = collections.Counter(expected) - collections.Counter(titles(house.daemon.call("toc", manual="m")))
            if lost:
                raise Forbidden(f"sections are gone: {list(lost)[:5]}, {said}")
        self.then(expected)
        return failed, "told" if said else "whole"

    def judge(self, found, said, expected, failed):
        house = self.house
        if said == "connection":
            time.sleep(0.2)
        if not house.daemon.alive():
            raise Forbidden(f"the daemon ended with {house.daemon.process.returncode}: "
                            f"{house.daemon.last_words(300)}")
        if said == "connection":
            if self.kind != "socket":
                raise Forbidden("the connection was closed")
        elif said and not (failed and self.cause.search(said)):
            raise Forbidden(f"the error does not name its cause: {said}")
        elif not said and found != expected:
            raise Forbidden(f"another answer: {str(found)[:300]} instead of {str(expected)[:300]}")

    def again(self, expected):
        if self.verb in ("add", "backup", "pack", "unpack"):
            self.prepare()
        found = self.act()
        if found != expected:
            raise Forbidden(f"another answer: {str(found)[:300]}")

    def then(self, expected):
        """Without failures it succeeds; what has to be read again is, within seconds, by itself."""
        if self.kind == "socket":
            self.house.reconnect()
        end = time.time() + HEALS
        while True:
            try:
                self.again(expected)
                break
            except (Refused, Forbidden, OSError) as problem:
                if self.verb not in ("update", "add") or time.time() > end:
                    raise Forbidden(f"not once the failure is over: {problem}") from problem
                time.sleep(0.5)
        self.house.acknowledge()


def numbers(count, most, dice):
    """1 to one more than `count`, or a sample of them."""
    everything = range(1, count + 2)
    if len(everything) <= most:
        return list(everything)
    ends = list(everything[:most // 4]) + list(everything[-(most // 4):])
    return sorted(set(ends) | set(dice.sample(everything, most - len(ends))))


def run_class(args, dice, verb, kind, forever):
    """(trials, calls failed, greatest n, Counter of outcomes, problems)"""
    counts, problems, reached = collections.Counter(), [], 0
    house = House(args, dice)
    try:
        trial = Trial(house, verb, kind, forever)
        expected = trial.expected()
        if not expected and verb != "verify":
            raise Broken(f"{verb}: nothing without a failure")
        for i, n in enumerate(numbers(trial.count(), args.most, dice)):
            try:
                counts["trials"] += 1
                failed, outcome = trial.run(n, expected)
                counts["failed"] += failed
                counts[outcome if failed else "untouched"] += 1
                reached = max(reached, n)
                if verb in WRITES and i % args.restart_every == 0:
                    house.restart()
            except (Forbidden, Broken, Refused, OSError) as problem:
                problems.append(f"{verb}, {kind} {'from the' if forever else 'the'} {n}: "
                                f"{type(problem).__name__}: {problem}")
                house.close()
                house = House(args, dice)
                trial = Trial(house, verb, kind, forever)
                expected = trial.expected()
            if len(problems) >= args.most_problems:
                break
    finally:
        house.close()
    return counts, reached, problems


def heals(house, expected):
    """A file that could not be read was told, and is read again."""
    end = time.time() + HEALS
    while time.time() < end:
        house.daemon.call("update", wait=True)
        if house.act_search() == expected:
            return True
        time.sleep(0.5)
    return False


def run_start(args, dice, kind, forever):
    """A daemon's start: it serves, or ends with a status and a reason."""
    counts, problems, reached = collections.Counter(), [], 0
    house = House(args, dice)
    cause = re.compile(CAUSES[kind], re.I)
    try:
        expected = house.act_search()
        house.daemon.stop()
        house.control.arm(kind, FOREVER, 0)
        house.start()
        house.daemon.call("wait")
        count = house.control.disarm()[0]
        house.daemon.stop()
        for n in numbers(count, args.most, dice):
            counts["trials"] += 1
            house.control.arm(kind, n, forever)
            try:
                house.start(wait=False)
                house.daemon.reach()
                end = "serves"
                house.daemon.client.call("status")
            except Broken as problem:
                end = str(problem)
            except (Refused, OSError) as problem:
                end = "refuses: " + str(problem)
            counts["failed"] += house.control.disarm()[1]
            code = house.daemon.process.poll()
            if code is None:
                house.daemon.kill()
            words = house.daemon.last_words(300)
            if code is not None and (code < 0 or code == 1 or not cause.search(words)):
                problems.append(f"start, {kind} {'from the' if forever else 'the'} {n}: ended with {code}: {words}")
            house.start()
            if not heals(house, expected):
                problems.append(f"start, {kind} {n}: another answer after it")
            house.daemon.kill()
            counts["told" if code is not None or end != "serves" else "whole"] += 1
            reached = max(reached, n)
            if len(problems) >= args.most_problems:
                break
    finally:
        house.close()
    return counts, reached, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--preload", default=os.path.join(ROOT, "build/release/tests/faults/nth.so"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=40, help="numbers of calls that are tried of each")
    parser.add_argument("--most-problems", type=int, default=3)
    parser.add_argument("--restart-every", type=int, default=5)
    parser.add_argument("--verbs", default=",".join((*VERBS, "start")))
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--how", default="once,on")
    parser.add_argument("--model", action="store_true", help="with a small model, so that memories are made")
    args = parser.parse_args()
    dice, total, broken, begun = random.Random(args.seed), collections.Counter(), 0, time.time()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for verb, kind, how in itertools.product(args.verbs.split(","), args.classes.split(","), args.how.split(",")):
        start = time.time()
        if verb == "start":
            counts, reached, problems = run_start(args, dice, kind, how == "on")
        else:
            counts, reached, problems = run_class(args, dice, verb, kind, how == "on")
        total += counts
        broken += len(problems)
        print(f"{verb:8} {kind:8} {how:4} n to {reached:6}: {counts['trials']:4} trials, {counts['failed']:6} calls failed, "
              f"{counts['whole']:4} whole, {counts['told']:4} told, {len(problems)} forbidden ({time.time() - start:.0f} s)", flush=True)
        for problem in problems:
            print("    " + " ".join(problem.split()), flush=True)
    print(f"nth: seed {args.seed}, {total['trials']} trials, {total['failed']} calls failed, {total['whole']} whole, "
          f"{total['told']} told, {broken} forbidden, {time.time() - begun:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
