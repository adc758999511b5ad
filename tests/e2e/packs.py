"""Packs: made by one daemon, taken by another, which answers as the first does."""
import contextlib
import os
import threading
import zipfile

from e2e.house import check, house, page, test

QUESTIONS = ("how do I create a partial index", "unique index", "CREATE TABLE", "work_mem")


@contextlib.contextmanager
def two():
    """Where it is made, with a model, and where it is read, with the same."""
    with house() as made, house() as read:
        made.copy_model()
        read.model = made.model
        yield made, read


def trust(made, read, key):
    """The other believes what is signed by this key; returns it."""
    made.write("m/a.html", page("Any", "<p>Any words.</p>"))
    made.run("add", os.path.join(made.path, "m"), "-c", "any", "--wait")
    signer = made.json("pack", "any", os.path.join(made.path, "any.pack"), "--key", key)["signer"]
    made.run("rm", "any")
    read.configure(watch="off", trusted_keys=read.write("keys", f"# who makes packs here\n{signer} of the test\n"))
    return signer


def content(path):
    with open(path, "rb") as file:
        return file.read()


def found(h, manual):
    """All that a search and an answer show, without ids."""
    hits = [[(hit["path"], hit["file"], hit["anchor"], hit["span"], hit["text"], hit["score"])
             for hit in h.json("search", question, "-c", manual, "-n", "20")["results"]] for question in QUESTIONS]
    answers = [h.json("ask", question, "-c", manual) for question in QUESTIONS]
    return hits, [(a["kind"], a["answer"], [(c["path"], c["quote"]) for c in a["citations"]]) for a in answers]


@test
def a_pack_answers_as_where_it_was_made():
    with two() as (made, read):
        key, pack = os.path.join(made.path, "key"), os.path.join(made.path, "pg.pack")
        signer = trust(made, read, key)
        made.run("add", made.part(), "-c", "pg", "--wait")
        told = made.json("pack", "pg", pack, "--key", key)
        check(told["signer"] == signer and not told["key_made"] and told["bytes"] == os.path.getsize(pack), told)
        made.run("pack", "pg", pack + ".again", "--key", key)
        check(content(pack) == content(pack + ".again"), "twice, and not the same bytes")
        got = read.json("unpack", pack)
        check(got["trusted"] and got["hash"] == told["hash"] and got["root"] == "" and got["memories"] > 0, got)
        read.run("wait")
        check(found(read, "pg") == found(made, "pg"), "it is not found as where it was made")
        state = read.manual("pg")
        check(state["memories"] == made.manual("pg")["memories"] == "current", state)
        check(not read.json("verify")["fault_count"], read.run("verify", code=None).stdout)
        read.run("pack", "pg", pack + ".third", "--key", key)
        check(content(pack) == content(pack + ".third"), "from another store, and not the same bytes")
        read.stop()
        check(found(read, "pg") == found(made, "pg"), "after a restart")


@test
def what_is_not_here_is_said():
    """A manual without its files: quotes are the stored ones, and nobody says that it is fresh."""
    with two() as (made, read):
        key, pack = os.path.join(made.path, "key"), os.path.join(made.path, "m.pack")
        trust(made, read, key)
        made.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        made.run("add", os.path.join(made.path, "m"), "-c", "m", "--wait")
        made.run("pack", "m", pack, "--key", key)
        read.run("unpack", pack)
        said = read.run("ask", "what is the impeller primed with")
        check("clean water. [1]" in said.stdout and "(its file is not here)" in said.stdout, said)
        check("not known" in said.stderr, said.stderr)
        answer = read.json("ask", "what is the impeller primed with")
        check(answer["citations"][0]["status"] == "stored" and answer["away"] and not answer["fresh"], answer)
        hits = read.json("search", "impeller")
        check(hits["away"] and not hits["fresh"] and not hits["results"][0]["fresh"], hits)
        read.run("search", "impeller", "--strict", code=4)
        check("are not here" in read.run("open", "1", code=4).stderr, "open")
        check("its files are not here" in read.run("status").stdout, "status")
        generation = read.manual("m")["generation"]
        read.run("update", "--force", "--wait")
        check(read.manual("m")["generation"] == generation and not read.run("failed").stdout.strip(), "an update")
        check("are not here" in read.run("pack", "m", pack + "2", "--files", code=4).stderr, "pack --files")
        node = hits["results"][0]["node"]
        read.write("other/a.html", page("Taps", "<p>Turn the tap.</p>"))
        read.run("add", os.path.join(read.path, "other"), "-c", "other", "--wait")
        said = read.run("add", os.path.join(read.path, "other"), "-c", "m", code=2).stderr
        check("taken by a manual that was unpacked without its files" in said, said)
        read.run("rm", "other")
        read.run("add", os.path.join(made.path, "m"), "-c", "m", "--wait")
        answer = read.json("ask", "what is the impeller primed with")
        check(answer["citations"][0]["status"] == "verified" and answer["citations"][0]["node"] == node and answer["fresh"], "a folder of its own")
        check(not read.json("verify")["fault_count"], read.run("verify", code=None).stdout)
        read.run("rm", "m")
        read.run("search", "impeller", code=1)


@test
def files_in_a_pack_are_quoted_literally():
    with two() as (made, read):
        key, pack = os.path.join(made.path, "key"), os.path.join(made.path, "m.pack")
        trust(made, read, key)
        folder = os.path.join(made.path, "m")
        made.write("m/deep/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        made.run("add", folder, "-c", "m", "--wait")
        made.run("pack", "m", pack, "--key", key, "--files")
        read.write("store/manuals/m/left.html", "left by one who was killed")
        got = read.json("unpack", pack)
        check("left.html" not in os.listdir(got["root"]), "what was left is gone")
        check(got["root"].startswith(read.path) and content(os.path.join(got["root"], "deep/a.html")) ==
              content(os.path.join(folder, "deep/a.html")), got)
        read.run("wait")
        answer = read.json("ask", "what is the impeller primed with")
        check(answer["citations"][0]["status"] == "verified" and answer["fresh"] and "away" not in answer, answer)
        check(read.run("open", "1", "--print").stdout.startswith(f"file://{got['root']}/deep/a.html"), "open")
        check(not read.json("verify")["fault_count"], read.run("verify", code=None).stdout)
        read.run("unpack", pack, code=2)
        read.write(os.path.join(got["root"], "deep/a.html"), page("Pumps", "<p>The impeller is primed with oil.</p>"))
        read.run("update", "--wait")
        check("oil" in read.json("ask", "what is the impeller primed with")["answer"], "it is a manual as any")
        read.run("rm", "m")
        check(not os.path.exists(got["root"]), "its files go with it")
        # The files are here anyhow: a pack without them, and where they are.
        made.run("pack", "m", pack, "--key", key)
        got = read.json("unpack", pack, "-c", "mounted", "--dir", folder)
        read.run("wait")
        check(got["root"] == folder and read.json("ask", "what is the impeller primed with")["citations"][0]["status"] == "verified", got)
        read.run("rm", "mounted")
        check(os.path.exists(folder), "a folder of others stays")
        made.write("m/deep/a.html", page("Pumps", "<p>Changed.</p>"))
        check("has changed" in made.run("pack", "m", pack, "--key", key, "--files", code=4).stderr, "files that have changed")
        os.rename(made.path + "/m", made.path + "/elsewhere")
        check("is gone: lectern update" in made.run("pack", "m", pack, "--key", key, "--files", code=4).stderr, "files that are gone")
        os.rename(made.path + "/elsewhere", made.path + "/m")


@test
def files_of_packs_come_and_go_behind_a_link():
    with house() as h:
        os.mkdir(os.path.join(h.path, "far"))
        h.store = os.path.join(h.path, "near")
        os.symlink("far", h.store)
        archive, pack = os.path.join(h.path, "zebra.zip"), os.path.join(h.path, "zebra.pack")
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a.html", page("Animals", "<p>The zebra eats grass.</p>"))
        h.run("add", archive, "--wait")
        root = h.manual("zebra")["root"]
        h.run("pack", "zebra", pack, "--files")
        refused = h.run("unpack", pack, "--untrusted", code=2).stderr
        check("already" in refused and os.listdir(root) == ["a.html"], (refused, os.path.exists(root)))
        h.run("rm", "zebra")
        check(h.json("unpack", pack, "--untrusted")["root"] == root, h.manual("zebra"))
        h.run("rm", "zebra")
        check(not os.path.exists(root), "the files of a pack stay when its manual goes")


@test
def packs_that_are_not_trusted_or_not_whole_are_refused():
    with two() as (made, read):
        key, pack = os.path.join(made.path, "key"), os.path.join(made.path, "m.pack")
        made.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        made.run("add", os.path.join(made.path, "m"), "-c", "m", "--wait")
        told = made.run("pack", "m", pack, "--key", key)
        check("new key" in told.stderr and os.stat(key).st_mode & 0o777 == 0o600, told)
        check("trusted-keys" in read.run("unpack", pack, code=2).stderr, "a key that nobody knows")
        check(read.json("unpack", pack, "--untrusted")["memories"] == 0, "memories of a stranger")
        read.run("wait")
        check(read.json("ask", "what is the impeller primed with")["citations"][0]["status"] == "stored", "untrusted")
        read.run("rm", "m")
        nobody = made.json("pack", "m", pack + ".unsigned")
        check(nobody["signer"] is None, nobody)
        check("nobody has signed" in read.run("unpack", pack + ".unsigned", code=2).stderr, "unsigned")
        read.configure(watch="off", trusted_keys=read.write("keys", made.json("pack", "m", pack, "--key", key)["signer"]))
        read.stop()
        right = content(pack)

        def refused(what, reason):
            bad = os.path.join(read.path, "bad.pack")
            with open(bad, "wb") as file:
                file.write(what)
            said = read.run("unpack", bad, code=None)
            check(said.returncode == 2 and reason in said.stderr and "Sanitizer" not in said.stderr, said)

        for size in (0, 10, 100, 151, 152, len(right) // 2, len(right) - 1):
            refused(right[:size], "no pack" if size < 16 else "is cut")
        for at in (20, 60, 113, 160, len(right) - 1):
            refused(right[:at] + bytes([right[at] ^ 1]) + right[at + 1:], "the pack is not taken")
        refused(right.replace(b"pack 1", b"pack 3"), "another version")
        refused(right[:48] + os.urandom(64) + right[112:], "forged")
        refused(os.urandom(1000), "no pack")
        read.run("unpack", os.path.join(read.path, "none.pack"), code=7)
        check(not read.json("ls")["manuals"], "something was left behind")
        read.run("unpack", pack)
        check(read.json("search", "impeller")["results"], "the right one")


@test
def a_newer_pack_takes_its_place_under_searches():
    """No search finds nothing, and none finds half: every answer is of one generation or the next."""
    with two() as (made, read):
        key = os.path.join(made.path, "key")
        trust(made, read, key)
        packs = []
        for turn in ("first", "second"):
            for n in range(5):
                made.write(f"m/{n}.html", page(f"Pumps {n}", f"<p>The impeller is of the {turn} kind.</p>"))
            made.run("add", os.path.join(made.path, "m"), "-c", "m", "--wait")
            made.run("update", "--wait")
            packs.append(os.path.join(made.path, turn))
            made.run("pack", "m", packs[-1], "--key", key)
        read.run("unpack", packs[0])
        seen, over = [], threading.Event()

        def ask():
            while not over.is_set():
                hits = read.json("search", "impeller", "-n", "5", "--mode", "lexical")["results"]
                seen.append({("first" in hit["text"], "second" in hit["text"]) for hit in hits} if len(hits) == 5 else hits)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for turn in range(6):
                read.run("unpack", packs[1 - turn % 2])
        finally:
            over.set()
            asking.join()
        check(seen and all(one in ({(True, False)}, {(False, True)}) for one in seen), [one for one in seen if len(one) != 1])
        check(read.manual("m")["generation"] == 7 and not read.json("verify")["fault_count"], read.manual("m"))
