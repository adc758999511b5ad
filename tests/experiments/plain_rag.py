#!/usr/bin/env python3
"""Answers the plain way: a flat search by an embedding model, its best pieces, the usual prompt, llama.cpp.

    plain_rag.py --socket S --judge JUDGE.py --split tune|held --embedder FOLDER --model FILE.gguf --out F [--limit N]

S is a daemon whose memories are the embedder's: its flat search (mode dense) gives the sections, all manuals at once; of each of
the first 20 the piece of 256 tokens that is nearest to the question, and of these the five nearest, go into the prompt. JUDGE.py as
for people_peers.py, with facts_in(facts, text). Needs torch, transformers and xllamacpp. A line of JSON a question, with what was
written and how many of its facts stand there; then the shares.
"""
import argparse
import importlib.util
import json
import os
import sys
import time
import urllib.request

import torch
import xllamacpp
from transformers import AutoModel, AutoTokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Client  # noqa: E402

SECTIONS, PIECES, PIECE_TOKENS, ANSWER_TOKENS = 20, 5, 256, 192
PROMPT = ("Use the following pieces of context to answer the question at the end. If you don't know the answer, just say that "
          "you don't know, don't try to make up an answer.\n\n{context}\n\nQuestion: {question}")


def load(path):
    spec = importlib.util.spec_from_file_location("judge", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Embedder:
    def __init__(self, folder):
        self.tokens = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    def vectors(self, texts):
        batch = self.tokens(texts, padding=True, truncation=True, max_length=PIECE_TOKENS, return_tensors="pt")
        with torch.no_grad():
            states = self.model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)

    def pieces(self, text):
        ids = self.tokens(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)["offset_mapping"]
        size = PIECE_TOKENS - 2
        return [text[ids[at][0]:ids[min(at + size, len(ids)) - 1][1]] for at in range(0, len(ids), size)][:16]


def context_of(daemon, embedder, question):
    pieces = []
    for hit in daemon.call("search", query=question, mode="dense", n=SECTIONS)["results"]:
        section = daemon.call("get", node=hit["node"])
        pieces += embedder.pieces("\n".join(block["text"] for block in section["blocks"] if block["text"].strip()))
    vectors = embedder.vectors([question] + pieces)
    best = torch.argsort(vectors[1:] @ vectors[0], descending=True)[:PIECES]
    return "\n\n".join(pieces[i] for i in best.tolist())


class Writer:
    def __init__(self, file):
        params = xllamacpp.CommonParams()
        params.model.path, params.n_ctx, params.n_parallel = file, 4096, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
        self.server = xllamacpp.Server(params)

    def write(self, prompt):
        body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": ANSWER_TOKENS}
        request = urllib.request.Request(self.server.listening_address + "/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("socket", "judge", "split", "embedder", "model", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--limit", type=int, default=10 ** 6)
    options = parser.parse_args()
    judge = load(options.judge)
    daemon, embedder, writer = Client(options.socket), Embedder(options.embedder), Writer(options.model)
    items = [item for item in judge.questions() if item["split"] == options.split and item["kind"] not in judge.OFF]
    whole = some = count = 0
    with open(options.out, "w", encoding="utf-8") as out:
        for item in items[:options.limit]:
            start = time.monotonic()
            context = context_of(daemon, embedder, item["question"])
            text = writer.write(PROMPT.format(context=context, question=item["question"]))
            facts = judge.facts_in(item["facts"], text)
            whole, some, count = whole + (facts == len(item["facts"])), some + (facts > 0), count + 1
            out.write(json.dumps({"id": item["id"], "question": item["question"], "answer": text, "facts": facts, "context": context,
                                  "of": len(item["facts"]), "s": round(time.monotonic() - start, 1)}) + "\n")
            out.flush()
    print(json.dumps({"answered": 100 * whole / count, "wholly or partly": 100 * some / count, "questions": count}))


if __name__ == "__main__":
    main()
