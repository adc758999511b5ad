#!/usr/bin/env python3
"""Many clients for an hour: no error, memory flat, search nearly as quick as at rest.

    load.py --manual HTMLDIR [--build build] [--model model/quill-0] [--minutes 60] [--parts 3] [--rest 3]
            [--clients 32] [--seed 1] [--house DIR] [--report FILE.json]

A daemon watches a copy of the manual.  Clients each hold a connection and ask, think, ask: mostly
searches, some `ask`, `get`, `toc`, `status`.  First for --rest minutes with nothing else going on,
then for --minutes in --parts while pages are edited every few seconds, a second manual is added,
updated by force and removed, and ill-behaved clients come and go: one that never reads, garbage,
half a message, a gigabyte without an end.  After each part it is at rest again: the machine may be
a busy one, and what search takes at rest is measured in the same hour.

It fails (exit 1) on any error, on a daemon that is another one, if anonymous memory grows by more
than --most-slope MiB an hour over the second half, if search's 95th percentile under load is more
than 3 x that at rest, or if the index in the end is not what a fresh one is.
"""
import argparse
import contextlib
import datetime
import json
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import threading
import time

from daemon import ROOT, Broken, Daemon, Refused

MOST_RATIO = 3
THINK = (2.0, 4.0)  # seconds between an answer and the next request
EDIT = (3.0, 6.0)
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
        self.phase, self.ending = "first", threading.Event()
        self.busy = threading.Event()  # edits and ill-behaved clients are on
        self.latencies = []            # phase, seconds since its start, kind, ms
        self.counts, self.errors, self.samples = {}, [], []
        self.phase_start, self.spent = time.time(), {}
        self.began = self.phase_start
        self.edited = {}               # page -> its last word

    def note(self, kind, ms):
        with self.lock:
            self.latencies.append((self.phase, time.time() - self.phase_start, kind, ms))

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def error(self, what):
        with self.lock:
            self.errors.append(f"{self.phase} +{time.time() - self.phase_start:.0f} s: {what}")
        print("ERROR", what, flush=True)

    # ---- Those who behave ----

    def one_request(self, client, dice):
        kind = dice.choices(("search", "ask", "get", "toc", "status"), (70, 12, 10, 4, 4))[0]
        start = time.perf_counter()
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
        self.note(kind, (time.perf_counter() - start) * 1000)

    def client_thread(self, number):
        dice = random.Random(self.args.seed * 1000 + number)
        time.sleep(dice.random() * THINK[1])
        client = self.daemon.connect(timeout=120)
        while not self.ending.is_set():
            try:
                self.one_request(client, dice)
            except (OSError, Refused, ValueError, KeyError) as problem:
                self.error(f"client {number}: {type(problem).__name__}: {problem}")
                client.close()
                with contextlib.suppress(OSError):
                    client = self.daemon.connect(timeout=120)
            self.ending.wait(dice.uniform(*THINK))
        client.close()

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
        """A second manual comes, is read again by force, and goes; sometimes the store is compacted."""
        client, dice = self.daemon.connect(), random.Random(self.args.seed + 7)
        while not self.ending.is_set():
            if not self.busy.is_set():
                self.ending.wait(1)
                continue
            try:
                client.call("add", dir=self.second, name="second", wait=True)
                client.call("update", manual="second", force=True, wait=True)
                self.ending.wait(dice.uniform(5, 30))
                client.call("rm", manual="second")
                self.count("manuals added, forced and removed")
                if dice.random() < 0.1:
                    client.call("compact")
                    self.count("compactions")
            except (OSError, Refused) as problem:
                self.error(f"second manual: {problem}")
                client.close()
                client = self.daemon.connect()
            self.ending.wait(dice.uniform(5, 30))

    # ---- Those who do not ----

    def never_reads(self, s, dice):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "toc",
                           "params": {"manual": "m"}}).encode() + b"\n"
        s.settimeout(2)
        with contextlib.suppress(socket.timeout):
            for _ in range(200):
                s.sendall(line)
        self.ending.wait(dice.uniform(10, 40))

    def garbage(self, s, dice):
        for _ in range(50):
            s.sendall(dice.randbytes(dice.randrange(1, 4000)) + b"\n")
            time.sleep(0.01)

    def half_a_message(self, s, dice):
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"sea')
        self.ending.wait(dice.uniform(1, 60))

    def leaves_at_once(self, s, _dice):
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ask","params":{"query":"What is VACUUM?"}}\n' * 20)

    def a_gigabyte(self, s, _dice):
        piece = b"x" * (1 << 20)
        for _ in range(1024):
            s.sendall(piece)

    def a_gigabyte_of_lines(self, s, _dice):
        piece = b"\n" * (1 << 20)
        for _ in range(1024):
            s.sendall(piece)

    def ill_behaved_thread(self, number):
        dice = random.Random(self.args.seed * 77 + number)
        deeds = (self.never_reads, self.garbage, self.half_a_message, self.leaves_at_once,
                 self.a_gigabyte, self.a_gigabyte_of_lines)
        while not self.ending.is_set():
            if self.busy.is_set():
                deed = dice.choices(deeds, (4, 4, 4, 4, 1, 1))[0]
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
                self.count(deed.__name__)
            self.ending.wait(dice.uniform(5, 15))

    # ---- Watching ----

    def sample_thread(self):
        while not self.ending.wait(5):
            if not self.daemon.alive():
                self.error(f"the daemon has gone: {self.daemon.last_words()}")
                self.ending.set()
                return
            memory = self.daemon.memory()
            self.samples.append({
                "phase": self.phase, "s": time.time() - self.phase_start,
                "all_s": time.time() - self.began,
                "anon_mib": memory["RssAnon"] / 1024, "rss_mib": memory["VmRSS"] / 1024,
                "peak_mib": memory["VmHWM"] / 1024, "cpu_s": self.daemon.cpu_seconds(),
                "files": len(os.listdir(f"/proc/{self.daemon.pid}/fd")),
                "load": os.getloadavg()[0],
                "store_mib": os.path.getsize(os.path.join(self.daemon.store, "data.mdb")) / 2**20})

    def begin(self, phase):
        """Seconds of a phase go on where its last part ended."""
        with self.lock:
            self.spent[self.phase] = time.time() - self.phase_start
            self.phase, self.phase_start = phase, time.time() - self.spent.get(phase, 0)
        print(f"{datetime.datetime.now():%H:%M:%S} {phase}, load {os.getloadavg()[0]:.1f}", flush=True)

    def hold(self, phase, minutes):
        self.begin(phase)
        self.ending.wait(minutes * 60)

    def run(self):
        args = self.args
        self.daemon = Daemon(args.build, self.house, model=args.model)
        start = time.time()
        self.daemon.call("add", dir=self.root, name="m", wait=True)
        print(f"indexed in {time.time() - start:.0f} s, {self.daemon.memory()}", flush=True)
        self.words = Words(self.daemon.call("toc", manual="m"))
        # daemon.call is the main thread's own connection.
        threads = [threading.Thread(target=self.client_thread, args=(i,)) for i in range(args.clients)]
        threads += [threading.Thread(target=self.ill_behaved_thread, args=(i,)) for i in range(4)]
        threads += [threading.Thread(target=f) for f in
                    (self.sample_thread, self.editor_thread, self.manuals_thread)]
        for thread in threads:
            thread.daemon = True
            thread.start()
        try:
            self.hold("rest", args.rest)
            for part in range(args.parts):
                self.busy.set()
                self.hold("load", args.minutes / args.parts)
                self.busy.clear()
                self.begin("settling")
                self.ending.wait(20)  # ill-behaved clients let go
                self.daemon.call("wait")
                self.hold("rest", args.rest)
        finally:
            self.ending.set()
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

    def latency(self, phase, kind="search", since=0, before=1e9):
        values = [ms for p, s, k, ms in self.latencies if p == phase and k == kind and since <= s < before]
        return {"n": len(values), "p50": round(quantile(values, .5), 2),
                "p95": round(quantile(values, .95), 2), "max": round(max(values, default=0), 1)}

    def window(self, since):
        samples = [s for s in self.samples if s["phase"] == "load" and since <= s["s"] < since + 600]
        return {"from_min": since // 60,
                "p50_mib": round(quantile([s["anon_mib"] for s in samples], .5), 1),
                "search": self.latency("load", since=since, before=since + 600),
                "load_average": round(sum(s["load"] for s in samples) / max(1, len(samples)), 2),
                **{key: round(max((s[key] for s in samples), default=0), 1)
                   for key in ("anon_mib", "rss_mib", "store_mib", "files")}}

    def report(self):
        second_half = [(s["all_s"] / 3600, s["anon_mib"]) for s in self.samples
                       if s["phase"] == "load" and s["s"] > self.args.minutes * 30]
        ratio = self.latency("load")["p95"] / max(0.001, self.latency("rest")["p95"])
        return {"minutes": self.args.minutes, "clients": self.args.clients, "seed": self.args.seed,
                "model": os.path.basename(self.args.model), "errors": self.errors, "counts": self.counts,
                "search": {p: self.latency(p) for p in ("rest", "load")},
                **{kind: {p: self.latency(p, kind) for p in ("rest", "load")} for kind in ("ask", "get", "status")},
                "rests": [dict(self.latency("rest", since=60 * self.args.rest * i,
                                            before=60 * self.args.rest * (i + 1)))
                          for i in range(self.args.parts + 1)],
                "load_average": {p: round(sum(s["load"] for s in self.samples if s["phase"] == p) /
                                          max(1, sum(s["phase"] == p for s in self.samples)), 2)
                                 for p in ("rest", "load")},
                "p95_ratio": round(ratio, 2),
                "slope_mib_per_hour": round(slope(second_half), 2),
                "peak_mib": max((s["peak_mib"] for s in self.samples), default=0),
                "windows": [self.window(600 * i) for i in range(int((self.args.minutes + 9.99) // 10))]}


def titles(node):
    return [node["title"], node["file"], node["anchor"], [titles(child) for child in node["children"]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--manual", required=True)
    parser.add_argument("--model", default=os.path.join(ROOT, "model/quill-0"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--rest", type=float, default=3, help="minutes, before and after each part")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-slope", type=float, default=20)
    parser.add_argument("--house", help="a folder that is kept, and used again with what it has indexed")
    parser.add_argument("--report", help="a file for all that was measured, as JSON")
    args = parser.parse_args()
    it = Trial(args)
    try:
        it.run()
    except (Broken, Refused, OSError) as problem:
        it.error(f"{type(problem).__name__}: {problem}")
    report = it.report()
    print(json.dumps(report, indent=1))
    if args.report:
        with open(args.report, "w") as file:
            json.dump(dict(report, samples=it.samples), file)
    wrong = it.errors[:20]
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
