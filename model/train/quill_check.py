"""The engine's memories beside the training code's."""
import contextlib
import copy
import math
import subprocess

import torch
from safetensors.torch import load_file, save_file

SAME, SAME_BY_CHOICE = 1e-5, 1e-4  # recall's softmax, of scores of some tens, multiplies the rounding of what asks


@contextlib.contextmanager
def in_double(model):
    """The model as it is trained, but for rounding: what its code makes floats of is doubles."""
    torch.Tensor.float = torch.Tensor.double
    try:
        with torch.no_grad():
            yield copy.deepcopy(model).double()
    finally:
        del torch.Tensor.float


def memories_apart(model, probe, folder, texts, rows):
    """How far the engine's memories of texts (ids) are from E_t here, by their length: of each as a leaf, and of each as what recalls
    all of these by the policies that there are."""
    def engine(ids, *more):
        subprocess.run([probe, "embed", "--model", folder, "--ids", ",".join(map(str, ids)), "--out", rows + ".one", *more], check=True)
        return load_file(rows + ".one")["embedding"][0]

    def apart(theirs, mine):
        far = ((theirs - mine).norm() / mine.norm()).item()
        return far if math.isfinite(far) else math.inf

    texts = [t for t in texts if len(t)]
    with in_double(model) as model:
        children = torch.stack([model.encode([t], model.mem0)[0] for t in texts])
        save_file({"embedding": children.to(torch.float32)}, rows + ".children")
        found = {"memories_apart": max(apart(engine(t), c) for t, c in zip(texts, children))}
        query = lambda t: model.encode([t[:128]], model.mem)[0]
        policies = {"mean": lambda t: children.mean(0), "attention": lambda t: model.pooled(children), "children": lambda t: model.recalled(query(t), children)}
        for name, recall in policies.items():
            more = () if name == "children" else ("--pooling", name)
            found[f"{name}_recalled_apart"] = max(
                apart(engine(t, "--recall", rows + ".children", *more), model.encode([t], recall(t))[0]) for t in texts)
    return found


def too_far(found):
    return any(not far <= (SAME_BY_CHOICE if name.startswith("children") else SAME) for name, far in found.items())
