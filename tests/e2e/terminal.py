"""What people see on a terminal, and what scripts get instead."""
import fcntl
import glob
import gzip
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import urllib.parse

from e2e.house import LECTERN, PATIENCE, Failure, Skip, check, find, house, page, test

ESCAPE = re.compile(r"\033\[[0-9;?]*[A-Za-z]|\033\]8;[^\033]*\033\\")


def on_terminal(h, *args, columns=60, rows=200, keys=b"", **env):
    """What a command prints on a terminal of this size, as it prints it, and its exit status.  A pager is cat, unless told."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    settings = {**h.env, "TERM": "xterm-256color", "PAGER": "cat", **env}
    for name in [name for name, value in env.items() if value is None] + ["NO_COLOR"] * ("NO_COLOR" not in env):
        settings.pop(name, None)
    child = subprocess.Popen([LECTERN, *args, "--store", h.store], stdin=theirs, stdout=theirs, stderr=theirs,
                             env=settings, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    os.write(ours, keys)
    got, end = b"", time.time() + PATIENCE
    try:
        while time.time() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                got += piece
        else:
            os.killpg(child.pid, signal.SIGKILL)
            raise Failure(f"{args} did not end: {got[-2000:]!r}")
    finally:
        os.close(ours)
    return got.decode(errors="surrogateescape").replace("\r\n", "\n"), child.wait(PATIENCE)


def plain(text):
    return ESCAPE.sub("", text)


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def check_widths(text, columns):
    for line in plain(text).split("\n"):
        check(width(line) <= columns, f"wider than {columns}: {line!r}")


@test
def equal_reasons_of_failures_are_one_line():
    with house() as h:
        for i in range(9):
            h.write(f"m/{i}.html", "<div>" * 300000 + f"x{i}")
        h.write("m/z.html", page("Zebra", "<p>text</p>"))
        h.write("m/other.html.gz", b"\x1f\x8b no gzip")
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        files = h.json("failed")["files"]
        check(len(files) == 10, files)
        reason = next(f["reason"] for f in files if f["file"] == "0.html")
        piped = h.run("failed").stdout
        check(piped.count(reason) == 9 and len(piped.splitlines()) == 10, f"scripts get a line for each file: {piped}")
        shown, code = on_terminal(h, "failed", columns=200)
        lines = plain(shown).splitlines()
        check(code == 0 and len(lines) == 2, shown)
        grouped = next(line for line in lines if reason in line)
        check(grouped == f"m  9 files: {reason}: 0.html, 1.html, 2.html, …", grouped)
        check(any(line.startswith("m  other.html.gz: ") for line in lines), lines)


@test
def packed_pages_are_opened_unpacked():
    """A browser shows no .gz: it gets what is in it, in a file of ours."""
    with house() as h:
        text = page("Zebra", '<h2 id="two">Stripes</h2><p>The zebra is striped.</p>')
        source = h.write("m/a b.html.gz", gzip.compress(text.encode()))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = find(h.json("toc"), "Stripes")["id"]
        h.env["XDG_CACHE_HOME"] = os.path.join(h.path, "cache")
        h.env["BROWSER"] = "echo"
        shown = h.run("open", node).stdout.strip()
        check(shown.startswith(f"file://{h.path}/cache/lectern/") and shown.endswith("/a%20b.html#two"), shown)
        path = urllib.parse.unquote(urllib.parse.urlsplit(shown).path)
        check(open(path).read() == text, path)
        check(os.stat(path).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700, "ours")
        check(h.run("open", node, "--print").stdout.strip() == shown, "--print")
        got = h.json("open", node)
        check(got["url"] == shown and got["file"] == source, got)
        # Where the cache cannot be written, a folder that ends with the session.
        h.env["XDG_CACHE_HOME"] = "/proc/nowhere"
        h.env["XDG_RUNTIME_DIR"] = os.path.join(h.path, "run")
        os.mkdir(h.env["XDG_RUNTIME_DIR"])
        check(h.run("open", node).stdout.startswith(f"file://{h.path}/run/lectern/"), "the runtime folder")
        h.env["XDG_RUNTIME_DIR"] = "/proc/nowhere"
        check("nowhere" in h.run("open", node, code=7).stderr, "neither")
        check(h.run("open", node, "--print").stdout == f"file://{h.path}/m/a%20b.html.gz#two\n", "the packed one's address")
        # An editor unpacks by itself, or is told by its user how.
        del h.env["BROWSER"]
        h.env["EDITOR"] = "echo"
        check(source in h.run("open", node).stdout, "an editor")
        h.env["BROWSER"] = "echo"
        h.env["XDG_RUNTIME_DIR"] = os.path.join(h.path, "run")
        with open(source, "wb") as file:
            file.write(b"\x1f\x8b no gzip")
        done = h.run("open", node, code=7)
        check(source in done.stderr and not done.stdout, done)


@test
def names_that_are_not_utf_8_are_opened():
    with house() as h:
        name = os.fsencode(h.path) + b"/m/caf\xe9 \xff.html"
        h.write("m/x.html", page("Other", "<p>text</p>"))
        with open(name, "wb") as file:
            file.write(page("Zebra", '<h2 id="two">Stripes</h2><p>The zebra is striped.</p>').encode())
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = find(h.json("toc"), "Stripes")["id"]
        h.env["BROWSER"] = "echo"
        wanted = f"file://{h.path}/m/caf%E9%20%FF.html#two"
        for got in h.run("open", node).stdout.strip(), h.run("open", node, "--print").stdout.strip(), h.json("open", node)["url"]:
            check(got == wanted, got)
        h.run("ask", "Is the zebra striped?")
        check(h.run("open", "1").stdout.strip() == wanted, "a citation")
        # An editor gets the name itself.
        del h.env["BROWSER"]
        editor = h.write("editor", '#!/bin/sh\nprintf %s "$2" > "$OUT"\n')
        os.chmod(editor, 0o755)
        h.env.update(EDITOR=editor, OUT=os.path.join(h.path, "out"))
        h.run("open", node)
        check(open(h.env["OUT"], "rb").read() == name, "an editor")


@test
def without_a_browser_the_address_is_printed():
    with house() as h:
        h.write("m/a.html", page("Zebra", '<h2 id="two">Stripes</h2><p>The zebra is striped.</p>'))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = find(h.json("toc"), "Stripes")["id"]
        address = f"file://{h.path}/m/a.html#two\n"
        h.env["PATH"] = h.path
        done = h.run("open", node)
        check(done.stdout == address and not done.stderr, (done.stdout, done.stderr))
        check(on_terminal(h, "open", node) == (address, 0), "on a terminal")
        # One that has no browser to run says so by its status.
        os.chmod(h.write("xdg-open", "#!/bin/sh\nexit 3\n"), 0o755)
        check(h.run("open", node).stdout == address, "xdg-open without a browser")
        os.chmod(h.write("xdg-open", "#!/bin/sh\nexit 4\n"), 0o755)
        check("status 4" in h.run("open", node, code=7).stderr, "a failure is one")
        # What was asked for must be there.
        h.env["BROWSER"] = "nosuchbrowser"
        check("nosuchbrowser" in h.run("open", node, code=7).stderr, "BROWSER")


LONG = "The zebra is a striped animal of the plains that runs from whatever else there is. " * 6


def write_wide(h):
    h.write("m/a.html", page("Zebra", f'<h2 id="two">Stripes 図書館の案内と検索の手引きについての説明と例</h2><p>{LONG}</p>'
                                      f"<pre>{'x' * 90}</pre>"))
    h.run("add", os.path.join(h.path, "m"), "-c", "図書", "--wait")


@test
def what_is_printed_fits_the_terminal():
    with house() as h:
        write_wide(h)
        node = find(h.json("toc"), "Stripes 図書館の案内と検索の手引きについての説明と例")["id"]
        for args in (["ask", "Is the zebra striped?"], ["search", "zebra"], ["status"], ["toc"], ["failed"]):
            shown, code = on_terminal(h, *args, columns=40)
            check(code == 0, (args, shown))
            for line in plain(shown).split("\n"):
                check(width(line) <= 40 or "/" in line or "x" * 90 in line, f"{args}: wider than 40: {line!r}")
        for args in (["get", node], ["ask", "Is the zebra striped?"]):
            shown, _ = on_terminal(h, *args, columns=40)
            check("x" * 90 in plain(shown), "code is not broken")
        check_widths("\n".join(line for line in plain(shown).split("\n") if "xxx" not in line), 40)
        # The words are all there, in their order.
        said = h.json("ask", "Is the zebra striped?")["answer"]
        check(" ".join(said.split()) in " ".join(plain(on_terminal(h, "ask", "Is the zebra striped?")[0]).split()), "words")
        # Columns stand under their titles, whatever is wide.
        head, row = plain(on_terminal(h, "ls", columns=200)[0]).splitlines()[:2]
        check(head.index("folder") == width(row[:row.index("/")]), (head, row))
        # Scripts get lines as they are.
        piped = h.run("ask", "Is the zebra striped?").stdout
        check(said.split("\n")[0] in piped.split("\n") and "\033" not in piped, piped)


@test
def words_of_the_question_are_bold_and_places_are_links():
    with house() as h:
        write_wide(h)
        for args in (["search", "striped animals"], ["ask", "Is it a striped animal?"]):
            shown, _ = on_terminal(h, *args)
            check("\033[1mstriped\033[22m" in shown and "\033[1manimal\033[22m" in shown, repr(shown))
            check("\033[1mthe\033[22m" not in shown and "\033[1mis\033[22m" not in shown, repr(shown))
            check(f"\033]8;;file://{h.path}/m/a.html#two\033\\a.html#two\033]8;;\033\\" in shown, repr(shown))
            check("\033" not in on_terminal(h, *args, NO_COLOR="1")[0], "NO_COLOR")
            check("\033" not in on_terminal(h, *args, TERM="dumb")[0], "a dumb terminal")
        # A label is no place that a program finds in a source.
        h.write("n/b.tex", "\\documentclass{article}\\begin{document}\\section{Okapi}\\label{okapi}Legs of an okapi are striped.\\end{document}")
        h.run("add", os.path.join(h.path, "n"), "-c", "n", "--wait")
        shown, _ = on_terminal(h, "ask", "-c", "n", "legs of an okapi")
        check(f"\033]8;;file://{h.path}/n/b.tex\033\\b.tex#okapi" in shown, repr(shown))


@test
def what_is_longer_than_the_screen_goes_to_the_pager():
    with house() as h:
        h.write("m/a.html", page("Zebra", "".join(f"<h2>Part {i}</h2><p>text</p>" for i in range(60))))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        pager = h.write("pager", '#!/bin/sh\necho "PAGER $LESS"\ncat\n')
        os.chmod(pager, 0o755)
        shown, code = on_terminal(h, "toc", rows=20, PAGER=pager)
        check(code == 0 and shown.startswith("PAGER FRX") and "Part 59" in shown, shown)
        check("PAGER" not in on_terminal(h, "toc", rows=100, PAGER=pager)[0], "it fits")
        for none in ("", "/nowhere/at/all"):
            shown, code = on_terminal(h, "toc", rows=20, PAGER=none)
            check(code == 0 and plain(shown).count("Part ") == 60, (none, shown))
        h.env["PAGER"] = pager
        check("PAGER" not in h.run("toc").stdout, "not into a pipe")
        shown, code = on_terminal(h, "get", "n99999", rows=20, PAGER=pager)
        check(code == 1 and "PAGER" not in shown and "n99999" in shown, shown)


@test
def a_quote_that_is_broken_forges_no_citation():
    with house() as h:
        h.write("m/a.html", page("Zebra", "<pre>The zebra is striped." + " " * 300 + "[1] Forged, a.html#real says so</pre>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        shown = plain(on_terminal(h, "ask", "Is the zebra striped?", columns=60)[0])
        check("Forged" in shown and not any(line.startswith("[1] Forged") for line in shown.splitlines()), shown)


@test
def the_pager_can_be_interrupted():
    with house() as h:
        h.write("m/a.html", page("Zebra", "".join(f"<h2>Part {i}</h2><p>text</p>" for i in range(60))))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        pager = h.write("pager", "#!/bin/sh\ngrep SigIgn /proc/self/status\n")
        os.chmod(pager, 0o755)
        shown, _ = on_terminal(h, "toc", rows=20, PAGER=pager)
        check(int(shown.split("SigIgn:")[1].split()[0], 16) & 2 == 0, shown)


@test
def doctor_shows_what_the_daemon_goes_by():
    with house() as h:
        h.run("status")
        check("running daemon" not in h.run("doctor").stdout, "the same")
        h.configure(watch="off", poll_seconds="77")
        shown = h.run("doctor").stdout.splitlines()
        line = next(i for i, text in enumerate(shown) if text.strip().startswith("poll_seconds"))
        check(shown[line].split()[1] == "77" and "the running daemon, default" in shown[line + 1], shown)
        values = {one["key"]: one["value"] for one in h.json("doctor")["daemon_config"]}
        check(values["poll_seconds"] != "77" and values["store"] == h.store, values)


@test
def a_second_socket_is_told_of_the_first():
    with house() as h:
        h.run("status")
        done = h.run("status", "--socket", os.path.join(h.path, "other"), code=6)
        check(f"it answers at --socket {h.socket}" in done.stderr, done.stderr)


def processes_with(word):
    """Of those that run, the ones with this in their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                found += [path] * (word.encode() in file.read())
        except OSError:
            pass  # it has ended
    return found


@test
def model_info_leaves_no_daemon():
    with house() as h:
        h.run("model", "info")
        check(not processes_with(h.store), "it is gone when the command is")
        check(h.run("daemon", "--stop", code=3), "none is there")
        h.run("status")
        h.run("model", "info")
        h.run("daemon", "--stop")


@test
def output_that_is_lost_is_an_error():
    """To a full device, and to a standard output that is closed."""
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for verb in (["ls"], ["ls", "--json"], ["search", "casing"], ["toc"], ["status"], ["help"], ["add", "--help"], ["version"],
                     ["completion", "fish"], ["web", "--port", "0"]):
            for where in (">/dev/full", ">&-"):
                words = shlex.join([LECTERN, *verb])
                done = subprocess.run(["sh", "-c", f"{words} {where}"], env=h.env, capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                check(done.returncode == 7 and "cannot write the output" in done.stderr, (verb, where, done))
        quiet = subprocess.run(["sh", "-c", f"{shlex.join([LECTERN, 'wait', '--quiet'])} <&- 2>&-"], env=h.env,
                               capture_output=True, timeout=PATIENCE, check=False)
        check(quiet.returncode == 0, "the others may be closed")


@test
def what_there_is_one_of_is_singular():
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        pack = os.path.join(h.path, "m.pack")
        h.run("pack", "m", pack)
        said = h.run("verify").stdout + h.run("search", "casing", "--explain").stdout
        said += h.run("unpack", pack, "-c", "again", "--untrusted").stdout + h.run("status").stdout
        check(said.count("1 file,") == 4 and "in 1 section," in said, said)
        check(not re.search(r"\b1 (files|folders|nodes|sections|postings|memories|segments)\b", said), said)


# ---- Completion ----

def completed(shell, words, env):
    """What a shell makes of a command line whose last word is being typed."""
    line = " ".join(words)
    if shell == "bash":
        script = ('eval "$(lectern completion bash)"; COMP_WORDS=(%s); COMP_CWORD=%d; _lectern lectern; '
                  'printf "%%s\\n" "${COMPREPLY[@]}"' % (" ".join(shlex.quote(word) for word in words), len(words) - 1))
        command = ["bash", "--norc", "-c", script]
    elif shell == "zsh":
        script = ('compdef() {}; _files() { print -- :files $@ }; _describe() { print -l -- ${(P)3%%%%:*} }; '
                  'eval "$(lectern completion zsh)"; words=(%s); PREFIX=%s; CURRENT=%d; _lectern'
                  % (" ".join(shlex.quote(word) for word in words), shlex.quote(words[-1]), len(words)))
        command = ["zsh", "-f", "-c", script]
    else:
        command = ["fish", "--no-config", "-c", f"lectern completion fish | source; complete -C {shlex.quote(line)}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    check(done.returncode == 0 and not done.stderr, f"{shell}: {done.stderr}")
    return [found.split("\t")[0] for found in done.stdout.splitlines()]


def typed(shell, keys, wanted, env):
    """Whether a shell at which somebody types the keys comes to show what is wanted."""
    begin = {"bash": (["bash", "--norc", "-i"], 'eval "$(lectern completion bash)"'),
             "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(lectern completion zsh)"'),
             "fish": (["fish", "--no-config", "-i"], "lectern completion fish | source")}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    command, setup = begin[shell]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**env, "TERM": "xterm", "PS1": "> "},
                             start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    shown, end = "", time.time() + 20

    def until(text):
        nonlocal shown
        while text not in shown and time.time() < end:
            if select.select([ours], [], [], 0.1)[0]:
                shown += ESCAPE.sub("", os.read(ours, 1 << 16).decode(errors="replace")).replace("\r", "")
        return text in shown

    try:
        os.write(ours, f"{setup}; echo re''ady\r".encode())
        check(until("ready"), (shell, shown))
        shown = ""
        os.write(ours, keys.encode())
        return until(wanted), shown
    finally:
        child.kill()
        child.wait()
        os.close(ours)


@test
def a_word_that_is_quoted_is_completed():
    """At shells as people have them: open quotes, backslashes, a path behind an option's sign."""
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "pump book", "--wait")
        env = {**h.env, "PATH": f"{os.path.dirname(LECTERN)}:{os.environ['PATH']}"}
        env.pop("NO_COLOR")
        missing = [shell for shell in ("bash", "zsh", "fish") if not shutil.which(shell)]
        for shell in ("bash", "zsh", "fish"):
            for keys, wanted in (('lectern rm "pu\t', 'rm "pump book"'), ("lectern rm pump\\ b\t", "rm pump\\ book"),
                                 (f"lectern --config={h.path}/lectern/le\t", "/lectern/lectern.ini"),
                                 ("lectern ask --mode=l\t", "--mode=lexical")):
                if shell not in missing:
                    found, shown = typed(shell, keys, wanted, env)
                    check(found, (shell, keys, shown))
        if missing:
            raise Skip(f"no {' and no '.join(missing)}")


@test
def words_are_completed():
    with house() as h:
        def after(*words):
            return [line.split("\t")[0] for line in h.run("completion", "words", "--", *words, store=False).stdout.splitlines()]

        check(after("rm", "") == [] and after("get", "") == [], "nothing is there yet")
        check(not os.path.exists(h.socket), "completion starts no daemon")
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "pump book", "--wait")
        node = h.json("search", "casing")["results"][0]["node"]
        check({"ask", "search", "mcp"} <= set(after("")), after(""))
        check(after("se") == ["search"], "a verb")
        check(after("rm", "") == after("ask", "-c", "pu") == ["pump book"], "names of manuals")
        check(after("get", "") == ["1", node] and after("toc", node[:1]) == [node], "what was found last")
        check(after("ask", "--mode", "l") == after("ask", "--mode", "=", "l") == ["lexical"], "a value")
        check(after("ask", "--mode=l") == ["--mode=lexical"], "a value behind its sign")
        check("--depth" in after("toc", "--") and "--depth" not in after("ask", "--"), "options of the verb alone")
        check(after("backup", "") == after("--store", "") == [":folders"], "folders")
        check(after("eval", "") == after("add", "") == [":files"] and after("ask", "--config", "") == [":files"], "files")
        check("none" in after("model", "use", "") and after("model", "get", "smol") == ["smollm2-135m-instruct"], "models")
        check(after("eval", "--method", "h2mt,h") == ["h2mt,h2mt", "h2mt,hmt"], "a value behind others")
        check(after("eval", "--method=h2mt,fu") == ["--method=h2mt,full"], "the same behind its sign")
        h.write("doc/pumps/0.html", page("Pumps", "<p>Text.</p>"))
        h.write("doc-base/pumps", f"Document: pumps\nTitle: Pumps\n\nFormat: HTML\nIndex: {h.path}/doc/pumps/0.html\n")
        h.env["LECTERN_DOC_BASE"] = os.path.join(h.path, "doc-base")
        check(after("add", "--installed", "pu") == ["pumps"], "what packages have registered")
        check(after("ask", "how do I ") == [] and after("nonsense", "") == after(""), "nothing known")


@test
def shells_complete():
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "pumps", "--wait")
        env = dict(h.env, PATH=os.path.dirname(LECTERN) + ":" + os.environ["PATH"])
        missing = [shell for shell in ("bash", "zsh", "fish") if not shutil.which(shell)]
        for shell in ("bash", "zsh", "fish"):
            if shell in missing:
                continue
            for words, wanted in (((["lectern", "se"]), ["search"]), (["lectern", "rm", ""], ["pumps"]),
                                  (["lectern", "ask", "--mode", "le"], ["lexical"])):
                found = completed(shell, words, env)
                check(found == wanted, (shell, words, found))
            folders = completed(shell, ["lectern", "add", h.path + "/m"], env)
            check(len(folders) == 1, (shell, folders))
        if missing:
            raise Skip(f"no {' and no '.join(missing)}")
