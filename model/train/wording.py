"""How questions are worded from what a manual's structure says: titles cleaned, words replaced (wording.json), and, for a bag of words to
learn from (quill_bag.py), a section asked for in many of the ways that people do.

`questions_of` makes questions of a node as corpus_pack.py packs it; their kinds:

    heading   its title, reworded, alone, in a template, or with its parent's
    term      an entry of the index that leads to it, a term that it defines
    link      the text of a link to it that is not its title
    cloze     a sentence of it with a part of its words left out
"""
import json
import os
import re

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "wording.json"), encoding="utf-8") as file:
    TEMPLATES = json.load(file)
NUMBER = re.compile(r"^((chapter|part|appendix|section)\s+)?([0-9]+(\.[0-9]+)*|[A-Z](\.[0-9]+)+|[IVX]+\.)\.?\s+", re.I)
SENTENCE = re.compile(r"(?<=[a-z0-9)\"'`]{2}[.!?])\s+(?=[A-Z`\"'(])")
WORD = re.compile(r"\w+")
GENERIC = {"introduction", "overview", "example", "examples", "see also", "description", "synopsis", "summary", "notes", "note", "exports",
           "here", "index", "contents", "next", "previous", "up", "home", "top", "return value", "parameters", "arguments", "syntax",
           "options", "changes", "link", "source", "more", "this", "the"}


def clean_title(title):
    title = NUMBER.sub("", title.replace("¶", "")).strip()
    return re.sub(r"\s+", " ", title)


def reword(text, rng):
    def one(match):
        word = match.group(0)
        to = TEMPLATES["reword"].get(word.lower())
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
    return text[0].lower() + text[1:] if re.match(r"[A-Z][a-z ]", text) else text


def sentences(text):
    return [s.strip() for s in SENTENCE.split(text)]


def index_term(entry):
    entry = re.sub(r"\s*\((in module|built-in|class|.* (attribute|method|class|property|function)).*\)\s*$", "", entry)
    return entry.strip()


def definitions_of(node):
    """(term, first line of what is said of it) of its lists of definitions."""
    for kind, _, text in node["blocks"]:
        lines = text.split("\n") if kind == "definition" else []
        for term, meaning in zip(lines, lines[1:]):
            if term and term[0] != " " and meaning.startswith("  "):
                yield term.strip(), meaning.strip()


def whole_sentences(node):
    """Of its first paragraphs: neither short nor long."""
    prose = [text for kind, _, text in node["blocks"] if kind in ("paragraph", "quote", "note")]
    return [s for p in prose[:6] for s in sentences(p) if 40 < len(s) < 220]


def by_some_words(sentence, rng, share=(0.35, 0.75), template="cloze"):
    """A question of a part of a sentence's words, others in place of some; None where too few are left."""
    keep = rng.uniform(*share)
    words = [w for w in sentence.split() if rng.random() < keep]
    if len(words) > 2:
        text = reword(" ".join(words), rng)
        return rng.choice(TEMPLATES[template]).format(t=text)
    return None


def questions_of(node, parent, links, rng):
    """[(kind, question, the term that is asked for, or nothing)] of a node; parent: its parent's title; links: the texts of links to it."""
    out, title, parent = [], clean_title(node["title"]), clean_title(parent)

    def ask(kind, template, **slots):
        out.append((kind, rng.choice(TEMPLATES[template]).format(**slots), slots["t"] if kind == "term" else ""))

    if 2 < len(title) < 90 and title.lower() not in GENERIC:
        words = title.split()
        base, changed = stem_gerund(words[0]), lower_first(reword(title, rng))
        if base and len(words) > 1:
            ask("heading", "gerund", t=reword(" ".join([base] + words[1:]), rng))
        else:
            ask("heading", "heading" if len(words) > 1 else "term", t=changed)
        if parent and rng.random() < 0.5:
            ask("heading", "within", t=changed, p=lower_first(parent))
    elif title and parent:
        ask("heading", "within", t=lower_first(title), p=lower_first(parent))
    for term in map(index_term, node["aliases"][:4]):
        if 2 < len(term) < 60:
            ask("term", "term", t=term)
    terms = [term for term, meaning in definitions_of(node) if 1 < len(term) < 50 and len(meaning) > 30]
    for term in rng.sample(terms, min(3, len(terms))):
        ask("term", "term", t=term)
    whole = whole_sentences(node)
    if whole:
        question = by_some_words(whole[0] if rng.random() < 0.5 else rng.choice(whole), rng)
        if question:
            out.append(("cloze", question, ""))
    texts = [t for t in sorted(links) if t.lower() != title.lower() and 4 < len(t) < 60 and t.lower() not in GENERIC and re.search("[a-z]{3}", t)]
    for text in rng.sample(texts, min(2, len(texts))):
        ask("link", "link", t=text)
    return out
