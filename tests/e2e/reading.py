"""Manuals become trees: nodes, blocks, links, index entries."""
import gzip
import json
import os
import shutil

from harness.daemon import cpu_seconds
from e2e.house import check, find, house, page, test, walk


@test
def a_manual_is_indexed_and_read():
    with house() as h:
        folder = h.part()
        files = len(os.listdir(folder))
        added = h.json("add", folder, "-c", "pg", "--wait")
        check(added["manual"] == "pg", added)
        check(added["files"] == {"seen": files, "indexed": files, "failed": 0}, added)
        check(added["nodes"] > files and added["tokens"] > 10000, added)
        check(h.json("ls")["manuals"][0]["name"] == "pg", "ls")
        toc = h.json("toc", "-c", "pg")
        section = find(toc, "5.11. Table Partitioning")
        check(section["file"] == "ddl-partitioning.html", section)
        check(section["anchor"] == "DDL-PARTITIONING", section)
        titles = [child["title"] for child in section["children"]]
        check(titles[:2] == ["5.11.1. Overview", "5.11.2. Declarative Partitioning"],
              titles)
        one = h.json("toc", section["id"], "--depth", "1")
        check(all(not child["children"] for child in one["children"]), one)
        got = h.json("get", section["children"][0]["id"])
        check(got["path"][-2:] == ["5.11. Table Partitioning", "5.11.1. Overview"], got)
        check(got["path_nodes"][-2:] == [section["id"], got["id"]], got)
        check(got["blocks"] and got["blocks"][0]["kind"] == "paragraph", got["blocks"])
        text = h.run("get", section["id"]).stdout
        check("5.11. Table Partitioning" in text, text)
        status = h.json("status")
        check(status["state"] == "idle", status)
        check(status["manuals"][0]["nodes"] == added["nodes"], status)


@test
def blocks_stand_at_their_spans():
    with house() as h:
        folder = h.part(("sql-abort", "ddl-part"))
        h.json("add", folder, "-c", "pg", "--wait")
        checked = 0
        for node in walk(h.json("toc", "-c", "pg")):
            for block in h.json("get", node["id"])["blocks"]:
                data = open(os.path.join(folder, block["file"]), "rb").read()
                source = data[block["span"][0]:block["span"][1]].decode()
                check(source and not source[0].isspace() and not source[-1].isspace(),
                      source)
                first = block["text"].split()[0]
                if block["kind"] in ("paragraph", "code") and "<" not in source:
                    check(source.startswith(first[:3].replace("&", "&amp;")
                                            .replace("<", "&lt;")), (source, block))
                    checked += 1
        check(checked > 20, checked)


@test
def links_lead_to_nodes():
    with house() as h:
        h.write("m/index.html", page("Top", '<p>See <a href="a/b.html#two">two</a>, '
                                     '<a href="nowhere.html">none</a> and '
                                     '<a href="http://x.org/">out</a>.</p>'))
        h.write("m/a/b.html", page("B", '<h2 id="two">Two</h2><p>text '
                                   '<a href="../index.html">up</a></p>'))
        h.json("add", os.path.join(h.path, "m"), "--wait")
        toc = h.json("toc")
        two = find(toc, "Two")
        refs = {ref["text"]: ref for ref in h.json("get", find(toc, "Top")["id"])["refs"]}
        check(refs["two"]["node"] == two["id"], refs)
        check(refs["none"]["node"] is None and refs["out"]["node"] is None, refs)
        up = h.json("get", two["id"])["refs"][0]
        check(up["node"] == find(toc, "Top")["id"], up)


@test
def links_to_packed_files_lead_to_nodes():
    with house() as h:
        folder = os.path.join(h.path, "m")
        h.write("m/a.html", page("A", '<p><a href="b.html#two">packed</a>, '
                                 '<a href="c.html.gz">plain</a></p>'))
        h.write("m/b.html.gz", gzip.compress(page("B", '<h2 id="two">Two</h2><p>text</p>').encode()))
        h.write("m/c.html", page("C", "<p>text</p>"))
        h.json("add", folder, "--wait")
        toc = h.json("toc")
        refs = {ref["text"]: ref["node"] for ref in h.json("get", find(toc, "A")["id"])["refs"]}
        check(refs == {"packed": find(toc, "Two")["id"], "plain": find(toc, "C")["id"]}, refs)


INDEX = '<div class="index"><div class="indexdiv"><dl>%s</dl></div></div>'


@test
def index_entries_find_sections():
    with house() as h:
        folder = os.path.join(h.path, "m")
        h.write("m/a.html", page("Alpha", "<p>The first text.</p>"))
        h.write("m/b.html", page("Beta", "<p>The second text.</p>"))
        entry = '<dt>zebra crossings</dt><dd><dl><dt>striped, <a href="%s">see</a></dt></dl></dd>'
        h.write("m/ix.html", page("Index", INDEX % (entry % "a.html")))
        h.json("add", folder, "-c", "m", "--wait")

        def first(words):
            hits = h.json("search", words, "--mode", "lexical", code=None)["results"]
            return hits[0]["path"][-1] if hits else None

        alpha = find(h.json("toc"), "Alpha")["id"]
        check(h.json("get", alpha)["aliases"] == ["zebra crossings, striped"], h.json("get", alpha))
        check(first("striped zebra") == "Alpha", "found by its entry")
        h.write("m/ix.html", page("Index", INDEX % (entry % "b.html")))
        h.json("update", "--wait")
        check(first("striped zebra") == "Beta", "the entry leads elsewhere")
        check(h.json("get", alpha)["aliases"] == [], "and no more there")
        os.remove(os.path.join(folder, "ix.html"))
        h.json("update", "--wait")
        check(first("zebra") is None, "without the index page there are no entries")


@test
def index_entries_can_be_left_out():
    with house() as h:
        folder = os.path.join(h.path, "m")
        h.write("m/a.html", page("Alpha", "<p>The first text.</p>"))
        h.write("m/ix.html", page("Index", INDEX % '<dt>zebra, <a href="a.html">A</a></dt>'))
        config = h.write("lectern.ini", "aliases = no\n")
        h.json("add", folder, "-c", "m", "--wait", "--config", config)
        check(not h.json("search", "zebra", "--mode", "lexical", code=1)["results"], "left out")
        for setting, code in (("yes", 0), ("no", 1)):
            h.stop()
            h.write("lectern.ini", f"aliases = {setting}\n")
            h.json("update", "--wait", "--config", config)
            h.json("search", "zebra", "--mode", "lexical", code=code)


@test
def what_is_left_out_is_listed():
    with house() as h:
        h.write("m/index.html", page("Top", '<p>Read <a href="a.html">A</a>.</p>'))
        h.write("m/a.html", page("A", "<p>The text.</p>"))
        h.write("m/b.html", page("A", "<p>The text.</p>"))
        h.write("m/old.html", '<meta http-equiv="refresh" content="0; url=a.html">moved')
        h.write("m/deep.html", "<div>" * 300000 + "x")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(h.manual("m")["excluded"] == {"redirect": 1, "same": 1}, h.manual("m"))
        check("2 excluded" in h.run("status").stdout, h.run("status").stdout)
        check("excluded" not in h.json("failed"), "only when asked for")
        listed = h.json("failed", "--excluded")
        check([f["file"] for f in listed["files"]] == ["deep.html"], listed)
        check({f["file"]: f["reason"] for f in listed["excluded"]} ==
              {"b.html": "same", "old.html": "redirect"}, listed)
        check("old.html: excluded: sends one" in h.run("failed", "--excluded").stdout, "in words")
        check(h.run("ls", "--version").stdout.startswith("lectern "), "of every verb")
        former = h.run("failed", "--left-out")
        check("old.html: excluded: sends one" in former.stdout, "the former name")
        check("--left-out is now --excluded" in former.stderr, former.stderr)


@test
def what_was_dropped_is_shown():
    with house() as h:
        for i in range(9):
            h.write(f"m/{i}.html", page(f"Page {i}", '<div class="navheader"><p>Prev Next</p></div>'
                                        f'<p>Shared banner of all.</p><p>Own words {i}.</p>'
                                        f'<h2 id="s">Part {i}</h2><p>More of {i} <b hidden>secret</b></p>'
                                        '<footer>Made by hand</footer>'))
        h.json("add", os.path.join(h.path, "m"), "--wait")
        toc = h.json("toc")
        one, part = find(toc, "Page 1"), find(toc, "Part 1")
        check("dropped" not in h.json("get", one["id"]), "not asked for")
        got = h.json("get", one["id"], "--all")
        check([block["text"] for block in got["blocks"]] == ["Own words 1."], got["blocks"])
        wanted = [("navigation", "Prev Next"), ("repeated", "Shared banner of all."),
                  ("hidden", "secret"), ("footer", "Made by hand")]
        check([(d["reason"], d["text"]) for d in got["dropped"]] == wanted, got["dropped"])
        data = open(os.path.join(h.path, "m/1.html")).read()
        for d in got["dropped"]:
            check(d["file"] == "1.html" and data[slice(*d["span"])] == d["text"], d)
        below = h.json("get", part["id"], "--all")["dropped"]
        check([d["reason"] for d in below] == ["hidden", "footer"], below)
        text = h.run("get", one["id"], "--all").stdout
        check("[dropped: repeated] Shared banner of all.\n" in text, text)
        check("--all" in h.run("help", "get", store=False).stdout, "help")
        h.write("m/1.html", page("Page 1", "changed"))
        done = h.run("get", one["id"], "--all", code=None)
        check(done.returncode and "lectern update" in done.stderr, done.stderr)
        check("Own words 1." in h.run("get", one["id"]).stdout, "without --all it is as it was")


@test
def manuals_come_and_go():
    with house() as h:
        h.write("one/html/a.html", page("A", "<p>aardvark</p>"))
        h.write("two/a.html", page("B", "<p>aardvark</p>"))
        h.json("add", os.path.join(h.path, "one/html"), "--wait")
        h.json("add", os.path.join(h.path, "two"), "--wait")
        names = {m["name"] for m in h.json("ls")["manuals"]}
        check(names == {"one", "two"}, names)
        check(len(h.json("search", "aardvark")["results"]) == 2, "both")
        check(len(h.json("search", "aardvark", "-c", "two")["results"]) == 1, "-c")
        h.run("add", os.path.join(h.path, "one"), "-c", "two", code=2)
        h.json("add", os.path.join(h.path, "one/html"), "-c", "first", "--wait")
        check(h.json("toc", "-c", "first")["title"] == "first", "renamed")
        check({m["name"] for m in h.json("ls")["manuals"]} == {"first", "two"}, "ls")
        h.run("rm", "first")
        check(len(h.json("search", "aardvark")["results"]) == 1, "after rm")
        h.run("rm", "first", code=None)
        h.stop()
        check({m["name"] for m in h.json("ls")["manuals"]} == {"two"}, "after a restart")


@test
def a_section_without_text_is_found_by_its_title():
    with house() as h:
        h.write("m/a.html", "<h1>Wibbling in general</h1><h2>Alpha</h2><p>text.</p><h2>Empty zorkmid</h2>")
        h.write("m/b.html", page("Other", "<p>Alpha and beta.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question, title in (("wibbling", "Wibbling in general"), ("zorkmid", "Empty zorkmid")):
            hits = h.json("search", question)["results"]
            check(hits[0]["path"][-1] == title, (question, hits))
        got = h.json("search", "wibbling")["results"][0]
        check([child["title"] for child in got["children"]] == ["Alpha", "Empty zorkmid"], got)
        check("Alpha · Empty zorkmid" in h.run("search", "wibbling").stdout, "its parts")
        shown = h.run("get", got["node"]).stdout
        check("Alpha" in shown and "Empty zorkmid" in shown, shown)
        # Of sections without text only their own titles tell, not those above.
        titles = [hit["path"][-1] for hit in h.json("search", "wibbling")["results"]]
        check(titles == ["Wibbling in general", "Alpha"], titles)
        check(not h.json("verify")["fault_count"], "verify")
        # An edit takes its words along.
        h.write("m/a.html", "<h1>Waffling</h1><h2>Alpha</h2><p>text.</p>")
        h.run("update", "--wait")
        h.run("search", "wibbling", code=1)
        h.run("search", "zorkmid", code=1)
        check(h.json("search", "waffling")["results"], "the new title")
        check(not h.json("verify")["fault_count"], "verify")


@test
def what_is_asked_for_by_name_comes_first():
    """Before the sections that say the name more often, in titles too."""
    with house() as h:
        functions = "".join(f"<dl class='py function'><dt class='sig sig-object py' id='{name}'><span class='sig-name descname'>"
                            f"{name}</span>({args})</dt><dd><p>{text}</p></dd></dl>" for name, args, text in (
            ("zip.open", "path", "Opens a zip file. zip zip zip"), ("zip", "*iterables", "Iterates over several."),
            ("zipper", "a", "Like zip."), ("csv.DictReader", "file", "Rows as dictionaries."), ("Zip", "x", "A class.")))
        h.write("m/a.html", page("Functions", functions))
        h.write("m/b.html", page("5.2. The zip format", "<p>zip zip zip zip zip zip</p>"))
        h.write("m/c.html", page("Zip files", "<p>A zip file holds files: zip, zip and zip.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question, title in (("zip", "zip(*iterables)"), ("zip()", "zip(*iterables)"), ("Zip", "Zip(x)"),
                                ("DictReader", "csv.DictReader(file)"), ("zip files", "Zip files"),
                                ("the zip format", "5.2. The zip format")):
            hits = h.json("search", question)["results"]
            check(hits[0]["path"][-1] == title, (question, [hit["path"] for hit in hits]))


@test
def names_match_whole_before_their_parts():
    """Before sections, titles too, that say the parts of the name, and these alone, more often."""
    names = (("--force-with-lease", "--force-with-lease", "force with lease"), ("DictReader", "csv.DictReader", "dict reader"),
             ("AH00558", "AH00558: Could not", "AH00559 AH00560"), ("std::vector", "std::vector", "std vector"),
             ("max_connections", "max_connections", "max connections"), ("--no-edit", "--[no-]edit", "no edit"),
             ("ngx_http_core_module", "ngx_http_core_module", "ngx http core module"))
    with house() as h:
        for number, (_, title, parts) in enumerate(names):
            h.write(f"m/{number}.html", page("Reference", f"<dl class='py'><dt class='sig'>{title}</dt><dd><p>One that is described here.</p></dd></dl>"))
            h.write(f"m/{number}c.html", page(f"Other {number}", "".join(f"<h2>{subject}</h2><p>Nothing of that.</p>" for subject in SUBJECTS * 3)))
            h.write(f"m/{number}b.html", page(parts.capitalize(), "".join(f"<p>The {parts} does what a {parts} does, mean as it is.</p>" * 9)))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for name, title, _ in names:
            for question in (name, f"what does {name} mean"):
                hits = json.loads(h.run("search", "--json", "--", question).stdout)["results"]
                check(hits[0]["path"][-1] == title, (question, [hit["path"] for hit in hits][:3]))


@test
def an_identifier_in_a_question_leads_to_what_is_called_so():
    """Before the sections that hold more of the question's other words."""
    with house() as h:
        others = "".join(f"<h2>{subject}</h2><p>Restart the server after changing the default of max_connections, "
                         "then the server restarts with the changed default.</p>" for subject in ("Backup", "Standby", "Kernel"))
        others += "".join(f"<h2>{subject}</h2><p>Nothing of that is said here.</p>" for subject in SUBJECTS * 20)
        h.write("m/a.html", page("Operation", others))
        h.write("m/b.html", page("Settings", "<dl><dt id='mc'><code>max_connections</code> (integer)</dt><dd><p>How many clients "
                                             "there may be at once; all others wait until one of them goes away.</p></dd></dl>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        hits = h.json("search", "must the server restart after changing max_connections?")["results"]
        check(hits[0]["path"][-1] == "max_connections (integer)", [hit["path"] for hit in hits])


@test
def words_that_stand_together_say_more_than_strewn_ones():
    with house() as h:
        strewn = "".join(f"<p>About {word}, and much else of which a long section may treat in passing, here and there.</p>" * 2
                         for word in ("greasing", "a bearing", "the nipple"))
        for number in range(12):
            h.write(f"m/{number}.html", page(f"Other {number}", "<p>Nothing of that kind is said here.</p>"))
        h.write("m/a.html", page("Strewn", strewn))
        h.write("m/b.html", page("Together", "<p>Each bearing has a nipple for greasing.</p><p>And much else, of which a section may "
                                             "treat, in passing, here and there, at length, with other words.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        hits = h.json("search", "greasing a bearing nipple")["results"]
        check(hits[0]["path"][-1] == "Together", [hit["path"] for hit in hits])
        explained = h.json("search", "greasing a bearing nipple", "--explain")["explain"]
        check(explained["weights"]["block"] > 0 and explained["hits"][0]["block"]["rank"] == 1, explained)
        # A page in one piece, as many tools make it: by its best paragraph.
        lines = [f"About {word}, and much else.\n" + "A long section may treat in passing, at length, of other matters.\n" * 6
                 for word in ("greasing", "a bearing", "the nipple")]
        h.write("m/c.html", page("Page", "<pre>" + "\n".join(lines) + "</pre>"))
        h.json("update", "--wait")
        found = h.json("search", "greasing a bearing nipple", "--explain")
        ranks = {hit["path"][-1]: told.get("block", {}).get("rank") for hit, told in zip(found["results"], found["explain"]["hits"])}
        check(ranks["Together"] < ranks["Page"], ranks)


@test
def a_manual_named_in_a_question_is_preferred():
    with house() as h:
        for name in ("gnuplot", "octopus"):
            h.write(f"{name}/index.html", page("A manual", "<p>Contents</p>"))
            h.write(f"{name}/a.html", page("Axes", f"<p>A logarithmic axis is set here. {'The axis. ' * 9 * (name == 'gnuplot')}</p>"))
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        for question, manual in (("logarithmic axis", "gnuplot"), ("logarithmic axis in octopus", "octopus"),
                                 ("how do I get a logarithmic axis with gnuplot", "gnuplot")):
            hits = h.json("search", question)["results"]
            check(hits[0]["manual"] == manual, (question, hits))


@test
def what_changed_is_behind_what_is():
    """Release notes name everything; unless they are asked for."""
    with house() as h:
        h.write("m/a.html", page("Release Notes", "<h2>Release 4.1</h2><p>Fixed: the pressure of the relief valve was adjusted "
                                                  "when the relief valve was opened.</p>"))
        h.write("m/b.html", page("Valves", "<p>The pressure of the relief valve is adjusted with the screw at its top. Much else is "
                                           "said of it in this section, in other words.</p>"))
        for number in range(12):
            h.write(f"m/{number}.html", page(f"Other {number}", "<p>Nothing of that kind is said here.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question, title in (("adjust the pressure of the relief valve", "Valves"),
                                ("in which version was the pressure of the relief valve fixed", "Release 4.1")):
            hits = h.json("search", question)["results"]
            check(hits[0]["path"][-1] == title, (question, [hit["path"] for hit in hits]))


SUBJECTS = ("Okapi", "Zebra", "Lemur", "Gecko", "Heron", "Otter", "Stoat", "Viper", "Tapir", "Quoll")


def write_edition(h, folder, made, title=lambda subject: f"The {subject.lower()}"):
    """Ten pages, one of each subject, by made(subject, number)."""
    for number, subject in enumerate(SUBJECTS):
        h.write(f"{folder}/{subject.lower()}.html", page(title(subject), f"<p id='p'>{made(subject, number)}</p>"))


@test
def another_version_or_language_does_not_fill_the_list():
    with house() as h:
        write_edition(h, "v1/html", lambda s, n: f"The {s} eats leaves and sleeps {n} hours a day, most of them in the shade of a tall tree.")
        write_edition(h, "v2/html", lambda s, n: f"The {s} eats leaves and sleeps {n} hours a day, most of them in the shade of a tall tree. It likes grass, too.",
                      title=lambda s: f"2\u00a0\u2013 The {s.lower()}")  # numbers and signs are none of a title
        write_edition(h, "v3", lambda s, n: f"The {s} eats leaves and sleeps {n} hours a day, most of them in the shade of a tall tree.")
        for subject in SUBJECTS:  # the same words elsewhere
            shutil.move(os.path.join(h.path, f"v3/{subject.lower()}.html"), os.path.join(h.path, f"v3/about-{subject.lower()}.html"))
        write_edition(h, "book/en-US", lambda s, n: f"The {s} is an animal.")
        write_edition(h, "book/de-DE", lambda s, n: f"{s}: das Tier, {s}.", title=lambda s: f"Das {s}-Kapitel")
        h.write("other/okapi.html", page("The okapi", "<p>Okapi is a library for translation.</p>"))
        for name in ("v1", "v2", "v3", "book", "other"):
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        found = h.json("search", "okapi")["results"]
        shown = {(hit["manual"], hit["file"].split("/")[0]) for hit in found}
        copies = sorted(copy["manual"] for hit in found for copy in hit.get("copies", []))
        check(len(found) + len(copies) == 6 and ("other", "okapi.html") in shown, (shown, copies))
        # Versions are one, languages are one; another work that is called alike is itself.
        check(len(found) == 3 and len(copies) == 3, [(hit["manual"], hit["file"], hit.get("copies")) for hit in found])
        check(len([hit for hit in found if hit["manual"] == "book"]) == 1, found)
        check(len([hit for hit in found if hit["manual"] in ("v1", "v2", "v3")]) == 1, found)
        for hit in found:
            for copy in hit.get("copies", []):
                check(copy["node"] in h.run("search", "okapi").stdout and "okapi" in copy["file"], copy)
                check(h.json("get", copy["node"])["path"][-1], copy)
        # As many as are wanted, though there are copies between them.
        check(len(h.json("search", "leaves", "-n", "10")["results"]) == 10, h.json("search", "leaves"))
        # Who names a manual is shown what it has.
        for name in ("v1", "v2"):
            hits = h.json("search", "okapi", "-c", name)["results"]
            check([hit["manual"] for hit in hits] == [name] and "copies" not in hits[0], hits)
        check(len({hit["manual"] for hit in h.json("search", "okapi", "-c", "v1", "-c", "v2")["results"]}) == 2, "both")
        check(len(h.json("search", "okapi", "-c", "book")["results"]) == 2, "both languages")


@test
def a_page_comes_before_what_has_it_once_more():
    with house() as h:
        for n in range(6):
            text = " ".join(f"Pump {n} moves water number {n * 20 + k} through pipe {k}." for k in range(12))
            h.write(f"m/pump{n}.html", page(f"Pump {n}", f"<p>{text}</p>"))
            h.write("m/made.html", "".join([open(os.path.join(h.path, "m/made.html")).read() if n else "",
                                            f"<h2>Pump {n}</h2><p>{text}</p>"]))
        h.write("m/about.html", page("About", "<p>" + " ".join(f"A word on valve {k}." for k in range(400)) + "</p>"))
        h.write("m/made.html", "<title>All</title><h1>All</h1><p>" + " ".join(f"Only here {k}." for k in range(90)) +
                "</p>" + open(os.path.join(h.path, "m/made.html")).read())
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for more in ([], ["-c", "m"]):
            hits = h.json("search", "Pump 3", *more)["results"]
            check(hits[0]["file"] == "pump3.html" and [copy["file"] for copy in hits[0]["copies"]] == ["made.html"], hits[0])
            check(sum(hit["path"][-1] == "Pump 3" for hit in hits) == 1, [hit["path"] for hit in hits])


@test
def what_is_called_alike_and_says_something_else_is_shown():
    with house() as h:
        write_edition(h, "real", lambda s, n: f"The {s} eats leaves and sleeps {n} hours a day, most of them in the shade of a tall tree.")
        write_edition(h, "false", lambda s, n: f"Okapi okapi {s}: buy the {s} of us, it eats whatever there is, and ask for nothing else.")
        sections = "".join(f"<h2>Options</h2><p>Okapi option {n} of {name}, which says how tall the okapi of the herd is.</p>"
                           for n, name in enumerate(("weight", "height", "length")))
        h.write("real/many.html", page("Many", sections))
        for name in ("ar", "nl", "id", "tr", "vi", "it", "da", "no", "pl", "sk"):  # commands, no languages
            h.write(f"real/{name}.1.html", page(f"{name}(1)", f"<p>The walrus command {name} makes archives.</p>"))
        for name in ("real", "false"):
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        found = h.json("search", "okapi leaves", "-n", "20")["results"]
        for name in ("real", "false"):
            check(any((hit["manual"], hit["file"]) == (name, "okapi.html") for hit in found), (name, found))
        options = [hit for hit in h.json("search", "okapi options", "-n", "20")["results"] if hit["path"][-1] == "Options"]
        check(len(options) == 3, options)
        check(len(h.json("search", "walrus", "-n", "20")["results"]) == 10, "commands")


@test
def long_pages_of_one_title_are_compared_in_no_time():
    with house() as h:
        for number in range(12):
            text = " ".join(f"walrus{(number * 7 + i) % 977} word{i % 613}" for i in range(60000))
            h.write(f"m{number}/page.html", page("The walrus", f"<p>walrus {text}</p>"))
            h.json("add", os.path.join(h.path, f"m{number}"), "-c", f"m{number}", "--wait")
        before = cpu_seconds(h.pid())
        found = h.json("search", "the walrus", "-n", "12")["results"]
        check(len(found) == 12 and cpu_seconds(h.pid()) - before < 5, cpu_seconds(h.pid()) - before)
