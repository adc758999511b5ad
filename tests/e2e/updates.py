"""Updates that somebody asks for."""
import json
import os
import random
import shutil

from e2e.house import House, check, house, page, test, walk, whole


@test
def unchanged_files_are_not_parsed_again():
    with house() as h:
        folder = h.part()
        h.json("add", folder, "-c", "pg", "--wait")
        again = h.json("update", "-c", "pg", "--wait")
        check(again["parsed"] == 0 and not again["changed"], again)
        for name in os.listdir(folder):
            os.utime(os.path.join(folder, name))
        touched = h.json("update", "-c", "pg", "--wait")
        check(touched["parsed"] == 0 and not touched["changed"], touched)
        os.rename(os.path.join(folder, "ddl-alter.html"),
                  os.path.join(folder, "ddl-alter2.html"))
        moved = h.json("update", "-c", "pg", "--wait")
        check(moved["parsed"] == 0 and moved["changed"], moved)
        forced = h.json("update", "-c", "pg", "--wait", "--force")
        check(forced["parsed"] == len(os.listdir(folder)), forced)


@test
def edits_are_found_and_ids_kept():
    with house() as h:
        for i in range(8):
            h.write(f"m/p{i}.html", page(f"Page {i}", f"<h2>Alpha {i}</h2><p>common text"
                                         f" number {i}</p><h2>Beta {i}</h2><p>more</p>"))
        folder = os.path.join(h.path, "m")
        h.json("add", folder, "-c", "m", "--wait")
        before = {n["title"]: n["id"] for n in walk(h.json("toc", "-c", "m"))}
        h.write("m/p3.html", page("Page 3", "<h2>Alpha 3</h2><p>quetzal feathers</p>"
                                  "<h2>New</h2><p>okapi</p><h2>Beta 3</h2><p>more</p>"))
        report = h.json("update", "-c", "m", "--wait")
        check(report["parsed"] == 1 and report["changed"], report)
        after = {n["title"]: n["id"] for n in walk(h.json("toc", "-c", "m"))}
        check(after.pop("New") not in before.values(), "an id was given twice")
        check(after == before, (before, after))
        check(h.json("search", "quetzal")["results"][0]["node"] == before["Alpha 3"],
              "the new text")
        check(h.json("search", "okapi")["results"][0]["path"][-1] == "New", "okapi")
        for hit in h.json("search", "number", "-n", "20")["results"]:
            check("Alpha 3" not in hit["path"], "the old text is still found")
        os.remove(os.path.join(folder, "p5.html"))
        h.json("update", "-c", "m", "--wait")
        titles = {n["title"] for n in walk(h.json("toc", "-c", "m"))}
        check("Alpha 5" not in titles and "Alpha 4" in titles, titles)
        found = [hit["path"][-1] for hit in h.json("search", "number", "-n", "20")["results"]]
        check(sorted(found) == [f"Alpha {i}" for i in (0, 1, 2, 4, 6, 7)], found)
        fresh = House()
        try:
            fresh.json("add", folder, "-c", "m", "--wait")
            for question in ("common text", "quetzal", "more", "page 7"):
                same = [[(hit["path"], hit["span"], round(hit["score"], 9)) for hit in
                         place.json("search", question, "-n", "50")["results"]]
                        for place in (h, fresh)]
                check(same[0] == same[1], (question, same))
        finally:
            fresh.close()


@test
def changed_files_are_not_quoted_as_they_were():
    with house() as h:
        path = h.write("m/a.html", page("Birds", "<p>The cassowary lays green eggs.</p>"))
        h.write("m/b.html", page("Fish", "<p>The coelacanth is old.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(h.json("ask", "cassowary eggs")["fresh"], "fresh at first")
        with open(path, "w") as file:
            file.write(page("Birds", "<p>Nothing of that kind any more.</p>"))
        answer = json.loads(h.run("ask", "cassowary eggs", "--json", code=None).stdout)
        check(answer["fresh"] is False, answer)
        for citation in answer["citations"]:
            check("cassowary" not in citation["quote"], citation)
        h.write("m/a.html", "<!-- longer --> " + page(
            "Birds", "<p>The cassowary lays green eggs.</p>"))
        h.run("ask", "cassowary eggs", "--strict", code=4)
        h.json("update", "-c", "m", "--wait")
        check(h.json("ask", "cassowary eggs", "--strict")["fresh"], "fresh again")


@test
def touched_and_replaced_files_are_judged_by_their_bytes():
    with house() as h:
        path = h.write("m/a.html", page("Birds", "<p>The cassowary lays green eggs.</p>"))
        folder = os.path.join(h.path, "m")
        h.json("add", folder, "-c", "m", "--wait")
        os.utime(path, (1, 1))
        check(h.json("ask", "cassowary eggs", "--strict")["fresh"], "touched")
        h.json("update", "-c", "m", "--wait")
        check(h.json("ask", "cassowary eggs", "--strict")["fresh"], "touched and updated")
        with open(path + ".new", "w") as file:
            file.write(page("Birds", "<p>The cassowary lays white eggs.</p>"))
        os.utime(path + ".new", (1, 1))
        os.rename(path + ".new", path)
        h.run("ask", "cassowary eggs", "--strict", code=4)
        h.json("update", "-c", "m", "--wait")
        check("white" in h.json("ask", "cassowary eggs")["answer"], "the new bytes")


@test
def a_file_whose_time_stamp_is_set_back_is_read_again():
    """As rsync, cp -p and reproducible builds do: the same size, time stamp and inode."""
    def edit(path, before, after):
        state = os.stat(path)
        with open(path, "r+") as file:
            text = file.read()
            check(before in text, text)
            file.seek(0)
            file.write(text.replace(before, after))
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        now = os.stat(path)
        check((now.st_size, now.st_mtime_ns, now.st_ino) == (state.st_size, state.st_mtime_ns, state.st_ino), "the same")

    with house() as h:
        path = h.write("m/a.html", page("Pumps", "<p>The pump opens at 5 bar.</p>"))
        h.write("t/d.tex", "\\documentclass{article}\\begin{document}\\section{Valves}\\input{part}\\end{document}")
        part = h.write("t/part.tex", "The valve closes at 6 bar.")
        for name, file in (("m", path), ("t", part)):
            os.utime(file, (1000000000, 1000000000))
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        edit(path, "5 bar", "7 bar")
        edit(part, "6 bar", "8 bar")
        check(h.json("search", "pump opens")["results"][0]["fresh"] is False, "it is as it was read")
        for name, question, now in (("m", "at what does the pump open", "7 bar"), ("t", "at what does the valve close", "8 bar")):
            check(h.json("update", "-c", name, "--wait")["parsed"] == 1, name)
            check(now in h.json("ask", question, "-c", name, "--strict")["answer"], question)
        for name, file in (("m", path), ("t", part)):
            os.chmod(file, 0o640)
            for _ in range(2):
                report = h.json("update", "-c", name, "--wait")
                check((report["parsed"], report["changed"]) == (0, False), (name, report))
        check(h.json("ask", "at what does the pump open", "--strict")["fresh"], "of other rights")


@test
def an_empty_folder_forgets_nothing():
    with house() as h:
        h.write("m/a.html", page("A", "<p>aardvark</p>"))
        folder = os.path.join(h.path, "m")
        h.json("add", folder, "-c", "m", "--wait")
        before = h.json("toc", "-c", "m")
        os.rename(folder, folder + "-away")
        os.mkdir(folder)
        h.run("update", "-c", "m", "--wait", code=None)
        check(h.json("search", "aardvark")["results"], "still there")
        check(h.json("status")["state"] == "degraded", h.json("status"))
        check(not json.loads(h.run("ask", "aardvark", "--json", code=None).stdout)["fresh"],
              "not fresh")
        os.rmdir(folder)
        os.rename(folder + "-away", folder)
        h.json("update", "-c", "m", "--wait")
        check(h.json("toc", "-c", "m") == before, "the same nodes")


@test
def random_edits_end_as_a_fresh_index():
    """Edits, moves, deletions, copies: incremental updates equal indexing anew."""
    dice = random.Random(7)
    with house() as h:
        folder = h.part(("index", "ddl"), "m")
        h.json("add", folder, "-c", "m", "--wait")
        for turn in range(12):
            for _ in range(1 + dice.randrange(4)):
                pages = sorted(f for f in os.listdir(folder) if f.endswith(".html"))
                path = os.path.join(folder, dice.choice(pages))
                deed = dice.randrange(6)
                if deed == 0 and len(pages) > 5:
                    os.remove(path)
                elif deed == 1:
                    os.rename(path, path[:-5] + "x.html")
                elif deed == 2:
                    shutil.copy(path, path[:-5] + f"-{turn}.html")
                elif deed == 3:
                    h.write(f"m/new{turn}.html", page(f"New {turn}", "<p>zebra</p>" * turn))
                else:
                    text = open(path, encoding="utf-8").read()
                    at = text.find("</p>", dice.randrange(len(text)))
                    text = text[:at] + f" zebra {turn}" + text[at:] if at > 0 else text
                    if deed == 4:
                        text = text.replace("<h3", "<h3 id='moved'", 1).replace("index", "key", 3)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
            h.json("update", "-c", "m", "--wait")
            if turn % 4 == 3:
                with house() as fresh:
                    fresh.json("add", folder, "-c", "m", "--wait")
                    now, anew = whole(h), whole(fresh)
                    for a, b in zip(now[0], anew[0]):
                        check(a == b, (turn, a, b))
                    check(now == anew, (turn, now[1], anew[1]))
        ids = [node["id"] for node in walk(h.json("toc", "-c", "m"))]
        check(len(set(ids)) == len(ids), "an id twice")


@test
def a_section_that_becomes_an_entry_is_found_as_one():
    """The same title and text count otherwise: postings must not stay as they were."""
    text = "<p>The value in use is what the server has, and it stays so until it is told another.</p>"
    section = f"<h2 id='v'>vacuum_cost</h2>{text}"
    entry = f"<dl><dt id='v'><code>vacuum_cost</code></dt><dd>{text}</dd></dl>"
    with house() as h:
        for i in range(12):
            h.write(f"m/p{i}.html", page(f"Page {i}", f"<p>Vacuum {i}.</p>"))
        h.write("m/p3.html", page("Page 3", section))
        folder = os.path.dirname(h.write("m/p4.html", page("Page 4", "<p>Other settings.</p>")))

        def hit(at):
            found = at.json("search", "vacuum settings", "-c", "m", "--mode", "lexical")["results"]
            return [(hit.get("entry"), hit["score"], hit["coverage"])
                    for hit in found if hit["path"][-1] == "vacuum_cost"]

        h.json("add", folder, "-c", "m", "--wait")
        for body in (entry, section):
            h.write("m/p3.html", page("Page 3", body))
            h.json("update", "-c", "m", "--wait")
            with house() as fresh:
                fresh.json("add", folder, "-c", "m", "--wait")
                check(hit(h) and hit(h) == hit(fresh), (hit(h), hit(fresh)))
                check(hit(h)[0][2] > 0, "a word in an entry's name is none of the question's")


@test
def what_is_not_said_again_of_a_manual_stays():
    """Confidential drafts, say: neither another name nor adding again has them indexed."""
    with house() as h:
        folder = os.path.join(h.path, "ig")
        h.write("ig/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.write("ig/drafts/b.html", page("Draft", "<p>The quagga is secret.</p>"))
        h.write("ig/notes/c.html", page("Notes", "<p>The numbat digs.</p>"))
        h.run("add", folder, "--ignore", "drafts/*", "--wait")
        for again in ((), ("-c", "renamed"), ("--no-follow-links",)):
            h.run("add", folder, *again, "--wait")
            h.run("search", "quagga", code=1)
        h.run("search", "numbat", "-c", "renamed")
        h.run("add", folder, "--ignore", "notes/*", "--wait")
        h.run("search", "numbat", code=1)
        h.run("search", "quagga")
        h.run("add", folder, "--ignore=", "--wait")
        h.run("search", "numbat")


@test
def a_folder_that_has_moved_is_added_under_its_manuals_name():
    with house() as h:
        old, new, other = (os.path.join(h.path, name) for name in ("old", "new", "other"))
        h.write("old/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.write("old/drafts/b.html", page("Draft", "<p>The quagga is secret.</p>"))
        h.write("other/a.html", page("Taps", "<p>Turn the tap.</p>"))
        h.run("add", old, "-c", "m", "--ignore", "drafts/*", "--wait")
        h.run("add", other, "--wait")
        node = h.json("search", "casing")["results"][0]["node"]
        check("taken by " + old in h.run("add", other, "-c", "m", code=2).stderr, "it is there")
        os.rename(old, new)
        check("which is gone" in h.run("add", other, "-c", "m", code=2).stderr, "one folder, two manuals")
        h.run("add", new, "-c", "m", "--wait")
        check(h.manual("m")["root"] == new and len(h.json("ls")["manuals"]) == 2, h.json("ls"))
        check(h.json("search", "casing")["results"][0]["node"] == node, "the same section")
        check(h.json("ask", "vent the casing")["citations"][0]["status"] == "verified", "quoted from there")
        h.run("search", "quagga", code=1)


@test
def a_folder_that_is_gone_is_said_to_be():
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "--wait")
        check("(gone)" not in h.run("ls").stdout and not h.run("failed").stdout, "there")
        h.run("search", "casing")
        os.rename(os.path.join(h.path, "m"), os.path.join(h.path, "away"))
        said = h.run("ls")
        check("m  (gone)" in said.stdout and "lectern add FOLDER -c m" in said.stderr, said)
        check("cannot read the folder" in h.run("failed", "-c", "m").stdout, "failed")
        said = h.run("open", "1", "--print", code=4)
        check("is gone" in said.stderr and not said.stdout, said)
        h.run("update", "--wait", code=None)
        check(h.run("failed").stdout.count("cannot read the folder") == 1, h.run("failed").stdout)
