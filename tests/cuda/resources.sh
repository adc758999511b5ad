#!/bin/sh
# Registers, spilled bytes and stack of every kernel, by the assembler:
#   resources.sh NVCC ARCHITECTURE      (90a, say)
cd "$(dirname "$0")/../.." || exit 1
said=
for file in kernels/cuda/*.cu; do
    one=$("$1" -std=c++17 -O3 -I. -gencode "arch=compute_$2,code=sm_$2" -Xptxas -v -c -o /dev/null "$file" 2>&1) ||
        { echo "$one"; exit 1; }
    said="$said$one
"
done
printf '%s' "$said" | awk -v arch="$2" '
    /Compiling entry function/ { split($0, part, "\x27"); name = part[2] }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++)
            if ($i == "Used") registers = $(i + 1)
        printf "%4d registers  %5d spilled  %5d stack  %s\n", registers, stores + loads, stack, name
        spilled += stores + loads > 0
        count++
    }
    END {
        printf "sm_%s: %d kernels, %d with spills\n", arch, count, spilled
    }' | c++filt | sed 's/(.*//; s/void //'
