"""What the LaTeX oracles share: a manual's list, its tree, its typeset form."""
import gzip
import json
import os
import re
import shutil
import subprocess
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "../../latex-manuals.txt")


def manuals(names):
    """(name, main file, options) of latex-manuals.txt; all, or those named."""
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


def typeset(folder, main, options, work, runs=1, pdf=False):
    """Runs pdflatex; the path of its outputs without their ending."""
    base = os.path.basename(main)
    for ending in (".gz", ".tex", ".ltx"):
        base = base[:-len(ending)] if base.endswith(ending) else base
    unpack(folder, work)
    inside = os.path.join(work, os.path.dirname(main))
    before = r"\AtBeginDocument{\setcounter{tocdepth}{5}}" if "nodepth" not in options else ""
    env = dict(os.environ, TEXINPUTS=f".:{work}//:", max_print_line="1000")
    for run in range(runs):
        draft = [] if pdf and run == runs - 1 else ["-draftmode"]
        try:
            subprocess.run(["pdflatex", "-interaction=nonstopmode", *draft, f"-jobname={base}",
                            before + rf"\input{{{base}}}"], cwd=inside, env=env, timeout=500,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print(f"{main}: pdflatex took too long")
    return os.path.join(inside, base)


def fold_text(text):
    """The same of a node's title, in which only formulas hold commands."""
    return "".join(fold(part) if at % 2 else fold(part.replace("\\", ""))
                   for at, part in enumerate(text.split("$")))


COMMAND = re.compile(r"\\([a-zA-Z@]+\*?|.) ?")


def fold(text):
    """Letters and digits of a title, whatever commands and accents are around."""
    text = text.replace("\\textbackslash", "").replace("\\\\", " ").replace("ß", "ss").replace("\\ss ", "ss")
    text = re.sub(r"\\(TeX|LaTeX|LaTeXe|BibTeX|MakeIndex|eTeX)(?![a-zA-Z])", r"\1", text)
    text = re.sub(r"\\hspace *\*? *\{[^}]*\}|\\(vspace|kern)[^a-z]*[a-z]{2}|\\hyper(link|ref) *(\[[^]]*\]|\{[^}]*\})", " ", text)
    text = COMMAND.sub(" ", text)
    text = unicodedata.normalize("NFD", text)
    return "".join(c for c in text if c.isascii() and c.isalnum()).lower()
