"""What a step of a stage learns from: (model, data, rng, tokens, args) -> loss, figures.

language  rows of the manuals: of ROW tokens, one step in --long of --context tokens (longer than the window, so that landmarks and
          chunks learn); in one row of REPEATS the second half says the first again, which teaches to copy
routing   questions towards their sections, a question's rivals being of the same manual in six batches of ten; children's
          questions towards what their family's memories come to, by mean or attention pooling, and towards the parent that
          recalled it; and, where there is a teacher (quill_teacher.py), every question and section towards its vector
answers   prompts and what is to be written: a span and where it stands, or that there is none
One step in six of routing is language; of six of answers one is language and one routing, so that neither is forgotten.  Where memories are
frozen (quill_model.py) routing is families alone, by attention, and answers have no step of it.
What kind a step is, args.kind draws, alike for all workers.
"""
import math
from bisect import bisect_right

import numpy as np
import torch
import torch.nn.functional as F

from quill_model import PAD

SHARP = 20.0         # of cosines in routing; |q Wq| |k Wk| / sqrt p is drawn towards it
ROW, REPEATS = 256, 6
SECTION, TEACHER = 128, 2.0
CHUNK_OF_LOGITS = 512
WIDTHS = (194, 322, 562)  # of prompts; longer ones are as long as they are
BEGINNING, BEGINS = 2, 4.0  # tokens of an answer that count so many times: where it begins decides the rest


def tensor(rows, device, width=0):
    """Rows of ids, filled up with PAD."""
    out = np.full((len(rows), max([width, *map(len, rows)])), PAD, np.int64)
    for i, row in enumerate(rows):
        out[i, :len(row)] = row
    return torch.from_numpy(out).to(device)


def entropy_of_rows(hidden, weight, wanted):
    return F.cross_entropy(F.linear(hidden, weight).float(), wanted, reduction="sum")


class Entropy:
    """The loss of the next tokens, some rows at a time; `rows` may be compiled."""
    rows = staticmethod(entropy_of_rows)

    @classmethod
    def of(cls, model, hidden, wanted):
        n = len(wanted)
        return sum(cls.rows(hidden[i:i + CHUNK_OF_LOGITS], model.head, wanted[i:i + CHUNK_OF_LOGITS]) for i in range(0, n, CHUNK_OF_LOGITS)) / n


# ---- Language ----


def rows_of(stream, rng, count, context, repeats):
    rows = []
    for _ in range(count):
        begin = rng.randrange(len(stream) - context - 1)
        row = stream[begin:begin + context + 1]
        if repeats and rng.randrange(REPEATS) == 0:
            half = rng.randrange(context // 4, context // 2 + 1)
            at = rng.randrange(half // 2 + 1)
            row = np.concatenate((row[:half], row[at:], row))[:context + 1]
        rows.append(row)
    return torch.from_numpy(np.stack(rows).astype(np.int64))


def language_loss(model, data, rng, tokens, args):
    context = min(args.context, len(data["stream"]) - 2)
    if context > ROW and args.kind.randrange(args.long):
        context = ROW
    ids = rows_of(data["stream"], rng, max(1, tokens // context), context, not args.measuring).to(args.device)
    loss = Entropy.of(model, model.hidden(model.embed(ids[:, :-1])).flatten(0, 1), ids[:, 1:].flatten())
    return loss, {"language": loss.item(), "tokens": ids.numel()}


# ---- Routing ----


def contrast(queries, keys):
    """Query i to key i, by cosines, and the lengths that recall's softmax wants."""
    length = math.sqrt(SHARP * math.sqrt(queries.shape[1]))
    q, k = F.normalize(queries, dim=-1), F.normalize(keys, dim=-1)
    score, right = SHARP * q @ k.T, torch.arange(len(q), device=q.device)
    far = ((queries.norm(dim=-1) / length - 1) ** 2).mean() + ((keys.norm(dim=-1) / length - 1) ** 2).mean()
    return F.cross_entropy(score, right) + 0.1 * far, (score.argmax(-1) == right).float().mean().item()


def choose_pairs(pairs, by_manual, rng, count):
    pool = rng.choices(list(by_manual.values()), [len(p) ** 0.7 for p in by_manual.values()])[0] if rng.random() < 0.6 else pairs
    seen, out = set(), []
    for i in rng.sample(pool, min(len(pool), 3 * count)):
        if i[2:4] not in seen and len(out) < count:
            seen.add(i[2:4])
            out.append(i)
    return out


def family_loss(model, data, rng, args, count):
    """Children's questions to what their families come to, and to the parents that recall that; of a model whose memories are frozen to
    the first by attention alone, for nothing but its projections can learn."""
    asked, families = data["asked"], rng.sample(data["asked_families"], min(count, len(data["asked_families"])))
    texts, questions, spans = [], [], []
    for name, parent, children in families:
        some = rng.sample(children, min(len(children), 4))
        spans.append((len(texts), len(texts) + len(some)))
        texts += [data["sections"][name, c][:SECTION] for c in some]
        questions.append(rng.choice(asked[name, rng.choice([c for c in children if (name, c) in asked])])[0][:30])
    memories = model.encode(texts, model.mem0, args.compile).float()
    attend = lambda: model.frozen() or rng.random() < 0.5
    pooled = torch.stack([model.pooled(memories[a:b]) if attend() else memories[a:b].mean(0) for a, b in spans])
    queries = model.queries(model.encode(questions, model.mem, args.compile)) * math.sqrt(model.s["recall"])
    one, hit = contrast(queries, model.keys(pooled))
    if model.frozen():
        return one, {"families": hit}, sum(map(len, texts))
    parents = model.encode([data["sections"][name, parent][:SECTION] for name, parent, _ in families], pooled.to(memories.dtype), args.compile).float()
    two, found = contrast(queries, model.keys(parents))
    return one + two, {"families": hit, "parents": found}, sum(map(len, texts))


def taught(found, teacher, keys):
    """1 - cosine of what has a vector of the teacher's."""
    own = [i for i, key in enumerate(keys) if key in teacher]
    if not own:
        return found.sum() * 0
    wanted = torch.from_numpy(np.stack([teacher[keys[i]] for i in own]).astype(np.float32)).to(found.device)
    return (1 - F.cosine_similarity(found[own], wanted)).mean()


def routing_loss(model, data, rng, tokens, args, mixed=True):
    if mixed and not args.measuring and args.kind.randrange(6) == 0:
        return language_loss(model, data, rng, tokens, args)
    if model.frozen() or len(data["asked_families"]) > 3 and args.kind.randrange(4) == 0:
        loss, figures, size = family_loss(model, data, rng, args, max(4, tokens // 256))
        return 0.5 * loss, {**figures, "tokens": size}
    some = choose_pairs(data["pairs"], data["by_manual"], rng, max(4, tokens // 128))
    section = [data["sections"][p[2:4]][:SECTION] if rng.random() < 0.7 else p[1][:SECTION] for p in some]
    queries = model.queries(model.encode([p[0][:30] for p in some], model.mem, args.compile)) * math.sqrt(model.s["recall"])
    keys = model.keys(model.encode(section, model.mem0, args.compile))
    loss, hit = contrast(queries, keys)
    figures = {"routing": hit, "tokens": sum(len(p[0]) + len(s) for p, s in zip(some, section))}
    if data["teacher"]:
        one, two = taught(queries, data["teacher"], [p[0].tobytes() for p in some]), taught(keys, data["teacher"], [p[2:4] for p in some])
        loss = loss + TEACHER * (one + two)
        figures |= {"question_off": one.item(), "section_off": two.item()}
    return loss, figures


# ---- Answers ----


def size_of(prompt):
    return len(prompt[0]) + len(prompt[1])


def answers_loss(model, data, rng, tokens, args):
    """Prompts of about one length, not longer than a row of language; the loss is of what is written."""
    other = args.kind.randrange(6) if not args.measuring else 2
    if other < 2 - model.frozen():
        return (language_loss, routing_loss)[other](model, data, rng, tokens, args, *[False] * other)
    prompts = data["by_length"]
    at = rng.randrange(bisect_right(prompts, max(args.context, size_of(prompts[0])), key=size_of))
    size = size_of(prompts[at])
    width = next((w for w in WIDTHS if w > size), size + 1)
    count = max(1, tokens // width)
    first = max(0, at + 1 - count)
    some = prompts[first:first + count]
    if args.compile and width in WIDTHS:  # rows of one shape: the first again
        some = some + [some[0]] * (count - len(some))
    ids = tensor([np.concatenate(p[:2]) for p in some], args.device, width if args.compile else 0)
    place = torch.arange(ids.shape[1] - 1, device=args.device)[None]
    first, last = (torch.tensor(x, device=args.device)[:, None] for x in (
        [len(p[0]) for p in some], [len(p[0]) + len(p[1]) for p in some]))
    written = (place + 1 >= first) & (place + 1 < last)
    hidden = model.hidden(model.embed(ids[:, :-1]))[written]
    wanted = ids[:, 1:][written]
    logits = model.logits(hidden).float()
    each = F.cross_entropy(logits, wanted, reduction="none")
    weight = torch.where(place + 1 < first + BEGINNING, BEGINS, 1.0).expand(written.shape)[written]
    return (each * weight).sum() / weight.sum(), {"answers": each.mean().item(), "right": (logits.argmax(-1) == wanted).float().mean().item(), "tokens": ids.numel()}


LOSSES = {"language": language_loss, "routing": routing_loss, "answers": answers_loss}


def indexed(data, teacher=None):
    """What the losses look up.  teacher: vectors by section (manual, node) and by a question's tokens."""
    data["by_manual"], data["asked"], data["teacher"] = {}, {}, teacher or {}
    for pair in data["pairs"]:
        data["by_manual"].setdefault(pair[2], []).append(pair)
        data["asked"].setdefault(pair[2:4], []).append(pair)
    data["asked_families"] = [f for f in data["families"] if any((f[0], c) in data["asked"] for c in f[2])]
    data["by_length"] = sorted(data["prompts"], key=size_of)
    return data
