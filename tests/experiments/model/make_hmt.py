#!/usr/bin/env python3
"""HMT's recurrence over the small model `memory`, by a plain reading of the paper in double precision, numpy alone.
Not needed to run the tests.

    venv/bin/python tests/experiments/model/make_hmt.py tests/golden/models/memory

hmt.safetensors: `ids` [87], read in segments of 16 behind 4 tokens of the segment before, 3 memories kept; `memories`
[6, width], each segment's; `question` [21] and `logits` [21, vocabulary] of it behind [r; the last 4 tokens];
`recalled` [width], that r; `first` [21, vocabulary], the same question where nothing was read before.
"""
import json
import os
import struct
import sys

import numpy as np

SEGMENT, SENSORY, KEPT, TOKENS, ASKING = 16, 4, 3, 87, 21


def read(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, body = json.loads(file.read(size)), file.read()
    return {name: np.frombuffer(body[slice(*t["data_offsets"])], "<f4").reshape(t["shape"]).astype(float)
            for name, t in header.items() if name != "__metadata__" and t["dtype"] == "F32"}


def write(path, tensors):
    header, body = {}, b""
    for name, values in tensors.items():
        data = values.astype("<i4" if values.dtype.kind == "i" else "<f4").tobytes()
        header[name] = {"dtype": "I32" if values.dtype.kind == "i" else "F32", "shape": list(values.shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


class Model:
    """A decoder of the Qwen3 kind: a whole input at once, no cache."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.c = json.load(file)
        self.w = read(os.path.join(folder, "model.safetensors"))

    def norm(self, x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.c["rms_norm_eps"]) * weight

    def turned(self, x):
        half = x.shape[-1] // 2
        frequency = self.c["rope_parameters"]["rope_theta"] ** (-np.arange(half) / half)
        angle = np.arange(len(x))[:, None, None] * frequency
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    def states(self, x):
        """After the last norm; x [n, width] in embedding space."""
        c, n = self.c, len(x)
        heads, head = c["num_attention_heads"], c["head_dim"]
        assert heads == c["num_key_value_heads"]
        for i in range(c["num_hidden_layers"]):
            w = lambda name: self.w[f"layers.{i}.{name}.weight"]
            h = self.norm(x, w("input_layernorm"))
            q, k, v = ((h @ w(f"self_attn.{p}_proj").T).reshape(n, heads, head) for p in "qkv")
            q = self.turned(self.norm(q, w("self_attn.q_norm")))
            k = self.turned(self.norm(k, w("self_attn.k_norm")))
            s = np.einsum("ihd,jhd->hij", q, k) / head ** 0.5
            s[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
            p = np.exp(s - s.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            x = x + np.einsum("hij,jhd->ihd", p, v).reshape(n, -1) @ w("self_attn.o_proj").T
            h = self.norm(x, w("post_attention_layernorm"))
            g = h @ w("mlp.gate_proj").T
            x = x + (g / (1 + np.exp(-g)) * (h @ w("mlp.up_proj").T)) @ w("mlp.down_proj").T
        return self.norm(x, self.w["norm.weight"])

    def embedded(self, ids):
        return self.w["embed_tokens.weight"][ids]

    def encode(self, soft, ids):
        """E_soft(ids)"""
        return self.states(np.vstack([soft, self.embedded(ids), soft]))[-1]

    def recall(self, ids, memories):
        if not len(memories):
            return self.w["lectern.mem0"]
        q = self.encode(self.w["lectern.mem"], ids[:SEGMENT // 2]) @ self.w["lectern.recall.wq"]
        s = (memories @ self.w["lectern.recall.wk"]) @ q / len(q) ** 0.5
        p = np.exp(s - s.max())
        return p / p.sum() @ memories


def main(folder):
    model, rng = Model(folder), np.random.default_rng(20)
    width, vocabulary = model.w["embed_tokens.weight"].shape[::-1]
    ids, question = rng.integers(0, vocabulary, TOKENS), rng.integers(0, vocabulary, ASKING)
    memories, tail = np.zeros((0, width)), ids[:0]
    for at in range(0, TOKENS, SEGMENT):
        segment = ids[at:at + SEGMENT]
        r = model.recall(segment, memories[-KEPT:])
        memories = np.vstack([memories, model.encode(r, np.concatenate([tail, segment]))])
        tail = segment[-SENSORY:]

    def logits(r, before):
        rows = np.vstack([r, model.embedded(np.concatenate([before, question]))])
        return model.states(rows)[-ASKING:] @ model.w["embed_tokens.weight"].T
    r = model.recall(question, memories[-KEPT:])
    write(os.path.join(folder, "hmt.safetensors"), {
        "ids": ids, "question": question, "memories": memories, "recalled": r, "logits": logits(r, tail),
        "first": logits(model.w["lectern.mem0"], ids[:0])})


main(sys.argv[1])
