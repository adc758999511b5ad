#!/bin/sh
# What the fuzz targets of models start from, made of the golden ones:
#   models.sh FOLDER    writes FOLDER/tokenizer, template, model, weights and gguf
golden=$(dirname "$0")/../golden
rm -rf "$1/tokenizer" "$1/template" "$1/model" "$1/weights" "$1/gguf"
mkdir -p "$1/tokenizer" "$1/template" "$1/model" "$1/weights"
cp "$golden"/chat/*.jinja "$1/template"
grep -v '^##' "$golden/chat/constructs.txt" | awk -v folder="$1/template" '{ file = folder "/construct-" NR; print > file; close(file) }'
for file in "$golden"/tokenizers/*/tokenizer.json "$golden"/models/*/tokenizer.json; do
    cp "$file" "$1/tokenizer/$(basename "$(dirname "$file")")"
done
for file in "$golden"/models/*/golden.safetensors; do
    folder=$(dirname "$file")
    { cat "$folder/config.json"; printf '\0'; cat "$file"; } >"$1/model/$(basename "$folder")"
done
mkdir -p "$1/gguf"
cp "$golden"/gguf/sentencepiece.gguf "$1/gguf"
for name in bert bert-rerank nomic-bert gemma3; do
    head -c 16384 "$golden/gguf/$name.gguf" >"$1/gguf/$name"
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

# A line "TYPE SIZE ... NAME" for each tensor of a file.
tensors() {
    tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1" | tr -d ' ')" | tr '}' '\n' |
        sed -n 's/^[,{ ]*"\([^"]*\)": *{"dtype": *"\([A-Z0-9]*\)", *"shape": *\[\([0-9, ]*\)\].*/\2 \3 \1/p' | tr -s ', ' ' '
}
# Matrices to multiply by as int8, with their scales; all behind three bytes that are
# passed over, so that floats lie unaligned.
as_int8() {
    awk 'NR == 1 { print "I8 3 position_ids.rotary_emb.inv_freq." $NF }
        NF == 4 && /weight$/ && !/position|token_type/ { print "I8", $2, $3, $4; print "F32", $2, $4 "_scale"; next }
        { print }'
}
# A model's folder, without its numbers; $2: what its tensors go through.
weights() {
    cat "$1/config.json"
    printf '\0'
    [ ! -f "$1/model.safetensors.index.json" ] ||
        sed 's/model-0000\([0-9]\)-of-0000[0-9].safetensors/\1/' "$1/model.safetensors.index.json"
    printf '\0'
    mark=
    for part in "$1"/model.safetensors "$1"/model-*.safetensors; do
        [ -f "$part" ] || continue
        printf "$mark"
        tensors "$part" | "$2"
        mark='=\n'
    done
}
for file in "$golden"/models/*/config.json; do
    folder=$(dirname "$file")
    weights "$folder" cat >"$1/weights/$(basename "$folder")"
done
for name in tied untied bert hils-olmo mistral; do
    weights "$golden/models/$name" as_int8 >"$1/weights/$name-int8"
done
