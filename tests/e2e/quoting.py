"""Quoted answers: what a person would cut out of the manual."""
import os
import re
import time

from e2e.house import check, house, page, test

# Paragraphs that make a section too long to be quoted whole.
PADDING = "".join(f"<p>Filler {word} says much about other matters, at length, in its own sentences. "
                  f"It goes on about {word} so that nobody would cut it out together with the rest, "
                  f"and it ends with {word} once more, as such paragraphs do in every real manual.</p>"
                  for word in ("alder", "birch", "cedar", "dogwood", "elder", "fir"))


def quotes(h, body, question, *options):
    """The quotes that a manual of one long section gives to a question."""
    h.write("m/a.html", page("Pumps", PADDING + body))
    h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
    answer = h.json("ask", question, *options)
    check(all(c["status"] == "verified" for c in answer["citations"]), answer)
    return [part.strip() for part in re.split(r" \[\d+\]", answer["answer"])[:-1]]


@test
def a_paragraph_is_quoted_whole():
    whole = ("Before the valve is opened, vent the casing. " + "Wait until no air is heard any more. " * 8 +
             "Only then prime the impeller with clean water.")
    with house() as h:
        check(whole in quotes(h, f"<p>{whole}</p>", "how do I prime the impeller"), "cut")


@test
def a_definition_stands_with_its_term():
    with house() as h:
        found = quotes(h, "<dl><dt>--throttle</dt><dd>Limits the flow to litres an hour.</dd>"
                          "<dt>--siphon</dt><dd>Empties the tank.</dd></dl>", "limit the flow to some litres")
        check("--throttle\n  Limits the flow to litres an hour." in found, found)


@test
def code_stands_with_what_leads_in_to_it():
    with house() as h:
        found = quotes(h, "<p>To flush the sediment out of the strainer, run this as the operator:</p>"
                          "<pre>pump --reverse\npump --rinse</pre>", "flush the sediment out of the strainer")
        at = found.index("pump --reverse\npump --rinse")
        check(found[at - 1].startswith("To flush"), found)
        only = [c["quote"] for c in h.json("ask", "flush sediment strainer pump rinse", "--kind", "code")["citations"]]
        check(only == ["pump --reverse pump --rinse"], only)


@test
def what_is_cut_says_so():
    """In the answer by "…", in the citation by `cut`; what is quoted stands in the file all the same."""
    with house() as h:
        h.write("m/a.html", page("Pumps", PADDING + "<p>To flush the strainer, one of these is to be run as the operator:</p>"
                                 f"<pre>{'pump --reverse --rinse --again' * 2}\n" + "pump --rinse\n" * 200 + "</pre><p>Wait for it.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        answer = h.json("ask", "flush the strainer as the operator")
        cuts = {c["quote"][:9]: c.get("cut") for c in answer["citations"]}
        check(cuts["To flush "] is None and cuts["pump --re"] == "end", cuts)
        check(all(c["status"] == "verified" for c in answer["citations"]), answer)
        number = next(c["n"] for c in answer["citations"] if c.get("cut"))
        check(f"pump --rinse\n… [{number}]" in answer["answer"], answer["answer"])


@test
def a_sentence_goes_on_after_an_example():
    parts = ["The order of the valves of a strainer is significant. For instance, the call", "vent &gt; prime", "opens both, while the call",
             "prime &gt; vent", "opens but the latter."]
    tags = ("p", "pre", "p", "pre", "p")
    with house() as h:
        found = quotes(h, "".join(f"<{tag}>{part}</{tag}>" for tag, part in zip(tags, parts)), "order of the valves of a strainer", "--brief")
        check(found == [part.replace("&gt;", ">") for part in parts], found)


@test
def a_short_section_is_quoted_whole():
    with house() as h:
        h.write("m/b.html", page("Gasket", "<p>A gasket seals a flange.</p><p>Replace it each year.</p>"
                                           "<ul><li>Paper</li><li>Cork</li></ul>"))
        found = quotes(h, "", "what seals a flange")
        check(found == ["A gasket seals a flange.", "Replace it each year.", "- Paper\n- Cork"], found)


@test
def first_lines_say_what_something_is():
    first = "Cavitation is vapour that forms where the pressure falls below the boiling point."
    with house() as h:
        h.write("m/b.html", page("Cavitation", f"<p>{first}</p>{PADDING}<p>Cavitation, cavitation: what it is "
                                               "that it harms first is the blade of the impeller.</p>"))
        found = quotes(h, "", "what is cavitation")
        check(found[0] == first, found)


@test
def the_best_section_is_quoted_more_than_once_and_nothing_twice():
    with house() as h:
        found = quotes(h, "<p>The bearing is greased through the nipple at its side.</p><p>Filler.</p>"
                          "<p>Grease for the bearing is of class two, without graphite.</p>",
                       "grease for the bearing")
        check(sum("bearing" in quote for quote in found) == 2 and len(set(found)) == len(found), found)


@test
def long_code_is_quoted_by_paragraphs():
    """A page in one <pre>, as many tools make it: from blank line to blank line, more than one."""
    wanted = ["The relief valve opens at\nsix bar, and closes at five.", "A relief valve that leaks\nis replaced as a whole."]
    with house() as h:
        text = "\n\n".join(f"Paragraph {n} is about\nsomething else." for n in range(60))
        found = quotes(h, f"<pre>{wanted[0]}\n\n{text}\n\n{wanted[1]}</pre>", "relief valve")
        check(all(part in found for part in wanted), found)


@test
def a_row_of_a_table_is_quoted_whole():
    rows = "".join(f"<tr><td>{n}</td><td>Fault {n}</td><td>Look at part {n}.</td></tr>" for n in range(500, 560))
    with house() as h:
        found = quotes(h, f"<table><tr><th>Code</th><th>Name</th><th>Remedy</th></tr>{rows}</table>", "fault 508")
        check(any("508" in quote and "Look at part 508." in quote for quote in found), found)


@test
def a_row_of_many_cells_is_quoted_with_the_head_of_its_table():
    """What its cells are cannot be told otherwise."""
    rows = "".join(f"<tr><td>Pump {n}</td><td>yes</td><td>no</td><td>{n}</td></tr>" for n in range(500, 560))
    with house() as h:
        found = quotes(h, f"<table><tr><th>Pump</th><th>Oil</th><th>Water</th><th>Bar</th></tr>{rows}</table>", "pump 508", "--brief")
        check(found == ["Pump Oil Water Bar", "Pump 508 yes no 508"], found)
        heads = "<tr><th>Rotor</th><th>Description</th></tr><tr><th>Maker</th><th>Use</th></tr>"
        found = quotes(h, f"<table><thead>{heads}</thead><tbody><tr><td>K88</td><td>Turns to the left.</td></tr></tbody></table>",
                       "K88 turns to the left", "--brief")
        check(found == ["K88 Turns to the left."], found)
        found = quotes(h, "<table><tr><th>Valve</th><th>Description</th></tr><tr><td>R77</td><td>Relieves the casing of the pump of pressure.</td>"
                          "</tr></table>", "valve R77", "--brief")
        check(found == ["R77 Relieves the casing of the pump of pressure."], found)


@test
def of_a_long_table_that_is_announced_the_rows_that_answer_are_quoted():
    """A short one is quoted whole."""
    says = "Faults of the strainer are told by the lamp, as is said in the following table. They stay until it is rinsed."
    head = "<tr><th>Blinks</th><th>Remedy</th></tr>"
    rows = [f"<tr><td>{n}</td><td>{what} is to be looked at by somebody who was told how.</td></tr>"
            for n, what in enumerate(("Valve", "Casing", "Gasket", "Impeller", "Lamp"), 1)]
    with house() as h:
        for times, wanted in ((1, "Blinks\tRemedy\n1\tValve is"), (9, "Blinks Remedy")):
            table = f"<table>{head}{''.join(rows[:4] * times)}{rows[4].replace('Lamp', 'Strainer gasket')}</table>"
            found = quotes(h, f"<p>{says}</p>{table}", "faults of the strainer gasket told by the lamp in the table", "--brief")
            check(found[0] == says and found[1].startswith(wanted), found)
            check("Strainer gasket is" in found[1 if times == 1 else 3] and sum(len(quote) for quote in found) < 500, found)


@test
def rows_of_a_table_that_is_announced_stand_in_its_order():
    says = "Faults of the strainer are told by the lamp, as is said in the following table. They stay until it is rinsed."
    row = "<tr><td>{}</td><td>{} is to be looked at by somebody who was told how.</td></tr>".format
    body = "".join(row(n, "Valve casing") for n in range(20, 60))
    table = f"<table><tr><th>Blinks</th><th>Remedy</th></tr>{row(7, 'Gasket')}{body}{row(8, 'Strainer gasket ring')}</table>"
    with house() as h:
        found = quotes(h, f"<p>{says}</p>{table}", "faults of the strainer gasket ring told by the lamp in the table", "--brief")
        at = [next((i for i, quote in enumerate(found) if quote.startswith(start)), -1) for start in ("Blinks", "7 Gasket", "8 Strainer")]
        check(at == [1, 2, 3], found)


@test
def of_a_table_that_is_referred_to_by_its_number_the_row_that_answers_is_quoted():
    """In a section below, in the section itself, in the one that it is of; by its caption; below without a number."""
    says = "Strainers that may be fitted to a casing of bronze are shown in {}."
    rows = "".join(f"<tr><td>K{n}</td><td>{n * 7} holes</td><td>{n * 3}</td></tr>" for n in range(80, 99))
    table = f"<table><tr><th>Name</th><th>Mesh</th><th>Default</th></tr>{rows}</table><p>Table 6.1: Sieves</p>"
    other = table.replace("K8", "R8").replace("6.1", "6.2")
    section = "<h2>Bronze</h2>{}<h3>Sieves</h3>{}"
    with house() as h:
        for title, body in (("below", section.format(f"<p>{says.format('Tbl. 6.1')}</p>{PADDING}", other + table)),
                            ("itself", f"<p>{says.format('Table 6.1')}</p>{PADDING}{other}<p>More.</p>{table}"),
                            ("above", section.format(table + "<p>Text.</p>", PADDING + f"<p>{says.format('Tab. 6.1')}</p>")),
                            ("tables", section.format(f"<p>{says.format('the following tables')}</p>{PADDING}", other + table))):
            found = quotes(h, body, "strainers fitted to a casing of bronze: K88", "--brief")
            check(found[0].startswith("Strainers that") and found[1:] == ["Name Mesh Default", "K88 616 holes 264"], (title, found))
        found = quotes(h, table.replace("Sieves", "Sieves of bronze for the casing"), "sieves of bronze for the casing K88", "--brief")
        check("\nK88\t616 holes\t264\n" in found[0], found)
        found = quotes(h, section.format(f"<p>{says.format('Tbl. 6.3')}</p>{PADDING}", table), "strainers fitted to a casing of bronze: K88", "--brief")
        check(found == [says.format("Tbl. 6.3")], found)


@test
def what_is_referred_to_is_little_and_soon_found():
    """Two tables of a passage, whatever refers to more; a box of ten thousand rows is gone through once."""
    refers = "".join(f"<p>Strainers {n} of bronze: see Table {2 * n} and Table {2 * n + 1}:</p>" for n in range(1, 16))
    table = ("<table><tr><th>Name</th><th>Mesh</th><th>Default</th></tr>" + "<tr><td>Filler of felt</td><td>7 holes</td><td>3</td></tr>" * 20 +
             "<tr><td>bronze{0}</td><td>bronze</td><td>{0}</td></tr></table><p>Table {0}: Sieves</p>")
    box = "<table>" + "".join(f"<tr><td>{n % 32}: AF{n}</td><td>{n % 16}: BF{n}</td></tr>" for n in range(10000)) + "</table>"
    with house() as h:
        found = quotes(h, refers + PADDING + "".join(table.format(n) for n in range(2, 32)), "strainers of bronze", "--brief")
        check(2 <= len([quote for quote in found if quote.startswith("bronze")]) <= 4, found)
        check(quotes(h, "<p>The casing has a strainer of bronze that nobody cleans.</p>" + box, "who cleans the strainer of bronze", "--brief"), "nothing")
        start = time.monotonic()
        h.json("ask", "who cleans the strainer of bronze", "--brief")
        check(time.monotonic() - start < 4, time.monotonic() - start)


@test
def what_the_head_of_a_table_says_chooses_no_row_of_it():
    rows = [("weir", "left", "runs over"), ("(any other sluice)", "right", "all others")] + [
        (f"paddle {word}", "left", f"lets out what the {word} has taken in") for word in PADDING.split() if word.islower() and len(word) > 7][:12]
    html = "".join("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows)
    with house() as h:
        body = ("<p>Table 4.2 tells the order in which sluices are to be opened, when the water comes.</p><p>Table 4.2. Order of Sluices</p>"
                f"<table><tr><th>Sluice</th><th>Side</th><th>Meaning</th></tr>{html}</table>")
        found = quotes(h, body, "in which order is a sluice to be opened", "--brief")
        check(len(found) == 2 and found[1].count("\n") == len(rows), found)


@test
def a_list_that_is_quoted_whole_stands_for_its_items():
    items = ["Felt that is oiled packs a gland of brass while the pump is cold, and it lasts for a year or two.",
             "Cord of hemp packs a gland of iron, pump or no pump, and is never oiled, as it would come to rot."]
    with house() as h:
        lead = "There are two ways to pack a gland that leaks while it is in use:"
        found = quotes(h, f"<p>{lead}</p><ul><li>{'</li><li>'.join(items)}</li></ul>", "pack a gland with felt and cord: ways, year or rot")
        check(found == [lead, "- " + "\n- ".join(items)], found)


@test
def a_caption_stands_between_a_table_and_what_announces_it():
    with house() as h:
        h.write("m/a.tex", "\\documentclass{article}\\begin{document}\\section{Pumps}" + re.sub("<p>|</p>", "\n\n", PADDING) +
                "Faults of the strainer are told in the following table.\n\n\\begin{table}\\caption{Lamps that blink}\\begin{tabular}{ll}"
                "Blinks & Fault\\\\\\hline Once & Gasket\\\\Twice & Valve\\\\\\end{tabular}\\end{table}\\end{document}")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        answer = h.json("ask", "how are faults of the strainer told", "--brief")["answer"]
        check("Twice\tValve" in answer and "Table 1: Lamps that blink" in answer, answer)


@test
def a_paragraph_is_quoted_with_the_label_above_it_that_is_asked_for():
    with house() as h:
        body = ("<p>int stroke_limit (default: 71)</p><p>How far the piston goes before it turns at the upper end of the cylinder.</p>"
                "<p>double stroke_mean (unknown)</p><p>What is usual.</p>")
        found = quotes(h, body, "how far does the piston go: stroke_limit", "--brief")
        check(found[0] == "int stroke_limit (default: 71)" and found[1].startswith("How far"), found)
        check(quotes(h, body, "what is stroke_mean", "--brief") == ["double stroke_mean (unknown)", "What is usual."], found)
        found = quotes(h, "<p>Pumps - Rinse - Rinse strainer</p><p>Pumps - Rinse - Rinse gland</p>", "rinse the gland", "--brief")
        check(found == ["Pumps - Rinse - Rinse gland"], found)


@test
def a_default_in_the_third_column_is_quoted_with_its_head():
    with house() as h:
        rows = [("stroke_limit", "integer", "71", "how far the piston goes"), ("vent_hours", "real", "2.5", "how long air is let out"),
                ("seal_kind", "name", "felt", "what the gland is packed with")] * 9
        html = "".join("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows)
        head = ("Name", "Type", "Default", "Meaning")
        found = quotes(h, f"<table><tr><th>{'</th><th>'.join(head)}</th></tr>{html}</table>", "what is the default of vent_hours", "--brief")
        check(found == [" ".join(head), " ".join(rows[1])], found)
        h.json("rm", "m")
        h.write("m/a.tex", "\\documentclass{article}\\begin{document}\\section{Pumps}\\begin{tabular}{llll}" + " & ".join(head) + "\\\\\\hline " +
                "\\\\\n".join(" & ".join(row).replace("_", "\\_") for row in rows) + "\\end{tabular}\\end{document}")
        os.remove(os.path.join(h.path, "m/a.html"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        found = h.json("ask", "what is the default of vent_hours", "--brief")["answer"]
        check(found.startswith(" ".join(head)) and " ".join(rows[1]) in found, found)


@test
def a_section_that_begins_with_a_long_sentence_is_quoted_in_brief():
    with house() as h:
        for times, whole in ((50, True), (90, False)):
            first = "Cavitation is vapour that forms " + "where the pressure falls, " * times + "in a pump."
            h.write("m/b.html", page("Cavitation", f"<p>{first}</p><p>It wears the impeller of the pump.</p>{PADDING}"))
            found = quotes(h, "", "what is cavitation", "--brief")
            check(found and (found == [first]) == whole, found)
            h.json("rm", "m")


@test
def brief_answers_define_what_is_named():
    first = "Cavitation is vapour that forms where the pressure falls below the boiling point."
    with house() as h:
        h.write("m/b.html", page("Cavitation", f"<p>{first}</p>{PADDING}<p>Cavitation, cavitation: what it is "
                                               "that it harms first is the blade of the impeller.</p>"))
        check(quotes(h, "", "cavitation", "--brief") == [first], "named")


@test
def brief_answers_tell_both_sides_of_a_comparison():
    told = ["Cavitation is vapour that forms where the pressure falls below the boiling point.",
            "Erosion is what sand in the water does to the blades of an impeller."]
    with house() as h:
        for n, (title, first) in enumerate(zip(("Cavitation", "Erosion"), told)):
            h.write(f"m/{n}.html", page(title, f"<p>{first}</p>{PADDING}<p>{title} is not to be taken for wear of another kind.</p>"))
        for n in range(2, 22):
            h.write(f"m/{n}.html", page(f"Part {n}", f"<p>Grooves of part {n} are cleaned.</p>"))
        found = quotes(h, "", "cavitation vs erosion", "--brief")
        check(sorted(found) == told, found)


@test
def brief_answers_stand_in_the_order_of_their_section():
    """Also where its blocks lie in several files."""
    first, best = "Glands of felt are oiled before they are put in.", "Glands of cork last for three summers, oiled or not, if nobody paints them."
    with house() as h:
        h.write("m/a.tex", "\\documentclass{article}\\begin{document}\\section{Pumps}\\input{part}\n\n" + best + "\\end{document}")
        h.write("m/part.tex", re.sub("<p>|</p>", "\n\n", PADDING) + first)
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        answer = h.json("ask", "which glands of cork last for summers, and which of felt are oiled", "--brief")["answer"]
        check(first in answer and best in answer and answer.index(first) < answer.index(best), answer)


@test
def brief_answers_pass_over_what_cannot_be_quoted():
    picture = '<figure><img src="a.png" alt="Gasket G7X"></figure>'
    told = "There are six grooves, which are cleaned each year."
    with house() as h:
        for n in range(20):
            h.write(f"m/{n}.html", page(f"Part {n}", f"<p>Grooves of part {n} are cleaned.</p>"))
        h.write("m/b.html", page("Gaskets", f"{picture}{PADDING}<p>{told}</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        found = h.json("ask", "how many grooves has the G7X", "--brief")
        check([c["quote"] for c in found["citations"]] == [told] and "unquoted" not in found, found)


@test
def as_much_is_quoted_as_is_asked_for():
    section = "<p>A gasket seals a flange.</p><p>Paper gaskets are replaced each year.</p><p>Cork gaskets last for three.</p>"
    with house() as h:
        h.write("m/b.html", page("Gasket", section + PADDING))
        brief = quotes(h, "", "how long do cork gaskets last", "--brief")
        check(brief == ["Cork gaskets last for three."], brief)
        two = ["Gaskets of felt are oiled before they are put in.", "Gaskets of rubber are never oiled, nor put in wet."]
        h.write("m/c.html", page("Care", "".join(f"<p>{one}</p>" for one in two) + PADDING))
        h.json("update")
        for question in ("gaskets oiled before they are put in", "gaskets never put in wet"):
            check(quotes(h, "", question, "--brief") == two, question)
        h.write("m/c.html", page("Care", f"<p>{two[0]}</p>{PADDING}<p>{two[1]}</p>"))
        h.json("update")
        check(quotes(h, "", "gaskets never put in wet", "--brief") == two[::-1], "what says most first, where they are apart")
        full = h.json("ask", "how long do cork gaskets last", "--full")["citations"]
        quoted = [c["quote"] for c in full if c["path"][-1] == "Gasket"]
        check(quoted[0] == "A gasket seals a flange." and len(quoted) == 9, quoted)
        h.run("ask", "gasket", "--brief", "--full", code=2)
        h.write("m/b.html", page("Gasket", section))
        h.json("update")
        check(len(quotes(h, "", "how long do cork gaskets last", "--brief")) == 3, "a short section whole")


@test
def both_parts_of_a_question_are_answered():
    parts = ["The impeller is primed with clean water after the casing was vented and the valve was opened wide.",
             "Oil is changed after a thousand hours of work, or after a year."]
    with house() as h:
        more = "".join(f"<p>The impeller is primed with clean water in case {n}, too, when the casing was vented.</p>" for n in range(9))
        found = quotes(h, f"<p>{parts[0]}</p>{more}<p>{parts[1]}</p>",
                       "is the impeller primed with clean water when the casing was vented, and when is the oil changed?")
        check(parts[1] in found[:2], found)


@test
def each_identifier_is_told_where_it_is_defined():
    says = {"e": "With -e set the shell ends where a command of a list fails, but for those behind if and while.",
            "f": "Names are not expanded; what -e does is done all the same, and so is what others do.",
            "n": "Commands are read and not run, so that what -e and set -e do cannot be seen at all.",
            "u": "A variable without a value is taken for a mistake and is said to be one.",
            "x": "Commands are shown before they are done, so that set -e and what it does can be seen."}
    rows = "".join(f"<dt>-{c}</dt><dd>{text}</dd>" for c, text in says.items())
    with house() as h:
        found = quotes(h, f"<dl><dt>set</dt><dd>{PADDING}<dl>{rows}</dl></dd></dl>", "what do set -e and set -u do")
        check(any(says["e"] in text for text in found[:2]), found)
        check(any(says["u"] in text for text in found[:2]), found)


@test
def both_sides_of_a_comparison_are_told():
    says = {"drain": "The water is given to the tank below, and the casing stays full of what was in it, drain or not.",
            "feed": "Feed is what most pumps do: feed is of use where much is to feed, and a pump can feed what it will.",
            "vent": "Air is let go, and nothing of the water with it is lost."}
    rows = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in says.items())
    with house() as h:
        found = quotes(h, f"<dl><dt>mode</dt><dd>{PADDING}<dl>{rows}</dl></dd></dl>", "mode feed vs vent")
        check(any(says["feed"] in text for text in found[:2]) and any(says["vent"] in text for text in found[:2]), found)


@test
def a_section_called_as_a_part_of_the_question_is_quoted_from_its_start():
    first = "A pump can be told to let air go, so that nothing of the water in it is lost."
    with house() as h:
        found = quotes(h, f"<h2>Vent mode (quiet)</h2><p>{first}</p>{PADDING}<p>Vent mode protects against much that happens in a "
                          "casing, and against what happens outside of it.</p>",
                       "what is vent mode and what does it protect against")
        check(found[0] == first and any("protects against much" in text for text in found), found)


@test
def what_an_entry_is_stands_before_what_is_said_of_it():
    detail = "The option Limit is the number of turns after which the search is given up; it is 40 if nothing is said."
    with house() as h:
        entry = ("<div class=top><p class=src><a id=v:prime class=def>prime</a> :: Pump</p><div class=doc>{}" + PADDING +
                 f"<p>{detail}</p></div></div>")
        for brief in ((), ("--brief",)):
            found = quotes(h, entry.format("<p>Fills a casing.</p>"), "after how many turns is the search given up", *brief)
            check(found[0] == "Fills a casing." and detail in found, found)
        h.json("rm", "m")
        long = "Fills a casing. " + "It does so again and again until somebody comes and tells it not to. " * 3
        found = quotes(h, entry.format(f"<p>{long}</p>"), "after how many turns is the search given up")
        check(found[0] == detail, found)


@test
def what_a_function_does_stands_behind_how_it_is_called():
    """Doxygen has that in a paragraph of its own."""
    call, does = "int rinse_strainer ( int water, int pressure )", "Rinses the strainer until nothing comes out of it."
    with house() as h:
        entry = ("<h2 class=groupheader>Functions</h2><a id=a1></a><h2 class=memtitle><span class=permalink><a href=#a1>&#9670;&nbsp;</a></span>"
                 f"rinse_strainer()</h2><div class=memitem><div class=memproto>{call}</div><div class=memdoc><p>{does}</p>{PADDING}</div></div>")
        found = quotes(h, entry, "what does rinse_strainer do")
        check(found[:2] == [call, does], found)
        found = quotes(h, entry, "rinse_strainer", "--brief")
        check(found == [does], found)


@test
def what_is_called_as_the_question_is_quoted_by_its_parts():
    """Its title has no text below it but theirs, which need not say a word of the question."""
    part = "<h3>{}</h3>{}".format
    does, remark = "Turns until nothing comes out any more.", "Neither oil nor water may stand in it."
    parts = (part("C", "<pre>void pumpStrainerRinse(int)</pre>") + part("Summary", f"<p>{does}</p>") +
             part("Parameters", "<table><tr><th>Param<th>Description<tr><td>id<td>Which of them</table>") + part("Remarks", f"<p>{remark}</p>"))
    with house() as h:
        body, question = f"<h2>pumpStrainerRinse</h2>{parts}<h2>Other</h2><p>Nothing.</p>", "what does pumpStrainerRinse do"
        check(quotes(h, body, question)[:3] == [does, "void pumpStrainerRinse(int)", remark], quotes(h, body, question))
        check(quotes(h, body, question, "--brief") == [does], "the signature alone")


def member(title, call, does):
    return ("<h2 class=groupheader>Functions</h2><a id=a1></a><h2 class=memtitle><span class=permalink><a href=#a1>&#9670;&nbsp;</a></span>"
            f"{title}()</h2><div class=memitem><div class=memproto>{call}</div><div class=memdoc><p>{does}</p>{PADDING}</div></div>")


@test
def how_a_member_is_called_is_known_by_its_brackets():
    """It is a constructor, has a type called nearly so, or qualifiers; a sentence in brackets is none, nor are sentences in <pre>."""
    does = "Rinses the strainer until nothing comes out of it."
    for title, call in (("Strainer", "Strainer::Strainer ( int water, int pressure )"),
                        ("rinse", "rinse_t rinse ( int water, void (*done)(int), int pressure )"),
                        ("rinse_strainer", "int Strainer::rinse_strainer ( int water, int pressure ) const noexcept")):
        with house() as h:
            check(quotes(h, member(title, call, does), f"{title}()")[:2] == [call, does], title)
            found = quotes(h, member(title, call, does), f"{title}()", "--brief")
            check(found == [does], found)
    call, does = "int rinse_strainer ( int water, int pressure )", "What rinse_strainer() does, drain_strainer() takes back (see pump())"
    with house() as h:
        found = quotes(h, member("rinse_strainer", call, does), "rinse_strainer", "--brief")
        check(found[0] == does, found)
    does = "What rinse_strainer rinses is the strainer, until nothing comes out of it."
    with house() as h:
        found = quotes(h, member("rinse_strainer", call, f"<pre>{does}</pre>"), "rinse_strainer", "--brief")
        check(does in found, found)


@test
def a_macro_is_quoted_with_the_few_words_behind_it():
    """They end in no full stop; asked for by name or by its value."""
    does = "Stopped since no water came out"
    for macro in ("#define STRAINER_CLOGGED 4", "#define STRAINER_CLOGGED(water) (4 * (water))"):
        with house() as h:
            body = member("STRAINER_CLOGGED", macro, does).replace("CLOGGED()<", "CLOGGED<").replace(PADDING, "")
            for question in ("STRAINER_CLOGGED", "which define of a strainer is 4"):
                found = quotes(h, body, question, "--brief")
                check(found == [macro, does], (question, found))


@test
def a_macro_that_is_long_is_not_quoted_in_brief():
    does = "Rinses the strainer until clear water comes out of it."
    macro = "#define RINSE_STRAINER(water) " + " ".join(f"pump_rinse(water, {n});" for n in range(16))
    with house() as h:
        body = member("RINSE_STRAINER", macro, does).replace("STRAINER()<", "STRAINER<").replace(PADDING, "")
        found = quotes(h, body, "RINSE_STRAINER", "--brief")
        check(found == [does], found)


@test
def a_template_is_quoted_with_its_parameters():
    template, call = "template<typename T >", "int rinse_strainer ( T water, int pressure )"
    does = "Rinses the strainer until nothing comes out of it."
    with house() as h:
        body = member("rinse_strainer", f"<div class=memtemplate>{template.replace('<', '&lt;')}</div>{call}", does)
        found = quotes(h, body, "rinse_strainer")
        check(found[:3] == [template, call, does], found)
        found = quotes(h, body, "rinse_strainer", "--brief")
        check(found == [does], found)


@test
def few_words_say_what_a_function_does():
    """Behind how it is called, not before."""
    call, does = "int rinse_strainer ( int water, int pressure )", "Rinses the strainer."
    with house() as h:
        found = quotes(h, member("rinse_strainer", call, does), "rinse_strainer")
        check(found[:2] == [call, does], found)
        found = quotes(h, member("rinse_strainer", call, does), "rinse_strainer", "--brief")
        check(found == [does], found)


@test
def two_items_of_one_list_are_quoted():
    rows = "".join(f"<dt>-{c}</dt><dd>Sets what {word} does in such a case, and nothing else.</dd>"
                   for c, word in zip("abcdefgh", ("asp", "bat", "cat", "dog", "elk", "fox", "gnu", "hen")))
    with house() as h:
        found = "\n".join(quotes(h, f"<dl>{rows}</dl>", "what do -c and -g set"))
        check("-c\n  Sets what cat" in found and "-g\n  Sets what gnu" in found, found)


@test
def a_label_is_no_further_passage():
    with house() as h:
        found = quotes(h, "<p>The strainer is rinsed with clean water until nothing comes out of it.</p>"
                          "<p>strainer check</p><p>strainer list</p>", "how is the strainer rinsed")
        check(any(quote.startswith("The strainer") for quote in found) and "strainer check" not in found, found)


@test
def a_bare_link_is_no_passage():
    """It has all words of the question, and what the section says has none, as where a member's page names its class; few words
    that the section begins with stand with the code below them."""
    link = "<a href=b.html>{}</a>".format
    for links in (link("StrainerConfig Class"), "See also: " + link("StrainerConfig Class") + ", " + link("Pumps Namespace")):
        with house() as h:
            h.write("m/b.html", page("StrainerConfig Class", f"<p>Pumps are told by it what to do.</p>{PADDING}"))
            h.write("m/c.html", page("StrainerConfig.Mesh Field", f"<p>Wire width</p><pre>public int Mesh</pre><p>Type: int</p><p>{links}</p>"))
            found = quotes(h, "", "what does the Mesh field of StrainerConfig set", "--brief")
            check(found == ["Wire width", "public int Mesh", "Type: int"], found)
            h.write("m/c.html", page("StrainerConfig.Mesh Field", f"<p>{links}</p>"))
            h.json("update")
            found = quotes(h, "", "what does the Mesh field of StrainerConfig set", "--brief")
            check(found and "StrainerConfig Class" in found[0], found)


@test
def what_says_what_define_does_is_no_macro():
    does = "#define gives a name to what stands behind it, wherever it is used, from the line that it stands in to the end of the file, or to the line that takes it back, whichever comes first."
    with house() as h:
        body = member("#define", does, "Strainers have none.").replace("define()<", "define<").replace(PADDING, "")
        found = quotes(h, body, "#define", "--brief")
        check(found and found[0] == does, found)


@test
def a_signature_is_no_passage():
    """Of many terms, it is too long for a title and stands in the section, too."""
    terms = "".join(f"<dt id='t{n}'><code>rinse_strainer_{n} (water, pressure, time, direction, {'filter, ' * 4}grade)</code></dt>" for n in range(8))
    with house() as h:
        found = quotes(h, f"<dl>{terms}<dd><p>The strainer is rinsed with water of low pressure, which takes a time that depends on the "
                          f"grade.</p>{PADDING}</dd></dl>", "rinse strainer water pressure")
        check(found and found[0].startswith("The strainer is") and not any("rinse_strainer_5" in quote for quote in found), found)


@test
def a_caption_does_not_stand_alone():
    with house() as h:
        found = quotes(h, "<p>Example 3. Descaling the heat exchanger</p><pre>descale --acid</pre>",
                       "descaling the heat exchanger")
        at = found.index("Example 3. Descaling the heat exchanger")
        check(found[at + 1] == "descale --acid", found)


@test
def a_definition_is_quoted_line_by_line_where_a_sign_parts_it():
    """A link's sign that is no part of the text stands between the term and what it means."""
    said = "Limits the flow to litres an hour. A throttle of nothing shuts the valve."
    with house() as h:
        h.write("m/a.html", page("Pumps", PADDING + f"<dl><dt id='t'>--throttle<a class='headerlink' href='#t'>\uf0c1</a></dt><dd><p>{said}</p></dd></dl>"
                                 "<p>Filler.</p><dl><dt>--vent<a class='headerlink' href='#v'>\uf0c1</a></dt><dd>Vents the throttle<a class='headerlink' href='#w'>"
                                 "\uf0c1</a> of the flow before it limits some litres.</dd></dl>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        answer = h.json("ask", "limit the flow to some litres with a throttle")
        found = {c["quote"]: c["status"] for c in answer["citations"]}
        check(found.get("--throttle") == found.get(said) == "verified", answer)
        check("--throttle [" in answer["answer"] and f"\n  {said} [" in answer["answer"], answer["answer"])
        check("repaired" in found.values(), found)
        plain = h.run("ask", "limit the flow to some litres with a throttle").stdout
        check(len(re.findall(r"^\[1-\d+\] ", plain, re.M)) == len(re.findall(r"^\[", plain, re.M)) == 1, plain)


@test
def a_quote_is_verified_in_the_file_as_it_is():
    """The verb `quote` of the socket: a claim of somebody else, looked for in one section."""
    with house() as h:
        said = "The impeller is primed with clean water."
        path = h.write("m/a.html", page("Pumps", f"<p>Vent the casing.</p><p>{said}</p><ul><li>Close the valve.</li></ul>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = h.json("search", "impeller")["results"][0]["node"]

        def verify(text):
            return h.call("quote", node=node, quote=text)

        found = verify("The impeller\n is primed with  clean water")
        check(found["status"] == "verified" and found["fresh"] and found["manual"] == "m", found)
        with open(path, "rb") as file:
            bytes_there = file.read()[slice(*found["span"])].decode()
        check(bytes_there == said.rstrip(".") == found["quote"], (bytes_there, found))
        check(verify("the impeller IS primed")["status"] == "repaired", "other case")
        changed = verify("The impeller is not primed with clean water.")
        check(changed["status"] == "unverified" and changed["nearest"] == said and "denies" in changed["reason"], changed)
        check(verify("- Close the valve.")["quote"] == "Close the valve.", "an item's mark is not in the file")
        check(verify("The impeller is primed with oil and patience.")["status"] == "unverified", "not there")
        check(h.json("get", node)["fresh"] and h.json("toc")["fresh"], "fresh")
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p><p>The impeller needs nothing.</p>"))
        gone = verify(said)
        check(gone["status"] == "unverified" and not gone["fresh"] and "any more" in gone["reason"], gone)
        check(not h.json("get", node)["fresh"], "the file has changed")


@test
def what_is_longer_than_a_quote_is_cut_within_it():
    """Code without a blank line, a row of a table, words without a space: each quote stands in the file."""
    code = "".join(f"turbine --blade {i} --pitch {i * 7}\n" for i in range(60))
    cells = "".join(f"<td>{' '.join(f'rotor{i}x{k} spins in its housing' for k in range(9))}.</td>" for i in range(4))
    japanese = "羽根車は回転する" * 60
    with house() as h:
        h.write("m/c.html", page("Turbines", PADDING + f"<pre>{code}</pre><table><tr>{cells}</tr></table><p>{japanese}</p>"))
        found = quotes(h, "", "turbine --blade 31 --pitch 217")
        check(any("turbine --blade 31" in quote for quote in found), found)
        found = quotes(h, "", "rotor2x3 spins in its housing")
        check(any("rotor2x3" in quote and len(quote) < 1100 for quote in found), found)
        cited = h.json("ask", "羽根車は回転する")["citations"]
        check(all(c["status"] == "verified" for c in cited), cited)
