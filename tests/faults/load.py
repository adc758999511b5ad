#!/usr/bin/env python3
"""Many clients for an hour: no error, memory flat, search nearly as quick as at rest.

    load.py --manual HTMLDIR [--build build/release] [--model model/quill] [--minutes 60] [--part 4] [--rest 25]
            [--clients 32] [--seed 1] [--house DIR] [--report FILE.json]

A daemon watches a copy of the manual.  Clients, in processes of their own, each hold a connection and
ask, think, ask: mostly searches, some `ask`, `get`, `toc`, `status`.  They go on all the time.  For
--part minutes pages are edited every few seconds, a second manual is added, updated by force and
removed, the store is compacted, and ill-behaved clients come and go: one that never reads, garbage,
half a message, a gigabyte without an end.  Then all but the clients pauses, the daemon comes to rest,
and for --rest seconds it has nothing else to do.  So load and rest are measured in turn, the same
way: others may be using the machine.

It fails (exit 1) on any error, on a daemon that has gone, on a part of this script that stands still,
if the medians of anonymous memory of each 10 minutes, but for the first, rise by more than
--most-slope MiB an hour, if search's 95th percentile under load is more than 3 x that at rest, or if
the index in the end is not what a fresh one is.
"""
import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import ROOT, Broken, Client, Daemon, Refused

MOST_RATIO = 3
THINK = (2.0, 4.0)  # seconds between an answer and the next request
EDIT = (3.0, 6.0)
PROCESSES = 4  # of clients, so that none waits for another's Python
STANDS_STILL = 900  # seconds without a round of the second manual, while it is on
PHASES = ("first", "load", "settling", "rest")
QUESTIONS = ("How do I create an index?", "What is a partial index?", "How are tables partitioned?",
             "How do I list all databases?", "What does VACUUM do?", "How are deadlocks resolved?")


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else 0.0


def slope(points):
    """Least squares, y per x."""
    n = len(points)
    if n < 2:
        return 0.0
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mx) ** 2 for x, _ in points)
    return sum((x - mx) * (y - my) for x, y in points) / spread if spread else 0.0


class Words:
    """What to search for: titles of the manual, and words of them."""

    def __init__(self, toc):
        self.titles, self.ids = [], []
        stack = [toc]
        while stack:
            node = stack.pop()
            self.titles.append(node["title"])
            self.ids.append(node["id"])
            stack += node["children"]

    def query(self, dice):
        words = dice.choice(self.titles).split()
        return " ".join(words if dice.random() < 0.5 else dice.sample(words, min(len(words), 2)))


class Clients:
    """One process of those who behave.  `now`: the phase, and which of its kind."""

    def __init__(self, args, path, words, numbers, now, pipe):
        self.args, self.path, self.words, self.numbers = args, path, words, numbers
        self.now, self.pipe = now, pipe
        self.latencies, self.errors = [], []  # (phase, which, seconds since 1970, kind, ms)

    def ending(self):
        return self.now[0] < 0

    def rest(self, seconds):
        end = time.time() + seconds
        while not self.ending() and time.time() < end:
            time.sleep(max(0, min(0.5, end - time.time())))

    def error(self, what):
        self.errors.append(f"{datetime.datetime.now():%H:%M:%S} {what}")
        print("ERROR", what, flush=True)

    def one_request(self, client, dice):
        kind = dice.choices(("search", "ask", "get", "toc", "status"), (70, 12, 10, 4, 4))[0]
        phase, which, start = self.now[0], self.now[1], time.perf_counter()
        if kind == "search":
            mode = dice.choices(("auto", "lexical", "tree", "dense"), (7, 1, 1, 1))[0]
            if self.args.model == "none":
                mode = "lexical" if mode == "dense" else mode
            client.call("search", query=self.words.query(dice), manual="m", n=10, mode=mode)
        elif kind == "ask":
            client.call("ask", query=dice.choice(QUESTIONS), manual="m", answer="passages")
        elif kind == "get":
            try:
                client.call("get", node=dice.choice(self.words.ids))
            except Refused as refused:  # an edit has taken the section away
                if refused.error["data"]["code"] != "not_found":
                    raise
        elif kind == "toc":
            client.call("toc", manual="m", depth=2)
        else:
            client.call("status")
        ms = (time.perf_counter() - start) * 1000
        if phase == self.now[0] and which == self.now[1]:
            self.latencies.append((phase, which, time.time(), kind, ms))

    def client_thread(self, number):
        dice = random.Random(self.args.seed * 1000 + number)
        self.rest(dice.random() * THINK[1])
        client = Client(self.path, timeout=120)
        while not self.ending():
            try:
                self.one_request(client, dice)
            except Exception as problem:  # whatever it is, it counts, and the client goes on
                self.error(f"client {number}: {type(problem).__name__}: {problem}")
                client.close()
                with contextlib.suppress(OSError):
                    client = Client(self.path, timeout=120)
            self.rest(dice.uniform(*THINK))
        client.close()

    def run(self):
        threads = [threading.Thread(target=self.client_thread, args=(n,)) for n in self.numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.pipe.send((self.latencies, self.errors))


class Trial:
    def __init__(self, args):
        self.args = args
        self.house = args.house or tempfile.mkdtemp(prefix="lectern-load-")
        self.root = os.path.join(self.house, "m")
        self.second = os.path.join(self.house, "second")
        if not os.path.exists(self.root):
            shutil.copytree(args.manual, self.root)
        os.makedirs(self.second, exist_ok=True)
        for name in sorted(os.listdir(args.manual))[:40]:
            if name.endswith(".html"):
                shutil.copy(os.path.join(args.manual, name), self.second)
        self.lock = threading.Lock()
        self.now = multiprocessing.Array("i", [0, 0])
        self.ending = threading.Event()
        self.busy = threading.Event()  # edits, the second manual and ill-behaved clients are on
        self.latencies = []
        self.counts, self.errors, self.samples = {}, [], []
        self.began = self.round_ended = time.time()
        self.edited = {}               # page -> its last word
        self.deeds = []                # numbers of ill-behaved clients that are at it

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def error(self, what):
        with self.lock:
            self.errors.append(f"{datetime.datetime.now():%H:%M:%S} {PHASES[self.now[0]]}: {what}")
        print("ERROR", what, flush=True)

    def part(self, target, *args):
        """A thread whose end before the trial's is an error."""
        def body():
            try:
                target(*args)
            except Exception as problem:
                self.error(f"{target.__name__}: {type(problem).__name__}: {problem}")
                traceback.print_exc()
            if not self.ending.is_set():
                self.error(f"{target.__name__} has ended before its time")
                self.ending.set()
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        return thread

    def edit(self, dice, number):
        name = dice.choice([f for f in os.listdir(self.root) if f.endswith(".html")])
        path = os.path.join(self.root, name)
        with open(path, "rb") as file:
            data = file.read()
        word = f"okapi{number}"
        # Words of earlier edits go, so that pages do not grow with time.
        data = re.sub(rb"<p>okapi\d+ stands here\.</p>", b"", data)
        ends = [found.end() for found in re.finditer(rb"\.\s*</p>", data)]
        if not ends:
            return
        at = dice.choice(ends)
        with open(path + "~", "wb") as file:
            file.write(data[:at] + f"<p>{word} stands here.</p>".encode() + data[at:])
        os.rename(path + "~", path)
        self.edited[name] = word
        self.count("edits")

    def editor_thread(self):
        dice, number = random.Random(self.args.seed), self.args.seed * 100000
        while not self.ending.is_set():
            if self.busy.is_set():
                number += 1
                self.edit(dice, number)
            self.ending.wait(dice.uniform(*EDIT))

    def manuals_thread(self):
        """A second manual comes, is read again by force, and goes; the store is compacted."""
        client, dice = self.daemon.connect(timeout=STANDS_STILL), random.Random(self.args.seed + 7)
        while not self.ending.is_set():
            if not self.busy.is_set():
                self.round_ended = time.time()
                self.ending.wait(0.5)
                continue
            client.call("add", dir=self.second, name="second", wait=True)
            client.call("update", manual="second", force=True, wait=True)
            self.ending.wait(dice.uniform(2, 10))
            client.call("rm", manual="second")
            self.count("manuals added, forced and removed")
            if dice.random() < 0.5:
                client.call("compact")
                self.count("compactions")
            self.round_ended = time.time()
            self.ending.wait(dice.uniform(2, 10))
        client.close()

    # ---- Those who do not ----

    def linger(self, seconds):
        end = time.time() + seconds
        while self.busy.is_set() and time.time() < end:
            self.ending.wait(0.2)

    def never_reads(self, s, dice):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "toc",
                           "params": {"manual": "m"}}).encode() + b"\n"
        s.settimeout(2)
        with contextlib.suppress(socket.timeout):
            for _ in range(200):
                s.sendall(line)
        self.linger(dice.uniform(10, 40))

    def garbage(self, s, dice):
        for _ in range(50):
            s.sendall(dice.randbytes(dice.randrange(1, 4000)) + b"\n")
            time.sleep(0.01)

    def half_a_message(self, s, dice):
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"sea')
        self.linger(dice.uniform(1, 60))

    def leaves_at_once(self, s, _dice):
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ask","params":{"query":"What is VACUUM?"}}\n' * 20)

    def a_gigabyte(self, s, _dice):
        piece = b"x" * (1 << 20)
        for _ in range(1024):
            if not self.busy.is_set():
                break
            s.sendall(piece)

    def a_gigabyte_of_lines(self, s, _dice):
        piece = b"\n" * (1 << 20)
        for _ in range(1024):
            if not self.busy.is_set():
                break
            s.sendall(piece)

    def ill_behaved_thread(self, number):
        dice = random.Random(self.args.seed * 77 + number)
        deeds = (self.never_reads, self.garbage, self.half_a_message, self.leaves_at_once,
                 self.a_gigabyte, self.a_gigabyte_of_lines)
        while not self.ending.is_set():
            if self.busy.is_set():
                deed = dice.choices(deeds, (4, 4, 4, 4, 1, 1))[0]
                self.deeds.append(number)
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(60)
                try:
                    s.connect(self.daemon.socket_path)
                    deed(s, dice)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it was sent away: its right
                except OSError as problem:
                    self.error(f"{deed.__name__}: {type(problem).__name__}: {problem}")
                s.close()
                self.deeds.remove(number)
                self.count(deed.__name__)
            self.ending.wait(dice.uniform(5, 15))

    # ---- Watching ----

    def sample_thread(self):
        while not self.ending.wait(5):
            if not self.daemon.alive():
                raise Broken(f"the daemon has gone: {self.daemon.last_words()}")
            if time.time() - self.round_ended > STANDS_STILL:
                raise Broken("the second manual's part stands still")
            memory = self.daemon.memory()
            self.samples.append({
                "phase": PHASES[self.now[0]], "s": time.time() - self.began,
                "anon_mib": memory["RssAnon"] / 1024, "rss_mib": memory["VmRSS"] / 1024,
                "peak_mib": memory["VmHWM"] / 1024, "cpu_s": self.daemon.cpu_seconds(),
                "files": len(os.listdir(f"/proc/{self.daemon.pid}/fd")),
                "load": os.getloadavg()[0],
                "store_mib": os.path.getsize(os.path.join(self.daemon.store, "data.mdb")) / 2**20})

    def hold(self, phase, which, seconds):
        with self.now.get_lock():
            self.now[:] = [PHASES.index(phase), which]
        print(f"{datetime.datetime.now():%H:%M:%S} {phase} {which}, load {os.getloadavg()[0]:.1f}, "
              f"{self.daemon.memory()['RssAnon'] // 1024} MiB, {self.counts}", flush=True)
        self.ending.wait(seconds)

    def start_clients(self):
        """Before there are threads here."""
        words, processes = Words(self.daemon.call("toc", manual="m")), []
        for i in range(PROCESSES):
            here, there = multiprocessing.Pipe()
            clients = Clients(self.args, self.daemon.socket_path, words,
                              range(i, self.args.clients, PROCESSES), self.now, there)
            process = multiprocessing.get_context("fork").Process(target=clients.run, daemon=True)
            process.start()
            processes.append((process, here))
        return processes

    def end_clients(self, processes):
        self.now[0] = -1
        for process, pipe in processes:
            if pipe.poll(200):
                latencies, errors = pipe.recv()
                self.latencies += latencies
                self.errors += errors
            else:
                self.error("clients do not end")
            process.join(10)
        self.now[0] = 0

    def settle(self):
        """Nothing is done but what the clients ask for."""
        self.busy.clear()
        self.hold("settling", 0, 3)
        while (time.time() - self.round_ended > 2 or self.deeds) and not self.ending.is_set():
            self.ending.wait(0.5)
        if not self.ending.is_set():
            self.daemon.call("wait")
            self.ending.wait(5)

    def run(self):
        args = self.args
        self.daemon = Daemon(args.build, self.house, model=args.model)
        start = time.time()
        self.daemon.call("add", dir=self.root, name="m", wait=True)
        print(f"indexed in {time.time() - start:.0f} s, {self.daemon.memory()}", flush=True)
        processes = self.start_clients()
        self.began = self.round_ended = time.time()
        threads = [self.part(self.ill_behaved_thread, i) for i in range(4)]
        threads += [self.part(f) for f in (self.sample_thread, self.editor_thread, self.manuals_thread)]
        part = 0
        try:
            self.hold("first", 0, 10)
            self.hold("rest", 0, args.rest)
            while time.time() - self.began < args.minutes * 60 and not self.ending.is_set():
                self.busy.set()
                self.hold("load", part, args.part * 60)
                self.settle()
                part += 1
                self.hold("rest", part, args.rest)
        finally:
            self.minutes = (time.time() - self.began) / 60
            self.ending.set()
            self.end_clients(processes)
            for thread in threads:
                thread.join(130)
        self.compare()
        self.daemon.stop()

    def compare(self):
        """The same sections as a fresh index, and every edit's word found."""
        if not self.daemon.alive():
            return
        self.daemon.call("wait")
        for name, word in sorted(self.edited.items())[:200]:
            hits = self.daemon.call("search", query=word, manual="m", mode="lexical")["results"]
            if name not in [hit["file"] for hit in hits]:
                self.error(f"{word} is not found in {name}")
        with Daemon(self.args.build, os.path.join(self.house, "fresh"), watch="off") as fresh:
            fresh.call("add", dir=self.root, name="m", wait=True)
            if titles(fresh.call("toc", manual="m")) != titles(self.daemon.call("toc", manual="m")):
                self.error("the toc is not a fresh index's")

    # ---- Report ----

    def latency(self, phase, kind="search", chosen=lambda which, s: True):
        values = [ms for p, which, at, k, ms in self.latencies
                  if PHASES[p] == phase and k == kind and chosen(which, at - self.began)]
        return {"n": len(values), "p50": round(quantile(values, .5), 2),
                "p95": round(quantile(values, .95), 2), "max": round(max(values, default=0), 1)}

    def window(self, since):
        samples = [s for s in self.samples if since <= s["s"] < since + 600]
        return {"from_min": since // 60,
                "anon_mib_median": round(quantile([s["anon_mib"] for s in samples], .5), 1),
                "search": self.latency("load", chosen=lambda _, s: since <= s < since + 600),
                "load_average": round(sum(s["load"] for s in samples) / max(1, len(samples)), 2),
                **{f"{key}_max": round(max((s[key] for s in samples), default=0), 1)
                   for key in ("anon_mib", "rss_mib", "store_mib", "files")}}

    def parts(self):
        """Of each part under load, against the rests before and after it."""
        found = []
        for i in range(1 + max((which for p, which, *_ in self.latencies if PHASES[p] == "load"), default=-1)):
            load = self.latency("load", chosen=lambda which, _, i=i: which == i)
            rest = self.latency("rest", chosen=lambda which, _, i=i: which in (i, i + 1))
            found.append({"load": load, "rest": rest, "ratio": round(load["p95"] / max(.001, rest["p95"]), 2)})
        return found

    def report(self):
        windows = [self.window(600 * i) for i in range(int((self.minutes + 2) // 10))]
        medians = [((w["from_min"] + 5) / 60, w["anon_mib_median"]) for w in windows[1:]]
        ratio = self.latency("load")["p95"] / max(0.001, self.latency("rest")["p95"])
        loads = [s for s in self.samples if s["phase"] == "load"]
        return {"minutes": round(self.minutes, 1), "minutes_of_load": round(len(loads) * 5 / 60, 1),
                "clients": self.args.clients, "seed": self.args.seed,
                "model": os.path.basename(self.args.model), "errors": self.errors, "counts": self.counts,
                **{kind: {p: self.latency(p, kind) for p in ("rest", "load", "settling")}
                   for kind in ("search", "ask", "get", "status")},
                "parts": self.parts(), "p95_ratio": round(ratio, 2),
                "load_average": {p: round(sum(s["load"] for s in self.samples if s["phase"] == p) /
                                          max(1, sum(s["phase"] == p for s in self.samples)), 2)
                                 for p in ("rest", "load")},
                "slope_mib_per_hour": round(slope(medians), 2),
                "peak_mib": max((s["peak_mib"] for s in self.samples), default=0),
                "windows": windows}


def titles(node):
    return [node["title"], node["file"], node["anchor"], [titles(child) for child in node["children"]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--manual", required=True)
    parser.add_argument("--model", default=os.path.join(ROOT, "model/quill"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--part", type=float, default=4, help="minutes under load between two rests")
    parser.add_argument("--rest", type=float, default=25, help="seconds")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-slope", type=float, default=20)
    parser.add_argument("--house", help="a folder that is kept, and used again with what it has indexed")
    parser.add_argument("--report", help="a file for all that was measured, as JSON")
    args = parser.parse_args()
    it = Trial(args)
    try:
        it.run()
    except Exception as problem:
        it.error(f"{type(problem).__name__}: {problem}")
        traceback.print_exc()
    report = it.report()
    print(json.dumps(report, indent=1))
    if args.report:
        with open(args.report, "w") as file:
            json.dump(dict(report, samples=it.samples), file)
    wrong = it.errors[:20]
    if report["minutes"] < args.minutes:
        wrong.append(f"it ended after {report['minutes']} minutes")
    if not report["p95_ratio"] <= MOST_RATIO:
        wrong.append(f"search's 95th percentile is {report['p95_ratio']} x that at rest")
    if args.minutes >= 30 and not report["slope_mib_per_hour"] <= args.most_slope:
        wrong.append(f"memory grows by {report['slope_mib_per_hour']} MiB an hour")
    for what in wrong:
        print(f"FAILED: {what}")
    if not wrong and not args.house:
        shutil.rmtree(it.house)
    else:
        print(f"{it.house} is kept")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
