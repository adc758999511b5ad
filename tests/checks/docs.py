#!/usr/bin/env python3
"""Do the documents say what is there?

    docs.py BUILD-FOLDER [--write]

Links and paths in every Markdown file lead to something in the tree; docs/reference/cli.md has a heading for
each verb, with what `lectern help VERB` prints, and docs/reference/configuration.md a row for each key; README is
at most 150 lines long.  --write puts the help texts into cli.md anew.  Exit code 1: something is not so.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CLI, CONFIGURATION = "docs/reference/cli.md", "docs/reference/configuration.md"
MADE = ("build/", "build", "compact/", "math/tex")  # of the build or a store, a type: no path of the tree
README_LINES = 150


def markdown():
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in ("build", ".git")]
        yield from (os.path.relpath(os.path.join(folder, name)) for name in names if name.endswith(".md"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def dead_links(path, text):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target) and not os.path.exists(os.path.join(os.path.dirname(path), target)):
            yield f"{path}: a link leads to {target}, which is not there"


def dead_paths(path, text):
    for name in re.findall(r"`([A-Za-z_][\w.-]*/[\w./-]*)`", text):
        if not name.startswith(MADE) and not os.path.exists(name) and not os.path.exists(
                os.path.join(os.path.dirname(path), name)):
            yield f"{path}: `{name}` is not there"


def lectern(build, *args):
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home, XDG_STATE_HOME=home)
        done = subprocess.run([os.path.join(build, "lectern"), *args, "--socket", os.path.join(home, "s")],
                              capture_output=True, text=True, env=env, check=False)
        subprocess.run([os.path.join(build, "lectern"), "daemon", "--stop", "--socket", os.path.join(home, "s")],
                       capture_output=True, env=env, check=False)
        return done.stdout


def verbs(build):
    listed = lectern(build, "help").split("usage: lectern VERB", 1)[1].split("options of every verb", 1)[0]
    return list(dict.fromkeys(re.findall(r"^  ([a-z]+)\b", listed, re.M)))


def help_of(build, verb):
    """Without the options of every verb, which stand once."""
    return lectern(build, "help", verb).split("\noptions of every verb", 1)[0].strip()


def put_help(text, verb, said):
    pattern = rf"(^## {verb}\n\n```\n).*?(\n```$)"
    return re.sub(pattern, lambda match: match[1] + said + match[2], text, count=1, flags=re.M | re.S)


def cli_faults(build, write):
    text = read(CLI)
    headings = re.findall(r"^## ([a-z]+)$", text, re.M)
    there = verbs(build)
    for verb in sorted(set(there) ^ set(headings)):
        yield f"{CLI}: {verb} is {'not there' if verb in there else 'no verb'}"
    fresh = text
    for verb in there:
        fresh = put_help(fresh, verb, help_of(build, verb))
    if fresh != text and write:
        with open(CLI, "w", encoding="utf-8") as file:
            file.write(fresh)
    elif fresh != text:
        yield f"{CLI} does not say what lectern help says: tests/checks/docs.py BUILD --write"


def key_faults(build):
    keys = [value["key"] for value in json.loads(lectern(build, "doctor", "--json"))["config"]]
    rows = re.findall(r"^\| `([a-z_]+)` \|", read(CONFIGURATION), re.M)
    for key in sorted(set(keys) ^ set(rows)):
        yield f"{CONFIGURATION}: {key} is {'not there' if key in keys else 'no key'}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    faults = [fault for path in markdown() for check in (dead_links, dead_paths) for fault in check(path, read(path))]
    faults += cli_faults(build, "--write" in sys.argv)
    faults += key_faults(build)
    lines = read("README.md").count("\n")
    if lines > README_LINES:
        faults.append(f"README.md has {lines} lines, more than {README_LINES}")
    print("\n".join(faults) or "docs: fine")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
