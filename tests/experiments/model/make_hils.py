#!/usr/bin/env python3
"""Makes small random models with HiLS attention, under their authors' names, and their logits by a plain
reading of the paper, a slot at a time in double precision.  Standard library only; not needed to run the tests.

    python3 tests/experiments/model/make_hils.py tests/golden/models

    hils-olmo   norms after each part and over all heads, HiLS in layers 1 and 3, windows elsewhere that do not see
                landmarks, low-rank calibration, rotary with HoPE, the landmark's embedding apart
    hils-qwen   norms before each part and of each head, all layers HiLS but the first, full-rank calibration,
                softmax1, the landmark a row of the embedding
    hils-shared no calibration, no rotary in HiLS layers, one query for all landmarks

golden.safetensors: `ids` [100], `logits` [100, vocabulary] of the real tokens.
"""
import json
import math
import os
import random
import struct
import sys

D, HEADS, KEYS, HEAD, INNER, IDS, LAYERS, RANK, TOKENS = 32, 4, 2, 8, 40, 60, 4, 5, 100
COMMON = dict(hidden_size=D, num_attention_heads=HEADS, num_key_value_heads=KEYS, head_dim=HEAD, num_hidden_layers=LAYERS,
              intermediate_size=INNER, vocab_size=IDS, max_position_embeddings=512, rms_norm_eps=1e-5, rope_theta=10000.0,
              use_sliding_window=True, sliding_window=20, chunk_size=8, hils_topk=2, eos_token_id=0)
MODELS = {
    "hils-olmo": dict(COMMON, model_type="olmo_hils", hils_sliding_window=13, full_attn_interleave=2, enable_lmk_q_proj=True,
                      lmk_q_lora_dim=RANK, layerwise_qk_norm=True, layerwise_lmkq_norm=True, apply_hils_rope=True,
                      mask_lmk_token=True, enable_external_lmk_embed=True, enable_softmax1=False, use_hope=True,
                      enable_inrange_rope=True, rope_context_length=64, rope_period_multiplier=2.0,
                      tie_word_embeddings=False),
    "hils-qwen": dict(COMMON, model_type="qwen_hils", hils_sliding_window=9, num_swa_layers=1, full_attn_interleave=1,
                      enable_lmk_q_proj=True, apply_hils_rope=True, tie_word_embeddings=True),
    "hils-shared": dict(COMMON, model_type="qwen_hils", full_attn_interleave=2, shared_q_c=True, tie_word_embeddings=True,
                        enable_inrange_rope=True, rope_context_length=64),
}


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def make_weights(c, rng):
    olmo = c["model_type"] == "olmo_hils"
    wide, narrow, w = HEADS * HEAD, KEYS * HEAD, {}

    def put(name, rows, columns=0, scale=0.2, around=0.0):
        w[name] = [[f32(rng.gauss(around, scale)) for _ in range(columns)] for _ in range(rows)] if columns \
            else [f32(rng.gauss(around, scale)) for _ in range(rows)]

    ids = c["vocab_size"]
    put("model.embed_tokens.weight", ids if olmo else (ids // 32 + 1) * 32, D, 1)
    put("model.norm.weight", D, around=1)
    if olmo:
        put("model.lmk_embed", D, scale=1)
        put("lm_head.weight", ids, D, 0.5)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for norm in (("post_attention_layernorm", "post_feedforward_layernorm") if olmo
                     else ("input_layernorm", "post_attention_layernorm")):
            put(p + norm + ".weight", D, around=1)
        for name, rows, columns in (("self_attn.q_proj", wide, D), ("self_attn.k_proj", narrow, D), ("self_attn.v_proj", narrow, D),
                                    ("self_attn.o_proj", D, wide), ("mlp.gate_proj", INNER, D), ("mlp.up_proj", INNER, D),
                                    ("mlp.down_proj", D, INNER)):
            put(p + name + ".weight", rows, columns)
        put(p + "self_attn.q_norm.weight", wide if olmo else HEAD, around=1.5)
        put(p + "self_attn.k_norm.weight", narrow if olmo else HEAD, around=1.5)
        if not is_hils(c, i):
            continue
        if c.get("enable_lmk_q_proj") and c.get("lmk_q_lora_dim"):
            put(p + "self_attn.lmk_q_proj.0.weight", RANK, D)
            put(p + "self_attn.lmk_q_proj.1.weight", wide, RANK)
        elif c.get("enable_lmk_q_proj"):
            put(p + "self_attn.lmk_q_proj.weight", wide, D)
        if c.get("enable_lmk_q_proj"):
            put(p + "self_attn.lmk_q_norm.weight", wide if c.get("layerwise_lmkq_norm") else HEAD, around=1.5)
        if c.get("shared_q_c"):
            put(p + "self_attn.q_c", HEADS, HEAD, 1)
    return w


def is_hils(c, i):
    first, every = c.get("num_swa_layers", 0), c["full_attn_interleave"]
    return i >= first and (i - first) % every == every - 1


def product(w, x):
    return [sum(a * b for a, b in zip(row, x)) for row in w]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def rms(x, weight, eps):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * scale * g for v, g in zip(x, weight)]


def head_norm(x, weight, eps):
    if len(weight) == len(x):
        return rms(x, weight, eps)
    return [v for at in range(0, len(x), HEAD) for v in rms(x[at:at + HEAD], weight, eps)]


def rotate(x, position, frequencies):
    out = list(x)
    for at in range(0, len(x), HEAD):
        for j, f in enumerate(frequencies):
            a, b, angle = x[at + j], x[at + j + HEAD // 2], position * f
            out[at + j] = a * math.cos(angle) - b * math.sin(angle)
            out[at + j + HEAD // 2] = b * math.cos(angle) + a * math.sin(angle)
    return out


def frequencies_of(c, hils):
    least = 0
    olmo = c["model_type"] == "olmo_hils"
    if c.get("enable_inrange_rope") and (not olmo or (c.get("use_hope") and hils)):
        least = 2 * math.pi * c.get("rope_period_multiplier", 1.0) / c["rope_context_length"]
    all_of = [c["rope_theta"] ** (-2 * j / HEAD) for j in range(HEAD // 2)]
    return [f if j == 0 or f >= least else 0 for j, f in enumerate(all_of)]


def softmax_mix(logs, values, one):
    """Values weighted by exp(logs) over their sum (and 1)."""
    most = max(logs + ([0] if one else []), default=0)
    total = sum(math.exp(l - most) for l in logs) + (math.exp(-most) if one else 0)
    out = [0.0] * HEAD
    for l, v in zip(logs, values):
        for j in range(HEAD):
            out[j] += math.exp(l - most) / total * v[j]
    return out


def log_sum(logs):
    most = max(logs)
    return most + math.log(sum(math.exp(l - most) for l in logs))


def split(x):
    return [x[at:at + HEAD] for at in range(0, len(x), HEAD)]


def attention(c, w, layer, inputs):
    p, S = f"model.layers.{layer}.self_attn.", c["chunk_size"]
    hils, group, root = is_hils(c, layer), HEADS // KEYS, math.sqrt(HEAD)
    eps = 1e-6 if hils else c["rms_norm_eps"]
    turns = not hils or c.get("apply_hils_rope", False)
    frequencies = frequencies_of(c, hils)

    def turn(x, slot):
        return rotate(x, slot - slot // S, frequencies) if turns else x

    q, k, v, qhat = [], [], [], []
    for slot, h in enumerate(inputs):
        plain = product(w[p + "q_proj.weight"], h)
        q.append(split(turn(head_norm(plain, w[p + "q_norm.weight"], eps), slot)))
        k.append(split(turn(head_norm(product(w[p + "k_proj.weight"], h), w[p + "k_norm.weight"], eps), slot)))
        v.append(split(product(w[p + "v_proj.weight"], h)))
        if hils and c.get("enable_lmk_q_proj"):
            if c.get("lmk_q_lora_dim"):
                low = product(w[p + "lmk_q_proj.1.weight"], product(w[p + "lmk_q_proj.0.weight"], h))
                calibrated = [a + b for a, b in zip(low, plain)]
            else:
                calibrated = product(w[p + "lmk_q_proj.weight"], h)
            qhat.append(split(turn(head_norm(calibrated, w[p + "lmk_q_norm.weight"], 1e-6), slot)))
        else:
            qhat.append(q[-1])

    def landmark(slot):
        return slot % S == S - 1

    outs = []
    if not hils:
        for t in range(len(inputs)):
            seen = [j for j in range(max(0, t + 1 - c["sliding_window"]), t + 1)
                    if not (c.get("mask_lmk_token") and landmark(j))]
            outs.append([softmax_mix([dot(q[t][n], k[j][n // group]) / root for j in seen], [v[j][n // group] for j in seen], False)
                         for n in range(HEADS)])
    else:
        summaries = []
        for chunk in range(len(inputs) // S):
            own, last = [], chunk * S + S - 1
            for n in range(HEADS):
                proxy = turn([x for head in w[p + "q_c"] for x in head], last) if c.get("shared_q_c") else None
                proxy = split(proxy)[n] if proxy else qhat[last][n]
                keys = [k[j][n // group] for j in range(chunk * S, last)]
                logs = [dot(key, proxy) / root for key in keys]
                whole = log_sum(logs)
                share = [math.exp(l - whole) for l in logs]
                own.append(([dot(share, [key[j] for key in keys]) for j in range(HEAD)], -sum(s * math.log(s) for s in share)))
            summaries.append(own)
        window = c.get("hils_sliding_window", c["sliding_window"])
        one = c.get("enable_softmax1", True)
        for t in range(len(inputs)):
            begin = max(0, (t - window + 1) // S * S)
            near = [j for j in range(begin, t + 1) if not landmark(j)]
            scores = [[dot(qhat[t][n], summaries[chunk][n][0]) / root + summaries[chunk][n][1] for chunk in range(begin // S)]
                      for n in range(HEADS)]
            out = []
            for n in range(HEADS):
                heads = range(n // group * group, (n // group + 1) * group)
                totals = {g: log_sum([dot(q[t][g], k[j][g // group]) / root for j in near] + scores[g]) if near or scores[g] else 0
                          for g in heads}
                rank = sorted(range(begin // S), key=lambda chunk: (-max(scores[g][chunk] - totals[g] for g in heads), chunk))
                logs = [dot(q[t][n], k[j][n // group]) / root for j in near]
                values = [v[j][n // group] for j in near]
                for chunk in rank[:c["hils_topk"]]:
                    own = [j for j in range(chunk * S, chunk * S + S - 1)]
                    inside = [dot(q[t][n], k[j][n // group]) / root for j in own]
                    whole = log_sum(inside)
                    logs += [l - whole + scores[n][chunk] for l in inside]
                    values += [v[j][n // group] for j in own]
                out.append(softmax_mix(logs, values, one))
            outs.append(out)
    return [product(w[p + "o_proj.weight"], [x for head in out for x in head]) for out in outs]


def feed_forward(w, p, h):
    gate, up = product(w[p + "gate_proj.weight"], h), product(w[p + "up_proj.weight"], h)
    return product(w[p + "down_proj.weight"], [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)])


def states_of(c, w, rows):
    """After the last norm, of the real tokens; rows: their embeddings."""
    S, olmo, eps = c["chunk_size"], c["model_type"] == "olmo_hils", c["rms_norm_eps"]
    mark = w["model.lmk_embed"] if c.get("enable_external_lmk_embed") else w["model.embed_tokens.weight"][c["vocab_size"]]
    xs, real = [], []
    for i, row in enumerate(rows):
        real.append(len(xs))
        xs.append(list(row))
        if i % (S - 1) == S - 2:
            xs.append(list(mark))
    for layer in range(c["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        first = w[p + ("post_attention_layernorm" if olmo else "input_layernorm") + ".weight"]
        second = w[p + ("post_feedforward_layernorm" if olmo else "post_attention_layernorm") + ".weight"]
        parts = attention(c, w, layer, xs if olmo else [rms(x, first, eps) for x in xs])
        xs = [[a + b for a, b in zip(x, rms(y, first, eps) if olmo else y)] for x, y in zip(xs, parts)]
        parts = [feed_forward(w, p + "mlp.", x if olmo else rms(x, second, eps)) for x in xs]
        xs = [[a + b for a, b in zip(x, rms(y, second, eps) if olmo else y)] for x, y in zip(xs, parts)]
    return [rms(xs[slot], w["model.norm.weight"], eps) for slot in real]


def logits_of(c, w, states):
    head = w["model.embed_tokens.weight"][:c["vocab_size"]] if c["tie_word_embeddings"] else w["lm_head.weight"]
    return [product(head, state) for state in states]


def save(path, tensors):
    """tensors: name -> (type, shape, flat values)."""
    header, blob = {}, b""
    for name, (kind, shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}{'i' if kind == 'I32' else 'f'}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


def flat(value):
    if not isinstance(value[0], list):
        return "F32", [len(value)], value
    return "F32", [len(value), len(value[0])], [x for row in value for x in row]


def main():
    for number, (name, config) in enumerate(MODELS.items()):
        rng = random.Random(number)
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        weights = make_weights(config, rng)
        save(os.path.join(folder, "model.safetensors"), {n: flat(v) for n, v in weights.items()})
        ids = [rng.randrange(IDS) for _ in range(TOKENS)]
        table = weights["model.embed_tokens.weight"]
        logits = flat(logits_of(config, weights, states_of(config, weights, [table[i] for i in ids])))
        save(os.path.join(folder, "golden.safetensors"), {"ids": ("I32", [TOKENS], ids), "logits": logits})


if __name__ == "__main__":
    main()
