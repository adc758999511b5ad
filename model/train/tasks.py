#!/usr/bin/env python3
"""Questions about manuals from what their structure says, with answers that stand in a known section.

    tasks.py make WORK [--seed N]     WORK/tasks.jsonl.xz, from WORK/packs (corpus_pack.py)
    tasks.py check WORK               every answer stands in its section, no question twice, none of what is held out
    tasks.py sample WORK [--count N]  some of each task, to be read

The tasks are those of H2MT's appendix.  A line is

    {"task", "use": "train"|"probe"|"held", "manual", "node", "question", "form", "answer"}

form: span   the answer stands, as it is, in the node's text (`text_of`)
      list   the titles of the node's children, "; " between them
      where  the answer is a title: the node's own, where it is what holds, or declares, what is asked for; or, for a section
             asked for by its title, its parent's
      none   the manual has nothing of it; answer is null; the node is one whose words are like those asked about
      needle the answer stands in one of "needles", sentences to be strewn over the text from the node on; haystack: in words

Where each comes from:

    definition           lists of terms, reference entries, entries of the index whose section says something of them
    usage                headings that say what is done, and reference entries: the first sentence
    syntax               reference entries: the title where it is a signature, or the first code block, short, with the entry's name
    parameter            terms defined within a section that is about something else
    warning              admonitions
    code_example         code blocks after prose
    list_children        sections with two to twelve others in them
    where_to_find_child  cross-references by other words than the title, entries of the index, and titles
    unanswerable         names of other manuals of which this one has none
    retrieval            5 % of all: needles (one, one of several, a chain of names) in long text

Questions are worded by the templates of tasks_templates.py. What is asked about goes by the texts of links to it and by entries of
the index where there are such, else by its title, words replaced (wording.json), or left out and in another order, so that the
wording is not always the heading's.  A question that comes about twice in a manual is left out.  All follows from the seed and the packs.
"""
import argparse
import io
import json
import lzma
import os
import random
import re
import sys
from collections import Counter, defaultdict

from corpus_pack import manuals
from corpus_table import MANUALS
from tasks_templates import ASKED, ASKED_CHAIN, CHAIN, NEEDLE, TEMPLATES, UNANSWERABLE
from wording import GENERIC, clean_title, definitions_of, index_term, lower_first, reword, sentences, stem_gerund

SEED = 23
MOST = 1200           # of a task and manual
RETRIEVAL = 0.05      # share of all
SMALL = set("a an and are as at by for from in into is it its of on or the this that to with your you how what when".split())
PROSE = ("paragraph", "quote", "note")
ADMONITIONS = {"warning", "caution", "danger", "important", "note", "tip", "attention", "hint", "error"}
NAMES = "amber basil cedar delta ember fjord grove heron iris jasper kelp lotus maple nectar opal pearl quartz raven sage tulip".split()
VALUES = "anchor beacon candle dagger easel fiddle garnet hammer ingot jigsaw kettle lantern mirror needle oar pulley quiver ribbon saddle trowel".split()


def text_of(node):
    """As prompts have it: blocks with an empty line between them."""
    return "\n\n".join(block[2] for block in node["blocks"])


def children_of(nodes):
    out = defaultdict(list)
    for i, node in enumerate(nodes):
        if node["parent"] >= 0:
            out[node["parent"]].append(i)
    return out


def sentence_of(text, least=25, most=320):
    """The first sentence, if it is one."""
    first = sentences(text.strip())[0] if text.strip() else ""
    return first if least <= len(first) <= most and re.search(r"[a-z]{3}", first) and not first.endswith(":") else None


def first_prose(node):
    for kind, info, text in node["blocks"]:
        if kind == "paragraph":
            return sentence_of(text)
        if kind not in ("code", "figure"):
            break
    return None


def terms_of(node):
    """(term, the sentence that says what it is) of lists of definitions."""
    for term, meaning in definitions_of(node):
        said = sentence_of(meaning)
        if 1 < len(term) < 60 and said:
            yield term, said


def name_of(title):
    """A reference entry's own name: `int foo(int bar)` -> foo(); else the title."""
    title = clean_title(title)
    found = re.search(r"([\w.:-]+)\s*\(", title)
    return found.group(1) + "()" if found and len(title) > 30 else title


def telling(title):
    return 2 < len(title) < 80 and title.lower() not in GENERIC and re.search(r"[A-Za-z]{2}", title)


class Maker:
    """Questions about one manual."""

    def __init__(self, name, use, nodes, rng):
        self.name, self.use, self.nodes, self.rng = name, use, nodes, rng
        self.children, self.out, self.called = children_of(nodes), defaultdict(list), defaultdict(set)
        for i, node in enumerate(nodes):
            self.called[i].update(t for t in map(index_term, node["aliases"]) if self.is_name(t, node["title"]))
            for text, to in node["refs"]:
                if self.is_name(text, nodes[to]["title"]):
                    self.called[to].add(text)

    @staticmethod
    def is_name(text, title):
        """Of what has that title, but in other words."""
        own = clean_title(title).lower()
        return 4 < len(text) < 70 and text.lower() not in GENERIC and re.search(r"[a-z]{3}", text) and own not in text.lower()

    def called_as(self, i, name):
        """One of a section's names: another than `name` if there is one, most times."""
        others, words = sorted(self.called[i]), [w for w in name.split() if w.lower() not in SMALL]
        if others and self.rng.random() < 0.6:
            return self.rng.choice(others)
        if len(words) > 2 and self.rng.random() < 0.5:
            words = self.rng.sample(words, max(2, len(words) - 1))
            return " ".join(words)
        return name

    def add(self, task, node, form, answer, template, **slots):
        words = {k: lower_first(reword(v, self.rng)) if " " in v else v for k, v in slots.items()}
        question = self.rng.choice(TEMPLATES[template]).format(**words)
        self.out[task].append(dict(task=task, use=self.use, manual=self.name, node=node, question=question, form=form, answer=answer))

    def of_node(self, i):
        node = self.nodes[i]
        title, said = clean_title(node["title"]), first_prose(node)
        name = name_of(title)
        if telling(title) and said:
            words = title.split()
            base = stem_gerund(words[0]) if len(words) > 1 else None
            if base:
                self.add("usage", i, "span", said, "usage", t=" ".join([base] + words[1:]))
            elif node["entry"]:
                self.add(*self.rng.choice([("definition", i, "span", said, "definition"), ("usage", i, "span", said, "usage_of")]), t=self.called_as(i, name))
            elif len(words) < 4:
                self.add("definition", i, "span", said, "definition", t=self.called_as(i, title))
        signature = re.search(r"([\w.:-]+)\s*\([^()]*\w[^()]*\)", title)
        if node["entry"] and signature:
            self.add("syntax", i, "where", node["title"], "syntax", t=signature.group(1))
        for term, meaning in list(terms_of(node))[:6]:
            if telling(title) and self.rng.random() < 0.6:
                self.add("parameter", i, "span", meaning, "parameter", t=term, p=self.called_as(i, name))
            else:
                self.add("definition", i, "span", meaning, "definition", t=term)
        self.of_aliases(i, node)
        self.of_blocks(i, node, title, name)
        self.of_family(i, node, title)

    def of_aliases(self, i, node):
        for alias in node["aliases"][:4]:
            term = index_term(alias)
            if not 2 < len(term) < 60 or term.lower() == node["title"].lower():
                continue
            if telling(node["title"]):
                self.add("where_to_find_child", i, "where", node["title"], "where_to_find_child", t=term)
            for text in (b[2] for b in node["blocks"] if b[0] == "paragraph"):
                held = [s for s in sentences(text) if term.lower() in s.lower() and 25 <= len(s) <= 320]
                if held:
                    self.add("definition", i, "span", held[0], "definition", t=term)
                    break

    def of_blocks(self, i, node, title, name):
        if not telling(title):
            return
        before, example = False, False
        for kind, info, text in node["blocks"]:
            short = 8 <= len(text) <= 500 and text.count("\n") < 16
            if kind == "note" and info in ADMONITIONS and sentence_of(text, 20):
                self.add("warning", i, "span", sentence_of(text, 20), "warning", t=self.called_as(i, title))
            if kind == "code" and short and not example:
                own = name.rstrip("()")
                if node["entry"] and not before and own in text and text.count("\n") < 6:
                    self.add("syntax", i, "span", text, "syntax", t=name)
                elif before:
                    self.add("code_example", i, "span", text, "code_example", t=self.called_as(i, name))
                    example = True
            before = before or kind in PROSE

    def of_family(self, i, node, title):
        titles = [" ".join(self.nodes[c]["title"].split()) for c in self.children[i]]
        if telling(title) and 2 <= len(titles) <= 12 and all(titles) and sum(map(len, titles)) < 500:
            self.add("list_children", i, "list", "; ".join(titles), "list_children", t=self.called_as(i, title))
        parent = self.nodes[node["parent"]]["title"] if node["parent"] > 0 else ""
        if telling(title) and telling(parent) and self.rng.random() < 0.3:
            self.add("where_to_find_child", i, "where", parent, "where_to_find_child", t=self.called_as(i, title))
        for text, to in node["refs"][:40]:
            target = self.nodes[to]["title"]
            if telling(target) and self.is_name(text, target) and self.rng.random() < 0.5:
                self.add("where_to_find_child", to, "where", target, "where_to_find_child", t=text)

    def made(self):
        for i in range(len(self.nodes)):
            self.of_node(i)
        asked = Counter(q["question"].lower() for some in self.out.values() for q in some)
        for task, some in self.out.items():
            some = [q for q in some if asked[q["question"].lower()] == 1]
            self.rng.shuffle(some)
            self.out[task] = some[:MOST]
        return self.out


def names_of(nodes):
    """Names of a manual that another may not have: entries and terms with the signs of an identifier."""
    return sorted({name_of(n["title"]) for n in nodes if n["entry"] and re.search(r"\w[_.:-]\w|\(\)", name_of(n["title"]))})


def all_text(nodes):
    """What a manual says, its titles and index included."""
    return "\n".join("\n".join([n["title"], *n["aliases"], text_of(n)]) for n in nodes).lower()


def unanswerable(name, use, nodes, foreign, count, rng):
    """Foreign names asked of a manual that has them nowhere."""
    words = defaultdict(list)
    for i, node in enumerate(nodes):
        for word in set(re.findall(r"[a-z]{3,}", (node["title"] + " " + text_of(node)[:2000]).lower())):
            words[word].append(i)
    whole, out, seen = all_text(nodes), [], set()
    for term in rng.sample(foreign, min(len(foreign), count * 4)):
        parts = [w for w in re.findall(r"[a-z]{3,}", term.lower()) if words.get(w)]
        if term in seen or "{" in term or term.lower().rstrip("()") in whole:
            continue
        at = rng.choice(words[rng.choice(parts)]) if parts else rng.randrange(len(nodes))
        if not nodes[at]["blocks"]:
            continue
        seen.add(term)
        question = rng.choice(TEMPLATES[rng.choice(UNANSWERABLE)]).format(t=term)
        out.append(dict(task="unanswerable", use=use, manual=name, node=at, question=question, form="none", answer=None))
        if len(out) == count:
            break
    return out


def retrieval(name, use, nodes, count, rng):
    out, asked = [], set()
    for _ in range(count * 4):
        if len(out) == count or len(nodes) < 4:
            break
        names, values = rng.sample(NAMES, 6), rng.sample(VALUES, 6)
        names = [f"{n}-{rng.randrange(10, 1000)}" for n in names]
        kind = rng.choice(("one", "several", "chain"))
        if kind == "chain":
            steps = rng.randrange(2, 5)
            needles = [rng.choice(CHAIN).format(a=names[0], b=values[0])] + [
                rng.choice(CHAIN).format(a=names[k], b=names[k - 1]) for k in range(1, steps)]
            question = rng.choice(ASKED_CHAIN).format(t=names[steps - 1])
        else:
            some = 1 if kind == "one" else rng.randrange(3, 7)
            needles = [rng.choice(NEEDLE).format(t=n, v=v) for n, v in zip(names[:some], values)]
            question = rng.choice(ASKED).format(t=names[0])
        if question not in asked:
            asked.add(question)
            out.append(dict(task="retrieval", use=use, manual=name, node=rng.randrange(len(nodes)), question=question, form="needle", kind=kind,
                            answer=values[0], needles=needles, haystack=rng.choice((200, 500, 1000, 2000, 4000))))
    return out


def make(work, seed):
    every = [(name, use, nodes) for use in ("train", "probe", "held") for name, nodes in manuals(work, use)]
    names = {name: names_of(nodes) for name, _, nodes in every if MANUALS[name][2] == "train"}
    path = os.path.join(work, "tasks.jsonl.xz")
    with lzma.open(path + ".part", "wb", preset=4) as file, io.TextIOWrapper(file, encoding="utf-8") as out:
        for name, use, nodes in every:
            rng = random.Random(f"{seed} {name}")
            found = Maker(name, use, nodes, rng).made()
            made = sum(map(len, found.values()))
            foreign = [n for other, some in sorted(names.items()) if other != name for n in some]
            found["unanswerable"] = unanswerable(name, use, nodes, foreign, round(made * 0.1), rng)
            found["retrieval"] = retrieval(name, use, nodes, round((made + len(found["unanswerable"])) * RETRIEVAL / (1 - RETRIEVAL)), rng)
            for task in sorted(found):
                for question in found[task]:
                    out.write(json.dumps(question, ensure_ascii=False, separators=(",", ":")) + "\n")
    os.replace(path + ".part", path)


def load(work):
    with lzma.open(os.path.join(work, "tasks.jsonl.xz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# ---- Check ----


def wrong_with(q, nodes, children):
    """What is not as the module says, or None."""
    node, text = nodes[q["node"]], text_of(nodes[q["node"]])
    title = " ".join(node["title"].split())
    if not q["question"].strip() or "{" + "t}" in q["question"]:
        return "a question without its words"
    if q["form"] == "span" and q["answer"] not in text:
        return "the answer does not stand in the section"
    if q["form"] == "list" and q["answer"] != "; ".join(" ".join(nodes[c]["title"].split()) for c in children[q["node"]]):
        return "not the children"
    if q["form"] == "where" and q["answer"] not in (title, nodes[node["parent"]]["title"], node["title"]):
        return "not where it is"
    if q["form"] == "needle" and not any(q["answer"] in n for n in q["needles"]):
        return "the answer is in no needle"
    if q["form"] == "none" and q["answer"] is not None:
        return "an answer to what has none"
    return None


def check(work):
    nodes = {name: some for use in ("train", "probe", "held") for name, some in manuals(work, use)}
    children = {name: children_of(some) for name, some in nodes.items()}
    bad, seen, counts = Counter(), set(), defaultdict(Counter)
    tasks = load(work)
    for q in tasks:
        use = MANUALS[q["manual"]][2]
        key = q["manual"], q["question"].lower()
        if use == "never" or use != q["use"]:
            bad["of a manual that is held out"] += 1
        if key in seen:
            bad["asked twice"] += 1
        seen.add(key)
        counts[q["use"]][q["task"]] += 1
        wrong = wrong_with(q, nodes[q["manual"]], children[q["manual"]])
        if wrong:
            bad[f"{q['task']}: {wrong}"] += 1
    print("task " + " ".join(f"{use:>8}" for use in counts))
    for task in sorted({t for c in counts.values() for t in c}):
        print(f"{task:20} " + " ".join(f"{c[task]:8} {c[task] / sum(c.values()):.3f}" for c in counts.values()))
    same = sum(clean_title(nodes[q["manual"]][q["node"]]["title"]).lower() in q["question"].lower() for q in tasks if q["form"] == "span")
    spans = sum(q["form"] == "span" for q in tasks)
    print(f"{len(tasks)} questions, {spans} with spans, {same / max(1, spans):.3f} of them with the whole title of their section")
    if bad or not tasks:
        sys.exit("\n".join(f"{n} {what}" for what, n in bad.items()) or "no questions")


def sample(work, count):
    some = defaultdict(list)
    for q in load(work):
        some[q["task"]].append(q)
    rng = random.Random(1)
    for task, every in sorted(some.items()):
        for q in rng.sample(every, min(count, len(every))):
            print(f"{task} [{q['manual']}] {q['question']}\n    {q['answer']!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("stage", choices=["make", "check", "sample"])
    parser.add_argument("work")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    if args.stage == "make":
        make(args.work, args.seed)
    elif args.stage == "check":
        check(args.work)
    else:
        sample(args.work, args.count)


if __name__ == "__main__":
    main()
