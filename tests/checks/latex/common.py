"""What the checks of LaTeX share: a manual's list, its tree, its typeset form."""
import gzip
import json
import os
import re
import shutil
import subprocess
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "../..", os.environ.get("LIST", "latex-manuals.txt"))


def manuals(names):
    """(name, main file, options) of the list, latex-manuals.txt or latex-repositories.txt; all, or those named."""
    for line in open(LIST, encoding="utf-8"):
        fields = line.split("#")[0].split()
        if fields and (not names or fields[0] in names):
            yield fields[0], fields[3], dict(f.partition("=")[::2] for f in fields[4:])


def read_tree(build, folder, main):
    """The parser's view: a list of nodes in pre-order, with "depth"."""
    done = subprocess.run([f"{build}/trees", f"{build}/lectern-parse", "--manual", folder, main],
                          capture_output=True, text=True, check=True)
    tree = json.loads(done.stdout)
    if "failure" in tree:
        raise SystemExit(f"{folder}/{main}: {tree['failure']}")
    for node in tree["nodes"]:
        node["depth"] = 0 if node["parent"] < 0 else tree["nodes"][node["parent"]]["depth"] + 1
    return tree


def unpack(folder, to):
    """A copy in which nothing is compressed, for LaTeX to run in."""
    shutil.rmtree(to, ignore_errors=True)
    for place, _, files in os.walk(folder):
        target = os.path.join(to, os.path.relpath(place, folder))
        os.makedirs(target, exist_ok=True)
        for name in files:
            source = os.path.join(place, name)
            if not os.path.isfile(source):
                continue
            if name.endswith(".gz"):
                with gzip.open(source) as packed, open(os.path.join(target, name[:-3]), "wb") as out:
                    shutil.copyfileobj(packed, out)
            else:
                shutil.copyfile(source, os.path.join(target, name))


def typeset(folder, main, options, work, runs=1, pdf=False, before=""):
    """Runs pdflatex, or the option engine, `before` first; the path of its outputs without their ending.

    What it reads is in the .fls beside them.  TEXINPUTS may name more folders
    in which packages are looked for; for one that is nowhere, and whatever else
    LaTeX asks the terminal for, it gets the empty file null.tex, and for an error
    that it is to go on (it would give up at the hundredth of a paragraph), so that
    it comes to its end."""
    base = os.path.basename(main)
    for ending in (".gz", ".tex", ".ltx"):
        base = base[:-len(ending)] if base.endswith(ending) else base
    unpack(folder, work)
    if "without" in options:  # the installed one is used
        shutil.rmtree(os.path.join(work, options["without"]))
    inside = os.path.join(work, os.path.dirname(main))
    before += r"\AtBeginDocument{\setcounter{tocdepth}{5}}" if "nodepth" not in options else ""
    if "toc" in options:  # it prints none
        before += r"\makeatletter\AtBeginDocument{\@starttoc{toc}}\makeatother "
    more = os.environ.get("TEXINPUTS", "")
    env = dict(os.environ, TEXINPUTS=f".:{work}//:{more}", max_print_line="1000")
    engine = options.get("engine", "pdflatex")
    for run in range(runs):
        draft = [] if pdf and run == runs - 1 else ["-draftmode" if engine == "pdflatex" else "-no-pdf"]
        try:
            subprocess.run([engine, "-recorder", "-interaction=errorstopmode", *draft, f"-jobname={base}",
                            before + rf"\input{{{base}}}"], cwd=inside, env=env, timeout=float(options.get("seconds", 500)),
                           input=b"\nnull.tex\n" * 1000000, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print(f"{main}: {engine} took too long")
    return os.path.join(inside, base)


def fold_text(text):
    """The same of a node's title, in which only formulas hold commands."""
    return "".join(fold(part) if at % 2 else fold(part.replace("\\", ""))
                   for at, part in enumerate(text.split("$")))


COMMAND = re.compile(r"\\([a-zA-Z@]+\*?|.) ?")
LENGTH = r" *-?[\d.]+ *[a-z]{2}"
SKIPPED = re.compile(r"\\[a-z]*space *\*? *\{[^}]*\}"  # space
                     rf"|\\(?:hskip|vskip|kern|hspace|vspace){LENGTH}(?: *(?:plus|minus){LENGTH})*"
                     rf"|\\[hv]rule(?: *(?:width|height|depth){LENGTH})*"
                     r"|\\catcode *`\\?.= *\d+"
                     r"|\\hbox *(?:to *\\[a-z@]+ *)?\{[^}]*\}"  # an empty number
                     r"|\\parbox *\{[^}]*\}"  # its width
                     r"|\\(?:text)?color *\{[^}]*\}"  # which
                     r"|\\hyper(?:link|ref) *(?:\[[^]]*\]|\{[^}]*\})")
LETTERS = {"L": "Ł", "l": "ł", "O": "Ø", "o": "ø", "AE": "Æ", "ae": "æ", "OE": "Œ", "oe": "œ"}
CODE = re.compile(r"\\char *(?:(\d+)|'([0-7]+)|\"([0-9A-F]+)|`\\?(.)) ?")


ENTRY = re.compile(r"\\newglossaryentry *\{([^}]*)\}\s*\{\s*(?:[^{}]|\{[^{}]*\})*?\bname *= *\{?([^,{}\n]*)"
                   r"((?:[^{}]|\{[^{}]*\})*)")


def entries(folder):
    """What the entries of glossaries are called, and their symbols, by the sources: a .toc names only their keys."""
    names = {}
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".tex"):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    for key, called, rest in ENTRY.findall(file.read()):
                        symbol = re.search(r"\bsymbol *= *\{?([^,{}\n]*)", rest)
                        names[key] = called, symbol.group(1) if symbol else called
    return names


def character(match):
    ten, eight, sixteen, itself = match.groups()
    return itself or chr(int(ten) if ten else int(eight, 8) if eight else int(sixteen, 16))


def fold(text):
    """Letters and digits of a title, of any script, whatever commands and accents are around."""
    text = text.replace("\\textbackslash", "").replace("\\\\", " ").replace("ß", "ss").replace("\\ss ", "ss")
    text = CODE.sub(lambda match: character(match).replace("\\", ""), text)
    text = re.sub(r"\\LaTeXe(?![a-zA-Z])", "LaTeX2", text)
    text = re.sub(r"\\(?:L|l|O|o|AE|ae|OE|oe)(?![a-zA-Z])", lambda match: LETTERS[match.group()[1:]], text)
    text = re.sub(r"\\(TeX|LaTeX|LaTeXe|BibTeX|MakeIndex|eTeX|AmS)(?![a-zA-Z])", r"\1", text)
    text = COMMAND.sub(" ", SKIPPED.sub(" ", text))
    text = unicodedata.normalize("NFD", text)
    return "".join(c for c in text if c.isalnum()).lower()


FORMULA = re.compile(r"\$[^$]*\$|\\ensuremath *\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\\\(.*?\\\)")


def without_formulas(text):
    """A title's words; LaTeX writes its formulas with all macros expanded."""
    words = FORMULA.sub(" ", text)
    return words if fold(words) else text


# What LaTeX writes itself, from the rest.
LISTS = re.compile("(short)?contents|listof[a-z]+|index(of[a-z]+)?|notes|symbols|numbers|[a-z]|referencias|目录|参考文献")
HEADING = re.compile(r"(?:\\[A-Za-z]*(?:part|chapter|section|paragraph)|@section [a-z]+)\*? *(?=[\[{])")


def groups(line):
    """The braced groups of a line of a .toc."""
    found, depth, begin, escaped = [], 0, 0, False
    for at, c in enumerate(line):
        if escaped:
            escaped = False
        elif c == "\\":
            escaped = True
        elif c == "{":
            depth += 1
            if depth == 1:
                begin = at + 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                found.append(line[begin:at])
    return found


def headings(path):
    """The titles of sections that a file sets, folded."""
    text = open(path, encoding="utf-8", errors="replace").read()
    for heading in HEADING.finditer(text):
        rest = re.sub(r"^\[[^]]*\]", "", text[heading.end():heading.end() + 500])
        yield from (fold(title) for title in groups(rest)[:1])


def installed(fls):
    """Titles in the files of the TeX installation that were read as text."""
    try:
        read = {line.split(" ", 1)[1].strip() for line in open(fls, encoding="utf-8") if line.startswith("INPUT /")}
    except OSError:
        return set()
    return {title for name in read if name.endswith((".tex", ".ltx")) and "/texmf" in name for title in headings(name)}


def elsewhere_files(options):
    """What a manual takes from the TeX installation: the file, or all those of
    the folder, that its option "elsewhere" names."""
    place = options.get("elsewhere", "/nonexistent")
    if os.path.isfile(place):
        return [place]
    return [os.path.join(folder, name) for folder, _, files in os.walk(place) for name in files]


def elsewhere(options):
    """Titles in those files."""
    found = set()
    for name in elsewhere_files(options):
        found.update(headings(name))
    return found
