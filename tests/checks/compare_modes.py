#!/usr/bin/env python3
"""Search modes side by side on the same questions, with paired differences.

    compare_modes.py --lectern L --socket S -c MANUAL QUESTIONS.jsonl [--against lexical] [MODE...]

Runs `lectern eval` once a mode (auto, tree, dense, lexical unless told otherwise) and prints, as
JSON, recall and MRR of each with intervals, and the difference of each mode to `--against` with the
95 % interval of a paired bootstrap over the questions (10,000 resamples, fixed seed).
"""
import argparse
import json
import os
import random
import subprocess
import sys

AT = (1, 3, 5, 10)


def ranks(args, mode):
    command = [args.lectern, "eval", args.questions, "--mode", mode, "--json"]
    command += ["-c", args.manual] if args.manual else []
    done = subprocess.run(command, env={**os.environ, "LECTERN_SOCKET": args.socket},
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"lectern eval --mode {mode}: {done.stdout[:300].decode()} {done.stderr[:300].decode()}")
    report = json.loads(done.stdout)
    if len({row["id"] for row in report["ranks"]}) < len(report["ranks"]):
        sys.exit("two questions have the same id")
    return report, {row["id"]: row["rank"] or 0 for row in report["ranks"]}


def interval(values, rng, resamples=10000):
    n = len(values)
    means = sorted(sum(rng.choices(values, k=n)) / n for _ in range(resamples))
    return [round(means[int(resamples * q)], 4) for q in (0.025, 0.975)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions")
    parser.add_argument("modes", nargs="*", default=["auto", "tree", "dense", "lexical"])
    parser.add_argument("--lectern", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("-c", dest="manual")
    parser.add_argument("--against", default="lexical")
    args = parser.parse_args()
    with open(args.questions, encoding="utf-8") as stream:
        placed = {q["id"] for q in map(json.loads, filter(str.strip, stream))
                  if q.get("section") or q.get("evidence")}
    out, all_ranks = {}, {}
    for mode in dict.fromkeys(list(args.modes) + [args.against]):
        report, found = ranks(args, mode)
        all_ranks[mode] = {key: rank for key, rank in found.items() if key in placed}
        out[mode] = {key: report[key] for key in report if key.startswith("recall@") or key == "mrr"}
        out[mode]["ms"] = report["ms"]
    for mode in all_ranks:
        if mode == args.against:
            continue
        rng = random.Random(1)
        against = all_ranks[args.against]
        pairs = [(rank, against[key]) for key, rank in all_ranks[mode].items()]
        out[mode][f"minus {args.against}"] = {
            f"recall@{k}": {"difference": round(sum(d) / len(d), 4), "interval": interval(d, rng)}
            for k in AT for d in [[(0 < a <= k) - (0 < b <= k) for a, b in pairs]]}
    print(json.dumps({"questions": len(placed), "modes": out}, indent=1))


if __name__ == "__main__":
    main()
