"""Search, questions, follow-ups, and saying that nothing is there."""
import json
import os
import socket

from e2e import writing_model
from e2e.house import check, find, house, page, talk, test


@test
def questions_are_answered_with_citations():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        hits = h.json("search", "partial index", "-n", "3")["results"]
        check(hits[0]["path"][-1] == "11.8. Partial Indexes", hits[0]["path"])
        check(len(hits) == 3 and "partial index" in hits[0]["text"].lower(), hits)
        answer = h.json("ask", "What is a partial index?")
        check(answer["kind"] == "passages" and answer["fresh"], answer)
        first = answer["citations"][0]
        check(first["status"] == "verified" and first["n"] == 1, first)
        check(first["quote"] in answer["answer"], answer)
        data = open(os.path.join(h.path, "manual", first["file"]), "rb").read()
        span = data[first["span"][0]:first["span"][1]].decode()
        check(span.split()[0].split("<")[0] in first["quote"], (span, first))
        plain = h.run("ask", "What is a partial index?").stdout
        same = sum(citation["node"] == first["node"] for citation in answer["citations"])
        check(same > 1 and f"[1-{same}] {' › '.join(first['path'])}  {first['file']}#{first['anchor']}"
              in plain, plain)
        url = h.run("open", "1", "--print").stdout.strip()
        check(url.startswith("file:///") and
              url.endswith(f"/{first['file']}#{first['anchor']}"), url)
        events = [json.loads(line) for line in
                  h.run("ask", "What is a partial index?", "--jsonl").stdout.splitlines()]
        check(events[-1]["event"] == "done", events[-1])
        check(any(event["event"] == "citation" for event in events), events)


@test
def another_manual_than_the_one_named_is_no_answer():
    with house() as h:
        h.write("osier/a.html", page("Osier", "<h2>Limit of the intake</h2><p>The intake of a turbine is limited to ten litres by "
                                              "its governor.</p>"))
        h.write("sedge/a.html", page("Sedge", "<h2>Baskets</h2><p>Of sedge and reeds that were dried for a year.</p>"))
        for name in ("osier", "sedge"):
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        question = "how is the intake of a turbine limited"
        check("ten litres" in h.json("ask", question)["answer"], "refused")
        check("ten litres" in h.json("ask", question + " in osier")["answer"], "refused where it is said")
        refused = h.json("ask", question + " in sedge", code=1)
        check(refused["kind"] == "none", refused)


@test
def sides_of_a_comparison_come_first():
    """Entries that are called so, where a manual has more than one; another may say both names more often."""
    both = "It begins when intake delay ends, not before intake delay or outlet delay, see intake delay and outlet delay."
    with house() as h:
        h.write("m/a.html", page("Delays", f"<h2>transfer delay</h2><p>{both}</p><h2>intake delay</h2><p>How long water waits.</p>"
                                           "<h2>outlet delay</h2><p>How long steam waits.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question in ("intake delay vs outlet delay", "what is the difference between intake delay and outlet delay?"):
            found = [hit["path"][-1] for hit in h.json("search", question)["results"]]
            check(set(found[:2]) == {"intake delay", "outlet delay"}, found)


@test
def a_class_comes_before_its_constructors():
    members = "".join(f"<li><section class=detail id='{name}'><h3>{title}</h3><div>{text}</div></section></li>"
                      for name, title, text in (("&lt;init&gt;()", "Pump", "public Pump() Makes a pump of no size."),
                                                ("&lt;init&gt;(int)", "Pump", "public Pump(int size) Makes a pump of a size."),
                                                ("open()", "open", "void open() Opens the Pump.")))
    with house() as h:
        h.write("m/Pump.html", page("Class Pump<K>".replace("<", "&lt;"), "<p>A pump moves water from one place to another, and is safe "
                                    "for several threads.</p><section class=constructor-details><h2>Constructor Details</h2>"
                                    f"<ul class=member-list>{members}</ul></section>"))
        h.write("m/Tank.html", page("Class Tank", "<p>A tank holds water.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question in ("Pump", "what does Pump do", "Pump()"):
            hits = [hit["path"][-1] for hit in h.json("search", question)["results"]]
            check(hits[0].startswith("Class Pump") and "Pump" in hits[1:], (question, hits))
        for question, first in (("open", "open"), ("Pump(int size)", "Pump")):
            hits = [hit["path"][-1] for hit in h.json("search", question)["results"]]
            check(hits[0] == first, (question, hits))


@test
def a_name_is_found_by_its_form():
    sections = "".join(f"<h2>{name}</h2><p>{text}</p>" for name, text in (
        ("PUMP_SPEED", "How fast a pump turns."), ("PUMP_&lt;SIDE&gt;_SPEED_LIMIT", "What one end of it may reach."),
        ("PUMP_LIMIT", "PUMP_LEFT is a pump's name; speed and limit of a pump are its own. Speed, limit, speed of a pump.")))
    with house() as h:
        h.write("m/a.html", page("Variables", sections))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question in ("PUMP_LEFT_SPEED_LIMIT", "what is PUMP_LEFT_SPEED_LIMIT for"):
            found = h.json("search", question)
            check(found["results"][0]["path"][-1] == "PUMP_<SIDE>_SPEED_LIMIT" and found["confidence"] > 0.24, found)


@test
def a_name_with_capitals_is_asked_for_as_it_is_written():
    fields = "".join(f"<h3>pattern</h3><p>The pattern of seal {n}, one of many that a pattern may be.</p>" for n in range(2))
    with house() as h:
        h.write("m/Pattern.html", page("Class Pattern", "<p>How a seal is cut, as it is given to whoever cuts it.</p>"))
        h.write("m/Seal.html", page("Class Seal", f"<p>A seal keeps water in.</p><h2>Field Details</h2>{fields}"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question, first in (("what is a Pattern", "Class Pattern"), ("what is a pattern", "pattern")):
            found = [hit["path"][-1] for hit in h.json("search", question)["results"]]
            check(found[0] == first, (question, found))


@test
def what_the_first_part_of_a_question_asks_about_is_a_name():
    with house() as h:
        h.write("m/a.html", page("Pumps", "<h2>Vent mode (quiet)</h2><p>A pump can be vented, which lets air go.</p>"
                                 "<h2>Hosting</h2><p>What does vent mode protect against? Vent mode protects the casing against air: "
                                 "who hosts a pump in vent mode protects it. Vent mode protects against much.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question in ("what is vent mode", "what is vent mode and what does it protect against"):
            hits = [hit["path"][-1] for hit in h.json("search", question)["results"]]
            check(hits[0] == "Vent mode (quiet)", (question, hits))


@test
def modes_and_filters():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        section = find(h.json("toc", "-c", "pg"), "Chapter 11. Indexes")
        for mode in ("auto", "tree", "lexical"):
            found = h.json("search", "partial index", "--mode", mode)["results"]
            check(any("Partial Indexes" in hit["path"][-1] for hit in found[:3]),
                  (mode, [hit["path"] for hit in found]))
        below = h.json("search", "table", "--under", section["id"])["results"]
        check(below and all("Chapter 11. Indexes" in hit["path"] for hit in below), below)
        explained = h.json("search", "partial index", "--explain")["explain"]
        check(explained["terms"] and any(s["kept"] for s in explained["levels"]) and
              any(not s["kept"] for s in explained["levels"]), explained)
        check(explained["hits"][0]["lexical"]["rank"] >= 1 and "terms" in explained["hits"][0], explained)
        check(explained["mode"] == "auto" and explained["weights"]["lexical"] == 1 and
              explained["hits"][0]["score"] > explained["hits"][1]["score"] and "dense" not in explained, explained)
        told = h.run("search", "partial index", "--explain").stdout
        for words in ("how this was found", "partial: in ", "down the tree, by words", "1. kept  pg ",
                      "left  ", "results, by 1 lexical", "lexical no. 1 "):
            check(words in told, (words, told))
        lexical = h.json("search", "partial index", "--mode", "lexical")["results"]
        weighed = json.loads(talk(h, b'{"jsonrpc":"2.0","id":1,"method":"search","params":'
                                     b'{"query":"partial index","weights":[1,0,0,0]}}\n'))
        check(weighed["result"]["results"] == lexical, weighed)
        h.run("search", "x", "--mode", "dense", code=5)
        h.run("search", "x", "-c", "nothing", code=2)
        h.run("search", "x", "--under", "n999999", code=2)


@test
def kinds_of_block_are_found():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        for mode in ("auto", "lexical", "tree"):
            for kind in ("code", "table", "list"):
                found = h.json("search", "create a partial index", "--kind", kind, "--mode", mode)["results"]
                check(found, (mode, kind))
                for hit in found:
                    blocks = h.json("get", hit["node"])["blocks"]
                    check(hit["block"]["kind"] == kind and
                          any(block["kind"] == kind and block["text"] == hit["block"]["text"] and
                              block["span"] == hit["block"]["span"] for block in blocks), hit["block"])
        check("CREATE INDEX" in h.json("search", "create a partial index", "--kind", "code")
              ["results"][0]["block"]["text"], "the best one")
        check("block" not in h.json("search", "partial index")["results"][0], "without --kind")
        answer = h.json("ask", "How do I create a partial index?", "--kind", "code")
        quoted = answer["citations"][0]
        check(any(block["kind"] == "code" and quoted["quote"].split()[0] in block["text"]
                  for block in h.json("get", quoted["node"])["blocks"]), quoted)
        h.run("search", "x", "--kind", "poem", code=2)


@test
def follow_ups_are_understood():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        first = h.json("ask", "What is a partial index?", "--session", "s")
        check(first["session"] == {"name": "s", "turn": 1, "follows": False, "questions": [],
                                   "near": []}, first["session"])
        for question in ("when would I use it?", "and what are the restrictions?"):
            answer = h.json("ask", question, "--session", "s")
            told = answer["session"]
            check(told["follows"] and "What is a partial index?" in told["questions"], told)
            check(first["citations"][0]["node"] in told["near"] or told["turn"] > 2, told)
            check("Indexes" in " ".join(answer["route"][0]["path"]), answer["route"])
        check(answer["session"]["turn"] == 3, answer["session"])
        check("partial" in json.dumps(h.json("ask", "when would I use it?", "--session", "s",
                                             "--explain")["explain"]["terms"]), "carried")
        alone = json.loads(h.run("ask", "when would I use it?", "--session", "t", "--json",
                                 code=None).stdout)
        check(not alone["session"]["follows"], alone["session"])
        other = h.json("ask", "How is memory for sorting limited?", "--session", "s")
        check(not other["session"]["follows"] and not other["session"]["near"], other["session"])
        h.run("ask", "x", "--session", "", code=2)
        h.run("ask", "x", "--session", "x" * 65, code=2)


@test
def what_is_not_there_is_said():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        answer = h.json("ask", "How long do I bake a sourdough baguette?", code=1)
        check(answer["kind"] == "none" and not answer["citations"], answer)
        done = h.run("ask", "How long do I bake a sourdough baguette?", code=1)
        check(not done.stdout and done.stderr, done.stdout)
        h.run("search", "zxqv", code=1)
        for question, doubtful in (("which partial index is best for phones", True), ("What is a partial index?", False)):
            answer = h.json("ask", question)
            check(("doubtful" in answer) == doubtful == (.24 <= answer["confidence"] < .5) and answer["citations"], answer["confidence"])
            check(("the manuals may not answer this" in h.run("ask", question).stderr) == doubtful, question)
        for question, told in (("How long do I bake a sourdough baguette?", True), ("partial index", False)):
            found = h.json("search", question)
            check(found["results"] and found["confident"] != told and (found["confidence"] < .24) == told, found["confidence"])
            done = h.run("search", question)
            check(("nothing in the manuals seems to answer this" in done.stdout + done.stderr) == told, done)


@test
def options_of_one_letter_are_told_apart_by_its_case():
    """Where the manual has both; else either finds what is there."""
    with house() as h:
        entries = (("-c", "--clean", "Drops what is there before anything is pumped."), ("-C", "--create", "Makes a pool, and pumps into it."),
                   ("-v", "--vent", "Opens the vent."))
        body = "".join(f"<h3>{letter} {name}</h3><p>{says}</p>" for letter, name, says in entries)
        h.write("m/a.html", page("pump", f"<h2>Options</h2>{body}<h2>Notes</h2><p>With -c and -x a pump is slow.</p>"))
        more = "It takes as long as it takes, and nobody can tell how long. " * 8
        h.write("m/b.html", page("Letters", f"<dl><dt>-e</dt><dd>Ends what was begun. {more}</dd><dt>-E</dt><dd>Ends nothing that was begun. {more}</dd></dl>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        for question, title in (("pump -C", "-C"), ("pump -c", "-c"), ("what does -C do", "-C"), ("pump -V", "-v")):
            found = h.json("search", question)["results"][0]
            check(found["path"][-1].startswith(title), (question, found["path"]))
        for letter, says in (("-E", "Ends nothing"), ("-e", "Ends what")):
            found = h.json("ask", f"what is {letter} of letters", "--brief")["citations"]
            check(says in found[0]["quote"] and len(found) == 1, (letter, found))
            h.json("ask", f"what is {letter} of letters", "--session", says)
            found = h.json("ask", "what does it end", "--brief", "--session", says)["citations"]
            check(says in found[0]["quote"] and len(found) == 1, (letter, found))


@test
def phrases_and_exclusions_are_kept_to():
    with house() as h:
        h.write("m/a.html", page("Locks", "<p>A <b>partial</b>\n index takes a lock on the table.</p>"))
        h.write("m/b.html", page("Index", "<p>An index, partial or not, of a table. Partial is the index.</p>"))
        h.write("m/c.html", page("Advisory", "<p>An advisory lock is no lock on a table; find -exec runs it: f(+Table, -Unique).</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")

        def titles(query, code=0):
            return [hit["path"][-1] for hit in h.json("search", query, code=code)["results"]]

        check(titles('"partial index"') == ["Locks"], titles('"partial index"'))
        check(titles('"Partial Index" lock') == ["Locks"], "case, and further words")
        check(titles('"index partial"', 1) == [], "in order")
        check(set(titles("index table")) == {"Locks", "Index", "Advisory"}, titles("index table"))
        check(set(titles("index table -locks")) == {"Index"}, titles("index table -locks"))
        check("Advisory" in titles("find table -exec"), "an option of the manual")
        check("Advisory" not in titles("find table -unique"), "an argument that is written so is no option")
        check(titles('lock -"advisory lock"') == ["Locks"], titles('lock -"advisory lock"'))
        told = h.json("search", '"partial index" -advisory', "--explain")["explain"]
        check(told["phrases"] == [{"text": "partial index", "nodes": 1, "demanded": True}], told["phrases"])
        check(told["excluded"] == [{"text": "advisory", "nodes": 1}], told["excluded"])
        gone = h.json("search", '"index of locks"', code=1)
        check(gone["nowhere"] == ["index of locks"] and not gone["results"], gone)
        said = h.run("search", '"index of locks"', code=1).stderr
        check('no section holds "index of locks" as it stands' in said, said)
        check(h.json("ask", '"index of locks"', code=1)["kind"] == "none", "nothing")
        answer = h.json("ask", 'what is a lock when I get "index of locks"?', code=None)
        check(answer["nowhere"] == ["index of locks"] and answer["route"], answer)
        cited = h.json("ask", 'which lock does a "partial index" take?')["citations"]
        check({citation["path"][-1] for citation in cited} == {"Locks"}, cited)
        loose = h.json("ask", 'what is an advisory lock that I find it runs with "partial index"?', "--explain")
        check(not loose["explain"]["phrases"][0]["demanded"] and
              "Advisory" in [hit["path"][-1] for hit in loose["route"]], loose)


@test
def lines_that_a_pattern_matches_are_found():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        h.write("m/a.html", page("Locks", "<p id=x>Ein \u00c4rger: <b>dead</b>lock_timeout is 1s.</p><pre>SET lock_timeout = 1;\n"
                                          "SET lock_timeout = 2;\nRESET ALL;</pre>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        found = h.json("grep", "lock_\\w+", "-c", "m")
        lines = [hit["text"] for hit in found["results"]]
        check(lines == ["Ein \u00c4rger: deadlock_timeout is 1s.", "SET lock_timeout = 1;", "SET lock_timeout = 2;"], lines)
        check(not found["more"] and found["pattern"] == "lock_\\w+" and found["fresh"], found)
        first = found["results"][0]
        begin, end = first["match"]
        check(first["text"].encode()[begin:end] == b"lock_timeout" and first["kind"] == "paragraph" and
              first["path"] == ["Locks"] and first["file"] == "a.html", first)
        data = open(os.path.join(h.path, "m/a.html"), "rb").read()
        check(b"lock_timeout is" in data[slice(*first["span"])], first)
        told = h.run("grep", "LOCK_T", "-i", "-n", "2", "-c", "m")
        check("Locks\n   a.html  (" in told.stdout and "SET lock_timeout = 1;" in told.stdout and
              "more than the 2 shown" in told.stderr, (told.stdout, told.stderr))
        h.run("grep", "LOCK_T", "-c", "m", code=1)
        check(h.json("grep", "^Locks$")["results"][0]["kind"] == "title", "titles")
        section = find(h.json("toc", "-c", "pg"), "Chapter 11. Indexes")
        below = h.json("grep", "\\bindex(es)?\\b", "--under", section["id"], "-n", "1000")["results"]
        spans = [(hit["file"], hit["span"][0]) for hit in below]
        check(len(below) > 50 and all("Chapter 11. Indexes" in hit["path"] for hit in below), len(below))
        check(len({file for file, _ in spans}) > 5, "in document order, over files")
        told = h.run("ask", "-n", "21", "What is a partial index?").stderr
        check("at most 20 sections" in told, told)
        check("at most" not in h.run("ask", "-n", "20", "What is a partial index?").stderr, "20")
        told = h.run("ask", "What?", "--under", section["id"], "--context", "2000", code=5).stderr
        check("none is configured" in told, told)
        wrong = h.run("grep", "a(b", code=2).stderr
        check("missing closing parenthesis, at byte 3 of 'a(b'" in wrong, wrong)
        h.run("grep", "x", "-c", "nothing", code=2)
        h.run("grep", "x", "--under", "n999999", code=2)


@test
def a_pattern_that_takes_too_long_ends():
    with house() as h:
        h.write("m/a.html", page("A", "<p>b</p>" + f"<p>{'a' * 60}b</p>" * 4000))
        h.write("few/a.html", page("A", f"<p>{'a' * 60}b</p>"))
        for name in ("m", "few"):
            h.json("add", os.path.join(h.path, name), "-c", name, "--wait")
        check(h.json("grep", "(a+)+$", "-c", "few", code=1)["given_up"] > 0, "it goes back and forth")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(h.socket)
            connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"grep","params":{"pattern":"(a+)+$"}}\n'
                               b'{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}\n')
            answer = json.loads(connection.makefile().readline())
        check(answer["error"]["data"]["code"] == "cancelled", answer)


@test
def an_option_has_a_card_of_its_own_words():
    with house() as h:
        entry = "<dt id='{0}'><code>{0}</code> (integer)</dt><dd><p>Sets how many {1} are kept. The default is {2}. It can only be set at server start.</p></dd>"
        source = page("Mill", "<h2>Settings</h2><dl class='variablelist'>" + "".join(
            entry.format(*one) for one in (("max_tiles", "tiles", 20), ("min_tiles", "tiles", 3), ("max_bricks", "bricks", 7))) + "</dl>")
        h.write("m/a.html", source)
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        card = h.json("ask", "max_tiles default")["card"]
        check(card["name"]["text"] == "max_tiles (integer)", card)
        check([(piece["field"], piece["text"]) for piece in card["pieces"]] == [
            ("about", "Sets how many tiles are kept."), ("default", "The default is 20."),
            ("change", "It can only be set at server start.")], card)
        for piece in card["pieces"]:
            check(source.encode()[slice(*piece["span"])].decode() == piece["text"] and piece["status"] == "verified", piece)
        shown = h.run("ask", "max_tiles default").stdout
        check(shown.startswith("max_tiles (integer)\n  about    Sets how many") and "  default  The default is 20.\n" in shown, shown)
        for question in ("max_tiles or min_tiles, what is the default", "how many bricks are kept"):
            check("card" not in h.json("ask", question), question)


@test
def a_stem_of_an_acronym_is_no_evidence():
    with house() as h:
        for n in range(12):
            h.write(f"m/{n}.html", page(f"CUPS part {n}", f"<p>CUPS prints job {n} on a printer. The CUPS daemon waits for jobs.</p>"))
        h.write("m/cups.html", page("Kitchen", "<p>A cup holds water.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--ignore", "cups.html", "--wait")
        h.run("ask", "who won the world cup in 2018", code=1)
        for question in ("what is cups", "what does CUPS wait for", "how do I use cups", "where does cups print jobs"):
            h.run("ask", question)
        h.run("add", os.path.join(h.path, "m"), "--ignore", "", "--wait")
        h.run("ask", "what does a cup hold")


@test
def slips_in_common_words_do_not_count_as_unanswered():
    with house() as h:
        h.run("add", h.part(), "-c", "pg", "--wait")
        for question in ("hwo to create a partail index", "what is teh purpose of an expression idnex",
                         "how to mesure how long a qurey takes"):
            h.run("ask", question, code=None)
            check(h.json("ask", question, code=None)["confidence"] >= 0.24, question)
        for noise in ("qwertyzxcv", "\U0001F600", "xyzzy plugh"):
            h.run("search", noise, code=1)
            h.run("ask", noise, code=1)


@test
def a_question_is_expanded_by_a_model():
    """What its words find is among the results, and it is said which words these were."""
    asked = ("broken handle", "-c", "m")
    with house() as h:
        h.write("m/pump.html", page("Pump", "<p>The plunger runs on a shaft.</p>"))
        h.write("m/door.html", page("Door", "<p>A broken handle is replaced.</p>"))
        h.json("add", os.path.join(h.path, "m"), "--wait")
        check("in its own words" in h.run("search", "--expand", *asked, code=5).stderr, "what is missing is said")
        h.run("daemon", "--stop")
        h.model = writing_model.make(os.path.join(h.path, "chatter"), "plunger,shaft\n", chat="{{ messages[-1].content }}\nAnswer:")
        plain, both = h.json("search", *asked), h.json("search", "--expand", *asked)
        check([hit["file"] for hit in plain["results"]] == ["door.html"] and "expanded" not in plain, plain)
        check([hit["file"] for hit in both["results"]] == ["door.html", "pump.html"], both)
        check(both["expanded"] == "plunger shaft" and both["confidence"] == plain["confidence"], both)
        check("plunger shaft" in h.run("search", "--expand", *asked).stderr, "it is said")
        answer = h.json("ask", "--expand", "--answer", "passages", *asked)
        check(answer["expanded"] == "plunger shaft" and "broken handle" in answer["answer"], answer)
        h.run("search", "--expand", "--mode", "lexical", *asked, code=2)
        for nothing in ("!?", "\n", "??,!", "\t\n", "\0\n"):
            h.run("daemon", "--stop")
            h.model = writing_model.make(os.path.join(h.path, "chatter"), nothing, chat="{{ messages[-1].content }}\nAnswer:")
            check(h.json("search", "--expand", *asked)["results"] == plain["results"], nothing)


@test
def what_a_model_adds_holds_the_phrase_that_the_results_must_hold():
    """A question's phrase is demanded where sections that hold it hold the question: of what the words find, too."""
    with house() as h:
        h.write("m/pump.html", page("Pump", "<p>The plunger runs on a shaft.</p>"))
        h.write("m/door.html", page("Door", "<p>A broken handle is replaced by a smith.</p>"))
        h.json("add", os.path.join(h.path, "m"), "--wait")
        h.run("daemon", "--stop")
        h.model = writing_model.make(os.path.join(h.path, "chatter"), "plunger,shaft\n", chat="{{ messages[-1].content }}\nAnswer:")
        found = h.json("search", "--expand", "--explain", 'How is a "broken handle" replaced?', "-c", "m")
        check(found["expanded"] == "plunger shaft" and found["explain"]["phrases"][0]["demanded"], found)
        check([hit["file"] for hit in found["results"]] == ["door.html"], found["results"])
