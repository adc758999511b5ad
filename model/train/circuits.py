"""Circuits for writing, set by hand into the weights that `build` and `pool`
made, beside those for memories and without touching them.

A *memory pass* is [t; X; t] with t = mem, mem0 or a recalled memory; a
*writing pass* has no such soft token.  Only two things of a memory pass reach
the memory: what the text's tokens are before layer 1, and what the last soft
token makes of itself.  So writing is kept out of memories:

  1. layer 0: all heads for writing look, in a memory pass, at the soft token
     alone.  Their values are the same and their outputs add up to zero, so
     they add nothing whatever the soft token is (bf16 keeps the sum exact).
  2. layer 0, head 0 finds a soft token before every text token: there it also
     leaves a trace (TRACE) that no writing pass has.  One unit of layer 1's
     feed-forward turns it into a number so large that the norms of layers 2
     and 3 leave nothing else of the text's tokens.
  3. layers 2 and 3: soft tokens look at these tokens alone, and take up
     nothing.
  4. feed-forward of layers 1 to 3: gates are far below zero for soft tokens.

`frozen` says which weights training has to leave for that.

What is built (Elhage et al. 2021, Olsson et al. 2022: induction heads):

  layer 0   heads 1 and 2: the token before and the one before that, compressed
            and written where tokens vary least; head 3 takes the mean of all
            before away from both
  layer 1   heads 2 and 3: a bag of the last dozen tokens, rare ones above all
  layer 2, 3  heads that look for the place where what comes before is what
            comes before here, in like surroundings, and copy what stands there
"""
import torch

from quill0 import D, HEAD, HKV, HQ, MEM, MEM0, NEWLINE, SAME

LOW = HEAD // 2 - 1   # the slowest rotation
SINK = LOW - 2        # layer 0: a slow one that is free
WIDTH = HEAD          # of a compressed token
SOFT = [MEM, MEM0]
TRACE = 1e-5
OFF = -20.0           # of gates at soft tokens' marks, which are above 1.8
SLOW = torch.arange(20, LOW)  # rotations that hardly turn within a prompt


def directions(table, counts):
    """Orthonormal directions in which tokens vary, the most first: [n, n]."""
    weight = (counts + 1) ** 0.5
    weight = (weight / weight.sum())[:, None]
    middle = (table * weight).sum(0)
    spread = (table - middle).T @ ((table - middle) * weight)
    return torch.linalg.eigh(spread)[1].flip(1)


def build_before(attention, to):
    """Layer 0; returns how a compressed token is read [WIDTH, D], and where
    the one before and the one before that are written [D, WIDTH]."""
    q, k = attention.q_proj.weight, attention.k_proj.weight
    v, o = attention.v_proj.weight, attention.o_proj.weight
    read = torch.zeros(WIDTH, D)
    read[:, 6:] = to[:, :WIDTH].T
    write = [torch.zeros(D, WIDTH), torch.zeros(D, WIDTH)]
    for n, part in enumerate(write):
        # On a grid, so that the sum of two is exact in bf16 too.
        part[6:] = (2 * to[:, -WIDTH * (n + 1):][:, :WIDTH] * 256).round() \
            .clamp(-127, 127) / 256
    for head in (1, 2, 3):
        first = head * HEAD
        q[first + SINK, SAME] = 1.5
        k[first + SINK, SOFT] = 1
        v[first:first + HEAD] = read
    attention.q_norm.weight[SINK] = 20
    o[:, HEAD:2 * HEAD] = write[0]
    o[:, 2 * HEAD:3 * HEAD] = write[1]
    o[:, 3 * HEAD:] = -(write[0] + write[1])
    o[MEM, 0] = TRACE
    return read, write


def build_around(attention, wide=0.4, rare=3.0):
    """Layer 1: text tokens look at the tokens shortly before (rotations of
    middle speed), rare ones more; soft tokens as before: what is added to
    keys is too faint for their norm, and made strong after it."""
    q, k = attention.q_proj.weight, attention.k_proj.weight
    near, faint = torch.arange(8, 16), 0.05
    for head in range(HKV):
        k[head * HEAD + near, SAME] = faint
    for head in (2, 3):
        q[head * HEAD + near, SAME] = 1
        q[head * HEAD + LOW, SAME] = rare
    k_norm, q_norm = attention.k_norm.weight, attention.q_norm.weight
    k_norm[[LOW - 1, LOW]] *= (1 + 8 * faint ** 2) ** 0.5
    both = torch.cat((near, near + HEAD // 2))
    k_norm[both] = 8
    q_norm[both] = wide * (8 + rare ** 2) ** 0.5 / (8 * faint * 8)


def build_squash(mlp):
    """Layer 1's feed-forward, unit 0: the trace becomes all there is."""
    mlp.gate_proj.weight[0] = 0
    mlp.up_proj.weight[0] = 0
    mlp.down_proj.weight[:, 0] = 0
    mlp.gate_proj.weight[0, MEM] = 1e9
    mlp.up_proj.weight[0, SAME] = 1
    mlp.down_proj.weight[NEWLINE, 0] = 1e3


def build_induction(attention, read, write, gain, match):
    """match: weights of: the token here is the one before there; the one
    before here is the one before that there; the surroundings are alike."""
    q, k = attention.q_proj.weight, attention.k_proj.weight
    for w in (q, k):
        w.zero_()
    slow = torch.cat((SLOW, SLOW + HEAD // 2))
    around = torch.zeros(128, D)
    around[:, 128:] = torch.eye(128)
    for head in range(HQ):
        rows = head * HEAD + slow
        for weight, here, there in (
                (match[0], read, write[0].T / 4), (match[1], write[0].T / 4,
                                                   write[1].T / 4),
                (match[2], around, around)):
            mix = torch.randn(len(slow), len(here)) * len(slow) ** -0.5
            q[rows] += weight * mix @ here
            k[rows] += weight * mix @ there
        q[head * HEAD + LOW] = 0
        q[head * HEAD + LOW, SOFT] = 300
        k[head * HEAD + LOW, NEWLINE] = 0.5
    for norm in (attention.q_norm.weight, attention.k_norm.weight):
        norm.fill_(2.0)
    attention.v_proj.weight.zero_()
    attention.v_proj.weight[:, 6:] = torch.eye(D)[:, 6:]
    attention.o_proj.weight.zero_()
    attention.o_proj.weight[6:, :] = gain * torch.eye(D)[6:, :]


def build(model, counts, match=((1.0, 0.5, 0.5), (1.0, 0.7, 0.3)),
          gain=(1.0, 3.0)):
    """counts: of each token in the training text."""
    layers = model.model.layers
    to = directions(model.model.embed_tokens.weight[:, 6:], counts)
    read, write = build_before(layers[0].self_attn, to)
    build_around(layers[1].self_attn)
    for layer in layers[1:]:
        layer.mlp.gate_proj.weight[:, SOFT] = OFF
    build_squash(layers[1].mlp)
    for i in (2, 3):
        build_induction(layers[i].self_attn, read, write, gain[i - 2],
                        match[i - 2])


def frozen(model):
    """{name: mask}: 0 where training must leave a weight, for what is trained
    at all: feed-forward of layers 1 to 3, attention of layers 2 and 3."""
    masks = {}
    for i in (1, 2, 3):
        name = "model.layers.%d." % i
        mlp = {part: torch.ones_like(p) for part, p in
               model.model.layers[i].mlp.named_parameters()}
        mlp["gate_proj.weight"][:, SOFT] = 0
        mlp["down_proj.weight"][:6] = 0
        if i == 1:
            mlp["gate_proj.weight"][0] = mlp["up_proj.weight"][0] = 0
            mlp["down_proj.weight"][:, 0] = 0
        masks.update({name + "mlp." + k: m for k, m in mlp.items()})
        if i == 1:
            continue
        one = {part: torch.ones_like(p) for part, p in
               model.model.layers[i].self_attn.named_parameters()}
        one["o_proj.weight"][:6] = 0
        marks = SOFT + [NEWLINE]
        for part in ("q_proj.weight", "k_proj.weight"):
            for row in (LOW, LOW + HEAD // 2):
                one[part][row::HEAD] = 0
            one[part][:, marks] = 0
        one["v_proj.weight"][:, marks] = 0
        for part in ("q_norm.weight", "k_norm.weight"):
            one[part][[LOW, LOW + HEAD // 2]] = 0
        masks.update({name + "self_attn." + k: m for k, m in one.items()})
    return masks
