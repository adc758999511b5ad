#!/usr/bin/env python3
"""Compares `probe tokenize` with Hugging Face's tokenizers on many lines.

    venv/bin/python tests/oracle/model/compare_tokenizers.py build/probe WORK [LINES] [TOKENIZER.json ...]

Without a tokenizer.json they are trained into WORK: byte-level ones of 32,000
tokens (GPT-2's pattern, Qwen2's with NFC, Llama 3's with ignore_merges) and those of
make_tokenizers.py with 8,000 (SentencePiece's with its usual map of characters;
needs sentencepiece).  Lines: two fifths
from /usr/share/doc and /usr/share/common-licenses, the rest random Unicode,
white space and pieces that patterns trip over.  Then long runs, and the speed
on a large text.  Ends with 1 on a difference."""
import json
import os
import random
import subprocess
import sys
import time

from tokenizers import Tokenizer

from lines import FIXED, random_lines, text_lines
from make_models import make_tokenizer
from make_tokenizers import KINDS, make


def trained(work, corpus):
    for kind, name in (("untied", "gpt2"), ("tied", "qwen2"), ("memory", "llama3")):
        folder = os.path.join(work, name)
        if not os.path.exists(os.path.join(folder, "tokenizer.json")):
            os.makedirs(folder, exist_ok=True)
            make_tokenizer(kind, 32000, corpus).save(os.path.join(folder, "tokenizer.json"))
        yield folder
    for kind in KINDS:
        folder = os.path.join(work, kind)
        if not os.path.exists(os.path.join(folder, "tokenizer.json")):
            os.makedirs(folder, exist_ok=True)
            make(kind, 8000, corpus[:20000], whole=True).save(os.path.join(folder, "tokenizer.json"))
        yield folder


def differing(tokenizer, lines, got):
    """The reference one chunk at a time: a million lines of it are large."""
    for at in range(0, len(lines), 10000):
        want = tokenizer.encode_batch_fast(lines[at:at + 10000])
        for line, ours, theirs in zip(lines[at:], got[at:], want):
            if ours != theirs.ids:
                yield line, ours, theirs.ids


def probe(program, folder, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([program, "tokenize", "--model", folder, "--time"], input=text, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()], run.stderr.strip()


def speed(program, folder, tokenizer, text):
    pieces = [text[i:i + 2000] for i in range(0, len(text), 2000)]
    _, ours = probe(program, folder, pieces)
    start = time.perf_counter()
    for piece in pieces:
        tokenizer.encode(piece)
    seconds = time.perf_counter() - start
    size = len(text.encode())
    one = size / 1e6 / seconds
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    start = time.perf_counter()
    tokenizer.encode_batch_fast(pieces)
    print(f"  speed, pieces of 2,000 characters: ours {ours}; Hugging Face {one:.2f} MB/s, "
          f"without offsets {size / 1e6 / (time.perf_counter() - start):.2f} MB/s")


def main():
    program, work = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100000
    texts = text_lines(["/usr/share/common-licenses", "/usr/share/doc"], count)
    random.Random(1).shuffle(texts)
    folders = [os.path.dirname(os.path.abspath(path)) for path in sys.argv[4:]] or list(trained(work, texts[:60000]))
    lines = FIXED + texts[:count * 2 // 5]
    lines += random_lines(11, count - len(lines))
    runs = [" " * 1000000, "a" * 200000, "\n" * 300000, " \n" * 100000, "\u4e2d" * 100000, "ab" * 100000 + " " * 100000 + "x", "\u0301" * 50000]
    worst = 0
    for folder in folders:
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        got, note = probe(program, folder, lines)
        bad = list(differing(tokenizer, lines, got))
        print(f"{os.path.basename(folder)}: {len(lines)} lines, {sum(map(len, got))} ids, {len(bad)} lines differ ({note})")
        for line, ours, theirs in bad[:10]:
            print("  ", ascii(line), ours, theirs, flush=True)
        start = time.perf_counter()
        got, note = probe(program, folder, runs)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        theirs = [tokenizer.encode(run).ids for run in runs]
        print(f"  long runs: {sum(a != b for a, b in zip(got, theirs))} of {len(runs)} differ; "
              f"ours {ours:.2f} s, Hugging Face {time.perf_counter() - start:.2f} s")
        worst += len(bad) + (got != theirs)
        speed(program, folder, tokenizer, "".join(texts)[:20000000])
    sys.exit(worst > 0)


if __name__ == "__main__":
    main()
