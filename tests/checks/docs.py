#!/usr/bin/env python3
"""Do the documents say what is there?

    docs.py BUILD-FOLDER [--write]

Links (and their #headings), paths, targets of make and names with "_" in every Markdown file are in the tree, and
so are the files that comments of the sources name; docs/reference/cli.md has a heading for each verb, with what
`lectern help VERB` prints, and the options of every verb; docs/reference/daemon.md what `lecternd --help` prints;
docs/reference/configuration.md has a row for each key;
daemon/net/protocol.h lists the parameters that the daemon takes, docs/reference/protocol.md members that it writes;
README is at most 150 lines long.  --write puts the help texts into cli.md anew.  Exit code 1: something is not so.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CLI, CONFIGURATION = "docs/reference/cli.md", "docs/reference/configuration.md"
DAEMON = "docs/reference/daemon.md"
PROTOCOL, PROTOCOL_H = "docs/reference/protocol.md", "daemon/net/protocol.h"
MADE = ("build/", "build", "compact/", "math/tex")  # of the build or a store, a type: no path of the tree
README_LINES = 150
EVERY_VERB = "Options of every verb"
SOURCES = (".c", ".h", ".cu", ".cc", ".py", ".sh", ".mk", ".json")
NOT_READ = ("tests/golden/", "tests/fuzz/corpus/", "tests/questions/")  # made by others, or data


def markdown():
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in ("build", ".git")]
        yield from (os.path.relpath(os.path.join(folder, name)) for name in names if name.endswith(".md"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headings(text):
    """As GitHub names them in addresses."""
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.+)$", without_code, re.M)}


def dead_links(path, text):
    for target, heading in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file = os.path.join(os.path.dirname(path), target) if target else path
        if not os.path.exists(file):
            yield f"{path}: a link leads to {target}, which is not there"
        elif heading and heading not in headings(read(file)):
            yield f"{path}: a link leads to #{heading} of {target or path}, which has no such heading"


def dead_paths(path, text):
    tops = "|".join(re.escape(name) for name in sorted(os.listdir(".")) if os.path.isdir(name) and name != "build")
    named = re.findall(r"`([A-Za-z_][\w.-]*/[\w./-]*)`", text)
    commands = re.findall(r"`[^`\n]*`|^ {4}.*$", text, re.M)
    for command in commands:  # words with capitals stand for something
        named += re.findall(rf"(?<![\w./-])((?:{tops})/[\w./-]*\w)(?![\w*/.])", re.sub(r"\S*[A-Z]{3}\S*", "", command))
    for name in dict.fromkeys(named):
        places = (name, name + ".c", os.path.join(os.path.dirname(path), name))  # a program is named as its source
        if not name.startswith(MADE) and not any(os.path.exists(place) for place in places):
            yield f"{path}: `{name}` is not there"


def tracked():
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if os.path.exists(path)]


def words_of_sources():
    words = set()
    for path in tracked():
        words.update(os.path.basename(path).split("."))
        if path.endswith(SOURCES) and not path.startswith(NOT_READ):
            words.update(re.findall(r"\w+", read(path)))
    return words


def targets():
    makefiles = "\n".join(read(path) for path in tracked() if path == "Makefile" or path.endswith(".mk"))
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", makefiles, re.M))


def dead_names(path, text, words, made):
    for name in dict.fromkeys(re.findall(r"`([A-Za-z]\w*_\w+)(?:\(\))?`", text)):
        if name not in words:
            yield f"{path}: no source has the name `{name}`"
    for target in dict.fromkeys(re.findall(r"(?:`|^ {4})make ([a-z][a-z0-9-]*)(?![\w/])", text, re.M)):
        if target not in made:
            yield f"{path}: make has no target {target}"


def dead_comments():
    """Names of files in comments of C, by which a reader goes on."""
    paths = tracked()
    names = {os.path.basename(path) for path in paths} | {"landlock.h"}  # Linux's
    for path in paths:
        if not path.endswith((".c", ".h", ".cu")) or path.startswith(NOT_READ):
            continue
        for comment in re.findall(r"/\*.*?\*/", read(path), re.S):
            for name in re.findall(r"(?<![\w*.])([a-z]\w*\.(?:c|h|cu|py|sh|md))\b", comment):
                if name not in names:
                    yield f"{path}: a comment names {name}, which is not there"


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


def help_of_all(build):
    """The options of every verb."""
    after = lectern(build, "help").split("\noptions of every verb", 1)[1].split("\n", 1)[1]
    return after.split("\n\n", 1)[0]


def put_help(text, heading, said):
    pattern = rf"(^## {heading}\n\n```\n).*?(\n```$)"
    return re.sub(pattern, lambda match: match[1] + said + match[2], text, count=1, flags=re.M | re.S)


def cli_faults(build, write):
    text = read(CLI)
    described = re.findall(r"^## ([a-z]+)$", text, re.M)
    there = verbs(build)
    for verb in sorted(set(there) ^ set(described)):
        yield f"{CLI}: {verb} is {'not there' if verb in there else 'no verb'}"
    fresh = text
    for verb in there:
        fresh = put_help(fresh, verb, help_of(build, verb))
    fresh = put_help(fresh, EVERY_VERB, help_of_all(build))
    if fresh != text and write:
        with open(CLI, "w", encoding="utf-8") as file:
            file.write(fresh)
    elif fresh != text:
        yield f"{CLI} does not say what lectern help says: tests/checks/docs.py BUILD --write"


def daemon_faults(build, write):
    text = read(DAEMON)
    said = subprocess.run([os.path.join(build, "lecternd"), "--help"], capture_output=True, text=True, check=True).stdout
    fresh = re.sub(r"(?<=^```\n).*?(?=\n```$)", lambda _: said.strip(), text, count=1, flags=re.M | re.S)
    if fresh != text and write:
        with open(DAEMON, "w", encoding="utf-8") as file:
            file.write(fresh)
    elif fresh != text:
        yield f"{DAEMON} does not say what lecternd --help says: tests/checks/docs.py BUILD --write"


def key_faults(build):
    keys = [value["key"] for value in json.loads(lectern(build, "doctor", "--json"))["config"]]
    rows = re.findall(r"^\| `([a-z_]+)` \|", read(CONFIGURATION), re.M)
    for key in sorted(set(keys) ^ set(rows)):
        yield f"{CONFIGURATION}: {key} is {'not there' if key in keys else 'no key'}"


def parameters():
    """Of each verb of the socket, as the daemon's table has them."""
    text = read("daemon/verbs/verbs.c")
    searching = re.findall(r'"(\w+)"', re.search(r"#define SEARCHING(.*?)\nstatic", text, re.S)[1])
    lists = {name: re.findall(r'"(\w+)"', body) + (searching if "SEARCHING" in body else [])
             for name, body in re.findall(r"struct param (\w+)\[\] = \{(.*?)\};", text, re.S)}
    return {verb: set(lists[name]) for verb, name in re.findall(r'\{"(\w+)", VERB_\w+, \w+, (\w+)\}', text)}


def protocol_faults():
    """The list of parameters in protocol.h; protocol.md: a member is a word of its own in some source."""
    there = parameters()
    listed = read(PROTOCOL_H).split("Verbs and parameters", 1)[1].split(" * A name of a parameter", 1)[0]
    starts = re.split(rf"(?:^ \*   | {{3,}})({'|'.join(there)})\b", listed, flags=re.M)[1:]
    said = dict(zip(starts[::2], starts[1::2]))
    for verb, names in there.items():
        words = re.sub(r"\([^)]*\)|[*]|\[[^\]]*\]", " ", said.get(verb, ""))
        words = {part.split(":")[0].strip() for part in words.split(",")}
        for name in sorted(names ^ {word for word in words if re.fullmatch("[a-z_]+", word)}):
            yield f"{PROTOCOL_H}: {verb} {'lacks' if name in names else 'has no'} parameter {name}"
    literals = set()
    for path in tracked():
        if path.endswith(".c") and not path.startswith("tests/"):
            literals.update(re.findall(r'"(\w+)"', read(path)))
    for name in dict.fromkeys(re.findall(r"`([a-z_]+)`", read(PROTOCOL))):
        if name not in literals:
            yield f"{PROTOCOL}: no source writes `{name}`"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    words, made = words_of_sources(), targets()
    faults = list(dead_comments())
    for path in markdown():
        text = read(path)
        faults += [*dead_links(path, text), *dead_paths(path, text), *dead_names(path, text, words, made)]
    faults += cli_faults(build, "--write" in sys.argv)
    faults += daemon_faults(build, "--write" in sys.argv)
    faults += key_faults(build)
    faults += protocol_faults()
    lines = read("README.md").count("\n")
    if lines > README_LINES:
        faults.append(f"README.md has {lines} lines, more than {README_LINES}")
    print("\n".join(faults) or "docs: fine")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
