#!/usr/bin/env python3
"""Search under every policy of memories, side by side, on the same questions.

    policies.py --build BUILD --model DIR --work DIR SET...     SET: NAME=MANUAL-FOLDER=QUESTIONS.jsonl

For each of mean/attention aggregation and recall off/aggregate/children, a daemon of its own (with
its own configuration, and one store for all) makes the memories of every manual, then compare_modes.py
asks every set in the modes auto, tree, dense and lexical. Prints JSON: policy -> set -> modes, and for
each policy how many segments had to be encoded and in what time.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
POLICIES = [("mean", "aggregate"), ("attention", "aggregate"), ("mean", "children"), ("attention", "children"),
            ("mean", "off")]


def run(command, env, **more):
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout[-500:].decode()} {done.stderr[-500:].decode()}")
    return done.stdout


def measure(args, policy, sets, socket):
    aggregate, recall = policy
    config = os.path.join(args.work, f"{aggregate}-{recall}.ini")
    with open(config, "w", encoding="utf-8") as out:
        out.write(f"model = {os.path.abspath(args.model)}\naggregate = {aggregate}\nrecall = {recall}\naliases = no\n")
    lectern = os.path.join(args.build, "lectern")
    env = {**os.environ, "LECTERN_SOCKET": socket}
    options = ["--config", config, "--store", os.path.join(args.work, "store")]
    result = {"encoded": {}, "sets": {}}
    try:
        for name, (folder, questions) in sets.items():
            report = json.loads(run([lectern, "add", folder, "-c", name, "--wait", "--json", *options], env))
            result["encoded"][name] = {key: report.get(key) for key in ("segments", "tokens", "encoded", "seconds")}
        for name, (folder, questions) in sets.items():
            out = run([sys.executable, os.path.join(HERE, "compare_modes.py"), "--lectern", lectern, "--socket", socket,
                       "-c", name, questions], env)
            result["sets"][name] = json.loads(out)
            print(f"policies: {aggregate}, recall {recall}: {name} done", file=sys.stderr)
    finally:
        subprocess.run([lectern, "daemon", "--stop"], env=env, capture_output=True, check=False)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--build", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", help="AGGREGATE-RECALL, of one policy")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    args.work = os.path.abspath(args.work)
    sets = {}
    for one in args.sets:
        name, folder, questions = one.split("=")
        sets[name] = (os.path.abspath(folder), os.path.abspath(questions))
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for policy in POLICIES:
            if args.only in (None, "-".join(policy)):
                out["-".join(policy)] = measure(args, policy, sets, os.path.join(folder, "s"))
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
