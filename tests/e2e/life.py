"""Starting, stopping and killing the daemon."""
import json
import os
import random
import select
import signal
import subprocess
import time

from e2e.house import LECTERN, MANUAL, check, find, house, page, test


@test
def it_stops_cleanly_and_goes_on():
    with house() as h:
        h.json("add", h.part(("tutorial",)), "-c", "pg", "--wait")
        pid = h.pid()
        os.kill(pid, signal.SIGTERM)
        deadline = time.time() + 10
        while os.path.exists(f"/proc/{pid}") and time.time() < deadline:
            time.sleep(0.02)
        check(not os.path.exists(f"/proc/{pid}"), "still there")
        check(not os.path.exists(h.socket), "the socket is left")
        check(h.json("search", "window function")["results"], "after a restart")


@test
def it_keeps_nothing_open_that_is_its_callers():
    """A lock or a pipe of the script that was the first to ask would last as long as the daemon."""
    with house() as h:
        ours, theirs = os.pipe()
        with open(ours, "rb") as read:
            done = subprocess.run([LECTERN, "ls", "--store", h.store], env=h.env, pass_fds=(theirs,), capture_output=True, check=False)
            os.close(theirs)
            check(done.returncode == 0 and h.pid() > 0, done)
            check(select.select([read], [], [], 5)[0] and read.read() == b"", "the daemon has the caller's pipe")


@test
def its_callers_signals_are_not_its_own():
    """Who ignores SIGCHLD hears of no child how it ended, and leaves that to what it starts."""
    with house() as h:
        h.configure(parser="/bin/false")
        folder = os.path.dirname(h.write("pumps/pump.html", page("Pumps", "<p>A pump has a valve.")))
        subprocess.run([LECTERN, "add", folder, "-c", "pumps", "--wait", "--store", h.store], env=h.env, check=False,
                       capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        failed = h.json("failed")["files"]
        check(len(failed) == 1 and "status 1" in failed[0]["reason"], failed)


@test
def it_answers_while_it_indexes():
    with house() as h:
        h.json("add", h.part(("tutorial",)), "-c", "small", "--wait")
        h.json("add", MANUAL, "-c", "big")
        answers = 0
        while h.json("status")["state"] == "indexing":
            check(h.json("search", "window function", "-c", "small")["results"], "found")
            answers += 1
        check(answers > 0, "indexing was over at once")
        h.run("wait")
        check(len(h.json("ls")["manuals"]) == 2, "both")


@test
def a_stop_while_indexing_is_quick():
    with house() as h:
        h.json("add", MANUAL, "-c", "big")
        start = time.time()
        h.run("daemon", "--stop")
        check(time.time() - start < 10, "slow to stop")
        h.run("wait")
        manual = h.json("ls")["manuals"][0]
        check(manual["files"] == len([f for f in os.listdir(MANUAL)
                                      if f.endswith(".html")]), manual)


@test
def kill_at_random_moments():
    """kill -9 while it indexes; it starts again, serves the last generation."""
    moments = random.Random(15)
    with house() as h:
        folder = h.part()
        whole = h.json("add", folder, "-c", "pg", "--wait")
        start = time.time()
        h.json("update", "-c", "pg", "--wait", "--force")
        length = time.time() - start
        for _ in range(20):
            h.run("update", "-c", "pg", "--force")
            time.sleep(moments.random() * length)
            pid = h.pid()
            os.kill(pid, signal.SIGKILL)
            hits = h.json("search", "partial index", "-n", "1")["results"]
            check(hits and hits[0]["path"][-1] == "11.8. Partial Indexes", hits)
            check(h.pid() != pid, "the same daemon")
        h.run("wait")
        listed = h.json("ls")["manuals"][0]
        check(listed["nodes"] == whole["nodes"] and not listed["failed"], listed)


@test
def kill_during_the_first_index():
    """Nothing is visible before the first generation is whole; then all is."""
    moments = random.Random(16)
    with house() as h:
        folder = h.part()
        h.json("add", folder, "-c", "pg")
        for _ in range(20):
            time.sleep(moments.random() * 0.1)
            os.kill(h.pid(), signal.SIGKILL)
            toc = h.run("toc", "-c", "pg", "--json", code=None)
            if toc.returncode == 0:
                find(json.loads(toc.stdout), "5.11. Table Partitioning")
        h.run("wait")
        find(h.json("toc", "-c", "pg"), "5.11. Table Partitioning")
