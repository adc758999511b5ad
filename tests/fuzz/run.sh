#!/bin/sh
# Runs each fuzz target for so many seconds; what it finds is kept in
# build/fuzz/corpus, what breaks it in build/fuzz/broken:  run.sh BUILD SECONDS [TARGET]
build=$1
seconds=$2
here=$(dirname "$0")
status=0
mkdir -p "$build/broken"
"$build/tests/fuzz/encode_pages" "$build/seeds/tree" "$here"/corpus/html/* || exit 1
sh "$here/models.sh" "$build/seeds" || exit 1
for target in html latex gguf pack protocol mcp encoding nearest ranking; do mkdir -p "$build/seeds/$target"; done
for target in ${3:-html latex tree tokenizer model weights gguf template pack protocol mcp encoding nearest ranking}; do
    found="$build/corpus/$target"
    dict="$here/$target.dict"
    [ -f "$dict" ] || dict="$here/json.dict"
    mkdir -p "$found"
    UBSAN_OPTIONS=print_stacktrace=1 "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
        -dict="$dict" -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/broken/$target-" "$found" $(ls -d "$here/corpus/$target" 2>/dev/null) "$build/seeds/$target" >"$build/$target.log" 2>&1 || {
        echo "FAILED: $target; see $build/$target.log"
        status=1
    }
    echo "$target: $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$build/$target.log" | grep -o '[0-9]*$') runs," \
        "$(ls "$found" | wc -l) new inputs"
done
exit $status
