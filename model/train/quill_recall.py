"""How well questions find their sections in manuals that nothing was trained on.

A manual's questions (up to QUESTIONS, drawn by the seed) are those of tasks.py that have a section; all sections with text are what they
are to be found among, by the cosine of query and key.  The same questions and the same texts (a section's title and beginning, 254
tokens, of which Quill reads --section) by: BM25; the teacher; and another model in a folder, through the engine (probe), as quill-0.
"""
import json
import math
import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter, defaultdict

import numpy as np
import torch

SEED, QUESTIONS, AT_ONCE = 43, 300, 32
K1, B = 1.2, 0.75


def chosen(data, tokenizer):
    """By manual: (sections' tokens, sections' texts, questions' tokens, questions' texts, the right section of each)."""
    out = {}
    for manual in sorted({key[0] for key in data["sections"]}):
        keys = sorted(k for k in data["sections"] if k[0] == manual)
        number = {key: i for i, key in enumerate(keys)}
        asked = sorted((p[0].tobytes(), number[p[2:4]]) for p in data["pairs"] if p[2] == manual and p[2:4] in number)
        asked = random.Random(SEED).sample(asked, min(QUESTIONS, len(asked)))
        sections, questions = [data["sections"][k] for k in keys], [np.frombuffer(q, np.uint16) for q, _ in asked]
        text = lambda ids: tokenizer.decode(ids.tolist())
        out[manual] = sections, [text(s) for s in sections], questions, [text(q) for q in questions], np.array([r for _, r in asked])
    return out


def figures(scores, right):
    """scores [questions, sections] -> recall at 1 and 10, and the mean of reciprocal ranks; of equals none is before the right one."""
    rank = 1 + (scores > scores[np.arange(len(right)), right][:, None]).sum(1)
    return {"recall@1": round(float((rank == 1).mean()), 3), "recall@10": round(float((rank <= 10).mean()), 3), "mrr": round(float((1 / rank).mean()), 3)}


def cosines(questions, sections):
    unit = lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    return unit(questions) @ unit(sections).T


def bm25(questions, sections):
    words = [re.findall(r"\w+", s.lower()) for s in sections]
    where, mean = defaultdict(list), sum(map(len, words)) / len(words)
    for i, some in enumerate(words):
        for word, count in Counter(some).items():
            where[word].append((i, count * (K1 + 1) / (count + K1 * (1 - B + B * len(some) / mean))))
    out = np.zeros((len(questions), len(sections)))
    for row, question in zip(out, questions):
        for word in re.findall(r"\w+", question.lower()):
            found = where.get(word, ())
            for i, weight in found:
                row[i] += weight * math.log(1 + (len(sections) - len(found) + 0.5) / (len(found) + 0.5))
    return out


def by_model(model, texts, soft, made):
    """made: queries or keys -> [n, p]"""
    order, out = sorted(range(len(texts)), key=lambda i: len(texts[i])), None
    for k in range(0, len(order), AT_ONCE):
        some = order[k:k + AT_ONCE]
        with torch.no_grad():
            found = made(model.encode([texts[i] for i in some], soft)).float().numpy()
        out = np.zeros((len(texts), found.shape[1]), np.float32) if out is None else out
        out[some] = found
    return out


def by_engine(probe, folder, questions, sections):
    """Another model's queries and keys: E_t by the engine, the projections here."""
    from safetensors.torch import load_file, save_file
    weights = load_file(os.path.join(folder, "model.safetensors"))
    out = []
    for texts, soft, projection in ((questions, "lectern.mem", "lectern.recall.wq"), (sections, "lectern.mem0", "lectern.recall.wk")):
        with tempfile.TemporaryDirectory() as own:
            for name in ("config.json", "tokenizer.json"):
                shutil.copyfile(os.path.join(folder, name), os.path.join(own, name))
            save_file(weights | {"lectern.mem0": weights[soft].clone()}, os.path.join(own, "model.safetensors"), {"format": "pt"})
            lines = "".join(json.dumps(t) + "\n" for t in texts)
            subprocess.run([probe, "embed", "--model", own, "--out", os.path.join(own, "rows")], input=lines, text=True, check=True)
            rows = load_file(os.path.join(own, "rows"))["embedding"]
        out.append((rows @ weights[projection].float()).float().numpy())
    return out


def recall(model, data, tokenizer, section, teacher=None, probe=None, folder=None):
    """Yields (manual, who, figures)."""
    for manual, (sections, texts, questions, asked, right) in chosen(data, tokenizer).items():
        yield manual, "bm25", figures(bm25(asked, texts), right)
        if teacher:
            yield manual, "teacher", figures(cosines(teacher.all(asked)[0], teacher.all(texts)[0]), right)
        if folder:
            short = [tokenizer.decode(s[:section].tolist()) for s in sections]
            yield manual, folder, figures(cosines(*by_engine(probe, folder, asked, short)), right)
        if model:
            keys = by_model(model, [s[:section] for s in sections], model.mem0, model.keys)
            queries = by_model(model, questions, model.mem, model.queries)
            yield manual, "quill", dict(figures(cosines(queries, keys), right), sections=len(sections), questions=len(questions))
