#!/usr/bin/env python3
"""Makes small random models of each family into tests/golden/models, and what
transformers says of them.  Not needed to run the tests.

    python3 -m venv venv && venv/bin/pip install torch transformers tokenizers
    venv/bin/python tests/experiments/model/make_families.py tests/golden/models [NAME ...]

    llama2      f32, a key head for each query head, biases everywhere, frequencies / 4
    llama3      f16, tied head, llama3 scaling far beyond what it was trained on
    qwen2       f32, biases of q, k and v, windows from layer 2 on
    mistral     bf16 in two files with an index, a window in every layer, head_dim apart
    olmo2       f32, norms after each part, one norm over all heads
    olmo3       f32, windows in three of four layers, yarn in the fourth, parameters by kind
    bert        f32, mean, of length 1, limit of tokens below the positions
    xlm-roberta f32, the first token, positions from 2 on, one type, prefix "roberta."
    embedder    qwen3 as the bare model: the last token, of length 1, a prompt for queries
    modernbert  f32, the mean, windows of 12 in two of three layers, frequencies by kind, no biases

golden.safetensors: decoders: `ids` [24 + 32] (a prompt and what is chosen
greedily), `logits` [24 + 32, vocabulary]; others: `ids.N` [n], `embedding.N`
[width].
"""
import json
import os
import shutil
import sys

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, ModernBertConfig, ModernBertModel, Olmo2Config,
                          Olmo2ForCausalLM, Olmo3Config, Olmo3ForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3Model,
                          XLMRobertaConfig, XLMRobertaModel)

SMALL = dict(vocab_size=150, hidden_size=32, intermediate_size=70, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, bos_token_id=None, eos_token_id=0, pad_token_id=None, attn_implementation="eager")
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
ENCODER = dict(vocab_size=150, hidden_size=36, intermediate_size=70, num_hidden_layers=3, num_attention_heads=4, attn_implementation="eager")

FAMILIES = {
    "llama2": (LlamaConfig, LlamaForCausalLM, torch.float32,
               dict(SMALL, num_key_value_heads=4, attention_bias=True, mlp_bias=True,
                    rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0})),
    "llama3": (LlamaConfig, LlamaForCausalLM, torch.float16,
               dict(SMALL, tie_word_embeddings=True, rms_norm_eps=1e-5,
                    rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                                     "high_freq_factor": 4.0, "original_max_position_embeddings": 64})),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, torch.float32,
              dict(SMALL, use_sliding_window=True, sliding_window=11, max_window_layers=2, rope_parameters=PLAIN)),
    "mistral": (MistralConfig, MistralForCausalLM, torch.bfloat16,
                dict(SMALL, sliding_window=13, head_dim=12, rope_parameters=PLAIN)),
    "olmo2": (Olmo2Config, Olmo2ForCausalLM, torch.float32, dict(SMALL, rope_parameters=PLAIN)),
    "olmo3": (Olmo3Config, Olmo3ForCausalLM, torch.float32,
              dict(SMALL, num_hidden_layers=4, sliding_window=9,
                   rope_parameters={"sliding_attention": PLAIN,
                                    "full_attention": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "beta_fast": 32.0,
                                                       "beta_slow": 1.0, "attention_factor": 1.2079441541679836,
                                                       "original_max_position_embeddings": 64}})),
    "bert": (BertConfig, BertModel, torch.float32, dict(ENCODER, vocab_size=400, max_position_embeddings=80)),
    "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel, torch.float32,
                    dict(ENCODER, max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)),
    "embedder": (Qwen3Config, Qwen3Model, torch.float32,
                 dict(SMALL, head_dim=10, num_hidden_layers=2, rope_parameters=PLAIN)),
    "modernbert": (ModernBertConfig, ModernBertModel, torch.float32,
                   dict(ENCODER, hidden_size=32, num_hidden_layers=4, max_position_embeddings=128, local_attention=12, pad_token_id=0,
                        bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 160000.0}, "sliding_attention": PLAIN})),
}

POOLING = {"bert": "pooling_mode_mean_tokens", "xlm-roberta": "pooling_mode_cls_token", "embedder": "pooling_mode_lasttoken", "modernbert": "pooling_mode_mean_tokens"}
UNIT = ("bert", "embedder")


def fill(model, generator, dtype):
    """Large enough for the attention to be anything but even."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() == 1 and name.endswith("bias"):
                p.copy_(0.3 * noise)
            elif p.dim() == 1:
                p.copy_(1 + 0.3 * noise)
            elif "embed" in name:
                p.copy_(0.5 * noise)
            else:
                p.copy_(noise * 1.3 / p.shape[1] ** 0.5)
            p.copy_(p.to(dtype).float())


def greedy(model, prompt, steps):
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(steps):
            ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    return {"ids": torch.tensor(ids, dtype=torch.int32), "logits": logits.contiguous()}


def embeddings(name, model, generator):
    golden = {}
    for i, count in enumerate((1, 7, 40, 64)):
        ids = torch.randint(3, model.config.vocab_size, (count,), generator=generator)
        with torch.no_grad():
            states = model(ids[None]).last_hidden_state[0]
        vector = {"xlm-roberta": states[0], "embedder": states[-1]}.get(name, states.mean(0))
        if name in UNIT:
            vector = vector / vector.norm()
        golden[f"ids.{i}"], golden[f"embedding.{i}"] = ids.int(), vector.contiguous()
    return golden


def write_json(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f, indent=1, sort_keys=True)


def write_pooling(name, folder):
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    if name in UNIT:
        modules.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})
    write_json(folder, "modules.json", modules)
    flags = ("pooling_mode_cls_token", "pooling_mode_mean_tokens", "pooling_mode_max_tokens", "pooling_mode_lasttoken")
    write_json(folder, "1_Pooling/config.json", {"word_embedding_dimension": 36, **{f: f == POOLING[name] for f in flags}})
    if name == "bert":
        write_json(folder, "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    if name == "embedder":
        write_json(folder, "config_sentence_transformers.json", {"prompts": {"query": "Instruct: Find.\nQuery:", "document": ""}})


def save(name, config, model, dtype, folder):
    tensors = {n: t.to(dtype).contiguous() for n, t in model.state_dict().items()
               if not (n == "lm_head.weight" and config.tie_word_embeddings)}
    if name == "xlm-roberta":
        tensors = {f"roberta.{n}": t for n, t in tensors.items()}
    if name == "bert":  # as files from TensorFlow have it
        tensors = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t for n, t in tensors.items()}
    if name == "mistral":
        names = sorted(tensors)
        halves = {f"model-0000{i + 1}-of-00002.safetensors": names[i::2] for i in range(2)}
        for file, part in halves.items():
            save_file({n: tensors[n] for n in part}, os.path.join(folder, file), {"format": "pt"})
        write_json(folder, "model.safetensors.index.json", {"metadata": {}, "weight_map": {n: f for f, part in halves.items() for n in part}})
    else:
        save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    made = json.loads(config.to_json_string())
    made["architectures"] = [type(model).__name__]
    made.pop("_attn_implementation", None)
    write_json(folder, "config.json", made)


def main(out, names):
    for seed, (name, (config_class, model_class, dtype, values)) in enumerate(FAMILIES.items()):
        if names and name not in names:
            continue
        folder = os.path.join(out, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        generator = torch.Generator().manual_seed(100 + seed)
        config = config_class(**values)
        model = model_class(config).float().eval()
        fill(model, generator, dtype)
        if config.tie_word_embeddings and hasattr(model, "lm_head"):
            model.tie_weights()
        if name in POOLING:
            golden = embeddings(name, model, generator)
            write_pooling(name, folder)
        else:
            golden = greedy(model, torch.randint(0, config.vocab_size, (24,), generator=generator).tolist(), 32)
        save(name, config, model, dtype, folder)
        save_file(golden, os.path.join(folder, "golden.safetensors"))
        size = sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)
        print(name, size, "bytes", f"logits up to {float(golden['logits'].abs().max()):.1f}, {len(set(golden['ids'].tolist()))} ids" if "logits" in golden else "")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
