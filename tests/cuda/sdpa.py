"""PyTorch's fastest correct scaled-dot-product attention, at the shapes of bench_operations.c
and bench_decode.c:

    python3 tests/cuda/sdpa.py     one JSON object a line, as bench.h's

Exit: 0; 77, with the reason, where there is no PyTorch with a device.  bf16, keys and
values of their own heads (enable_gqa); each backend is held against MATH at a small
size, and of those that agree the fastest counts.  Several caches in turn, so that none
stays in the device's own; timed in a CUDA graph.
"""

import json
import sys

CACHE = 1 << 28  # bytes that no device's cache holds


def skip(reason):
    print("SKIP sdpa: " + reason)
    sys.exit(77)


try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as sdpa
except ImportError as error:
    skip("no PyTorch (%s)" % error)
if not torch.cuda.is_available():
    skip("PyTorch finds no device")

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def attend(q, k, v, backend):
    with sdpa_kernel([backend]):
        return sdpa(q, k, v, is_causal=q.shape[2] > 1, enable_gqa=True)


def inputs(m, n, hq, hkv, d):
    def random(heads, rows):
        return torch.randn(1, heads, rows, d, device="cuda", dtype=torch.bfloat16)

    return random(hq, m), random(hkv, n), random(hkv, n)


def agrees(backend, one, hq, hkv, d):
    q, k, v = inputs(1 if one else 256, 256, hq, hkv, d)
    right = attend(q.float(), k.float(), v.float(), SDPBackend.MATH)
    try:
        got = attend(q, k, v, backend).float()
    except RuntimeError:
        return False
    return bool(((got - right).abs().max() / right.abs().max()) < 2e-2)


def seconds(backend, m, n, hq, hkv, d):
    sets = max(1, min(8, CACHE // (4 * n * hkv * d) + 1))
    given = [inputs(m, n, hq, hkv, d) for _ in range(sets)]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for one in given:
            attend(*one, backend)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for one in given:
            attend(*one, backend)
    turns, passed = 1, 0.0
    while passed < 0.3:
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(turns):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        passed, done, turns = begin.elapsed_time(end) / 1e3, turns, turns * 3
    return passed / done / sets


def bench(m, n, hq, hkv, d):
    times = {}
    for name, backend in BACKENDS.items():
        if agrees(backend, m == 1, hq, hkv, d):
            times[name] = seconds(backend, m, n, hq, hkv, d)
    line = {
        "what": "attention, PyTorch's, bf16",
        "shape": "%d queries, %d slots, %d/%d heads of %d" % (m, n, hq, hkv, d),
    }
    if not times:
        line["what"] += ", no backend that is right"
    else:
        best = min(times, key=times.get)
        pairs = n if m == 1 else n * n / 2
        line["backend"], line["torch"] = best, torch.__version__
        line["ms"] = round(times[best] * 1e3, 4)
        if m == 1:
            line["GB/s"] = round(4 * n * hkv * d / times[best] * 1e-9, 1)
        line["TFLOP/s"] = round(4 * pairs * hq * d / times[best] * 1e-12, 2)
    print(json.dumps(line), flush=True)


for bits in range(14, 20):
    bench(1, 1 << bits, 16, 2, 64)
for bits in (14, 16, 17, 19):  # the last takes seconds
    bench(1 << bits, 1 << bits, 16, 2, 64)
bench(102400, 102400, 32, 32, 128)
bench(1, 1 << 22, 16, 2, 64)
for bits in range(14, 20):
    bench(1, 1 << bits, 32, 8, 128)
for bits in range(12, 15):
    bench(1 << bits, 1 << bits, 32, 8, 128)
for bits in (12, 13):
    bench(1 << bits, 1 << bits, 16, 2, 64)
for bits in (20, 21):
    bench(1, 1 << bits, 16, 2, 64)
