#!/usr/bin/env python3
"""Writes a model's folder anew with its matrices in int8, a scale for each row.

    venv/bin/pip install torch safetensors
    venv/bin/python model/train/int8.py FROM TO [--keep REGEX]

X.weight [n, k] becomes int8, X.weight_scale [n] f32: a row's scale is its largest
magnitude / 127, its integers are the nearest (ties to even), none is -128.  What
has another rank or name, lectern.*, and positions and types of encoders stay as
they are; so does what --keep matches.  All goes into one model.safetensors; other
files are copied.  Printed: each matrix's error, the root of the mean square of what
changed by that of its values, and of all together."""
import argparse
import json
import os
import re
import shutil
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

KEPT = r"^lectern\.|position_embeddings|token_type_embeddings"


def quantise(matrix):
    """int8 [n, k] and f32 [n] of floats [n, k]."""
    values = matrix.float()
    scale = values.abs().amax(dim=1) / 127
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return torch.round(values / scale[:, None]).clamp(-127, 127).to(torch.int8), scale


def files_of(folder):
    index = os.path.join(folder, "model.safetensors.index.json")
    if not os.path.exists(index):
        return ["model.safetensors"]
    with open(index, encoding="utf-8") as f:
        return sorted(set(json.load(f)["weight_map"].values()))


def convert(source, target, keep=None):
    """Returns the relative error of each matrix by name, and that of all."""
    tensors, errors, squares, lost = {}, {}, 0.0, 0.0
    for name in files_of(source):
        with safe_open(os.path.join(source, name), "pt") as file:
            for key in file.keys():
                tensor = file.get_tensor(key)
                is_matrix = tensor.dim() == 2 and key.endswith(".weight") and tensor.is_floating_point()
                if not is_matrix or re.search(KEPT, key) or (keep and re.search(keep, key)):
                    tensors[key] = tensor
                    continue
                if not torch.isfinite(tensor).all():
                    sys.exit(f"int8.py: {source}/{name}: {key} has numbers that are not finite")
                rows, scale = quantise(tensor)
                tensors[key], tensors[key + "_scale"] = rows, scale
                square = tensor.double().square().sum().item()
                away = (rows.double() * scale.double()[:, None] - tensor.double()).square().sum().item()
                errors[key] = (away / square) ** 0.5 if square else 0.0
                squares, lost = squares + square, lost + away
    os.makedirs(target)
    for name in os.listdir(source):
        path = os.path.join(source, name)
        if name.endswith((".safetensors", ".index.json")):
            continue
        (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(target, name))
    weights = os.path.join(target, "model.safetensors")
    save_file(tensors, weights, {"format": "pt"})
    os.chmod(weights, 0o644)  # made readable by its owner alone
    return errors, (lost / squares) ** 0.5 if squares else 0.0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("source")
    arguments.add_argument("target")
    arguments.add_argument("--keep", help="tensors whose names match stay as they are")
    given = arguments.parse_args()
    errors, total = convert(given.source, given.target, given.keep)
    for name, error in errors.items():
        print(f"{error:.5f}  {name}")
    print(f"{total:.5f}  all {len(errors)} matrices")


if __name__ == "__main__":
    main()
