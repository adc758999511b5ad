#!/usr/bin/env python3
"""Writes small GGUF files into tests/golden/gguf: models of random weights with what transformers says of them, and
tokenizers with what their own libraries say.  Not needed to run the tests.

    python3 -m venv venv && venv/bin/pip install torch transformers gguf sentencepiece protobuf
    venv/bin/python tests/experiments/model/make_gguf.py tests/golden/gguf [MODEL ...]

    bert            f32, the first token
    nomic-bert      f16, q, k and v in one matrix, rotary positions, mean; with the WordPiece of tests/golden/tokenizers/bert
    qwen3           f32, made for embedding: the last token
    gemma-embedding f32, the same seeing both ways, windows too, mean, two matrices behind it
    gemma3          f32, a window in five of six layers with frequencies of its own, tied head
    sentencepiece   BPE by scores with bytes to fall back on, trained here on the licences of Debian
    unigram         the same of Unigram, with its map of characters

X.safetensors: decoders: `ids`, `logits` [n, vocabulary]; others: `ids.N` [n], `embedding.N` [width], of length 1.
X.json: {text: ids}."""
import json
import os
import sys
import tempfile

import gguf
import numpy
import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertModel, Gemma3ForCausalLM, Gemma3TextConfig, Gemma3TextModel, NomicBertConfig,
                          NomicBertModel, Qwen3Config, Qwen3Model)

ENCODER = dict(vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
               attn_implementation="eager")
DECODER = dict(vocab_size=100, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
               max_position_embeddings=256, attn_implementation="eager")
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
GEMMA3 = dict(DECODER, query_pre_attn_scalar=16,
              rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 100000.0, "factor": 4.0},
                               "sliding_attention": PLAIN})
MODELS = {
    "bert": (BertConfig, BertModel, dict(ENCODER, max_position_embeddings=80)),
    "nomic-bert": (NomicBertConfig, NomicBertModel,
                   dict(ENCODER, vocab_size=400, max_position_embeddings=128, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})),
    "qwen3": (Qwen3Config, Qwen3Model, dict(DECODER, num_hidden_layers=2, rope_parameters=PLAIN)),
    "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM, dict(GEMMA3, num_hidden_layers=7, sliding_window=9)),
    "gemma-embedding": (Gemma3TextConfig, Gemma3TextModel,
                        dict(GEMMA3, num_hidden_layers=6, sliding_window=20, use_bidirectional_attention=True)),
}
POOLING = {"bert": gguf.PoolingType.CLS, "nomic-bert": gguf.PoolingType.MEAN, "qwen3": gguf.PoolingType.LAST,
           "gemma-embedding": gguf.PoolingType.MEAN}

NAMES = {  # of all families, in the order in which they are tried
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm", "embed_tokens": "token_embd",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "norm": "output_norm",
}
OTHER_NAMES = {
    "nomic-bert": {"post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm"},
    "gemma3": {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"},
}
OTHER_NAMES["gemma-embedding"] = OTHER_NAMES["gemma3"]


def fill(model, generator, half):
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() == 1:
                p.copy_(0.3 * noise + (0 if name.endswith("bias") or "Gemma" in type(model).__name__ else 1))
            else:
                p.copy_(0.5 * noise if "embed" in name else noise * 1.3 / p.shape[1] ** 0.5)
            p.copy_(p.half().float() if half else p)


def name_of(family, name):
    stem, _, end = name.removeprefix("model.").rpartition(".")
    layer = ""
    for prefix in ("encoder.layer.", "layers."):
        if stem.startswith(prefix):
            number, _, stem = stem.removeprefix(prefix).partition(".")
            layer = f"blk.{number}."
    return f"{layer}{ {**NAMES, **OTHER_NAMES.get(family, {})}[stem]}.{end}"


def tensors_of(family, model):
    tensors = {name_of(family, name): p.detach().clone() for name, p in model.named_parameters() if "pooler" not in name}
    if family == "nomic-bert":
        for i in range(model.config.num_hidden_layers):
            parts = [tensors.pop(f"blk.{i}.attn_{part}.weight") for part in "qkv"]
            tensors[f"blk.{i}.attn_qkv.weight"] = torch.cat(parts)
    if "gemma" in family:  # their norms are 1 + w there
        tensors = {name: t + 1 if "norm" in name else t for name, t in tensors.items()}
    return {name: (t.half() if family == "nomic-bert" and t.dim() == 2 and "types" not in name else t).numpy()
            for name, t in tensors.items()}


def write_config(writer, family, config):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if family in POOLING:
        writer.add_pooling_type(POOLING[family])
    if "bert" in family:
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    parameters = getattr(config, "rope_parameters", None) or {}
    parameters = parameters.get("full_attention", parameters)
    if parameters:
        writer.add_rope_freq_base(parameters["rope_theta"])
    if "factor" in parameters:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(parameters["factor"])
    if "gemma" in family:
        writer.add_sliding_window(MODELS[family][2]["sliding_window"])  # the config halves what sees both ways


def dense_of(family, generator):
    return [torch.randn(shape, generator=generator) / 6 for shape in ((48, 32), (32, 48))] if family == "gemma-embedding" else []


def golden_of(family, model, generator, dense):
    golden = {}
    if family not in POOLING:
        ids = torch.randint(0, model.config.vocab_size, (40,), generator=generator)
        with torch.no_grad():
            return {"ids": ids.int(), "logits": model(ids[None]).logits[0].contiguous()}
    for i, count in enumerate((1, 7, 40, 64)):
        ids = torch.randint(0, model.config.vocab_size, (count,), generator=generator)
        with torch.no_grad():
            states = model(ids[None]).last_hidden_state[0]
        vector = {"bert": states[0], "qwen3": states[-1]}.get(family, states.mean(0))
        for matrix in dense:
            vector = matrix @ vector
        golden[f"ids.{i}"], golden[f"embedding.{i}"] = ids.int(), (vector / vector.norm()).contiguous()
    return golden


def write_model(out, seed, family, config_class, model_class, values):
    generator = torch.Generator().manual_seed(280 + seed)
    config = config_class(**values)
    model = model_class(config).float().eval()
    fill(model, generator, family == "nomic-bert")
    writer = gguf.GGUFWriter(os.path.join(out, f"{family}.gguf"), family)
    write_config(writer, family, config)
    if family == "nomic-bert":
        write_wordpiece(writer, os.path.join(out, "../tokenizers/bert/tokenizer.json"))
    for name, tensor in tensors_of(family, model).items():
        writer.add_tensor(name, numpy.ascontiguousarray(tensor))
    dense = dense_of(family, generator)
    for i, matrix in enumerate(dense):
        writer.add_tensor(f"dense_{2 + i}.weight", matrix.numpy())
    close(writer)
    save_file(golden_of(family, model, generator, dense), os.path.join(out, f"{family}.safetensors"))


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- Tokenizers ----

TEXTS = ["", " ", "Hello world", "  two  spaces   three ", "CREATE INDEX films_idx ON films (title);\n\n\tx  = 12345 + y's", "\n\n\n",
         "caf\u00e9 na\u00efve \u4e2d\u6587 \U0001f600 \uff21\uff22 \ufb01", "copyright </s> holders <extra> and <s> others", "a\u2581b",
         "The above copyright notice and this permission notice shall be included in all copies or substantial portions of it."]


def train(kind, folder, text):
    import sentencepiece
    prefix = os.path.join(folder, kind)
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=prefix, vocab_size=420, model_type=kind, byte_fallback=kind == "bpe", character_coverage=0.995,
        remove_extra_whitespaces=kind != "bpe", normalization_rule_name="identity" if kind == "bpe" else "nmt_nfkc",
        user_defined_symbols=["<extra>"], minloglevel=2, num_threads=1)
    return sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")


def write_wordpiece(writer, path):
    """As llama.cpp's converter writes it."""
    with open(path) as file:
        read = json.load(file)
    special = {token["content"] for token in read["added_tokens"]}
    tokens = sorted(read["model"]["vocab"], key=read["model"]["vocab"].get)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([t if t in special else t.removeprefix("##") if t.startswith("##") else "\u2581" + t for t in tokens])
    writer.add_token_types([3 if t in special else 1 for t in tokens])


def write_tokenizer(out, name, kind, trained):
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto.FromString(trained.serialized_model_proto())
    writer = gguf.GGUFWriter(os.path.join(out, f"{name}.gguf"), "llama")
    writer.add_tokenizer_model(kind)
    writer.add_token_list([p.piece for p in proto.pieces])
    writer.add_token_scores([p.score for p in proto.pieces])
    writer.add_token_types([p.type for p in proto.pieces])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(kind == "t5")
    if kind == "t5":
        writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)
        writer.add_remove_extra_whitespaces(True)
    close(writer)
    own = {text: [1] + trained.encode(text) + ([2] if kind == "t5" else []) for text in TEXTS if "<s>" not in text}
    with open(os.path.join(out, f"{name}.json"), "w") as file:
        json.dump(own, file, indent=1)


def main(out, names):
    for seed, (family, made) in enumerate(MODELS.items()):
        if not names or family in names:
            write_model(out, seed, family, *made)
    if names:
        return
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        with open(text, "w") as file:
            for name in ("GPL-3", "Apache-2.0", "MPL-2.0"):
                file.write(open(f"/usr/share/common-licenses/{name}", errors="replace").read())
        write_tokenizer(out, "sentencepiece", "llama", train("bpe", folder, text))
        write_tokenizer(out, "unigram", "t5", train("unigram", folder, text))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
