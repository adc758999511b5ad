#!/usr/bin/env python3
"""Fits the confidence of answers: the weights of memory/routing/confidence.c.

    confidence.py collect SOCKET OUT.jsonl      asks a daemon; twice: one without, one with memories
    confidence.py fit FILE...                    by folds of manuals, then the weights; needs numpy

The daemon has the manuals of tests/questions/asked/manuals.txt under their names.  Each question is asked in its own
manual and in all (they hold an answer), in one other manual and in all but its own (they are taken to hold
none); those of tests/questions/off-topic.jsonl, which none answers, in all and in two of them.  What a daemon
says under `explain.evidence` is all that the fit sees.  It is a logistic regression (Newton's method, a little
ridge), to "it was asked where it is answered"; off-topic questions count five times, being few.
"""
import argparse
import glob
import json
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
from harness.daemon import Client  # noqa: E402

ANSWERED, UNANSWERED = ("own", "all"), ("other", "rest", "off", "off-one")
FOLDS, RIDGE, OFF_WEIGHT = 5, 1.0, 5


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---- Asking ----

def is_right(question, hit):
    if question["file"] != hit["file"]:
        return False
    return bool(question.get("anchor") and question["anchor"] == hit.get("anchor")) or question["section"][-1] == hit["path"][-1]


def ask(daemon, text, manuals, right=None):
    found = daemon.call("search", query=text, n=10, explain=True, **({"manuals": manuals} if manuals else {}))
    ranks = [n for n, hit in enumerate(found["results"], 1) if right and right(hit)]
    best = max([hit["coverage"] for hit in found["results"][:3]], default=0)
    return {"question": text, "rank": ranks[0] if ranks else None, "coverage": best, "evidence": found["explain"]["evidence"]}


def collect(options):
    daemon, draw = Client(options.socket), random.Random(7)
    paths = sorted(glob.glob(os.path.join(ROOT, "questions/asked/*.jsonl")))
    names = [os.path.basename(path)[:-6] for path in paths]
    with open(options.out, "w", encoding="utf-8") as out:
        for path, name in zip(paths, names):
            rest = [other for other in names if other != name]
            for question in lines(path):
                def right(hit, question=question, name=name):
                    return hit["manual"] == name and is_right(question, hit)
                for label, manuals in (("own", [name]), ("all", None), ("other", [draw.choice(rest)]), ("rest", rest)):
                    row = ask(daemon, question["question"], manuals, right if label in ANSWERED else None)
                    out.write(json.dumps({"manual": name, "label": label, **row}) + "\n")
        for n, question in enumerate(lines(os.path.join(ROOT, "questions/off-topic.jsonl"))):
            for label, manuals in (("off", None), ("off-one", [draw.choice(names)]), ("off-one", [draw.choice(names)])):
                row = ask(daemon, question["question"], manuals)
                out.write(json.dumps({"manual": f"off-{n % FOLDS}", "label": label, **row}) + "\n")


# ---- Fitting ----

def regress(np, x, y, weight):
    """Bias and weights; the ridge is on standardised features."""
    mean, scale = x.mean(0), x.std(0) + 1e-9
    z = np.c_[np.ones(len(x)), (x - mean) / scale]
    b = np.zeros(z.shape[1])
    ridge = np.r_[0, np.full(x.shape[1], RIDGE)]
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ b))
        gradient = z.T @ (weight * (y - p)) - ridge * b
        step = np.linalg.solve((z * (weight * p * (1 - p))[:, None]).T @ z + np.diag(ridge), gradient)
        b += step
        if np.abs(step).max() < 1e-9:
            break
    w = b[1:] / scale
    return b[0] - w @ mean, w


def area(np, positive, negative):
    """Area under the ROC curve."""
    both = np.r_[positive, negative]
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return (ranks[:len(positive)].sum() - len(positive) * (len(positive) + 1) / 2) / (len(positive) * len(negative))


def refused(np, score, label, share):
    """Of each kind the percentage refused where `share` of what can be answered is."""
    least = np.sort(score[np.isin(label, ANSWERED)])[int(share * np.isin(label, ANSWERED).sum())]
    return least, {kind: round(100 * float((score[label == kind] < least).mean()), 1) for kind in UNANSWERED}


def compare(np, new, old, answered, manual):
    """By how much the area grows, and its 95 % interval over manuals drawn again."""
    draw, names = np.random.RandomState(1), sorted(set(manual))
    of = {name: np.flatnonzero(manual == name) for name in names}
    grown = []
    for _ in range(200):
        rows = np.concatenate([of[name] for name in draw.choice(names, len(names))])
        y = answered[rows] == 1
        if y.any() and not y.all():
            grown.append(area(np, new[rows][y], new[rows][~y]) - area(np, old[rows][y], old[rows][~y]))
    return np.percentile(grown, [2.5, 97.5])


def fit(options):
    import numpy as np
    rows = sum([lines(path) for path in options.files], [])
    names = list(rows[0]["evidence"])
    x = np.array([[row["evidence"][name] for name in names] for row in rows])
    label, manual = np.array([row["label"] for row in rows]), np.array([row["manual"] for row in rows])
    y = np.isin(label, ANSWERED).astype(float)
    three = np.array([(row["rank"] or 99) <= 3 for row in rows])
    old = np.array([row["coverage"] for row in rows])
    weight = np.where(np.isin(label, ("off", "off-one")), OFF_WEIGHT, 1.0)
    manuals = sorted(name for name in set(manual) if not name.startswith("off-"))
    random.Random(0).shuffle(manuals)
    fold = {name: n % FOLDS for n, name in enumerate(manuals)} | {f"off-{n}": n for n in range(FOLDS)}
    held = np.array([fold[name] for name in manual])
    new = np.zeros(len(rows))
    for n in range(FOLDS):
        bias, w = regress(np, x[held != n], y[held != n], weight[held != n])
        new[held == n] = 1 / (1 + np.exp(-(bias + x[held == n] @ w)))
    bias, w = regress(np, x, y, weight)
    print(f"{len(rows)} askings, {len(manuals)} manuals; by {FOLDS} folds of manuals:")
    for name, score in (("confidence", new), ("coverage", old)):
        print(f"  {name:10} AUC {area(np, score[y == 1], score[y == 0]):.3f}, of those among three {area(np, score[three], score[y == 0]):.3f}, "
              f"Brier {((score - y) ** 2).mean():.4f}")
        for share in (.03, .05, .1):
            least, kinds = refused(np, score, label, share)
            print(f"    below {least:.3f}: {100 * share:.0f} % of what can be answered is refused, and of others {kinds}")
    low, high = compare(np, new, old, y, manual)
    print(f"  the area grows by {low:.3f} to {high:.3f}")
    print("  said, it was, among three:")
    for n in range(10):
        here = (new >= n / 10) & (new < (n + 1) / 10)
        print(f"    {new[here].mean():.3f} {y[here].mean():.3f} {three[here].mean():.3f} of {here.sum()}")
    print("bias", round(bias, 3), {name: round(value, 3) for name, value in zip(names, w)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    asking = verbs.add_parser("collect")
    asking.add_argument("socket")
    asking.add_argument("out")
    fitting = verbs.add_parser("fit")
    fitting.add_argument("files", nargs="+")
    options = parser.parse_args()
    {"collect": collect, "fit": fit}[options.verb](options)


if __name__ == "__main__":
    main()
