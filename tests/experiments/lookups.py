#!/usr/bin/env python3
"""Look-ups made of what a daemon's manuals say, first / three / ten, with and without -c:
labels, identifiers that one section of a manual alone defines, as the term of a list or
in a table's first column, and that no title holds, by name, "what does X mean" and "what
is X for"; terms, of two to four words, likewise; runs, six words in a row of a paragraph,
and sentences of 8 to 20 words, as they are pasted.

    lookups.py --socket S [--mode lexical] [--seed N] [--each N]
"""
import argparse
import collections
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness.daemon import Client  # noqa: E402

FORMS = ("{}", "what does {} mean", "what is {} for")
NAME = re.compile(r"[A-Za-z_@%$-][\w.:@%$-]{3,}", re.ASCII)
TERM = re.compile(r"[A-Za-z][A-Za-z' -]+")
SIGN = re.compile(r"[_.\d:@%$-]|[a-z][A-Z]|^[A-Z]{4,}$")


def nodes_of(node):
    yield node
    for child in node.get("children", []):
        yield from nodes_of(child)


def cells_in(block):
    """The terms of a list of definitions; the first cells of a table's rows."""
    for line in block["text"].split("\n") if block["kind"] in ("definition", "table") else ():
        if line and line[0] != " ":
            yield line.split("\t")[0] if block["kind"] == "table" else line


def label_in(cell, _):
    name = re.split("[, =]", cell.strip())[0].strip("`:()")
    sign = NAME.fullmatch(name) and SIGN.search(name[1:] if name[0] != "-" else name)
    return name if sign and len(cell) <= 60 else None


def term_in(cell, block):
    term = cell.strip().rstrip(":")
    fits = 2 <= len(term.split()) <= 4 and TERM.fullmatch(term) and block["text"].count(term) == 1
    return term if fits else None


def defined_once(nodes, blocks, name_in, titles):
    """(name, node) of what one node alone defines and no title is, in chance's order."""
    where = collections.defaultdict(set)
    for node in nodes:
        for block in blocks[node["id"]]:
            for name in filter(None, (name_in(cell, block) for cell in cells_in(block))):
                where[name].add(node["id"])
    found = [(name, *ids) for name, ids in where.items() if len(ids) == 1 and name.lower() not in titles]
    random.shuffle(found)
    return found


def take_labels(nodes, blocks, each):
    titles = {word.lower().strip("`(),:") for node in nodes for word in node["title"].split()}
    found = defined_once(nodes, blocks, label_in, titles)
    return [("labels", FORMS[i % len(FORMS)].format(name), node, None) for i, (name, node) in enumerate(found[:each])]


def take_terms(nodes, blocks, each):
    found = defined_once(nodes, blocks, term_in, {node["title"].lower() for node in nodes})
    return [("terms", ("{}", "what is {}")[i % 2].format(term.lower()), node, None) for i, (term, node) in enumerate(found[:each])]


def take_pasted(nodes, blocks, each):
    found = []
    for node in random.sample(nodes, len(nodes)):
        texts = [b["text"] for b in blocks[node["id"]] if b["kind"] == "paragraph" and len(b["text"].split()) >= 12]
        if not texts or len(found) >= 2 * each:
            continue
        text = random.choice(texts)
        words = text.split()
        at = random.randrange(len(words) - 8)
        run = " ".join(words[at:at + 6])
        found.append(("runs", run, node["id"], run))
        whole = [s for s in re.split(r"(?<=[.!?])\s+", text) if 8 <= len(s.split()) <= 20]
        if whole:
            found.append(("sentences", whole[0], node["id"], whole[0]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--mode")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--each", type=int, default=25, help="of a kind and manual")
    given = parser.parse_args()
    random.seed(given.seed)
    client, asked, texts = Client(given.socket), [], {}
    for manual in client.call("ls")["manuals"]:
        nodes = list(nodes_of(client.call("toc", manual=manual["name"])))
        blocks = {node["id"]: client.call("get", node=node["id"]).get("blocks", []) for node in nodes}
        texts.update({id: " ".join(" ".join(b["text"] for b in some).split()) for id, some in blocks.items()})
        for look_up in (*take_labels(nodes, blocks, given.each), *take_terms(nodes, blocks, given.each),
                        *take_pasted(nodes, blocks, given.each)):
            asked.append((manual["name"], *look_up))
    mode = {"mode": given.mode} if given.mode else {}
    for scoped in (False, True):
        ranks = collections.defaultdict(list)
        for manual, kind, query, node, run in asked:
            hits = client.call("search", query=query, n=10, **mode, **({"manual": manual} if scoped else {}))["results"]
            right = [h["node"] == node or (run and run in texts[h["node"]]) for h in hits]
            ranks[kind].append(right.index(True) + 1 if True in right else 99)
        for kind, all_ranks in ranks.items():
            shares = (100 * sum(r <= most for r in all_ranks) / len(all_ranks) for most in (1, 3, 10))
            print("-c " if scoped else "all", f"{kind:10}", len(all_ranks), *(f"{share:.1f}" for share in shares))


if __name__ == "__main__":
    main()
