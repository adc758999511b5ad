#!/usr/bin/env python3
"""Are the manual pages right?

    man.py BUILD-FOLDER MAN-FOLDER

MAN-FOLDER holds the pages as `make man` makes them: mandoc finds nothing to say about them, each refers to the
others, and what mandoc prints has every verb and option of the help, every key of the configuration and every
verb of the protocol.  Says SKIP where there is no mandoc.  Exit code 1: something is not so.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGES = ("lectern.1", "lecternd.8", "lectern.ini.5", "lectern-json.7")


def shown(page):
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=200", page], capture_output=True, text=True, check=True).stdout
    return re.sub(".\x08", "", text).replace("\xa0", " ")


def lint(pages):
    """But for pages that are not installed here, of which each must be one of ours."""
    said = subprocess.run(["mandoc", "-T", "lint", *pages], capture_output=True, text=True, check=False).stdout
    for line in said.splitlines():
        name = re.search(r"referenced manual not found: Xr (\S+) (\d)", line)
        if not name or f"{name[1]}.{name[2]}" not in PAGES:
            yield line


def first_cells(path):
    with open(path, encoding="utf-8") as file:
        for cell in re.findall(r"^\| (`.*?) \|", file.read(), re.M):
            yield from re.findall(r"`([^`]+)`", cell)


def faults(build, folder):
    pages = [os.path.join(folder, name) for name in PAGES]
    yield from lint(pages)
    texts = dict(zip(PAGES, map(shown, pages)))
    for name, text in texts.items():
        for other in set(PAGES) - {name}:
            stem, number = other.rsplit(".", 1)
            if f"{stem}({number})" not in text:
                yield f"{name} does not refer to {stem}({number})"
    helps = {"lectern.1": [["lectern", "help"]], "lecternd.8": [["lecternd", "--help"]]}
    said = subprocess.run([os.path.join(build, "lectern"), "help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  ([a-z]+)\b", said, re.M)
    helps["lectern.1"] += [["lectern", "help", verb] for verb in verbs]
    wanted = {"lectern.1": [f"lectern {verb} " for verb in verbs]}
    for page, commands in helps.items():
        for program, *args in commands:
            said = subprocess.run([os.path.join(build, program), *args], capture_output=True, text=True, check=True).stdout
            wanted.setdefault(page, []).extend(re.findall(r"(?<=\s)--?[a-z][a-z-]*(?=[ ,\n])", said))
    wanted["lectern.ini.5"] = list(first_cells(os.path.join(ROOT, "docs/reference/configuration.md")))
    wanted["lectern-json.7"] = list(first_cells(os.path.join(ROOT, "docs/reference/protocol.md")))
    for page, words in wanted.items():
        if not words:
            yield f"{page}: nothing to look for"
        yield from (f"{page} lacks {word}" for word in dict.fromkeys(words) if word not in texts[page])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if not shutil.which("mandoc"):
        print("man: SKIP, there is no mandoc")
        return
    found = list(faults(*sys.argv[1:]))
    print("\n".join(found) or "man: fine")
    sys.exit(1 if found else 0)


main()
