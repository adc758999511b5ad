#!/usr/bin/env python3
"""A reranker, to measure what one gains: an encoder of RoBERTa's kind learns to tell the right section from others that a search found.

    train_reranker.py lists SOCKET QUESTIONS.jsonl... --out LISTS   each question is asked of its manual, and of it and five others
    train_reranker.py train ENCODER LISTS --seconds N --out FOLDER  FOLDER is one for `lectern model use --for reranking`
    train_reranker.py measure FOLDER LISTS                          orders by it alone and beside the score, for several weights

A line of QUESTIONS: `manual`, `question`, and `section` (the titles down to the right one) or `title`. Of lists without the right section among
the thirty nothing is learned. What is read of a section: its title and two above, and the 60 words of it that hold most of the question. Each step
takes eight lists, of each the right section and five others, three of them of the first ten; cross-entropy over the six. The learning rate falls to 0
by the clock. No question of a set that is reported on may be among QUESTIONS. Needs torch, transformers, numpy.
"""
import argparse
import collections
import json
import math
import os
import pickle
import random
import re
import shutil
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from harness.daemon import Client

HITS, WORDS, TOKENS, LISTS, OTHERS, MANUALS = 30, 60, 112, 8, 5, 5
WEIGHTS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.25)


# ---- Lists ----

class Excerpts:
    """What is read of a section, by a question."""

    def __init__(self, client):
        self.client, self.sections, self.holding = client, {}, collections.Counter()

    def section(self, node):
        if node not in self.sections:
            got = self.client.call("get", node=node)
            text = " ".join(" ".join(block["text"] for block in got["blocks"])[:8000].split())
            words = [(m.start(), m.end(), m.group().lower()[:6]) for m in re.finditer(r"\w+", text)]
            self.sections[node] = text, words
            self.holding.update({word for _, _, word in words})
        return self.sections[node]

    def of(self, question, node):
        text, words = self.section(node)
        rare = {w.lower()[:6]: math.log((len(self.sections) + 1) / (self.holding[w.lower()[:6]] + .5)) for w in re.findall(r"\w+", question)}
        score = lambda at: sum(rare[w] for w in {w for _, _, w in words[at:at + WORDS]} & rare.keys()) - .001 * at
        at = max(range(0, max(1, len(words) - WORDS // 2), 10), key=score)
        part = words[at:at + WORDS]
        return text[part[0][0]:part[-1][1]][:600] if part else ""


def lists(args):
    client = Client(args.socket)
    excerpts, found = Excerpts(client), []
    have = [m["manual"] for m in client.call("ls")["manuals"]]
    for path in args.questions:
        for line in open(path, encoding="utf-8"):
            asked = json.loads(line)
            title = asked["section"][-1] if "section" in asked else asked["title"]
            manual = asked.get("manual") or os.path.basename(path)[:-6]
            others = random.sample([m for m in have if m != manual], min(MANUALS, len(have) - 1))
            for manuals in ([manual], [manual, *others]):
                hits = client.call("search", query=asked["question"], n=HITS, manuals=manuals)["results"]
                found.append((asked["question"], len(manuals) > 1, [
                    (hit["node"], hit["path"], hit["manual"] == manual and hit["path"][-1] == title, hit["score"]) for hit in hits]))
    for _, _, hits in found:  # what is rare is known when all have been read
        for hit in hits:
            excerpts.section(hit[0])
    with open(args.out, "wb") as out:
        pickle.dump([(question, wide, [(" > ".join((path[1:] or path)[-3:]) + ": " + excerpts.of(question, node), right, score)
                                       for node, path, right, score in hits]) for question, wide, hits in found], out)


# ---- The model ----

class Pairs:
    def __init__(self, folder):
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS, strategy="only_second")
        self.tokenizer.no_padding()

    def __call__(self, pairs):
        import torch
        ids = [encoded.ids for encoded in self.tokenizer.encode_batch(pairs)]
        longest = max(map(len, ids))
        rows = torch.tensor([row + [self.tokenizer.token_to_id("<pad>")] * (longest - len(row)) for row in ids])
        return rows, torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])


def scores(model, rows, mask):
    import torch
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(input_ids=rows, attention_mask=mask).logits[:, 0].float()


def draw(question, hits):
    """The right section, then others."""
    right, wrong = ([hit for hit in hits if hit[1] == is_right] for is_right in (True, False))
    some = random.sample(wrong[:10], min(3, len(wrong[:10])))
    rest = [hit for hit in wrong if hit not in some]
    some += random.sample(rest, min(OTHERS - len(some), len(rest)))
    some += random.choices(wrong, k=OTHERS - len(some))
    return [(question, hit[0]) for hit in [random.choice(right), *some]]


def train(args):
    import torch
    from transformers import AutoModelForSequenceClassification
    torch.manual_seed(1)
    random.seed(1)
    with open(args.lists, "rb") as file:
        usable = [(q, hits) for q, _, hits in pickle.load(file) if len(hits) > OTHERS and 0 < sum(hit[1] for hit in hits) < len(hits)]
    model = AutoModelForSequenceClassification.from_pretrained(args.encoder, num_labels=1, dtype=torch.float32).train()
    pairs = Pairs(args.encoder)
    head = [p for name, p in model.named_parameters() if name.startswith("classifier")]
    body = [p for name, p in model.named_parameters() if not name.startswith("classifier")]
    optimiser = torch.optim.AdamW([dict(params=body, base=6e-5), dict(params=head, base=5e-4)], lr=0, weight_decay=.01)
    began, step, order, losses = time.time(), 0, [], []
    while (gone := (time.time() - began) / args.seconds) < 1:
        if len(order) < LISTS:
            order = random.sample(usable, len(usable))
        for group in optimiser.param_groups:
            group["lr"] = group["base"] * min(1, step / 60) * (1 - gone)
        batch = [pair for _ in range(LISTS) for pair in draw(*order.pop())]
        loss = torch.nn.functional.cross_entropy(scores(model, *pairs(batch)).view(LISTS, -1), torch.zeros(LISTS, dtype=torch.long))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step += 1
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"{step} steps, {step * LISTS / len(usable):.2f} of the lists, loss {numpy.mean(losses[-50:]):.3f}", flush=True)
    model.to(torch.bfloat16).save_pretrained(args.out)
    shutil.copy(os.path.join(args.encoder, "tokenizer.json"), args.out)


# ---- What it gains ----

def figures(ranks):
    ranks = numpy.array(ranks)
    return " / ".join(f"{100 * (ranks <= n).mean():.1f}" for n in (1, 3, 10)) + f", {numpy.where(ranks <= 10, 1 / ranks, 0).mean():.3f}"


def rank_of(right, order):
    places = [place for place, i in enumerate(order, 1) if right[i]]
    return places[0] if places else 99


def measure(args):
    import torch
    from transformers import AutoModelForSequenceClassification
    model = AutoModelForSequenceClassification.from_pretrained(args.folder, dtype=torch.float32).eval()
    pairs, ranks = Pairs(args.folder), collections.defaultdict(list)
    with open(args.lists, "rb") as file:
        asked = pickle.load(file)
    for question, wide, hits in asked:
        right = [hit[1] for hit in hits]
        if not hits:
            for name in ("as found", "by it alone", *WEIGHTS):
                ranks[name, wide].append(99)
            continue
        with torch.no_grad():
            said = scores(model, *pairs([(question, hit[0]) for hit in hits])).numpy()
        share = numpy.array([hit[2] for hit in hits]) / hits[0][2]
        spread = (said - said.mean()) / max(said.std(), 1e-6)
        ranks["as found", wide].append(rank_of(right, range(len(hits))))
        ranks["by it alone", wide].append(rank_of(right, numpy.argsort(-said, kind="stable")))
        for weight in WEIGHTS:
            ranks[weight, wide].append(rank_of(right, numpy.argsort(-(share + weight * spread), kind="stable")))
    for (name, wide), of_all in ranks.items():
        print(f"{name:>12}, {'manuals' if wide else 'its manual'}: {figures(of_all)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("lists")
    part.add_argument("socket")
    part.add_argument("questions", nargs="+")
    part.add_argument("--out", required=True)
    part.set_defaults(do=lists)
    part = parts.add_parser("train")
    part.add_argument("encoder")
    part.add_argument("lists")
    part.add_argument("--seconds", type=float, required=True)
    part.add_argument("--out", required=True)
    part.set_defaults(do=train)
    part = parts.add_parser("measure")
    part.add_argument("folder")
    part.add_argument("lists")
    part.set_defaults(do=measure)
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
