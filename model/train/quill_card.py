#!/usr/bin/env python3
"""Writes the card of a trained Quill (README.md beside its weights), from what its training has written down.

    quill_card.py WORK MODEL [--compared TABLES.md] [--weights "TEXT"] > MODEL/README.md

WORK is quill.py's: SIZE.jsonl (stages, losses, held-out recall), corpus.json. MODEL: the export with its "lectern" (quill_choose.py --write).
TABLES.md is what tests/experiments/models.py prints; --weights says which weights of the fused mode were chosen.
"""
import argparse
import json
import os

from corpus_table import MANUALS

STAGES = ("language", "routing", "answers")
FIGURE = {"language": "language", "routing": "families", "answers": "answers"}
SHOWN = {"language": "nats a token", "routing": "questions that choose their family among the step's", "answers": "nats a token written"}


def lines_of(path):
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.startswith("{")]


def stages_of(lines):
    """(stage, steps, tokens, seconds, last loss, the probe's)"""
    for stage in STAGES:
        own = [line for line in lines if line.get("stage") == stage]
        steps = [line for line in own if "tokens" in line and "step" in line]
        losses = [line[FIGURE[stage]] for line in steps if FIGURE[stage] in line]
        probes = [line["probe"][FIGURE[stage]] for line in own if "probe" in line]
        if not steps or not losses:
            raise SystemExit(f"nothing of stage {stage}")
        yield stage, steps[-1]["step"], steps[-1]["tokens"], steps[-1]["seconds"], losses[-1], probes[-1] if probes else None


def recalls_of(lines):
    """The last of each manual and way, in order."""
    rows = {(line["recall"], line["by"]): line for line in lines if "recall" in line}
    return [rows[key] for key in sorted(rows)]


def card(args):
    with open(os.path.join(args.model, "config.json"), encoding="utf-8") as stream:
        config = json.load(stream)
    lines, lectern = lines_of(os.path.join(args.work, args.size + ".jsonl")), config["lectern"]
    parameters = next(line["parameters"] for line in lines if "parameters" in line)
    trained = sorted(name for name, row in MANUALS.items()
                     if row[2] == "train" and os.path.exists(os.path.join(args.work, "packs", name + ".jsonl.xz")))
    megabytes = os.path.getsize(os.path.join(args.model, "model.safetensors")) / 1e6
    never = lectern["answer_threshold"] > 0
    yield f"""# Quill

Lectern's own model: it makes the memories by which sections are found, and writes answers that copy sentences of what was found and can do nothing else. {parameters:,} parameters,
int8, {megabytes:.1f} MB: {config["num_hidden_layers"]} layers of width {config["hidden_size"]}, of which the first {config["lectern_memory_layers"]} make memories and all write, HiLS attention in each (chunks of {config["chunk_size"]}, a window of
{config["hils_sliding_window"]}, {config["hils_topk"]} chunks chosen), {config["vocab_size"]:,} entries of byte-level BPE. `../../docs/log/quill.md` says how it is made, `../train` makes it.

* **Data**: {len(trained)} manuals of Debian 12, under permissive licences or the MPL, and nothing else: {", ".join(trained)}. Packages and licences:
  `../../docs/log/quill.md`, "Corpus". Questions come from their structure (`../train/tasks.py`). PostgreSQL's and Python's manuals and the sets that retrieval is measured by were
  never read; cmake, swi-prolog, varnish and hdf5 are held out.
* **Teacher**: memories were also drawn towards vectors that all-MiniLM-L6-v2 (Apache-2.0) gives the training manuals' sections and questions. No
  weights of it are in these, but they are not free of its influence.
* **Recipe**: `quill.py words` and `build` (a bag of words, learned, then made into the first layers' weights, which stay so), then `language`, `routing`
  (attention pooling) and `answers`, 8,192 tokens a step, Muon and AdamW, on two cores. Seeds: 11 (near-duplicates), 20 (words), 23
  (questions), 31 (prompts), 37 (stages), 41 (teacher), 43 (recall). A stage ended by the clock, so another machine gets other weights.
* **Answers** are read from prompts of at most {lectern["prompt_tokens"]} tokens, {lectern["passages"]} passages of {lectern["passage_tokens"]}, and """ + (
        "are shown only to who asks (`--answer generated`): no threshold has what `quill_choose.py` asks of one." if never else
        f"are shown from a mean logarithm of {lectern['answer_threshold']} on (chosen on held-out manuals, `quill_choose.py`).")
    if args.weights:
        yield f"* **Weights of the fused mode**, chosen by the same: {args.weights}."
    yield """
| stage | steps | tokens | seconds | loss, last step | probe's manuals |
|---|---|---|---|---|---|"""
    for stage, steps, tokens, seconds, loss, probe in stages_of(lines):
        yield f"| {stage}: {SHOWN[stage]} | {steps:,} | {tokens:,} | {seconds:,.0f} | {loss:.3f} | {'' if probe is None else f'{probe:.3f}'} |"
    words = [line["probe"] for line in lines if line.get("stage") == "words"]
    yield f"""
The bag of words before: recall@1, @10 and MRR on the probe's manuals (sphinx, zsh), begun {words[0]}, learned {words[-1]}.

Questions of `tasks.py` to sections of held-out manuals (`quill.py recall --use held`; their templates are those of training, their manuals not):

| manual | by | recall@1 | @10 | MRR |
|---|---|---|---|---|"""
    for row in recalls_of(lines):
        yield f"| {row['recall']} | {row['by']} | {row['recall@1']:.3f} | {row['recall@10']:.3f} | {row['mrr']:.3f} |"
    if args.compared:
        with open(args.compared, encoding="utf-8") as stream:
            yield "\n## Beside quill-0\n\nBy `tests/experiments/models.py`, which says what the figures are.\n\n" + stream.read().rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("work")
    parser.add_argument("model")
    parser.add_argument("--size", default="cpu")
    parser.add_argument("--compared")
    parser.add_argument("--weights")
    print("\n".join(card(parser.parse_args())))


if __name__ == "__main__":
    main()
