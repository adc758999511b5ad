#!/bin/sh
# The device's table against the reference on a machine with CUDA's compiler and
# a device, and nothing of Debian's:  check.sh check|bench
# Without either it says SKIP, and why, and ends with 0.  A card of 8.0 or later
# that nvidia-smi names and the program cannot use is a failure.
cd "$(dirname "$0")/../.." || exit 1
what=$1
nvcc=${NVCC-$(ls /usr/local/cuda/bin/nvcc 2>/dev/null || command -v nvcc)}
[ -n "$nvcc" ] || { echo "SKIP gpu-$what: there is no nvcc"; exit 0; }
card=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | head -1)
# Code for this card alone, or, to try the build, for Hopper.
arch=$(printf '%s' "$card" | sed 's/.*, *//; s/\.//')
usable=yes
case "$arch" in
9* | 1[0-9]*) arch="${arch}a" ;;
8*) ;;
[0-9]*) usable= ;;
*) arch=90a usable= ;;
esac
make --no-print-directory -s -j"$(nproc)" BUILD=gpu DNNL= NVCC="$nvcc" CUDA_ARCHS="${CUDA_ARCHS:-$arch}" gpu-programs || exit 1
reason=$(build/gpu/check/bench --device)
case $? in
0) ;;
77)
    reason=${reason#SKIP gpu: }
    [ -z "$usable" ] || { echo "FAILED: gpu-$what: $card: $reason"; exit 1; }
    echo "SKIP gpu-$what: $reason"
    exit 0
    ;;
*) echo "$reason"; exit 1 ;;
esac
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit and changes"

if [ "$what" = bench ]; then
    GPU_CARD="$card" GPU_COMMIT="$commit" sh tests/cuda/measure.sh build/gpu/check/bench "${GPU_RESULTS:-tests/bench/results}"
    exit
fi

status=0
echo "gpu-check: $card, commit $commit"
for test in kernels products attention attention_star_hici cuda pages; do
    timeout 240 build/gpu/check/*/test_$test >build/gpu/test_$test.log 2>&1
    code=$?
    grep -E '^\[|^SKIP cuda( |:)|^tests/' build/gpu/test_$test.log
    [ $code -eq 0 ] || { echo "FAILED: test_$test (status $code)"; status=1; }
    # There is a device: nothing may be left out but what the build leaves out.
    if grep -q '^SKIP cuda [a-z]\|^SKIP cuda:' build/gpu/test_$test.log &&
        grep '^SKIP cuda' build/gpu/test_$test.log | grep -qv emulated; then
        echo "FAILED: test_$test left something out"
        status=1
    fi
done
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
for tool in ${sanitizer:+memcheck racecheck}; do
    for test in attention attention_star_hici; do
        log=build/gpu/$tool-$test.log
        timeout 120 "$sanitizer" --tool $tool --error-exitcode 9 build/gpu/check/*/test_$test >$log 2>&1
        code=$?
        case $code in
        0) echo "$tool, test_$test: nothing found" ;;
        124) echo "SKIP $tool, test_$test: not done in two minutes" ;;
        9) echo "FAILED: $tool, test_$test ($log)"; tail -20 $log; status=1 ;;
        *)
            if grep -q 'SUMMARY' $log; then
                echo "FAILED: test_$test under $tool (status $code, $log)"
                status=1
            else
                echo "SKIP $tool: it does not run here (status $code)"
            fi
            ;;
        esac
    done
done
[ -n "$sanitizer" ] || echo "SKIP memcheck, racecheck: there is no compute-sanitizer"
[ $status -eq 0 ] && echo "gpu-check: fine"
exit $status
