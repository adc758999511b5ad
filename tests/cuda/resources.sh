#!/bin/sh
# Registers, spilled bytes and stack of every kernel, as the assembler said them while
# the kernels were compiled (build/cuda/*.ptxas):
#   resources.sh [--check] FOLDER
# --check says nothing of kernels that are as they should be, and fails where one
# spills that did not before, or where nothing was compiled.  With CUDA's
# disassembler it looks into the code of the kernels that are to use the tensor
# cores too.
check=
[ "$1" != --check ] || { check=yes; shift; }
folder=$1
ls "$folder"/*.ptxas >/dev/null 2>&1 || { echo "FAILED: nothing was compiled in $folder"; exit 1; }
cat "$folder"/*.ptxas | awk '
    /Compiling entry function/ { split($0, part, "\x27"); name = part[2]; arch = part[4] }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++)
            if ($i == "Used") registers = $(i + 1)
        printf "%-8s %4d registers  %5d spilled  %5d stack  %s\n", arch, registers, stores + loads, stack, name
    }' | c++filt | sed 's/(.*//; s/void //' | awk -v check="$check" '
    # Five of sm_120, which has registers for fewer threads, are known to.
    function known() {
        return $1 == "sm_120" &&
            /(attend_tensor<64u, (64|128)u|attend_part<64u, 128u), .*unsigned short|block_gated<1u/
    }
    { count[$1]++; if ($4 > 0) spill[$1]++ }
    !check
    check && $4 > 0 && !known() { print "FAILED: spills: " $0; bad = 1 }
    END {
        for (a in count) printf "%s: %d kernels, %d with spills\n", a, count[a], spill[a]
        exit bad
    }' || exit 1
disassembler=${CUOBJDUMP-$(command -v cuobjdump || ls /usr/local/cuda/bin/cuobjdump 2>/dev/null)}
[ -n "$check" ] && [ -n "$disassembler" ] || exit 0
# What attends, or scores, by tiles: products on the tensor cores whose operands are read
# as fragments, or (HGMMA) from shared memory; keys and values in bf16 come by copies
# that run on behind.
for file in "$folder"/*.o; do
    "$disassembler" -sass -arch sm_90a "$file" 2>/dev/null
done | awk '
    /Function :/ { name = $3; list[name] = 1 }
    / HMMA\./ { hmma[name]++ }
    / HGMMA\./ { hmma[name]++; ldsm[name]++ }
    / LDSM\./ { ldsm[name]++ }
    / LDGSTS\./ { ldgsts[name]++ }
    / (LDL|STL)[. ]/ { local_memory[name]++ }
    END {
        for (n in list)
            printf "%d %d %d %d %s\n", hmma[n], ldsm[n], ldgsts[n], local_memory[n], n
    }' | c++filt | sed 's/(.*//; s/void //' | awk '
    { tiles = /attend_prompt<|attend_tensor<|attend_warps<|attend_union<|attend_lists<|attend_part<|sum_by_tensors<|score_tensor</ }
    tiles && ($1 == 0 || $2 == 0) { print "FAILED: no products on the tensor cores: " $0; bad = 1 }
    tiles && /unsigned short|attend_prompt|attend_warps|attend_lists/ && !/score_tensor/ && $3 == 0 { print "FAILED: no copies behind: " $0; bad = 1 }
    tiles && $4 > 0 { print "FAILED: memory of a thread: " $0; bad = 1 }
    tiles { count++ }
    END { printf "sm_90a: %d kernels by tiles\n", count; exit bad || !count }'
