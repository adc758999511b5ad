#!/usr/bin/env python3
"""Which weights, and which form, the fused ranking should have: tried outside of Lectern, by manual.

    fusion.py collect --socket S --into DIR KIND:MANUAL=QUESTIONS.jsonl...
    fusion.py weights DIR          sums of scaled scores, as memory/routing/rankings.c makes them: a grid of weights
    fusion.py forms DIR            more features, weighed by a softmax over a question's sections

collect asks the daemon for 300 sections a question with `explain`, and keeps each one's scores, ranks and whether
it is right (as `lectern eval` says). KIND tells questions of different origin apart (faq, references, ...), each
counts alike. The others print MRR of each kind, and differences to the standard weights of memory/routing/route.c
by paired bootstrap; then what is chosen on all manuals but one and measured on that one ("left out"). Needs numpy.
"""
import argparse
import glob
import itertools
import json
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checks"))
from ablation import is_right
from common import read_jsonl
from harness.daemon import Client

RANKINGS = ("lexical", "terms", "dense", "tree")
STANDARD = (0.15, 0.3, 0.05)  # of terms, dense, tree; lexical has 1
GRID = list(itertools.product((0, 0.1, 0.15, 0.25), (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1), (0, 0.05, 0.15)))
DEPTH, SCALED, FITTED, ROUNDS, DECAY = 10, 100, 60, 300, 1e-3


def collect(args):
    daemon = Client(args.socket)
    os.makedirs(args.into, exist_ok=True)
    for item in args.sets:
        where, path = item.split("=", 1)
        kind, manual = where.split(":", 1)
        out = []
        for question in read_jsonl(path):
            reply = daemon.call("search", query=question["question"], manual=manual, n=300, explain=True)
            hits = [{"right": is_right(question, result), "coverage": result["coverage"],
                     **{name: (hit[name]["rank"], hit[name]["score"]) for name in RANKINGS if name in hit}}
                    for hit, result in zip(reply["explain"]["hits"], reply["results"])]
            out.append({"question": question["question"], "terms": reply["explain"]["terms"], "hits": hits})
        with open(os.path.join(args.into, f"{kind}:{manual}.json"), "w", encoding="utf-8") as stream:
            json.dump(out, stream)


# ---- Features: [sections] each ----

def scaled(hits, name):
    ranks = numpy.array([hit.get(name, (0, 0))[0] for hit in hits])
    scores = numpy.array([hit.get(name, (0, 0))[1] for hit in hits], float)
    held = (ranks > 0) & (ranks <= SCALED)
    if not held.any():
        return numpy.zeros(len(hits)), ranks, scores
    low = scores[held].min() if name in ("dense", "tree") and held.sum() > 1 else 0
    high = scores[held].max()
    values = numpy.clip((scores - low) / (high - low), 0, 1) if high > low else numpy.ones(len(hits))
    return numpy.where(held, values, 0), ranks, scores


def features(asked):
    hits, terms = asked["hits"], asked["terms"]
    out, ranks, scores = {}, {}, {}
    for name in RANKINGS:
        out[name], ranks[name], scores[name] = scaled(hits, name)
    words, dense = out["lexical"], out["dense"]
    everything = sum(term["idf"] * term["weight"] for term in terms) or 1
    wholes = sum(term["idf"] * term["weight"] for term in terms if term["term"].startswith("=")) / everything
    out["coverage"] = numpy.array([hit["coverage"] for hit in hits])
    out["of what words can reach"] = numpy.where(words > 0, numpy.minimum(scores["lexical"] / everything, 2), 0)
    out["product"], out["words squared"], out["dense squared"] = words * dense, words ** 2, dense ** 2
    out["words' rank"] = numpy.where(ranks["lexical"] > 0, 1 / (1 + ranks["lexical"]), 0)
    out["dense's rank"] = numpy.where(ranks["dense"] > 0, 1 / (1 + ranks["dense"]), 0)
    ahead = lambda values: numpy.sort(values)[::-1][0] - numpy.sort(values)[::-1][min(9, len(values) - 1)]
    out["dense, best covered"] = dense * out["coverage"][:10].max()
    out["dense, identifiers"] = dense * wholes
    out["dense, many terms"] = dense * min(sum(term["weight"] >= 0.5 for term in terms), 8) / 8
    out["dense, words ahead"], out["dense, dense ahead"] = dense * ahead(words), dense * ahead(dense)
    return out


def read(folder):
    """{(kind, manual): [(features, right)]}; a question without hits has None."""
    sets = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        kind, manual = os.path.basename(path)[:-5].split(":", 1)
        with open(path, encoding="utf-8") as stream:
            sets[kind, manual] = [(features(asked), numpy.array([hit["right"] for hit in asked["hits"]]))
                                  if asked["hits"] else None for asked in json.load(stream)]
    return sets


# ---- Figures ----

def reciprocal(asked, score):
    if asked is None or not asked[1].any():
        return 0
    rank = 1 + int(numpy.argmax(asked[1][numpy.argsort(-score(asked[0]), kind="stable")]))
    return 1 / rank if rank <= DEPTH else 0


def measured(sets, score):
    return {key: numpy.array([reciprocal(asked, score) for asked in rows]) for key, rows in sets.items()}


def of_kind(values, kind, manuals):
    return numpy.concatenate([values[key] for key in values if key[0] == kind and key[1] in manuals])


def shown(difference):
    drawn = numpy.random.default_rng(1).integers(0, len(difference), (4000, len(difference)))
    low, high = numpy.quantile(difference[drawn].mean(1), (0.025, 0.975))
    return f"{difference.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def compare(name, values, standard, kinds, manuals):
    print(name, " | ".join(f"{kind} {of_kind(values, kind, manuals).mean():.3f} "
                           f"{shown(of_kind(values, kind, manuals) - of_kind(standard, kind, manuals))}"
                           for kind in kinds), flush=True)


def weighed(weights):
    return lambda one: one["lexical"] + weights[0] * one["terms"] + weights[1] * one["dense"] + weights[2] * one["tree"]


def weights(sets, kinds, manuals, grid=GRID):
    """The best, and what such a choice gains where it was not made, in the mean of the kinds."""
    tried = {one: measured(sets, weighed(one)) for one in grid}
    held = lambda some: [kind for kind in kinds if any(key == kind and manual in some for key, manual in sets)]
    mean = lambda values, some: numpy.mean([of_kind(values, kind, some).mean() for kind in held(some)])
    ranked = sorted(grid, key=lambda one: -mean(tried[one], manuals))
    for one in ranked[:5]:
        compare(one, tried[one], tried[STANDARD], kinds, manuals)
    chosen = {manual: max(grid, key=lambda one: mean(tried[one], manuals - {manual})) for manual in manuals}
    left_out = {key: tried[chosen[key[1]]][key] for key in sets}
    compare("left out", left_out, tried[STANDARD], kinds, manuals)
    print(chosen)
    return ranked[0], mean(left_out, manuals) - mean(tried[STANDARD], manuals)


def fit(sets, names, kinds, manuals):
    """Weights by which the right sections' share of the softmax is greatest, kinds alike."""
    matrices, rights, shares = [], [], []
    for kind in kinds:
        held = [asked for key, some in sets.items() if key[0] == kind and key[1] in manuals
                for asked in some if asked is not None]
        for one, right in held:
            first = numpy.argsort(-(one["lexical"] + one["dense"]), kind="stable")[:FITTED]
            if right[first].any():
                matrix = numpy.stack([one[name][first] for name in names], 1)
                matrices.append(numpy.pad(matrix, ((0, FITTED - len(first)), (0, 0))))
                rights.append(numpy.pad(right[first], (0, FITTED - len(first))))
                shares.append((len(first), 1 / len(held)))
    matrices, rights = numpy.array(matrices), numpy.array(rights)
    there = numpy.arange(FITTED) < numpy.array([[count] for count, _ in shares])
    shares = numpy.array([[share] for _, share in shares])
    values, speed = numpy.zeros(len(names)), numpy.zeros(len(names))
    for _ in range(ROUNDS):
        powers = numpy.where(there, matrices @ values, -1e9)
        chances = numpy.exp(powers - powers.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        wanted = numpy.where(rights, chances, 1e-300)
        wanted /= wanted.sum(1, keepdims=True)
        gradient = numpy.einsum("qs,qsf->f", shares * (wanted - chances), matrices) - 2 * DECAY * values
        speed = 0.9 * speed + gradient
        values = values + 0.5 * speed
    return values


def forms(sets, kinds, manuals):
    standard = measured(sets, weighed(STANDARD))
    sums = list(RANKINGS)
    tried = {"sums": sums, "and coverage": sums + ["coverage"], "and what words can reach": sums + ["of what words can reach"],
             "and squares": sums + ["product", "words squared", "dense squared"],
             "and ranks": sums + ["words' rank", "dense's rank"],
             "dense by question": sums + ["dense, best covered", "dense, identifiers", "dense, many terms",
                                          "dense, words ahead", "dense, dense ahead"],
             "all": list(next(asked for rows in sets.values() for asked in rows if asked)[0])}
    for name, some in tried.items():
        values = {}
        for manual in sorted(manuals):
            found = fit(sets, some, kinds, manuals - {manual})
            for key, rows in sets.items():
                if key[1] == manual:
                    values[key] = numpy.array([reciprocal(asked, lambda one, found=found: numpy.stack(
                        [one[each] for each in some], 1) @ found) for asked in rows])
        compare(f"{name}, left out:", values, standard, kinds, manuals)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting = verbs.add_parser("collect")
    collecting.add_argument("--socket", required=True)
    collecting.add_argument("--into", required=True)
    collecting.add_argument("sets", nargs="+", metavar="KIND:MANUAL=QUESTIONS.jsonl")
    for verb in ("weights", "forms"):
        verbs.add_parser(verb).add_argument("folder")
    args = parser.parse_args()
    if args.verb == "collect":
        return collect(args)
    sets = read(args.folder)
    (weights if args.verb == "weights" else forms)(
        sets, sorted({kind for kind, _ in sets}), {manual for _, manual in sets})


if __name__ == "__main__":
    main()
