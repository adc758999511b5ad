#!/usr/bin/env python3
"""Makes tests/golden/models: three small random decoders of the Qwen3 kind with
tokenizers, and what PyTorch and Hugging Face's libraries say of them.

    python3 -m venv venv && venv/bin/pip install torch transformers tokenizers
    venv/bin/python tests/experiments/model/make_models.py tests/golden/models

Not needed to run the tests.  The weights are random, but large enough for the
attention to be anything but even.

    tied      f32, tied head, GQA 6/2, transformers 5's config; Qwen2's pattern, NFC
    untied    bf16, own head, 4/1, a sliding window, two files with an index, an
              older config; GPT-2's pattern with a prefix space, merges as "a b"
    memory    f32, names without "model.", lectern.* tensors; Llama 3's pattern,
              ignore_merges, a template, added tokens of every kind

golden.safetensors: `ids` [24 + 32] (a prompt and what is chosen greedily),
`logits` [24 + 32, vocabulary]; for `memory` also `embed_ids`, `embed_mem`,
`embed_mem0`, `embed_plain`, `query`, `memories`, `recalled`.
tokens.json: the ids of each line of lines.json, and `decoded`, their text.
"""
import json
import os
import shutil
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import Qwen3Config, Qwen3ForCausalLM

from lines import FIXED, random_lines, text_lines

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def make_tokenizer(kind, size, corpus):
    t = Tokenizer(models.BPE(ignore_merges=kind == "memory"))
    t.decoder = decoders.ByteLevel()
    if kind == "untied":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)
        t.post_processor = processors.ByteLevel(trim_offsets=True)
    else:
        pattern = QWEN2 if kind == "tied" else LLAMA3
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if kind == "tied":
        t.normalizer = normalizers.NFC()
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"]))
    if kind == "tied":
        t.add_special_tokens(["<|im_start|>", "<|im_end|>"])
        t.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    if kind == "memory":
        t.add_special_tokens(["<|begin|>"])
        t.add_tokens([AddedToken("<tool>", lstrip=True, rstrip=True, normalized=False),
                      AddedToken("word", single_word=True, normalized=False),
                      AddedToken("[MASK]", lstrip=True, normalized=False),
                      AddedToken("\u00c5ngstr\u00f6m", normalized=True)])
        begin = t.token_to_id("<|begin|>")
        t.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|begin|> $A <|endoftext|>", pair="<|begin|> $A $B",
                                          special_tokens=[("<|begin|>", begin), ("<|endoftext|>", 0)])])
    return t


def save_tokenizer(t, kind, path):
    made = json.loads(t.to_str())
    if kind == "untied":
        made["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in made["model"]["merges"]]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(made, f, ensure_ascii=False, separators=(",", ":"))


CONFIGS = {
    "tied": dict(hidden_size=48, intermediate_size=98, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
                 tie_word_embeddings=True, rms_norm_eps=1e-6, rope_theta=1000000.0),
    "untied": dict(hidden_size=56, intermediate_size=120, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1, head_dim=18,
                   tie_word_embeddings=False, rms_norm_eps=1e-5, rope_theta=10000.0, use_sliding_window=True, sliding_window=7,
                   max_window_layers=1),
    "memory": dict(hidden_size=44, intermediate_size=90, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, head_dim=16,
                   tie_word_embeddings=True, rms_norm_eps=1e-6, rope_theta=10000.0),
}


def make_model(kind, vocabulary, seed):
    values = dict(CONFIGS[kind])
    theta = values.pop("rope_theta")
    config = Qwen3Config(vocab_size=vocabulary, max_position_embeddings=512, eos_token_id=0, bos_token_id=None,
                         rope_parameters={"rope_theta": theta, "rope_type": "default"}, attn_implementation="eager", **values)
    model = Qwen3ForCausalLM(config).float().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() == 1:
                p.copy_(1 + 0.3 * noise)
            elif "embed_tokens" in name:
                p.copy_(0.5 * noise)
            else:
                p.copy_(noise * 1.3 / p.shape[1] ** 0.5)
            if kind == "untied":
                p.copy_(p.bfloat16().float())
    model.tie_weights()
    return config, model, generator


def greedy(model, prompt, steps):
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(steps):
            ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    return ids, logits


def memory_goldens(model, generator, tensors, golden):
    width, p = model.config.hidden_size, 20
    randn = lambda *shape: torch.randn(shape, generator=generator)
    tensors["lectern.mem"], tensors["lectern.mem0"] = 0.5 * randn(width), 0.5 * randn(width)
    for name in ("recall", "pool"):
        for w in ("wq", "wk"):
            tensors[f"lectern.{name}.{w}"] = randn(width, p) / width ** 0.25
    ids = torch.randint(0, model.config.vocab_size, (19,), generator=generator)
    embedded = model.model.embed_tokens(ids)

    def state(rows):
        with torch.no_grad():
            return model.model(inputs_embeds=rows[None], use_cache=False).last_hidden_state[0, -1].contiguous()
    for name in ("mem", "mem0"):
        t = tensors[f"lectern.{name}"][None]
        golden[f"embed_{name}"] = state(torch.cat([t, embedded, t]))
    golden["embed_ids"], golden["embed_plain"] = ids.int(), state(embedded)
    query, memories = randn(width), randn(7, width)
    scores = (query.double() @ tensors["lectern.recall.wq"].double()) @ (memories.double() @ tensors["lectern.recall.wk"].double()).T
    golden.update(query=query, memories=memories, recalled=(torch.softmax(scores / p ** 0.5, 0) @ memories.double()).float())


def save_model(kind, config, model, tensors, folder):
    made = json.loads(config.to_json_string())
    made["architectures"] = ["Qwen3ForCausalLM"]
    made.pop("_attn_implementation", None)
    if kind == "untied":
        parameters = made.pop("rope_parameters")
        made.update(rope_theta=parameters["rope_theta"], rope_scaling=None, torch_dtype="bfloat16")
        made.pop("dtype", None)
        made.pop("layer_types", None)
        names = sorted(tensors)
        halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
        index = {"metadata": {}, "weight_map": {n: f for f, part in halves.items() for n in part}}
        for file, part in halves.items():
            save_file({n: tensors[n].bfloat16().contiguous() for n in part}, os.path.join(folder, file), {"format": "pt"})
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
            json.dump(index, f, indent=0)
    else:
        if kind == "memory":
            tensors = {n.removeprefix("model."): t for n, t in tensors.items()}
        save_file({n: t.contiguous() for n, t in tensors.items()}, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(made, f, indent=1, sort_keys=True)
    if kind == "tied":
        with open(os.path.join(folder, "generation_config.json"), "w") as f:
            json.dump({"eos_token_id": [3, 0], "temperature": 0.6}, f)


def main(out):
    corpus = text_lines(["/usr/share/common-licenses"], 4000)[:4000] + FIXED * 3
    lines = FIXED + random_lines(7, 300 - len(FIXED))
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "lines.json"), "w", encoding="utf-8") as f:
        json.dump(lines, f, indent=0)
    for seed, kind in enumerate(CONFIGS):
        folder = os.path.join(out, kind)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        tokenizer = make_tokenizer(kind, {"tied": 500, "untied": 410, "memory": 600}[kind], corpus)
        save_tokenizer(tokenizer, kind, os.path.join(folder, "tokenizer.json"))
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        ids = [tokenizer.encode(line).ids for line in lines]
        with open(os.path.join(folder, "tokens.json"), "w", encoding="utf-8") as f:
            json.dump({"ids": ids, "decoded": [tokenizer.decode(i, skip_special_tokens=False) for i in ids]}, f, ensure_ascii=False,
                      separators=(",", ":"))
        vocabulary = tokenizer.get_vocab_size() + 3
        config, model, generator = make_model(kind, vocabulary, seed)
        prompt = torch.randint(0, vocabulary, (24,), generator=generator).tolist()
        chosen, logits = greedy(model, prompt, 32)
        golden = {"ids": torch.tensor(chosen, dtype=torch.int32), "logits": logits.contiguous()}
        tensors = {n: t for n, t in model.state_dict().items() if not (n == "lm_head.weight" and config.tie_word_embeddings)}
        if kind == "memory":
            memory_goldens(model, generator, tensors, golden)
        save_model(kind, config, model, tensors, folder)
        save_file({n: t.contiguous() for n, t in golden.items()}, os.path.join(folder, "golden.safetensors"))
        size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
        print(kind, vocabulary, "tokens,", size, "bytes, logits up to", float(np.abs(logits.numpy()).max()))


if __name__ == "__main__":
    main(sys.argv[1])
