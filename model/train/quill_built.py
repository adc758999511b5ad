"""WORK/SIZE-built.pt: a Quill whose first layers, those that make memories, compute what a bag of words does (WORK/words.pt), set by hand.

A memory pass is [t; X; t], t being mem (questions), mem0, or what is recalled; all three have a mark (MEM or MEM0), text has SAME.

layer 0   of head 0: every token looks at the soft token before the text (weight `sink`) and at newlines up to itself (1 each), all else is e^-11;
          so much of the weight as newlines get lowers what the token weighs (SAID).  Then the feed-forward part makes SAME of all text so
          large that the others read it by one factor, whatever attention adds to it.
layer 1   the last soft token looks at all text by its weights, and takes the mean of as much of its vectors as the key-value heads hold
others    the same of what is left; then SAME is taken back

The last norm, and Wk and Wq after it, make the bag's key of it.  What is recalled in place of mem0 adds up with the text's own mean, so parents stand near
their children.  The rotations used do not turn (HoPE).  Pooling begins so that a child unlike its siblings weighs more.
"""
import math
import os
import random

import torch
import torch.nn.functional as F

from bag import Bag
from quill_copying import begin_writing
from quill_data import load_data, load_tokenizer
from quill_losses import SHARP
from quill_model import SIZES, Quill
from quill_train import log, path_of

SEED = 20
SAME, ASKED, SAID, MEM, MEM0, NEWLINE = range(6)  # dimensions of an embedding; the others hold a word's vector
MARKS = 6
LENGTH, TOKEN, MARK = 4.0, 1.5, 3.0  # of an embedding; of SAME and NEWLINE; of the marks
NAT = 0.03 * TOKEN  # of a weight's logarithm
GAIN = 8.0          # of a mean of unit vectors, in the residual stream
LARGE = 40.0        # what is added to SAME
APART = 5.6         # half of what layer 0's scores lie apart
UNLIKE = 2.0        # how much pooling begins by it
TEXTS = 300


def bag_of(size, newline):
    """An empty bag of words that fits a Quill of that size."""
    return Bag(newline, SIZES[size]["width"] - MARKS, SIZES[size]["recall"])


def embeddings(model, bag):
    """-> the mean length of a word's vector in them."""
    rows, n = model.embed.weight, len(bag.asked)
    rows.zero_()
    rows[:, SAME] = TOKEN
    rows[:n, ASKED] = NAT * (bag.asked - bag.asked.median()).clamp(-6, 6)
    rows[:n, SAID] = NAT * (bag.said - bag.said.median()).clamp(-6, 6)
    rows[:n][bag.newline, NEWLINE] = TOKEN
    rest = (LENGTH ** 2 - rows.square().sum(1, keepdim=True)).sqrt()
    rows[:n, MARKS:] = rest[:n] * F.normalize(bag.table, dim=-1)
    model.mem.zero_()[MEM] = MARK
    model.mem0.zero_()[MEM0] = MARK
    return rest[:n].mean().item()


def large(layer, sign, same):
    """The feed-forward part adds sign LARGE to the SAME of text, of which it reads `same`; of soft tokens nothing."""
    layer.gate_proj.weight[0, SAME] = layer.up_proj.weight[0, SAME] = 1
    layer.down_proj.weight[SAME, 0] = sign * LARGE / (same * F.silu(torch.tensor(same)).item())


def still(layer):
    """A dimension of a head, of a pair that no position turns; nor is the one before turned."""
    return layer.s["head"] // 2 - 1


def lines(layer, bag):
    q, k, v, o = (layer.get_submodule(name + "_proj").weight for name in "qkvo")
    near, at = 1 - bag.sink().log() / APART, still(layer)
    q[at, SAME] = 1
    k[at, [MEM, MEM0]] = 1
    k[at, SAME] = -1
    k[at, NEWLINE] = 1 + near
    k[at - 1, NEWLINE] = (1 - near ** 2).sqrt()
    layer.q_norm[[at - 1, at]] = APART / math.sqrt(layer.s["head"])
    v[0, NEWLINE] = 1 / TOKEN
    o[SAID, 0] = -NAT * bag.first


def part_of_mean(layer, first, gain):
    """Of the dimensions from `first` on, as many as values have; the first query head of a group takes it."""
    heads, kv, d, at = layer.s["hq"], layer.s["hkv"], layer.s["head"], still(layer)
    for head in range(heads):
        q = layer.q_proj.weight[head * d:]
        q[at - 1, MEM] = q[at, MEM0] = 1
    for head in range(kv):
        k = layer.k_proj.weight[head * d:]
        k[at - 2, SAME] = 1 / (1 + LARGE / TOKEN)
        k[at - 1, ASKED] = k[at, SAID] = 1
        k[at - 1, [MEM, MEM0]] = k[at, [MEM, MEM0]] = -1
    layer.q_norm[[at - 1, at]] = TOKEN / NAT / math.sqrt(d)
    for i in range(min(kv * d, layer.s["width"] - first)):
        layer.v_proj.weight[i, first + i] = 1
        layer.o_proj.weight[first + i, i // d * (heads // kv) * d + i % d] = gain


def made(bag, size, vocabulary):
    model = Quill(size, vocabulary)
    s = model.s
    length = embeddings(model, bag)
    for layer in model.layers[:s["memory"]]:
        for p in layer.parameters():
            p.fill_(1.0 if p.dim() == 1 else 0.0)
        layer.input_layernorm.fill_(LENGTH / math.sqrt(s["width"]))
        layer.post_attention_layernorm.fill_(LENGTH / math.sqrt(s["width"]))
    lines(model.layers[0], bag)
    read = LENGTH / math.sqrt((TOKEN + LARGE) ** 2 + LENGTH ** 2 - TOKEN ** 2)  # of what stands in text
    large(model.layers[0], 1, TOKEN)
    large(model.layers[s["memory"] - 1], -1, (TOKEN + LARGE) * read)
    for i, layer in enumerate(model.layers[1:s["memory"]]):
        part_of_mean(layer, MARKS + i * s["hkv"] * s["head"], GAIN / length / read)
    model.norm.fill_(LENGTH / math.sqrt(s["width"]))
    w = model.recall
    w.wk.zero_()
    w.wk[MARKS:] = bag.matrix / GAIN
    w.wk[MEM] = w.wk[MEM0] = bag.bias / MARK
    w.wq.copy_(w.wk)
    return model


@torch.no_grad()
def stage_build(args):
    torch.manual_seed(SEED)
    data, state = load_data(args.work)["train"], torch.load(os.path.join(args.work, "words.pt"))
    vocabulary = load_tokenizer(args.work).get_vocab_size()
    bag = bag_of(args.size, torch.zeros(vocabulary, dtype=torch.bool))
    bag.load_state_dict(state)
    model = made(bag, args.size, vocabulary)
    some = random.Random(SEED).sample(data["pairs"], min(TEXTS, len(data["pairs"])))
    texts, asked = [p[1][:128] for p in some], [p[0] for p in some]
    keys, queries = model.keys(model.encode(texts, model.mem0, True)), model.encode(asked, model.mem, True) @ model.recall.wq
    close = [F.cosine_similarity(mine, own) for mine, own in ((keys, bag.key(texts, False)), (queries, bag.key(asked, True)))]
    p, w = model.s["recall"], model.recall
    for projection, found in ((w.wk, keys), (w.wq, queries)):  # of the lengths that routing's scores want (quill_losses.py)
        projection *= math.sqrt(SHARP * math.sqrt(p)) / found.norm(dim=-1).mean()
    u, s, _ = torch.linalg.svd(w.wk, full_matrices=False)
    model.pool.wq.copy_(u[:, :model.s["pool"]] * s[:model.s["pool"]] / 4)
    model.pool.wk.copy_(-UNLIKE * model.pool.wq)
    begin_writing(model, SAME, MARKS, torch.bincount(torch.from_numpy(data["stream"].astype("int64")), minlength=vocabulary).float())
    torch.save(dict(model=model.state_dict()), path_of(args, "built"))
    log(args, stage="built", parameters=sum(p.numel() for p in model.parameters()),
        cosine_to_the_bag=[round(f(c).item(), 6) for c in close for f in (torch.mean, torch.min)])
