#!/usr/bin/env python3
"""Nib, the model that makes memories without layers: a text is the sum of its tokens' vectors, made unit length.

    nib.py vocabulary WORK           WORK/nib/tokenizer.json: WordPiece, of the manuals that are trained on
    nib.py teach WORK --teacher DIR --seconds N
                                     WORK/nib/DIR/taught.npz: another model's vectors of segments and questions; goes on
    nib.py learn WORK --teacher DIR  WORK/nib/DIR/table.npy [ENTRIES, WIDTH]
    nib.py join WORK --teacher DIR --teacher DIR
                                     WORK/nib/table.npy, of the tables of several teachers
    nib.py export WORK DIR           a folder as Model2Vec has it, rows in int8

WORK is that of run.sh: packs, and the questions that tasks.py makes of them.  An entry's vector begins as what the teacher
says of the entry alone, its length as the logarithm of its rarity (as Model2Vec, MinishLab 2024, does); then both are learned
from whole texts, so that their sums point where the teacher's vectors of these texts do, and order the passages of a step as
the teacher orders them for its questions.  The mean of TABLES tables of as many seeds is taken.  Of a teacher's vectors their mean
is taken off before: some have all texts near each other.  Tables of two teachers stand side by side, alike in length, so that
cosines are the mean of theirs, in the WIDTH directions that texts have most of.
"""
import argparse
import json
import lzma
import os
import random
import shutil
import time

import numpy as np
import torch
import torch.nn.functional as F

from corpus_pack import manuals
from quill_teacher import Encoder

ENTRIES, WIDTH, SEED = 28672, 256, 47
WORDS, OVERLAP = 96, 16  # of a segment
PASSAGES, QUESTIONS, NEAR = 512, 256, 12  # of a step; passages that a question is told apart from
SHARP, RANKED = 20.0, 0.5  # of the teacher's cosines; what order counts beside direction
TABLES, LONGEST = 4, 128  # whose mean it is; tokens that Lectern gives it at once
JOINED = 8000, 6000  # segments and questions whose vectors choose the directions of several tables
ASKED = "erlang openvswitch cmake debian-reference gimp grass libvirt lilypond maxima ntpsec rrdtool slurm valgrind zsh".split()


def segments_of(nodes):
    """Pieces of a node's text behind its parent's title and its own, as Lectern puts them, but cut by words."""
    for node in nodes:
        if node.get("duplicate"):
            continue
        above = nodes[node["parent"]]["title"] + ": " if node["parent"] >= 0 else ""
        words = " ".join(text for _, _, text in node["blocks"]).split()
        for at in range(0, max(1, len(words) - OVERLAP), WORDS - OVERLAP):
            yield above + node["title"] + "\n" + " ".join(words[at:at + WORDS])


def questions_of(work):
    """Those that a model has written as people ask, then those that tasks.py makes."""
    with lzma.open(os.path.join(work, "tasks.jsonl.xz"), "rt") as lines:
        made = [json.loads(line) for line in lines]
    made = [t["question"] for t in made if t["use"] == "train" and t["task"] != "retrieval"]
    random.Random(SEED).shuffle(made)
    asked = []
    for name in ASKED:
        with open(os.path.join(os.path.dirname(__file__), "../../tests/questions/asked", name + ".jsonl")) as lines:
            asked += [json.loads(line)["question"] for line in lines]
    with lzma.open(os.path.join(os.path.dirname(__file__), "questions.jsonl.xz"), "rt") as lines:
        asked += [json.loads(line)["question"] for line in lines]
    return asked, made


def texts_of(work):
    """(segments, questions, how many of these are as people ask, first): any beginning of the segments, and of the other questions, is a sample."""
    segments = [s for _, nodes in manuals(work, "train") for s in segments_of(nodes)]
    random.Random(SEED).shuffle(segments)
    asked, made = questions_of(work)
    return segments, asked + made, len(asked)


# ---- Stages ----

def vocabulary(args):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, decoders, trainers
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    segments, questions, _ = texts_of(args.work)
    trainer = trainers.WordPieceTrainer(vocab_size=ENTRIES, min_frequency=3, special_tokens=["[PAD]", "[UNK]"], limit_alphabet=400,
                                        continuing_subword_prefix="##", show_progress=False)
    tokenizer.train_from_iterator(segments + questions[:20000], trainer)
    tokenizer.save(os.path.join(args.into, "tokenizer.json"), pretty=False)


def of_teacher(args, teacher, name):
    """A file of what one teacher has taught."""
    folder = os.path.join(args.into, os.path.basename(os.path.abspath(teacher)))
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def teach(args):
    path, begin = of_teacher(args, args.teacher[0], "taught.npz"), time.time()
    segments, questions, own = texts_of(args.work)
    parts = {"questions": questions[:own + args.questions], "segments": segments[:args.segments]}
    done = dict(np.load(path)) if os.path.exists(path) else {}
    encoder = Encoder(args.teacher[0])
    encoder.tokenizer.enable_truncation(192)
    for name, texts in parts.items():
        have = len(done.get(name, ()))
        for at in range(have, len(texts), 2048):  # a sample at any time
            if time.time() - begin > args.seconds:
                break
            found, _ = encoder.all(texts[at:at + 2048])
            done[name] = np.concatenate([done[name], found.astype(np.float16)]) if name in done else found.astype(np.float16)
            print(name, len(done[name]), f"{time.time() - begin:.0f} s", flush=True)
            np.savez(path + ".part.npz", **done)
            os.replace(path + ".part.npz", path)


class Table(torch.nn.Module):
    """Texts as sums of rows, of unit length.  x: (ids of all texts one after the other, where each begins)."""

    def __init__(self, rows):
        super().__init__()
        self.rows, self.log_scale = torch.nn.Parameter(rows), torch.nn.Parameter(torch.tensor(3.0))

    def forward(self, x):
        return F.normalize(F.embedding_bag(x[0], self.rows, x[1], mode="sum"), dim=-1)


def bags_of(tokenizer, texts):
    """[texts] of int32 arrays."""
    out = []
    for at in range(0, len(texts), 4096):
        out += [np.array(e.ids, np.int32) for e in tokenizer.encode_batch(texts[at:at + 4096], add_special_tokens=False)]
    return out


def together(bags, which):
    some = [bags[i] for i in which]
    begin = np.cumsum([0] + [len(b) for b in some[:-1]])
    return torch.from_numpy(np.concatenate(some).astype(np.int64)), torch.from_numpy(begin)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def begun(teacher, tokenizer, bags, mean, basis):
    """What the teacher says of each entry alone, as long as the entry is rare."""
    vocabulary = tokenizer.get_vocab()
    entries = sorted(vocabulary, key=vocabulary.get)
    found, _ = Encoder(teacher).all([e.removeprefix("##") for e in entries])
    found = unit(found - mean) @ basis
    seen = np.ones(len(entries))
    for bag in bags:
        seen[np.unique(bag)] += 1
    rarity = np.log(len(bags) / seen).clip(0.1)
    rows = found - found.mean(0)
    rows *= (rarity / np.linalg.norm(rows, axis=1) / rarity.mean())[:, None]
    rows[vocabulary["[UNK]"]] = rows[vocabulary["[PAD]"]] = 0
    return torch.from_numpy(rows.astype(np.float32))


class Lessons:
    """What the teacher says, and of which tokens the texts are."""

    def __init__(self, args):
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(os.path.join(args.into, "tokenizer.json"))
        taught = np.load(of_teacher(args, args.teacher[0], "taught.npz"))
        segments, questions, self.own = texts_of(args.work)
        told, asked = taught["segments"].astype(np.float32), taught["questions"].astype(np.float32)
        self.mean = told.mean(0)
        told, asked = unit(told - self.mean), unit(asked - self.mean)
        self.basis = np.linalg.eigh(told.T @ told)[1][:, ::-1][:, :WIDTH].astype(np.float32)
        self.told, self.asked = (F.normalize(torch.from_numpy(x @ self.basis), dim=-1) for x in (told, asked))
        self.passages, self.questions = bags_of(self.tokenizer, segments[:len(told)]), bags_of(self.tokenizer, questions[:len(asked)])
        self.near = torch.cat([(asked @ self.told.T).topk(NEAR).indices for asked in self.asked.split(256)]).numpy()

    def step(self, step, rng):
        """Half of the questions are such as people ask; of every second step the passages are those that the teacher has next to some of them."""
        some = np.concatenate([rng.integers(self.own, size=QUESTIONS // 2), rng.integers(self.own, len(self.questions), size=QUESTIONS // 2)])
        if step % 2 == 0:
            return some, rng.integers(len(self.passages), size=PASSAGES)
        return some, np.unique(np.concatenate([self.near[some[::8]].ravel(), rng.integers(len(self.passages), size=PASSAGES // 4)]))


def learn_once(lessons, rows, seed, steps):
    rng, table, losses = np.random.default_rng(seed), Table(rows.clone()), []
    optimiser = torch.optim.Adam([{"params": [table.rows], "base": 0.005}, {"params": [table.log_scale], "base": 0.01}], betas=(0.9, 0.98))
    for step in range(steps):
        some, other = lessons.step(step, rng)
        q, p = table(together(lessons.questions, some)), table(together(lessons.passages, other))
        tq, tp = lessons.asked[some], lessons.told[other]
        order = F.softmax(SHARP * tq @ tp.T, dim=-1)
        ranked = -(order * F.log_softmax(table.log_scale.exp() * q @ p.T, dim=-1)).sum(-1).mean()
        parts = [1 - (q * tq).sum(-1).mean(), 1 - (p * tp).sum(-1).mean(), ranked]
        (parts[0] + parts[1] + RANKED * parts[2]).backward()
        for group in optimiser.param_groups:
            group["lr"] = group["base"] * min(1.0, (step + 1) / 30, 0.02 + 1 - step / steps)
        optimiser.step()
        optimiser.zero_grad()
        losses.append([x.item() for x in parts])
    print(f"seed {seed}, {steps} steps, losses of the last 100: questions, passages, order", np.round(np.mean(losses[-100:], 0), 4), flush=True)
    return table.rows.detach()


def learn(args):
    torch.manual_seed(SEED)
    lessons = Lessons(args)
    print(f"{len(lessons.passages)} segments, {len(lessons.questions)} questions, {lessons.own} as people ask", flush=True)
    rows = begun(args.teacher[0], lessons.tokenizer, lessons.passages, lessons.mean, lessons.basis)
    tables = [learn_once(lessons, rows, SEED + i, args.steps) for i in range(TABLES)]
    np.save(of_teacher(args, args.teacher[0], "table.npy"), (sum(tables) / TABLES).numpy())


def join(args):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(os.path.join(args.into, "tokenizer.json"))
    segments, questions, _ = texts_of(args.work)
    ids, begin = together(bags_of(tokenizer, segments[:JOINED[0]] + questions[:JOINED[1]]), range(sum(JOINED)))
    tables = [torch.from_numpy(np.load(of_teacher(args, teacher, "table.npy"))) for teacher in args.teacher]
    of_texts = [F.embedding_bag(ids, table, begin, mode="sum") for table in tables]
    sizes = [x.norm(dim=-1).mean() for x in of_texts]
    beside = lambda parts: torch.cat([part / size for part, size in zip(parts, sizes)], dim=-1)
    texts = F.normalize(beside(of_texts), dim=-1)
    most = torch.linalg.eigh(texts.T @ texts)[1].flip(-1)[:, :WIDTH]
    np.save(os.path.join(args.into, "table.npy"), (beside(tables) @ most).numpy())


def export(args):
    from safetensors.torch import save_file
    from int8 import quantise
    rows, scale = quantise(torch.from_numpy(np.load(os.path.join(args.into, "table.npy"))))
    os.makedirs(args.folder, exist_ok=True)
    save_file({"embeddings": rows, "embeddings_scale": scale}, os.path.join(args.folder, "model.safetensors"))
    os.chmod(os.path.join(args.folder, "model.safetensors"), 0o644)
    shutil.copy(os.path.join(args.into, "tokenizer.json"), args.folder)
    with open(os.path.join(args.folder, "config.json"), "w") as file:
        json.dump({"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": rows.shape[1], "seq_length": LONGEST, "normalize": True}, file, indent=2)
        file.write("\n")


STAGES = {"vocabulary": vocabulary, "teach": teach, "learn": learn, "join": join, "export": export}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("work")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--teacher", action="append")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--segments", type=int, default=10 ** 6)
    parser.add_argument("--questions", type=int, default=30000)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    args.into = os.path.join(args.work, "nib")
    os.makedirs(args.into, exist_ok=True)
    torch.set_num_threads(1)
    STAGES[args.stage](args)


if __name__ == "__main__":
    main()
