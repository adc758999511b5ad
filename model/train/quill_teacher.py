"""Vectors of another model's for Quill to learn from: all-MiniLM-L6-v2 (Apache-2.0), or any encoder of the BERT or RoBERTa kind that is kept like it.

    WORK/teacher.pkl    for sections and questions of the manuals that are trained on: the 256 first coordinates of the teacher's vector in the
                        directions in which the sections' vectors are largest, of unit length

Only the teacher's answers about training manuals are learned from; none of its weights are taken.
"""
import json
import os
import pickle
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

SEED = 41
WIDTH, PIECES, AT_ONCE = 256, 128, 64


def pools_first(folder):
    """Whether the first token's last state is the text's vector (CLS), and not the mean, as sentence-transformers keeps it."""
    path = os.path.join(folder, "1_Pooling/config.json")
    if not os.path.exists(path):
        return False
    with open(path) as file:
        return bool(json.load(file).get("pooling_mode_cls_token"))


class Encoder:
    """Means of the last states, or the first of them where the folder says so, of unit length."""

    def __init__(self, folder):
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        self.w = load_file(os.path.join(folder, "model.safetensors"))
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.enable_truncation(PIECES)
        self.tokenizer.enable_padding()
        self.first = pools_first(folder)
        self.begin = self.config["pad_token_id"] + 1 if self.config["model_type"] in ("roberta", "xlm-roberta") else 0  # of the positions

    def dense(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], self.config["layer_norm_eps"])

    def encode(self, texts):
        """-> [n, hidden]"""
        found = self.tokenizer.encode_batch(texts)
        ids, there = torch.tensor([e.ids for e in found]), torch.tensor([e.attention_mask for e in found], dtype=torch.bool)
        at = "embeddings."
        table = lambda name: self.w[f"{at}{name}_embeddings.weight"]
        x = table("word")[ids] + table("position")[self.begin:self.begin + ids.shape[1]] + table("token_type")[0]
        x, heads = self.norm(x, at + "LayerNorm"), self.config["num_attention_heads"]
        split = lambda t: t.unflatten(-1, (heads, -1)).transpose(1, 2)
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            q, k, v = (split(self.dense(x, at + "attention.self." + name)) for name in ("query", "key", "value"))
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=there[:, None, None]).transpose(1, 2).flatten(2)
            x = self.norm(x + self.dense(o, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            x = self.norm(x + self.dense(F.gelu(self.dense(x, at + "intermediate.dense")), at + "output.dense"), at + "output.LayerNorm")
        x = x.float()
        return F.normalize(x[:, 0] if self.first else (x * there[..., None]).sum(1) / there.sum(1, keepdim=True), dim=-1)

    def all(self, texts, until=None):
        """[n, hidden] and which were done in the time; texts of about one length go together, those batches in any order."""
        out, done = np.zeros((len(texts), self.config["hidden_size"]), np.float32), np.zeros(len(texts), bool)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [order[k:k + AT_ONCE] for k in range(0, len(order), AT_ONCE)]
        random.Random(SEED).shuffle(batches)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported()):  # slow where it is emulated
            for some in batches:
                if until and time.time() > until:
                    break
                out[some] = self.encode([texts[i] for i in some]).numpy()
                done[some] = True
        return out, done


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-6)


def stage_teach(args):
    """In pieces of --seconds: what is there stays, and so do the directions that the first piece found."""
    from quill_data import load_data, load_tokenizer
    path, begin = os.path.join(args.work, "teacher.pkl"), time.time()
    encoder, tokenizer, data = Encoder(args.teacher), load_tokenizer(args.work), load_data(args.work)["train"]
    basis, vectors = None, {}
    if os.path.exists(path):
        with open(path, "rb") as file:
            basis, vectors = pickle.load(file).values()
    text = {q.tobytes(): q for q in [p[0] for p in data["pairs"]] + [p[1] for p in data["worded"]]}
    questions = [q for q in sorted(text) if q not in vectors]
    asked = sorted({p[2:4] for p in data["pairs"]} | {p[3:] for p in data["worded"]})
    text |= {place: data["sections"][place] for place in asked if place in data["sections"]}
    sections = [k for k in sorted(k for k in text if isinstance(k, tuple)) if k not in vectors]
    random.Random(SEED).shuffle(questions)
    for keys, share in ((sections, 0.75), (questions, 1.0)):
        found, done = encoder.all([tokenizer.decode(text[k].tolist()) for k in keys], begin + share * args.seconds)
        if basis is None:
            basis = np.linalg.eigh(found[done].T @ found[done])[1][:, ::-1][:, :WIDTH].astype(np.float32)
            print(f"{WIDTH} directions keep {np.square(found[done] @ basis).sum(1).mean():.4f} of a section's vector", flush=True)
        vectors |= {k: v for k, v, d in zip(keys, unit(found @ basis).astype(np.float16), done) if d}
        print(f"{done.sum()} of {len(keys)}, {time.time() - begin:.0f} s", flush=True)
    with open(path + ".part", "wb") as file:
        pickle.dump(dict(basis=basis, vectors=vectors), file, protocol=5)
    os.replace(path + ".part", path)


def load_teacher(work):
    """{section (manual, node) or a question's tokens: [256]}, or nothing where there was no teacher."""
    path = os.path.join(work, "teacher.pkl")
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return pickle.load(file)["vectors"]
