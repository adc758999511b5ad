"""Vim and Emacs, in batch: ask, search, open at the line."""
import os
import shutil
import subprocess

from e2e.agents import SAID
from e2e.house import HERE, LECTERN, PATIENCE, Skip, check, house, test

EDITORS = os.path.join(HERE, "../../cli/editors")
LINE = 3  # of the sentence, in its file


def needs(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


def add_lines(h):
    """The cited sentence stands on a line of its own, behind letters that are several bytes."""
    h.write("m/a.html", f"<title>Pumps</title><h1>Pumps</h1>\n<p>Größe ≤ 7.</p>\n<p>{SAID}</p>\n<p>A name with a quote: it's.</p>")
    h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")


def vim(h, program, *commands):
    """The lines that `call Say(...)` has written; an error of Vim's is one of the test."""
    out = os.path.join(h.path, "said")
    script = h.write("script.vim", "\n".join([
        "set nocompatible encoding=utf-8", f"let g:lectern_program = '{LECTERN}'", f"source {EDITORS}/lectern.vim",
        f"function! Say(text)\ncall writefile(split(a:text, \"\\n\", 1), '{out}', 'a')\nendfunction", *commands, "qall!"]))
    open(out, "w").close()
    done = subprocess.run([program, "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", script], env=h.env, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        said = file.read()
    check(done.returncode == 0 and "Error" not in done.stdout + done.stderr, (done.returncode, done.stdout, done.stderr, said))
    return said


def ask_in(program):
    needs(program)
    with house() as h:
        add_lines(h)
        said = vim(h, program, "LecternAsk how is the impeller's water primed", "call Say(join(getline(1, '$'), \"\\n\"))", "call search('^.2. m:')",
                   "execute \"normal \\<CR>\"", "call Say('AT ' . expand('%:t') . ' ' . line('.') . ' ' . getline('.'))")
        check(SAID in said and "m: Pumps  a.html" in said and f"AT a.html {LINE} <p>{SAID}" in said, said)
        h.write("t/t.tex", "\\documentclass{article}\n\\begin{document}\n\\section{Setup}\n\\input{part}\n\\end{document}\n")
        h.write("t/part.tex", "% One.\n\nThe grouting compound hardens in nine hours.\n")
        h.run("add", os.path.join(h.path, "t"), "-c", "t", "--wait")
        said = vim(h, program, "LecternAsk how long does the grouting compound harden", "call search('^.1. t:')",
                   "execute \"normal \\<CR>\"", "call Say('AT ' . expand('%:t') . ' ' . line('.'))")
        check("AT part.tex 3" in said, said)
        said = vim(h, program, "LecternSearch impeller", "call Say(getline(1))", "normal jK", "call Say(join(getline(1, '$'), \"\\n\"))",
                   "LecternSearch zzzz", "call Say(getline(1))", "normal q", "call Say(winnr('$'))")
        check(said.startswith("m: Pumps  a.html") and SAID in said and said.endswith("Nothing is found.\n1\n"), said)
        said = vim(h, program, "redir => g:told", "silent LecternSearch \\ ", "let g:lectern_program = '/nonexistent'", "silent LecternAsk x", "redir END",
                   "call Say(g:told)")
        check("does not answer" in said, said)


@test
def vim_asks_and_opens():
    ask_in("vim")


@test
def neovim_asks_and_opens():
    ask_in("nvim")


def emacs(h, *forms):
    """What the forms print."""
    done = subprocess.run(["emacs", "--batch", "-Q", "--eval", f'(setq lectern-program "{LECTERN}")', "-l", f"{EDITORS}/lectern.el",
                           "--eval", f"(progn {' '.join(forms)})"], env=h.env, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


@test
def emacs_asks_and_opens():
    needs("emacs")
    with house() as h:
        add_lines(h)
        code, said, told = emacs(h, '(lectern-ask "how is the impeller\'s water primed")', "(princ (buffer-string))",
                                 "(lectern-next)", "(lectern-next)", "(lectern-open)",
                                 '(princ (format "AT %s %d %s" (buffer-name) (line-number-at-pos) (thing-at-point \'line t)))')
        check(code == 0 and SAID in said and "m: Pumps  a.html" in said and f"AT a.html {LINE} <p>{SAID}" in said, (code, said, told))
        code, said, told = emacs(h, '(lectern-search "impeller")', "(lectern-next)", "(lectern-next)", "(lectern-previous)", "(lectern-read)", "(princ (buffer-string))",
                                 '(lectern-search "zzzz")', "(princ (buffer-string))")
        check(code == 0 and SAID in said and said.endswith("Nothing is found.\n"), (code, said, told))
        code, _, told = emacs(h, '(setq lectern-options (list "-c" "none"))', '(lectern-ask "x")')
        check(code != 0 and "no manual" in told, told)
        code, _, told = emacs(h, "(setq byte-compile-error-on-warn t)",
                              f'(let ((byte-compile-dest-file-function (lambda (_) "{h.path}/x.elc"))) (unless (byte-compile-file "{EDITORS}/lectern.el") (kill-emacs 1)))')
        check(code == 0, told)
