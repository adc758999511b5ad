#!/usr/bin/env python3
"""Random damage to a store: it is told, or does no harm, but never a wrong or an empty answer.

    damage.py [--build build/release] [--manual build/manuals/postgresql] [--damages 300] [--seed 1] [--rare]

The manual is indexed once.  Each damage changes a copy of its store: a bit, a byte, a page of
zeros, a page of noise, a page in another's place, or the end is cut off; with --rare a bit in or
beside the record of a word that stands in one section, which is searched.  A daemon with 512 MB of
memory then answers searches, questions, toc and get, verifies, compacts, and answers again.  What it
answers is held against the undamaged store's answers, every quote against the manual's files.

The outcomes, the worst of a damage counts:

    clean      every answer is the undamaged store's, and verify finds nothing
    found      the same, but verify finds faults
    other      an answer differs, in order or extent, all that it shows is true
    told       an error, or a remark, that names the store or the manual
    assertion  the process ends by an assertion of LMDB

Forbidden, so that the trial fails: another end of the process, memory beyond the limit, no answer in
time, an answer "nothing" where there is one, a text or a quote that is not the manual's, an error that
does not say what is damaged.  --keep DIR keeps those stores.
"""
import argparse
import collections
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from harness.daemon import ROOT, Broken, Daemon, Refused
from quotes import judge
from stores import walk

PAGE, HEAD = 4096, 160
LIMIT = 512 << 20
PATIENCE = 120  # seconds for an answer
SEARCHES = ("partial index", "vacuum full", "create trigger", "wal_level", "how do I make a backup of one table",
            "autovacuum_naptime", "pg_stat_replication", "lateral join")
QUESTIONS = ("what is a partial index", "how do I create a trigger")
SECTIONS = 25  # that are read
RARE = 20      # words of one section each that are searched
OUTCOMES = ("clean", "found", "other", "told", "assertion", "FORBIDDEN")
TELLS = re.compile(r"\bstore\b|\bmanual m\b")


class Forbidden(Exception):
    """What must not come of any damage."""


# ---- Damages: each changes the file's bytes and says what it did ----

def place(data, dice):
    """A byte: half of them anywhere, a quarter where any page begins, which is its bookkeeping, and a
    quarter where one of the first two begins, from which LMDB finds all others."""
    page = dice.randrange(dice.choice((len(data) // PAGE, 2)))
    return dice.choice((dice.randrange(len(data)), page * PAGE + dice.randrange(HEAD)))


def a_bit(data, dice):
    at, bit = place(data, dice), dice.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at}"


def a_byte(data, dice):
    at = place(data, dice)
    old = data[at]
    data[at] = dice.choice([value for value in range(256) if value != old])
    return f"byte {at}: {old} is {data[at]}"


def a_page_of_zeros(data, dice):
    at = dice.randrange(len(data) // PAGE) * PAGE
    data[at:at + PAGE] = bytes(PAGE)
    return f"page {at // PAGE} is zeros"


def a_page_of_noise(data, dice):
    at = dice.randrange(len(data) // PAGE) * PAGE
    data[at:at + PAGE] = dice.randbytes(PAGE)
    return f"page {at // PAGE} is noise"


def a_page_of_another_place(data, dice):
    at, other = (dice.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[at:at + PAGE] = data[other:other + PAGE]
    return f"page {at // PAGE} is page {other // PAGE}"


def the_end(data, dice):
    size = dice.randrange(len(data)) if dice.random() < 0.5 else len(data) - PAGE * dice.randrange(1, 5)
    del data[size:]
    return f"cut off at {size}"


def a_bit_of_a_rare_word(data, dice, words):
    """In the record of what has the word: behind its key, or in it."""
    places = [found.start() for found in re.finditer("|".join(word[:-1] for word in words).encode(), data)]
    at, bit = dice.choice(places) + dice.randrange(-8, 20), dice.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at}, {bytes(data[at - 16:at + 16])}"


DAMAGES = (a_bit, a_byte, a_page_of_zeros, a_page_of_noise, a_page_of_another_place, the_end)


def damage(data, dice, words):
    if words:
        return "a_bit_of_a_rare_word: " + a_bit_of_a_rare_word(data, dice, words)
    kind = dice.choice(DAMAGES)
    return f"{kind.__name__}: {kind(data, dice)}"


# ---- What is asked ----

def hits(result):
    return [(hit["path"], hit["text"], hit["file"], hit["span"]) for hit in result["results"]]


def citations(result):
    return [(c["path"], c["quote"], c["file"], c["span"]) for c in result["citations"]]


def titles(result):
    return [(node["title"], node["file"], tuple(node["span"] or ())) for node in walk(result)]


def section(result):
    return (result["title"], result["path"],
            [(block["text"], block["file"], block["span"]) for block in result["blocks"]])


def manuals(result):
    return [(m["name"], m["files"], m["nodes"], m["failed"]) for m in result["manuals"]]


class Whole:
    """What the undamaged store answers."""

    def __init__(self, daemon):
        self.root = os.path.realpath(daemon.call("status")["manuals"][0]["root"])
        self.generation = daemon.call("status")["generation"]
        toc = daemon.call("toc")
        self.titles = titles(toc)
        nodes = [node["id"] for node in walk(toc)]
        self.sections = {node: section(daemon.call("get", node=node)) for node in nodes}
        self.texts = {(path_of(s), squeeze(" ".join(text for text, *_ in s[2]))) for s in self.sections.values()}
        self.nodes = nodes[::1 + len(nodes) // SECTIONS]
        self.rare = self.rare_words()
        self.asked = self.list_calls()
        self.answers = [extract(daemon.call(verb, **params)) for verb, params, extract in self.asked]
        if not all(self.answers):
            raise Broken("a question that the undamaged store does not answer")

    def rare_words(self):
        """Their records are a few bytes each."""
        sections = collections.defaultdict(set)
        for number, (_, text) in enumerate(sorted(self.texts)):
            for word in set(re.findall(r"\b[a-z]{6,9}\b", text)):
                sections[word].add(number)
        words = sorted(word for word, where in sections.items() if len(where) == 1)
        return words[::1 + len(words) // RARE]

    def list_calls(self):
        return ([("status", {}, manuals), ("toc", {}, titles)] +
                [("search", {"query": query, "n": 5}, hits) for query in SEARCHES] +
                [("search", {"query": word, "n": 5}, hits) for word in self.rare] +
                [("search", {"query": SEARCHES[0], "manual": "m", "mode": "lexical"}, hits)] +
                [("ask", {"query": query}, citations) for query in QUESTIONS] +
                [("get", {"node": node}, section) for node in self.nodes])

    def check_true(self, verb, result):
        """All that an answer shows stands in the manual."""
        if verb == "toc" and set(titles(result)) - set(self.titles):
            raise Forbidden("toc shows a title that is not there")
        if verb == "get" and section(result) != self.sections.get(result["id"]):
            raise Forbidden(f"get: a wrong text of {result['id']}")
        for hit in result["results"] if verb == "search" else ():
            if (tuple(hit["path"]), squeeze(hit["text"])) not in self.texts:
                raise Forbidden(f"search: a wrong text of {hit['node']}")
        for citation in result["citations"] if verb == "ask" else ():
            verdict = judge(self.root, citation)
            if not verdict.startswith("equal"):
                raise Forbidden(f"ask: a wrong quote, {verdict}")


def path_of(found):
    return tuple(found[1])


def squeeze(text):
    return " ".join(text.split())


# ---- One damage ----

class Trial:
    def __init__(self, args, whole, data, number):
        self.args, self.whole = args, whole
        self.dice = random.Random(f"{args.seed} {number}")
        self.house = tempfile.mkdtemp(prefix="lectern-damage-")
        self.store = os.path.join(self.house, "store")
        os.makedirs(self.store, 0o700)
        data = bytearray(data)
        self.what = f"{number}, {damage(data, self.dice, args.rare and whole.rare)}"
        with open(os.path.join(self.store, "data.mdb"), "wb") as file:
            file.write(data)
        self.seen = {"clean"}
        self.said = []
        self.peak = 0

    def tell(self, message):
        """An error or a remark: it must say what is damaged."""
        if not TELLS.search(message):
            raise Forbidden(f"an error that names nothing: {message}")
        self.seen.add("told")
        self.said.append(message)

    def judge_end(self, daemon):
        """The process is gone: by whose hand?"""
        code = daemon.process.wait(30)
        words = daemon.last_words(2000).strip()
        last = words.splitlines()[-1] if words else ""
        if code == -signal.SIGABRT and "Assertion '" in words and "mdb.c" in words:
            self.seen.add("assertion")
            self.said.append(last)
        elif code == 6:
            self.tell(last)
        else:
            raise Forbidden(f"the daemon ended with {code}: {last}")

    def ask(self, daemon, verb, params, extract, expected):
        try:
            result = daemon.call(verb, **params)
        except Refused as refusal:
            self.refused(daemon, verb, refusal)
            return
        for part in result.get("damaged", ()):
            self.tell(f"manual {part['manual']} is left out: {part['reason']}")
        found = extract(result)
        if found == expected:
            return
        if not found and "damaged" not in result:
            raise Forbidden(f"{verb} {params}: nothing")
        self.whole.check_true(verb, result)
        self.seen.add("other")
        self.said.append(f"{verb} {params}: {len(found)} of {len(expected)}")

    def refused(self, daemon, verb, refusal):
        code = refusal.error["data"]["code"]
        if code == "not_found" and self.made_anew(daemon):
            self.seen.add("other")
            self.said.append(f"{verb}: {refusal.error['message']}")
            return
        if code != "store":
            raise Forbidden(f"{verb}: {code}, {refusal.error['message']}")
        self.tell(refusal.error["message"])

    def made_anew(self, daemon):
        """From its files, since its contents were lost: sections have other numbers."""
        return daemon.call("status")["generation"] > self.whole.generation

    def care(self, daemon):
        for verb in ("verify", "compact"):
            try:
                result = daemon.call(verb)
                if result.get("fault_count"):
                    self.seen.add("found")
                    self.said.append(f"verify: {result['faults'][0]['what']}")
            except Refused as refusal:
                self.refused(daemon, verb, refusal)

    def ask_all(self, daemon):
        for (verb, params, extract), expected in zip(self.whole.asked, self.whole.answers):
            self.ask(daemon, verb, params, extract, expected)

    def run_daemon(self):
        daemon = Daemon(self.args.build, self.house, wait=False, watch="off",
                        prefix=("prlimit", f"--data={LIMIT}", "--core=0"))
        try:
            self.talk(daemon)
        finally:
            if daemon.alive():
                daemon.kill()

    def talk(self, daemon):
        try:
            daemon.reach()
        except Broken:
            if daemon.alive():
                raise Forbidden("the daemon does not answer at its start") from None
            return self.judge_end(daemon)
        try:
            daemon.client.socket.settimeout(PATIENCE)
            self.ask_all(daemon)
            self.care(daemon)
            self.ask_all(daemon)
            self.peak = daemon.memory()["VmHWM"] << 10
            if self.peak > LIMIT:
                raise Forbidden(f"{self.peak} bytes of memory")
            daemon.stop()
        except TimeoutError:
            raise Forbidden(f"no answer in {PATIENCE} s") from None
        except (OSError, ValueError):
            return self.judge_end(daemon)
        return None

    def run(self):
        """(outcome, what was done, what was said)"""
        try:
            self.run_daemon()
            outcome = max(self.seen, key=OUTCOMES.index)
        except (Forbidden, Refused, Broken) as problem:
            outcome, self.said = "FORBIDDEN", [f"{type(problem).__name__}: {problem}"]
            if self.args.keep:
                shutil.copytree(self.house, os.path.join(self.args.keep, self.what.split(",")[0]),
                                dirs_exist_ok=True, ignore=shutil.ignore_patterns("s"))
        shutil.rmtree(self.house, ignore_errors=True)
        return outcome, self.what, self.said, self.peak


# ---- All of them ----

def index(args, house):
    """The undamaged store's bytes, and what it answers."""
    root = os.path.join(house, "m")
    shutil.copytree(args.manual, root)
    with Daemon(args.build, house, watch="off") as daemon:
        daemon.call("add", dir=root, name="m", wait=True)
        whole = Whole(daemon)
        if args.compacted:
            daemon.call("compact")
        store = daemon.store
    with open(os.path.join(store, "data.mdb"), "rb") as file:
        return file.read(), whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--manual", default=os.path.join(ROOT, "build/manuals/postgresql"))
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of damages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rare", action="store_true", help="single bits at records of words that are searched")
    parser.add_argument("--compacted", action="store_true", help="no free pages, which damage does not hurt")
    parser.add_argument("--keep", help="folder for the stores of forbidden outcomes")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    house = tempfile.mkdtemp(prefix="lectern-damage-")
    counts, start, peak = collections.Counter(), time.time(), 0
    try:
        data, whole = index(args, house)
        print(f"a store of {len(data) >> 10} KiB, {len(whole.titles)} sections, {len(whole.asked)} calls", flush=True)
        numbers = args.only or range(args.damages)
        with ThreadPoolExecutor(args.jobs) as pool:
            for outcome, what, said, memory in pool.map(lambda n: Trial(args, whole, data, n).run(), numbers):
                counts[outcome] += 1
                peak = max(peak, memory)
                if outcome == "FORBIDDEN" or args.verbose:
                    print(f"{outcome}  {what}: {said[0] if said else ''}", flush=True)
    finally:
        shutil.rmtree(house, ignore_errors=True)
    print(f"damage: seed {args.seed}, {sum(counts.values())} damages in {time.time() - start:.0f} s, " +
          ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES) +
          f"; {peak >> 20} MiB of memory at most")
    return 1 if counts["FORBIDDEN"] else 0


if __name__ == "__main__":
    sys.exit(main())
