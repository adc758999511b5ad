#!/usr/bin/env python3
"""Makes small random models with STAR and HiCI attention and their logits by a plain reading of the papers: PyTorch in
double precision, a query and a head at a time.  Not needed to run the tests.

    pip install torch safetensors
    python3 tests/experiments/model/make_star_hici.py tests/golden/models

    star-qwen    norms before each part and of each head, chunks of 8 tokens, 2 of them chosen
    star-olmo    norms after each part and over all heads, chunks of 4 tokens, 1 chosen, tied embeddings
    hici-qwen    as published; segments of 24 tokens, slots' keys normed as those of tokens
    hici-causal  no token sees a later one; segments of 16, biases of q, k and v

golden.safetensors: `ids` [100], `logits` [100, vocabulary] of the tokens.  With HiCI the first 68 are one text, the others
are read one by one; its last segment is shorter.  Where chunks are chosen the seed is the first with which no choice
is closer than 1e-3.
"""
import json
import math
import os
import sys

import torch
from safetensors.torch import save_file

D, HEADS, KEYS, HEAD, INNER, IDS, LAYERS, TOKENS, TEXT = 32, 4, 2, 8, 40, 60, 3, 100, 68
COMMON = dict(hidden_size=D, num_attention_heads=HEADS, num_key_value_heads=KEYS, head_dim=HEAD, num_hidden_layers=LAYERS,
              intermediate_size=INNER, vocab_size=IDS, max_position_embeddings=2048, rope_theta=10000.0, hidden_act="silu",
              tie_word_embeddings=False, eos_token_id=0)
MODELS = {
    "star-qwen": dict(COMMON, model_type="qwen3", rms_norm_eps=1e-6, lectern_attention=dict(kind="star", chunk=9, top_k=2)),
    "star-olmo": dict(COMMON, model_type="olmo2", rms_norm_eps=1e-5, tie_word_embeddings=True,
                      lectern_attention=dict(kind="star", chunk=5, top_k=1)),
    "hici-qwen": dict(COMMON, model_type="qwen3", rms_norm_eps=1e-6, lectern_attention=dict(kind="hici", segment=24, heads=2)),
    "hici-causal": dict(COMMON, model_type="qwen2", rms_norm_eps=1e-6,
                        lectern_attention=dict(kind="hici", segment=16, heads=4, causal=True)),
}
SLOTS, QUERIES, A, S, B = 3, 2, 8, 6, 12
LOCAL, WHOLE = "self_attn.local_constructor.", "self_attn.global_integrator."


# ---- Weights ----


def make_weights(config, seed):
    random, w = torch.Generator().manual_seed(seed), {}
    kind, family = config["lectern_attention"]["kind"], config["model_type"]
    norms = ("post_attention_layernorm", "post_feedforward_layernorm") if family == "olmo2" else \
        ("input_layernorm", "post_attention_layernorm")

    def put(name, *shape, scale=0.25, around=0.0):
        w[name] = (torch.randn(shape, generator=random) * scale + around).float()

    put("model.embed_tokens.weight", IDS, D, scale=1)
    put("model.norm.weight", D, around=1)
    if not config["tie_word_embeddings"]:
        put("lm_head.weight", IDS, D, scale=0.5)
    if kind == "star":
        put("lectern.star.summary", D, scale=1)
        put("lectern.star.gate", LAYERS, 3, scale=0.5)
    for i in range(LAYERS):
        own = f"model.layers.{i}."
        for norm in norms:
            put(own + norm + ".weight", D, around=1)
        for name, rows, columns in (("q", HEADS * HEAD, D), ("k", KEYS * HEAD, D), ("v", KEYS * HEAD, D), ("o", D, HEADS * HEAD)):
            put(f"{own}self_attn.{name}_proj.weight", rows, columns)
            if family == "qwen2" and name != "o":
                put(f"{own}self_attn.{name}_proj.bias", rows)
        if family != "qwen2":
            whole = family == "olmo2"
            put(own + "self_attn.q_norm.weight", HEADS * HEAD if whole else HEAD, around=1.5)
            put(own + "self_attn.k_norm.weight", KEYS * HEAD if whole else HEAD, around=1.5)
        for name, rows, columns in (("gate", INNER, D), ("up", INNER, D), ("down", D, INNER)):
            put(f"{own}mlp.{name}_proj.weight", rows, columns)
        if kind == "hici":
            put(own + LOCAL + "memory_slots", SLOTS, D, scale=1)
            for name, rows, columns in (("q", A, D), ("k", A, D), ("v", A, D), ("o", D, A)):
                put(f"{own}{LOCAL}{name}_proj.weight", rows, columns)
            put(own + WHOLE + "shared_compressor.0.weight", S, D)
            put(own + WHOLE + "stat_expand.0.weight", B, S)
            for part, width in (("shared_compressor.1.", S), ("stat_expand.1.", B)):
                put(own + WHOLE + part + "weight", width, around=1)
                put(own + WHOLE + part + "bias", width)
            put(own + WHOLE + "global_queries", QUERIES, B, scale=1)
            for name in "qkvo":
                put(f"{own}{WHOLE}{name}_proj.weight", B, B)
            put(own + WHOLE + "expand.weight", D, B)
            put(own + WHOLE + "expand_scale_param", scale=0.5)
    return w


# ---- Parts ----


def rms(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotate(x, position, theta):
    half = HEAD // 2
    out = torch.empty_like(x)
    for i in range(half):
        angle = position * theta ** (-2 * i / HEAD)
        one, two = x[..., i], x[..., i + half]
        out[..., i] = one * math.cos(angle) - two * math.sin(angle)
        out[..., i + half] = two * math.cos(angle) + one * math.sin(angle)
    return out


def attend(query, keys, values):
    """One query [d] over keys and values [n, d]; also the weights."""
    share = torch.softmax(keys @ query / math.sqrt(len(query)), 0)
    return share @ values, share


def several(queries, keys, values, heads):
    """Attention of all heads, all see all."""
    width = queries.shape[1] // heads
    parts = []
    for h in range(heads):
        at = slice(h * width, (h + 1) * width)
        parts.append(torch.stack([attend(q[at], keys[:, at], values[:, at])[0] for q in queries]))
    return torch.cat(parts, 1)


class Layer:
    """The projections of one layer; heads are norms and rotations away."""

    def __init__(self, config, w, number):
        self.config, self.number, self.margin = config, number, math.inf
        own = f"model.layers.{number}."
        self.w = {n[len(own):]: t for n, t in w.items() if n.startswith(own)}
        self.gate = w["lectern.star.gate"][number] if "lectern.star.gate" in w else None

    def project(self, x, name, heads):
        """x [n, D] -> [n, heads, d]"""
        y = x @ self.w[f"self_attn.{name}_proj.weight"].T
        if f"self_attn.{name}_proj.bias" in self.w:
            y = y + self.w[f"self_attn.{name}_proj.bias"]
        norm, eps = self.w.get(f"self_attn.{name}_norm.weight"), self.config["rms_norm_eps"]
        if norm is not None and len(norm) == y.shape[1]:
            return rms(y, norm, eps).unflatten(1, (heads, HEAD))
        y = y.unflatten(1, (heads, HEAD))
        return y if norm is None else rms(y, norm, eps)

    def heads_of(self, x):
        q, k, v = self.project(x, "q", HEADS), self.project(x, "k", KEYS), self.project(x, "v", KEYS)
        turn = lambda y: torch.stack([rotate(y[t], t, self.config["rope_theta"]) for t in range(len(y))])
        return turn(q), turn(k), v

    def star(self, x):
        q, k, v = self.heads_of(x)
        size, top, gate = self.config["lectern_attention"]["chunk"], self.config["lectern_attention"]["top_k"], torch.softmax(self.gate, 0)
        out = torch.empty(len(x), HEADS, HEAD, dtype=x.dtype)
        for t in range(len(x)):
            before = t // size
            for h in range(HEADS):
                keys, values = k[:, h // (HEADS // KEYS)], v[:, h // (HEADS // KEYS)]
                local = attend(q[t, h], keys[before * size:t + 1], values[before * size:t + 1])[0]
                if not before:
                    out[t, h] = local
                    continue
                ends = [c * size + size - 1 for c in range(before)]
                coarse, alpha = attend(q[t, h], keys[ends], values[ends])
                order = sorted(range(before), key=lambda c: (-alpha[c].item(), c))
                if before > top:
                    self.margin = min(self.margin, (alpha[order[top - 1]].log() - alpha[order[top]].log()).item())
                slots = [c * size + j for c in order[:top] for j in range(size)]
                fine = attend(q[t, h], keys[slots], values[slots])[0]
                out[t, h] = gate[0] * local + gate[1] * coarse + gate[2] * fine
        return out.flatten(1)

    def integrate(self, slots):
        """G [QUERIES, D] of slots [n, D], eq. 3-10."""
        part = lambda name: self.w[WHOLE + name]
        mean = slots.mean(0)
        deviation = torch.sqrt(((slots - mean) ** 2).mean(0)).clamp(min=1e-6)
        views = torch.stack((mean, slots.max(0).values, slots.min(0).values, deviation, mean / max(mean.norm().item(), 1e-6)))
        for name in ("shared_compressor", "stat_expand"):
            views = views @ part(name + ".0.weight").T
            views = torch.nn.functional.layer_norm(views, views.shape[1:], part(name + ".1.weight"), part(name + ".1.bias"))
        q, k, v = (t @ part(n + "_proj.weight").T for t, n in ((part("global_queries"), "q"), (views, "k"), (views, "v")))
        mixed = several(q, k, v, self.config["lectern_attention"]["heads"]) @ part("o_proj.weight").T
        return mixed @ part("expand.weight").T * torch.nn.functional.softplus(part("expand_scale_param"))

    def shown(self, x):
        """What each segment of a text x [n, D] is shown, [.., D]; None: nothing."""
        own = self.config["lectern_attention"]
        part = lambda name: self.w[LOCAL + name]
        segments = [x[i:i + own["segment"]] for i in range(0, len(x), own["segment"])]
        local = [several(part("memory_slots") @ part("q_proj.weight").T, s @ part("k_proj.weight").T, s @ part("v_proj.weight").T,
                         own["heads"]) @ part("o_proj.weight").T for s in segments]
        if own.get("causal"):
            return [None] + [torch.cat((self.integrate(torch.cat(local[:i])), local[i - 1])) for i in range(1, len(local))]
        whole = self.integrate(torch.cat(local))
        return [torch.cat((whole, l)) for l in local]

    def hici(self, x):
        q, k, v = self.heads_of(x)
        shown, size = self.shown(x[:TEXT]), self.config["lectern_attention"]["segment"]
        out = torch.empty(len(x), HEADS, HEAD, dtype=x.dtype)
        for t in range(len(x)):
            segment = t // size if t < TEXT else None
            slots = shown[segment] if segment is not None else None
            first = segment * size if segment is not None else 0  # what is read after the text sees all
            keys, values = k[first:t + 1], v[first:t + 1]
            if slots is not None:
                keys = torch.cat((self.project(slots, "k", KEYS), keys))
                values = torch.cat((self.project(slots, "v", KEYS), values))
            for h in range(HEADS):
                out[t, h] = attend(q[t, h], keys[:, h // (HEADS // KEYS)], values[:, h // (HEADS // KEYS)])[0]
        return out.flatten(1)

    def attention(self, x):
        return getattr(self, self.config["lectern_attention"]["kind"])(x) @ self.w["self_attn.o_proj.weight"].T

    def feed_forward(self, x):
        gate = x @ self.w["mlp.gate_proj.weight"].T
        return (gate * torch.sigmoid(gate) * (x @ self.w["mlp.up_proj.weight"].T)) @ self.w["mlp.down_proj.weight"].T

    def run(self, x):
        eps = self.config["rms_norm_eps"]
        norm = lambda name, y: rms(y, self.w[name + ".weight"], eps)
        if self.config["model_type"] == "olmo2":
            x = x + norm("post_attention_layernorm", self.attention(x))
            return x + norm("post_feedforward_layernorm", self.feed_forward(x))
        x = x + self.attention(norm("input_layernorm", x))
        return x + self.feed_forward(norm("post_attention_layernorm", x))


def logits_of(config, w, ids):
    """logits [TOKENS, IDS], and the closest choice of chunks."""
    w = {n: t.double() for n, t in w.items()}
    table, rows, real = w["model.embed_tokens.weight"], [], []
    for i, one in enumerate(ids):
        real.append(len(rows))
        rows.append(table[one])
        own = config["lectern_attention"]
        if own["kind"] == "star" and i % (own["chunk"] - 1) == own["chunk"] - 2:
            rows.append(w["lectern.star.summary"])
    x, margin = torch.stack(rows), math.inf
    for number in range(LAYERS):
        layer = Layer(config, w, number)
        x = layer.run(x)
        margin = min(margin, layer.margin)
    head = table if config["tie_word_embeddings"] else w["lm_head.weight"]
    return rms(x[real], w["model.norm.weight"], config["rms_norm_eps"]) @ head.T, margin


def main():
    for name, config in MODELS.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        seed = -1
        while True:
            seed += 1
            weights = make_weights(config, seed)
            ids = torch.randint(IDS, (TOKENS,), generator=torch.Generator().manual_seed(1000 + seed))
            logits, margin = logits_of(config, weights, ids)
            if margin > 1e-3:
                break
        print(f"{name}: seed {seed}, closest choice {margin:.1e}", flush=True)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        save_file(weights, os.path.join(folder, "model.safetensors"))
        save_file({"ids": ids.int(), "logits": logits.float()}, os.path.join(folder, "golden.safetensors"))


main()
