#!/usr/bin/env python3
"""Quill's training code against the equations of mechanisms.py and against the engine, on random weights.

    quill_agrees.py --probe build/probe --work DIR

1. attention in blocks, and its gradient, is mechanisms.py's, which the engine's own cases vouch for
2. an exported Quill: the engine's logits are the training code's to 1e-4, prefilled and read one by one; where chunks are chosen, too, but
   for one position in a hundred, for which rounding may choose another of two chunks that are as good
3. the engine's memories of texts are the training code's in double precision to 1e-5, also those that recall others; to 1e-4 what chooses among
   these by a softmax
"""
import argparse
import math
import os
import subprocess
import sys

import torch
from safetensors.torch import load_file

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../model/train"))
import mechanisms  # noqa: E402
import quill_check  # noqa: E402
import quill_model as quill  # noqa: E402

MOST = 1e-4


def relative(a, b):
    apart = ((a - b).abs().max() / b.abs().max()).item()
    return apart if math.isfinite(apart) else math.inf


def attention_apart(chunk, window, top_k, n, block):
    torch.manual_seed(n)
    hq, hkv, d = 4, 2, 8
    make = lambda h: torch.randn(2, n, h, d, dtype=torch.float64, requires_grad=True)
    q, qhat, k, v = make(hq), make(hq), make(hkv), make(hkv)
    c = n // chunk
    key, bias = mechanisms.summaries(k[:, :c * chunk], qhat[:, chunk - 1::chunk][:, :c], chunk, True)
    landmark = torch.arange(n) % chunk == chunk - 1
    want = mechanisms.hils_attention(q, qhat, k, v, key, bias, landmark, chunk, window, top_k)
    got = quill.attention(q, qhat, k, v, chunk, window, top_k, block)
    weight = torch.randn_like(want)
    wanted = torch.autograd.grad((want * weight).sum(), (q, qhat, k, v))
    gotten = torch.autograd.grad((got * weight).sum(), (q, qhat, k, v))
    return max([relative(got, want)] + [relative(a, b) for a, b in zip(gotten, wanted)])


def make(size, seed, full, folder):
    torch.manual_seed(seed)
    model = quill.Quill(size, 450, full).eval()
    with torch.no_grad():  # as random as is telling: attention that prefers, norms that are not ones
        for name, p in model.named_parameters():
            if "norm" in name:
                p.uniform_(0.5, 2.0)
            elif p.dim() > 1 and name.startswith(("embed", "layers")):
                p.mul_(4)
    quill.export(model, folder)
    return model


def memories(probe, work, size, full):
    """Texts that fit a pass, or a window, and by one token not any more, and a long one; each alone, and as what recalls them all."""
    folder = os.path.join(work, f"{size}-memories")
    model = make(size, 7, full, folder)
    texts = [torch.randint(0, 450, (n,)).tolist() for n in (1, 61, 62, 200, 510, 511, 565, 566, 1400)]
    return quill_check.memories_apart(model, probe, folder, texts, os.path.join(folder, "rows"))


def engine_apart(probe, work, size, count, decode, full):
    folder = os.path.join(work, f"{size}-{count}")
    model = make(size, count, full, folder)
    ids = torch.randint(0, 450, (count,))
    rows = os.path.join(folder, "rows")
    subprocess.run([probe, "logits", "--model", folder, "--ids", ",".join(map(str, ids.tolist())), "--decode", str(decode), "--out", rows], check=True)
    with torch.no_grad():
        want = model(ids[None])[0]
    apart = (load_file(rows)["logits"][:, :450] - want).abs().amax(1) / want.abs().max()
    return apart.nan_to_num(nan=math.inf).sort().values.tolist()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--probe", required=True)
    p.add_argument("--work", required=True)
    o = p.parse_args()
    torch.set_num_threads(1)
    # the block longer than the text, blocks that cut chunks, a choice to be made, none
    for case in ((4, 8, 2, 61, 64), (4, 8, 2, 61, 16), (4, 8, 2, 61, 7), (4, 7, 50, 40, 8), (8, 16, 1, 43, 8)):
        apart = attention_apart(*case)
        print(f"chunk, window, chosen, slots, block {case}: {apart:.1e}")
        if not apart <= 1e-6:
            sys.exit("attention in blocks is not that of the equations")
    for size, count, decode, full in (("tiny", 200, 20, False), ("tiny", 1000, 0, False), ("tiny", 3300, 3, False), ("scaled", 1500, 3, False), ("tiny", 100, 10, True)):
        apart = engine_apart(o.probe, o.work, size, count, decode, full)
        s = quill.SIZES[size]
        chosen = not full and count > s["window"] + s["top_k"] * s["chunk"]  # about: below that all chunks are
        worst = apart[-1 - count // 100] if chosen else apart[-1]
        print(f"{size}, {count} tokens, {decode} read one by one, {'full' if full else 'HiLS'}: logits {apart[-1]:.1e}, "
              f"{sum(a > MOST for a in apart)} positions above {MOST}")
        if not worst <= MOST or not math.isfinite(apart[-1]):
            sys.exit("the engine does not compute what is trained")
    for size, full in (("tiny", False), ("cpu", False), ("tiny", True)):
        apart = memories(o.probe, o.work, size, full)
        print(f"{size}, {'full' if full else 'HiLS'}: " + ", ".join(f"{name} {far:.1e}" for name, far in apart.items()))
        if quill_check.too_far(apart):
            sys.exit("the engine's memories are not those that are trained")


if __name__ == "__main__":
    main()
