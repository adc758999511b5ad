#!/usr/bin/env python3
"""Whether a trained model finds in long text what it is asked for, by the engine: values of names, strewn over held-out manuals (tasks.py's retrieval).

    quill_lengths.py WORK MODEL --probe PROBE [--training 1024] [--times 1,4,16,64] [--count 20]

WORK is quill.py's. A prompt is TIMES as many tokens as a row of the training, a tenth more or less, the needles at random places. Three kinds: one needle (passkey), several of which one is
asked for (multi-key), and a chain of names each of which has the next one's value (variable tracking). Right is what is written, likeliest first,
when the value stands in it and no other does. Nothing is drawn by whether it is answered. Prints a line of JSON a length and kind.
"""
import argparse
import json
import random
import subprocess
import sys
import time

from corpus_pack import manuals
from quill_data import Prompter, load_tokenizer
from tasks import VALUES, retrieval

SEED, WRITTEN, WITHIN, TRIES = 47, 16, 0.1, 20
KINDS = ("one", "several", "chain")


def prompts(some, tokenizer, kind, tokens, count, rng):
    """(ids, value): `count` of a kind, of the manuals in turn."""
    made = []
    for attempt in range(TRIES * count):
        if len(made) == count:
            break
        name, nodes = some[attempt % len(some)]
        q = next((q for q in retrieval(name, "held", nodes, 8, rng) if q["kind"] == kind), None)
        if not q:
            continue
        q["haystack"] = tokens // 2  # words
        for _ in range(8):
            ids = tokenizer.encode(Prompter(nodes, random.Random(len(made))).prompt(q)[0]).ids
            if abs(len(ids) / tokens - 1) < WITHIN:
                made.append((ids, q["answer"]))
                break
            q["haystack"] = int(q["haystack"] * tokens / len(ids))
    if len(made) < count:
        sys.exit(f"only {len(made)} prompts of {tokens} tokens: the held-out manuals are shorter")
    return made


def written(args, ids):
    asked = json.dumps(ids, separators=(",", ":")) + "\n"
    said = subprocess.run([args.probe, "write", "--model", args.model, "--decode", str(WRITTEN)], input=asked, text=True, capture_output=True, check=True)
    return json.loads(said.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("work")
    parser.add_argument("model")
    parser.add_argument("--probe", required=True)
    parser.add_argument("--training", type=int, default=1024, help="tokens of a row of it")
    parser.add_argument("--times", default="1,4,16,64")
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    tokenizer, some = load_tokenizer(args.work), sorted(manuals(args.work, "held"))
    for times in map(int, args.times.split(",")):
        for kind in KINDS:
            right, begun = 0, time.time()
            for ids, value in prompts(some, tokenizer, kind, times * args.training, args.count, random.Random(f"{SEED} {times} {kind}")):
                text = tokenizer.decode(written(args, ids))
                right += [v for v in VALUES if v in text] == [value]
            print(json.dumps(dict(kind=kind, tokens=times * args.training, right=right, of=args.count, seconds=round(time.time() - begun))), flush=True)


if __name__ == "__main__":
    main()
