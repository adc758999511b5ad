#!/usr/bin/env python3
"""Questions as people ask them with the right section buried in so many tokens of its manual, for
tests/bench/bench_answers.c, and what its rows are worth:

    long_answers.py text --socket S --judge JUDGE.py --probe PROBE --model MODEL --manual NAME --tokens N FOLDER
    long_answers.py prompts --socket S --judge JUDGE.py --manual NAME FILE
    long_answers.py score [--judge JUDGE.py] ROWS...

text: sections of the manual, in its order, to FOLDER/NAME.txt, those that answer its questions among them, of each
one; a long one is cut to what stands around its facts. The rest is filled with the sections around these. FOLDER/
NAME.tsv has the questions. JUDGE.py is that of people_peers.py. prompts: appends a line to FILE for each question, for
bench_composed.c: the right section and three others that are found, in an order drawn by a seed. score: how many answers hold all facts, needles their
number, by way, with the 95 % interval (paired bootstrap) of the first way's more."""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.daemon import Client
from people_peers import load

LONGEST, SHORT = 1600, 900  # characters of a section in a long text, in a prompt


def pattern(text):
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE | re.DOTALL)


def facts_in(item, text):
    return sum(any(pattern(way).search(text) for way in ways) for ways in item["facts"])


def cut(text, item=None, longest=LONGEST):
    """At most so many characters, around the first of the facts."""
    begin = 0
    if item:
        found = [m.start() for ways in item["facts"] for way in ways for m in [pattern(way).search(text)] if m]
        begin = max(0, min(found, default=0) - longest // 2)
        begin = text.rfind("\n", 0, begin) + 1 if begin else 0
    return text[begin:begin + longest]


def sections_of(daemon, manual):
    """(place, title, text) of every section, in the manual's order."""
    def walk(node):
        content = daemon.call("get", node=node["id"])
        text = "\n".join(block["text"] for block in content["blocks"])
        if text:
            yield {"file": node["file"], "anchor": node["anchor"], "path": content["path"]}, content["path"][-1], text
        for child in node["children"]:
            yield from walk(child)
    yield from walk(daemon.call("toc", manual=manual))


def count_tokens(probe, model, text):
    done = subprocess.run([probe, "tokenize", "--model", model], input=json.dumps(text) + "\n", text=True,
                          capture_output=True, check=True)
    return len(json.loads(done.stdout))


def choose(sections, items, judge):
    """{section: (item it answers)}, and the items that one answers whole."""
    chosen, asked = {}, []
    for item in items:
        right = [(facts_in(item, cut(text, item)), -i) for i, (place, _, text) in enumerate(sections)
                 if judge.right_place(item["gold"], place) and -i not in chosen]
        best, at = max(right, default=(0, 0))
        if best == len(item["facts"]):
            chosen.setdefault(-at, item)
            asked.append(item)
    return chosen, asked


def compose(sections, chosen, spread):
    near = {j for i in chosen for j in range(i - spread, i + spread + 1)}
    return "\n\n".join(f"{title}\n\n{cut(text, chosen.get(i))}" for i, (_, title, text) in enumerate(sections)
                       if i in near)


def make(args):
    judge = load(args.judge)
    items = [i for i in judge.questions() if i["manual"] == args.manual and i["kind"] not in judge.OFF]
    sections = list(sections_of(Client(args.socket), args.manual))
    chosen, asked = choose(sections, items, judge)
    text, spread = None, 0
    while True:
        more = compose(sections, chosen, spread)
        tokens = count_tokens(args.probe, args.model, more)
        if text and (tokens > args.tokens or len(more) == len(text)):
            break
        text, spread = more, spread + 1
        print(json.dumps({"spread": spread - 1, "tokens": tokens, "asked": len(asked)}))
    os.makedirs(args.folder, exist_ok=True)
    with open(os.path.join(args.folder, args.manual + ".txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n" + "\n" * 256)
    with open(os.path.join(args.folder, args.manual + ".tsv"), "w", encoding="utf-8") as file:
        file.writelines(f"{item['id']}\t{' '.join(item['question'].split())}\n" for item in asked)


def make_prompts(args):
    judge, daemon, draw = load(args.judge), Client(args.socket), random.Random(1)
    items = [i for i in judge.questions() if i["manual"] == args.manual and i["kind"] not in judge.OFF]
    sections = list(sections_of(daemon, args.manual))
    chosen, _ = choose(sections, items, judge)
    texts = {(place["file"], place["anchor"]): f"{title}\n\n{cut(text, None, SHORT)}\n\n"
             for place, title, text in sections}
    with open(args.file, "a", encoding="utf-8") as file:
        for i, item in chosen.items():
            found = daemon.call("search", query=item["question"], n=10, manual=args.manual)["results"]
            others = [texts[hit["file"], hit["anchor"]] for hit in found
                      if not judge.right_place(item["gold"], hit) and (hit["file"], hit["anchor"]) in texts]
            _, title, text = sections[i]
            all_four = [f"{title}\n\n{cut(text, item, SHORT)}\n\n", *others[:3]]
            draw.shuffle(all_four)
            file.write(json.dumps({"name": item["id"], "question": item["question"], "sections": all_four}) + "\n")


def interval(differences, draw):
    means = sorted(sum(draw.choices(differences, k=len(differences))) for _ in range(10000))
    return [round(100 * means[at] / len(differences), 1) for at in (250, 9749)]


def score(args):
    judge = load(args.judge) if args.judge else None
    items = {item["id"]: item for item in judge.questions()} if judge else {}
    right = collections.defaultdict(dict)
    for path in args.rows:
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            kind = row.get("kind", "questions")
            answer = row["answer"]
            found = row["wanted"] in re.findall(r"\d+", answer) if "wanted" in row else \
                facts_in(items[row["name"]], answer) == len(items[row["name"]]["facts"])
            right[row["tokens"] if kind != "questions" else 0, kind, row["way"]][path, row["name"]] = found
    draw, first = random.Random(1), {}
    for (tokens, kind, way), found in right.items():
        base = first.setdefault((tokens, kind), found)
        both = [name for name in found if name in base]
        print(json.dumps({"tokens": tokens, "kind": kind, "way": way, "right": sum(found.values()), "of": len(found),
                          "less than first, points": round(100 * sum(base[n] - found[n] for n in both) / len(both), 1),
                          "interval": interval([base[n] - found[n] for n in both], draw)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    text = verbs.add_parser("text")
    for name in ("socket", "judge", "probe", "model", "manual"):
        text.add_argument("--" + name, required=True)
    text.add_argument("--tokens", type=int, required=True)
    text.add_argument("folder")
    prompts = verbs.add_parser("prompts")
    for name in ("socket", "judge", "manual"):
        prompts.add_argument("--" + name, required=True)
    prompts.add_argument("file")
    rows = verbs.add_parser("score")
    rows.add_argument("--judge")
    rows.add_argument("rows", nargs="+")
    args = parser.parse_args()
    {"text": make, "prompts": make_prompts, "score": score}[args.verb](args)


if __name__ == "__main__":
    main()
