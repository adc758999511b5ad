#!/usr/bin/env python3
"""Proves that every quote of an answer stands literally in the manual, where its span says.

    lectern ask "..." --json | quotes.py ROOTDIR        (one JSON object per line)
    quotes.py --self-test

For each citation the bytes span[0]..span[1] of ROOTDIR/file (of the decompressed bytes for .gz)
are decoded, comments and tags removed, entities decoded and white space folded; the quote, folded the
same way, must be equal. Where a tag stands, white space may differ ("<td>a</td><td>b</td>" is "a b"),
and an exponent may have its sign and brackets ("2<sup>31</sup>" is "2^31"); such quotes are counted apart. A citation also misses when its span leaves the file, its quote is
empty, or its status is not "verified". An answer that is an error, and input without any
citation, fail too. For HTML manuals; LaTeX quotes follow another rule.
"""
import argparse
import functools
import gzip
import html
import json
import os
import re
import sys
from collections import Counter

from docbook import squeeze

TAG = re.compile(r"""<!--.*?-->|<[A-Za-z/!?](?:"[^"]*"|'[^']*'|[^'">])*>""", re.S)
CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
CUT = "\ue000"  # stands where a tag stood
RAISED, LOWERED = "\ue001", "\ue002"  # where an exponent begins and ends
RAISE = re.compile(r"<(/?)sup\b[^>]*>", re.I)
SIGNS = {CUT: r"\s*", RAISED: r"\s*(?:\^\(?)?\s*", LOWERED: r"\s*\)?\s*"}


@functools.lru_cache(maxsize=64)
def load(path):
    """The file's bytes and its encoding as the file declares it; UTF-8 otherwise."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as stream:
        data = stream.read()
    declared = CHARSET.search(data[:4096])
    encoding = declared.group(1).decode().lower() if declared else "utf-8"
    try:
        "".encode(encoding)
    except LookupError:
        encoding = "utf-8"
    return data, "cp1252" if encoding in ("iso-8859-1", "latin1", "us-ascii") else encoding


def judge_text(source, quote):
    """'equal', 'equal at tags' or None, for the source of a span and a quote."""
    marked = RAISE.sub(lambda tag: LOWERED if tag.group(1) else RAISED, source)
    marked = html.unescape(TAG.sub(CUT, marked))
    wanted = squeeze(quote)
    if squeeze(re.sub("[%s]" % "".join(SIGNS), "", marked)) == wanted:
        return "equal"
    pieces = [squeeze(piece) for piece in re.split("([%s])" % "".join(SIGNS), marked)]
    pattern = "".join(SIGNS.get(piece) or re.escape(piece) for piece in pieces if piece)
    texts = [piece for piece in pieces if piece and piece not in SIGNS]
    return "equal at tags" if len(texts) > 1 and re.fullmatch(pattern, wanted) else None


def judge(root, citation):
    """'equal', 'equal at tags', or a sentence that says what is wrong with the citation."""
    quote, span, file = citation.get("quote"), citation.get("span"), citation.get("file")
    if citation.get("status") != "verified":
        return f"status is {citation.get('status')!r}"
    if not isinstance(quote, str) or not squeeze(quote):
        return "empty quote"
    if not isinstance(span, list) or len(span) != 2 or not all(type(n) is int for n in span):
        return f"span is {span!r}"
    path = os.path.realpath(os.path.join(root, file or ""))
    if not path.startswith(os.path.realpath(root) + os.sep):
        return f"file {file!r} lies outside the manual"
    try:
        data, encoding = load(path)
    except OSError as error:
        return f"cannot read {file!r}: {error.strerror}"
    if not 0 <= span[0] < span[1] <= len(data):
        return f"span {span} is not inside the file of {len(data)} bytes"
    source = data[span[0]:span[1]].decode(encoding, "replace")
    return judge_text(source, quote) or f"not at its span, where {source[:200]!r} stands"


def check(root, answers):
    """(Counter of outcomes, [what is wrong]) over answers."""
    totals, misses = Counter(), []
    for answer in answers:
        totals["answers"] += 1
        totals["kind " + str(answer.get("kind"))] += 1
        if "error" in answer or answer.get("kind") not in ("generated", "passages", "none"):
            misses.append({"miss": "not an answer", "error": answer.get("error")})
        if answer.get("kind") != "none" and not answer.get("citations"):
            totals["uncited"] += 1
        for citation in answer.get("citations") or []:
            totals["citations"] += 1
            verdict = judge(root, citation)
            if verdict in ("equal", "equal at tags"):
                totals[verdict] += 1
            else:
                totals["wrong"] += 1
                misses.append({"miss": verdict, "file": citation.get("file"), "span": citation.get("span"),
                               "quote": str(citation.get("quote"))[:200]})
    return totals, misses


def summary(totals, misses):
    return (f"{totals['answers']} answers ({totals['kind none']} none, {totals['uncited']} uncited), "
            f"{totals['citations']} quotes: {totals['equal']} equal, {totals['equal at tags']} equal up to "
            f"white space at tags, {totals['wrong']} wrong; {len(misses)} misses")


def self_test():
    right = [("<p>a&nbsp;<b>b</b>\n c</p>", "a b c", "equal"), ("x &lt;y&gt; &amp;amp;", "x <y> &amp;", "equal"),
             ("<td>a</td><td>b</td>", "a b", "equal at tags"), ("a < b <!-- > --> c", "a < b c", "equal"),
             ('<i title="a>b">x</i>y', "xy", "equal"), ("2<sup>31</sup> - 1", "2^31 - 1", "equal at tags"),
             ("2<sup>n+1</sup>s", "2^(n+1)s", "equal at tags")]
    wrong = [("<p>a b</p>", "ab"), ("a<b>b c</b>", "a bc"), ("abc", "abd"), ("abc", "ab"), ("ab", "abc"),
             ("<td>a</td><td>b</td>", "b a"), ("<td>a</td>", ""), ("2<i>31</i>", "2^31"), ("2<sup>31</sup>", "^231"),
             ("2<sub>31</sub>", "2^31")]
    for source, quote, verdict in right:
        if judge_text(source, quote) != verdict:
            raise SystemExit(f"self-test: {source!r} / {quote!r}: not {verdict}")
    for source, quote in wrong:
        if judge_text(source, quote):
            raise SystemExit(f"self-test: {source!r} / {quote!r} was accepted")
    print(f"quotes self-test: {len(right)} right pairs accepted, {len(wrong)} wrong ones refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if not args.root:
        parser.error("ROOTDIR is needed")
    totals, misses = check(args.root, (json.loads(line) for line in sys.stdin if line.strip()))
    print("quotes: " + summary(totals, misses))
    for miss in misses[:10]:
        print(json.dumps(miss, ensure_ascii=False), file=sys.stderr)
    return 1 if misses or not totals["citations"] else 0


if __name__ == "__main__":
    sys.exit(main())
