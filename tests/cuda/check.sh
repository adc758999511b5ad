#!/bin/sh
# The device's table against the reference on a machine with CUDA's compiler and
# a device, and nothing of Debian's:  check.sh check|bench
# Without either it says SKIP, and why, and ends with 0.  A card of 8.0 or later
# that nvidia-smi names and the program cannot use is a failure.
#
#   GPU_RESULTS    where all that it finds is written, as it comes: check.log or bench.log,
#                  what each test said, gpu-DATE.json (build/gpu/results)
#   GPU_SECONDS    how long all may take, the build too: 570, so that it ends, and says
#                  what it left out, where a command has ten minutes
#   GPU_PROGRAMS   programs that were built before, for this card
cd "$(dirname "$0")/../.." || exit 1
what=$1
end=$(($(date +%s) + ${GPU_SECONDS:-570}))
results=${GPU_RESULTS:-build/gpu/results}
programs=${GPU_PROGRAMS:-build/gpu/check}
mkdir -p "$results" || exit 1
log=$results/$what.log
: >"$log"

say() { echo "$*" | tee -a "$log"; }
within() {  # within SECONDS: that, or what is left of all
    left=$((end - $(date +%s)))
    [ "$1" -le $left ] && echo "$1" || echo $left
}
skip() { say "SKIP gpu-$what: $1"; exit 0; }

# Where PyTorch's wheels and CUDA's own packages have cuBLASLt.
wheels=$(python3 -c 'import glob, site
for folder in site.getsitepackages() + [site.getusersitepackages()]:
    print(*glob.glob(folder + "/nvidia/*/lib"))' 2>/dev/null)
for folder in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib $wheels; do
    [ ! -e "$folder/libcublasLt.so.13" ] || LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done
export LD_LIBRARY_PATH

nvcc=${NVCC-$(ls /usr/local/cuda/bin/nvcc 2>/dev/null || command -v nvcc)}
[ -n "$nvcc" ] || [ -n "$GPU_PROGRAMS" ] || skip "there is no nvcc"
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
if [ -z "$GPU_PROGRAMS" ]; then
    timeout "$(within 9999)" make --no-print-directory -s -j"$(nproc)" BUILD=gpu DNNL= NVCC="$nvcc" \
        CUDA_ARCHS="${CUDA_ARCHS:-$arch}" gpu-programs >"$results/build.log" 2>&1
    code=$?
    cat "$results/build.log"
    [ $code -eq 0 ] || { say "FAILED: gpu-$what: the build (status $code)"; exit 1; }
fi
reason=$("$programs/bench" --device)
case $? in
0) ;;
77)
    reason=${reason#SKIP gpu: }
    [ -z "$usable" ] || { say "FAILED: gpu-$what: $card: $reason"; exit 1; }
    skip "$reason"
    ;;
*) say "$reason"; exit 1 ;;
esac
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit and changes"
say "gpu-$what: $card, commit $commit"

if [ "$what" = bench ]; then
    GPU_CARD="$card" GPU_COMMIT="$commit" GPU_SECONDS="$(within 480)" \
        sh tests/cuda/measure.sh "$programs/bench" "$results" 2>>"$log"
    code=$?
    tail -n +2 "$log" >&2
    exit $code
fi

status=0
fail() { say "FAILED: $1"; status=1; }

# One of the device's tests: no more than its own time, and what is left.
run_test() {  # run_test NAME PROGRAM
    out=$results/test_$1.log
    seconds=$(within "${GPU_TEST_SECONDS:-150}")
    [ "$seconds" -gt 1 ] || { fail "test_$1: the time for all is over"; return; }
    timeout -k 5 "$seconds" "$2" >"$out" 2>&1
    code=$?
    grep -E '^\[|^SKIP cuda( |:)|^tests/' "$out" | tee -a "$log"
    case $code in
    0) ;;
    124 | 137) fail "test_$1: not done in $seconds s" ;;
    *) fail "test_$1 (status $code)" ;;
    esac
    # There is a device: nothing may be left out but what the build leaves out.
    if grep '^SKIP cuda\( [a-z]\|:\)' "$out" | grep -qv emulated; then
        fail "test_$1 left something out"
    fi
}

# The same under one of compute-sanitizer's tools: what is not done is no failure.
run_tool() {  # run_tool TOOL NAME PROGRAM
    out=$results/$1-$2.log
    seconds=$(within "${GPU_TOOL_SECONDS:-60}")
    [ "$seconds" -gt 5 ] || { say "SKIP $1, test_$2: the time for all is over"; return; }
    timeout -k 5 "$seconds" "$sanitizer" --tool "$1" --error-exitcode 9 "$3" >"$out" 2>&1
    code=$?
    case $code in
    0) say "$1, test_$2: nothing found" ;;
    124 | 137) say "SKIP $1, test_$2: not done in $seconds s" ;;
    9)
        tail -20 "$out"
        fail "$1, test_$2 ($out)"
        ;;
    *)
        if grep -q 'SUMMARY' "$out"; then
            fail "test_$2 under $1 (status $code, $out)"
        else
            say "SKIP $1: it does not run here (status $code)"
        fi
        ;;
    esac
}

for test in kernels products blocks_device attention summaries attention_star_hici cuda streams pages; do
    program=$(ls "$programs"/*/test_$test 2>/dev/null || echo "$programs/test_$test")
    run_test $test "$program"
done
sanitizer=${GPU_SANITIZER-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
for tool in ${sanitizer:+memcheck racecheck}; do
    for test in attention summaries attention_star_hici; do
        run_tool $tool $test "$(ls "$programs"/*/test_$test 2>/dev/null || echo "$programs/test_$test")"
    done
done
[ -n "$sanitizer" ] || say "SKIP memcheck, racecheck: there is no compute-sanitizer"
[ $status -eq 0 ] && say "gpu-check: fine"
exit $status
