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
# a matrix of int8 with its scales, one of f16
header='{"a.weight":{"dtype":"I8","shape":[2,3],"data_offsets":[8,14]},"a.weight_scale":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b.weight":{"dtype":"F16","shape":[1,2],"data_offsets":[14,18]}}'
{
    cat "$golden/models/tied/config.json"
    printf '\0'
    printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0"
    printf %s "$header"
    printf '\0\0\200\077\0\0\0\076\001\377\200\177\0\002\0\074\001\0'
} >"$1/model/int8"
