#!/usr/bin/env python3
"""Trains quill-0, Lectern's own small model.  See README.md.

    quill0.py tokenizer WORK       byte-level BPE of the training manuals
    quill0.py prepare WORK         nodes, segments, questions as token ids
    quill0.py vectors WORK         word vectors from co-occurrence
    quill0.py words WORK           a bag of words learned from questions
    quill0.py build WORK           a model that computes what the bag does
    quill0.py pool WORK            weights of children when they are pooled
    quill0.py contrast WORK        questions towards sections, recall, pooling
    quill0.py prompts WORK         questions, passages and spans that answer
    quill0.py circuits WORK        circuits for writing, built
    quill0.py language WORK        language modelling
    quill0.py answers WORK         short grounded answers
    quill0.py eval WORK            recall on held-out manuals, against BM25
    quill0.py written WORK         what is written on held-out manuals
    quill0.py export WORK DIR      config.json, tokenizer.json, safetensors
    quill0.py check WORK DIR       against transformers and the engine

The training stages take --until HH:MM (local time) or --steps, begin from the
stage before, keep the best checkpoint as WORK/STAGE.pt, and append to
WORK/log.jsonl.
"""
import argparse
import datetime
import json
import math
import os
import pickle
import random
import re
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 20
VOCAB, D, LAYERS, HQ, HKV, HEAD, FFN, CONTEXT = (
    16384, 256, 4, 4, 4, 64, 640, 1024)
P, POOL = 256, 64  # widths of the projections of recall and of pooling
FREE = D - 6  # dimensions of an embedding that hold a word's vector
THETA, EPS = 10000.0, 1e-6
SCALE = 0.25  # of embeddings and of the last norm: memories re-enter as inputs
SEGMENT = 256
PROBE = ("sphinx", "zsh", "ntpsec")  # their questions choose checkpoints
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


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.zeros_(layer.weight)
    return layer


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = linear(D, HQ * HEAD)
        self.k_proj = linear(D, HKV * HEAD)
        self.v_proj = linear(D, HKV * HEAD)
        self.o_proj = linear(HQ * HEAD, D)
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
        self.gate_proj = linear(D, FFN)
        self.up_proj = linear(D, FFN)
        self.down_proj = linear(FFN, D)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(D, SCALE), Attention()
        self.post_attention_layernorm, self.mlp = Norm(D, SCALE), Mlp()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, D)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm(D, SCALE)


class Projections(nn.Module):
    def __init__(self, width):
        super().__init__()
        w = torch.randn(D, width) / (SCALE * D ** 0.5)
        self.wq = nn.Parameter(w.clone())
        self.wk = nn.Parameter(w.clone())


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = nn.Parameter(torch.zeros(D))
        self.mem0 = nn.Parameter(torch.zeros(D))
        self.recall, self.pool = Projections(P), Projections(POOL)


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
        # In a few groups of near lengths: less padding.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        size = max(8, -(-len(order) // 4))
        soft = soft.expand(len(texts), D)
        groups = [order[k:k + size] for k in range(0, len(order), size)]
        rows = torch.cat([self.encode_group([texts[i] for i in group],
                                            soft[group]) for group in groups])
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return rows[back.to(rows.device)]

    def encode_group(self, texts, soft):
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
        embeds = torch.where(torch.from_numpy(is_soft).to(device)[..., None],
                             soft[:, None], embeds)
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
        score = (children @ w.wq) @ (children @ w.wk).T / POOL ** 0.5
        score = score.masked_fill(torch.eye(n, dtype=torch.bool,
                                            device=score.device), -math.inf)
        weight = score.softmax(-1).sum(0)
        return (weight / weight.sum()) @ children

    def keys(self, memories):
        return memories @ self.lectern.recall.wk

    def queries(self, questions):
        """Scaled: queries . keys is the routing score."""
        return questions @ self.lectern.recall.wq / P ** 0.5


# ---- stages' common loop ----


class Clock:
    """How much of a stage is done: by time or by steps."""

    def __init__(self, args):
        self.steps, self.begin, self.end = args.steps, time.time(), None
        if args.until:
            hour, minute = map(int, args.until.split(":"))
            now = datetime.datetime.now()
            end = now.replace(hour=hour, minute=minute, second=0)
            self.end = end.timestamp()

    def progress(self, step):
        if self.end:
            return min(1.0, (time.time() - self.begin)
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


def saved(work, name):
    path = os.path.join(work, name + ".pt")
    if not os.path.exists(path):
        sys.exit("no " + path)
    return torch.load(path, map_location="cpu")


def train(args, stage, before, probe, batch_loss, fixed, begin=None,
          every=150):
    """batch_loss(model, step, rng) -> loss, {figures}; parameters of `fixed`
    (parts of names) stay.  `begin(model)` changes what it begins from.  Keeps
    what the probe found best, the beginning included."""
    torch.set_num_threads(args.threads)
    path = os.path.join(args.work, stage + ".pt")
    model = Quill()
    model.load_state_dict(saved(args.work, before))
    if begin:
        begin(model)
    model.to(args.device)
    # The table stays as the bag learned it: steps of so few texts, and the
    # language's above all, would spoil rare words.
    for name, p in model.named_parameters():
        p.requires_grad_(not any(part in name for part in fixed))
    optimizer = torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad], lr=args.rate,
        betas=(0.9, 0.98))
    clock, step, sums, tokens, best = Clock(args), 0, {}, 0, -1.0
    noted = probed = time.time()

    def measure():
        found = probe(model)
        good = sum(found)
        log(args.work, stage=stage, step=step, probe=found, kept=good > best)
        if good > best:
            save(path, model.state_dict())
        return max(good, best)

    best = measure()
    while True:
        progress = clock.progress(step)
        if progress >= 1:
            break
        rng = random.Random(SEED * 1000003 + step)
        torch.manual_seed(SEED * 1000003 + step)
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1.0, (step + 1) / 20,
                                          (1 - progress) / 0.6 + 0.02)
        loss, figures = batch_loss(model, step, rng)
        loss.backward()
        for name, p in model.named_parameters():
            # What is written to the marks and the tokens' weights stays: a
            # little there changes a lot.
            if p.grad is not None and ("o_proj" in name or "down_" in name):
                p.grad[:6] = 0
        figures["norm"] = nn.utils.clip_grad_norm_(model.parameters(),
                                                   1.0).item()
        optimizer.step()
        optimizer.zero_grad()
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
        if time.time() - probed > every:
            best, probed = measure(), time.time()
    measure()


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


# ---- questions and their sections ----


class Pairs:
    """Questions and the nodes they ask for; training manuals only."""

    def __init__(self, data):
        self.nodes = data["nodes"]
        self.parent = np.array([n["parent"] for n in self.nodes])
        self.by_manual, self.of_node = {}, {}
        for pair in data["pairs"]:
            node = self.nodes[pair[2]]
            if node["held"] or node["manual"] in PROBE:
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
        self.manuals = list(self.by_manual)
        self.weights = [len(p) ** 0.7 for p in self.by_manual.values()]

    def related(self, nodes):
        """[n, n]: the parent or a child of the right node: no negative."""
        a = np.array(nodes)
        out = (self.parent[a][:, None] == a) | (
            self.parent[a] == a[:, None]) | (a[:, None] == a)
        np.fill_diagonal(out, False)
        return torch.from_numpy(out)

    def mine(self, bag):
        """Keys of all asked sections, for `near`."""
        self.asked = sorted(self.of_node)
        with torch.no_grad():
            self.keys = torch.cat([
                bag.key([self.nodes[i]["segments"][0][:96]
                         for i in self.asked[k:k + 1000]], False).cpu()
                for k in range(0, len(self.asked), 1000)])

    def near(self, rng, count, cap, size=16):
        """Like `batch`, of groups of sections that the bag finds alike: a few
        hundred of one kind are harder to tell apart than any of a manual."""
        seeds = [rng.randrange(len(self.asked)) for _ in range(count // size)]
        alike = self.keys[seeds] @ self.keys.T
        alike[alike > 0.95] = -1  # copies
        alike[torch.arange(len(seeds)), seeds] = 1
        seen, out = set(), []
        for k in alike.topk(size, 1).indices.flatten().tolist():
            node = self.asked[k]
            if node not in seen:
                seen.add(node)
                pair = rng.choice(self.of_node[node])
                out.append((pair[1], self.passage(pair, rng, cap), node))
        return out

    def batch(self, rng, count, cap, same):
        """[(question, passage, node)], nodes distinct; of one manual with the
        chance `same`."""
        pool = self.all
        if rng.random() < same:
            pool = self.by_manual[rng.choices(self.manuals, self.weights)[0]]
        seen, out = set(), []
        for _ in range(count * 3):
            if len(out) == count:
                break
            pair = rng.choice(pool)
            if pair[2] not in seen:
                seen.add(pair[2])
                out.append((pair[1], self.passage(pair, rng, cap), pair[2]))
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


class Probe:
    """Questions of training manuals that no training asks: what a checkpoint
    is chosen by."""

    def __init__(self, data, most=200, cap=64):
        self.manuals = []
        for manual in PROBE:
            own = [i for i, n in enumerate(data["nodes"])
                   if n["manual"] == manual and n["own"]]
            own = random.Random(SEED).sample(own, min(300, len(own)))
            where = {i: k for k, i in enumerate(own)}
            asked = [p for p in data["pairs"] if p[2] in where]
            asked = random.Random(SEED).sample(asked, min(most, len(asked)))
            self.manuals.append((
                [p[1] for p in asked],
                [data["nodes"][i]["segments"][0][:cap] for i in own],
                torch.tensor([where[p[2]] for p in asked])))

    def model(self, model):
        with torch.no_grad():
            return self.recall(
                lambda texts: model.queries(encode_all(
                    model, texts, model.lectern.mem)),
                lambda texts: F.normalize(model.keys(encode_all(
                    model, texts, model.lectern.mem0)), dim=-1))

    def recall(self, queries, keys):
        """Mean recall@1 and @10; keys are unit vectors."""
        found = []
        for asked, passages, right in self.manuals:
            score = (queries(asked) @ keys(passages).T).cpu()
            rank = (score > score.gather(1, right[:, None])).sum(1)
            found.append([(rank < n).float().mean().item() for n in (1, 10)])
        return [round(x, 4) for x in np.mean(found, 0).tolist()]


def nce(queries, keys, ban=None):
    """Question i to key i, and back less; ban: neither right nor wrong."""
    score = queries @ keys.T
    if ban is not None:
        score = score.masked_fill(ban, -1e4)
    n = len(score)
    targets = torch.arange(n, device=score.device)
    loss = F.cross_entropy(score, targets) \
        + 0.3 * F.cross_entropy(score[:, :n].T, targets)
    return loss, (score.argmax(-1) == targets).float().mean().item()


# ---- bags of words: what the model begins with ----


def stage_vectors(args):
    """WORK/vectors.pt: word vectors, a factored table of co-occurrence
    (positive pointwise mutual information, window of 6)."""
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
    row = counts.sum(0)
    context = row ** 0.75
    context /= context.sum()
    expected = row[:, None] * context[None]
    counts.div_(expected.clamp_min_(1e-9)).clamp_min_(1.0).log_()
    del expected
    u, s, _ = torch.svd_lowrank(counts, q=FREE + 32, niter=2)
    vectors = F.normalize(u[:, :FREE] * s[:FREE] ** 0.5, dim=-1)
    vectors[row < 1] = 0
    save(os.path.join(args.work, "vectors.pt"), {"vectors": vectors})
    log(args.work, stage="vectors", train_tokens=len(stream))


def stem(word):
    for end in ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "es",
                "ed", "er", "s", "e"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            word = word[:-len(end)] + "i" * (end in ("ies", "ied"))
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word


def tokens_forms(tokenizer):
    """For every token the number of its form: without case, the mark or space
    before it, and endings.  And which tokens hold a newline."""
    numbers, forms, newline = {}, [], []
    for i in range(VOCAB):
        text = tokenizer.decode([i])
        form = stem(re.sub(r"^[\W_]+", "", text).lower()) or text
        forms.append(numbers.setdefault(form, len(numbers)))
        newline.append("\n" in text)
    return torch.tensor(forms), torch.tensor(newline)


class Bag(nn.Module):
    """A text as the weighted mean of its tokens' vectors: exactly what the
    model computes that `build` makes of it.  A token weighs by what it is, in
    questions and in passages apart, and in passages less after newlines:
    titles weigh more."""

    def __init__(self, newline):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(VOCAB, FREE))
        self.asked = nn.Parameter(torch.zeros(VOCAB))
        self.said = nn.Parameter(torch.zeros(VOCAB))
        # Of a passage's tokens, after n newlines: first * sink / (sink + n).
        self.first = nn.Parameter(torch.tensor(1.0))
        self.log_sink = nn.Parameter(torch.tensor(0.7))
        self.matrix = nn.Parameter(torch.eye(FREE, P))
        self.bias = nn.Parameter(torch.zeros(P))
        self.log_scale = nn.Parameter(torch.tensor(3.0))
        self.register_buffer("newline", newline)

    def sink(self):
        return self.log_sink.exp().clamp_min(1.05)

    def mean(self, texts, question):
        ids = torch.from_numpy(np.concatenate(texts).astype(np.int64))
        begin = torch.tensor(np.cumsum([0] + [len(t) for t in texts[:-1]]))
        row = torch.tensor(np.repeat(np.arange(len(texts)),
                                     [len(t) for t in texts]))
        ids, begin, row = (x.to(self.table.device) for x in (ids, begin, row))
        weight = (self.asked if question else self.said)[ids]
        if not question:
            lines = self.newline[ids].float().cumsum(0)
            before = lines[begin] - self.newline[ids[begin]].float()
            lines = lines - before[row]
            weight = weight + self.first * self.sink() / (self.sink() + lines)
        weight = weight.clamp(-9, 5).exp()
        total = torch.zeros(len(texts), device=weight.device).index_add(
            0, row, weight)
        return F.embedding_bag(ids, F.normalize(self.table, dim=-1), begin,
                               mode="sum", per_sample_weights=weight
                               ) / total[:, None]

    def key(self, texts, question):
        mean = self.mean(texts, question)
        return F.normalize(mean @ self.matrix + self.bias, dim=-1)

    def start(self, vectors, forms, passages):
        """Vectors of co-occurrence, a random one of the form, a random one of
        the token; weights of rarity; whitened by the passages."""
        seen = torch.ones(VOCAB)
        for text in passages:
            seen[np.unique(text).astype(np.int64)] += 1
        rarity = (len(passages) / seen).log().clamp_min(0.07)
        # Their strongest directions are damped: words are to be told apart.
        u, s, _ = torch.svd_lowrank(vectors - vectors.mean(0), q=FREE, niter=2)
        vectors = F.normalize(u * s ** 0.5, dim=-1)
        form = F.normalize(torch.randn(int(forms.max()) + 1, FREE), dim=-1)
        own = F.normalize(torch.randn(VOCAB, FREE), dim=-1)
        with torch.no_grad():
            self.table.copy_(F.normalize(
                vectors + form[forms] + 0.5 * own, dim=-1))
            self.asked.copy_(1.5 * (rarity / 5).log())
            self.said.copy_(self.asked)
            rows = self.mean([t[:128] for t in passages[:8000]], False)
            middle = rows.mean(0)
            values, to = torch.linalg.eigh((rows - middle).T @ (rows - middle)
                                           / len(rows))
            to = to / values.clamp_min(1e-6).sqrt() @ to.T / P ** 0.5
            self.matrix.zero_()
            self.matrix[:, :FREE] = to
            self.bias.copy_(-middle @ self.matrix)


def some_words(segment, weight, rng):
    """A question of a text's own words: neighbours, or rare ones."""
    segment = segment[:128]
    count = rng.randint(3, 8)
    if rng.random() < 0.5:
        at = rng.randrange(max(1, len(segment) - count))
        return segment[at:at + count]
    words = np.unique(segment)
    noise = [-math.log(-math.log(rng.random())) for _ in words]
    return words[np.argsort(-(weight[words] + noise))[:count]]


def stage_words(args):
    """WORK/words.pt: a bag of words learned from questions and sections; a
    hundred times cheaper than the model, so it sees all of them many times."""
    torch.manual_seed(SEED)
    torch.set_num_threads(args.threads)
    data = load_data(args.work)
    pairs, probe = Pairs(data), Probe(data)
    forms, newline = tokens_forms(load_tokenizer(args.work))
    bag = Bag(newline)
    own = [n["segments"][0] for n in data["nodes"]
           if n["own"] and not n["held"]]
    random.Random(SEED).shuffle(own)
    vectors = torch.load(os.path.join(args.work, "vectors.pt"))["vectors"]
    bag.start(vectors, forms, own)
    bag.to(args.device)
    rarity = bag.said.detach().cpu().numpy().copy()
    optimizer = torch.optim.Adam(
        [{"params": [bag.table], "base": 0.0015},  # slow: words, not texts
         {"params": [bag.asked, bag.said], "base": 0.01},
         {"params": [bag.matrix, bag.bias], "base": 0.001},
         {"params": [bag.first, bag.log_sink, bag.log_scale], "base": 0.03}],
        betas=(0.9, 0.98))
    path = os.path.join(args.work, "words.pt")
    clock, step, noted, losses, best = Clock(args), 0, time.time(), [], -1

    def measure(progress):
        with torch.no_grad():
            found = probe.recall(lambda t: bag.key(t, True),
                                 lambda t: bag.key(t, False))
        log(args.work, stage="words", step=step, progress=round(progress, 3),
            loss=round(sum(losses) / max(1, len(losses)), 3), probe=found,
            first=round(bag.first.item(), 3), sink=round(bag.sink().item(), 3))
        if found[1] > best:
            save(path, bag.state_dict())
        return max(best, found[1])

    best = measure(0.0)
    while clock.progress(step) < 1:
        progress = clock.progress(step)
        rng = random.Random(SEED * 1000003 + step)
        cap = rng.choice((64, 128, 128, 192))
        if progress >= 0.3 and step % 8:
            if not hasattr(pairs, "keys") or step % 150 == 1:
                pairs.mine(bag)
            batch = pairs.near(rng, 512, cap)
        else:
            batch = pairs.batch(rng, 512, cap, 0.6)
        for k, (_, passage, node) in enumerate(batch):
            if rng.random() < 0.1:
                batch[k] = some_words(passage, rarity, rng), passage, node
        q = bag.key([b[0] for b in batch], True)
        m = bag.key([b[1] for b in batch], False)
        ban = pairs.related([b[2] for b in batch]).to(q.device)
        loss, _ = nce(q * bag.log_scale.exp(), m, ban)
        optimizer.zero_grad()
        loss.backward()
        factor = min(1.0, (step + 1) / 10, 0.02 + 1 - progress)
        for group in optimizer.param_groups:
            group["lr"] = group["base"] * factor
        optimizer.step()
        losses.append(loss.item())
        step += 1
        if time.time() - noted > 30:
            best, losses = measure(progress), []
            noted = time.time()
    measure(1.0)


# ---- the model made of the bag ----

# What the first dimensions of embeddings are: the same for all tokens, the
# token's weight in questions and in passages, the marks of mem and of mem0,
# and of tokens that hold a newline.
SAME, ASKED, SAID, MEM, MEM0, NEWLINE = range(6)
TOKEN, MARK = 1.5, 3.0  # of SAME and NEWLINE; of the marks
NAT = 0.03 * TOKEN  # of a weight's nat
GAIN = 8.0  # of a mean of unit vectors, in the residual stream


def build_embeddings(model, bag):
    rows = model.model.embed_tokens.weight
    rows.zero_()
    rows[:, SAME] = TOKEN
    rows[:, ASKED] = NAT * (bag.asked - bag.asked.median()).clamp(-6, 6)
    rows[:, SAID] = NAT * (bag.said - bag.said.median()).clamp(-6, 6)
    rows[bag.newline, NEWLINE] = TOKEN
    rest = (SCALE ** 2 * D - rows.square().sum(1, keepdim=True)).sqrt()
    rows[:, 6:] = rest * F.normalize(bag.table, dim=-1)
    model.lectern.mem[MEM] = model.lectern.mem0[MEM0] = MARK
    return rest.mean()


def build_lines(attention, bag):
    """Layer 0, head 0: how many newlines came before raises a token's weight
    or does not.  A token looks at the soft token before the text (weight
    `sink`) and at newlines (1 each), all else is e^-11.  Heads 1, 2: the token
    before and the one before that, not yet passed on."""
    soft, low = [MEM, MEM0], HEAD // 2 - 1  # the slowest rotation
    q, k = attention.q_proj.weight, attention.k_proj.weight
    v, o = attention.v_proj.weight, attention.o_proj.weight
    gain = 0.7
    near = 1 - bag.sink().log() / (8 * gain)
    q[low, SAME] = 1
    k[low, soft] = 1
    k[low, SAME] = -1
    k[low, NEWLINE] = 1 + near
    k[low - 1, NEWLINE] = (1 - near ** 2).sqrt()
    v[0, soft] = 1 / (SCALE * D ** 0.5)
    o[SAID, 0] = NAT * bag.first
    attention.q_norm.weight[[low - 1, low]] = gain
    fast = torch.arange(8)  # pairs of the fastest rotations
    angle = THETA ** (-2.0 * fast / HEAD)
    for head in (1, 2):
        first = head * HEAD
        q[first + fast, SAME] = (head * angle).cos()
        q[first + fast + HEAD // 2, SAME] = -(head * angle).sin()
        k[first + fast, SAME] = 1
    attention.q_norm.weight[:8] = 4
    attention.q_norm.weight[HEAD // 2:HEAD // 2 + 8] = 4
    v[HEAD:, 6:] = torch.randn(HKV * HEAD - HEAD, FREE) * FREE ** -0.5


def build_mean(attention, gain):
    """A soft token looks at all tokens by their weights and takes the mean of
    their vectors."""
    soft, low = [MEM, MEM0], HEAD // 2 - 1
    for head in range(HKV):
        q = attention.q_proj.weight[head * HEAD:]
        k = attention.k_proj.weight[head * HEAD:]
        q[low - 1, MEM] = q[low, MEM0] = 1
        k[low - 2, SAME] = 1
        k[low - 1, ASKED] = k[low, SAID] = 1
        k[low - 1, soft] = k[low, soft] = -1
    attention.q_norm.weight[[low - 1, low]] = TOKEN / NAT / 8
    attention.v_proj.weight[:, 6:] = torch.eye(D)[:, 6:]
    attention.o_proj.weight[6:, :] = gain * torch.eye(D)[6:, :]


def load_bag(work):
    bag = Bag(torch.zeros(VOCAB, dtype=torch.bool))
    bag.load_state_dict(saved(work, "words"))
    return bag


def stage_build(args):
    """WORK/build.pt: a model that computes the bag's keys."""
    torch.manual_seed(SEED)
    torch.set_num_threads(args.threads)
    data = load_data(args.work)
    bag = load_bag(args.work)
    model, probe = Quill(), Probe(data)
    with torch.no_grad():
        length = build_embeddings(model, bag)
        for i, layer in enumerate(model.model.layers):
            if i == 0:
                build_lines(layer.self_attn, bag)
            else:
                build_mean(layer.self_attn, GAIN / length if i == 1 else 0.0)
            layer.mlp.gate_proj.weight.normal_(std=SCALE)
            layer.mlp.up_proj.weight.normal_(std=SCALE)
            layer.mlp.down_proj.weight.normal_(std=0.05 * SCALE * FFN ** -0.5)
            layer.mlp.down_proj.weight[:6] = 0
        own = [n["segments"][0][:128] for n in data["nodes"]
               if n["own"] and not n["held"]]
        texts = random.Random(SEED).sample(own, 300)
        asked = random.Random(SEED).sample(Pairs(data).all, 300)
        asked = [p[1] for p in asked]
        w = model.lectern.recall
        w.wk.zero_()
        w.wk[6:] = bag.matrix / GAIN
        w.wk[MEM] = w.wk[MEM0] = bag.bias / MARK
        w.wq.copy_(w.wk)
        keys = model.keys(encode_all(model, texts, model.lectern.mem0))
        queries = encode_all(model, asked, model.lectern.mem) @ w.wq
        close = [F.cosine_similarity(a, b).mean().item() for a, b in (
            (keys, bag.key(texts, False)), (queries, bag.key(asked, True)))]
        # Keys of length sqrt(P), scores of the bag's scale.
        w.wk *= P ** 0.5 / keys.norm(dim=-1).mean()
        w.wq *= bag.log_scale.exp() / queries.norm(dim=-1).mean()
    save(os.path.join(args.work, "build.pt"), model.state_dict())
    log(args.work, stage="build", cosine_to_the_bag=close,
        parameters=sum(p.numel() for p in model.parameters()),
        probe=probe.model(model))


# ---- pooling ----


class Families:
    """Memories of families' children and keys of questions about them, all
    computed once: padded to the widest family."""

    def __init__(self, model, data, families, of_node, rng, cap=96, widest=40):
        texts, asked, self.manual = [], [], []
        own, family = [], []
        for i in families:
            children = [c for c in data["nodes"][i]["children"]
                        if data["nodes"][c]["own"]]
            if len(children) > widest:
                at = rng.randrange(len(children) - widest + 1)
                children = children[at:at + widest]
            questions = [p for c in children for p in of_node.get(c, [])]
            if not questions:
                continue
            for p in rng.sample(questions, min(6, len(questions))):
                asked.append(p[1])
                family.append(len(own))
            own.append((len(texts), len(children)))
            texts += [data["nodes"][c]["segments"][0][:cap] for c in children]
            self.manual.append(data["nodes"][i]["manual"])
        memories = encode_all(model, texts, model.lectern.mem0, 192)
        width = max(n for _, n in own)
        self.children = torch.zeros(len(own), width, D)
        self.there = torch.zeros(len(own), width, dtype=torch.bool)
        for f, (at, n) in enumerate(own):
            self.children[f, :n] = memories[at:at + n]
            self.there[f, :n] = True
        with torch.no_grad():
            self.queries = model.queries(encode_all(
                model, asked, model.lectern.mem, 512))
        self.family = torch.tensor(family)
        self.of_manual = {m: torch.tensor([
            f for f, x in enumerate(self.manual) if x == m])
            for m in dict.fromkeys(self.manual)}

    def aggregates(self, model, some, drop):
        """Quill.pool of many families, some children left out."""
        children, there = self.children[some], self.there[some]
        if drop:
            keep = there & (torch.rand(there.shape)
                            > drop * torch.rand(len(there), 1))
            there = torch.where(keep.sum(1, keepdim=True) < 3, there, keep)
        w = model.lectern.pool
        score = (children @ w.wq) @ (children @ w.wk).transpose(1, 2)
        hidden = ~there[:, None] | torch.eye(there.shape[1], dtype=torch.bool)
        weight = (score / POOL ** 0.5).masked_fill(hidden, -1e9).softmax(-1)
        weight = (weight * there[..., None]).sum(1)
        weight = weight / weight.sum(-1, keepdim=True)
        return (weight[:, None] @ children)[:, 0]

    def scores(self, model, some, drop=0.0):
        """Of the questions about these families: with each of them; right."""
        place = torch.full((len(self.children),), -1)
        place[some] = torch.arange(len(some))
        rows = (place[self.family] >= 0).nonzero()[:, 0]
        keys = unit(model.keys(self.aggregates(model, some, drop)))
        return self.queries[rows] @ keys.T, place[self.family[rows]]

    def measure(self, model):
        """Mean reciprocal rank, recall@1 and @10: families of one manual
        against each other."""
        found = []
        with torch.no_grad():
            for some in self.of_manual.values():
                score, right = self.scores(model, some)
                rank = (score > score.gather(1, right[:, None])).sum(1)
                found.append(torch.stack([1 / (1 + rank), rank < 1,
                                          rank < 10], 1).float())
        return [round(x, 4) for x in torch.cat(found).mean(0).tolist()]


def stage_pool(args, nodes=13000):
    """The pooling projections alone; the rest of the model stays."""
    torch.set_num_threads(args.threads)
    path = os.path.join(args.work, "families.pt")
    if os.path.exists(path):
        learn, probe, others = torch.load(path, weights_only=False)
    else:
        data = load_data(args.work)
        model = Quill()
        model.load_state_dict(saved(args.work, "build"))
        of_node, rng = {}, random.Random(SEED)
        for p in data["pairs"]:
            of_node.setdefault(p[2], []).append(p)
        size = [sum(data["nodes"][c]["own"] for c in n["children"])
                for n in data["nodes"]]
        every = [i for i, n in enumerate(data["nodes"])
                 if not n["held"] and size[i] > 1]
        rng.shuffle(every)
        probe = [i for i in every if data["nodes"][i]["manual"] in PROBE]
        # Two children weigh the same whatever the projections are.
        every = [i for i in every if size[i] > 2
                 and data["nodes"][i]["manual"] not in PROBE]
        learn, others, count = [], [], 0
        for k, i in enumerate(every):
            (others if k % 6 == 5 else learn).append(i)
            count += min(size[i], 40)
            if count > nodes:
                break
        learn, probe, others = (
            Families(model, data, some, of_node, rng)
            for some in (learn, probe, others))
        save(path, (learn, probe, others))
    log(args.work, stage="pool", families=[
        len(x.children) for x in (learn, probe, others)], questions=[
        len(x.queries) for x in (learn, probe, others)])
    manuals = list(learn.of_manual)
    weights = [len(learn.of_manual[m]) ** 0.7 for m in manuals]

    def begin(model):
        """From the mean towards the children least like their siblings in
        the keys' space: as much as the probe likes."""
        w = model.lectern.pool
        u, s, _ = torch.linalg.svd(model.lectern.recall.wk.data)
        w.wq.data = u[:, :POOL] * s[:POOL] / 4
        base, found = -w.wq.data.clone(), {}
        for gain in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0):
            w.wk.data = gain * base
            found[gain] = sum(measure(model))
        gain = max(found, key=found.get)
        w.wk.data = gain * base
        log(args.work, stage="pool", begins_with=gain)

    def loss(model, step, rng):
        if step % 2:
            some = learn.of_manual[rng.choices(manuals, weights)[0]]
        else:
            some = torch.arange(len(learn.children))
        some = some[torch.randperm(len(some))[:256]]
        score, right = learn.scores(model, some, 0.5)
        total = F.cross_entropy(score, right)
        return total, {"loss": total.item(), "tokens": 0, "hit": (
            score.argmax(-1) == right).float().mean().item()}

    def measure(model):
        a, b = probe.measure(model), others.measure(model)
        log(args.work, stage="pool", probe_manuals=a, other_families=b)
        return [a[0], b[0]]

    train(args, "pool", "build", measure, loss,
          ("model.", "lectern.mem", "lectern.recall"), begin, 10)


# ---- contrast ----


def norm_penalty(keys):
    """Keys of about one length: the cosine ranks as the score does."""
    return (keys.norm(dim=-1).clamp_min(1e-3) / P ** 0.5).log().square().mean()


def unit(keys):
    """Ranking is by unit keys; scores are as of keys of length sqrt(P)."""
    return F.normalize(keys, dim=-1) * P ** 0.5


def flat_loss(model, pairs, rng, count, cap):
    batch = pairs.near(rng, count, cap, 8) if rng.random() < 0.7 \
        else pairs.batch(rng, count, cap, 0.7)
    q = model.queries(model.encode([b[0] for b in batch], model.lectern.mem))
    k = model.keys(model.encode([b[1] for b in batch], model.lectern.mem0))
    ban = pairs.related([b[2] for b in batch]).to(k.device)
    loss, hit = nce(q, unit(k), ban)
    tokens = sum(len(b[0]) + len(b[1]) + 4 for b in batch)
    return loss + 0.1 * norm_penalty(k), {
        "flat": loss.item(), "flat_hit": hit, "tokens": tokens}


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
    k_mean, k_attention = (unit(model.keys(x)) for x in (mean, attention))
    k_own, k_children = model.keys(memory), model.keys(m)
    penalty = norm_penalty(k_own) + norm_penalty(k_children)
    k_own, k_children = unit(k_own), unit(k_children)
    by_mean, mean_hit = nce(q_child, k_mean)
    by_attention, attention_hit = nce(q_child, k_attention)
    # The parent's own questions: its memory against the others' and against
    # the children of the others.
    ban = torch.zeros(n, n + len(texts), dtype=torch.bool, device=device)
    for i, (a, b) in enumerate(slices):
        ban[i, n + a:n + b] = True
    by_own, own_hit = nce(q_own, torch.cat([k_own, k_children]), ban)
    by_descent, descent_hit = nce(q_child, k_own)
    total = by_own + 0.5 * by_descent + 0.5 * by_mean + 0.5 * by_attention \
        + 0.1 * penalty
    tokens = sum(map(len, texts + own + child_questions + own_questions))
    return total, {"tree_own": by_own.item(), "own_hit": own_hit,
                   "mean_hit": mean_hit, "attention_hit": attention_hit,
                   "descent_hit": descent_hit, "tokens": tokens}


def stage_contrast(args):
    data = load_data(args.work)
    pairs, probe = Pairs(data), Probe(data)
    pairs.mine(load_bag(args.work))

    def loss(model, step, rng):
        cap = rng.choice((48, 64, 96, 128))
        if step % 4 == 1:
            return tree_loss(model, pairs, rng, 20 * args.scale, min(cap, 96))
        return flat_loss(model, pairs, rng, args.scale * 8000 // (cap + 16),
                         cap)

    train(args, "contrast", "pool", probe.model, loss,
          ("embed", "q_proj", "k_proj", "q_norm", "k_norm"))


# ---- measuring ----

def load_model(args):
    model = Quill()
    model.load_state_dict(saved(args.work, args.stage))
    return model.eval()


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
    out = torch.zeros(len(texts), D, device=model.cos.device)
    with torch.no_grad():
        for k in range(0, len(order), batch):
            some = order[k:k + batch]
            out[some] = model.encode(
                [texts[i] for i in some],
                soft[some] if soft.ndim > 1 else soft)
    return out


def ranks(scores, right):
    """Of the right one in each row; equals share their places."""
    own = scores[np.arange(len(right)), right][:, None]
    return (scores > own).sum(1) + ((scores == own).sum(1) - 1) // 2


def recalls(rank):
    return [round(float((rank < n).mean()), 3) for n in (1, 10)]


def measure_parents(model, nodes, own, asked, memories, queries):
    """Children's questions find the aggregate of their family; parents'
    questions their parent's memory, by what it recalled."""
    at = {i: k for k, i in enumerate(own)}
    families = [(i, [at[c] for c in nodes[i]["children"] if c in at])
                for i in own]
    families = [(i, c) for i, c in families if len(c) > 1]
    if not families:
        return {}
    family = {i: f for f, (i, _) in enumerate(families)}
    of_child = {c: f for f, (_, children) in enumerate(families)
                for c in children}
    children_ask = [r for r, p in enumerate(asked) if at[p[2]] in of_child]
    parents_ask = [r for r, p in enumerate(asked) if p[2] in family]
    keys = F.normalize(model.keys(memories), dim=-1)
    mean = torch.stack([memories[c].mean(0) for _, c in families])
    attention = torch.stack([model.pool(memories[c]) for _, c in families])
    texts = [nodes[i]["segments"][0][:SEGMENT // 2] for i, _ in families]
    halves = encode_all(model, texts, model.lectern.mem)
    by_children = torch.stack([model.recall(halves[f], memories[c])
                               for f, (_, c) in enumerate(families)])
    out = {"families": len(families), "n_children": len(children_ask),
           "n_parents": len(parents_ask)}
    mine = np.array([of_child[at[asked[r][2]]] for r in children_ask])
    for name, vectors in (("mean", mean), ("attention", attention)):
        score = queries[children_ask] @ F.normalize(
            model.keys(vectors), dim=-1).T
        out["aggregate " + name] = recalls(ranks(score.numpy(), mine))
    where = [at[i] for i, _ in families]
    right = np.array([at[asked[r][2]] for r in parents_ask])
    for name, soft in (("off", model.lectern.mem0), ("aggregate", mean),
                       ("children", by_children)):
        own_keys = F.normalize(model.keys(encode_all(model, texts, soft)),
                               dim=-1)
        all_keys = keys.clone()
        all_keys[where] = own_keys
        out["recall %s, parents' questions" % name] = recalls(ranks(
            (queries[parents_ask] @ all_keys.T).numpy(), right))
        out["recall %s, children's questions" % name] = recalls(ranks(
            (queries[children_ask] @ own_keys.T).numpy(), mine))
    return out


def stage_eval(args):
    torch.set_num_threads(args.threads)
    data = load_data(args.work)
    tokenizer = load_tokenizer(args.work)
    model = load_model(args)
    nodes = data["nodes"]
    for manual in args.manuals or sorted({n["manual"] for n in nodes
                                          if n["held"]}):
        rng = random.Random(SEED)
        own = [i for i, n in enumerate(nodes)
               if n["manual"] == manual and n["own"]]
        where = {i: k for k, i in enumerate(own)}
        every = [p for p in data["pairs"] if p[2] in where]
        asked = rng.sample(every, min(args.questions, len(every)))
        documents = []
        for i in own:
            text = tokenizer.decode(np.concatenate(
                nodes[i]["segments"]).tolist())
            documents.append([w.lower() for w in WORD.findall(text)])
        lexical = bm25(documents, [[w.lower() for w in WORD.findall(p[3])]
                                   for p in asked])
        texts, owner, first = [], [], []
        for k, i in enumerate(own):
            first.append(len(texts))
            for segment in nodes[i]["segments"][:args.segments]:
                texts.append(segment[:args.cap])
                owner.append(k)
        with torch.no_grad():
            memories = encode_all(model, texts, model.lectern.mem0)
            keys = F.normalize(model.keys(memories), dim=-1)
            q = model.queries(encode_all(model, [p[1] for p in asked],
                                         model.lectern.mem))
            score = q @ keys.T
            parents = {} if args.no_parents else measure_parents(
                model, nodes, own, asked, memories[first], q)
        dense = np.full((len(asked), len(own)), -1e9, np.float32)
        np.maximum.at(dense.T, np.array(owner), score.numpy().T)
        right = np.array([where[p[2]] for p in asked])

        def order(scores):
            return (-scores).argsort(1).argsort(1)
        fused = 1 / (60 + order(lexical)) + 0.5 / (60 + order(dense))
        results = {}
        for name, scores in (("bm25", lexical), ("dense", dense),
                             ("fused", fused)):
            rank = ranks(scores, right)
            for kind in ["all", "heading", "term", "cloze", "link"]:
                mask = np.array([kind in ("all", p[0]) for p in asked])
                if mask.sum():
                    results.setdefault(kind, {"n": int(mask.sum())})[
                        name] = recalls(rank[mask])
        log(args.work, stage="eval", model=args.stage, manual=manual,
            cap=args.cap, segments=args.segments, recall_at_1_and_10=results,
            parents=parents)


# ---- export ----


def stage_export(args):
    from safetensors.torch import save_file
    model, found = load_model(args), args.stage
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
        "torch_dtype": "bfloat16", "eos_token_id": END, "pad_token_id": PAD,
        # What answers are prompted with; which are shown unasked (README.md).
        "lectern": {"prompt_tokens": 448, "passages": 3,
                    "passage_tokens": 130, "answer_threshold":
                    args.threshold}}
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


def engine_logits(args, model, golden):
    """The most that the engine's logits of the golden texts differ, of all
    their positions, in proportion."""
    from safetensors.torch import load_file
    rows, worst = os.path.join(args.work, "probe.safetensors"), 0.0
    for k in range(20):
        ids = golden["ids.%d" % k].long()
        subprocess.run([args.probe, "logits", "--model", args.dir, "--ids",
                        ",".join(map(str, ids.tolist())), "--out", rows],
                       check=True)
        with torch.no_grad():
            mine = model.logits(model.hidden(model.model.embed_tokens(
                ids[None])))[0]
        worst = max(worst, ((load_file(rows)["logits"] - mine).norm()
                            / mine.norm()).item())
    return worst


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
    save_file(golden, os.path.join(args.work, "golden.safetensors"))
    figures = {"f32_against_transformers": worst, "bf16_against_f32": rough,
               "least_cosine_of_memories": cosine}
    if args.probe:
        tokenizer = load_tokenizer(args.work)
        texts = [tokenizer.decode(golden["ids.%d" % k].tolist())
                 for k in range(20)]
        rows = os.path.join(args.work, "probe.safetensors")
        subprocess.run([args.probe, "embed", "--model", args.dir, "--out",
                        rows], text=True, check=True,
                       input="".join(json.dumps(t) + "\n" for t in texts))
        engine = load_file(rows)["embedding"].float()
        with torch.no_grad():
            mine = torch.stack([ours.encode(
                [tokenizer.encode(t).ids], mem0)[0] for t in texts])
        figures["engine_relative"] = ((engine - mine).norm(dim=1)
                                      / mine.norm(dim=1)).max().item()
        figures["engine_cosine"] = F.cosine_similarity(engine,
                                                       mine).min().item()
        figures["engine_logits"] = engine_logits(args, ours, golden)
    log(args.work, stage="check", **figures)
    if worst > 1e-4 or cosine < 0.99999 or figures.get(
            "engine_cosine", 1) < 0.9999 or figures.get(
            "engine_logits", 0) > 1e-4:
        sys.exit("the exported model differs from transformers' or ours")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    stages = ["tokenizer", "prepare", "vectors", "words", "build", "pool",
              "contrast", "prompts", "circuits", "language", "answers", "eval",
              "written", "export", "check"]
    parser.add_argument("command", choices=stages)
    parser.add_argument("work")
    parser.add_argument("dir", nargs="?")
    parser.add_argument("--until", help="HH:MM when the stage ends")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", type=int, default=1,
                        help="of a step's texts, for a larger machine")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--batch", type=int, default=4096,
                        help="language, answers: tokens of a step")
    parser.add_argument("--stage", default="answers",
                        help="eval, written, export: of this stage")
    parser.add_argument("--threshold", type=float, default=1,
                        help="export: tests/oracle/answer_threshold.py's")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--manuals", nargs="*", help="eval: only of these")
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--no-parents", action="store_true",
                        help="eval: no aggregates, no recall")
    parser.add_argument("--probe", help="check: the engine's build/probe")
    parser.add_argument("--cap", type=int, default=SEGMENT)
    args = parser.parse_args()
    if args.command == "prompts":
        import grounded as stages
    elif args.command in ("circuits", "language", "answers", "written"):
        import writing as stages
    else:
        stages = sys.modules[__name__]
    getattr(stages, "stage_" + args.command)(args)


if __name__ == "__main__":
    main()
