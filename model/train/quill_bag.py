"""WORK/words.pt: a bag of words (bag.py) learned from questions and their sections, a hundred times cheaper than the layers that are made of it.

A step is BATCH questions of wording.py and of tasks.py, in six steps of ten of one manual, later most times of groups of sections that the bag
finds alike; one question in ten is some of its passage's own words.  Where there is a teacher (quill_teacher.py), keys are drawn towards its
vectors of the same texts, too.  What is kept is the step that does best on the probe's manuals.
"""
import math
import os
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

from bag import co_occurrence, forms_of
from quill_built import bag_of
from quill_data import load_data, load_tokenizer
from quill_losses import TEACHER, taught
from quill_teacher import load_teacher
from quill_train import log

SEED = 20
BATCH, ALIKE, HARD_FROM, HARD_EVERY, MINED_EVERY = 512, 16, 0.3, 8, 150
PROBED, PROBE_SECTIONS, PROBE_TOKENS = 200, 300, 64
FREQUENT = 3  # times that a question of a term counts: rare, and most like what people ask


class Pairs:
    """Questions (kind, question, passage, manual, node) of the manuals that are trained on."""

    def __init__(self, data, newline):
        self.sections, self.newline = data["sections"], newline.numpy()
        self.by_manual, self.of_node, self.parent = {}, {}, data["parents"]
        for pair in data["worded"] + [("task", *p) for p in data["pairs"]]:
            self.of_node.setdefault(pair[3:], []).append(pair)
            self.by_manual.setdefault(pair[3], []).extend([pair] * (FREQUENT if pair[0] == "term" else 1))
        self.all = [p for m in self.by_manual.values() for p in m]
        self.weights = [len(p) ** 0.7 for p in self.by_manual.values()]
        self.places = sorted(set(self.of_node) & set(self.sections))

    def passage(self, pair, rng, cap):
        """Sometimes without its title."""
        passage = pair[2] if len(pair[2]) else self.sections[pair[3:]]
        title = int(self.newline[passage].argmax()) + 1
        if 1 < title < len(passage) - 8 and rng.random() < (0.35 if pair[0] == "heading" else 0.15):
            passage = passage[title:]
        return passage[:cap]

    def batch(self, rng, cap):
        """[(question, passage, place)], of different places."""
        pool = rng.choices(list(self.by_manual.values()), self.weights)[0] if rng.random() < 0.6 else self.all
        out = {}
        for _ in range(3 * BATCH):
            pair = rng.choice(pool)
            out.setdefault(pair[3:], pair)
            if len(out) == BATCH:
                break
        return [(p[1], self.passage(p, rng, cap), place) for place, p in out.items()]

    @torch.no_grad()
    def mine(self, bag):
        keys = [bag.key([self.sections[i][:96] for i in self.places[k:k + 1000]], False) for k in range(0, len(self.places), 1000)]
        self.keys = torch.cat(keys)

    def alike(self, rng, cap):
        """Like `batch`, of groups of sections that the bag finds alike: a few hundred of one kind are harder to tell apart than any of a manual."""
        seeds = [rng.randrange(len(self.places)) for _ in range(BATCH // ALIKE)]
        found = self.keys[seeds] @ self.keys.T
        found[found > 0.95] = -1  # copies
        found[torch.arange(len(seeds)), seeds] = 1
        places = dict.fromkeys(self.places[k] for k in found.topk(min(ALIKE, len(self.places)), 1).indices.flatten().tolist())
        pairs = [rng.choice(self.of_node[place]) for place in places]
        return [(p[1], self.passage(p, rng, cap), p[3:]) for p in pairs]

    def related(self, places):
        """[n, n]: the parent or a child of the right section is no wrong answer."""
        number = {place: i for i, place in enumerate(places)}
        out = torch.zeros(len(places), len(places), dtype=torch.bool)
        for i, (manual, node) in enumerate(places):
            above = number.get((manual, self.parent[manual][node]))
            if above is not None:
                out[i, above] = out[above, i] = True
        return out


def some_words(passage, rarity, rng):
    """A question of a text's own words: neighbours, or rare ones."""
    passage, count = passage[:128], rng.randint(3, 8)
    if rng.random() < 0.5:
        at = rng.randrange(max(1, len(passage) - count))
        return passage[at:at + count]
    words = np.unique(passage)
    noise = np.array([-math.log(-math.log(rng.random())) for _ in words])
    return words[np.argsort(-(rarity[words] + noise))[:count]]


def contrast(queries, keys, ban):
    """Question i to key i, and back less; ban: neither right nor wrong."""
    score, right = (queries @ keys.T).masked_fill(ban, -1e4), torch.arange(len(queries))
    return F.cross_entropy(score, right) + 0.3 * F.cross_entropy(score.T, right)


class Probe:
    """Questions of the manuals that choose checkpoints, to some of their sections."""

    def __init__(self, data):
        self.sets = []
        for manual in sorted({key[0] for key in data["sections"]}):
            own = sorted(key for key in data["sections"] if key[0] == manual)
            own = random.Random(SEED).sample(own, min(PROBE_SECTIONS, len(own)))
            place = {key: i for i, key in enumerate(own)}
            asked = [p for p in data["worded"] if p[3:] in place]
            asked = random.Random(SEED).sample(asked, min(PROBED, len(asked)))
            self.sets.append(([p[1] for p in asked], [data["sections"][k][:PROBE_TOKENS] for k in own], torch.tensor([place[p[3:]] for p in asked])))

    @torch.no_grad()
    def recall(self, queries, keys):
        """The means over manuals of recall at 1 and 10 and of reciprocal ranks."""
        found = []
        for asked, passages, right in self.sets:
            score = queries(asked) @ keys(passages).T
            rank = 1 + (score > score.gather(1, right[:, None])).sum(1)
            found.append([(rank <= n).float().mean().item() for n in (1, 10)] + [(1 / rank).mean().item()])
        return [round(x, 4) for x in np.mean(found, 0).tolist()]


def stage_words(args):
    torch.manual_seed(SEED)
    data, tokenizer, teacher = load_data(args.work), load_tokenizer(args.work), load_teacher(args.work)
    forms, newline = forms_of(tokenizer)
    pairs, probe, bag = Pairs(data["train"], newline), Probe(data["probe"]), bag_of(args.size, newline)
    own = [data["train"]["sections"][k] for k in sorted(data["train"]["sections"])]
    random.Random(SEED).shuffle(own)
    bag.start(co_occurrence(data["train"]["stream"], *bag.table.shape), forms, own)
    rarity = bag.said.detach().numpy().copy()
    optimiser = torch.optim.Adam(
        [{"params": [bag.table], "base": 0.0015},  # slow: words, not texts
         {"params": [bag.asked, bag.said], "base": 0.01}, {"params": [bag.matrix, bag.bias], "base": 0.001},
         {"params": [bag.first, bag.log_sink, bag.log_scale], "base": 0.03}], betas=(0.9, 0.98))
    path, steps, best, losses, noted = os.path.join(args.work, "words.pt"), args.steps or 300, -1.0, [], time.time()

    def measure(step):
        found = probe.recall(lambda t: bag.key(t, True), lambda t: bag.key(t, False))
        log(args, stage="words", step=step, loss=np.round(np.mean(losses[-20:] or [[0] * 3], 0), 3).tolist(), probe=found,
            first=round(bag.first.item(), 3), sink=round(bag.sink().item(), 3))
        if found[2] > best:
            torch.save(bag.state_dict(), path)
        return max(best, found[2])

    for step in range(steps):
        if time.time() - noted > 30 or step == 0:
            best, noted = measure(step), time.time()
        rng, far = random.Random(SEED * 1000003 + step), step / steps
        cap, hard = rng.choice((64, 128, 128, 192)), far >= HARD_FROM and step % HARD_EVERY
        if hard and (not hasattr(pairs, "keys") or step % MINED_EVERY == 1):
            pairs.mine(bag)
        batch = pairs.alike(rng, cap) if hard else pairs.batch(rng, cap)
        asked, places = [q.tobytes() for q, _, _ in batch], [place for _, _, place in batch]
        questions = [some_words(p, rarity, rng) if rng.random() < 0.1 else q for q, p, _ in batch]
        q, k = bag.key(questions, True), bag.key([p for _, p, _ in batch], False)
        parts = contrast(q * bag.log_scale.exp(), k, pairs.related(places)), taught(q, teacher, asked), taught(k, teacher, places)
        (parts[0] + TEACHER * (parts[1] + parts[2])).backward()
        for group in optimiser.param_groups:
            group["lr"] = group["base"] * min(1.0, (step + 1) / 10, 0.02 + 1 - far)
        optimiser.step()
        optimiser.zero_grad()
        losses.append([p.item() for p in parts])
    measure(steps)
