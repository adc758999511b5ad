#!/usr/bin/env python3
"""How fast LaTeX is read, on one core, and pandoc on the same manuals in the same run.

    latex.py BUILD MANUALS [NAME...] [--seconds N] [--no-pandoc]

MANUALS is the folder that latex-manuals.sh fills. Processor time (user and system, of all children) of
`trees`, which runs the jailed parser once and prints the tree, the main file and what it includes read from a
cold process; megabytes are those of the sources that the tree was made of, unpacked. pandoc reads the same main
file, unpacked, among the same files, and writes plain text; it is ended after N seconds of processor time (120), which
count as its time. Its failures are counted and not compared. Prints a line a manual and the sums.
"""
import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks/latex"))
import common  # noqa: E402


def timed(command, seconds=None, **options):
    """(processor seconds, how it ended, its output)."""
    def limit():
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          preexec_fn=limit, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.returncode, done.stdout


def size_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as stream:
        return len(stream.read())


def read_with_lectern(build, folder, main):
    """(seconds, bytes of sources, failure)."""
    best = None
    for _ in range(3):
        seconds, code, out = timed([f"{build}/trees", f"{build}/lectern-parse", "--manual", folder, main])
        if code:
            return seconds, 0, f"ended with {code}"
        best = min(best or seconds, seconds)
    tree = json.loads(out)
    if "failure" in tree:
        return best, 0, tree["failure"]
    paths = [main] + [path for path in tree["files"] if path and path != main]
    bytes_read = sum(size_of(os.path.join(folder, path)) for path in paths if os.path.isfile(os.path.join(folder, path)))
    return best, bytes_read, "part of it was not read" if "steps" in (tree["reports"] or "") else ""


def read_with_pandoc(folder, main, seconds):
    """(seconds, failure)."""
    with tempfile.TemporaryDirectory() as work:
        common.unpack(folder, os.path.join(work, "m"))
        inside = os.path.join(work, "m", os.path.dirname(main))
        spent, code, _ = timed(["pandoc", "-f", "latex", "-t", "plain", os.path.basename(main).removesuffix(".gz"),
                                "-o", "/dev/null"], seconds, cwd=inside)
        return spent, "took too long" if code < 0 else f"ended with {code}" if code else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("manuals")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--no-pandoc", action="store_true")
    args = parser.parse_args()
    ours, theirs, failures, slowest = [0.0, 0], [0.0, 0.0], 0, 0.0
    for name, path, _ in common.manuals(args.names):
        folder = os.path.join(args.manuals, name)
        if not os.path.isdir(folder):
            continue
        seconds, size, failure = read_with_lectern(args.build, folder, path)
        ours[0] += seconds
        ours[1] += size
        slowest = max(slowest, seconds)
        line = f"{name:12} {size / 1e6:6.2f} MB {seconds:7.3f} s {size / 1e6 / max(seconds, 1e-9):6.1f} MB/s {failure}"
        if not args.no_pandoc and shutil.which("pandoc"):
            spent, wrong = read_with_pandoc(folder, path, args.seconds)
            failures += bool(wrong)
            line += f"  pandoc {spent:7.2f} s {wrong}"
            if not wrong:
                theirs[0] += spent
                theirs[1] += seconds
        print(line, flush=True)
    print(f"all: {ours[1] / 1e6:.2f} MB in {ours[0]:.2f} s: {ours[1] / 1e6 / max(ours[0], 1e-9):.1f} MB/s; slowest manual {slowest:.2f} s")
    if theirs[1]:
        print(f"pandoc on those that it read: {theirs[0]:.1f} s, {theirs[0] / theirs[1]:.0f} times as long; {failures} it did not read")


main()
