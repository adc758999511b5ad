#!/usr/bin/env python3
"""Checks 1,000 random prose and code blocks of each manual: the bytes at `span` read as the block's text.

    spans.py FOLDER [NAME...] [--blocks N] [--details FILE]

Markup removed, references decoded, white space folded, the bytes of a paragraph, quote or code block must
equal its text, of code in white space too; but for signs of formulas, where there is markup that draws them. For the other kinds the span encloses the element: every word of the text, in order, stands
within it, and it neither cuts a tag nor a word. Drawn by a fixed seed from as many files as need be.
"""
import html
import json
import os
import random
import re
import sys
from collections import Counter

import manuals

# A comment, a declaration, an element whose text is none of the page's, a tag.
MARKUP = re.compile(rb"""<!--.*?-->|<(script|style)(?=[\s>]).*?</\1\s*>|<[A-Za-z/!?](?:"[^"]*"|'[^']*'|[^'">])*>""", re.S | re.I)
ALT = re.compile(r"""\s(?:alt|title|value)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.I)
CONTROL = re.compile("[\\0-\\x08\\x0e-\\x1f\\x7f]")
MARKER = re.compile(r"^ *(?:\d+|[A-Za-z])\. ", re.M)
EXACT = ("paragraph", "quote", "code", "math")
WORD = re.compile(r"[^\W_]+")
BREAK = re.compile(rb"<br[\s/>]", re.I)
CUT = "\ue000"
# What draws signs that stand in a block's text alone: "2^31", "(a+b)/c".
FORMULA = re.compile(rb"</?(?:\w+:)?(?:sup|superscript|math|m(?:i|n|o|row|frac|style|text|sqrt|over|td|su[bp]\w*|under\w*))[\s>]", re.I)
DRAWN = re.compile(r"[\^_/()√\s]")


def reads(data, encoding, words=False, breaks=False):
    """What the bytes read; a tag stands as CUT, with `breaks` <br> as the end of a line. With `words`, those of its attributes that are shown stand after it."""
    parts, at = [], 0
    for tag in MARKUP.finditer(data):
        parts += [data[at:tag.start()], b"\n" if breaks and BREAK.match(tag.group()) else None]
        if words:
            parts += [value.encode(encoding, "replace") for value in ALT.findall(tag.group().decode(encoding, "replace"))]
        at = tag.end()
    parts.append(data[at:])
    text = "".join(CUT if part is None else html.unescape(part.decode(encoding, "replace")) for part in parts)
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def folded(text):
    return manuals.squeeze(text.replace("\u00ad", "").replace("\u200b", ""))


def same(text, block):
    """Equal; or equal but for white space where a tag stands."""
    wanted = folded(block)
    if folded(text.replace(CUT, "")) == wanted or folded(text.replace(CUT, " ")) == wanted:
        return True
    return re.sub(r"\s", "", text.replace(CUT, "")) == re.sub(r"\s", "", wanted)


def in_order(words, text):
    """Every word stands in the text, one after the other."""
    at = 0
    for word in words:
        at = text.find(word, at)
        if at < 0:
            return word
        at += len(word)
    return None


def judge(data, encoding, block):
    """None, or what is wrong with the block's span."""
    start, end = block["span"]
    if not 0 <= start < end <= len(data):
        return "no bytes"
    exact = block["kind"] in EXACT
    text = reads(data[start:end], encoding, words=not exact)
    if exact:
        if not same(text, block["text"]):
            drawn = FORMULA.search(data[start:end]) and same(DRAWN.sub("", text), DRAWN.sub("", block["text"]))
            return None if drawn else "another text"
        lines = reads(data[start:end], encoding, breaks=True).replace(CUT, "").strip()
        if block["kind"] == "code" and "\n" in lines and lines != block["text"].strip():
            return "another white space"
        return None
    wanted = MARKER.sub("", block["text"]) if block["kind"] in ("list", "note", "definition", "table") else block["text"]
    glued = re.sub(r"\s", "", text.replace(CUT, "").casefold())
    lost = in_order([word.casefold() for word in WORD.findall(wanted)], glued)
    if lost:
        return f"{lost!r} is not within"
    return None


def check(args, manual, report):
    files = manual.files()
    draw = random.Random(7)
    draw.shuffle(files)
    if args.sample:
        files = files[:args.sample]
    blocks, outcomes, kinds = [], Counter(), Counter()
    for file, tree in manuals.trees(args.build, manual, files):
        own = [(file, block) for node in tree.get("nodes", []) for block in node["blocks"]]
        blocks += draw.sample(own, min(len(own), max(args.blocks // 20, args.blocks * 4 // len(files) + 1)))
        if len(blocks) > 8 * args.blocks:
            break
    exact = [item for item in blocks if item[1]["kind"] in EXACT]
    other = [item for item in blocks if item[1]["kind"] not in EXACT]
    chosen = draw.sample(exact, min(len(exact), args.blocks)) + draw.sample(other, min(len(other), args.blocks // 2))
    for file, block in sorted(chosen, key=lambda item: item[0]):
        data = manuals.read_bytes(os.path.join(manual.root, file))
        wrong = judge(data, manuals.encoding_of(data), block)
        what = "exact" if block["kind"] in EXACT else "enclosing"
        outcomes[what] += 1
        if wrong:
            outcomes[what + "_wrong"] += 1
            kinds[block["kind"]] += 1
            start, end = block["span"]
            report({"manual": manual.name, "file": file, "kind": block["kind"], "wrong": wrong, "span": block["span"],
                    "text": block["text"][:300], "bytes": data[start:end][:400].decode(errors="replace")})
    return {"manual": manual.name, "files": len({file for file, _ in chosen}), **outcomes, "wrong_kinds": kinds}


def main():
    args = manuals.arguments(__doc__, blocks={"type": int, "default": 1000})
    details = open(args.details, "w", encoding="utf-8") if args.details else None

    def report(difference):
        if details:
            print(json.dumps(difference, ensure_ascii=False), file=details, flush=True)

    wrong = total = 0
    for manual in args.manuals:
        result = check(args, manual, report)
        wrong += result.get("exact_wrong", 0) + result.get("enclosing_wrong", 0)
        total += result.get("exact", 0) + result.get("enclosing", 0)
        print(json.dumps(result, ensure_ascii=False), flush=True)
    print(f"spans: {total} blocks, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
