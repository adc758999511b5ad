#!/usr/bin/env python3
"""Writes golden/blocks/blocks.safetensors: random blocks of each type of GGUF's, and the weights that the `gguf` package,
llama.cpp's own, makes of them:  make_blocks.py     (needs numpy, safetensors and gguf 0.19)"""
import os

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize
from safetensors.numpy import save_file

BLOCKS = 6
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0]}

random = np.random.default_rng(28)
arrays = {}
for name, places in HALVES.items():
    kind = GGMLQuantizationType[name]
    values, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (BLOCKS, size), np.uint8)
    for at in places:
        blocks[:, at:at + 2] = random.normal(0, 0.1, (BLOCKS, 1)).astype(np.float16).view(np.uint8)
    arrays[f"{name.lower()}.blocks"] = blocks.view(np.int8)
    arrays[f"{name.lower()}.weights"] = dequantize(blocks, kind).astype(np.float32).reshape(BLOCKS, values)
save_file(arrays, os.path.join(os.path.dirname(__file__), "../../golden/blocks/blocks.safetensors"))
