#!/usr/bin/env python3
"""Chooses from which confidence on a model's answers are shown ("answer_threshold").

    lectern eval QUESTIONS.jsonl -c NAME --answers generated,passages --json > REPORT.json
    answer_threshold.py REPORT.json... [--least 30] [--step 0.05] [--json]

QUESTIONS have answers, and come from manuals that nothing is reported of later. For each threshold: the
questions whose generated answer would be shown in mode auto (what it cites is true, and the mean logarithm
of its tokens' chances is not below the threshold), and on these ROUGE-L of the generated answers and of the
passages, with the 95 % interval of their difference (paired bootstrap, 10,000 resamples, fixed seed).
Chosen is the least threshold at which the interval's lower end is not below 0, over at least --least
answers; with none, "never": 1, above any confidence.
"""
import argparse
import json
import random
import sys

NOT_SURE = "the model is not sure"  # the threshold that the model has already
NEVER = 1


def pairs(reports):
    """(confidence or None when it cannot be shown, ROUGE-L generated, ROUGE-L passages) a question."""
    found = []
    for report in reports:
        by = {}
        for reply in report["replies"]:
            if not reply["scored"]:
                continue
            if reply["method"] in by.setdefault(reply["id"], {}):
                sys.exit(f"two questions with the id '{reply['id']}'")
            by[reply["id"]][reply["method"]] = reply
        for key, replies in by.items():
            if not {"generated", "passages"} <= replies.keys():
                sys.exit(f"question '{key}': not asked for both generated and passages")
            written, quoted = replies["generated"], replies["passages"]
            shown = written["kind"] == "generated" and written.get("declined") in (None, NOT_SURE)
            found.append((written["answer_confidence"] if shown else None, written["rouge_l"],
                          quoted["rouge_l"]))
    return found


def judge(found, threshold, resamples=10000):
    shown = [(g, p) for confidence, g, p in found if confidence is not None and confidence >= threshold]
    row = {"threshold": round(threshold, 4), "shown": len(shown),
           "share": round(len(shown) / max(len(found), 1), 4)}
    if shown:
        rng, n = random.Random(1), len(shown)
        differences = [g - p for g, p in shown]
        means = sorted(sum(rng.choices(differences, k=n)) / n for _ in range(resamples))
        row.update(generated=round(sum(g for g, _ in shown) / n, 4),
                   passages=round(sum(p for _, p in shown) / n, 4),
                   difference=round(sum(differences) / n, 4),
                   interval=[round(means[int(resamples * q)], 4) for q in (0.025, 0.975)])
    return row


def choose(rows, least):
    """The least threshold from which on generated answers are no worse."""
    for row in rows:
        if row["shown"] >= least and row["interval"][0] >= 0:
            return row
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+")
    parser.add_argument("--least", type=int, default=30)
    parser.add_argument("--step", type=float, default=0.05)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    reports = []
    for path in args.reports:
        with open(path, encoding="utf-8") as stream:
            reports.append(json.load(stream))
    found = pairs(reports)
    known = [confidence for confidence, _, _ in found if confidence is not None]
    low = int(min(known, default=0) / args.step) - 1
    rows = [judge(found, place * args.step) for place in range(low, 1)]
    chosen = choose(rows, args.least)
    result = {"questions": len(found), "true": len(known), "thresholds": rows,
              "answer_threshold": chosen["threshold"] if chosen else NEVER}
    if args.json:
        print(json.dumps(result))
        return
    print(f"{len(found)} questions, {len(known)} with an answer whose citations are true")
    for row in rows:
        print(f"{row['threshold']:6.2f}  shown {row['shown']:5} ({row['share']:.3f})", end="")
        if row["shown"]:
            print(f"  ROUGE-L {row['generated']:.4f}, passages {row['passages']:.4f}, difference "
                  f"{row['difference']:+.4f} ({row['interval'][0]:+.4f} to {row['interval'][1]:+.4f})", end="")
        print()
    print(f"answer_threshold: {result['answer_threshold']}"
          + ("" if chosen else " (never: at no threshold are they shown to be no worse)"))


if __name__ == "__main__":
    main()
