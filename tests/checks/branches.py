#!/usr/bin/env python3
"""Branches that tests have taken, of files that were built with BUILD=cov and then run.

    branches.py [--build build/cov] [--show] FILE.c ...

A row for each file: branches of its lines, those that were taken, those never taken on lines that were run, and on lines that
never were. Branches that only leave where an allocation failed, or that the compiler made, cannot be told apart here. --show
prints the lines.
"""
import argparse
import json
import os
import subprocess
import sys


def read(build, source):
    folder = os.path.join(build, os.path.dirname(source))
    name = os.path.join(folder, os.path.basename(source)[:-2] + ".gcda")
    if not os.path.exists(name):
        return None
    text = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", name], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout
    for line in text.decode().splitlines():
        for file in json.loads(line)["files"]:
            if os.path.normpath(file["file"]).endswith(source):
                return file["lines"]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/cov")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    total = [0, 0, 0, 0]
    for source in args.files:
        lines = read(args.build, source)
        if lines is None:
            print(f"{source}: never run")
            continue
        with open(source, encoding="utf-8") as file:
            text = file.read().splitlines()
        row = [0, 0, 0, 0]
        for line in lines:
            for branch in line["branches"]:
                row[0] += 1
                row[1] += branch["count"] > 0
                row[2 if line["count"] else 3] += branch["count"] == 0
            missed = sum(branch["count"] == 0 for branch in line["branches"])
            if args.show and (missed or not line["count"]):
                print(f"  {source}:{line['line_number']}: {line['count']} times, {missed} not taken: "
                      f"{text[line['line_number'] - 1].strip()}")
        total = [a + b for a, b in zip(total, row)]
        print(f"{source}: {row[0]} branches, {row[1]} taken, {row[2]} not taken, {row[3]} on lines never run")
    print(f"all: {total[0]} branches, {total[1]} taken ({100 * total[1] / max(total[0], 1):.1f} %), {total[2]} not taken, "
          f"{total[3]} on lines never run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
