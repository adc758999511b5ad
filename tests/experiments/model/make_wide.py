#!/usr/bin/env python3
"""Makes a model of random weights and a given width, with another model's tokenizer: for measuring
what the store takes for memories of that width, not what they are worth.

    make_wide.py MODEL-WITH-TOKENIZER FOLDER [WIDTH]

One layer of the Qwen3 kind, bf16, WIDTH 384 unless said.  Needs nothing but Python.
"""
import array
import json
import os
import random
import shutil
import struct
import sys

HEAD = 64


def random_bf16(noise, rows, columns, scale):
    values = array.array("f", (noise.gauss(0, scale) for _ in range(rows * columns)))
    halves = array.array("H", values.tobytes())[1::2]
    return [rows, columns], halves.tobytes()


def ones_bf16(count):
    return [count], struct.pack("<H", 0x3F80) * count


def tensors_of(width, vocabulary):
    noise = random.Random(1)
    layer, inner = "model.layers.0.", 2 * width
    shapes = {"self_attn.q_proj": (width, width), "self_attn.k_proj": (width, width),
              "self_attn.v_proj": (width, width), "self_attn.o_proj": (width, width),
              "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
              "mlp.down_proj": (width, inner)}
    tensors = {"model.embed_tokens.weight": random_bf16(noise, vocabulary, width, 1.0),
               "model.norm.weight": ones_bf16(width)}
    for name, size in (("input_layernorm", width), ("post_attention_layernorm", width),
                       ("self_attn.q_norm", HEAD), ("self_attn.k_norm", HEAD)):
        tensors[layer + name + ".weight"] = ones_bf16(size)
    for name, (rows, columns) in shapes.items():
        tensors[layer + name + ".weight"] = random_bf16(noise, rows, columns, columns ** -0.5)
    return tensors


def main():
    source, folder = sys.argv[1:3]
    width = int(sys.argv[3]) if len(sys.argv) > 3 else 384
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(source, "tokenizer.json"), folder)
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config.update(hidden_size=width, intermediate_size=2 * width, num_hidden_layers=1, head_dim=HEAD,
                  num_attention_heads=width // HEAD, num_key_value_heads=width // HEAD,
                  tie_word_embeddings=True)
    config.pop("lectern", None)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    header, body = {}, b""
    for name, (shape, data) in tensors_of(width, config["vocab_size"]).items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


main()
