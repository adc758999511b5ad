"""What the checks of HTML reading share: the list of manuals, their files, what Lectern makes of a file.

Lectern is seen only through `build/trees`, one JSON object a file.
"""
import argparse
import concurrent.futures
import contextlib
import gzip
import hashlib
import itertools
import json
import os
import pickle
import random
import re
import subprocess
import tempfile
import threading
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "..", "..", "manuals.txt")
ENDINGS = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz", ".xhtml.gz")


class Manual:
    def __init__(self, name, package, inside, generator, remark, folder):
        self.name, self.package, self.inside = name, package, inside
        self.generator, self.remark = generator, remark
        self.root = os.path.join(folder, name)

    def files(self):
        """Paths relative to the root, sorted; what is met twice through links counts once."""
        found, seen = [], set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names):
                path = os.path.join(folder, name)
                real = os.path.realpath(path)
                if name.startswith(".") or not name.lower().endswith(ENDINGS) or not os.path.isfile(real):
                    continue
                if os.path.islink(path) and real.startswith(os.path.realpath(self.root) + os.sep):
                    continue
                if real not in seen:
                    seen.add(real)
                    found.append(os.path.relpath(path, self.root))
        return sorted(found)

    def sample(self, most, seed=4):
        files = self.files()
        if most and len(files) > most:
            files = sorted(random.Random(seed).sample(files, most))
        return files


def read_list(folder, names=(), path=LIST):
    manuals = []
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            if line.strip() and not line.startswith("#"):
                manual = Manual(*line.strip().split(None, 4), folder)
                if not names or manual.name in names:
                    manuals.append(manual)
    return manuals


def read_bytes(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as stream:
        return stream.read()


def squeeze(text):
    return " ".join(text.split())


def fold(text):
    """For comparing: compatibility forms, no case, one space, no soft hyphens."""
    text = unicodedata.normalize("NFKC", text).replace("\u00ad", "").replace("\u200b", "")
    return squeeze(text).casefold()


# ---- Encodings, as HTML5 decides them; but what is mostly UTF-8 is no windows-1252, whatever it says ----

CHARSET = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
XML = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9_.:-]+)""")


def encoding_of(data):
    if data.startswith(b"\xef\xbb\xbf"):
        return "utf-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    said = XML.search(data[:1024]) or CHARSET.search(data[:4096])
    name = said.group(1).decode().lower() if said else "utf-8"
    if name in ("iso-8859-1", "latin1", "us-ascii", "ascii", "iso8859-1"):
        name = "cp1252"
    if name.startswith("utf-16"):
        name = "utf-8"
    try:
        "".encode(name)
    except LookupError:
        name = "utf-8"
    if name in ("utf-8", "cp1252"):
        text = data.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        if not bad or sum(c > "\x7f" for c in text) > 2 * bad:
            return "utf-8"
        return "cp1252" if not said else name
    return name


def read_text(path):
    data = read_bytes(path)
    return data.decode(encoding_of(data), "replace")


# ---- Lectern ----

def trees(build, manual, files):
    """Yields (file, what `build/trees` prints of it) in the order of `files`."""
    with tempfile.TemporaryDirectory() as folder:
        def place(index, file):
            path = os.path.join(manual.root, file)
            if not file.endswith(".gz"):
                return path
            plain = os.path.join(folder, f"{index}.html")
            with open(plain, "wb") as stream:
                stream.write(read_bytes(path))
            return plain

        def feed(stream):
            """Ahead of what is read, so that nobody waits for the other."""
            with contextlib.suppress(BrokenPipeError), stream:
                for index, file in enumerate(files):
                    stream.write(place(index, file).encode() + b"\n")

        command = [os.path.join(build, "trees"), os.path.join(build, "lectern-parse")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            feeder = threading.Thread(target=feed, args=(process.stdin,), daemon=True)
            feeder.start()
            for file in files:
                line = process.stdout.readline()
                if not line:
                    raise SystemExit(f"trees ended at {file}")
                yield file, json.loads(line)
            feeder.join()


# ---- Running other programs, remembering what they said ----

class Memory:
    """Results of slow programs, kept by (what, file's bytes) in a folder."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def get(self, what, path, compute):
        with open(path, "rb") as stream:
            digest = hashlib.sha256(what.encode() + b"\0" + stream.read()).hexdigest()
        kept = os.path.join(self.folder, digest[:2], digest[2:])
        try:
            with open(kept, "rb") as stream:
                return pickle.load(stream)
        except (OSError, EOFError, pickle.UnpicklingError):
            pass
        value = compute(path)
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(f"{kept}.{os.getpid()}", "wb") as stream:
            pickle.dump(value, stream)
        os.replace(f"{kept}.{os.getpid()}", kept)
        return value


def in_parallel(jobs, function, items):
    """Like map, a few at a time, in order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting, items = [], iter(items)
        for item in itertools.islice(items, jobs * 2):
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.pop(0).result()
            for item in itertools.islice(items, 1):
                waiting.append(pool.submit(function, item))


# ---- Command line ----

def arguments(description, **more):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", help="where tests/manuals.sh unpacked the manuals")
    parser.add_argument("names", nargs="*", help="of manuals; default: all")
    parser.add_argument("--list", default=LIST, help="of the manuals; default: tests/manuals.txt")
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--sample", type=int, default=0, help="files a manual; 0: all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", help="folder for what other programs said; default: FOLDER/cache")
    parser.add_argument("--details", help="file for every difference, one JSON object a line")
    for name, options in more.items():
        parser.add_argument("--" + name, **options)
    args = parser.parse_args()
    args.manuals = read_list(args.folder, args.names, args.list)
    args.memory = Memory(args.cache or os.path.join(args.folder, "cache"))
    return args
