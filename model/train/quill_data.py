"""What Quill is trained on, as tokens: the tokenizer, rows of manuals, questions with their sections, families, prompts.

Prompts are as the daemon builds them, passages being a sub-tree's sections in their order:

    [1] TITLE
    TEXT

    [2] TITLE
    TEXT

    Question: QUESTION
    Answer:

and what is written is " ANSWER [N]<|end|>", N being the passage where it stands, or ABSTAIN and <|end|>.
"""
import os
import pickle
import random
from collections import Counter, defaultdict

import numpy as np

from corpus_pack import manuals
from quill_model import END
from tasks import children_of, load, text_of
from wording import by_some_words, questions_of, whole_sentences

SEED = 31
SPECIAL = ["<|end|>", "<|pad|>"]
# Newlines never join other text, so blocks may be tokenized one by one.
PATTERN = r"'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+"
ABSTAIN = " Not in these passages."
TRAINED_ON = 20e6   # bytes that the tokenizer sees
PASSAGES = (250, 400, 400, 900)  # characters of a passage's text, as chosen for a prompt
SECTION = 700       # of a section that is to be found
MOST = 8192         # tokens of a prompt
BY_WORDS = 0.25, 0.65  # of a sentence's words are asked
LEAST_ASKED = 60    # characters of a section that is asked for as people word it


def stage_tokenizer(args):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    texts = [f"{n['title']}\n{text_of(n)}"[:6000] for _, nodes in manuals(args.work, "train") for n in nodes if n["blocks"]]
    random.Random(SEED).shuffle(texts)
    size, some = 0, []
    for text in texts:
        if size > TRAINED_ON:
            break
        size += len(text.encode())
        some.append(text)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(some, trainers.BpeTrainer(
        vocab_size=args.vocabulary, special_tokens=SPECIAL, show_progress=False, max_token_length=24,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(os.path.join(args.work, "tokenizer.json"), pretty=False)
    print(f"{tokenizer.get_vocab_size()} entries, trained on {size / 1e6:.1f} MB of {len(some)} sections")


def load_tokenizer(work):
    from tokenizers import Tokenizer
    return Tokenizer.from_file(os.path.join(work, "tokenizer.json"))


def title_of(node):
    return node["title"] or "Untitled"


def around(text, answer, most):
    """So much of the text, the answer in it."""
    at = text.find(answer) if answer else 0
    if at + len(answer or "") <= most:
        return text[:most]
    begin = max(0, at + len(answer) - most)
    return text[begin:max(begin + most, at + len(answer))]


class Prompter:
    def __init__(self, nodes, rng):
        self.nodes, self.rng, self.children = nodes, rng, children_of(nodes)

    def passages(self, q):
        """(nodes in order, the one that is cited)"""
        i, rng = q["node"], self.rng
        cited, kin = i, self.children[i][:12]
        if q["form"] == "where" and q["answer"] != self.nodes[i]["title"]:
            cited, kin = self.nodes[i]["parent"], [i]
        elif q["form"] != "list":
            around_it = [c for c in self.children[self.nodes[i]["parent"]] if c != i] if self.nodes[i]["parent"] >= 0 else []
            near = [c for c in (i + d for d in (-3, -2, -1, 1, 2, 3)) if 0 <= c < len(self.nodes)]
            some = list(dict.fromkeys(around_it[:8] + near))
            kin = rng.sample(some, min(len(some), rng.choice((0, 1, 2, 2, 3, 5))))
            kin += [rng.randrange(len(self.nodes))] if rng.random() < 0.5 else []
        return sorted({cited, i, *[k for k in kin if self.nodes[k]["blocks"] or q["form"] == "list"]}), cited

    def haystack(self, q):
        """Words from the node on with the needles strewn over them."""
        words, k = [], q["node"]
        while len(words) < q["haystack"] and k < q["node"] + len(self.nodes):
            words += text_of(self.nodes[k % len(self.nodes)]).split(" ")
            k += 1
        words = words[:q["haystack"]]
        places = sorted(self.rng.sample(range(len(words) + 1), min(len(words) + 1, len(q["needles"]))), reverse=True)
        for at, needle in zip(places, reversed(q["needles"])):
            words.insert(at, needle)
        return " ".join(words)

    def prompt(self, q):
        """(prompt, what is written)"""
        end = f"Question: {q['question']}\nAnswer:"
        if q["form"] == "needle":
            return f"[1] {title_of(self.nodes[q['node']])}\n{self.haystack(q)}\n\n{end}", f" {q['answer']} [1]"
        order, cited = self.passages(q)
        text, most = "", self.rng.choice(PASSAGES)
        for n, i in enumerate(order):
            own = q["answer"] if q["form"] == "span" and i == cited else None
            text += f"[{n + 1}] {title_of(self.nodes[i])[:160]}\n{around(text_of(self.nodes[i]), own, most)}\n\n"
        written = ABSTAIN if q["form"] == "none" else f" {q['answer']} [{order.index(cited) + 1}]"
        return text + end, written


def asked_by_words(name, nodes):
    """A task that tasks.py has not, most like what people ask: a question of a part of a sentence's words, which the sentence answers."""
    rng = random.Random(f"{SEED} {name} by words")
    for i, node in enumerate(nodes):
        whole = whole_sentences(node)
        sentence = rng.choice(whole) if whole else ""
        question = whole and by_some_words(sentence, rng, BY_WORDS, "asked")
        if question:
            yield {"task": "by_words", "form": "span", "node": i, "question": question, "answer": sentence}


def encoded(tokenizer, texts):
    out = []
    for k in range(0, len(texts), 5000):
        out += [np.array(e.ids, np.uint16) for e in tokenizer.encode_batch_fast(texts[k:k + 5000])]
    return out


def worded(name, nodes, tokenizer):
    """What wording.py asks of a manual; a question that fits several nodes has no right answer, and of bare titles little is learned."""
    links, rng, found, times = defaultdict(set), random.Random(f"{SEED} {name}"), [], Counter()
    for node in nodes:
        for text, to in node["refs"]:
            links[to].add(text)
    for i, node in enumerate(nodes):
        if len(text_of(node)) >= LEAST_ASKED:
            found += [(i, *q) for q in questions_of(node, nodes[node["parent"]]["title"] if node["parent"] >= 0 else "", links[i], rng)]
    times.update(question.lower() for _, _, question, _ in found)
    found = [f for f in found if times[f[2].lower()] == 1]
    passages = []
    for i, _, _, term in found:
        text = text_of(nodes[i])
        far = term and text.find(term) + len(term) > SECTION
        passages.append(f"{title_of(nodes[i])}\n{around(text, term, SECTION)}" if far else "")
    return [(kind, q[:64], p[:254], name, i) for (i, kind, _, _), q, p in zip(
        found, encoded(tokenizer, [f[2] for f in found]), encoded(tokenizer, passages))]


def stage_prepare(args):
    """WORK/data.pkl: {use: {"stream", "sections", "pairs", "worded", "parents", "families", "prompts"}}

    stream    uint16, the manuals one after the other, their sections in order, an empty line between them, END after each manual
    sections  tokens of a section as it is to be found: its title and beginning, by (manual, node)
    pairs     (question, section with the answer in it, manual, node), tokens
    worded    (kind, question, section with what is asked for in it, or nothing where that is its beginning, manual, node), tokens: wording.py's
    parents   by manual, those of its nodes
    families  (manual, parent, children)
    prompts   (prompt, what is written and END, task, manual): of tasks.py's, for the train ones at most --prompts, and about as many by a sentence's words"""
    tokenizer = load_tokenizer(args.work)
    tasks, out = load(args.work), {}
    for use in ("train", "probe", "held"):
        streams, sections, pairs, asked_so, parents, families, prompts = [], {}, [], [], {}, [], []
        mine = [q for q in tasks if q["use"] == use]
        random.Random(SEED).shuffle(mine)
        chosen = {id(q) for q in mine[:args.prompts if use == "train" else args.prompts // 10]}
        for name, nodes in manuals(args.work, use):
            texts = [f"{title_of(n)}\n{text_of(n)}\n\n" if n["blocks"] else f"{title_of(n)}\n\n" for n in nodes]
            streams += encoded(tokenizer, texts) + [np.array([END], np.uint16)]
            own = [i for i, n in enumerate(nodes) if n["blocks"]]
            some = encoded(tokenizer, [f"{title_of(nodes[i])}\n{text_of(nodes[i])[:SECTION]}" for i in own])
            sections.update({(name, i): s[:254] for i, s in zip(own, some)})
            families += [(name, i, [c for c in kin if nodes[c]["blocks"]]) for i, kin in children_of(nodes).items()
                         if nodes[i]["blocks"] and sum(bool(nodes[c]["blocks"]) for c in kin) > 1]
            parents[name] = [n["parent"] for n in nodes]
            asked_so += worded(name, nodes, tokenizer)
            asked = [q for q in mine if q["manual"] == name]
            found = [q for q in asked if q["form"] in ("span", "list") or q["form"] == "where" and q["answer"] == nodes[q["node"]]["title"]]
            found = [q for q in found if nodes[q["node"]]["blocks"]]
            right = [f"{title_of(nodes[q['node']])}\n{around(text_of(nodes[q['node']]), q['answer'] if q['form'] == 'span' else None, SECTION)}" for q in found]
            pairs += [(a[:64], b[:254], name, q["node"]) for q, a, b in zip(
                found, encoded(tokenizer, [q["question"] for q in found]), encoded(tokenizer, right))]
            prompter, by_words = Prompter(nodes, random.Random(f"{SEED} {name}")), list(asked_by_words(name, nodes))
            by_words = random.Random(SEED).sample(by_words, min(len(by_words), len(asked) * len(chosen) // max(1, len(mine))))
            both = [(q, *prompter.prompt(q)) for q in [q for q in asked if id(q) in chosen] + by_words]
            prompts += [(a, np.append(b, np.uint16(END)), q["task"], name) for (q, _, _), a, b in zip(
                both, encoded(tokenizer, [b[1] for b in both]), encoded(tokenizer, [b[2] for b in both])) if len(a) + len(b) < MOST]
        stream = np.concatenate(streams) if streams else np.zeros(0, np.uint16)
        out[use] = dict(stream=stream, sections=sections, pairs=pairs, worded=asked_so, parents=parents, families=families, prompts=prompts)
        print(f"{use}: {len(stream)} tokens, {len(sections)} sections, {len(pairs)} questions with sections, {len(asked_so)} as worded, {len(families)} families, "
              f"{len(prompts)} prompts of {np.mean([len(p[0]) for p in prompts] or [0]):.0f} tokens", flush=True)
    with open(os.path.join(args.work, "data.pkl.part"), "wb") as file:
        pickle.dump(out, file, protocol=5)
    os.replace(os.path.join(args.work, "data.pkl.part"), os.path.join(args.work, "data.pkl"))


def load_data(work):
    with open(os.path.join(work, "data.pkl"), "rb") as file:
        return pickle.load(file)
