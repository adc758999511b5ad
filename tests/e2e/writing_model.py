"""A model that always writes one and the same text after a colon.

Each token's embedding is a vector of its own (zero for those that do not come up), the layer adds
nothing, and the head's row of a token points to the embedding of the one before it.  So no two
characters of the text may be the same, unless the text is to go on from the first of the two for ever.
"""
import json
import os
import shutil
import struct

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/models/memory")
WIDTH, SHARP = 16, 20.0
BYTES = {ord("\t"): "\u0109", ord("\n"): "\u010a", ord("\x1b"): "\u011b", ord(" "): "\u0120",
         ord("\x7f"): "\u0121", ord("\0"): "\u0100"}


def floats(rows, columns, values=()):
    data = bytearray(4 * rows * columns)
    for row, column, value in values:
        struct.pack_into("<f", data, 4 * (row * columns + column), value)
    return [rows, columns], bytes(data)


def ones(count):
    return [count], struct.pack("<%df" % count, *[1.0] * count)


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def make(folder, text, context=2048, recalls=False, star=False, chat=None, **answering):
    """The model's folder; `answering` goes into its "lectern" object; `recalls`: with what HMT needs;
    `star`: with STAR attention; `chat`: with this chat template."""
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(GOLDEN, "tokenizer.json"), folder)
    with open(os.path.join(GOLDEN, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(GOLDEN, "tokenizer.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)["model"]["vocab"]
    rows = config["vocab_size"]
    config.update(hidden_size=WIDTH, head_dim=WIDTH, intermediate_size=1, num_hidden_layers=1,
                  num_attention_heads=1, num_key_value_heads=1, layer_types=["full_attention"],
                  max_position_embeddings=context, tie_word_embeddings=False)
    config["lectern"] = answering
    if chat:
        with open(os.path.join(folder, "chat_template.jinja"), "w", encoding="utf-8") as file:
            file.write(chat)
    if star:
        config["lectern_attention"] = {"kind": "star", "chunk": 16, "top_k": 2}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    ids = [vocabulary[c.translate(BYTES)] for c in ":" + text]
    first = {token: place for place, token in reversed(list(enumerate(ids)))}
    following = {place: ids[place + 1] if place + 1 < len(ids) else 0
                 for token, place in first.items()}
    tensors = {
        "model.embed_tokens.weight": floats(rows, WIDTH, [(t, p, 1.0) for t, p in first.items()]),
        "lm_head.weight": floats(rows, WIDTH, [(t, p, SHARP) for p, t in following.items()]),
        "model.norm.weight": ones(WIDTH)}
    layer = "model.layers.0."
    for name in ("input_layernorm", "post_attention_layernorm", "self_attn.q_norm",
                 "self_attn.k_norm"):
        tensors[layer + name + ".weight"] = ones(WIDTH)
    for name in "qkvo":
        tensors[layer + f"self_attn.{name}_proj.weight"] = floats(WIDTH, WIDTH)
    tensors[layer + "mlp.gate_proj.weight"] = floats(1, WIDTH)
    tensors[layer + "mlp.up_proj.weight"] = floats(1, WIDTH)
    tensors[layer + "mlp.down_proj.weight"] = floats(WIDTH, 1)
    for name in ("mem", "mem0") if recalls else ():
        tensors[f"lectern.{name}"] = ones(WIDTH)
    for name in ("wq", "wk") if recalls else ():
        tensors[f"lectern.recall.{name}"] = floats(WIDTH, WIDTH, [(i, i, 1.0) for i in range(WIDTH)])
    if star:
        tensors["lectern.star.summary"] = [WIDTH], bytes(4 * WIDTH)
        tensors["lectern.star.gate"] = floats(1, 3)
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    return folder
