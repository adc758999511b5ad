#!/usr/bin/env python3
"""Vectors of the models of make_hils.py by the same plain reading, and a small random HiLS model that is made for memories.
Standard library only; not needed to run the tests.

    python3 tests/experiments/model/make_hils_memory.py tests/golden/models

hils-memory: two layers, both HiLS, with soft tokens and projections; its tokenizer is that of `memory`.
    hmt.safetensors: HMT's recurrence over it, as make_hmt.py writes it

vectors.safetensors of each: `ids`, and for each of `lengths` of their first ones `last` and `mean` [lengths, D], the final
state of the last token and the mean of all tokens' (landmarks are none), and `wrapped`, that of the last one of [soft; ids; soft].
That of hils-memory has `first_layer` and `first_layer_wrapped` too: `last` and `wrapped` with its first layer alone before the last norm.
"""
import json
import math
import os
import random
import struct
import sys

import make_hils
from make_hils import D, dot, f32, flat, logits_of, product, save, states_of

MEMORY = dict(make_hils.COMMON, model_type="qwen_hils", vocab_size=608, num_hidden_layers=2, max_position_embeddings=4096,
              use_sliding_window=False, hils_sliding_window=40, full_attn_interleave=1, hils_topk=3, enable_lmk_q_proj=True,
              lmk_q_lora_dim=make_hils.RANK, layerwise_lmkq_norm=True, apply_hils_rope=True, enable_inrange_rope=True,
              rope_context_length=512, rope_period_multiplier=2.0, enable_softmax1=False, tie_word_embeddings=True)
P, SEGMENT, SENSORY, KEPT, TOKENS, ASKING = 20, 16, 4, 3, 87, 21
SHORT = (1, 5, 6, 7, 8, 13, 14, 15, 40, 99)


def read(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, body = json.loads(file.read(size)), file.read()
    out = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        values = list(struct.unpack(f"<{(end - begin) // 4}f", body[begin:end]))
        wide = t["shape"][-1]
        out[name] = values if len(t["shape"]) == 1 else [values[i:i + wide] for i in range(0, len(values), wide)]
    return out


def matrix(rng, rows, columns, scale):
    return [[f32(rng.gauss(0, scale)) for _ in range(columns)] for _ in range(rows)]


def make_memory(folder):
    rng = random.Random("hils-memory")
    weights = make_hils.make_weights(MEMORY, rng)
    for name in ("mem", "mem0"):
        weights[f"lectern.{name}"] = matrix(rng, 1, D, 0.5)[0]
    for name in ("recall", "pool"):
        for w in ("wq", "wk"):
            weights[f"lectern.{name}.{w}"] = matrix(rng, D, P, D ** -0.25)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(MEMORY, file, indent=1)
        file.write("\n")
    save(os.path.join(folder, "model.safetensors"), {n: flat(v) for n, v in weights.items()})


def vectors(folder, config, weights, rng):
    lengths = SHORT + ((700,) if config is MEMORY else ())
    ids = [rng.randrange(config["vocab_size"]) for _ in range(max(lengths))]
    soft = weights.get("lectern.mem") or [f32(rng.gauss(0, 0.5)) for _ in range(D)]
    rows = [weights["model.embed_tokens.weight"][i] for i in ids]

    def wrapped(of):
        return flat([states_of(of, weights, [soft] + rows[:n] + [soft])[-1] for n in lengths])

    states = states_of(config, weights, rows)  # causal: those of a beginning are the beginning's
    mean = [[sum(s[j] for s in states[:n]) / n for j in range(D)] for n in lengths]
    tensors = {"ids": ("I32", [len(ids)], ids), "lengths": ("I32", [len(lengths)], lengths), "soft": flat(soft),
               "last": flat([states[n - 1] for n in lengths]), "mean": flat(mean), "wrapped": wrapped(config)}
    if config is MEMORY:
        first = dict(config, num_hidden_layers=1)
        states = states_of(first, weights, rows)
        tensors.update(first_layer=flat([states[n - 1] for n in lengths]), first_layer_wrapped=wrapped(first))
    save(os.path.join(folder, "vectors.safetensors"), tensors)


def hmt(folder, weights, rng):
    table, ids = weights["model.embed_tokens.weight"], [rng.randrange(MEMORY["vocab_size"]) for _ in range(TOKENS + ASKING)]
    ids, question = ids[:TOKENS], ids[TOKENS:]

    def encode(soft, some):
        return states_of(MEMORY, weights, [soft] + [table[i] for i in some] + [soft])[-1]

    def through(name, x):
        return product(list(zip(*weights[f"lectern.recall.{name}"])), x)

    def recall(some, memories):
        if not memories:
            return weights["lectern.mem0"]
        q = through("wq", encode(weights["lectern.mem"], some[:SEGMENT // 2]))
        p = [math.exp(dot(q, through("wk", m)) / math.sqrt(P)) for m in memories]
        return [sum(a * m[j] for a, m in zip(p, memories)) / sum(p) for j in range(D)]

    def logits(r, before):
        return flat(logits_of(MEMORY, weights, states_of(MEMORY, weights, [r] + [table[i] for i in before + question])[-ASKING:]))

    memories, tail = [], []
    for at in range(0, TOKENS, SEGMENT):
        segment = ids[at:at + SEGMENT]
        memories.append(encode(recall(segment, memories[-KEPT:]), tail + segment))
        tail = segment[-SENSORY:]
    r = recall(question, memories[-KEPT:])
    save(os.path.join(folder, "hmt.safetensors"), {
        "ids": ("I32", [TOKENS], ids), "question": ("I32", [ASKING], question), "memories": flat(memories), "recalled": flat(r),
        "logits": logits(r, tail), "first": logits(weights["lectern.mem0"], [])})


def main(out):
    make_memory(os.path.join(out, "hils-memory"))
    for name, config in [*make_hils.MODELS.items(), ("hils-memory", MEMORY)]:
        folder, rng = os.path.join(out, name), random.Random(name + " vectors")
        weights = read(os.path.join(folder, "model.safetensors"))
        vectors(folder, config, weights, rng)
        if config is MEMORY:
            hmt(folder, weights, rng)


main(sys.argv[1])
