#!/usr/bin/env python3
"""A GGUF file as read here and by others.

    compare_gguf.py logits BUILD FILE.gguf TEXT [TOKENS]   against transformers, which has the gguf package decode the file
                                                           to f32: top tokens, perplexities
    compare_gguf.py ids    BUILD FILE.gguf TEXT...         token ids of lines against llama.cpp's
    compare_gguf.py many   BUILD FILE.gguf COUNT FOLDER... the same of COUNT lines, two fifths of the folders' documentation,
                                                           the others random (lines.py)
    compare_gguf.py embed  BUILD FILE.gguf TEXT [LINES]    vectors of lines of an encoder, against transformers as above and
                                                           against llama.cpp
    compare_gguf.py greedy BUILD FILE.gguf PROMPTS         what is written after each line, a prompt, against llama.cpp's;
                                                           where they part, how far apart the two tokens are here
    compare_gguf.py speed  BUILD FILE.gguf [RUNS [THREADS]] one thread, and so many, by turns with llama.cpp (the wheel is
                                                           for AVX2): a prompt of 512, 128 tokens one by one

Needs numpy, safetensors; `logits` torch and transformers, the others the wheel xllamacpp 2026.10.11549."""
import html
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith((".html", ".htm")):
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
    return text


def probe(build, file, verb, lines, *options):
    done = subprocess.run([os.path.join(build, "probe"), verb, "--model", file, *options], check=True,
                          input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Llama:
    """llama.cpp's server, in this process."""

    def __init__(self, file, threads=1, context=2048, embedding=False):
        import xllamacpp
        params = xllamacpp.CommonParams()
        params.model.path = file
        params.n_ctx = context
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.warmup = False
        if embedding:
            params.embedding = True
            params.n_batch = params.n_ubatch = context
        self.server = xllamacpp.Server(params)

    def ask(self, path, body):
        request = urllib.request.Request(self.server.listening_address + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def ids(self, text):
        return self.ask("/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]

    def many_ids(self, lines):
        """Ids of each line, without those that a text begins and ends with: strings of one request, apart by -1."""
        content = [part for line in lines for part in (line, -1)]
        ids, found = self.ask("/tokenize", {"content": content, "add_special": False, "parse_special": True})["tokens"], [[]]
        for i in ids:
            if i == -1:
                found.append([])
            else:
                found[-1].append(i)
        return found[:-1]

    def write(self, ids, count, **more):
        return self.ask("/completion", {"prompt": ids, "n_predict": count, "temperature": 0, "cache_prompt": False,
                                        "return_tokens": True, **more})


# ---- logits ----

def logits_here(build, file, ids):
    from safetensors.numpy import load_file
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "logits")
        subprocess.run([os.path.join(build, "probe"), "logits", "--model", file, "--ids", ",".join(map(str, ids)), "--out", out],
                       check=True)
        return load_file(out)["logits"]


def logits_there(file, ids):
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(os.path.dirname(file), gguf_file=os.path.basename(file), dtype=torch.float32)
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def perplexity(logits, ids):
    import numpy
    logits = logits[:-1].astype(numpy.float64)
    logits -= logits.max(axis=1, keepdims=True)
    chances = logits[range(len(ids) - 1), ids[1:]] - numpy.log(numpy.exp(logits).sum(axis=1))
    return math.exp(-chances.mean())


def compare_logits(build, file, text, tokens="1024"):
    import numpy
    ids = probe(build, file, "tokenize", [text_of(text)])[0][:int(tokens)]
    here, there = logits_here(build, file, ids), logits_there(file, ids)
    same = here.argmax(axis=1) == there.argmax(axis=1)
    ranked = numpy.partition(there, -2, axis=1)
    gap = ranked[:, -1] - ranked[:, -2]
    print(f"{len(ids)} tokens: top token equal at {same.mean():.4f}; where it is not, the two best are at most "
          f"{gap[~same].max(initial=0):.3f} apart; largest difference {abs(here - there).max():.3f} of logits up to "
          f"{abs(there).max():.1f}; perplexity {perplexity(here, ids):.4f}, of the decoded file {perplexity(there, ids):.4f}")


# ---- ids ----

def compare_ids(build, file, *texts):
    lines = [line for text in texts for line in text_of(text).split("\n")]
    llama = Llama(file)
    wrong = 0
    for line, here in zip(lines, probe(build, file, "tokenize", lines)):
        there = llama.ids(line)
        if here != there:
            wrong += 1
            if wrong <= 5:
                print(f"{line!r}\n  here  {here}\n  there {there}")
    print(f"{len(lines)} lines, {wrong} differ")


def compare_many(build, file, count, *folders):
    import lines as source
    count, wrong, ids, shown = int(count), 0, 0, []
    texts = [line.rstrip("\r\n") for line in source.text_lines(folders, count)][:count * 2 // 5]
    texts += source.random_lines(28, count - len(texts))
    llama = Llama(file)
    around = llama.ask("/tokenize", {"content": "a", "add_special": True})["tokens"]
    plain = llama.ask("/tokenize", {"content": "a", "add_special": False})["tokens"]
    before = next(i for i in range(len(around)) if around[i:i + len(plain)] == plain)
    after = len(around) - before - len(plain)
    for at in range(0, count, 20000):
        part = texts[at:at + 20000]
        there = [one for i in range(0, len(part), 500) for one in llama.many_ids(part[i:i + 500])]
        for line, mine, theirs in zip(part, probe(build, file, "tokenize", part), there):
            ids += len(mine)
            if mine[before:len(mine) - after] != theirs or mine[:before] != around[:before]:
                wrong += 1
                shown += [f"{line!r}\n  here  {mine}\n  there {theirs}"] if len(shown) < 12 else []
    print("\n".join(shown))
    print(f"{len(texts)} lines, {count * 2 // 5} of documentation at most, {ids} ids, {wrong} differ")


# ---- embed ----

ENCODERS = {  # architecture: class, names here and there
    "bert": ("Bert", {"attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
                      "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
                      "ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm"}),
    "nomic-bert": ("NomicBert", {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
                                 "attn_output": "self_attn.o_proj", "attn_output_norm": "post_attention_layernorm",
                                 "ffn_up": "mlp.up_proj", "ffn_gate": "mlp.gate_proj", "ffn_down": "mlp.down_proj",
                                 "layer_output_norm": "post_mlp_layernorm"})}
EMBEDDINGS = {"token_embd": "word_embeddings", "position_embd": "position_embeddings", "token_types": "token_type_embeddings",
              "token_embd_norm": "LayerNorm"}


def encoder_of(file):
    import numpy
    import torch
    import transformers
    from gguf import GGUFReader, dequantize
    reader = GGUFReader(file)
    kind = reader.get_field("general.architecture").contents()
    name, layer_names = ENCODERS[kind]

    def value(key, absent=None):
        field = reader.get_field(f"{kind}.{key}")
        return field.contents() if field else absent
    tensors = {t.name: torch.tensor(numpy.array(dequantize(t.data, t.tensor_type))).float() for t in reader.tensors}
    layers = value("block_count")
    for i in range(layers):
        if f"blk.{i}.attn_qkv.weight" in tensors:
            for part, rows in zip("qkv", tensors.pop(f"blk.{i}.attn_qkv.weight").chunk(3)):
                tensors[f"blk.{i}.attn_{part}.weight"] = rows
    config = getattr(transformers, name + "Config")(
        vocab_size=len(tensors["token_embd.weight"]), hidden_size=value("embedding_length"), num_hidden_layers=layers,
        num_attention_heads=value("attention.head_count"), intermediate_size=value("feed_forward_length"),
        max_position_embeddings=value("context_length"), layer_norm_eps=value("attention.layer_norm_epsilon"),
        type_vocab_size=len(tensors["token_types.weight"]),
        **({"rope_parameters": {"rope_type": "default", "rope_theta": value("rope.freq_base")}} if kind == "nomic-bert" else {}))
    model = getattr(transformers, name + "Model")(config, add_pooling_layer=False).float().eval()
    state = {}
    for full, tensor in tensors.items():
        stem, end = full.rsplit(".", 1)
        if stem.startswith("blk."):
            _, number, part = stem.split(".")
            before = "encoder.layer." if kind == "bert" else "layers."
            state[f"{before}{number}.{layer_names[part]}.{end}"] = tensor
        else:
            state[f"embeddings.{EMBEDDINGS[stem]}.{end}"] = tensor
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and not [m for m in missing if "position_ids" not in m], (missing, unexpected)
    return model, value("pooling_type")


def compare_embed(build, file, text, count="200"):
    import numpy
    import torch
    from safetensors.numpy import load_file
    lines = [line for line in text_of(text).split("\n") if line.strip()][:int(count)]
    ids = [i[:256] for i in probe(build, file, "tokenize", lines)]
    model, pooling = encoder_of(file)
    llama = Llama(file, embedding=True)
    worst = {"transformers": 1.0, "llama.cpp": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "vectors")
        for one in ids:
            subprocess.run([os.path.join(build, "probe"), "embed", "--model", file, "--ids", ",".join(map(str, one)), "--out", out], check=True)
            here = load_file(out)["embedding"][0]
            with torch.no_grad():
                states = model(torch.tensor([one])).last_hidden_state[0].numpy()
            there = states[0] if pooling == 2 else states.mean(0)
            worst["transformers"] = min(worst["transformers"], float(here @ there / numpy.linalg.norm(there) / numpy.linalg.norm(here)))
            other = numpy.array(llama.ask("/embeddings", {"content": one})[0]["embedding"]).reshape(-1)
            worst["llama.cpp"] = min(worst["llama.cpp"], float(here @ other / numpy.linalg.norm(other) / numpy.linalg.norm(here)))
    print(f"{len(ids)} lines, {sum(map(len, ids))} tokens; least cosine " + ", ".join(f"{k} {v:.7f}" for k, v in worst.items()))


# ---- greedy ----

def compare_greedy(build, file, prompts, count=48):
    llama = Llama(file)
    lines = [line for line in text_of(prompts).split("\n") if line.strip()]
    ids = probe(build, file, "tokenize", lines)
    here = probe(build, file, "write", ids, "--decode", str(count))
    equal, shares, gaps = 0, [], []
    for line, prompt, mine in zip(lines, ids, here):
        theirs = llama.write(prompt, count)["tokens"][:len(mine)]
        common = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
        equal += mine == theirs
        shares.append(common / max(len(mine), 1))
        if common < min(len(mine), len(theirs)):
            last = logits_here(build, file, prompt + mine[:common])[-1]
            gaps.append(float(last[mine[common]] - last[theirs[common]]))
            rank = int((last > last[theirs[common]]).sum()) + 1
            print(f"{line!r}: token {common}, {mine[common]} here, {theirs[common]} there, which is {rank}. here, {gaps[-1]:.3f} below")
        elif mine != theirs:
            print(f"{line!r}: one ends after {common} tokens, {len(mine)} here, {len(theirs)} there")
    print(f"{len(lines)} prompts, up to {count} tokens: {equal} the same to the end; in the mean the first "
          f"{statistics.mean(shares):.2f} of the text is; where they part the two tokens' logits are "
          f"{max(gaps, default=0):.3f} apart at most, {statistics.median(gaps or [0]):.3f} in the median")


# ---- speed ----

def speed(build, file, runs="5", threads="1"):
    """Sides by turns, so that what else runs on the machine falls on all of them."""
    ids = list(range(1000, 1512))
    sides = {f"here, {n} threads": ("all", n) for n in sorted({"1", threads})} | {"here, AVX-VNNI, 1 thread": ("avx_vnni", "1"),
                                                                                             "here, AVX2, 1 thread": ("avx2", "1")}
    servers = {f"llama.cpp, {n} threads": Llama(file, threads=int(n)) for n in sorted({"1", threads})}
    got = {name: [] for name in (*sides, *servers)}
    for server in servers.values():
        server.write(ids, 8, ignore_eos=True)
    for _ in range(int(runs)):
        for name, (level, count) in sides.items():
            done = subprocess.run([os.path.join(build, "tests/bench/bench_gguf"), file, "512", "128", level, count],
                                  capture_output=True, text=True)
            if done.returncode == 2:  # not this processor
                continue
            done.check_returncode()
            mine = json.loads(done.stdout)
            got[name].append((mine["prompt"], mine["decode"], mine["core"]["prompt"], mine["core"]["decode"], mine["read"], mine["share"]))
        for name, server in servers.items():
            start = time.process_time()
            server.write(ids, 1)
            read = time.process_time()
            timings = server.write(ids, 129, ignore_eos=True)["timings"]
            wrote = time.process_time() - read - (read - start)
            got[name].append((timings["prompt_per_second"], timings["predicted_per_second"], len(ids) / (read - start), 128 / wrote))
    middle = {name: [statistics.median(values) for values in zip(*rows)] for name, rows in got.items() if rows}
    base = middle["llama.cpp, 1 threads"]
    print(f"tokens a second by the clock, medians of {runs}")
    for name, row in middle.items():
        more = f"; a core reads {row[4]:.1f} GB/s, of it {row[5]:.2f}" if len(row) > 4 else ""
        print(f"{name}: prompt {row[0]:.1f} ({row[0] / base[0]:.2f} x), one by one {row[1]:.1f} ({row[1] / base[1]:.2f} x); by the processor's "
              f"time {row[2]:.1f} ({row[2] / base[2]:.2f} x), {row[3]:.1f} ({row[3] / base[3]:.2f} x){more}")


if __name__ == "__main__":
    {"logits": compare_logits, "ids": compare_ids, "many": compare_many, "embed": compare_embed, "greedy": compare_greedy, "speed": speed}[sys.argv[1]](*sys.argv[2:])
