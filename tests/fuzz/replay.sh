#!/bin/sh
# Runs the fuzz targets over their corpora, without a fuzzer:  replay.sh BUILD
# The tree decoder also gets the trees of the pages in html's corpus.
build=$1/tests/fuzz
here=$(dirname "$0")
rm -rf "$build/trees"
"$build/encode" "$build/trees" "$here"/corpus/html/* || exit 1
"$build/html" "$here"/corpus/html/* && "$build/latex" "$here"/corpus/latex/* &&
    "$build/tree" "$build"/trees/* "$here"/corpus/tree/*
