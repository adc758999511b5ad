#!/usr/bin/env python3
"""Trains quill-0, Lectern's own small model.  See README.md.

    quill0.py tokenizer WORK       byte-level BPE of the training manuals
    quill0.py prepare WORK         nodes, segments, questions as token ids
    quill0.py init WORK            word vectors from co-occurrence, the model
    quill0.py lm WORK              language modelling
    quill0.py contrast WORK        questions towards sections, recall, pooling
    quill0.py answers WORK         short grounded answers
    quill0.py eval WORK            recall on held-out manuals, against BM25
    quill0.py export WORK DIR      config.json, tokenizer.json, safetensors
    quill0.py check WORK DIR       against transformers; the golden file

The training stages take --until HH:MM (local time) or --steps, go on from
WORK/STAGE.pt when it exists, and append to WORK/log.jsonl.
"""
import argparse
import datetime
import json
import math
import os
import pickle
import random
import re
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 20
VOCAB, D, LAYERS, HQ, HKV, HEAD, FFN, CONTEXT, P = (
    16384, 256, 5, 4, 2, 64, 704, 1024, 64)
THETA, EPS = 10000.0, 1e-6
SCALE = 0.25  # of embeddings and of the last norm: memories re-enter as inputs
SEGMENT = 256
END, PAD = 0, 1
SPECIAL = ["<|end|>", "<|pad|>"]
# Newlines never join other text, so blocks may be tokenized one by one.
PATTERN = (r"'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
           r"| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- the model: transformers' Qwen3ForCausalLM, names and all ----


class Norm(nn.Module):
    def __init__(self, n, scale=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((n,), scale))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, EPS)


def linear(inputs, outputs, std):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=std)
    return layer


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = linear(D, HQ * HEAD, D ** -0.5)
        self.k_proj = linear(D, HKV * HEAD, D ** -0.5)
        self.v_proj = linear(D, HKV * HEAD, D ** -0.5)
        self.o_proj = linear(HQ * HEAD, D, SCALE * D ** -0.5 / LAYERS ** 0.5)
        self.q_norm, self.k_norm = Norm(HEAD), Norm(HEAD)

    def forward(self, x, cos, sin):
        n, t, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(n, t, HQ, HEAD)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(n, t, HKV, HEAD)).transpose(1, 2)
        v = self.v_proj(x).view(n, t, HKV, HEAD).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k = k.repeat_interleave(HQ // HKV, 1)
        v = v.repeat_interleave(HQ // HKV, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(n, t, HQ * HEAD))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = linear(D, FFN, D ** -0.5)
        self.up_proj = linear(D, FFN, D ** -0.5)
        self.down_proj = linear(FFN, D, SCALE * FFN ** -0.5 / LAYERS ** 0.5)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(D), Attention()
        self.post_attention_layernorm, self.mlp = Norm(D), Mlp()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, D)
        nn.init.normal_(self.embed_tokens.weight, std=SCALE)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm(D, SCALE)


class Projections(nn.Module):
    def __init__(self):
        super().__init__()
        # |m W| is about sqrt(P) * 8^(1/2) at the start.
        w = torch.randn(D, P) / (SCALE * D ** 0.5)
        self.wq = nn.Parameter(w.clone())
        self.wk = nn.Parameter(w.clone())


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = nn.Parameter(torch.randn(D) * SCALE)
        self.mem0 = nn.Parameter(torch.randn(D) * SCALE)
        self.recall, self.pool = Projections(), Projections()


class Quill(nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.lectern = Decoder(), Extra()
        inverse = THETA ** (-torch.arange(0, HEAD, 2).float() / HEAD)
        angle = torch.arange(CONTEXT).float()[:, None] * inverse
        angle = torch.cat((angle, angle), -1)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def hidden(self, embeds):
        t = embeds.shape[1]
        x, cos, sin = embeds, self.cos[:t], self.sin[:t]
        for layer in self.model.layers:
            x = layer(x, cos, sin)
        return self.model.norm(x)

    def logits(self, hidden):
        return hidden @ self.model.embed_tokens.weight.T

    def encode(self, texts, soft):
        """E_t of each text (a list of ids): soft is [D] or [n, D]."""
        n, longest = len(texts), max(map(len, texts))
        ids = np.full((n, longest + 2), PAD, np.int64)
        last = np.array([len(t) + 1 for t in texts])
        for i, text in enumerate(texts):
            ids[i, 1:len(text) + 1] = text
        is_soft = np.zeros(ids.shape, bool)
        is_soft[:, 0] = True
        is_soft[np.arange(n), last] = True
        device = self.cos.device
        embeds = self.model.embed_tokens(torch.from_numpy(ids).to(device))
        soft = soft.expand(n, D)[:, None]
        embeds = torch.where(torch.from_numpy(is_soft).to(device)[..., None],
                             soft, embeds)
        hidden = self.hidden(embeds)
        return hidden[torch.arange(n, device=device),
                      torch.from_numpy(last).to(device)]

    def recall(self, query, memories):
        """softmax((q Wq)(L Wk)^T / sqrt(p)) L; query [D], memories [n, D]."""
        w = self.lectern.recall
        score = (query @ w.wq) @ (memories @ w.wk).T / P ** 0.5
        return score.softmax(-1) @ memories

    def pool(self, children):
        """Attention pooling of [n, D]: attention received, without self."""
        n = len(children)
        if n == 1:
            return children[0]
        w = self.lectern.pool
        score = (children @ w.wq) @ (children @ w.wk).T / P ** 0.5
        score = score.masked_fill(torch.eye(n, dtype=torch.bool,
                                            device=score.device), -math.inf)
        weight = score.softmax(-1).sum(0)
        return (weight / weight.sum()) @ children

    def keys(self, memories):
        return memories @ self.lectern.recall.wk

    def queries(self, questions):
        """Scaled: queries . keys is the routing score."""
        return questions @ self.lectern.recall.wq / P ** 0.5


# ---- optimizer: Muon for the layers' matrices, Adam for the rest ----


def orthogonal(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    if flip:
        x = x.T
    for _ in range(steps):
        y = x @ x.T
        x = a * x + (b * y + c * y @ y) @ x
    return x.T if flip else x


class Optimizer:
    def __init__(self, model, matrix_rate, rate):
        self.matrices, vectors, tables = [], [], []
        for name, p in model.named_parameters():
            if p.ndim == 2 and ".layers." in name:
                self.matrices.append((p, torch.zeros_like(p)))
            elif "embed" in name:
                tables.append(p)
            else:
                vectors.append(p)
        self.matrix_rate = matrix_rate
        self.adam = torch.optim.AdamW(
            [{"params": tables, "base": rate}, {"params": vectors,
                                                "base": rate}],
            betas=(0.9, 0.98), eps=1e-10, weight_decay=0.0)
        self.parameters = list(model.parameters())

    def step(self, factor):
        norm = nn.utils.clip_grad_norm_(self.parameters, 1.0)
        with torch.no_grad():
            for p, m in self.matrices:
                if p.grad is None:
                    continue
                m.lerp_(p.grad, 0.05)
                u = orthogonal(p.grad.lerp(m, 0.95))
                p.mul_(1 - 0.01 * self.matrix_rate * factor)
                p.add_(u, alpha=-self.matrix_rate * factor
                       * max(1, p.shape[0] / p.shape[1]) ** 0.5)
        for group in self.adam.param_groups:
            group["lr"] = group["base"] * factor
        self.adam.step()
        for p in self.parameters:
            p.grad = None
        return norm.item()

    def state(self):
        return {"adam": self.adam.state_dict(),
                "momentum": [m for _, m in self.matrices]}

    def load(self, state):
        self.adam.load_state_dict(state["adam"])
        for (_, m), saved in zip(self.matrices, state["momentum"]):
            m.copy_(saved)


# ---- stages' common loop ----


class Clock:
    """How much of a stage is done: by time or by steps, over restarts."""

    def __init__(self, args, done):
        self.steps, self.done0 = args.steps, done
        self.begin, self.end = time.time(), None
        if args.until:
            hour, minute = map(int, args.until.split(":"))
            now = datetime.datetime.now()
            end = now.replace(hour=hour, minute=minute, second=0)
            self.end = end.timestamp()

    def progress(self, step):
        if self.end:
            now = time.time()
            return min(1.0, self.done0 + (1 - self.done0) * (now - self.begin)
                       / max(1.0, self.end - self.begin))
        return min(1.0, step / self.steps)


def log(work, **record):
    record["time"] = datetime.datetime.now().strftime("%H:%M:%S")
    line = json.dumps(record)
    print(line, flush=True)
    with open(os.path.join(work, "log.jsonl"), "a") as out:
        out.write(line + "\n")


def save(path, value):
    torch.save(value, path + ".part")
    os.replace(path + ".part", path)


def latest(work, stages):
    for stage in stages:
        path = os.path.join(work, stage + ".pt")
        if os.path.exists(path):
            return stage, torch.load(path, weights_only=False)
    sys.exit("nothing of %s in %s" % (", ".join(stages), work))


def train(args, stage, before, batch_loss, matrix_rate, rate):
    """batch_loss(model, step, rng) -> loss, {figures}."""
    torch.set_num_threads(args.threads)
    path = os.path.join(args.work, stage + ".pt")
    model, step, done = Quill(), 0, 0.0
    found, saved = latest(args.work, [stage] + before)
    model.load_state_dict(saved["model"])
    model.to(args.device)
    optimizer = Optimizer(model, matrix_rate, rate)
    if found == stage:
        optimizer.load(saved["optimizer"])
        step, done = saved["step"], saved["done"]
        if done >= 1:
            done = 0.0  # more time was given: warm up and anneal again
    clock = Clock(args, done)
    log(args.work, stage=stage, event="start", step=step, source=found)
    sums, tokens, noted, kept = {}, 0, time.time(), time.time()
    while True:
        progress = clock.progress(step)
        if progress >= 1:
            break
        rng = random.Random(SEED * 1000003 + step)
        torch.manual_seed(SEED * 1000003 + step)
        factor = min(1.0, (progress - done + 0.01) / 0.03,
                     (1 - progress) / 0.4 + 0.02)
        loss, figures = batch_loss(model, step, rng)
        loss.backward()
        figures["norm"] = optimizer.step(factor)
        step += 1
        tokens += figures.pop("tokens")
        for key, value in figures.items():
            sums.setdefault(key, []).append(value)
        if time.time() - noted > 20:
            log(args.work, stage=stage, step=step, progress=round(progress, 3),
                tokens=tokens, tokens_s=round(tokens / (time.time()
                                                        - clock.begin)),
                **{k: round(sum(v) / len(v), 4) for k, v in sums.items()})
            sums, noted = {}, time.time()
        if time.time() - kept > 90:
            kept = time.time()
            save(path, {"model": model.state_dict(), "step": step,
                        "optimizer": optimizer.state(), "done": progress})
    save(path, {"model": model.state_dict(), "step": step,
                "optimizer": optimizer.state(), "done": 1.0})
    log(args.work, stage=stage, event="end", step=step, tokens=tokens)


# ---- data ----


def corpus(work):
    with open(os.path.join(work, "corpus.jsonl")) as lines:
        for line in lines:
            yield json.loads(line)


def stage_tokenizer(args):
    from tokenizers import (Regex, Tokenizer, decoders, models, pre_tokenizers,
                            trainers)
    texts = []
    for node in corpus(args.work):
        if node["split"] == "train":
            texts.append("\n\n".join([node["title"]]
                                     + [b[2] for b in node["blocks"]])[:6000])
    random.Random(SEED).shuffle(texts)
    size, some = 0, []
    for text in texts:
        some.append(text)
        size += len(text)
        if size > 16e6:
            break
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(some, trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIAL, show_progress=False,
        max_token_length=24,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(os.path.join(args.work, "tokenizer.json"))
    log(args.work, stage="tokenizer", vocabulary=tokenizer.get_vocab_size(),
        trained_on_bytes=size)


def load_tokenizer(work):
    from tokenizers import Tokenizer
    return Tokenizer.from_file(os.path.join(work, "tokenizer.json"))


NUMBER = re.compile(r"^((chapter|part|appendix|section)\s+)?"
                    r"([0-9]+(\.[0-9]+)*|[A-Z](\.[0-9]+)+|[IVX]+\.)\.?\s+",
                    re.I)
SENTENCE = re.compile(r"(?<=[a-z0-9)\"'`]{2}[.!?])\s+(?=[A-Z`\"'(])")
WORD = re.compile(r"\w+")
GENERIC = {"introduction", "overview", "example", "examples", "see also",
           "description", "synopsis", "summary", "notes", "note", "exports",
           "here", "index", "contents", "next", "previous", "up", "home",
           "top", "return value", "parameters", "arguments", "syntax",
           "options", "changes", "link", "source", "more", "this", "the"}


def clean_title(title):
    title = NUMBER.sub("", title.replace("¶", "")).strip()
    return re.sub(r"\s+", " ", title)


def reword(text, table, rng):
    def one(match):
        word = match.group(0)
        to = table.get(word.lower())
        return rng.choice(to) if to and rng.random() < 0.6 else word
    return WORD.sub(one, text)


def stem_gerund(word):
    """creating -> create, adding -> add, running -> run; None: unsure."""
    if not re.fullmatch(r"[A-Za-z]{3,}ing", word):
        return None
    base = word[:-3].lower()
    if len(base) > 2 and base[-1] == base[-2] and base[-1] not in "lsz":
        return base[:-1]
    if re.search(r"[^aeiou][aeiou][bcdgkmntpvrsuz]$", base) and not re.search(
            r"(e[nr]|o[nrw]|a[iuy]|it|end|ad|oid)$", base) or re.search(
            r"(at|iv|uc|ov|ag|yz|iz|as|ur|ir|dl|bl|[rn]c|lv|ang|rg)$", base):
        return base + "e"
    return base


def lower_first(text):
    return text[0].lower() + text[1:] if re.match(r"[A-Z][a-z ]", text) \
        else text


def sentences(text):
    return [s.strip() for s in SENTENCE.split(text)]


def index_term(entry):
    entry = re.sub(r"\s*\((in module|built-in|class|.* (attribute|method|"
                   r"class|property|function)).*\)\s*$", "", entry)
    return entry.strip()


def node_questions(node, titles, templates, rng):
    """[(kind, question, answer or None)] of a node, from its structure."""
    out, table = [], templates["reword"]
    title = clean_title(node["title"])
    parent = clean_title(node["path"][-2]) if len(node["path"]) > 1 else ""

    def ask(kind, template, **slots):
        out.append((kind, rng.choice(templates[template]).format(**slots)))

    if 2 < len(title) < 90 and title.lower() not in GENERIC:
        words = title.split()
        base = stem_gerund(words[0])
        changed = lower_first(reword(title, table, rng))
        if base and len(words) > 1:
            ask("heading", "gerund", t=reword(
                " ".join([base] + words[1:]), table, rng))
        else:
            ask("heading", "heading" if len(words) > 1 else "term", t=changed)
        if parent and rng.random() < 0.5:
            ask("heading", "within", t=changed, p=lower_first(parent))
    elif title and parent:
        ask("heading", "within", t=lower_first(title), p=lower_first(parent))
    for entry in node["index"][:4]:
        term = index_term(entry)
        if 2 < len(term) < 60:
            ask("term", "term", t=term)
    prose = [b[2] for b in node["blocks"] if b[0] in ("paragraph", "quote",
                                                      "note")]
    definitions = []
    for kind, _, text in node["blocks"]:
        if kind != "definition":
            continue
        lines = text.split("\n")
        for i in range(len(lines) - 1):
            if lines[i] and lines[i][0] != " " and lines[i + 1][:2] == "  ":
                term, meaning = lines[i].strip(), lines[i + 1].strip()
                if 1 < len(term) < 50 and len(meaning) > 30:
                    definitions.append((term, meaning))
    rng.shuffle(definitions)
    for term, _ in definitions[:3]:
        ask("term", "term", t=term)
    candidates = [s for p in prose[:6] for s in sentences(p)
                  if 40 < len(s) < 220]
    if candidates:
        # A sentence with part of its words: the first one, or any.
        sentence = candidates[0] if rng.random() < 0.5 else rng.choice(
            candidates)
        words = sentence.split()
        keep = rng.uniform(0.35, 0.75)
        words = [w for w in words if rng.random() < keep]
        if len(words) > 2:
            ask("cloze", "cloze", t=reword(" ".join(words), table, rng))
    answers = []
    for term, meaning in definitions[:2]:
        answers.append((rng.choice(templates["term"][:3]).format(t=term),
                        sentences(meaning)[0][:240]))
    if prose and 2 < len(title) < 60 and title.lower() not in GENERIC:
        first = sentences(prose[0])[0]
        if 30 < len(first) < 240:
            name = "term" if len(title.split()) < 3 else "heading"
            answers.append((rng.choice(templates[name]).format(
                t=lower_first(title)), first))
    return out, answers


def stage_prepare(args):
    """WORK/data.pkl: nodes with segments and questions, all as token ids."""
    tokenizer = load_tokenizer(args.work)
    templates = json.load(open(os.path.join(HERE, "questions.json")))
    rng = random.Random(SEED)
    nodes = list(corpus(args.work))
    at = {(n["manual"], n["id"]): i for i, n in enumerate(nodes)}
    flat = []
    for node in nodes:
        flat.append(node["title"].strip() or "Untitled")
        flat += [b[2].strip() for b in node["blocks"]]
    encoded = []
    for i in range(0, len(flat), 20000):
        encoded += [np.array(e.ids, np.uint16) for e in
                    tokenizer.encode_batch_fast(flat[i:i + 20000])]
    line = np.array(tokenizer.encode("\n").ids, np.uint16)
    gap = np.array(tokenizer.encode("\n\n").ids, np.uint16)
    data, j, questions, links = [], 0, [], {}
    for i, node in enumerate(nodes):
        title, j = encoded[j], j + 1
        blocks, j = encoded[j:j + len(node["blocks"])], j + len(node["blocks"])
        segments, now, fresh = [], [title[:SEGMENT // 2], line], True
        for block in blocks:
            if not len(block):
                continue
            for k in range(0, len(block), SEGMENT - 32):
                part = block[k:k + SEGMENT - 32]
                size = sum(map(len, now))
                if size + len(gap) + len(part) > SEGMENT and not fresh:
                    segments.append(np.concatenate(now))
                    now = []
                elif not fresh:
                    now.append(gap)
                now.append(part[:SEGMENT - sum(map(len, now))])
                fresh = False
        if fresh:
            now = [title[:SEGMENT]]
        segments.append(np.concatenate(now))
        data.append({
            "manual": node["manual"], "held": node["split"] == "held",
            "title": len(title), "segments": segments, "own": not fresh,
            "parent": at.get((node["manual"], node["parent"]), -1),
            "children": [at[node["manual"], c] for c in node["children"]]})
        for text, target in node["refs"]:
            links.setdefault((node["manual"], target), set()).add(text)
    pairs, answers = [], []
    for i, node in enumerate(nodes):
        # Bare titles and one-line entries (rustdoc's above all) teach little.
        size = sum(len(b[2]) for b in node["blocks"])
        if size < 60 and not (node["children"] and size):
            continue
        asked, answered = node_questions(node, None, templates, rng)
        title = clean_title(node["title"]).lower()
        texts = [t for t in sorted(links.get((node["manual"], node["id"]), ()))
                 if t.lower() != title and 4 < len(t) < 60
                 and t.lower() not in GENERIC and re.search("[a-z]{3}", t)]
        for text in rng.sample(texts, min(2, len(texts))):
            asked.append(("link", rng.choice(templates["link"]).format(
                t=text)))
        pairs += [(kind, question, i) for kind, question in asked]
        answers += [(question, answer, i) for question, answer in answered]
    # A question that fits several nodes of a manual has no right answer.
    times = {}
    for _, question, i in pairs:
        key = nodes[i]["manual"], question.lower()
        times[key] = times.get(key, 0) + 1
    pairs = [p for p in pairs
             if times[nodes[p[2]]["manual"], p[1].lower()] == 1]
    ids = [e.ids for e in tokenizer.encode_batch_fast([p[1] for p in pairs])]
    pairs = [(kind, np.array(q[:64], np.uint16), i, text) for
             (kind, text, i), q in zip(pairs, ids)]
    with open(os.path.join(args.work, "data.pkl"), "wb") as out:
        pickle.dump({"nodes": data, "pairs": pairs, "answers": answers}, out,
                    protocol=5)
    kinds = {}
    for pair in pairs:
        key = pair[0] + (" held" if data[pair[2]]["held"] else "")
        kinds[key] = kinds.get(key, 0) + 1
    log(args.work, stage="prepare", nodes=len(data),
        segments=sum(len(n["segments"]) for n in data),
        tokens=int(sum(len(s) for n in data for s in n["segments"])),
        answers=len(answers), **kinds)


def load_data(work):
    with open(os.path.join(work, "data.pkl"), "rb") as file:
        return pickle.load(file)


def training_stream(data):
    """All training text, node after node, <|end|> between nodes."""
    parts = []
    for node in data["nodes"]:
        if not node["held"]:
            parts += node["segments"] + [np.array([END], np.uint16)]
    return np.concatenate(parts)


def stage_init(args):
    """Embeddings start as word vectors: a factored table of co-occurrence
    (positive pointwise mutual information, window of 6), with some noise
    that keeps rare words apart."""
    torch.manual_seed(SEED)
    torch.set_num_threads(args.threads)
    stream = torch.from_numpy(training_stream(load_data(args.work))
                              .astype(np.int64))
    counts = torch.zeros(VOCAB * VOCAB)
    for distance in range(1, 7):
        counts += torch.bincount(
            stream[:-distance] * VOCAB + stream[distance:],
            minlength=VOCAB * VOCAB).float() / distance
    counts = counts.view(VOCAB, VOCAB)
    counts += counts.T.clone()
    total = counts.sum()
    row = counts.sum(0)
    context = row ** 0.75
    context /= context.sum()
    expected = row[:, None] * context[None]
    counts.div_(expected.clamp_min_(1e-9)).clamp_min_(1.0).log_()
    del expected
    u, s, _ = torch.svd_lowrank(counts, q=D + 32, niter=2)
    vectors = F.normalize(u[:, :D] * s[:D] ** 0.5, dim=-1) * D ** 0.5
    # A rotation spreads the strongest directions over all dimensions.
    q, _ = torch.linalg.qr(torch.randn(D, D))
    vectors = vectors @ q
    vectors[row < 1] = 0
    mixed = 0.85 * vectors + 0.5 * torch.randn(VOCAB, D)
    model = Quill()
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(mixed * SCALE)
    save(os.path.join(args.work, "init.pt"), {"model": model.state_dict()})
    log(args.work, stage="init", train_tokens=len(stream),
        parameters=sum(p.numel() for p in model.parameters()),
        pairs=int(total))


# ---- language modelling ----


class Text:
    """Rows for language modelling: manuals, and grounded answers."""

    def __init__(self, work, data):
        self.stream = training_stream(data)
        self.tokenizer = load_tokenizer(work)
        self.data = data
        nodes = data["nodes"]
        self.answers = [a for a in data["answers"]
                        if not nodes[a[2]]["held"]]
        self.held = [a for a in data["answers"] if nodes[a[2]]["held"]]

    def prompt(self, example, rng, most=2):
        """The ids of a prompt and of its answer."""
        question, answer, i = example
        nodes = self.data["nodes"]
        node = nodes[i]
        target = np.array(self.tokenizer.encode(" " + answer).ids, np.uint16)
        passages = []
        own = self.passage(node, target)
        family = nodes[node["parent"]]["children"] if node["parent"] >= 0 \
            else [i]
        for _ in range(rng.randint(0, most)):
            other = rng.choice(family)
            if other == i or rng.random() < 0.3:
                other = rng.randrange(len(nodes))
            if other != i and nodes[other]["own"]:
                passages.append(nodes[other]["segments"][0][:rng.randint(
                    30, 90)])
        where = rng.randint(0, len(passages))
        passages.insert(where, own)
        parts = []
        for k, passage in enumerate(passages):
            parts += [self.ids("[%d] " % (k + 1)), passage, self.ids("\n\n")]
        parts.append(self.ids("Question: %s\nAnswer:" % question))
        tail = self.ids(" [%d]" % (where + 1))
        return np.concatenate(parts), np.concatenate(
            [target, tail, np.array([END], np.uint16)])

    def ids(self, text):
        return np.array(self.tokenizer.encode(text).ids, np.uint16)

    def passage(self, node, target):
        """The part of the node that holds the answer."""
        probe = target[1:-1].tobytes()
        for s, segment in enumerate(node["segments"]):
            at = segment.tobytes().find(probe)
            if at >= 0:
                at //= 2
                if at + len(target) < 110:
                    return segment[:130]
                return np.concatenate([segment[:node["title"] + 1] if s == 0
                                       else segment[:0],
                                       segment[max(0, at - 24):
                                               at + len(target) + 24]])
        return node["segments"][0][:130]

    def batch(self, rng, rows, length, answers):
        """ids [rows, length + 1], weight of each target: whole prompts as
        text with weight 1 on the answer and `answers` elsewhere."""
        ids = np.full((rows, length + 1), PAD, np.int64)
        weight = np.zeros((rows, length), np.float32)
        for r in range(rows):
            at = 0
            while at < length - 40:
                prompt, target = self.prompt(rng.choice(self.answers), rng)
                both = np.concatenate([prompt, target])[:length + 1 - at]
                ids[r, at:at + len(both)] = both
                w = np.full(len(both), answers, np.float32)
                w[len(prompt):] = 1
                first = max(at, 1)
                weight[r, first - 1:at + len(both) - 1] = w[first - at:]
                at += len(both)
        return ids, weight

    def rows(self, rng, rows, length):
        ids = np.zeros((rows, length + 1), np.int64)
        for r in range(rows):
            at = rng.randrange(len(self.stream) - length - 1)
            ids[r] = self.stream[at:at + length + 1]
        return ids


def lm_loss(model, ids, weight=None, share=1.0):
    """Cross entropy; `share` < 1: of a random part of the positions, as the
    large vocabulary costs as much as all layers together."""
    device = model.cos.device
    ids = torch.from_numpy(ids).to(device)
    hidden = model.hidden(model.model.embed_tokens(ids[:, :-1])).flatten(0, 1)
    target = ids[:, 1:].flatten()
    if weight is not None:
        w = torch.from_numpy(weight).to(device).flatten()
        keep = w > 0
        loss = F.cross_entropy(model.logits(hidden[keep]), target[keep],
                               reduction="none")
        return (loss * w[keep]).sum() / w[keep].sum()
    if share < 1:
        keep = torch.rand(len(target), device=device) < share
        hidden, target = hidden[keep], target[keep]
    return F.cross_entropy(model.logits(hidden), target)


def stage_lm(args):
    text = Text(args.work, load_data(args.work))
    begin = [0]

    def loss(model, step, rng):
        if step % 4 == 3:
            ids, weight = text.batch(rng, 8 * args.scale, 384, 0.3)
            value = lm_loss(model, ids, weight)
            name = "answer_loss"
        else:
            rows, length = (3, 1024) if step % 16 == 0 else (12, 256)
            ids = text.rows(rng, rows * args.scale, length)
            value = lm_loss(model, ids, share=0.5)
            name = "loss"
        begin[0] += ids.size
        return value, {name: value.item(), "tokens": ids.size}

    train(args, "lm", ["init"], loss, 0.01, 0.003)


# ---- contrast ----


class Pairs:
    def __init__(self, data):
        self.nodes = data["nodes"]
        self.parent = np.array([n["parent"] for n in self.nodes])
        self.by_manual, self.of_node = {}, {}
        for pair in data["pairs"]:
            node = self.nodes[pair[2]]
            if node["held"]:
                continue
            self.of_node.setdefault(pair[2], []).append(pair)
            self.by_manual.setdefault(node["manual"], []).append(pair)
        for pool in self.by_manual.values():  # rare and most like questions
            pool += [p for p in pool if p[0] == "term"] * 2
        self.all = [p for m in self.by_manual.values() for p in m]
        # Families for the tree: parents with content whose children are asked
        # about.
        self.families = [
            i for i, n in enumerate(self.nodes)
            if not n["held"] and len(n["children"]) > 1 and i in self.of_node
            and sum(c in self.of_node for c in n["children"]) > 1]
        weight = {m: len(p) ** 0.7 for m, p in self.by_manual.items()}
        self.manuals = list(weight)
        self.weights = list(weight.values())
        # Keys of the latest batches: more negatives for nothing.
        self.bank, self.bank_nodes = torch.zeros(0, P), []
        self.bank_manual = None

    def related(self, batch):
        """[n, n + bank]: the same node again, its parent or its child."""
        a = np.array(batch)
        b = np.array(batch + self.bank_nodes)
        out = (a[:, None] == b) | (self.parent[a][:, None] == b) | (
            self.parent[b] == a[:, None])
        out[np.arange(len(a)), np.arange(len(a))] = False
        return torch.from_numpy(out)

    def remember(self, keys, nodes, most=768):
        self.bank = torch.cat([keys.detach(), self.bank])[:most]
        self.bank_nodes = (nodes + self.bank_nodes)[:most]

    def batch(self, rng, step, count, cap):
        """[(question, passage, node)], nodes distinct.  A few steps stay in
        one manual, whose keys of the steps before are negatives too; now and
        then a batch is of all manuals.  In a third of the batches rare tokens
        are exchanged for others, in questions and passages alike: words must
        match by what they are, also those that training never saw."""
        turn = random.Random(step // 8)
        if rng.random() < 0.85:
            manual = turn.choices(self.manuals, self.weights)[0]
            pool = self.by_manual[manual]
        else:
            manual, pool = None, self.all
        if manual != self.bank_manual:
            self.bank, self.bank_nodes = torch.zeros(0, P), []
        exchange = None
        if rng.random() < 0.33:
            exchange = np.arange(VOCAB, dtype=np.uint16)
            rare = exchange[1500:].copy()
            np.random.default_rng(step).shuffle(rare)
            exchange[1500:] = rare
            self.bank, self.bank_nodes = torch.zeros(0, P), []
            manual = None
        self.bank_manual = manual
        seen, out = set(), []
        for _ in range(count * 3):
            if len(out) == count:
                break
            at = rng.randrange(len(pool))
            for pair in pool[at:at + rng.choice((1, 1, 4))]:
                if pair[2] not in seen and len(out) < count:
                    seen.add(pair[2])
                    question = pair[1]
                    passage = self.passage(pair, rng, cap)
                    if exchange is not None:
                        question, passage = exchange[question], exchange[
                            passage]
                    out.append((question, passage, pair[2]))
        return out

    def passage(self, pair, rng, cap):
        node = self.nodes[pair[2]]
        segments = node["segments"]
        segment = segments[0]
        if pair[0] in ("term", "cloze") and len(segments) > 1:
            # The segment that shares most words with the question.
            words = set(pair[1].tolist())
            segment = max(segments[:6], key=lambda s: len(
                words & set(s.tolist())))
        title = min(node["title"] + 1, len(segment))
        if segment is segments[0] and len(segment) > title + 8:
            chance = 0.35 if pair[0] == "heading" else 0.15
            if rng.random() < chance:
                segment = segment[title:]
        return segment[:cap]


class Words:
    """What the words of a text alone say of it, in as many dimensions as keys
    have: the mean of its tokens' first embeddings, rare tokens weighing more,
    whitened.  Keys and queries learn that from every text before they learn
    better from pairs: questions alone teach far too slowly."""

    def __init__(self, work, data, pairs):
        self.table = latest(work, ["init"])[1]["model"][
            "model.embed_tokens.weight"].cpu().numpy()
        own = [n for n in data["nodes"] if n["own"] and not n["held"]]
        self.weight = self.rarity([n["segments"][0] for n in own])
        self.asked = np.minimum(self.weight, self.rarity(
            [p[1] for p in pairs.all]))
        rng = random.Random(SEED)
        rows = np.stack([self.mean(n["segments"][0], self.weight)
                         for n in rng.sample(own, min(6000, len(own)))])
        self.middle = rows.mean(0)
        values, vectors = np.linalg.eigh(np.cov((rows - self.middle).T))
        self.to = (vectors / np.sqrt(values))[:, ::-1][:, :P].astype(
            np.float32)

    @staticmethod
    def rarity(texts):
        count = np.ones(VOCAB)
        for text in texts:
            count[np.unique(text)] += 1
        return np.maximum(np.log(len(texts) / count), 0).astype(np.float32)

    def mean(self, text, weight):
        tokens, count = np.unique(text, return_counts=True)
        row = (weight[tokens] ** 1.5 * np.log1p(count)) @ self.table[tokens]
        return row / (np.linalg.norm(row) + 1e-6)

    def align(self, model, texts):
        """Turns the targets to where the model's keys already are."""
        with torch.no_grad():
            keys = F.normalize(model.keys(encode_all(
                model, texts, model.lectern.mem0).to(model.cos.device)), dim=-1)
        rows = np.stack([self.mean(t, self.weight) for t in texts])
        rows = (rows - self.middle) @ self.to
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        u, _, v = np.linalg.svd(rows.T @ keys.cpu().numpy())
        self.to = (self.to @ (u @ v)).astype(np.float32)

    def loss(self, vectors, texts, weight):
        rows = np.stack([self.mean(t, weight) for t in texts]) - self.middle
        target = torch.from_numpy((rows @ self.to).astype(np.float32))
        return 1 - F.cosine_similarity(vectors, target.to(vectors.device),
                                       dim=-1).mean()


def nce(queries, keys, targets, ban=None):
    score = queries @ keys.T
    if ban is not None:
        score = score.masked_fill(ban, -1e4)
    loss = F.cross_entropy(score, targets)
    hit = (score.argmax(-1) == targets).float().mean().item()
    return loss, hit


def norm_penalty(keys):
    """Keys of about one length: the cosine ranks as the score does."""
    return (keys.norm(dim=-1).clamp_min(1e-3) / P ** 0.5).log().square().mean()


def flat_loss(model, pairs, rng, step, count, cap, words=None):
    batch = pairs.batch(rng, step, count, cap)
    q = model.queries(model.encode([b[0] for b in batch], model.lectern.mem))
    m = model.encode([b[1] for b in batch], model.lectern.mem0)
    k = model.keys(m)
    targets = torch.arange(len(batch), device=k.device)
    # The parent or a child of the right node is not a negative.
    ban = pairs.related([b[2] for b in batch]).to(k.device)
    loss, hit = nce(q, torch.cat([k, pairs.bank.to(k.device)]), targets, ban)
    back = F.cross_entropy((q @ k.T).masked_fill(
        ban[:, :len(batch)], -1e4).T, targets)
    if pairs.bank_manual:
        pairs.remember(k, [b[2] for b in batch])
    total = loss + 0.3 * back + 0.1 * norm_penalty(k)
    tokens = sum(len(b[0]) + len(b[1]) + 4 for b in batch)
    figures = {"flat": loss.item(), "flat_hit": hit, "tokens": tokens}
    if words:
        of_k = words.loss(k, [b[1] for b in batch], words.weight)
        of_q = words.loss(q, [b[0] for b in batch], words.asked)
        total = total + 3 * (of_k + of_q)
        figures.update(words_k=of_k.item(), words_q=of_q.item())
    return total, figures


def tree_loss(model, pairs, rng, count, cap):
    """Families: children are encoded, aggregated (mean or attention), their
    parent is encoded with the recall over them."""
    nodes = pairs.nodes
    parents, seen = [], set()
    near = rng.randrange(len(pairs.families))
    for _ in range(count * 4):
        if len(parents) == count:
            break
        at = near + rng.randrange(60) if rng.random() < 0.5 else rng.randrange(
            len(pairs.families))
        i = pairs.families[at % len(pairs.families)]
        if i not in seen and nodes[i]["parent"] not in seen and not any(
                c in seen for c in nodes[i]["children"]):
            seen.add(i)
            parents.append(i)
    texts, slices, child_questions, own_questions = [], [], [], []
    for i in parents:
        children = nodes[i]["children"]
        if len(children) > 5:
            at = rng.randrange(len(children) - 4)
            children = children[at:at + 5]
        slices.append((len(texts), len(texts) + len(children)))
        texts += [nodes[c]["segments"][0][:cap] for c in children]
        asked = [c for c in children if c in pairs.of_node]
        if not asked:
            asked = [i]
        child_questions.append(rng.choice(pairs.of_node[rng.choice(asked)])[1])
        own_questions.append(rng.choice(pairs.of_node[i])[1])
    own = [nodes[i]["segments"][0][:cap] for i in parents]
    m = model.encode(texts, model.lectern.mem0)
    halves = [t[:max(1, min(len(t), SEGMENT // 2))] for t in own]
    n = len(parents)
    asked = model.encode(child_questions + own_questions + halves,
                         model.lectern.mem)
    q_child = model.queries(asked[:n])
    q_own = model.queries(asked[n:2 * n])
    halves = asked[2 * n:]
    mean = torch.stack([m[a:b].mean(0) for a, b in slices])
    attention = torch.stack([model.pool(m[a:b]) for a, b in slices])
    mode = rng.random()
    if mode < 0.4:
        recalled = mean
    elif mode < 0.6:
        recalled = attention
    else:
        recalled = torch.stack([model.recall(halves[i], m[a:b])
                                for i, (a, b) in enumerate(slices)])
    memory = model.encode(own, recalled)
    device = q_own.device
    targets = torch.arange(n, device=device)
    k_mean, k_attention = model.keys(mean), model.keys(attention)
    k_own, k_children = model.keys(memory), model.keys(m)
    by_mean, mean_hit = nce(q_child, k_mean, targets)
    by_attention, attention_hit = nce(q_child, k_attention, targets)
    # The parent's own questions: its memory against the others' and against
    # the children of the others.
    ban = torch.zeros(n, n + len(texts), dtype=torch.bool, device=device)
    for i, (a, b) in enumerate(slices):
        ban[i, n + a:n + b] = True
    by_own, own_hit = nce(q_own, torch.cat([k_own, k_children]), targets, ban)
    by_descent, descent_hit = nce(q_child, k_own, targets)
    total = by_own + 0.5 * by_descent + 0.5 * by_mean + 0.5 * by_attention \
        + 0.1 * (norm_penalty(k_own) + norm_penalty(k_children))
    tokens = sum(map(len, texts + own + child_questions + own_questions))
    return total, {"tree_own": by_own.item(), "own_hit": own_hit,
                   "mean_hit": mean_hit, "attention_hit": attention_hit,
                   "descent_hit": descent_hit, "tokens": tokens}


def stage_contrast(args):
    data = load_data(args.work)
    pairs, text = Pairs(data), Text(args.work, data)
    words, aligned = Words(args.work, data, pairs), []

    def loss(model, step, rng):
        if not aligned:
            own = [n for n in data["nodes"] if n["own"] and not n["held"]]
            words.align(model, [n["segments"][0][:48] for n in random.Random(
                SEED).sample(own, min(1200, len(own)))])
            aligned.append(True)
        if step % 12 == 7 and not args.no_text:  # keep the language
            ids, weight = text.batch(rng, 6 * args.scale, 384, 0.2)
            value = lm_loss(model, ids, weight)
            return value, {"answer_loss": value.item(), "tokens": ids.size}
        cap = rng.choice((32, 32, 48, 48, 64, 64, 96, 160))
        if step % 5 == 1:
            return tree_loss(model, pairs, rng, args.scale * (
                16 if cap > 64 else 24), min(cap, 96))
        return flat_loss(model, pairs, rng, step,
                         4096 * args.scale // (cap + 16), cap, words)

    train(args, "contrast", ["lm", "init"], loss, 0.01, 0.002)


def stage_answers(args):
    data = load_data(args.work)
    pairs, text = Pairs(data), Text(args.work, data)

    def loss(model, step, rng):
        if step % 3 == 2:  # keep the memories
            if step % 6 == 2:
                return tree_loss(model, pairs, rng, 16 * args.scale, 64)
            return flat_loss(model, pairs, rng, step, 64 * args.scale, 64)
        ids, weight = text.batch(rng, 8 * args.scale, 448, 0.0)
        value = lm_loss(model, ids, weight)
        return value, {"answer_loss": value.item(), "tokens": ids.size}

    train(args, "answers", ["contrast", "lm"], loss, 0.003, 0.001)


# ---- measuring ----

ALL = ["answers", "contrast", "lm", "init"]


def load_model(work, stage=None):
    found, saved = latest(work, [stage] if stage else ALL)
    model = Quill()
    model.load_state_dict(saved["model"])
    return model.eval(), found


def bm25(documents, queries, k1=1.2, b=0.75):
    """Scores [queries, documents] of lists of terms."""
    vocabulary, rows, columns, counts = {}, [], [], []
    for i, document in enumerate(documents):
        tally = {}
        for term in document:
            tally[term] = tally.get(term, 0) + 1
        for term, count in tally.items():
            vocabulary.setdefault(term, []).append((i, count))
    lengths = np.array([len(d) for d in documents], np.float32)
    norm = k1 * (1 - b + b * lengths / lengths.mean())
    scores = np.zeros((len(queries), len(documents)), np.float32)
    for r, query in enumerate(queries):
        for term in set(query):
            postings = vocabulary.get(term)
            if not postings:
                continue
            at = np.array([p[0] for p in postings])
            f = np.array([p[1] for p in postings], np.float32)
            idf = math.log(1 + (len(documents) - len(at) + 0.5)
                           / (len(at) + 0.5))
            scores[r, at] += idf * f * (k1 + 1) / (f + norm[at])
    return scores


def encode_all(model, texts, soft, batch=48):
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = torch.zeros(len(texts), D)
    with torch.no_grad():
        for k in range(0, len(order), batch):
            some = order[k:k + batch]
            out[some] = model.encode([texts[i] for i in some], soft).cpu()
    return out


def stage_eval(args):
    torch.set_num_threads(args.threads)
    data = load_data(args.work)
    tokenizer = load_tokenizer(args.work)
    model, found = load_model(args.work, args.stage)
    nodes = data["nodes"]
    rng = random.Random(SEED)
    results = {}
    for manual in args.manuals or sorted({n["manual"] for n in nodes
                                          if n["held"]}):
        own = [i for i, n in enumerate(nodes)
               if n["manual"] == manual and n["own"]]
        where = {i: k for k, i in enumerate(own)}
        asked = [p for p in data["pairs"] if p[2] in where]
        asked = rng.sample(asked, min(args.questions, len(asked)))
        documents = []
        for i in own:
            text = tokenizer.decode(np.concatenate(
                nodes[i]["segments"]).tolist())
            documents.append([w.lower() for w in WORD.findall(text)])
        lexical = bm25(documents, [[w.lower() for w in WORD.findall(p[3])]
                                   for p in asked])
        texts, owner = [], []
        for k, i in enumerate(own):
            for segment in nodes[i]["segments"][:args.segments]:
                texts.append(segment[:args.cap])
                owner.append(k)
        with torch.no_grad():
            keys = F.normalize(model.keys(encode_all(
                model, texts, model.lectern.mem0)), dim=-1)
            q = model.queries(encode_all(model, [p[1] for p in asked],
                                         model.lectern.mem))
            score = q @ keys.T
        dense = np.full((len(asked), len(own)), -1e9, np.float32)
        np.maximum.at(dense.T, np.array(owner), score.numpy().T)

        def ranks(scores):
            right = scores[np.arange(len(asked)),
                           [where[p[2]] for p in asked]]
            more = (scores > right[:, None]).sum(1)
            equal = (scores == right[:, None]).sum(1) - 1
            return more + equal // 2

        def order(scores):
            return (-scores).argsort(1).argsort(1)
        fused = 1 / (60 + order(lexical)) + 0.5 / (60 + order(dense))
        for name, scores in (("bm25", lexical), ("dense", dense),
                             ("fused", fused)):
            rank = ranks(scores)
            for kind in ["all", "heading", "term", "cloze", "link"]:
                mask = np.array([kind in ("all", p[0]) for p in asked])
                if mask.sum():
                    results.setdefault(manual, {}).setdefault(kind, {
                        "n": int(mask.sum())})[name] = [
                        round(float((rank[mask] < n).mean()), 3)
                        for n in (1, 10)]
    log(args.work, stage="eval", model=found, cap=args.cap,
        segments=args.segments, recall_at_1_and_10=results)
    if args.no_text:
        return
    text = Text(args.work, data)
    rng = random.Random(SEED)
    losses, shown = [], []
    with torch.no_grad():
        for k in range(40):
            prompt, target = text.prompt(rng.choice(text.held), rng)
            ids = np.concatenate([prompt, target])[None, :CONTEXT].astype(
                np.int64)
            weight = np.zeros((1, ids.shape[1] - 1), np.float32)
            weight[0, len(prompt) - 1:] = 1
            losses.append(lm_loss(model, ids, weight).item())
            if k < 6:
                out = generate(model, prompt)
                shown.append({"asked": tokenizer.decode(prompt.tolist())[-120:],
                              "right": tokenizer.decode(target.tolist()),
                              "given": tokenizer.decode(out)})
        rows = [lm_loss(model, segment[None].astype(np.int64)).item()
                for n in nodes if n["held"] and rng.random() < 0.03
                for segment in n["segments"][:1] if len(segment) > 64]
    log(args.work, stage="eval", model=found, held_loss=round(
        sum(rows) / len(rows), 3), held_answer_loss=round(
        sum(losses) / len(losses), 3), answers=shown)


def generate(model, prompt, most=48):
    ids = list(map(int, prompt))
    with torch.no_grad():
        for _ in range(most):
            hidden = model.hidden(model.model.embed_tokens(
                torch.tensor([ids])))[:, -1]
            ids.append(int(model.logits(hidden).argmax()))
            if ids[-1] == END:
                break
    return ids[len(prompt):]


# ---- export ----


def stage_export(args):
    from safetensors.torch import save_file
    model, found = load_model(args.work, args.stage)
    os.makedirs(args.dir, exist_ok=True)
    tensors = {k: v.to(torch.bfloat16).contiguous()
               for k, v in model.state_dict().items()}
    save_file(tensors, os.path.join(args.dir, "model.safetensors"),
              {"format": "pt", "stage": found})
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3",
        "hidden_size": D, "intermediate_size": FFN, "num_hidden_layers":
        LAYERS, "num_attention_heads": HQ, "num_key_value_heads": HKV,
        "head_dim": HEAD, "vocab_size": VOCAB, "max_position_embeddings":
        CONTEXT, "rms_norm_eps": EPS, "rope_theta": THETA, "hidden_act":
        "silu", "tie_word_embeddings": True, "attention_bias": False,
        "attention_dropout": 0.0, "use_sliding_window": False,
        "torch_dtype": "bfloat16", "eos_token_id": END, "pad_token_id": PAD}
    with open(os.path.join(args.dir, "config.json"), "w") as out:
        json.dump(config, out, indent=2)
        out.write("\n")
    with open(os.path.join(args.work, "tokenizer.json")) as file:
        tokenizer = file.read()
    with open(os.path.join(args.dir, "tokenizer.json"), "w") as out:
        out.write(tokenizer)
    os.chmod(os.path.join(args.dir, "model.safetensors"), 0o644)
    size = os.path.getsize(os.path.join(args.dir, "model.safetensors"))
    log(args.work, stage="export", source=found, bytes=size)


def stage_check(args):
    """The exported files against transformers, and a golden file."""
    from safetensors.torch import load_file, save_file
    from transformers import Qwen3ForCausalLM
    torch.set_num_threads(args.threads)
    tensors = load_file(os.path.join(args.dir, "model.safetensors"))
    ours = Quill()
    ours.load_state_dict({k: v.float() for k, v in tensors.items()})
    ours.eval()
    theirs = Qwen3ForCausalLM.from_pretrained(args.dir, dtype=torch.float32)
    coarse = Qwen3ForCausalLM.from_pretrained(args.dir, dtype=torch.bfloat16)
    theirs.eval(), coarse.eval()
    data = load_data(args.work)
    rng = random.Random(SEED)
    held = [n for n in data["nodes"] if n["held"] and n["own"]]
    golden, worst, rough, cosine = {}, 0.0, 0.0, 1.0
    mem0 = ours.lectern.mem0
    with torch.no_grad():
        for k, node in enumerate(rng.sample(held, 20)):
            segment = node["segments"][0].astype(np.int64)
            ids = torch.from_numpy(segment)[None]
            mine = ours.logits(ours.hidden(ours.model.embed_tokens(ids)))
            want = theirs(ids).logits
            low = coarse(ids).logits.float()
            worst = max(worst, ((mine - want).norm() / want.norm()).item())
            rough = max(rough, ((low - want).norm() / want.norm()).item())
            # E_mem0 by transformers itself: [mem0; X; mem0].
            embeds = torch.cat([mem0[None, None], theirs.model.embed_tokens(
                ids), mem0[None, None]], 1)
            memory = theirs.model(inputs_embeds=embeds).last_hidden_state[0,
                                                                          -1]
            own = ours.encode([segment], mem0)[0]
            cosine = min(cosine, F.cosine_similarity(memory, own, 0).item())
            golden["ids.%d" % k] = ids[0].int()
            golden["logits.%d" % k] = want[0, -1].contiguous()
            golden["mem0.%d" % k] = memory.contiguous()
            question = torch.cat([ours.lectern.mem[None, None],
                                  theirs.model.embed_tokens(ids[:, :128]),
                                  ours.lectern.mem[None, None]], 1)
            golden["mem.%d" % k] = theirs.model(
                inputs_embeds=question).last_hidden_state[0, -1].contiguous()
        # A parent's memory: recall over its children, both ways.
        a = [golden["mem0.%d" % k] for k in range(5)]
        children = torch.stack(a)
        golden["recall.mean"] = children.mean(0)
        golden["recall.attention"] = ours.pool(children).contiguous()
        golden["recall.children"] = ours.recall(
            golden["mem.5"], children).contiguous()
        for name in ("mean", "attention", "children"):
            golden["parent." + name] = ours.encode(
                [golden["ids.5"].numpy()], golden["recall." + name])[0]
    save_file(golden, os.path.join(args.dir, "golden.safetensors"))
    log(args.work, stage="check", f32_against_transformers=worst,
        bf16_against_f32=rough, least_cosine_of_memories=cosine)
    if worst > 1e-4 or cosine < 0.99999:
        sys.exit("the exported model differs from transformers'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    stages = ["tokenizer", "prepare", "init", "lm", "contrast", "answers",
              "eval", "export", "check"]
    parser.add_argument("command", choices=stages)
    parser.add_argument("work")
    parser.add_argument("dir", nargs="?")
    parser.add_argument("--until", help="HH:MM when the stage ends")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", type=int, default=1,
                        help="of a step's texts, for a larger machine")
    parser.add_argument("--stage", help="eval, export: of this stage")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--manuals", nargs="*", help="eval: only of these")
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--no-text", action="store_true",
                        help="eval: recall only; contrast: no language")
    parser.add_argument("--cap", type=int, default=SEGMENT)
    args = parser.parse_args()
    globals()["stage_" + args.command](args)


if __name__ == "__main__":
    main()
