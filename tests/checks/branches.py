#!/usr/bin/env python3
"""Branches that tests have taken, of files that were built with BUILD=cov and then run.

    branches.py [--build build/cov] [--show] [--explained tests/checks/branches.txt] [--write] [FILE.c ...]

A row for each file: branches of its lines, those that were taken, those never taken on lines that were run, and on lines that
never were. --show prints the lines. The table of what is explained has a line for each function, of a file, a function, how many of its
branches no test takes, and why; its files are looked at where none is named. More than it says, or others, are a failure; fewer are told.
--write adds what it lacks, with `unexplained` for a reason, which is a failure, too.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

EXPLAINED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "branches.txt")
UNEXPLAINED = "unexplained"


def read(build, source):
    """The lines of gcov, or None."""
    name = os.path.join(build, source[:-2] + ".gcda")
    if not os.path.exists(name):
        return None
    done = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", name], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.decode().strip()}: build and run anew, without {name}")
    for line in done.stdout.decode().splitlines():
        for file in json.loads(line)["files"]:
            if os.path.normpath(file["file"]).endswith(source):
                return file["lines"]
    return None


def untaken(line):
    return sum(branch["count"] == 0 for branch in line["branches"])


def count(lines):
    """(branches, taken, not taken where the line was run, where it never was)"""
    row = [0, 0, 0, 0]
    for line in lines:
        missed = untaken(line)
        row[0] += len(line["branches"])
        row[1] += len(line["branches"]) - missed
        row[2 if line["count"] else 3] += missed
    return row


def show(source, lines):
    with open(source, encoding="utf-8") as file:
        text = file.read().splitlines()
    for line in lines:
        if untaken(line):
            print(f"  {source}:{line['line_number']}: {line.get('function_name', '')}, {line['count']} times, "
                  f"{untaken(line)} not taken: {text[line['line_number'] - 1].strip()}")


def by_function(source, lines):
    missed = collections.Counter()
    for line in lines:
        if untaken(line):
            missed[source, line.get("function_name", "")] += untaken(line)
    return missed


def read_explained(path):
    """{(file, function): (count, why)}"""
    table = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                source, function, number, why = line.strip().split(None, 3)
                table[source, function] = int(number), why
    return table


def compare(missed, explained, files):
    """What is wrong with the table, a line each."""
    for key in sorted(missed.keys() | explained.keys()):
        source, function = key
        number, why = explained.get(key, (0, UNEXPLAINED))
        if source not in files:
            continue
        if missed[key] > number:
            yield f"{source}: {function}: {missed[key]} branches are not taken, {number} are explained"
        elif why.startswith(UNEXPLAINED):
            yield f"{source}: {function}: {number} branches are unexplained"
        elif missed[key] < number:
            print(f"{source}: {function}: {number} branches are explained, {missed[key]} are not taken")


def write(path, missed, explained):
    with open(path, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#")]
    rows = {key: (missed[key], explained.get(key, (0, UNEXPLAINED))[1]) for key in missed}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(head)
        for (source, function), (number, why) in sorted(rows.items()):
            file.write(f"{source} {function} {number} {why}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/cov")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--explained", default=EXPLAINED)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    explained = read_explained(args.explained)
    with open(args.explained, encoding="utf-8") as file:
        known = next(line for line in file if line.startswith("# files:")).split()[2:]
    files, total, missed = args.files or known, [0, 0, 0, 0], collections.Counter()
    for source in files:
        lines = read(args.build, source)
        if lines is None:
            raise SystemExit(f"{source}: never run")
        row = count(lines)
        if args.show:
            show(source, lines)
        missed += by_function(source, lines)
        total = [a + b for a, b in zip(total, row)]
        print(f"{source}: {row[0]} branches, {row[1]} taken, {row[2]} not taken, {row[3]} on lines never run")
    print(f"all: {total[0]} branches, {total[1]} taken ({100 * total[1] / max(total[0], 1):.1f} %), {total[2]} not taken, "
          f"{total[3]} on lines never run")
    if args.write:
        write(args.explained, missed, explained)
    wrong = list(compare(missed, explained, files))
    for line in wrong:
        print(line)
    print(f"branches: {sum(missed.values())} not taken, {len(wrong)} functions with some that are not explained")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
