"""What the end-to-end tests share: a private daemon, pages to index, and the list of tests."""
import contextlib
import json
import os
import shutil
import socket
import struct
import sys
import time

from e2e import writing_model
from harness.home import Home

BUILD, MANUAL = (os.path.abspath(path) for path in sys.argv[1:3])
LECTERN = os.path.join(BUILD, "lectern")
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "../golden")
MODEL = os.path.join(GOLDEN, "models/memory")
QUILL = os.path.join(HERE, "../../model/quill")

# ---- Tests ----

TESTS = {}  # name: function, in the order in which they stand


def test(function):
    """Lists a function as a test."""
    if function.__name__ in TESTS:
        raise SystemExit(f"two tests are called {function.__name__}")
    TESTS[function.__name__] = function
    return function


class Failure(Exception):
    pass


class Skip(Exception):
    """What a test needs is not there."""


def check(truth, what):
    if not truth:
        raise Failure(what)


# ---- A daemon of one's own ----

# Parts of the manual: what most tests index, and a few pages for models.
SMALL = ("index", "tutorial", "ddl", "indexes", "sql-abort", "sql-createindex",
         "runtime-config", "bookindex", "legalnotice", "preface")
FEW = ("ddl", "indexes")

# Seconds for what is waited for, less than until a daemon looks at its folders unasked.
PATIENCE = 240


def is_sanitized(program):
    with open(os.path.join(BUILD, program), "rb") as file:
        return b"__asan_init" in file.read()


class House(Home):
    """A home whose commands must end as expected, with parts of a manual and models to use."""

    def __init__(self):
        super().__init__(BUILD, model=None, prefix="lectern-e2e-")
        self.configure(watch="off")  # most tests say themselves when to look

    def run(self, *args, code=0, store=True, stdin=None):
        done = super().run(*args, store=store, seconds=PATIENCE, text=True, input=stdin)
        if code is not None:
            check(done.returncode == code,
                  f"{' '.join(args)}: exit {done.returncode}, not {code}\n"
                  f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def json(self, *args, code=0):
        return json.loads(self.run(*args, "--json", code=code).stdout)

    def part(self, prefixes=SMALL, name="manual"):
        """A copy of the manual's pages whose names start so."""
        folder = os.path.join(self.path, name)
        os.makedirs(folder, exist_ok=True)
        for page in os.listdir(MANUAL):
            if page.endswith(".html") and page.startswith(prefixes):
                shutil.copy(os.path.join(MANUAL, page), folder)
        return folder

    def copy_model(self):
        """A model of random weights in a folder of its own."""
        self.model = os.path.join(self.path, "model")
        os.makedirs(self.model)
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            shutil.copy(os.path.join(MODEL, name), self.model)

    def copy_hils(self):
        """The folder of a model of random weights that was made for HiLS."""
        folder = os.path.join(self.path, "models", "hils")
        os.makedirs(folder)
        for source in ("hils-memory/config.json", "hils-memory/model.safetensors", "memory/tokenizer.json"):
            shutil.copy(os.path.join(GOLDEN, "models", source), folder)
        return folder

    def broken_reranker(self):
        """The folder of a reranker whose scores are no numbers."""
        folder = os.path.join(self.path, "broken")
        shutil.copytree(os.path.join(GOLDEN, "models/bert-rerank"), folder)
        with open(os.path.join(folder, "model.safetensors"), "r+b") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            at = json.loads(file.read(size))["classifier.bias"]["data_offsets"][0]
            file.seek(8 + size + at)
            file.write(struct.pack("<f", float("nan")))
        return folder

    def manual(self, name):
        return next(m for m in self.json("status")["manuals"] if m["name"] == name)

    def until(self, reached, what):
        """Waits until reached() is true, and returns that."""
        end = time.time() + PATIENCE
        while time.time() < end:
            found = reached()
            if found:
                return found
            time.sleep(0.05)
        raise Failure(f"not in {PATIENCE} s: {what}")

    def stop(self):
        self.run("daemon", "--stop", code=None)

    def close(self):
        self.stop()
        log = os.path.join(self.store, "lecternd.log")
        text = open(log, errors="replace").read() if os.path.exists(log) else ""
        shutil.rmtree(self.path, ignore_errors=True)
        for bad in ("AddressSanitizer", "runtime error:", "LeakSanitizer",
                    "ThreadSanitizer"):
            check(bad not in text, f"the daemon's log has a report:\n{text[-6000:]}")


@contextlib.contextmanager
def house():
    it = House()
    try:
        yield it
    finally:
        it.close()


@contextlib.contextmanager
def written(text, **answering):
    """A house with a model that always writes `text`, and a manual about zebras."""
    with house() as h:
        h.model = writing_model.make(os.path.join(h.path, "writer"), text, **answering)
        h.write("m/a.html", page("Animals", "<p>The zebra eats <b>fresh</b> grass in the morning.</p>"))
        h.write("m/b.html", page("Plants", "<p>Fresh grass is green.</p><p>It grows.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        yield h


def talk(h, data, wait=PATIENCE):
    """Sends bytes to the socket, returns what comes back."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(wait)
    s.connect(h.socket)
    got = b""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        s.sendall(data)
    with contextlib.suppress(socket.timeout, ConnectionResetError):
        while not got.endswith(b"\n"):
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
    s.close()
    return got


# ---- What it says, and what it reads ----

def walk(node):
    yield node
    for child in node["children"]:
        yield from walk(child)


def find(toc, title):
    found = [node for node in walk(toc) if node["title"] == title]
    check(found, f"no {title!r} in the toc")
    return found[0]


def whole(h):
    """All that a manual shows, without its ids: for comparing two houses."""
    nodes = []
    for node in walk(h.json("toc", "-c", "m")):
        got = h.json("get", node["id"])
        refs = [(ref["text"], ref["url"], ref["node"] is not None) for ref in got["refs"]]
        nodes.append((got["path"], node["level"], node["file"], node["anchor"],
                      node["origins"], got["blocks"], refs))
    searches = [[(hit["path"], hit["file"], hit["span"], round(hit["score"], 9)) for hit in
                 h.json("search", question, "-c", "m", "-n", "30")["results"]]
                for question in ("index", "partial index predicate", "CREATE TABLE", "zebra")]
    return nodes, searches


PAGE = "<html><head><title>%s</title></head><body><h1>%s</h1>%s</body></html>"


def page(title, body):
    return PAGE % (title, title, body)
