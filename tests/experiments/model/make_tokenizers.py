#!/usr/bin/env python3
"""Trains small tokenizers of the kinds that are not byte-level into
tests/golden/tokenizers, and writes down what Hugging Face's library makes of
tests/golden/models/lines.json.

    venv/bin/pip install tokenizers sentencepiece
    venv/bin/python tests/experiments/model/make_tokenizers.py tests/golden/tokenizers tests/golden/models/lines.json

Not needed to run the tests.  compare_tokenizers.py trains the same kinds larger.

    bert         WordPiece, lower case, accents stripped, ideographs apart
    cased        WordPiece as it is written, short words only, BertProcessing
    llama        BPE of characters with bytes to fall back on, one piece
    metaspace    BPE with an unknown token, NFKC, lower case, ends stripped, digits and
                 punctuation apart, spaces as marks
    unigram      as XLM-RoBERTa has it, but for its map of characters
    precompiled  SentencePiece's own training: a map of characters, bytes to fall back on

tokens.json: the ids of each line, and `decoded`, their text.
"""
import json
import os
import sys
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from lines import FIXED, text_lines

MARK = "\u2581"
KINDS = ("bert", "cased", "llama", "metaspace", "unigram", "precompiled")


def template(t, begin, end):
    parts = ([begin] if begin else []) + ["$A"] + ([end] if end else [])
    specials = [(s, t.token_to_id(s)) for s in (begin, end) if s]
    t.post_processor = processors.TemplateProcessing(single=" ".join(parts), pair=None, special_tokens=specials)


def wordpiece(kind, size, corpus):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100 if kind == "bert" else 14))
    cased = kind == "cased"
    t.normalizer = normalizers.BertNormalizer(lowercase=not cased, handle_chinese_chars=not cased)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece(cleanup=not cased)
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    if cased:
        t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    else:
        template(t, "[CLS]", "[SEP]")
    return t


def add_bytes(made):
    """The 256 tokens to fall back on, in place of the last ones that no merge makes or needs."""
    vocab = made["model"]["vocab"]
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)


def llama(size, corpus):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    t.pre_tokenizer = pre_tokenizers.Split(Regex(f"(?={MARK})"), "isolated")  # for the training only
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<s>", "</s>"], limit_alphabet=150))
    made = json.loads(t.to_str())
    made["pre_tokenizer"] = None
    add_bytes(made)
    t = Tokenizer.from_str(json.dumps(made))
    t.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    template(t, "<s>", None)
    return t


def metaspace(size, corpus):
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(MARK, prepend_scheme="first"), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("merged_with_previous")])
    t.decoder = decoders.Metaspace(MARK, prepend_scheme="first")
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], limit_alphabet=120))
    t.add_tokens([AddedToken("word", single_word=True, normalized=True), AddedToken("<tool>", lstrip=True, rstrip=True, normalized=False)])
    return t


def unigram(size, corpus):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(MARK, prepend_scheme="always")])
    t.decoder = decoders.Metaspace(MARK, prepend_scheme="always")
    t.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=size, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"))
    template(t, "<s>", "</s>")
    return t


RULES = "AB\tab\n\uff21\tA\n\uff22\tB\n\u00e9\te\n\ufb01\tfi\n\u00a0\t \n\u3000\t \n\u2460\t1\n\u0301\t\n"


def precompiled(size, corpus, whole=False):
    """`whole`: SentencePiece's usual map (of 240 KB); else the few rules above."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as proto
    with tempfile.TemporaryDirectory() as work:
        text, rules, prefix = (os.path.join(work, name) for name in ("text", "rules", "model"))
        with open(text, "w", encoding="utf-8") as f:
            f.writelines(line.replace("\n", " ") + "\n" for line in corpus)
        with open(rules, "w", encoding="utf-8") as f:
            for rule in RULES.splitlines():
                f.write("\t".join(" ".join(f"{ord(c):04X}" for c in part) for part in rule.split("\t")) + "\n")
        usual = dict(normalization_rule_name="nmt_nfkc") if whole else dict(normalization_rule_tsv=rules)
        sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=prefix, vocab_size=size, byte_fallback=True, minloglevel=2,
                                                 hard_vocab_limit=False, num_threads=1, **usual)
        model = proto.ModelProto.FromString(open(prefix + ".model", "rb").read())
    t = Tokenizer(models.Unigram([(p.piece, p.score) for p in model.pieces], model.trainer_spec.unk_id, True))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(MARK, prepend_scheme="always")
    t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(MARK, prepend_scheme="always")])
    t.add_special_tokens(["<s>", "</s>"])
    return t


def make(kind, size, corpus, whole=False):
    if kind in ("bert", "cased"):
        return wordpiece(kind, size, corpus)
    if kind == "precompiled":
        return precompiled(size, corpus, whole)
    return {"llama": llama, "metaspace": metaspace, "unigram": unigram}[kind](size, corpus)


def main(out, lines):
    with open(lines, encoding="utf-8") as f:
        lines = json.load(f)
    corpus = text_lines(["/usr/share/common-licenses"], 4000)[:4000] + FIXED * 3
    for kind in KINDS:
        folder = os.path.join(out, kind)
        os.makedirs(folder, exist_ok=True)
        t = make(kind, {"unigram": 500, "precompiled": 600}.get(kind, 400), corpus)
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
            json.dump(json.loads(t.to_str()), f, ensure_ascii=False, separators=(",", ":"))
        t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        ids = [t.encode(line).ids for line in lines]
        with open(os.path.join(folder, "tokens.json"), "w", encoding="utf-8") as f:
            json.dump({"ids": ids, "decoded": [t.decode(i, skip_special_tokens=False) for i in ids]}, f, ensure_ascii=False,
                      separators=(",", ":"))
        print(kind, t.get_vocab_size(), sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), "bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
