#!/usr/bin/env python3
"""Compares `probe tokenize` and `probe decode` with Hugging Face's tokenizers on many lines.

    venv/bin/python tests/experiments/model/compare_tokenizers.py [--ids|--decode] build/probe WORK [LINES] [TOKENIZER.json ...]

Without a tokenizer.json they are trained into WORK: byte-level ones of 32,000
tokens (GPT-2's pattern, Qwen2's with NFC, Llama 3's with ignore_merges) and those of
make_tokenizers.py with 8,000 (SentencePiece's with its usual map of characters;
needs sentencepiece).  Lines: two fifths
from /usr/share/doc and /usr/share/common-licenses, the rest random Unicode,
white space and pieces that patterns trip over.  Then long runs, and the speed
on a large text; --ids leaves these out.  Ends with 1 on a difference; WORK/KIND/differ-LINES.jsonl has the
lines with both's ids.  The reference's ids are kept beside it for the next run.

--decode compares texts instead: what each makes of our ids of the lines, with special
tokens and without, how many lines come back as they were, and what each makes of a tenth as many
lists of random ids.  WORK/KIND/decoded-LINES.jsonl has the ids with both's texts."""
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

RUNS = [" " * 1000000, "a" * 200000, "\n" * 300000, " \n" * 100000, "\u4e2d" * 100000, "ab" * 100000 + " " * 100000 + "x", "\u0301" * 50000]


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


def as_line(ids):
    return "[" + ",".join(map(str, ids)) + "]\n"


def reference(folder, tokenizer, lines):
    """The reference's ids, a line each; once made they stay in the folder."""
    path = os.path.join(folder, f"reference-{len(lines)}.txt")
    if not os.path.exists(path):
        with open(path + ".part", "w", encoding="ascii") as f:
            for at in range(0, len(lines), 10000):
                f.writelines(as_line(e.ids) for e in tokenizer.encode_batch_fast(lines[at:at + 10000]))
        os.rename(path + ".part", path)
    return open(path, encoding="ascii")


def differing(folder, tokenizer, lines, got):
    with reference(folder, tokenizer, lines) as want:
        for line, ours, theirs in zip(lines, got, want, strict=True):
            if ours != theirs:
                yield line, ours.strip(), theirs.strip()


def probe(program, folder, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([program, "tokenize", "--model", folder, "--time"], input=text, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout.splitlines(keepends=True), run.stderr.strip()


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


def long_runs(program, folder, tokenizer):
    start = time.perf_counter()
    got, _ = probe(program, folder, RUNS)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    theirs = [as_line(tokenizer.encode(run).ids) for run in RUNS]
    print(f"  long runs: {sum(a != b for a, b in zip(got, theirs))} of {len(RUNS)} differ; "
          f"ours {ours:.2f} s, Hugging Face {time.perf_counter() - start:.2f} s")
    return got != theirs


def decoded(program, folder, ids, *options):
    """Our text of each line of ids."""
    run = subprocess.run([program, "decode", "--model", folder, *options], input="".join(ids), capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.split("\n")[:-1]]


def compare_texts(program, folder, tokenizer, ids, out):
    """How many lines differ with special tokens, how many without, and the reference's texts without."""
    lists = [json.loads(line) for line in ids]
    counts = []
    for skip in (False, True):
        ours = decoded(program, folder, ids, *["--skip-special"] * skip)
        theirs = tokenizer.decode_batch(lists, skip_special_tokens=skip)
        bad = [each for each in zip(lists, ours, theirs, strict=True) if each[1] != each[2]]
        out.writelines(json.dumps(each) + "\n" for each in bad)
        counts.append(len(bad))
    return counts, theirs


def random_ids(seed, count, size):
    rng = random.Random(seed)
    return [as_line([rng.randrange(size) for _ in range(rng.randint(1, 40))]) for _ in range(count)]


def decode_all(program, folder, tokenizer, lines):
    """Prints what differs of the lines' texts and of random ids'; returns how many of the former."""
    worst, back, strange = [0, 0], 0, [0, 0]
    with open(os.path.join(folder, f"decoded-{len(lines)}.jsonl"), "w", encoding="utf-8") as out:
        for at in range(0, len(lines), 50000):
            some = lines[at:at + 50000]
            ids, _ = probe(program, folder, some)
            counts, texts = compare_texts(program, folder, tokenizer, ids, out)
            worst = [a + b for a, b in zip(worst, counts)]
            back += sum(a == b for a, b in zip(some, texts, strict=True))
            ids = random_ids(at, len(some) // 10, tokenizer.get_vocab_size())
            strange = [a + b for a, b in zip(strange, compare_texts(program, folder, tokenizer, ids, out)[0])]
    print(f"{os.path.basename(folder)}: {len(lines)} lines: {worst[0]} texts differ, {worst[1]} without special tokens; "
          f"{back} lines come back as they were; of {len(lines) // 10} lists of random ids {strange[0]}, {strange[1]} differ", flush=True)
    return sum(worst)


def main():
    only_ids, texts_too = "--ids" in sys.argv, "--decode" in sys.argv
    arguments = [a for a in sys.argv[1:] if a not in ("--ids", "--decode")]
    program, work = arguments[:2]
    count = int(arguments[2]) if len(arguments) > 2 else 100000
    texts = text_lines(["/usr/share/common-licenses", "/usr/share/doc"], count)
    random.Random(1).shuffle(texts)
    folders = [os.path.dirname(os.path.abspath(path)) for path in arguments[3:]] or list(trained(work, texts[:60000]))
    lines = FIXED + texts[:count * 2 // 5]
    lines += random_lines(11, count - len(lines))
    worst = 0
    for folder in folders:
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if texts_too:
            worst += decode_all(program, folder, tokenizer, lines)
            continue
        got, note = probe(program, folder, lines)
        ids = sum(line.count(",") + (line != "[]\n") for line in got)
        bad = list(differing(folder, tokenizer, lines, got))
        del got
        print(f"{os.path.basename(folder)}: {len(lines)} lines, {ids} ids, {len(bad)} lines differ ({note})")
        with open(os.path.join(folder, f"differ-{len(lines)}.jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(each) + "\n" for each in bad)
        for line, ours, theirs in bad[:3]:
            print("  ", ascii(line), ours, theirs, flush=True)
        worst += len(bad)
        if not only_ids:
            worst += long_runs(program, folder, tokenizer)
            speed(program, folder, tokenizer, "".join(texts)[:20000000])
    sys.exit(worst > 0)


if __name__ == "__main__":
    main()
