"""What is missing, incomplete or failed is said, and never reads as "nothing found"."""
import json
import os
import resource
import shutil
import subprocess

from e2e.house import BUILD, LECTERN, check, house, page, test


def two_manuals(h):
    for name, word in (("one", "zebra"), ("two", "okapi")):
        h.write(f"{name}/a.html", page("Animals", f"<p>The {word} eats grass.</p>"))
        h.json("add", os.path.join(h.path, name), "-c", name, "--wait")


@test
def a_manual_that_is_not_indexed_yet_is_named():
    with house() as h:
        h.write("one/a.html", page("Animals", "<p>The zebra eats grass.</p>"))
        h.json("add", os.path.join(h.path, "one"), "-c", "one", "--wait")
        # A document that takes a while: the parser waits for its file's other end.
        h.write("two/a.tex", "\\documentclass{book}\\begin{document}\\chapter{x}\\def\\a{\\b\\b}"
                "\\loop\\iftrue\\repeat\\end{document}" * 20000)
        h.write("two/b.html", page("Okapi", "<p>The okapi eats leaves.</p>" * 200000))
        h.json("add", os.path.join(h.path, "two"), "-c", "two")
        asked = h.run("search", "okapi", "--json", code=None)
        result = json.loads(asked.stdout)
        if "missing" in result:  # else it was faster
            check(result["missing"] == [{"manual": "two", "state": "indexing",
                                         "reason": "it is being indexed for the first time"}], result)
            check(asked.returncode == 1 and not result["complete"], result)
        named = h.run("search", "okapi", "-c", "two", code=None)
        check("no manual named" not in named.stderr, named.stderr)
        h.run("wait")
        h.run("search", "okapi", "-c", "two")
        check("missing" not in h.json("search", "okapi"), "indexed")
        check("no manual named three" in h.run("search", "okapi", "-c", "three", code=2).stderr, "unknown")


@test
def a_manual_that_cannot_be_indexed_is_named():
    with house() as h:
        two_manuals(h)
        folder = os.path.join(h.path, "two")
        shutil.move(folder, folder + ".away")
        h.run("update", "--wait", code=None)
        for verb in ("search", "ask"):
            got = h.json(verb, "okapi grass", code=None)
            check([m["manual"] for m in got["missing"]] == ["two"] and got["missing"][0]["state"] == "stale"
                  and folder in got["missing"][0]["reason"], got)
            shown = h.run(verb, "okapi grass", code=None).stderr
            check(folder in shown and "answers this." not in shown, shown)
        status = h.run("status")
        check(folder in status.stdout, status.stdout)
        done = h.run("doctor", code=None)
        check(done.returncode == 1 and folder in done.stdout, (done.returncode, done.stdout))


@test
def what_cannot_be_quoted_is_a_failure_not_nothing():
    """A parser that dies at once; no descriptor left to open the file."""
    with house() as h:
        two_manuals(h)
        h.stop()
        h.configure(watch="off", parser="/bin/false")
        done = h.run("ask", "what does the zebra eat", code=7)
        check("parser died" in done.stderr and "answers this" not in done.stderr, done.stderr)
        check(json.loads(h.run("ask", "what does the zebra eat", "--json", code=7).stdout)["error"]["code"] == "crash", "JSON")
        h.stop()
        h.configure(watch="off", parser=os.path.join(BUILD, "lectern-parse"))
        h.run("ask", "what does the zebra eat")
        pid = h.pid()
        h.run("search", "zebra")
        used = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))
        done = h.run("ask", "what does the zebra eat", code=None)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        check(done.returncode in (0, 7) and (done.returncode == 0 or "open files" in done.stderr), (done.returncode, done.stderr))
        h.run("ask", "what does the zebra eat")


@test
def several_manuals_are_told_apart():
    with house() as h:
        for name in ("v1", "v2", "other"):
            h.write(f"{name}/a.html", page("Animals", "<p>The zebra eats grass.</p>" if name != "other" else
                                           "<p>The zebra of another book eats nothing at all today.</p>"))
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        for verb in ("search", "ask"):
            got = h.json(verb, "zebra", "-c", "v1", "-c", "other")
            places = got.get("results") or got["citations"]
            check({place["manual"] for place in places} == {"v1", "other"} and got["searched"] == 2, got)
            shown = h.run(verb, "zebra").stdout
            check("other: Animals" in shown, shown)
            check("v1: " not in h.run(verb, "zebra", "-c", "v1").stdout, "one manual needs no name")
        for verb in ("search", "ask", "grep"):
            check("65 manuals" in h.run(verb, "zebra", *["-c", "v1"] * 64, "-c", "other", code=2).stderr, "one too many")
            h.run(verb, "zebra", *["-c", "v1"] * 63, "-c", "other")
        check("one -c" in h.run("toc", "-c", "v1", "-c", "v2", code=2).stderr, "toc")


@test
def numbers_mean_what_was_printed_last():
    with house() as h:
        two_manuals(h)
        h.run("ask", "what does the zebra eat")
        check("one/a.html" in h.run("open", "1", "--print").stdout, "the answer's")
        h.run("search", "okapi")
        check("two/a.html" in h.run("open", "1", "--print").stdout, "the search's")
        check("okapi" in h.run("get", "1").stdout, "get")
        check("okapi" in h.run("get", "[1]").stdout, "get")
        check("no number 7" in h.run("open", "[7]", "--print", code=1).stderr, "7")
        node = h.json("search", "okapi")["results"][0]["node"]
        check(h.json("toc", "1")["id"] == node, "toc")
        check("okapi" in h.run("grep", "okapi", "--under", "1").stdout, "grep")
        check("okapi" in h.run("ask", "what does the okapi eat", "--under", "[1]").stdout, "ask")
        for verb in ("search", "ask", "grep"):
            for number in ("77", "[77]"):
                check("has no number 77" in h.run(verb, "okapi", "--under", number, code=2).stderr, (verb, number))


@test
def a_question_is_read_from_standard_input():
    with house() as h:
        check("No manual is indexed yet" in h.run("ask", "zebra", code=1).stderr, "none")
        check("No manual is indexed yet" in h.run("search", "zebra", code=1).stderr, "none")
        two_manuals(h)
        check("zebra" in h.run("ask", "-", stdin="What does the zebra eat?\n").stdout, "ask -")
        check("one" in h.run("search", "-", stdin="zebra\n").stdout, "search -")
        h.run("ask", "-", stdin="", code=2)
        h.run("ask", "-", stdin="x" * 20000, code=2)
        folder = os.open(h.path, os.O_RDONLY)
        done = subprocess.run([LECTERN, "ask", "-", "--store", h.store], env=h.env, stdin=folder, capture_output=True, text=True, check=False)
        os.close(folder)
        check(done.returncode == 7 and "cannot read standard input" in done.stderr, f"what cannot be read is no empty question: {done}")


@test
def a_vast_folder_is_added_only_if_meant():
    with house() as h:
        for folder in ("/", "/usr", h.path):  # the last is its HOME
            done = h.run("add", folder, code=2)
            check("--yes" in done.stderr, done.stderr)
        check(not h.json("status")["manuals"], "none")


@test
def who_waits_for_a_manual_does_not_wait_for_another():
    """Memories of a large manual make room for those of a small one that is waited for, which are made first."""
    with house() as h:
        h.copy_model()
        h.write("large/a.html", page("Large", "".join(f"<h2>Part {n}</h2><p>{'The zebra eats grass. ' * 40}{n}</p>" for n in range(3000))))
        h.write("small/a.html", page("Small", "<p>The okapi eats leaves.</p>"))
        h.json("add", os.path.join(h.path, "large"), "-c", "large")
        h.until(lambda: (h.manual("large").get("encoding") or {}).get("done", 0) > 0, "memories of the large one")
        h.json("add", os.path.join(h.path, "small"), "-c", "small", "--wait")
        manuals = {m["name"]: m["memories"] for m in h.json("status")["manuals"]}
        check(manuals == {"small": "current", "large": "computing"}, manuals)
        h.run("rm", "large")


@test
def a_manual_that_is_not_there_is_a_wrong_argument():
    """In the same words whatever is asked of it."""
    with house() as h:
        two_manuals(h)
        named = (("search", "okapi"), ("ask", "okapi"), ("grep", "okapi"), ("toc",), ("wait",), ("failed",), ("update",), ("verify",))
        for verb in (*((*words, "-c", "nope") for words in named), ("rm", "nope"), ("pack", "nope", os.path.join(h.path, "p"))):
            said = h.run(*verb, code=2).stderr
            check("no manual named nope is indexed" in said, (verb, said))


@test
def the_contents_of_several_manuals_begin_with_the_first():
    with house() as h:
        two_manuals(h)
        shown = h.run("toc").stdout
        check(shown[0] not in " \n" and "two" in shown, shown)
        node = h.json("toc", "-c", "two")["id"]
        check(h.run("toc", node).stdout == h.run("toc", node, "-c", "two").stdout, "of its manual")
        check("is a section of two, not of one" in h.run("toc", node, "-c", "one", code=2).stderr, "of another")


@test
def the_words_of_the_fleet_are_completed_and_missed():
    with house() as h:
        two_manuals(h)
        check(h.run("completion", "words", "--", "fleet", "in", store=False).stdout == "init\t\n", "its verbs")
        check("two\t" in h.run("completion", "words", "--", "fleet", "publish", "t", store=False).stdout, "its manuals")
        if os.path.exists(os.path.join(BUILD, "lectern-fleet")):
            for words, missing in ((("init",), "needs an argument: lectern fleet init CONNECTION [PLACE]"),
                                   (("publish",), "needs an argument: lectern fleet publish NAME"),
                                   (("status", "x"), "takes no further argument"), (("x",), "work and fetch, not 'x'")):
                said = h.run("fleet", *words, code=2).stderr
                check(missing in said, said)
