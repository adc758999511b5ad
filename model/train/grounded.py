"""Questions answered by a span of a passage: what quill-0 learns writing from.

A prompt is built as the daemon builds it (README.md, "The prompt of answers"):
up to three sections, each its title and a window around the sentence that
shares most with the question.  The answer is the span's own tokens, its
passage's number and <|end|>, so that all but the number and where to end is
copied.  Kinds:

    lead    what is said of a title or a defined term (data.pkl's answers)
    cloze   a sentence of the section, asked for with a part of its words
"""
import functools
import json
import os
import random
import re

import numpy as np

from quill0 import (END, HERE, SEED, WORD, corpus, load_data, load_tokenizer,
                    log, reword, save, sentences, stem)

PROMPT, PASSAGES, PASSAGE = 448, 3, 130  # "lectern" in config.json
BYTES_A_TOKEN = 3.6  # where a window's size is only guessed
MOST_PARTS = 100     # of a section
ASKING = ("{t}", "{t}?", "what about {t}?", "is it true that {t}?",
          "tell me: {t}", "I want to know about {t}", "how is it: {t}?")


root = functools.lru_cache(maxsize=1 << 18)(stem)


def words_of(text):
    return {root(w) for w in WORD.findall(text.lower()) if len(w) > 2}


def title_of(node):
    return re.sub(r"\s+", " ", node["title"]).strip() or "Untitled"


class Parts:
    """A section's blocks cut into sentences, and lines of what is no prose."""

    def __init__(self, node):
        self.items = []  # (block, text)
        for b, (kind, _, text) in enumerate(node["blocks"]):
            text = text.strip()
            if kind in ("paragraph", "quote", "note"):
                pieces = sentences(text)
            else:
                pieces = text.split("\n")
            self.items += [(b, p) for p in pieces if p.strip()]
        del self.items[MOST_PARTS:]
        self.kinds = [kind for kind, _, _ in node["blocks"]]

    def best(self, asked):
        """The part that shares most words with the question."""
        found = [len(words_of(text) & asked) / (4 + len(WORD.findall(text)))
                 for _, text in self.items]
        return max(range(len(found)), key=found.__getitem__)

    def window(self, at, tokens):
        """Parts around one, as many as fit: down first, then up, and so on."""
        room = int(tokens * BYTES_A_TOKEN)
        first = last = at
        room -= len(self.items[at][1].encode())
        down = up = True
        while down or up:
            if down:
                down = last + 1 < len(self.items) and room > len(
                    self.items[last + 1][1].encode())
                last += down
                room -= len(self.items[last][1].encode()) if down else 0
            if up:
                up = first > 0 and room > len(
                    self.items[first - 1][1].encode())
                first -= up
                room -= len(self.items[first][1].encode()) if up else 0
        return first, last

    def text(self, first, last):
        out = ""
        for k in range(first, last + 1):
            block, text = self.items[k]
            if k > first:
                before = self.items[k - 1][0]
                prose = self.kinds[block] in ("paragraph", "quote", "note")
                out += "\n\n" if before != block else " " if prose else "\n"
            out += text
        return out


class Shelf:
    """All nodes of all manuals, and where a word stands in titles and first
    lines: for passages that a search would also bring."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.own = [bool(n["blocks"]) for n in nodes]
        self.places, self.of_manual = {}, {}
        for i, node in enumerate(nodes):
            if not self.own[i]:
                continue
            manual = self.places.setdefault(node["manual"], {})
            self.of_manual.setdefault(node["manual"], []).append(i)
            first = node["blocks"][0][2][:120]
            for word in words_of(node["title"] + " " + first):
                manual.setdefault(word, []).append(i)

    def rivals(self, i, asked, rng, count):
        """Sections of the manual with the question's rare words."""
        manual = self.places[self.nodes[i]["manual"]]
        rare = sorted((len(manual[w]), w) for w in asked if w in manual)
        score = {}
        for size, word in rare[:5]:
            some = manual[word] if size < 200 else rng.sample(
                manual[word], 200)
            for k in some:
                score[k] = score.get(k, 0) + 1 / (2 + size)
        score.pop(i, None)
        best = sorted(score, key=lambda k: -score[k])[:6]
        rng.shuffle(best)
        while len(best) < count:
            best.append(rng.choice(self.of_manual[self.nodes[i]["manual"]]))
        return [k for k in best[:count] if k != i]


def passage(node, number, asked, at=None):
    """(text, parts, first, last); at: the part that must be in it."""
    parts = Parts(node)
    if not parts.items:
        return None
    head = "[%d] %s\n" % (number, title_of(node)[:160])
    room = PASSAGE - int(len(head.encode()) / BYTES_A_TOKEN)
    first, last = parts.window(parts.best(asked) if at is None else at, room)
    return head + parts.text(first, last)[:int(PASSAGE * BYTES_A_TOKEN)]


def prompt_of(shelf, example, rng):
    """(prompt, answer's span of characters, number) or None."""
    question, answer, i, kind = example
    asked = words_of(question)
    total = rng.choice((1, 2, 3, 3, 3, 3))
    others = shelf.rivals(i, asked, rng, total - 1)
    where = min(len(others), rng.choice((0, 0, 0, 1, 1, 2)))
    order = others[:where] + [i] + others[where:]
    at = None
    if kind == "cloze" or rng.random() < 0.7:
        parts = Parts(shelf.nodes[i])
        held = [k for k, (_, text) in enumerate(parts.items)
                if text.strip().startswith(answer) or answer in text]
        if not held:
            return None
        at = held[0]
    text, span = "", None
    for k, node in enumerate(order):
        one = passage(shelf.nodes[node], k + 1, asked,
                      at if node == i else None)
        if one is None:
            return None
        if node == i:
            begin = one.find("\n") + 1
            found = one.find(answer, begin)
            if found < 0:
                return None
            span = len(text) + found, len(text) + found + len(answer)
        text += one + "\n\n"
    return (text + "Question: %s\nAnswer:" % re.sub(r"\s+", " ", question),
            span, where + 1)


def fair(examples, nodes, rng, most):
    """So many, as evenly from the manuals as there are enough."""
    rng.shuffle(examples)
    seen, order = {}, []
    for k, example in enumerate(examples):
        manual = nodes[example[2]]["manual"]
        seen[manual] = seen.get(manual, 0) + 1
        order.append((seen[manual], k))
    return [examples[k] for _, k in sorted(order)[:most]]


def cloze_examples(nodes, order, table, rng, most):
    """Questions with a part of the words of a sentence in a section."""
    out, order = [], list(order)
    rng.shuffle(order)
    for i in order:
        if len(out) >= most:
            break
        prose = [b[2] for b in nodes[i]["blocks"]
                 if b[0] in ("paragraph", "quote", "note")]
        some = [s for p in prose[:8] for s in sentences(p)
                if 40 < len(s) < 240 and "\n" not in s]
        if len(some) < 2:
            continue
        sentence = rng.choice(some)
        keep = rng.uniform(0.25, 0.6)
        kept = [w for w in sentence.rstrip(".").split()
                if rng.random() < keep]
        if len(kept) > 2:
            text = reword(" ".join(kept), table, rng)
            out.append((rng.choice(ASKING).format(t=text), sentence, i,
                        "cloze"))
    return out


def build_prompts(tokenizer, shelf, examples, rng):
    """[(ids of the prompt, first, end of the span, number, manual, kind)]"""
    built = []
    for example in examples:
        found = prompt_of(shelf, example, rng)
        if found:
            built.append(found + (shelf.nodes[example[2]]["manual"],
                                  example[3]))
    rng.shuffle(built)
    out = []
    for k in range(0, len(built), 4000):
        some = built[k:k + 4000]
        for (_, span, number, manual, kind), e in zip(
                some, tokenizer.encode_batch([b[0] for b in some])):
            begin = next((t for t, o in enumerate(e.offsets)
                          if o[1] > span[0]), None)
            end = next((t for t, o in enumerate(e.offsets)
                        if o[1] >= span[1]), None)
            if begin is None or end is None or len(e.ids) > PROMPT \
                    or e.offsets[end][1] != span[1]:
                continue
            out.append((np.array(e.ids, np.uint16), begin, end + 1, number,
                        manual, kind))
    return out


def stage_prompts(args, learn=16000, held=600):
    """WORK/prompts.pt: {"train": prompts as build_prompts gives them,
    "held": of the manuals held out}, half of each kind."""
    tokenizer = load_tokenizer(args.work)
    with open(os.path.join(HERE, "questions.json")) as file:
        table = json.load(file)["reword"]
    nodes = list(corpus(args.work))
    leads = [(q, a, i, "lead") for q, a, i in load_data(args.work)["answers"]
             if "\n" not in a]
    shelf, out = Shelf(nodes), {}
    for split, count in (("train", learn), ("held", held)):
        rng = random.Random(SEED)
        own = [i for i, n in enumerate(nodes) if n["split"] == split]
        examples = fair([e for e in leads if nodes[e[2]]["split"] == split],
                        nodes, rng, count // 2)
        examples += cloze_examples(nodes, own, table, rng, count // 2)
        out[split] = build_prompts(tokenizer, shelf, examples, rng)
        log(args.work, stage="prompts", split=split, examples=len(examples),
            prompts=len(out[split]), tokens=round(float(np.mean(
                [len(p[0]) for p in out[split]]))), answer_tokens=round(float(
                    np.mean([p[2] - p[1] for p in out[split]])), 1))
    save(os.path.join(args.work, "prompts.pt"), out)


def answer_ids(prompt, tails):
    """The tokens to be written: the span's, " [N]", <|end|>."""
    ids, begin, end, number = prompt[:4]
    return np.concatenate([ids[begin:end], tails[number],
                           np.array([END], np.uint16)])
