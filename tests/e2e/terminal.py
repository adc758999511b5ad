"""What people see on a terminal, and what scripts get instead."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from e2e.house import LECTERN, PATIENCE, Failure, check, house, page, test

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
