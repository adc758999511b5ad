#!/bin/sh
# What the fuzz targets of models start from, made of the golden ones:
#   models.sh FOLDER    writes FOLDER/tokenizer and FOLDER/model
golden=$(dirname "$0")/../golden
rm -rf "$1/tokenizer" "$1/model"
mkdir -p "$1/tokenizer" "$1/model"
for file in "$golden"/tokenizers/*/tokenizer.json "$golden"/models/*/tokenizer.json; do
    cp "$file" "$1/tokenizer/$(basename "$(dirname "$file")")"
done
for file in "$golden"/models/*/config.json; do
    folder=$(dirname "$file")
    { cat "$file"; printf '\0'; cat "$folder"/golden.safetensors; } >"$1/model/$(basename "$folder")"
done
