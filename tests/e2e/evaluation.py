"""lectern eval."""
import json
import os
import re

from e2e.house import check, house, page, talk, test, written
from e2e.store import spoil_a_tree


@test
def evaluation_counts():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        lines = [{"id": "a", "question": "partial index", "answer": None,
                  "section": ["11.8. Partial Indexes"], "evidence": None, "document": None},
                 {"id": "b", "question": "partial index", "answer": None,
                  "section": ["No Such Section"], "evidence": None, "document": None},
                 {"id": "c", "question": "work_mem", "answer": None, "section": None,
                  "evidence": ["Sets the base maximum amount of memory to be used by a"
                               " query operation"], "document": None}]
        path = h.write("q.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
        result = h.json("eval", path, "-c", "pg")
        text = json.dumps(result)
        check('"recall' in text and '"mrr"' in text.lower(), text)
        result = h.json("eval", path, "-c", "pg", "--compare", "lexical,tree")
        first = {row["id"]: row["rank"] for row in result["ranks"]}
        for other in result["modes"]:
            ranks = {row["id"]: row["rank"] for row in other["ranks"]}
            difference = sum((first[i] == 1) - (ranks[i] == 1) for i in "abc") / 3
            check(abs(other["difference"]["recall@1"]["value"] - difference) < 1e-3, other)
        check([other["mode"] for other in result["modes"]] == ["lexical", "tree"], result)
        h.run("eval", path, "--compare", "auto", code=2)
        h.write("bad.jsonl", '{"id":"a","question":"x"}\nnot json\n')
        done = h.run("eval", os.path.join(h.path, "bad.jsonl"), code=2)
        check("2" in done.stderr, done.stderr)


@test
def evaluation_tells_finding_from_answering():
    with house() as h:
        h.json("add", h.part(), "-c", "pg", "--wait")
        lines = [{"id": "a", "question": "What is a partial index?", "answer": "A partial index is an"
                  " index built over a subset of a table", "section": ["11.8. Partial Indexes"]},
                 {"id": "b", "question": "What is a partial index?", "answer": "x",
                  "section": ["No Such Section"]},
                 {"id": "c", "question": "work_mem", "answer": "Sets the base maximum amount of memory to be used"
                  " by a query operation before writing to temporary disk files", "evidence": ["Sets the base maximum amount of memory to be used by a"
                               " query operation"]},
                 {"id": "d", "question": "How long do I bake a baguette?", "unanswerable": True}]
        path = h.write("q.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
        result = h.json("eval", path, "-c", "pg", "--answers", "passages,oracle-section,best-passage")
        replies = {(r["id"], r["method"]): r for r in result["replies"]}
        passages, section, best = result["compared"]
        check(passages["scored"] == 3 and section["scored"] == best["scored"] == 2, result)
        check(section["citations"]["first_right"]["value"] == 1, section)
        check(replies["a", "best-passage"]["rouge_l"] >= replies["a", "oracle-section"]["rouge_l"] > 0,
              replies)
        check("maximum amount of memory" in replies["c", "best-passage"]["answer"], replies)
        check(passages["abstaining"] | {"recall": 0, "precision": 0} ==
              {"unanswerable": 1, "answerable": 3, "right": 1, "wrong": 0, "recall": 0,
               "precision": 0}, passages)
        check(passages["abstaining"]["recall"]["value"] == 1, passages)


@test
def evaluation_scores_answers_by_kind():
    with written("zebra [1]") as h:
        lines = [{"id": "a", "question": "What is fresh grass?", "answer": ["a horse", "The Zebra"]},
                 {"id": "b", "question": "What grows in the morning?", "answer": "okapi"},
                 {"id": "c", "question": "How long do I bake a baguette?", "answer": "long"},
                 {"id": "d", "question": "grass"}]
        path = h.write("q.jsonl", "\n".join(map(json.dumps, lines)))
        result = h.json("eval", path, "-c", "m", "--answers", "auto,passages")
        auto, passages = result["compared"]
        replies = {(r["id"], r["method"]): r for r in result["replies"]}
        # Markers are no words of an answer.
        check(replies["a", "auto"]["f1"] == replies["a", "auto"]["rouge_l"] == 1, replies)
        check(auto["scored"] == 3 and abs(auto["f1"]["value"] - 1 / 3) < 1e-3, auto)
        check(auto["f1"]["low"] <= auto["f1"]["value"] <= auto["f1"]["high"], auto)
        check(auto["kinds"]["none"] == auto["abstentions"] >= 1, auto)
        written_ones = [i for i in "abc" if replies[i, "auto"]["kind"] == "generated"]
        check("a" in written_ones and "c" not in written_ones, written_ones)
        for method in ("auto", "passages"):
            there = auto["by_kind"]["generated"][method]
            right = sum(replies[i, method]["rouge_l"] for i in written_ones) / len(written_ones)
            check(there["scored"] == len(written_ones), there)
            check(abs(there["rouge_l"]["value"] - right) < 1e-3, (there, right))
        check(passages["by_kind"]["generated"]["auto"]["scored"] == 0, passages["by_kind"])


def whole(h, **params):
    """What the verb of that name answers."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "whole", "params": dict(query="What?", **params)}
    return json.loads(talk(h, json.dumps(request).encode() + b"\n"))


@test
def evaluation_compares_ways_to_read():
    names = ["h2mt", "hmt", "full", "passages"]
    with written("zebra [1]", recalls=True) as h:
        # More pages than the model's context holds.
        for i in range(9):
            h.write(f"m/long{i}.html", page(f"Long {i}", "".join(
                f"<p>The okapi {i * 40 + k} drinks water by the river {k * 9 + i}.</p>" for k in range(40))))
        h.json("update", "-c", "m", "--wait")
        lines = [{"id": "a", "question": "What is fresh grass?", "answer": "The zebra"},
                 {"id": "b", "question": "What grows in the morning?", "answer": "okapi"},
                 {"id": "c", "question": "What is fresh grass?", "answer": "zebra", "document": "b.html"}]
        path = h.write("q.jsonl", "\n".join(map(json.dumps, lines)))
        result = h.json("eval", path, "-c", "m", "--method", ",".join(names))
        check([row["method"] for row in result["compared"]] == names, result)
        replies = {(r["id"], r["method"]): r for r in result["replies"]}
        for name, row in zip(names, result["compared"]):
            check(row["scored"] == 3 and row["first_token"]["median"] > 0, row)
            check(("first_token_kept" in row) == (name == "hmt"), row)
            check(row["kinds"]["passages" if name == "passages" else "generated"] == 3, row)
            if name != "passages":
                check([replies[i, name]["f1"] for i in "abc"] == [1, 0, 1], (name, replies))
            difference = [replies[i, "h2mt"]["f1"] - replies[i, name]["f1"] for i in "abc"]
            if name != "h2mt":
                check(abs(row["difference"]["f1"]["value"] - sum(difference) / 3) < 1e-3, row)
                first = [replies[i, "h2mt"]["first_token"] - replies[i, name]["first_token"] for i in "abc"]
                check(abs(row["difference"]["first_token"]["value"] - sum(first) / 3) < 1e-2, row)
        hmt = result["compared"][1]
        check(hmt["first_token_kept"]["median"] < hmt["first_token"]["median"], hmt)
        check(replies["c", "passages"]["answer"].startswith("Fresh grass is green."), replies["c", "passages"])

        full, hmt = (whole(h, method=method)["result"] for method in ("full", "hmt"))
        check(full["cut"] and full["tokens"]["document"] < 2048 < hmt["tokens"]["document"], (full, hmt))
        check(hmt["memories"] == -(-hmt["tokens"]["document"] // 256) and not hmt["cut"], hmt)
        again = whole(h, method="hmt")["result"]
        check(again["ms"]["read"] == hmt["ms"]["read"] and again["answer"] == hmt["answer"], (again, hmt))
        h.write("m/long0.html", page("Long 0", "<p>The okapi sleeps.</p>"))
        h.json("update", "-c", "m", "--wait")
        anew = whole(h, method="hmt")["result"]
        check(anew["tokens"]["document"] < hmt["tokens"]["document"], (anew, hmt))
        small = whole(h, method="hmt", file="b.html")["result"]
        check(small["memories"] == 1 and small["tokens"]["document"] < 100, small)
        [under] = {r["node"] for r in h.json("search", "green")["results"] if r["file"] == "b.html"}
        section = whole(h, method="full", under=under)["result"]
        check(not section["cut"] and section["tokens"]["document"] < small["tokens"]["document"], (section, small))
        check(whole(h, method="full", under="n0")["error"]["data"]["code"] == "usage", "a node that is not there")
        check(whole(h, method="hmt", file="none.html")["error"]["data"]["code"] == "not_found", "a file that is not there")
        check(whole(h, method="h2mt")["error"]["data"]["code"] == "usage", "no such method")
        for wrong in ("hmt,hmt", "hmt,", "neither", ""):
            h.run("eval", path, "--method", wrong, code=2)
        check(h.run("completion", "words", "--", "eval", "--method", "", store=False).stdout.split() == ["h2mt", "hmt", "full", "passages"],
              "completion")


@test
def a_manual_that_is_added_anew_is_read_anew():
    with written("zebra [1]", recalls=True) as h:
        def tokens_of(folder):
            h.json("rm", "m")
            h.json("add", os.path.join(h.path, folder), "-c", "m", "--wait")
            return whole(h, method="hmt")["result"]["tokens"]["document"]
        h.write("short/a.html", page("Short", "<p>The okapi drinks.</p>"))
        h.write("long/a.html", page("Long", "<p>The okapi drinks water by the river.</p>" * 9))
        short, long = tokens_of("short"), tokens_of("long")
        check(long > 3 * short, (short, long))


@test
def evaluation_says_what_hmt_needs():
    with written("zebra [1]") as h:
        path = h.write("q.jsonl", json.dumps({"id": "a", "question": "What is fresh grass?", "answer": "zebra"}))
        done = h.run("eval", path, "--method", "full,hmt", code=5)
        check("question a: HMT needs a model that was taught to recall" in done.stderr, done.stderr)
    with written("zebra [1]", recalls=True, star=True) as h:
        path = h.write("q.jsonl", json.dumps({"id": "a", "question": "What is fresh grass?", "answer": "zebra"}))
        done = h.run("eval", path, "--method", "hmt", code=5)
        check("question a: a model with star attention writes, but does not embed" in done.stderr, done.stderr)


@test
def a_document_is_read_as_a_whole_or_not_at_all():
    with written("zebra [1]", recalls=True) as h:
        h.stop()
        check(spoil_a_tree(h) > 0, "trees in the file")
        h.run("status")
        for method in ("hmt", "full"):
            error = whole(h, method=method)["error"]
            check(re.search(r"for want of n\d+ \((Animals|Plants)\): the store has lost", error["message"]), error)


@test
def hmt_reads_with_models_made_for_hils():
    with house() as h:
        h.model = h.copy_hils()
        for i in range(3):
            h.write(f"m/long{i}.html", page(f"Long {i}", "".join(
                f"<p>The okapi {i * 40 + k} drinks water by the river {k * 9 + i}.</p>" for k in range(40))))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        path = h.write("q.jsonl", json.dumps({"id": "a", "question": "What drinks?", "answer": "okapi"}))
        result = h.json("eval", path, "-c", "m", "--method", "h2mt,hmt,full")
        check([row["scored"] for row in result["compared"]] == [1, 1, 1], result)
        hmt = whole(h, method="hmt")["result"]
        check(hmt["memories"] == -(-hmt["tokens"]["document"] // 256) > 3 and hmt["attention"] == "hils", hmt)
