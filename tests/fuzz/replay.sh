#!/bin/sh
# Runs the fuzz targets over their corpora, without a fuzzer:  replay.sh BUILD
# The tree decoder also gets the trees of the pages in html's corpus, the readers
# of models get the golden ones.
build=$1/tests/fuzz
here=$(dirname "$0")
rm -rf "$build/trees"
"$build/encode_pages" "$build/trees" "$here"/corpus/html/* || exit 1
sh "$here/models.sh" "$build/models" || exit 1
"$build/fuzz_html" "$here"/corpus/html/* && "$build/fuzz_latex" "$here"/corpus/latex/* &&
    "$build/fuzz_tree" "$build"/trees/* "$here"/corpus/tree/* &&
    "$build/fuzz_tokenizer" "$build"/models/tokenizer/* $(ls -d "$here"/corpus/tokenizer/* 2>/dev/null) &&
    "$build/fuzz_model" "$build"/models/model/* $(ls -d "$here"/corpus/model/* 2>/dev/null) &&
    "$build/fuzz_template" "$build"/models/template/* $(ls -d "$here"/corpus/template/* 2>/dev/null) &&
    "$build/fuzz_weights" "$build"/models/weights/* $(ls -d "$here"/corpus/weights/* 2>/dev/null) &&
    "$build/fuzz_gguf" "$here"/corpus/gguf/* && "$build/fuzz_pack" "$here"/corpus/pack/* &&
    "$build/fuzz_protocol" "$here"/corpus/protocol/* &&
    "$build/fuzz_mcp" "$here"/corpus/mcp/* && "$build/fuzz_encoding" "$here"/corpus/encoding/* &&
    "$build/fuzz_nearest" "$here"/corpus/nearest/* && "$build/fuzz_ranking" "$here"/corpus/ranking/*
