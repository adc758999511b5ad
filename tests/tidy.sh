#!/bin/sh
# Fails on what clang-tidy finds in the programs' sources, of .clang-tidy's checks.
# kernels/cpu asks gcc which instructions there are, in words that clang 14 has not.
cd "$(dirname "$0")/.." || exit 1
find base tree memory indexer model kernels daemon cli -name '*.c' ! -path kernels/cpu/cpu.c -print |
    xargs -P "$(nproc)" -n 20 clang-tidy -p . --quiet --warnings-as-errors='*' 2>/dev/null &&
    echo "tidy: fine"
