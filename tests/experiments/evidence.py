#!/usr/bin/env python3
"""How often a changed sentence of a manual is noticed, and a true one kept, by what checks written answers.

    evidence.py BUILD FOLDER...      # folders of HTML

200 sentences of the manuals (12 to 40 words, drawn by a seed, one a section), each looked for in its own section among
three others of the same manual: as it stands; reworded (sentences' words without articles and some small words, the
halves around a comma exchanged); and with a number, a name, a negation, an option or a word that turns it round
changed.  What a name or number is changed into stands elsewhere in the four sections, if anything of its kind does: the harder case.
"""
import json
import random
import re
import subprocess
import sys
import tempfile
import os

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon  # noqa: E402

NAME = re.compile(r"(?<![\w/.-])(?=\w*[_A-Z])[A-Za-z]\w*_\w+(?![\w/-])|(?<![\w/.-])[A-Z]{3,}(?![\w/-])")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]+")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
TURNS = [("after", "before"), ("before", "after"), ("enabled", "disabled"), ("disabled", "enabled"), ("true", "false"),
         ("false", "true"), ("first", "last"), ("last", "first"), ("always", "never"), ("minimum", "maximum"),
         ("maximum", "minimum"), ("more", "less"), ("less", "more"), ("include", "exclude"), ("allowed", "denied")]
AUXILIARY = re.compile(r"\b(is|are|can|will|must|should|does|do|has|may)\b(?! not)")


def exchange(pattern, sentence, pool, invent, rng):
    found = list(pattern.finditer(sentence))
    if not found:
        return None
    one = rng.choice(found)
    others = sorted({other for text in pool for other in pattern.findall(text)} - set(pattern.findall(sentence)))
    return sentence[:one.start()] + (rng.choice(others) if others else invent(one[0])) + sentence[one.end():]


def changes(sentence, pool, rng):
    yield "number", exchange(NUMBER, sentence, pool, lambda n: str(int(float(n)) * 2 + 1), rng)
    yield "name", exchange(NAME, sentence, pool, lambda n: n + "_x", rng)
    yield "option", exchange(OPTION, sentence, pool, lambda n: n + "-x", rng)
    if re.search(r"\b(not|cannot|never)\b", sentence):
        yield "negation", re.sub(r"\bcannot\b", "can", re.sub(r"\b(not|never) ", "", sentence, count=1), count=1)
    else:
        changed, count = AUXILIARY.subn(r"\1 not", sentence, count=1)
        yield "negation", changed if count else None
    for word, other in TURNS:
        if re.search(rf"\b{word}\b", sentence):
            yield "turn", re.sub(rf"\b{word}\b", other, sentence, count=1)
            break


def reworded(sentence):
    words = re.sub(r"\b(the|a|an|this|that|also|then|usually|typically|currently|simply)\b ?", "", sentence, flags=re.I).rstrip(".")
    parts = words.split(", ", 1)
    return (", ".join(reversed(parts)) if len(parts) == 2 else words) + "."


def sections(client, manual):
    def walk(node):
        blocks = [b["text"] for b in client.call("get", node=node["id"])["blocks"] if b["text"].strip()]
        if blocks:
            yield blocks
        for child in node.get("children", []):
            yield from walk(child)
    for child in client.call("toc", manual=manual)["children"]:
        yield from walk(child)


def main():
    build, folders = sys.argv[1], sys.argv[2:]
    rng, lines, kinds = random.Random(30), [], []
    with tempfile.TemporaryDirectory() as home:
        daemon = Daemon(build, home, watch="off")
        client = daemon.connect()
        pools = []
        for i, folder in enumerate(folders):
            client.call("add", dir=os.path.abspath(folder), name=f"m{i}", wait=True)
            pools.append(list(sections(client, f"m{i}")))
        daemon.process.kill()
    taken = 0
    while taken < 200:
        pool = rng.choice(pools)
        own = rng.choice(pool)
        sentences = [s for block in own for s in re.split(r"(?<=[.!?])\s+(?=[A-Z])", block) if "\n" not in s and 12 <= len(s.split()) <= 40]
        if not sentences:
            continue
        taken += 1
        sentence = rng.choice(sentences)
        sources = [own] + rng.sample(pool, 3)
        rng.shuffle(sources)
        texts = [block for source in sources for block in source]
        for kind, text in [("true", sentence), ("reworded", reworded(sentence)), *changes(sentence, texts, rng)]:
            if text and (kind in ("true", "reworded") or text != sentence):
                lines.append(json.dumps({"sources": sources, "question": "", "sentence": text}))
                kinds.append(kind)
    done = subprocess.run([f"{build}/stands"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    for kind in dict.fromkeys(kinds):
        said = [answer == "1" for answer, one in zip(done.stdout.split(), kinds) if one == kind]
        kept = sum(said)
        print(f"{kind:10} {len(said):4}  " + (f"kept {kept / len(said):.3f}" if kind in ("true", "reworded") else f"noticed {1 - kept / len(said):.3f}"))
    changed = [answer == "0" for answer, one in zip(done.stdout.split(), kinds) if one not in ("true", "reworded")]
    print(f"changed    {len(changed):4}  noticed {sum(changed) / len(changed):.3f}")


main()
