#!/bin/sh
# Keeps of each target's corpus the inputs that reach something the others do not:
#     minimise.sh BUILD [TARGET]
build=$1
for found in "$build"/corpus/${2:-*}; do
    target=$(basename "$found")
    before=$(ls "$found" | wc -l)
    rm -rf "$found.least"
    mkdir -p "$found.least"
    "$build/tests/fuzz/fuzz_$target" -merge=1 -timeout=20 -rss_limit_mb=2048 "$found.least" "$found" >"$build/$target-merge.log" 2>&1 || {
        echo "FAILED: $target; see $build/$target-merge.log"
        rm -rf "$found.least"
        exit 1
    }
    rm -rf "$found" && mv "$found.least" "$found"
    echo "$target: $(ls "$found" | wc -l) of $before inputs kept"
done
