"""Tokens one by one behind a long text, or a piece of it, here and in llama.cpp, on one GGUF file:

    compare_long.py BUILD FILE.gguf TOKENS THREADS [TURNS [PIECE]]

What lies before is never read: here pages of random numbers (tests/bench/bench_context.c), there the
state of 256 tokens, saved, repeated up to TOKENS and restored.  By turns, so that load favours
neither; milliseconds a token, the least of runs of 2 tokens here and of 4 there; with PIECE milliseconds of so
many tokens read at once, the least of TURNS.  What reading a text costs is the sum over its pieces, which cost in
proportion to what lies before, so that few lengths tell it.  Needs the wheel xllamacpp 2026.10.11549."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import urllib.request

SMALL, WRITTEN, STEPS = 256, 4, 4


def repeat(data, tokens):
    """A saved slot of SMALL tokens as one of `tokens`."""
    times = tokens // SMALL
    head = struct.unpack_from("<6I", data)
    at = 12 + 4 * (SMALL + 4)
    if head[2] != SMALL + 4 or head[5] != SMALL or struct.unpack_from("<II", data, at) != (1, SMALL):
        raise SystemExit("the state has another form")
    parts = [struct.pack("<6I", head[0], head[1], tokens + 4, head[3], head[4], tokens), data[24:24 + 4 * SMALL] * times,
             struct.pack("<3I", 0, 1, tokens), *(struct.pack("<3i", i, 1, 0) for i in range(tokens))]
    at += 8 + 12 * SMALL
    parts.append(data[at:at + 16])
    at += 16
    while at < len(data):
        size = struct.unpack_from("<iQ", data, at)[1] * SMALL
        parts += [data[at:at + 12], data[at + 12:at + 12 + size] * times]
        at += 12 + size
    return b"".join(parts)


class Other:
    def __init__(self, file, tokens, threads, folder):
        import xllamacpp
        params = xllamacpp.CommonParams()
        params.model.path = file
        params.n_ctx = tokens + 2048
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup = False
        params.slot_save_path = folder + "/"
        self.server = xllamacpp.Server(params)
        self.ids = [1000 + i * 37 % 5000 for i in range(SMALL)]
        self.write(self.ids, 1)
        self.ask("/slots/0?action=save", {"filename": "a"})
        with open(os.path.join(folder, "a"), "rb") as small, open(os.path.join(folder, "b"), "wb") as large:
            large.write(repeat(small.read(), tokens))
        self.ask("/slots/0?action=restore", {"filename": "b"})
        self.ids *= tokens // SMALL

    def ask(self, path, body):
        request = urllib.request.Request(self.server.listening_address + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def write(self, ids, count):
        return self.ask("/completion", {"prompt": ids, "n_predict": count, "temperature": 0, "cache_prompt": True,
                                        "ignore_eos": True})["timings"]

    def step(self, piece):
        """Milliseconds of a token, or of a piece that another begins than the one before."""
        self.turn = getattr(self, "turn", 0) + 1
        if piece > 1:
            timings = self.write(self.ids + [1234 + self.turn] + self.ids[:piece - 1], 1)
        else:
            timings = self.write(self.ids + [1234], WRITTEN)
        if timings["prompt_n"] > piece:
            raise SystemExit("what was restored is read again")
        return timings["prompt_ms"] if piece > 1 else timings["predicted_ms"] / timings["predicted_n"]


def ours(build, *args):
    done = subprocess.run([os.path.join(build, "tests/bench/bench_context"), "speed", *map(str, args)],
                          check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main(build, file, tokens, threads, turns=2, piece=1):
    tokens, threads, piece = int(tokens) // SMALL * SMALL, int(threads), int(piece)
    least, there = {}, []
    with tempfile.TemporaryDirectory() as folder:
        other = Other(file, tokens, threads, folder)
        for _ in range(int(turns)):
            for way in ours(build, file, tokens, threads, piece):
                name = f"{way['way']} {way['keys']}"
                least[name] = min(way["ms"], least.get(name, way["ms"]))
            there += [other.step(piece) for _ in range(STEPS if piece == 1 else 1)]
    print(json.dumps({"tokens": tokens, "threads": threads, "piece": piece, "here": least,
                      "llama.cpp": round(min(there), 1)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
