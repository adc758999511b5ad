"""Models and the memories they make."""
import array
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from e2e import writing_model
from e2e.house import BUILD, FEW, GOLDEN, HERE, MODEL, SMALL, Skip, check, house, is_sanitized, page, test


@test
def doctor_finds_nothing_wrong():
    with house() as h:
        h.run("status")
        report = h.run("doctor")
        for key in ("socket", "store", "parsers"):
            check(key in report.stdout, report.stdout)


@test
def doctor_looks_at_the_model_in_use():
    with house() as h:
        folder = writing_model.make(os.path.join(h.path, "writer"), "zebra")
        config = os.path.join(folder, "config.json")
        right = open(config).read()
        h.write("writer/config.json", right.replace('"qwen3"', '"gpt2"'))
        ini = h.write("lectern/lectern.ini", f"model = {folder}\n")
        done = h.run("doctor", code=5)
        check("FAIL  model" in done.stdout and "gpt2" in done.stdout, done.stdout)
        h.run("daemon", "--stop")
        h.write("writer/config.json", right)
        check("parameters" in h.run("doctor").stdout, "opened")
        h.write("lectern/lectern.ini", "model = none\n")
        check("configured is none: lectern daemon --stop" in h.run("doctor").stdout, ini)
        h.run("daemon", "--stop")
        check("none: search goes by words" in h.run("doctor").stdout, "none")
        h.write("lectern/lectern.ini", f"model = {folder}\n")
        check(f"configured is {folder}" in h.run("doctor").stdout, "one more is configured")
        h.write("lectern/lectern.ini", f"model = {h.path}/none-there\n")
        check("which cannot be used" in h.run("doctor", code=5).stdout, "the next daemon's")


@test
def doctor_looks_at_the_reranker():
    with house() as h:
        check("reranking" not in h.run("doctor").stdout, "none is configured")
        h.run("daemon", "--stop")
        h.configure(rerank_model=f"{h.path}/none-there.gguf")
        said = h.run("doctor", code=5).stdout
        check("FAIL  reranking" in said and "none-there.gguf" in said, said)
        h.run("daemon", "--stop")
        h.configure(rerank_model=os.path.abspath(os.path.join(GOLDEN, "gguf/bert-rerank.gguf")))
        said = re.search("ok    reranking .*", h.run("doctor").stdout)[0]
        check("parameters" in said and "memories" not in said, said)
        h.run("daemon", "--stop")
        h.configure(rerank_model=os.path.abspath(os.path.join(GOLDEN, "gguf/nomic-bert.gguf")))
        said = h.run("doctor", code=5).stdout
        check(re.search("FAIL  reranking .*is no reranker", said), said)


@test
def the_device_is_said():
    """Whichever this machine has: what is used, and why, is the same everywhere."""
    with house() as h:
        h.copy_model()
        h.configure(device="auto")
        report = h.json("doctor")
        device = h.json("status")["model"]["device"]
        check(device["choice"] == "auto" and device["used"] in ("cpu", "cuda"), device)
        check(device["used"] == "cuda" or device["reason"], device)
        said = next(c["detail"] for c in report["checks"] if c["name"] == "device")
        check(device["used"] == "cuda" or said == "the CPU: " + device["reason"], said)
        check("device    the CPU: " in h.run("status").stdout or device["used"] == "cuda", said)
        check("in use, on the CPU: " in h.run("model", "info").stdout or device["used"] == "cuda", said)
        h.run("daemon", "--stop")
        h.configure(device="cpu")
        h.run("daemon")
        device = h.json("model", "info")["model"]["device"]
        check(device["choice"] == "cpu" and device["used"] == "cpu" and "reason" not in device, device)
        h.run("daemon", "--stop")
        done = h.run("--device", "cuda:99", "status", code=2)
        check("no CUDA device" in done.stderr and "cuda:99" in done.stderr, done.stderr)
        done = h.run("--device", "gpu", "status", code=2)
        check("must be auto, cpu, cuda or cuda:N" in done.stderr, done.stderr)


@test
def memories_follow_updates():
    with house() as h:
        h.copy_model()
        folder = h.part(FEW)
        added = h.json("add", folder, "-c", "pg", "--wait")
        check(added["segments"] > 100 and added["encoded"] > 100, added)
        check("memories" not in added and added["tokens"] > added["segments"], added)
        status = h.json("status")
        check(status["model"]["state"] == "ready" and status["state"] == "idle", status)
        check(status["model"]["path"] == h.model and status["model"]["parameters"] > 1000 and
              status["model"]["width"] > 0 and status["model"]["backend"] == "cpu", status)
        check(status["manuals"][0]["memories"] == "current" and
              100 < status["manuals"][0]["segments"] <= added["segments"], status)
        check(f"{status['manuals'][0]['segments']} segments with text" in h.run("status").stdout, "which segments")
        for mode in ("auto", "tree", "dense"):
            found = h.json("search", "partial indexes", "-c", "pg", "--mode", mode)
            check(found["results"] and found["model"] == "model", (mode, found["model"]))
            check(found["ms"]["embed"] > 0, found["ms"])
        found = h.json("search", "partial indexes", "--mode", "lexical")
        check(found["model"] is None and found["ms"]["embed"] < 5, found)
        again = h.json("update", "-c", "pg", "--wait")
        check(again["encoded"] == 0 and not again["changed"], again)
        check(again["segments"] == added["segments"], (again, added))
        with open(os.path.join(folder, "indexes-partial.html"), "r+b") as file:
            text = file.read().replace(b"partial", b"halfway")
            file.seek(0)
            file.write(text)
        edited = h.json("update", "-c", "pg", "--wait")
        check(0 < edited["encoded"] < 30 and edited["changed"], edited)
        report = h.run("doctor").stdout
        check("parameters" in report and "segment_tokens" in report, report)


@test
def encoders_make_memories_and_answers_are_passages():
    with house() as h:
        h.copy_model()
        shutil.rmtree(h.model)
        shutil.copytree(os.path.join(GOLDEN, "models", "bert"), h.model)
        shutil.copy(os.path.join(GOLDEN, "tokenizers", "bert", "tokenizer.json"), h.model)
        added = h.json("add", h.part(("indexes-partial",)), "-c", "pg", "--wait")
        check(added["encoded"] > 5, added)
        model = h.json("status")["model"]
        check(model["family"] == "bert" and model["pooling"] == "mean" and not model["writes"], model)
        check("no answers" in h.run("doctor").stdout, "doctor")
        for mode in ("tree", "dense"):
            found = h.json("search", "partial indexes", "-c", "pg", "--mode", mode)
            check(found["results"] and found["model"] == "model", (mode, found))
        answer = h.json("ask", "What is a partial index?", "-c", "pg")
        check(answer["kind"] == "passages" and "does not write" in answer["declined"], answer)
        h.run("ask", "What is a partial index?", "-c", "pg", "--answer", "generated", code=5)


@test
def models_made_for_hils_make_memories_and_write():
    with house() as h:
        folder = h.part(FEW)
        h.json("add", folder, "-c", "pg", "--wait")
        h.json("model", "use", h.copy_hils())
        told = h.json("wait", "-c", "pg")
        check(told["encoded"] > 100 and h.manual("pg")["memories"] == "current", told)
        for mode in ("auto", "tree", "dense"):
            found = h.json("search", "partial indexes", "-c", "pg", "--mode", mode)
            check(found["results"] and found["model"] == "hils", (mode, found["model"]))
        with open(os.path.join(folder, "indexes-partial.html"), "r+b") as file:
            text = file.read().replace(b"partial", b"halfway")
            file.seek(0)
            file.write(text)
        edited = h.json("update", "-c", "pg", "--wait")
        check(0 < edited["encoded"] < 30, edited)
        info = h.run("model", "info").stdout
        check("attention: HiLS, a window of 40 slots and 3 chosen chunks of 8" in info, info)
        check("makes memories of sections (with recall" in info and "context 4096" in info, info)
        check(h.json("model", "info")["model"]["embeds"] is True, "embeds")
        asked = "What is an index?", "-c", "pg", "--answer", "generated", "--max-tokens", "20"
        first, again = (h.json("ask", *asked, code=None) for _ in range(2))
        check(first["attention"] == again["attention"] == "hils", (first, again))
        check(first["tokens"]["reused"] == 0 < again["tokens"]["reused"], (first["tokens"], again["tokens"]))
        prompts = h.json("status")["prompts"]
        check(prompts["memory"]["hits"] == 1 and prompts["memory"]["tokens"] == again["tokens"]["reused"], prompts)
        check(prompts["asked"] == 2 and prompts["disk"]["files"] == 0, "it reads faster than files are read")
        check(first["answer"] == again["answer"] and first["tokens"]["answer"] == again["tokens"]["answer"], (first, again))
        check(h.json("verify")["fault_count"] == 0, "verify")


def damage(h, how):
    """Breaks the model in its folder; returns how to mend it."""
    def put(name, data):
        path = os.path.join(h.model, name)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.rename(path + ".new", path)

    if how == "folder":
        away = h.model + ".away"
        os.rename(h.model, away)
        return lambda: os.rename(away, h.model)
    name = "model.safetensors" if how == "cut" else "tokenizer.json"
    with open(os.path.join(h.model, name), "rb") as file:
        right = file.read()
    put(name, right[:len(right) // 2] if how == "cut" else b'{"model": {"type": "WordPiece"}}')
    return lambda: put(name, right)


@test
def broken_models_leave_search_by_words():
    names = {"folder": "config.json", "cut": "model.safetensors",
             "tokenizer": "tokenizer.json"}
    for how, name in names.items():
        with house() as h:
            h.copy_model()
            mend = damage(h, how)
            folder = h.part(("indexes",))
            added = h.json("add", folder, "-c", "pg", "--wait")
            check(added["nodes"] > 10, (how, added))
            error = added["memories"]["error"]
            check(error["code"] == "model" and h.model in error["message"] and
                  name in error["message"], (how, error))
            status = h.json("status")
            check(status["model"]["state"] == "failed" and
                  status["model"]["error"] == error, (how, status))
            check(status["state"] == "degraded" and status["manuals"][0]["stale"] is False and
                  status["manuals"][0]["memories"] == "none", (how, status))
            check(error["message"] in h.run("status").stdout, how)
            report = h.run("doctor", code=5).stdout
            check(error["message"] in report, report)
            check(h.json("search", "partial indexes")["model"] is None, how)
            check(h.json("ask", "What is a partial index?")["kind"] == "passages", how)
            done = h.run("search", "partial indexes", "--mode", "dense", code=5)
            check(h.model in done.stderr, done.stderr)
            mend()
            h.until(lambda: h.manual("pg")["memories"] == "current", f"{how}: mended")
            status = h.json("status")
            check(status["model"]["state"] == "ready" and status["state"] == "idle" and
                  "error" not in status["model"], (how, status))
            h.run("search", "partial indexes", "--mode", "dense")
            h.run("doctor")


@test
def a_broken_model_does_not_fill_the_store():
    with house() as h:
        h.copy_model()
        damage(h, "cut")
        sizes = []
        for round in range(12):
            letters = random.Random(round).choices("abcdefghijklmnopqrstuvwxyz", k=400000)
            h.write("m/a.html", page("Letters", "<p>%s</p>" % "".join(letters)))
            h.run(*(["update"] if round else ["add", os.path.join(h.path, "m")]), "--wait")
            time.sleep(0.4)
            sizes.append(h.json("status")["store"]["bytes"])
        check(sizes[-1] < 1.5 * sizes[3], sizes)


@test
def no_model_is_no_error():
    with house() as h:
        h.model = "none"
        added = h.json("add", h.part(("indexes",)), "-c", "pg", "--wait")
        check(added["segments"] == 0 and "memories" not in added, added)
        status = h.json("status")
        check(status["model"]["state"] == "none" and status["state"] == "idle", status)
        done = h.run("search", "partial indexes", "--mode", "dense", code=5)
        check("--model" in done.stderr, done.stderr)
        h.run("doctor")


@test
def a_model_that_goes_away_goes_on():
    with house() as h:
        h.copy_model()
        h.run("add", h.part(("indexes",)), "-c", "pg", "--wait")
        check(h.json("status")["model"]["changed"] is False, "changed at once")
        os.rename(h.model, h.model + ".away")
        model = h.json("status")["model"]
        check(model["state"] == "ready" and model["changed"] is True, model)
        h.run("search", "partial indexes", "--mode", "dense")
        h.run("update", "--force", "--wait")


@test
def another_model_is_used():
    with house() as h:
        h.copy_model()
        h.run("add", h.part(("indexes",)), "-c", "pg", "--wait")
        with open(os.path.join(h.model, "model.safetensors"), "r+b") as file:
            right = file.read()
            file.truncate(1000)
        h.run("search", "partial indexes", "--mode", "dense")
        h.until(lambda: "error" in h.json("status")["model"], "what is no model is refused")
        status = h.json("status")
        check(status["model"]["state"] == "ready" and status["model"]["changed"] and
              status["manuals"][0]["memories"] == "current", status)
        h.run("search", "partial indexes", "--mode", "dense")
        with open(os.path.join(h.model, "model.safetensors"), "r+b") as file:
            file.write(right[:-2] + bytes([right[-2] ^ 1]) + right[-1:])
        h.until(lambda: h.json("status")["model"]["changed"] is False, "the model is taken")
        h.until(lambda: h.manual("pg")["memories"] == "current", "memories are made again")
        status = h.json("status")
        check("error" not in status["model"] and status["state"] == "idle", status)
        h.run("search", "partial indexes", "--mode", "dense")
        log = open(os.path.join(h.store, "lecternd.log")).read()
        check(log.count("segments encoded") == 2, log[-1000:])


@test
def a_model_is_used_without_a_restart():
    with house() as h:
        h.run("add", h.part(FEW), "--wait")
        first = writing_model.make(os.path.join(h.path, "models", "first"), "zebra")
        second = os.path.join(h.path, "models", "second")
        shutil.copytree(MODEL, second)
        pid = h.pid()
        ini = os.path.join(h.path, "lectern", "lectern.ini")
        h.run("model", "use", "none")
        check("model = none" in open(ini).read() and "watch = off" in open(ini).read(), open(ini).read())
        check(h.json("model", "info")["model"]["state"] == "none", "none")
        check(h.json("search", "index")["model"] is None, "no model, none used")
        told = h.json("model", "use", first)
        check(told["model"]["writes"] and told["configuration"] == ini, told)
        check(f"model = {first}\n" in open(ini).read(), open(ini).read())
        h.run("wait")
        check(h.json("search", "index", "--mode", "dense")["model"] == "first", "the first one's memories")
        made = h.json("status")["model"]
        told = h.run("model", "use", second)
        check(second in told.stdout and "memories" in told.stderr, told.stderr)
        h.until(lambda: h.json("status")["state"] == "idle", "memories made again")
        check(h.json("search", "index", "--mode", "dense")["model"] == "second", "the second one's")
        status = h.json("status")
        check(status["model"]["path"] == second and status["model"]["width"] != 0 and made["path"] == first, status)
        check(h.json("verify")["fault_count"] == 0, "verify")
        check(h.pid() == pid, "the daemon is the same")
        h.run("daemon", "--stop")
        check(h.json("model", "info")["model"]["path"] == second, "after a restart, too")


@test
def roles_may_have_models_of_their_own():
    """Memories by one model, answers by another; one that has both roles is held once."""
    with house() as h:
        ini = os.path.join(h.path, "lectern", "lectern.ini")
        memories = os.path.join(h.path, "models", "memories")
        shutil.copytree(MODEL, memories)
        answers = writing_model.make(os.path.join(h.path, "models", "answers"), "zebra [1]")
        h.write("m/a.html", page("Animals", "<p>The zebra eats fresh grass.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        h.run("model", "use", memories)
        h.run("wait")
        before = h.json("status")
        check("answer_model" not in before, "one for both")
        told = h.run("model", "use", "--for", "answers", answers)
        check("memories of sections are made anew" not in told.stderr, told.stderr)
        check(f"answer_model = {answers}\n" in open(ini).read(), open(ini).read())
        status = h.json("status")
        check(status["model"]["path"] == memories and status["answer_model"]["path"] == answers, status)
        check(status["model"]["roles"] == ["memories"] and status["answer_model"]["roles"] == ["answers"], status)
        check(before["model"]["roles"] == ["memories", "answers"], before)
        check(status["manuals"][0]["memories"] == "current", "they stay")
        for told in (h.run("doctor").stdout, h.run("doctor", "--json").stdout):
            check(memories in told and answers in told, told)
        told = h.run("status").stdout
        check(f"memories  {memories}" in told and f"answers   {answers}" in told, told)
        answer = h.json("ask", "What eats grass?")
        check((answer["kind"], answer["model"], answer["answer"]) == ("generated", "answers", "zebra [1]"), answer)
        check(h.json("search", "zebra", "--mode", "dense")["model"] == "memories", "whose vectors")
        check("and for answers " + answers in h.run("model", "info").stdout, "info")
        h.run("daemon", "--stop")
        check(h.json("status", "--json")["answer_model"]["path"] == answers, "after a restart, too")
        h.run("model", "use", "--for", "memories", "none")
        check(h.json("ask", "What eats grass?")["model"] == "answers", "who writes stays")
        h.run("model", "use", "--for", "answers", "none")
        check(h.json("ask", "What eats grass?")["kind"] == "passages", "nobody writes")
        check("none: search goes by words, and" in h.run("doctor").stdout, "for no role")
        encoder = os.path.join(os.path.dirname(MODEL), "embedder")
        done = h.run("model", "use", "--for", "answers", encoder, code=5)
        check("does not write" in done.stderr, done.stderr)
        h.run("model", "use", answers)
        text = open(ini).read()
        check(text.count(f"model = {answers}\n") == 3, text)
        check("answer_model" not in h.json("status"), "one for both again")
        h.run("model", "use", "--for", "dinner", answers, code=2)


def install(h):
    """The programs in a folder of their own, with what is included."""
    for name in ("lectern", "lecternd", "lectern-parse"):
        os.makedirs(os.path.join(h.path, "x/bin"), exist_ok=True)
        shutil.copy(os.path.join(BUILD, name), os.path.join(h.path, "x/bin", name))
    for name in ("quill", "nib"):
        os.makedirs(os.path.join(h.path, "x/share/lectern"), exist_ok=True)
        os.symlink(os.path.join(HERE, "../../model", name), os.path.join(h.path, "x/share/lectern", name))
    h.model, h.program = None, os.path.join(h.path, "x/bin/lectern")


@test
def what_is_included_is_the_default():
    """Memories by Nib, answers, where they are asked for, by Quill; a model that is chosen does both."""
    with house() as h:
        install(h)
        h.write("m/a.html", page("Animals", "<h2>Zebra</h2><p>It eats fresh grass.</p><h2>Trains</h2><p>A locomotive pulls them.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        status = h.json("status")
        check(os.path.basename(status["model"]["path"]) == "nib" and status["model"]["roles"] == ["memories"], status)
        check(os.path.basename(status["answer_model"]["path"]) == "quill", status)
        found = h.json("search", "railway engine", "--mode", "dense")
        check(found["model"] == "nib" and found["results"][0]["path"][-1] == "Trains", found)
        hit = h.json("search", "what do zebras eat", "--explain")["explain"]["hits"][0]
        check(hit["pieces"]["rank"] == 1 and 0 < hit["pieces"]["score"] < 1, hit)
        used = {os.path.basename(m["path"]) for m in h.json("model", "list")["models"] if m["used"]}
        check(used == {"nib", "quill"}, used)
        os.remove(os.path.join(h.path, "x/share/lectern/quill"))
        h.run("daemon", "--stop")
        told = h.run("model", "info").stdout
        check("no model is in use for answers: they are passages" in told and "nib" in told, told)
        h.write("lectern/lectern.ini", "late_interaction = no\n")
        h.json("search", "zebra", "--mode", "dense")  # waits for the model
        hit = h.json("search", "what do zebras eat", "--explain")["explain"]["hits"][0]
        check("pieces" not in hit and hit["dense"]["rank"] >= 1, hit)
        folder = os.path.join(h.path, "models", "one")
        shutil.copytree(MODEL, folder)
        h.run("model", "use", folder)
        h.run("wait")
        check(h.json("search", "zebra", "--mode", "dense")["model"] == "one", "one for both")
        text = open(os.path.join(h.path, "lectern", "lectern.ini")).read()
        check("memory_model" not in text and "answer_model" not in h.json("status"), text)


def first_hit(h, question):
    h.json("search", question, "--mode", "dense")  # waits for the model
    return h.json("search", question, "--explain")["explain"]["hits"][0]


@test
def the_included_pieces_order_what_a_model_with_layers_finds():
    """Nib's, beside another model's memories; without them, and where they cannot be read, search answers all the same."""
    with house() as h:
        install(h)
        encoder, nib = os.path.join(h.path, "encoder"), os.path.join(h.path, "x/share/lectern/nib")
        shutil.copytree(os.path.join(GOLDEN, "models", "bert"), encoder)
        shutil.copy(os.path.join(GOLDEN, "tokenizers", "bert", "tokenizer.json"), encoder)
        h.write("lectern/lectern.ini", f"memory_model = {encoder}\n")
        h.write("m/a.html", page("Animals", "<h2>Zebra</h2><p>It eats fresh grass.</p><h2>Trains</h2><p>A locomotive eats coal.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        hit = first_hit(h, "what do zebras eat")
        check(hit["pieces"]["rank"] == 1 and 0.5 < hit["pieces"]["score"] < 1 and hit["dense"]["rank"], hit)
        check(h.json("search", "zebras")["model"] == "encoder", "whose memories")
        check("tokens" not in h.json("status")["store"]["tables"], "nothing is stored of tokens")
        h.run("daemon", "--stop")
        os.remove(nib)
        hit = first_hit(h, "what do zebras eat")
        check("pieces" not in hit and hit["dense"]["rank"], hit)
        h.run("daemon", "--stop")
        os.mkdir(nib)
        hit = first_hit(h, "what do zebras eat")
        check("pieces" not in hit and hit["dense"]["rank"], hit)
        check("nib/config.json" in open(os.path.join(h.store, "lecternd.log")).read(), "why not")


@test
def a_model_that_is_none_is_not_used():
    with house() as h:
        folder = os.path.join(h.path, "models", "one")
        shutil.copytree(MODEL, folder)
        h.run("model", "use", folder)
        ini = open(os.path.join(h.path, "lectern", "lectern.ini")).read()
        broken = os.path.join(h.path, "models", "broken")
        shutil.copytree(MODEL, broken)
        os.truncate(os.path.join(broken, "model.safetensors"), 1000)
        sparse = os.path.join(h.path, "models", "sparse")
        shutil.copytree(os.path.join(os.path.dirname(MODEL), "qwen2"), sparse)
        for wrong, says in ((broken, "model.safetensors"), (sparse, "tokenizer.json"), ("nowhere", "nowhere/config.json")):
            done = h.run("model", "use", wrong, code=5)
            check(says in done.stderr, done.stderr)
        check(open(os.path.join(h.path, "lectern", "lectern.ini")).read() == ini, "the configuration is as it was")
        check(h.json("model", "info")["model"]["path"] == folder, "and the model, too")
        h.run("model", "use", code=2)
        h.run("model", "chew", folder, code=2)


def split_part(number, count):
    """A file of a split model, without a weight."""
    def text(words):
        return struct.pack("<Q", len(words)) + words.encode()
    values = [text("split.no") + struct.pack("<IH", 2, number - 1), text("split.count") + struct.pack("<IH", 2, count)]
    if number == 1:
        values.append(text("general.architecture") + struct.pack("<I", 8) + text("llama"))
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(values)


@test
def models_are_found_and_explained():
    with house() as h:
        folder = os.path.join(h.path, "models", "one")
        shutil.copytree(MODEL, folder)
        snapshot = os.path.join(h.path, "hub", "models--a--b", "snapshots", "c0ffee")
        shutil.copytree(os.path.join(os.path.dirname(MODEL), "bert"), snapshot)
        os.makedirs(os.path.join(h.path, "lectern", "models", "empty"))
        shutil.copytree(MODEL, os.path.join(h.path, "lectern", "models", "two"))
        h.env["HF_HOME"] = h.path
        for number, rest in ((1, 0), (2, 1000)):
            h.write(f"lectern/models/split-{number:05}-of-00002.gguf", split_part(number, 2) + bytes(rest))
        h.run("model", "use", folder)
        listed = h.json("model", "list")
        found = {os.path.relpath(m["path"], h.path): m for m in listed["models"]}
        check(found["models/one"]["used"] and not found["lectern/models/two"]["used"], listed)
        check(found["hub/models--a--b/snapshots/c0ffee"]["family"] == "bert", listed)
        check(found["lectern/models/split-00001-of-00002.gguf"]["bytes"] == len(split_part(1, 2) + split_part(2, 2)) + 1000, "all parts")
        check("lectern/models/split-00002-of-00002.gguf" not in found, listed)
        check(not any("empty" in path for path in found), listed)
        told = h.run("model", "info", snapshot).stdout
        check("writes no answers" in told and "no tokenizer.json" in told and "bert" in told, told)
        about = h.json("model", "info", folder)["model"]
        check(about["writes"] and about["token_bytes"] > 0 and about["weight_bytes"] > 0 and
              about["attention"] == "full" and about["tokenizer"], about)
        check(about["memory_layers"] == about["layers"] > 1, about)
        check("by the first" not in h.run("model", "info", folder).stdout, "all layers make memories")
        config = json.load(open(os.path.join(folder, "config.json")))
        h.write("models/one/config.json", json.dumps(dict(config, lectern_memory_layers=1)))
        check(h.json("model", "info", folder)["model"]["memory_layers"] == 1, "memory_layers")
        told = h.run("model", "info", folder).stdout
        check("; by the first 1 of the layers)" in told, told)
        check(h.run("completion", "words", "--", "model", "", store=False).stdout.split() == ["use", "get", "info", "list"],
              "completion")


def large_model(folder, layers, kind):
    """A decoder of some hundred MB of small numbers; returns the bytes of its weights."""
    width, inner, kv_heads, head, vocabulary = 1024, 4096, 4, 64, 1024
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "qwen3", "vocab_size": vocabulary, "hidden_size": width, "intermediate_size": inner,
                   "num_hidden_layers": layers, "num_attention_heads": width // head, "num_key_value_heads": kv_heads,
                   "head_dim": head, "max_position_embeddings": 512, "tie_word_embeddings": True}, file)
    shapes = {"model.embed_tokens": (vocabulary, width), "model.norm": (width,)}
    for i in range(layers):
        parts = {"input_layernorm": (width,), "post_attention_layernorm": (width,),
                 "self_attn.q_norm": (head,), "self_attn.k_norm": (head,), "self_attn.q_proj": (width, width),
                 "self_attn.k_proj": (kv_heads * head, width), "self_attn.v_proj": (kv_heads * head, width),
                 "self_attn.o_proj": (width, width), "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
                 "mlp.down_proj": (width, inner)}
        shapes |= {f"model.layers.{i}.{part}": shape for part, shape in parts.items()}
    size, at, header = 2 if kind == "BF16" else 4, 0, {}
    for name, shape in shapes.items():
        end = at + math.prod(shape) * size
        header[name + ".weight"] = {"dtype": kind, "shape": shape, "data_offsets": [at, end]}
        at = end
    values = array.array("f", [((i * 2654435761) % 65536 - 32768) / 1e6 for i in range(65536)]).tobytes()
    block = values if kind == "F32" else b"".join(values[i + 2:i + 4] for i in range(0, len(values), 4))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, at, len(block)):
            file.write(block[:at - begin])
    return at, layers * kv_heads * head * 2 * 4


@test
def models_take_little_more_than_their_weights():
    if is_sanitized("probe"):
        raise Skip("a sanitizer keeps what is freed")
    with house() as h:
        for kind, layers in (("F32", 4), ("BF16", 11)):  # 236 MiB, read; 321 MiB, mapped
            folder = os.path.join(h.path, kind)
            weights, token = large_model(folder, layers, kind)
            ids = [str(i) for i in range(40)]
            run = subprocess.Popen([os.path.join(BUILD, "probe"), "logits", "--model", folder, "--ids", ",".join(ids),
                                    "--decode", "4", "--threads", "2", "--out", os.path.join(folder, "out")])
            _, status, used = os.wait4(run.pid, 0)
            check(status == 0, f"probe ended with {status}")
            peak = used.ru_maxrss * 1024
            check(peak <= 1.1 * weights + len(ids) * token, f"{kind}: {peak} bytes for {weights} of weights")
            shutil.rmtree(folder)


def encoding(h):
    return h.manual("pg").get("encoding")


@test
def memories_survive_a_kill():
    with house() as h:
        h.copy_model()
        folder = h.part(SMALL + ("functions",))
        h.run("add", folder, "-c", "pg")
        seen = h.until(lambda: (encoding(h) or {}).get("done", 0) > 300 and encoding(h),
                       "segments are encoded")
        check(seen["done"] < seen["total"], seen)
        os.kill(h.pid(), signal.SIGKILL)
        report = h.json("wait", "-c", "pg")
        check(report["segments"] > 800, report)
        check(0 < report["encoded"] <= report["segments"] - 200, (seen, report))
        check(h.manual("pg")["memories"] == "current", "current")
        fresh = h.json("search", "partial indexes", "--mode", "dense")["results"]
        check(fresh, fresh)
        check(h.json("update", "--wait", "-c", "pg")["encoded"] == 0, "all are there")


@test
def updates_do_not_wait_for_memories():
    with house() as h:
        h.copy_model()
        folder = h.part(SMALL + ("functions",))
        h.run("add", folder, "-c", "pg")
        begun = h.until(lambda: encoding(h) and time.monotonic(), "memories are begun")
        h.until(lambda: (encoding(h) or {}).get("done", 0) > 300, "memories are computed")
        first = time.monotonic() - begun
        h.write("notes/a.html", page("Zebras", "<p>Zebras have stripes.</p>"))
        h.run("add", os.path.join(h.path, "notes"), "-c", "notes")
        h.until(lambda: h.json("ls")["manuals"][-1]["nodes"] > 0, "the second is indexed")
        check(h.manual("pg")["memories"] == "computing", "pg's memories came first")
        check(h.json("search", "zebras")["results"], "the second is found")
        told = {one["manual"]: one for one in h.json("wait")["manuals"]}
        check(told["pg"]["encoded"] > told["pg"]["segments"] - 100, told["pg"])  # both runs count
        for name in ("pg", "notes"):
            check(h.manual(name)["memories"] == "current", name)
        log = open(os.path.join(h.store, "lecternd.log")).read()
        check(log.count("segments encoded") == 2, log[-1000:])
        parts = [float(text) for text in re.findall(r"pg: .* ([0-9.]+) s$", log, re.M)]  # indexed, and encoded in the end
        check(len(parts) == 2 and told["pg"]["seconds"] > sum(parts) + first - 0.1, (parts, first, told["pg"]))


class Restless(threading.Thread):
    """A page that never stays the same for long, and takes longer to encode than to index."""

    def __init__(self, h):
        super().__init__(daemon=True)
        self.house, self.over, self.draw = h, threading.Event(), random.Random(5)

    def __enter__(self):
        self.write()
        self.start()

    def __exit__(self, *what):
        self.over.set()
        self.join()

    def write(self):
        text = "".join("<p>" + " ".join(str(self.draw.randrange(10 ** 6)) for _ in range(80)) + ".</p>"
                       for _ in range(150))
        new = self.house.write("manual/restless.new", page("Restless", text))
        os.rename(new, new.replace(".new", ".html"))

    def run(self):
        while not self.over.is_set():
            self.write()
            time.sleep(0.1)


@test
def memories_do_not_wait_for_a_file_to_rest():
    with house() as h:
        h.configure(watch="auto")
        h.copy_model()
        folder = h.part(("ddl-basics",))

        def rounds():
            return open(os.path.join(h.store, "lecternd.log")).read().count("segments encoded")

        with Restless(h):
            h.run("add", folder, "-c", "pg")
            for made in range(2):
                h.until(lambda: rounds() > made, f"memories are made, round {made + 1}")
            check(h.json("search", "tables", "--mode", "dense")["results"], "dense")
        h.json("wait")
        check(h.manual("pg")["memories"] == "current", "at rest")
