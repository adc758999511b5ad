#!/usr/bin/env python3
"""Writes small rerankers of random weights, with what transformers says of pairs of texts:

    tests/golden/models/bert-rerank         two types of tokens, WordPiece of tests/golden/tokenizers/bert
    tests/golden/gguf/bert-rerank.gguf      the same weights in one file, as llama.cpp's converter names them
    tests/golden/models/roberta-rerank      one type of tokens, a head of two layers
    tests/golden/models/modernbert-rerank   ModernBERT, a head with a norm of the mean, biases of norms and head
    tests/golden/models/qwen3-rerank        a decoder, the logits of two words, with a tokenizer of bytes and these words
    tests/golden/gguf/qwen3-rerank.gguf     the same weights, the words' rows apart, "no" first

    make_rerankers.py tests/golden [MODEL ...]     (needs torch, transformers, tokenizers, gguf)

pairs.json: [{question, passage, ids, second (where the passage begins), score}]; of the last two without texts."""
import json
import os
import shutil
import sys

import gguf
import numpy
import torch
import tokenizers
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import (BertConfig, BertForSequenceClassification, ModernBertConfig, ModernBertForSequenceClassification, Qwen3Config, Qwen3ForCausalLM,
                          XLMRobertaConfig, XLMRobertaForSequenceClassification)

from make_gguf import NAMES, close, fill, name_of, write_config, write_wordpiece

SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_labels=1,
             attn_implementation="eager")
PAIRS = [("how do I make an index", "CREATE INDEX constructs an index on the specified column or columns."),
         ("unique", "An index can be declared unique."), ("a", ""),
         ("which license covers the library", "The library is covered by the GNU General Public License, with exceptions. ")]


def save(folder, model):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file({n: t.contiguous() for n, t in model.state_dict().items()}, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    made = json.loads(model.config.to_json_string())
    made["architectures"] = [type(model).__name__]
    made["id2label"] = {"0": "LABEL_0"}
    made.pop("_attn_implementation", None)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(made, file, indent=1, sort_keys=True)


def save_pairs(path, pairs):
    with open(path, "w") as file:
        json.dump(pairs, file, indent=1)


def bert_pairs(model, tokenizer):
    for question, passage in PAIRS:
        before = tokenizer.encode(question).ids  # [CLS] question [SEP]
        behind = tokenizer.encode(passage, add_special_tokens=False).ids + before[-1:]
        types = [0] * len(before) + [1] * len(behind)
        with torch.no_grad():
            score = model(torch.tensor([before + behind]), token_type_ids=torch.tensor([types])).logits[0, 0]
        yield {"question": question, "passage": passage, "ids": before + behind, "second": len(before), "score": float(score)}


def random_pairs(model, generator, between):
    for question, passage in ((4, 9), (1, 1), (12, 40)):
        draw = [torch.randint(3, model.config.vocab_size, (n,), generator=generator).tolist() for n in (question, passage)]
        ids = [0] + draw[0] + between + draw[1] + [2]
        with torch.no_grad():
            score = model(torch.tensor([ids])).logits[0, 0]
        yield {"ids": ids, "second": question + 1 + len(between), "score": float(score)}


def gguf_name(name):
    stem, _, end = name.removeprefix("bert.").rpartition(".")
    if stem in ("pooler.dense", "classifier"):
        return {"pooler.dense": "cls", "classifier": "cls.output"}[stem] + "." + end
    layer = ""
    if stem.startswith("encoder.layer."):
        number, _, stem = stem.removeprefix("encoder.layer.").partition(".")
        layer = f"blk.{number}."
    return f"{layer}{NAMES[stem]}.{end}"


def save_gguf(path, model, tokenizer):
    writer = gguf.GGUFWriter(path, "bert")
    write_config(writer, "bert-rerank", model.config)
    writer.add_pooling_type(gguf.PoolingType.RANK)
    write_wordpiece(writer, tokenizer)
    for name, tensor in model.named_parameters():
        writer.add_tensor(gguf_name(name), numpy.ascontiguousarray(tensor.detach().numpy()))
    close(writer)


def make_bert(golden):
    generator = torch.Generator().manual_seed(2804)
    words = os.path.join(golden, "tokenizers/bert/tokenizer.json")
    bert = BertForSequenceClassification(BertConfig(vocab_size=400, max_position_embeddings=128, **SMALL)).float().eval()
    fill(bert, generator, False)
    folder = os.path.join(golden, "models/bert-rerank")
    save(folder, bert)
    shutil.copy(words, folder)
    save_pairs(os.path.join(folder, "pairs.json"), list(bert_pairs(bert, Tokenizer.from_file(words))))
    save_gguf(os.path.join(golden, "gguf/bert-rerank.gguf"), bert, words)
    return generator


def make_roberta(golden, generator):
    roberta = XLMRobertaForSequenceClassification(
        XLMRobertaConfig(vocab_size=100, max_position_embeddings=82, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5,
                         **SMALL)).float().eval()
    fill(roberta, generator, False)
    folder = os.path.join(golden, "models/roberta-rerank")
    save(folder, roberta)
    save_pairs(os.path.join(folder, "pairs.json"), list(random_pairs(roberta, generator, [2, 2])))


def make_modernbert(golden):
    generator = torch.Generator().manual_seed(2805)
    config = ModernBertConfig(vocab_size=100, max_position_embeddings=82, local_attention=10, classifier_pooling="mean",
                              classifier_bias=True, norm_bias=True, pad_token_id=1, bos_token_id=0, eos_token_id=2, cls_token_id=0,
                              sep_token_id=2, **SMALL)
    modernbert = ModernBertForSequenceClassification(config).float().eval()
    fill(modernbert, generator, False)
    folder = os.path.join(golden, "models/modernbert-rerank")
    save(folder, modernbert)
    save_pairs(os.path.join(folder, "pairs.json"), list(random_pairs(modernbert, generator, [2])))


# The words of Qwen2's tokenizers: contractions, letters, one digit, signs, white space.
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PROMPT = "<|im_start|>user\nQ: {query}\nD: {document}<|im_end|>\n<|im_start|>assistant\n"


def words_tokenizer():
    """Bytes, the words "yes" and "no", marks that frame a conversation."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [("y", "e"), ("ye", "s"), ("n", "o"), ("\u0120", "i")]
    tokens = {token: i for i, token in enumerate(alphabet + [a + b for a, b in merges])}
    made = Tokenizer(tokenizers.models.BPE(tokens, merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(QWEN2), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return made, merges


def words_pairs(model, tokenizer):
    yes, no = tokenizer.token_to_id("yes"), tokenizer.token_to_id("no")
    for question, passage in PAIRS:
        ids = tokenizer.encode(PROMPT.replace("{query}", question).replace("{document}", passage)).ids
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        yield {"question": question, "passage": passage, "ids": ids, "score": float(logits[yes] - logits[no])}


def save_words_gguf(path, model, tokenizer, merges):
    writer = gguf.GGUFWriter(path, "qwen3")
    write_config(writer, "qwen3-rerank", model.config)
    writer.add_pooling_type(gguf.PoolingType.RANK)
    writer.add_classifier_output_labels(["no", "yes"])
    writer.add_chat_template([{"name": "rerank", "template": PROMPT}])
    count = tokenizer.get_vocab_size()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([tokenizer.id_to_token(i) for i in range(count)])
    writer.add_token_types([3 if i >= count - 2 else 1 for i in range(count)])
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    for name, tensor in model.named_parameters():
        values = numpy.ascontiguousarray(tensor.detach().numpy())
        if name == "lm_head.weight":
            writer.add_tensor("cls.output.weight", values[[tokenizer.token_to_id("no"), tokenizer.token_to_id("yes")]])
        else:
            writer.add_tensor(name_of("qwen3", name), values)
    close(writer)


def make_words(golden):
    generator = torch.Generator().manual_seed(2806)
    tokenizer, merges = words_tokenizer()
    config = Qwen3Config(vocab_size=tokenizer.get_vocab_size(), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=512,
                         tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
                         attn_implementation="eager")
    model = Qwen3ForCausalLM(config).float().eval()
    fill(model, generator, False)
    folder = os.path.join(golden, "models/qwen3-rerank")
    save(folder, model)
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        made = json.load(file)
    made["lectern"] = {"rerank_prompt": PROMPT}
    with open(path, "w") as file:
        json.dump(made, file, indent=1, sort_keys=True)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    save_pairs(os.path.join(folder, "pairs.json"), list(words_pairs(model, tokenizer)))
    save_words_gguf(os.path.join(golden, "gguf/qwen3-rerank.gguf"), model, tokenizer, merges)


def main(golden, names):
    if not names or "bert" in names:
        make_roberta(golden, make_bert(golden))
    if not names or "modernbert" in names:
        make_modernbert(golden)
    if not names or "qwen3" in names:
        make_words(golden)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
