#!/usr/bin/env python3
"""Questions in German, French, Spanish, Italian, Japanese and Chinese, of GIMP's help and Debian's reference in these languages.

    languages.py fetch DIR              the manuals' packages (Debian 12) into DIR
    languages.py ask DIR SOCKET [HALF]  asks the daemon behind SOCKET, which has each as NAME-LANGUAGE (gimp-de, ...): each question in its
                                        manual and of all at once, and what is refused there and in the other manual; HALF: tune or report

The questions are those of tests/questions/asked, put into the languages by a language model that saw no manual in them
(tests/questions/languages).  Right is the section of the same file and anchor; of a page whose anchors are made anew in each language,
the page.  GIMP's help in Chinese is not asked, for it is in English nearly all.  Those of odd numbers are `tune`.
"""
import json
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = ("de", "fr", "es", "it", "ja", "zh-cn")
NOT_THERE = {("gimp", "zh-cn")}
MANUALS = {"gimp": ("gimp-help-%s", "usr/share/gimp/2.0/help/%s"),
           "debian-reference": ("debian-reference-%s", "usr/share/debian-reference")}


def folder(into, name, language):
    package, path = MANUALS[name]
    return os.path.join(into, package % language, path % language if "%s" in path else path)


def fetch(into):
    for name, (package, _) in MANUALS.items():
        for language in LANGUAGES:
            if (name, language) in NOT_THERE:
                continue
            work = os.path.join(into, package % language)
            os.makedirs(work, exist_ok=True)
            subprocess.run(["apt-get", "-q", "download", package % language], cwd=work, check=True)
            deb = [f for f in os.listdir(work) if f.endswith(".deb")][0]
            subprocess.run(["dpkg", "-x", deb, "."], cwd=work, check=True)
            print(f"lectern add {folder(into, name, language)} -c {name}-{language} --wait")


def lines(*path):
    with open(os.path.join(HERE, "../questions", *path), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Daemon:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")

    def search(self, question, manual=None):
        params = {"query": question, "n": 10}
        if manual:
            params["manual"] = manual
        self.file.write((json.dumps({"jsonrpc": "2.0", "id": 1, "method": "search", "params": params}) + "\n").encode())
        self.file.flush()
        return json.loads(self.file.readline())["result"]


def has_anchor(into, name, language, file, anchor):
    with open(os.path.join(folder(into, name, language), file), encoding="utf-8", errors="replace") as page:
        return f'"{anchor}"' in page.read()


def questions(into, half):
    """(manual, language, question, file, anchor or None)"""
    for language in LANGUAGES:
        for name in MANUALS:
            if (name, language) in NOT_THERE:
                continue
            gold = lines("asked", name + ".jsonl")
            for i, (own, asked) in enumerate(zip(gold, lines("languages", f"{name}.{language}.jsonl"))):
                if half and i % 2 != (half == "report"):
                    continue
                file, anchor = own["file"].replace(".en.html", f".{language}.html"), own.get("anchor")
                if anchor and not has_anchor(into, name, language, file, anchor):
                    anchor = None
                yield name, language, asked["question"], file, anchor


def rank(found, manual, file, anchor):
    for n, hit in enumerate(found["results"], 1):
        if hit["manual"] == manual and hit["file"] == file and anchor in (None, hit.get("anchor")):
            return n
    return None


def show(title, rows):
    share = lambda test: 100 * sum(bool(test(r)) for r in rows) / len(rows)
    print(f"{title:16} {len(rows):4}  {share(lambda r: r[0] == 1):5.1f} / {share(lambda r: r[0] and r[0] <= 3):5.1f} / {share(lambda r: r[0]):5.1f}"
          f"  MRR {sum(1 / r[0] if r[0] else 0 for r in rows) / len(rows):.3f}  refused {share(lambda r: not r[1]):5.1f}")


def ask(into, path, half):
    daemon, own, everywhere, other = Daemon(path), {}, {}, []
    for name, language, question, file, anchor in questions(into, half):
        manual = f"{name}-{language}"
        for rows, found in ((own, daemon.search(question, manual)), (everywhere, daemon.search(question))):
            rows.setdefault(language, []).append((rank(found, manual, file, anchor), found["confident"]))
        another = [n for n in MANUALS if n != name][0]
        if (another, language) not in NOT_THERE:
            other.append((None, daemon.search(question, f"{another}-{language}")["confident"]))
    for title, rows in (("in its manual", own), ("of all", everywhere)):
        for language in LANGUAGES:
            show(f"{title}, {language}", rows[language])
        show(title, sum(rows.values(), []))
    print(f"of the other manual: refused {100 * sum(not r[1] for r in other) / len(other):.1f}")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("fetch", "ask"):
        sys.exit(__doc__)
    fetch(sys.argv[2]) if sys.argv[1] == "fetch" else ask(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None)
