#!/usr/bin/env python3
"""Is what is asked for by its exact name found first?

    names.py BUILD WORK PYTHON POSTGRESQL [--model MODEL] [--seed N]

PYTHON and POSTGRESQL are the folders of these manuals' HTML (Debian's python3.11-doc, postgresql-doc-15).
Forty names of each are drawn by the seed: of Python's genindex functions, classes and methods, asked by
the whole dotted name or, where only one thing is called so, by its last part; of PostgreSQL twenty
commands from its list of them, and twenty functions from its index. Right: the first result of
`search -c NAME` is the place that the index links to (of PostgreSQL's functions, which stand in tables,
the section's file). Prints each miss, then a line of JSON.
"""
import argparse
import collections
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from measured import Measured


def read(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="replace") as stream:
        return stream.read()


def python_names(folder):
    """Of each dotted name in the index: (what is asked, file, anchor)."""
    found = {}
    for match in re.finditer(r'href="(library/[^"#]+\.html)#([A-Za-z_][\w.]*)"', read(folder, "genindex-all.html")):
        file, anchor = match.groups()
        if not anchor.startswith(("index-", "module-")) and not anchor.isupper():
            found[anchor] = file
    called = collections.Counter(name.rpartition(".")[2] for name in found)
    for name, file in sorted(found.items()):
        last = name.rpartition(".")[2]
        yield (name, file, name)
        if called[last] == 1 and last != name:
            yield (last, file, name)


def commands(folder):
    for file, title in re.findall(r'href="(sql-[a-z0-9-]+\.html)">([A-Z][A-Z ]+)</a></span>', read(folder, "sql-commands.html")):
        yield (title, file, None)


def functions(folder):
    text = read(folder, "bookindex.html")
    code = {file: set(re.findall(r'<code class="function">([a-z0-9_]+)</code>', read(folder, file)))
            for file in os.listdir(folder) if file.startswith("functions-")}
    for name, links in re.findall(r"<dt[^>]*>([a-z][a-z0-9_]+)((?:, <a class=\"indexterm\"[^>]*>[^<]*</a>)+)</dt>", text):
        files = re.findall(r'href="(functions-[a-z0-9-]+\.html)', links)
        if len(files) == 1 and len(re.findall("href=", links)) == 1 and name in code[files[0]]:
            yield (name, files[0], None)


def drawn(names, count, seed):
    return random.Random(seed).sample(sorted(set(names), key=str), count)


def is_first(house, manual, question):
    name, file, anchor = question
    hits = house.lectern("search", name, "-c", manual, "-n", "1", code=None).get("results", [])
    right = bool(hits) and hits[0]["file"] == file and (
        anchor in (None, hits[0]["anchor"]) or  # an entry may be called by several names
        anchor in re.split(r", (?:class |exception )?", hits[0]["path"][-1].removeprefix("class ")))
    if not right:
        print(f"{manual}: {name}: {file}#{anchor or ''}, first is",
              f"{hits[0]['file']}#{hits[0]['anchor']} ({hits[0]['path'][-1]})" if hits else "nothing")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("work")
    parser.add_argument("python")
    parser.add_argument("postgresql")
    parser.add_argument("--model", default="none")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    questions = {"python": drawn(python_names(options.python), 40, options.seed),
                 "postgresql": drawn(commands(options.postgresql), 20, options.seed) +
                               drawn(functions(options.postgresql), 20, options.seed)}
    house = Measured(options.build, options.work, options.model)
    counts = {}
    try:
        for manual, folder in (("python", options.python), ("postgresql", options.postgresql)):
            house.add(manual, folder)
            counts[manual] = sum(is_first(house, manual, question) for question in questions[manual])
    finally:
        house.stop()
    print(json.dumps({"model": options.model, "seed": options.seed, "first": counts, "of": 40}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
