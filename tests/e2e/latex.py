"""LaTeX documents."""
import gzip
import os
import random

from e2e.house import check, find, house, page, test, walk, whole


@test
def latex_documents_are_read_with_what_they_include():
    with house() as h:
        h.write("m/main.tex", r"""\documentclass{book}
\newcommand{\beast}{zebra}
\title{The Zoo}
\begin{document}
\chapter{Mammals}
\input{parts/stripes}
\input{../../secret}
\chapter{Birds}\label{birds}
The ostrich runs.
\end{document}
""")
        h.write("secret.tex", "Nobody reads this secret.")
        stripes = "\\section{Stripes}\nThe \\beast{} is striped, unlike what chapter~\\ref{birds} shows.\n"
        h.write("m/parts/stripes.tex.gz", gzip.compress(stripes.encode()))
        report = h.json("add", os.path.join(h.path, "m"), "--wait")
        check(report["files"] == {"seen": 2, "indexed": 2, "failed": 0}, f"files: {report}")
        titles = [node["title"] for node in walk(h.json("toc"))]
        check(titles == ["m", "The Zoo", "Chapter 1. Mammals", "1.1 Stripes", "Chapter 2. Birds"], titles)
        birds = h.json("get", find(h.json("toc"), "Chapter 2. Birds")["id"], "--all")
        check(birds["dropped"] == [] and birds["blocks"], f"nothing is dropped: {birds}")
        check("part of another file" in h.run("failed", "--excluded").stdout, "why a part is left out, in words")
        found = h.json("search", "zebra")["results"]
        check(found[0]["file"] == "parts/stripes.tex.gz" and found[0]["path"][-1] == "1.1 Stripes", found)
        cited = h.json("ask", "What is striped?")["citations"][0]
        check(cited["quote"] == "The zebra is striped, unlike what chapter 2 shows.", cited)
        made = [cited["quote"][begin:end] for begin, end in cited["made"]]
        check(made == ["zebra", "2"], f"made by macros: {made}")
        begin, end = cited["span"]
        check(stripes[begin:end].startswith("The \\beast") and stripes[begin:end].endswith("shows"), cited)
        check(not h.json("search", "secret", code=1)["results"], "a file outside of the manual is read")
        check("not in the manual" in open(os.path.join(h.store, "lecternd.log")).read(), "the log is silent")
        h.env["EDITOR"] = "echo"
        opened = h.run("open", cited["node"]).stdout.split()
        check(opened == ["+1", os.path.join(h.path, "m/parts/stripes.tex.gz")], opened)


@test
def a_word_of_a_missing_class_is_quoted_by_its_name():
    with house() as h:
        h.write("m/main.tex", "\\documentclass{ourhouse}\n\\begin{document}\n\\section{Faults}\nThe detection of \\DAQ{} faults needs a "
                              "spare \\ADC, which is \\emph{not} delivered.\n\\end{document}\n")
        h.run("add", os.path.join(h.path, "m"), "--wait")
        cited = h.json("ask", "what does the detection of DAQ faults need")["citations"][0]
        check(cited["quote"] == "The detection of DAQ faults needs a spare ADC, which is not delivered." and
              cited["status"] == "verified", cited)


@test
def what_macros_alone_wrote_is_said_not_to_be_quotable():
    with house() as h:
        main = h.write("m/main.tex", "\\documentclass{article}\n\\newcommand{\\hours}{The sluice takes nine hours to open.}\n\\begin{document}\n"
                                     "\\section{Sluice}\n\\hours\n\\end{document}\n")
        h.run("add", os.path.join(h.path, "m"), "--wait")
        question = "how many hours does the sluice take to open"
        said = h.run("ask", question, code=1).stderr
        check("do not stand so in the files" in said and "changed" not in said, said)
        os.remove(main)
        said = h.run("ask", question, code=1).stderr
        check("have changed or are gone" in said, said)


@test
def a_box_of_bits_is_quoted_with_what_its_field_is():
    """The places of its fields are counted, and stand nowhere."""
    padding = "\n\n".join(f"The {word} of the sluice is kept as it was found, and nobody asks about it any more." for word in
                          ("gate", "wheel", "chain", "sill", "paddle", "rack", "beam", "balance"))
    items = "\\item[{}] Counts turns.\\item[{}] Divides the clock of the lock."
    with house() as h:
        for begin, end, form in (("description", "description", items), ("itemize", "itemize", items.replace("[{}]", " Bit {}:"))):
            h.write("m/main.tex", "\\documentclass{article}\\usepackage{bytefield}\\begin{document}\\section{Sluice}\n" + padding +
                    "\n\nThe field KDIV is of use to lock keepers only.\n\n\\begin{bytefield}[endianness=big]{32}\\bitheader{0-31}\\\\"
                    "\\bitbox{16}{KCNT}\\bitbox{16}{KDIV}\\end{bytefield}\n\\begin{" + begin + "}" + form.format("KCNT", "KDIV") +
                    "\\end{" + end + "}\n" + padding + "\\end{document}\n")
            h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
            for question in ("divides the clock of the lock", "bits 15-0 KDIV"):
                answer = h.json("ask", question, "--brief")
                check("15-0: KDIV" in answer["answer"] and "Divides the clock of the lock." in answer["answer"] and
                      "Counts" not in answer["answer"], (begin, question, answer["answer"]))
            h.run("rm", "m")


@test
def what_is_cited_of_an_included_file_is_opened_there():
    with house() as h:
        h.write("m/main.tex", "\\documentclass{article}\n\\begin{document}\n\\section{Setup}\\label{up}\nFirst of all, level it.\n\n"
                "\\input{parts/grout}\n\\end{document}\n")
        part = h.write("m/parts/grout.tex", "% One.\n% Two.\n\nThe grouting compound hardens in nine hours.\n")
        h.run("add", os.path.join(h.path, "m"), "--wait")
        cited = next(c for c in h.json("ask", "how long does the grouting compound harden")["citations"] if "nine" in c["quote"])
        h.env["EDITOR"] = "echo"
        check(h.run("open", str(cited["n"])).stdout.split() == ["+4", part], "the cited line")
        check(h.json("open", str(cited["n"]), "--print")["source"], "it is a source")
        for what, file in ((str(cited["n"]), part), (cited["node"], os.path.join(h.path, "m/main.tex"))):
            check(h.run("open", what, "--print").stdout.strip() == "file://" + file, "a source has no places that an address leads to")
        check(h.run("open", cited["node"]).stdout.split() == ["+3", os.path.join(h.path, "m/main.tex")], "the section")


@test
def code_from_files_is_cited_at_its_place_in_them():
    with house() as h:
        code = "int zebra_count(void)\n{\n    return 17;\n}\n"
        h.write("m/main.tex", r"""\documentclass{article}
\newcommand{\source}[1]{\lstinputlisting[language=C]{code/#1}}
\begin{document}
\section{Counting}
\source{zebra.c}
\end{document}
""")
        h.write("m/code/zebra.c", code)
        h.write("m/code/unused.py", "print('nobody shows this')")
        h.write("html/a.html", "<h1>Page</h1><p>Words of a page.</p>")
        h.write("html/a.js", "zebra()")
        h.json("add", os.path.join(h.path, "m"), "--wait")
        found = h.json("search", "zebra_count")["results"]
        check(found[0]["path"][-1] == "1 Counting", found)
        check(found[0]["file"] == "main.tex" or found[0]["file"] == "code/zebra.c", found)
        check(not h.json("search", "nobody", code=1)["results"], "code that no document shows is found")
        titles = [child["title"] for child in h.json("toc", "-c", "m")["children"]]
        check(titles == ["main.tex"], f"what is read only where a document includes it is none: {titles}")
        check(h.manual("m")["excluded"] == {"part": 2}, h.manual("m")["excluded"])
        report = h.json("add", os.path.join(h.path, "html"), "--wait")
        check(report["files"] == {"seen": 1, "indexed": 1, "failed": 0}, f"code beside HTML: {report}")


@test
def index_entries_of_a_document_find_its_sections():
    with house() as h:
        h.write("m/main.tex", r"""\documentclass{article}
\begin{document}
\section{Stripes\index{zebra!crossing}}
Black and white.
\input{part}
\end{document}
""")
        h.write("m/part.tex", r"\section{Feathers}\index{ostrich@\emph{ostrich}|textbf}\index{emu|see{bird}}Grey.")
        h.json("add", os.path.join(h.path, "m"), "--wait")
        for words, title in ("zebra crossing", "1 Stripes"), ("ostrich", "2 Feathers"):
            found = h.json("search", words)["results"]
            check(found[0]["path"][-1] == title, f"{words}: {found}")
        check(not h.json("search", "emu", code=1)["results"], "an entry that only leads to another one")
        h.write("m/part.tex", r"\section{Feathers}\index{rhea}Grey.")
        h.json("update", "--wait")
        check(h.json("search", "rhea")["results"][0]["path"][-1] == "2 Feathers", "a new entry")
        check(not h.json("search", "ostrich", code=1)["results"], "an entry that is gone")
        h.run("verify")


@test
def a_block_is_cited_in_the_file_it_stands_in():
    with house() as h:
        h.write("m/main.tex", "\\documentclass{article}\\begin{document}\\section{Hives}Bees.\n"
                "\\input{code}\n\\end{document}")
        code = "\n\\begin{verbatim}\nswarm --all\n\\end{verbatim}\n"
        h.write("m/code.tex", code)
        h.json("add", os.path.join(h.path, "m"), "--wait")
        hit = h.json("search", "swarm", "--kind", "code")["results"][0]
        begin, end = hit["block"]["span"]
        check(hit["file"] == "main.tex" and hit["block"]["file"] == "code.tex", hit)
        check("swarm --all" in code[begin:end], hit)


@test
def what_a_document_includes_may_change():
    with house() as h:
        h.write("m/main.tex", "\\documentclass{article}\\begin{document}\\input{a}\\input{b}\\end{document}")
        h.write("m/other.tex", "\\documentclass{article}\\begin{document}\\section{O}Owls.\\end{document}")
        h.write("m/a.tex", "\\section{A}Ants.")
        h.json("add", os.path.join(h.path, "m"), "--wait")
        owls = h.json("search", "owls")["results"][0]["node"]
        check(not h.json("search", "bees", code=1)["results"], "bees before there are any")
        h.write("m/b.tex", "\\section{B}Bees.")
        h.json("update", "--wait")
        check(h.json("search", "bees")["results"][0]["path"][-1] == "2 B", "a file that was missing")
        h.write("m/a.tex", "\\section{A}Apes instead.")
        h.json("update", "--wait")
        check(h.json("search", "apes")["results"][0]["path"][-1] == "1 A", "a file that changed")
        check(not h.json("search", "ants", code=1)["results"], "what it read before is still there")
        os.remove(os.path.join(h.path, "m/b.tex"))
        h.json("update", "--wait")
        check(not h.json("search", "bees", code=1)["results"], "a file that is gone")
        h.run("verify")
        check(h.json("search", "owls")["results"][0]["node"] == owls, "an id changed")


@test
def what_a_document_includes_is_not_parsed_by_itself():
    with house() as h:
        def titles():
            return [child["title"] for child in h.json("toc", "-c", "m")["children"]]

        def write_main(body):
            h.write("m/main.tex", "\\documentclass{article}\\title{Main}\\begin{document}\n" + body + "\\end{document}\n")

        def update():
            return h.json("update", "-c", "m", "--wait")

        h.write("m/a.tex", "\\documentclass[main]{subfiles}\\begin{document}\\section{A}Ants.\\end{document}")
        h.write("m/parts/b.tex", "\\section{B}Bees.\\input{parts/c}")
        h.write("m/parts/c.tex", "\\subsection{C}Cats.")
        write_main("\\subfile{a}\\include{parts/b}\n")
        report = h.json("add", os.path.join(h.path, "m"), "--wait")
        check(report["parsed"] == 1, report)
        check(titles() == ["Main"] and h.manual("m")["excluded"] == {"part": 3}, titles())
        h.write("m/parts/c.tex", "\\subsection{C}Cows.")
        check(update()["parsed"] == 1, "a part that has changed, and the document")
        check(h.json("search", "cows")["results"][0]["path"][-1] == "2.1 C", "a part that changed")
        os.utime(os.path.join(h.path, "m/parts/c.tex"), (1, 1))
        check(update()["parsed"] <= 1 and titles() == ["Main"], "a part that was touched")
        write_main("\\subfile{a}\n")
        update()
        check(titles() == ["Main", "parts/b.tex"], f"what nobody includes any more: {titles()}")
        check(h.json("search", "bees")["results"][0]["file"] == "parts/b.tex", "and what it says")
        write_main("\\subfile{a}\\include{parts/b}\n")
        update()
        check(titles() == ["Main"], f"what is included again: {titles()}")
        check(h.json("search", "bees")["results"][0]["path"][-2:] == ["Main", "2 B"], "where it stands")
        h.write("m/main.tex", "\0\0\0")
        update()
        check(titles() == ["a.tex", "parts/b.tex"], f"a document that fails: {titles()}")
        write_main("\\subfile{a}\\include{parts/b}\n")
        update()
        h.json("update", "-c", "m", "--wait", "--force")
        check(titles() == ["Main"] and h.manual("m")["excluded"] == {"part": 3}, titles())
        os.remove(os.path.join(h.path, "m/main.tex"))
        update()
        check(titles() == ["a.tex", "parts/b.tex"], f"a document that is gone: {titles()}")
        check(h.manual("m")["excluded"] == {"part": 1}, "one still includes another")
        h.run("verify")


@test
def random_inclusions_end_as_a_fresh_index():
    """Documents and parts that come, go, fail and include others: incremental updates equal indexing anew."""
    dice = random.Random(11)
    with house() as h:
        folder = os.path.join(h.path, "m")

        def write(name, turn):
            later = [other for other in range(name + 1, 9) if dice.random() < .3]
            text = (f"\\section{{Part {name}}}Partial index predicate {turn}, create table {name}, zebra.\n"
                    + "".join(f"\\input{{p{other}}}\n" for other in later))
            if name < 2 or dice.random() < .2:
                text = f"\\documentclass{{article}}\\begin{{document}}\n{text}\\end{{document}}\n"
            h.write(f"m/p{name}.tex", "\0" if dice.random() < .1 else text)

        for name in range(9):
            write(name, 0)
        h.json("add", folder, "-c", "m", "--wait")
        for turn in range(1, 11):
            for _ in range(1 + dice.randrange(3)):
                name = dice.randrange(9)
                path = os.path.join(folder, f"p{name}.tex")
                if dice.random() < .2 and os.path.exists(path):
                    os.remove(path)
                else:
                    write(name, turn)
            h.json("update", "-c", "m", "--wait")
            with house() as fresh:
                fresh.json("add", folder, "-c", "m", "--wait")
                now, anew = whole(h), whole(fresh)
                for a, b in zip(now[0], anew[0]):
                    check(a == b, (turn, a, b))
                check(now == anew, (turn, now[1], anew[1]))
        h.run("verify")


@test
def documents_that_include_each_other_are_read():
    with house() as h:
        h.write("m/a.tex", "\\section{A}Ants.\n\\input{b}")
        h.write("m/b.tex", "\\section{B}Bees.\n\\input{a}")
        h.write("m/c.tex", "\\documentclass{article}\\begin{document}Cats, says \\verb|\\input{c}|.\\end{document}")
        h.json("add", os.path.join(h.path, "m"), "--wait")
        found = [child["title"] for child in h.json("toc", "-c", "m")["children"]]
        check(found == ["a.tex", "c.tex"], found)
        found = h.json("search", "bees")["results"]
        check(found[0]["path"] == ["a.tex", "B"], f"in the first of them: {found}")


@test
def what_is_wrong_in_a_document_is_told_of_its_files():
    with house() as h:
        h.write("m/main.tex", "\\documentclass{article}\\begin{document}\n\\input{part}\\input{gone}\\end{quote}\n"
                "\\end{document}")
        h.write("m/part.tex", "Ants } and \\[ bees\n\nOwls.")
        h.write("m/fine.tex", "\\documentclass{article}\\begin{document}Apes.\\end{document}")
        h.write("m/broken.html", b"\0\0\0")
        report = h.json("add", os.path.join(h.path, "m"), "--wait")
        check(report["files"]["failed"] == 1, report)
        told = h.json("failed")
        check([file["file"] for file in told["files"]] == ["broken.html"], f"what is read has not failed: {told}")
        said = {(warning["file"], warning["message"]) for warning in told["warnings"]}
        check(("part.tex", "byte 5: a stray }") in said, said)
        check(("main.tex", "byte 52: gone is not there") in said, said)
        check(("main.tex", "byte 64: \\end{quote} without \\begin") in said, said)
        check({warning["document"] for warning in told["warnings"]} == {"main.tex"}, told)
        check("m  part.tex: read, but byte 5: a stray }" in h.run("failed").stdout, "in words")
        h.write("m/part.tex", "Ants and bees.")
        h.json("update", "--wait")
        check({warning["file"] for warning in h.json("failed")["warnings"]} == {"main.tex"}, "what was put right")
        h.run("daemon", "--stop")
        check(len(h.json("failed")["warnings"]) == 2, "kept by the store")
        h.run("verify")


@test
def a_book_in_many_layouts_is_one_document():
    with house() as h:
        h.write("m/chapter.tex", "\\chapter{Quokkas}\n" + "\n\n".join(
            f"Paragraph {i} says what quokkas do in layout and out of it, day {i}." for i in range(9)))
        for name in "abcdefghij":
            h.write(f"m/book-{name}.tex", f"\\documentclass[{name}]{{book}}\\begin{{document}}\\input{{chapter}}\\end{{document}}")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(h.manual("m")["excluded"] == {"part": 1, "variant": 9}, h.manual("m")["excluded"])
        hits = h.json("search", "quokkas layout")["results"]
        check(len(hits) == 1 and "quokkas" in h.run("get", hits[0]["node"]).stdout, hits)
        said = h.run("failed", "--excluded").stdout
        check("book-b.tex: excluded: another layout of a document that is in the tree" in said, said)


@test
def what_a_converter_leaves_is_no_document():
    """latex2html keeps the formulas and figures of a manual in images.tex, whatever its name."""
    with house() as h:
        h.write("m/index.html", page("Manual", "<p>The plot command draws a quokka.</p>"))
        h.write("m/figures.tex", "\\batchmode\n\\documentclass{article}\n\\newwrite\\lthtmlwrite\n"
                "\\begin{document}\n\n% !!! IMAGES START HERE !!!\n\n\\section{figures}A quokka.\\end{document}")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check([hit["file"] for hit in h.json("search", "quokka")["results"]] == ["index.html"], "hits")
        left = h.json("failed", "--excluded")["excluded"]
        check(left == [{"manual": "m", "file": "figures.tex", "reason": "lists"}], left)
