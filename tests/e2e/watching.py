"""Changes that are found without asking."""
import contextlib
import json
import mmap
import os
import shutil
import subprocess
import time

from e2e.house import PATIENCE, check, house, page, talk, test, whole


@contextlib.contextmanager
def watching(**keys):
    with house() as h:
        h.configure(watch="auto", **keys)
        yield h


def found(h, word):
    return [hit["path"][-1] for hit in h.json("search", word, code=None)["results"]]


@test
def edits_are_found_without_asking():
    with watching() as h:
        folder = h.part(("index", "ddl"), "m")
        h.json("add", folder, "-c", "m", "--wait")
        watch = h.json("status")["watch"]
        check(watch["mode"] == "inotify" and watch["folders"] >= 1 and not watch["limited"]
              and watch["overflows"] == 0, watch)
        check("inotify" in h.run("status").stdout, "status")

        def becomes(word, path):
            h.until(lambda: found(h, word) == path, f"{word} in {path}")
        h.write("m/new.html", page("New", "<p>quetzal</p>"))
        becomes("quetzal", ["New"])
        h.write("m/.new.html~", page("New", "<p>okapi</p>"))
        os.rename(os.path.join(folder, ".new.html~"), os.path.join(folder, "new.html"))
        becomes("okapi", ["New"])
        check(not found(h, "quetzal"), "the text before")
        h.write("deep/x/y/z.html", page("Deep", "<p>tapir</p>"))
        os.rename(os.path.join(h.path, "deep"), os.path.join(folder, "deep"))
        becomes("tapir", ["Deep"])
        h.write("m/deep/x/y/z.html", page("Deeper", "<p>tapir</p>"))
        becomes("tapir", ["Deeper"])
        os.makedirs(os.path.join(folder, "a/b/c/d"))
        h.write("m/a/b/c/d/e.html", page("Five down", "<p>kakapo</p>"))
        becomes("kakapo", ["Five down"])
        shutil.rmtree(os.path.join(folder, "deep"))
        becomes("tapir", [])
        os.rename(os.path.join(folder, "new.html"), os.path.join(h.path, "gone.html"))
        becomes("okapi", [])
        check(h.json("status")["watch"]["last_event"] < PATIENCE, h.json("status")["watch"])


@test
def a_change_is_known_before_it_is_indexed():
    """What is asked right after a write is never silently stale, and `wait` waits for it."""
    with watching() as h:
        h.write("m/a.html", page("Birds", "<p>The cassowary lays green eggs.</p>"))
        h.write("m/b.html", page("Fish", "<p>The coelacanth is old.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        asked = b'{"jsonrpc":"2.0","id":1,"method":"search","params":{"query":"cassowary"}}\n'
        for turn in range(10):
            h.json("wait", "-c", "m")
            check(json.loads(talk(h, asked))["result"]["fresh"], "fresh at rest")
            h.write("m/b.html", page("Fish", f"<p>The coelacanth is {turn} years old.</p>"))
            result = json.loads(talk(h, asked))["result"]
            check(not result["fresh"] and result["results"][0]["fresh"], result)
            h.write("m/a.html", page("Birds", f"<p>The cassowary lays {turn} green eggs.</p>"))
            hit = json.loads(talk(h, asked))["result"]["results"][0]
            check(not hit["fresh"], hit)
            h.json("wait", "-c", "m")
            check(f"lays {turn} green" in h.json("search", "cassowary", "--strict")
                  ["results"][0]["text"], turn)
        h.run("ask", "cassowary eggs", "--strict")
        h.write("m/none.html", "")
        os.chmod(os.path.join(h.path, "m/none.html"), 0)
        os.symlink("/nowhere", os.path.join(h.path, "m/lost.html"))
        h.json("wait", "-c", "m")
        result = h.json("search", "cassowary", "--strict", code=4)
        check(result["fresh"] and not result["complete"], result)
        h.run("ask", "cassowary eggs", "--strict", code=4)
        h.run("ask", "cassowary eggs")


@test
def a_checkout_ends_as_a_fresh_index():
    with watching() as h:
        folder = h.part(("index", "ddl"), "m")

        def git(*args):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args],
                           cwd=folder, check=True, capture_output=True, env=h.env)
        h.write("m/zebra.html", page("Zebra", "<p>zebra</p>"))
        git("init", "-q", "-b", "one")
        git("add", "-A")
        git("commit", "-qm", "one")
        git("checkout", "-qb", "two")
        pages = sorted(f for f in os.listdir(folder) if f.endswith(".html"))
        for i, name in enumerate(pages):
            path = os.path.join(folder, name)
            if i % 5 == 0:
                os.remove(path)
            elif i % 5 == 1:
                os.makedirs(os.path.join(folder, f"part{i % 3}"), exist_ok=True)
                os.rename(path, os.path.join(folder, f"part{i % 3}", name))
            elif i % 5 == 2:
                text = open(path, encoding="utf-8").read()
                h.write("m/" + name, text.replace("</p>", f" zebra {i}</p>", 2))
        git("add", "-A")
        git("commit", "-qm", "two")
        h.json("add", folder, "-c", "m", "--wait")
        for branch in ("one", "two", "one"):
            git("checkout", "-q", branch)
            h.json("wait", "-c", "m")
            with house() as fresh:
                fresh.json("add", folder, "-c", "m", "--wait")
                now, anew = whole(h), whole(fresh)
                for a, b in zip(now[0], anew[0]):
                    check(a == b, (branch, a, b))
                check(now == anew, (branch, now[1], anew[1]))


@test
def what_changed_while_it_was_down_is_found():
    with watching() as h:
        folder = h.part(("index", "ddl"), "m")
        h.write("m/a.html", page("A", "<p>aardvark</p>"))
        h.json("add", folder, "-c", "m", "--wait")
        h.stop()
        h.write("m/a.html", page("A", "<p>bobolink</p>"))
        h.write("m/sub/b.html", page("B", "<p>caracal</p>"))
        os.remove(os.path.join(folder, "ddl-alter.html"))
        h.json("wait", "-c", "m")
        check(found(h, "bobolink") == ["A"] and found(h, "caracal") == ["B"] and
              not found(h, "aardvark"), "after the restart")
        h.write("m/sub/b.html", page("B", "<p>dugong</p>"))
        h.until(lambda: found(h, "dugong"), "watched again")


@test
def a_manual_that_goes_and_comes_back():
    with watching() as h:
        folder = h.part(("ddl",), "m")
        h.json("add", folder, "-c", "m", "--wait")
        os.rename(folder, folder + "-away")
        h.until(lambda: h.json("status")["state"] == "degraded", "it is missed")
        check(h.json("search", "table", code=4, *["--strict"])["fresh"] is False, "stale")
        os.rename(folder + "-away", folder)
        h.until(lambda: h.json("status")["state"] == "idle", "it is back")
        h.write("m/a.html", page("A", "<p>aardvark</p>"))
        h.until(lambda: found(h, "aardvark"), "watched again")
        h.run("rm", "m")
        check(h.json("status")["watch"]["folders"] == 0, h.json("status")["watch"])
        h.write("m/b.html", page("B", "<p>bobolink</p>"))
        h.json("wait")
        check(not h.json("ls")["manuals"], "it stays away")


@test
def without_inotify_folders_are_rescanned():
    with watching(poll_seconds=1) as h:
        h.configure(watch="poll", poll_seconds=1)
        h.write("m/a.html", page("A", "<p>aardvark</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        watch = h.json("status")["watch"]
        check(watch["mode"] == "poll" and watch["folders"] == 0, watch)
        h.write("m/a.html", page("A", "<p>bobolink</p>"))
        h.until(lambda: found(h, "bobolink"), "polled")
    with watching(sweep_seconds=1) as h:
        path = h.write("m/a.html", page("A", "<p>aardvark</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        time.sleep(2.5)
        before = h.json("status")["watch"]["last_event"]
        check(before is None or before > 2, "scans are no events")
        with open(path, "r+b") as file:  # inotify does not see what a map writes
            file.truncate(len(page("A", "<p>aardvark</p>")))
            time.sleep(0.5)
            h.json("wait", "-c", "m")
            with mmap.mmap(file.fileno(), 0) as bytes_of:
                at = bytes_of.find(b"aardvark")
                bytes_of[at:at + 8] = b"bobolink"
                bytes_of.flush()
                h.until(lambda: found(h, "bobolink"), "swept")


@test
def failed_files_are_tried_again():
    with watching() as h:
        h.write("m/good.html", page("Good", "<p>platypus</p>"))
        h.write("m/deep.html", "<div>" * 300000 + "x")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check([f["file"] for f in h.json("failed")["files"]] == ["deep.html"], "failed")
        log = os.path.join(h.store, "lecternd.log")
        count = lambda: open(log).read().count("deep.html:")
        check(count() == 1, open(log).read())
        h.json("update", "--wait")
        check(count() == 1, "an unchanged file that fails is left alone")
        check(len(h.json("failed", "--retry", "--wait")["files"]) == 1, "it still fails")
        check(count() == 2, "it was tried again")
        h.json("wait")
        h.write("m/deep.html", page("Deep", "<p>echidna</p>"))
        h.until(lambda: found(h, "echidna"), "it is mended")
        check(not h.json("failed", "--retry")["files"], "none fails")
