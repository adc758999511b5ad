"""What pooling keeps of the children: a child's question, and the family it belongs to among all families of a manual that nothing was trained on.

A family's one vector is made of its children's memories (at most CHILDREN of them, their first --section tokens) by
  mean        H2MT 2.2.3
  attention   the same with the trained projections
  landmark    HiLS's Prop. 3.1 on the tree: p = softmax(tau k.t), k the children's unit keys, t the unit query of the parent's title;
              k' = sum p k, b' = -sum p ln p, and a question's score is tau q.k' + b'
  largest     nothing is pooled: the best child's cosine, what any pooling is to come near to
"""
import random

import numpy as np
import torch
import torch.nn.functional as F

from quill_recall import by_model, figures

SEED, QUESTIONS, CHILDREN, TAU = 43, 300, 32, 20.0


def landmark(keys, title):
    """keys [n, p] and title [p] of length one -> key [p], bias"""
    p = (TAU * keys @ title).softmax(0)
    return p @ keys, torch.special.entr(p).sum()


def scores(model, queries, memories, titles, spans):
    """queries [q, p]; memories [n, D] of the children of family f at spans[f]; titles [f, p] -> by policy [q, f]"""
    unit = lambda x: F.normalize(x, dim=-1)
    q, keys, groups = unit(queries), unit(model.keys(memories)), [memories[a:b] for a, b in spans]
    marks = [landmark(keys[a:b], title) for (a, b), title in zip(spans, unit(titles))]
    alike = q @ keys.T
    return {"mean": q @ unit(model.keys(torch.stack([g.mean(0) for g in groups]))).T,
            "attention": q @ unit(model.keys(torch.stack([model.pooled(g) for g in groups]))).T,
            "landmark": TAU * q @ torch.stack([k for k, _ in marks]).T + torch.stack([b for _, b in marks]),
            "largest": torch.stack([alike[:, a:b].amax(1) for a, b in spans], 1)}


def families(model, data, tokenizer, section):
    """Yields (manual, policy, figures)."""
    for manual in sorted({key[0] for key in data["sections"]}):
        asked, own = {}, [f for f in data["families"] if f[0] == manual and f[:2] in data["sections"] and len(f[2]) > 1]
        for question, _, _, node in (p for p in data["pairs"] if p[2] == manual):
            asked.setdefault(node, []).append(question)
        texts, spans, titles, questions = [], [], [], []
        for f, (_, parent, children) in enumerate(own):
            some = children[:CHILDREN]
            spans.append((len(texts), len(texts) + len(some)))
            texts += [data["sections"][manual, c][:section] for c in some]
            title = tokenizer.decode(data["sections"][manual, parent].tolist()).split("\n")[0]
            titles.append(tokenizer.encode(title).ids)
            questions += [(q.tobytes(), f) for c in some for q in asked.get(c, ())]
        questions = random.Random(SEED).sample(sorted(questions), min(QUESTIONS, len(questions)))
        made = lambda ids, soft, how: torch.from_numpy(by_model(model, ids, soft, how))
        with torch.no_grad():
            found = scores(model, made([np.frombuffer(q, np.uint16)[:30].copy() for q, _ in questions], model.mem, model.queries),
                           made(texts, model.mem0, lambda m: m), made(titles, model.mem, model.queries), spans)
        for policy, score in found.items():
            yield manual, policy, dict(figures(score.numpy(), np.array([f for _, f in questions])), families=len(own), questions=len(questions))
