#!/usr/bin/env python3
"""Parts of Quill's training by themselves, on random numbers and invented texts.

    quill_parts.py

1. rows whose tokens have no chunk outside their window: the quick way of attending gives what the blocks with landmarks give, and their gradient
2. texts filled up to fixed shapes have the memories that they have by themselves
3. the entropy a part of the rows at a time is that of all at once
4. Muon's steps have singular values about one and the gradient's directions
5. licences: which are allowed, and that documentation with one of its own is seen
6. ranks of known scores; the rate begins, stays and falls
7. landmark pooling is the bound that it is meant to be
8. layers made of a random bag of words have its keys, and copy what followed before; learning leaves what makes memories
"""
import math
import os
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../model/train"))
import corpus_pack  # noqa: E402
import quill_built  # noqa: E402
import quill_copying  # noqa: E402
import quill_families  # noqa: E402
import quill_losses  # noqa: E402
import quill_model  # noqa: E402
import quill_muon  # noqa: E402
import quill_recall  # noqa: E402
import quill_train  # noqa: E402

VOCABULARY = 450


def wanted(what, true):
    print(("ok  " if true else "NOT ") + what, flush=True)
    if not true:
        sys.exit(1)


def apart(a, b):
    found = ((a - b).abs().max() / b.abs().max()).item()
    return found if math.isfinite(found) else math.inf


def random_model():
    torch.manual_seed(1)
    model = quill_model.Quill("tiny", VOCABULARY)
    with torch.no_grad():  # attention that prefers, norms that are not ones
        for name, p in model.named_parameters():
            if "norm" in name:
                p.uniform_(0.5, 2.0)
            elif p.dim() > 1:
                p.mul_(4)
    return model


def near_rows(model):
    usual, weight = quill_model.within_window, torch.linspace(-1, 1, VOCABULARY)
    reads = model.s["chunk"], model.s["window"]

    def run(ids, near):
        quill_model.within_window = lambda *_: near
        model.zero_grad()
        out = model(ids)
        (out * weight).mean().backward()
        quill_model.within_window = usual
        return out.detach(), model.layers[0].q_proj.weight.grad.clone()
    for n in (40, 63, 64, 300, 566):
        ids = torch.randint(0, VOCABULARY, (2, n))
        found = max(apart(a, b) for a, b in zip(run(ids, True), run(ids, False)))
        wanted(f"{n} tokens without landmarks: {found:.1e} apart", usual(n, *reads) and found <= 1e-5)
    ids = torch.randint(0, VOCABULARY, (1, 700))
    found = apart(run(ids, True)[0], run(ids, False)[0])
    wanted(f"700 tokens need them: {found:.1e} apart", not usual(700, *reads) and found > 1e-3)
    wanted("567 tokens are the first that are taken to", usual(566, *reads) and not usual(567, *reads))


def fixed_shapes(model):
    rng = np.random.default_rng(2)
    texts = [rng.integers(2, VOCABULARY, n) for n in rng.integers(0, 100, 41)]
    soft = torch.randn(41, model.s["width"])
    with torch.no_grad():
        for name, t in (("one soft token", model.mem0), ("one each", soft)):
            found = apart(model.encode(texts, t, True), model.encode(texts, t))
            wanted(f"fixed shapes, {name}: {found:.1e} apart", found <= 1e-5)


def entropy(model):
    hidden, ids = torch.randn(1300, model.s["width"]), torch.randint(0, VOCABULARY, (1300,))
    found = quill_losses.Entropy.of(model, hidden, ids).item() / F.cross_entropy(model.logits(hidden), ids).item() - 1
    wanted(f"entropy in parts: {found:.1e} apart", abs(found) <= 1e-5)


def muon():
    g = torch.randn(3, 40, 64)
    turn = quill_muon.orthogonal(g)
    values = torch.linalg.svdvals(turn)
    wanted(f"singular values {values.min():.2f} to {values.max():.2f}", values.min() > 0.5 and values.max() < 1.4)
    u, _, vt = torch.linalg.svd(g, full_matrices=False)
    found = F.cosine_similarity(turn.flatten(1), (u @ vt).flatten(1)).min().item()
    wanted(f"along the nearest orthogonal matrix: cosine {found:.3f}", found > 0.95)
    p = torch.nn.Parameter(torch.eye(8) * 2)
    rule = quill_muon.Muon([p], 0.4)
    for _ in range(200):
        rule.zero_grad()
        ((p - 1) ** 2).sum().backward()
        rule.param_groups[0]["lr"] *= 0.97
        rule.step()
    wanted(f"it goes down: {(p - 1).abs().max():.2f} left", (p - 1).abs().max() < 0.1)


def licences():
    for licence, allowed in (
            ("Apache-2.0", 1), ("MPL-2.0 and ISC and BSD-2-clause", 1), ("MIT or GPL-2", 1), ("ARM (copied in any form, alterations marked)", 1),
            ("GPL-2+", 0), ("BSD-3-clause and GPL-2", 0), ("MIT-and-GPL", 0), ("MITRE", 0), ("isc-GPL", 0), ("Apache-2.0, GFDL-1.3", 0),
            ("Apache-2.0 with Classpath exception", 0), ("", 0), (None, 0)):
        wanted(f"licence {licence!r}", corpus_pack.permitted(licence) == bool(allowed))
    text = ("Files: *\nLicense: MIT\n\nFiles: doc/*\n docs/b\nCopyright: y\nLicense: GFDL-1.3\n\nFiles: debian/doc/x\nLicense: GPL-2\n\n"
            "Files: doc/theme.js\nLicense: other\n")
    wanted("documentation's own licence", corpus_pack.licence_of("none", text) == "MIT and GFDL-1.3")
    wanted("none without a paragraph of all files", corpus_pack.licence_of("none", text.replace("Files: *\n", "Files: a\n")) is None)


def figures():
    scores = np.array([[3.0, 2, 1], [1, 3, 2], [2, 1, 3]])
    wanted("ranks 1, 3 and 2", quill_recall.figures(scores, np.array([0, 0, 0])) == {"recall@1": 0.333, "recall@10": 1.0, "mrr": 0.611})
    found = quill_recall.bm25(["the red lamp"], ["a red lamp", "the pump", "the red wheel of the long blue belt"])[0]
    wanted("words that are rare, in short sections", found[0] > found[2] > found[1] > 0)
    rates = [quill_train.scale(k / 100) for k in range(101)]
    wanted("the rate", rates[0] < 0.01 and rates[5] == rates[50] == 1 and rates[80] > rates[90] > rates[100] == quill_train.LEAST)


def pooling():
    keys, questions = F.normalize(torch.randn(7, 16), dim=-1), F.normalize(torch.randn(50, 16), dim=-1)
    tau, (key, bias) = quill_families.TAU, quill_families.landmark(keys, questions[0])
    pooled, all_of_them = tau * questions @ key + bias, torch.logsumexp(tau * questions @ keys.T, 1)
    wanted("landmark pooling: never more than the log-sum-exp of the children's scores, which the title's own is",
           bool((pooled <= all_of_them + 1e-4).all()) and abs(pooled[0] - all_of_them[0]) < 1e-4 and (all_of_them - pooled).max() > 1)


def rows():
    stream = np.arange(2, 5000, dtype=np.uint16)
    plain = quill_losses.rows_of(stream, random.Random(1), 40, 64, False)
    wanted("rows of the stream", bool((plain[:, 1:] - plain[:, :-1] == 1).all()))
    again = quill_losses.rows_of(stream, random.Random(1), 400, 64, True)
    share = (again[:, 1:] - again[:, :-1] != 1).any(1).float().mean().item()
    wanted(f"rows that say a part again: {share:.2f}", again.shape == (400, 65) and 0.1 < share < 0.25)


def random_bag(vocabulary):
    newline = torch.zeros(vocabulary, dtype=torch.bool)
    newline[5:9] = True
    bag = quill_built.bag_of("cpu", newline)
    with torch.no_grad():
        bag.table.normal_()
        bag.bias.normal_(std=0.02)
        for weight in (bag.asked, bag.said):
            weight.normal_()
    return bag


def built():
    torch.manual_seed(3)
    bag, rng = random_bag(4000), np.random.default_rng(4)
    texts = [rng.integers(2, 4000, n).astype(np.uint16) for n in rng.integers(2, 250, 40)]
    with torch.no_grad():
        model = quill_built.made(bag, "cpu", 4000)
        quill_copying.begin_writing(model, quill_built.SAME, quill_built.MARKS, torch.ones(4000))
        for name, soft, projection in (("sections", model.mem0, model.recall.wk), ("questions", model.mem, model.recall.wq)):
            found = F.cosine_similarity(model.encode(texts, soft) @ projection, bag.key(texts, name == "questions")).min().item()
            wanted(f"keys of {name} as the bag's: least cosine {found:.5f}", found > 0.999)
        half = torch.randint(2, 4000, (4, 150))
        ids = torch.cat((half, half), 1)
        right = (model(ids)[:, :-1].argmax(-1) == ids[:, 1:]).float()
    wanted(f"of what is said twice {right[:, 151:].mean():.2f} is foretold, of what is new {right[:, :149].mean():.2f}",
           right[:, 151:].mean() > 0.7 and right[:, :149].mean() < 0.05)


def main():
    torch.set_num_threads(1)
    built()
    model = random_model()
    near_rows(model)
    fixed_shapes(model)
    entropy(model)
    muon()
    licences()
    figures()
    pooling()
    rows()


if __name__ == "__main__":
    main()
