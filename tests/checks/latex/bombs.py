#!/usr/bin/env python3
"""Hostile LaTeX: each file ends within the parser's budget, with a report or as a failed file.

    bombs.py BUILD [NAME...]        all bombs, or those named

Each bomb is the main file of a folder of its own, besides an innocent one.  First the parser reads it
alone (`trees`): it must end within SECONDS, with nodes or a failure in words, and with a report where the
bomb is one that a reader must notice.  Then a daemon indexes all folders: it must stay alive, find each
innocent file, and name each bomb that failed.  Exit 1 if anything else happens.
"""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.daemon import Daemon

SECONDS = 60  # the parser's own limit a file
MIB = 1 << 20


def documents():
    """name: (bytes of main.tex or {file: bytes}, must it be noticed?)"""
    words = b"word " * 200
    noise = random.Random(8)
    tokens = [b"\\a", b"\\b", b"{", b"}", b"#", b"#1", b"$", b"&", b"\\begin{x}", b"\\end{x}", b"\\def", b"\\edef",
              b"\\expandafter", b"\\csname ", b"\\endcsname", b"\\if", b"\\else", b"\\fi", b"\\iffalse", b"\\section{",
              b"\\footnote{", b"\\index{", b"\\label{", b"\\verb|", b"\\item", b"\n\n", b"%", b"\\input{main}", b"x", b"^^",
              b"\\catcode`\\", b"\\let", b"\\the", b"\\count7=", b"\\loop", b"\\begin{tabular}{ll}", b"\\\\", b"\xff"]
    return {
        "doubling": (b"\\def\\a{\\a\\a}\\a\n\nafter", True),
        "endless": (b"\\def\\a{\\a}\\a\n\nafter", True),
        "growing-argument": (b"\\def\\a#1{\\a{#1#1}}\\a{x}\n\nafter", True),
        "growing-edef": (b"\\def\\x{xx}\\def\\a{\\edef\\x{\\x\\x}\\a}\\a\n\nafter", True),
        "laughs": (b"\\def\\a{lol}" + b"".join(b"\\def\\%c{%s}" % (98 + i, b"\\%c" % (97 + i) * 10) for i in range(12))
                   + b"\\m\n\nafter", True),
        "many-endless": (b"\\def\\a{\\a}" + b"\\a\n\n" * 100000, True),
        "loop": (b"\\loop\\iftrue x\\repeat\n\nafter", True),
        "whiledo": (b"\\whiledo{1=1}{x}\n\nafter", True),
        "foreach": (b"\\foreach \\a in {1,...,1000000000} {\\a}\n\nafter", False),
        "foreach-in-foreach": (b"".join(b"\\foreach \\%c in {1,...,1000} {" % (97 + i) for i in range(9)) + b"x" + b"}" * 9
                               + b"\n\nafter", True),
        "many-foreach": (b"\\foreach \\a in {1,...,1000} {xy}" * 20000, False),
        "no-escape": (b"\\catcode`\\\\=12 " + b"a \\b c\n\n" * 200000, True),
        "verbs-in-arguments": (b"\\textbf{\\verb|a" * 50000 + b"\\def\\a#1{#1}" + b"\\a{\\verb|b}" * 50000, True),
        "bib": ({"main.tex": b"\\nocite{*}\\bibliography{a}",
                 "a.bib": b"".join(b"@book{k%d, author={A {B}}, title=\"T\"}\n" % i for i in range(100000))}, False),
        "bib-open": ({"main.tex": b"\\nocite{*}\\bibliography{a,b,c}", "a.bib": b"@book{k, title={" * 100000,
                      "b.bib": b"@comment{" * 100000, "c.bib": b"@book{" + b"{" * 1000000}, False),
        "biblatex": ({"main.tex": b"\\nocite{*}\\printbibliography",
                      "main.bbl": b"\\entry{k}{book}{}\\name{author}{1}{}{" * 50000 + b"\\endentry" * 50000}, False),
        "dtx": (b"\n%    \\begin{macrocode}\n" + b"% \\DocInput{main.tex}\n" * 100000, True),
        "deep-groups": (b"{" * 200000 + b"x" + b"}" * 200000, True),
        "deep-environments": (b"\\begin{itemize}\\item " * 200000, True),
        "deep-footnotes": (b"\\footnote{" * 200000, True),
        "deep-conditionals": (b"\\iftrue " * 200000 + b"x", False),
        "deep-brackets": (b"\\item[" * 200000, False),
        "deep-math": (b"$\\sqrt{" * 200000, True),
        "deep-sections": (b"\\section{" * 200000, True),
        "nothing-closed": (b"\\begin{verbatim}" + b"\\begin{a}{[\\section{\\footnote{$\\verb|\\iftrue\\index{" * 20000, False),
        "stray-ends": (b"}\\end{a}\\fi\\else\\endgroup\\egroup&\\\\" * 50000, True),
        "cycle": ({"main.tex": b"\\input{b}", "b.tex": b"\\input{c}", "c.tex": b"\\input{main}\\input{b}x"}, True),
        "itself": (b"\\input{main}" * 1000 + b"x", True),
        "tree-of-inputs": ({"main.tex": b"\\input{t0}" * 10,
                            **{f"t{i}.tex": b"\\input{t%d}" % (i + 1) * 10 for i in range(40)}, "t40.tex": b"x"}, True),
        "missing-inputs": (b"".join(b"\\input{none%d}" % i for i in range(30000)), True),
        "long-record": (b"\\def\\a{\\input{" + b"a" * 2000 + b"}}" + b"\\a\n" * 6000, True),
        "outside": (b"\\input{../../../../etc/passwd}\\input{/etc/passwd}\\input{|ls}\\input{" + b"../" * 3000 + b"x}x", True),
        "long-input": (b"\\input{" + b"a" * MIB + b"}x", True),
        "long-csname": (b"\\csname " + b"a" * (8 * MIB) + b"\\endcsname x", False),
        "many-names": (b"".join(b"\\def\\%s{}" % bytes(97 + i // 26 ** k % 26 for k in range(5)) for i in range(500000)), False),
        "many-labels": (b"".join(b"\\label{%d}\\ref{%d}" % (i, i * 7) for i in range(200000)), False),
        "many-entries": (b"\\section{A}" + b"".join(b"\\index{a%d!b@c}" % i for i in range(300000)), False),
        "many-counters": (b"".join(b"\\newcounter{c%d}[section]" % i for i in range(40000)) + b"\\section{x}" * 1000, False),
        "many-saved": (b"{\\count1=0 " + b"\\advance\\count1 by 1 " * 500000 + b"}x", False),
        "many-sections": (b"\\section{x}" * 500000, False),
        "many-columns": (b"\\begin{tabular}{l}" + b"&" * 500000 + b"\\\\\\end{tabular}", False),
        "wide-multicolumn": (b"\\begin{tabular}{l}\\multicolumn{2000000000}{c}{x}\\\\y\\end{tabular}", False),
        "huge-number": (b"\\count1=" + b"9" * 100000 + b" \\the\\count1 \\romannumeral 2000000000 x", False),
        "long-line": (b"word " * (100 * MIB // 5), True),
        "long-line-within": (b"word " * (40 * MIB // 5), False),
        "packed": ({"main.tex.gz": gzip.compress(b"\0" * (200 * MIB))}, True),
        "nul": (b"\0" * MIB + words + b"\0\\a\0{\0", False),
        "invalid": (b"\xff\xfe\xc0\x80\xed\xa0\x80" * 100000 + words, False),
        "one-name": (b"\\" + b"a" * (8 * MIB), False),
        "percent": (b"%" * (8 * MIB), False),
        "carets": (b"^^" * (2 * MIB), False),
        "hashes": (b"\\def\\a#1#2#3#4#5#6#7#8#9{" + b"#9#8" * 100000 + b"}" + b"\\a{xxxxxxxxxx}" * 200, True),
        "delimited": (b"\\def\\a#1aaaaaaaaaaaaaaab{}\\a" + b"a" * MIB, False),
        "active": (b"\\catcode`\\a=13 \\def a{aa}a\n\nafter", True),
        "own-names": (b"\\catcode4=11 \\catcode255=11 \\def\\\x04k{x}\\ref{k}"
                      b"\\expandafter\\def\\csname -count 7\\endcsname{x}\\count7=5 \\the\\count7", False),
        "reads-what-it-writes": (b"\\newwrite\\x\\openout\\x=a \\write\\x{x \\noexpand\\input{a}}\\closeout\\x"
                                 b"\\input{a}\n\nafter", True),
        "writes-while-it-reads": (b"\\newwrite\\x\\openout\\x=a \\write\\x{\\string\\b}\\def\\b{y"
                                  b"\\write\\x{\\string\\b}}\\input{a}\n\nafter", True),
        "doubles-what-it-writes": (b"\\newwrite\\x\\newwrite\\y" + b"\\openout\\x=a \\write\\x{xx\\noexpand\\input{b}"
                                   b"\\noexpand\\input{b}}\\closeout\\x\\openout\\y=b \\write\\y{\\noexpand\\input{a}"
                                   b"\\noexpand\\input{a}}\\closeout\\y" + b"\\input{a}\n\nafter", True),
        "many-written": (b"\\newwrite\\x\\openout\\x=a " + b"\\write\\x{xy}" * 300000 + b"\\closeout\\x"
                         + b"\\input{a}" * 50 + b"\n\nafter", False),
        "many-streams": (b"".join(b"\\newwrite\\x\\openout\\x=f%d \\write\\x{y}" % i for i in range(20000))
                         + b"\\input{f0}" * 20000, False),
        "passages": (b"\\Newassociation{s}{S}{a}\\Opensolutionfile{a}" + b"\\begin{s}\\Readsolutionfile{a}x\\end{s}" * 3000
                     + b"\\Readsolutionfile{a}" * 3, True),
        "doubling-boxes": (b"\\setbox1\\vbox{word\n\nword}" + b"\\setbox1\\vbox{\\copy1\\copy1}" * 100 + b"\\box1\n\nafter", False),
        "growing-box": (b"\\setbox2\\vbox{}" + b"\\setbox1\\vbox{word word}\\setbox2\\vbox{\\unvbox2\\unvbox1}" * 20000
                        + b"\\box2", False),
        "deep-boxes": (b"\\setbox1\\vbox{" * 200000 + b"x", True),
        "many-boxes": (b"".join(b"\\setbox%d\\vbox{x}\\copy%d\n" % (i, i) for i in range(30000)), False),
        "contents-lines": (b"\\begin{document}" + b"\\addcontentsline{toc}{section}{x}y\n\n" * 100000, False),
        "shorthands": (b"\\useshorthands{!}\\defineshorthand{!!}{!!!!}!!\n\nafter", True),
        "patched": (b"\\def\\a{x}" + b"\\patchcmd\\a{x}{xx}{}{}" * 30000 + b"\\a", False),
        "local-package": ({"main.tex": b"\\documentclass{article}\\usepackage{a}\\begin{document}innocent words\\end{document}",
                           "a.sty": b"\\def\\b{\\RequirePackage{a}\\b}\\b" + b"\\if\\@x{\\begingroup\\catcode`\\{=12 " * 20000}, True),
        "local-packages": ({"main.tex": b"\\documentclass{c0}\\begin{document}words\\end{document}",
                            **{f"c{i}.cls": b"\\LoadClassWithOptions{c%d}\\ifx\\a{" % (i + 1) for i in range(60)},
                            "c60.cls": b"\\@for\\x:=a,b\\do{" * 10000}, True),
        "local-hooks": ({"main.tex": b"\\documentclass{a}\\begin{document}words\\end{document}",
                         "a.cls": b"\\AtBeginDocument{\\AtBeginDocument{x}\\g@addto@macro\\h{\\h\\h}\\h}" * 10000
                         + b"\\ExplSyntaxOn\\cs_new:Npn\\x_y:n#1{\\x_y:n{#1#1}}\\x_y:n{z}"}, False),
        "escapes": (b"\\def\\a{\\a\\a}\\def\\b#1{\\iftrue{#1\\b{#1}}}\\lstset{escapechar=@,texcl=true}\\begin{lstlisting}\n"
                    + b"@\\a@ @\\b{x@ // \\b{\n@{@ @}@ @\\iffalse@\n" * 3000 + b"\\end{lstlisting}\n\nafter", True),
        **{f"noise-{i}": (b"".join(noise.choices(tokens, k=100000)), False) for i in range(8)},
    }


def write(folder, content):
    os.makedirs(folder)
    for name, text in (content if isinstance(content, dict) else {"main.tex": content}).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text)


def parse(build, folder, content, noticed):
    """What is wrong with how the parser read it, and what it made of it."""
    main = next(iter(content)) if isinstance(content, dict) else "main.tex"
    began = time.monotonic()
    try:
        done = subprocess.run([f"{build}/trees", f"{build}/lectern-parse", "--manual", folder, main],
                              stdout=subprocess.PIPE, timeout=SECONDS + 10)
    except subprocess.TimeoutExpired:
        return "did not end", ""
    took = time.monotonic() - began
    if done.returncode:
        return f"trees ended with {done.returncode}", ""
    tree = json.loads(done.stdout.decode("utf-8"))
    outcome = f"{took:5.1f} s, " + (tree.get("failure") or f"{len(tree['nodes'])} nodes")
    if tree["reports"]:
        outcome += "; " + tree["reports"].split("\n")[0][:90]
    wrong = ""
    if "died" in tree.get("failure", "") or "no sense" in tree.get("failure", ""):
        wrong = "the parser died or gave no tree"
    elif noticed and not tree["reports"] and "failure" not in tree:
        wrong = "nothing is reported"
    return wrong, outcome


def index(build, folder, names):
    """What is wrong with how the daemon indexed all folders."""
    wrong = []
    daemon = Daemon(build, os.path.join(folder, "home"), watch="off")
    try:
        daemon.lectern("add", f"{folder}/all", "-c", "all", "--wait", code=None)
        for name in names:
            found = daemon.lectern("search", "innocent" + name.replace("-", ""), code=None)
            if f"{name}/innocent.tex" not in json.dumps(found):
                wrong.append(f"{name}: its innocent file is not found")
        if not daemon.alive():
            wrong.append(f"the daemon ended with {daemon.process.returncode}")
        print("failed:", json.dumps(daemon.lectern("failed", code=None))[:2000])
    finally:
        daemon.stop()
    return wrong


def main():
    build, *names = sys.argv[1:]
    build = os.path.abspath(build)
    bombs = {name: bomb for name, bomb in documents().items() if not names or name in names}
    wrong = []
    with tempfile.TemporaryDirectory(prefix="bombs-") as folder:
        for name, (content, noticed) in bombs.items():
            at = f"{folder}/all/{name}"
            write(at, content)
            problem, outcome = parse(build, at, content, noticed)
            print(f"{name:20} {outcome}" + (f"  WRONG: {problem}" if problem else ""), flush=True)
            if problem:
                wrong.append(f"{name}: {problem}")
            with open(f"{at}/innocent.tex", "w") as file:
                file.write(f"\\section{{Innocent}} The innocent{name.replace('-', '')} is found.")
        wrong += index(build, folder, bombs)
    print(f"bombs: {len(bombs)}, wrong: {len(wrong)}", *wrong, sep="\n  ")
    sys.exit(bool(wrong))


main()
