"""What writing begins with: two layers set by hand that copy what followed here before (induction heads: Elhage et al. 2021, Olsson et al. 2022).

The layers after those that make memories are the writing ones:

first   every token takes up, compressed, the token before it and the one before that (the fastest rotations find them)
third   a token looks for the places whose token before is what it is itself, and whose token before that is its token before, and takes up
        what stands there; the rotations that hardly turn compare

What is copied is written in directions of its own, in which the head reads it, so that a token does not foretell itself.  All of it is learned further.
"""
import math

import torch

from quill_model import frequencies

NEAR = 8          # the fastest rotations, by which a place shortly before is found
SHARP, LIKE = 6.0, 2.0  # of finding a place; of comparing, on each side
EARLIER, COPIED = 2.5, 8.0  # lengths, in the residual stream, by a token's own
PAIR = 0.7        # what the token before that counts, by the one before
SURE = 2.0        # of the head


def directions(table, counts):
    """Orthonormal directions in which tokens vary, the most first: [n, n]."""
    weight = (counts + 1) ** 0.5
    weight = (weight / weight.sum())[:, None]
    spread = (table - (table * weight).sum(0)).T @ ((table - (table * weight).sum(0)) * weight)
    return torch.linalg.eigh(spread)[1].flip(1)


def earlier(layer, same, read, places):
    """read [d, width]: a token compressed; places: where the token before goes, and the one before that, [width, d] each."""
    q, k, v, o = (layer.get_submodule(name + "_proj").weight for name in "qkvo")
    d, heads = layer.s["head"], layer.s["hq"] // layer.s["hkv"]
    fast = torch.arange(NEAR)
    angle = frequencies(layer.s, False)[:NEAR].float()
    for w in (q, k, v, o):
        w.zero_()
    k[fast, same] = 1
    v[:d] = read
    for back, place in enumerate(places[:heads], 1):
        first = (back - 1) * d
        q[first + fast, same] = (back * angle).cos()
        q[first + fast + d // 2, same] = -(back * angle).sin()
        o[:, first:first + d] = place
    layer.q_norm[fast] = layer.q_norm[fast + d // 2] = SHARP


def induction(layer, pairs, codes, places):
    """pairs: (weight, what is compared here, and there), [d, width] each; codes: what is copied by each key-value head [d, width], places: where to."""
    q, k, v, o = (layer.get_submodule(name + "_proj").weight for name in "qkvo")
    d, group = layer.s["head"], layer.s["hq"] // layer.s["hkv"]
    still = torch.nonzero(frequencies(layer.s, False) == 0)[:, 0]
    still = torch.cat((still, still + d // 2))
    for w in (q, k, v, o):
        w.zero_()
    for kv in range(layer.s["hkv"]):
        for weight, here, there in pairs:
            mix = torch.randn(len(still), len(here)) / math.sqrt(len(still))
            k[kv * d + still] += weight * mix @ there
            for head in range(kv * group, (kv + 1) * group):
                q[head * d + still] += weight * mix @ here
                o[:, head * d:(head + 1) * d] = places[kv] / group
        v[kv * d:(kv + 1) * d] = codes[kv]
    layer.q_norm.fill_(LIKE)
    layer.k_norm.fill_(LIKE)


@torch.no_grad()
def begin_writing(model, same, marks, counts):
    """same: the dimension that all text has, marks: how many are not a word's; counts: of each token in the training text."""
    s, n = model.s, model.s["vocabulary"]
    d, width = s["head"], s["width"] - marks
    table = model.embed.weight[:n, marks:]
    length = table.norm(dim=1).mean()
    to, turn = directions(table, counts), torch.linalg.qr(torch.randn(width, width))[0]

    def wide(rows):
        return torch.cat((torch.zeros(len(rows), marks), rows), 1)

    own = wide(to[:, :d].T)                                             # a token, compressed
    before = [wide(to[:, width - d:].T), wide(to[:, width - 2 * d:width - d].T)]  # where the ones before it are
    codes = [wide(to[:, i * d:(i + 1) * d].T) for i in range(s["hkv"])]
    first, third = model.layers[s["memory"]], model.layers[min(s["memory"] + 2, s["layers"] - 1)]
    rms = model.embed.weight[:n].square().mean().sqrt()  # what a layer's norm divides by, about
    earlier(first, same, own, [EARLIER * rms * w.T for w in before])
    turned = [wide(code[:, marks:] @ turn) for code in codes]
    if third is not first:
        pairs = [(1.0, own, before[0] / EARLIER), (PAIR, before[0] / EARLIER, before[1] / EARLIER)]
        induction(third, pairs, codes, [COPIED / length * rms * w.T for w in turned])
    model.head.copy_(SURE * sum(model.embed.weight[:n] @ code.T @ place for code, place in zip(codes, turned)))
