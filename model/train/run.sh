#!/bin/sh
# All that makes Quill, from Debian's packages to a model's folder; called again it goes on where it stopped.
#
#   run.sh WORK BUILD TEACHER LANGUAGE POOLING ANSWERS
#
# BUILD: Lectern's programs; TEACHER: the folder of all-MiniLM-L6-v2; then the seconds that each stage may take.  PYTHON names a python with torch,
# numpy, safetensors and tokenizers.  WITHOUT are manuals of the table that are not read: what the better of two runs had not (docs/log/quill.md).
set -e
[ $# -eq 6 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
work=$(realpath -m "$1") build=$(realpath "$2") teacher=$(realpath "$3") language=$4 pooling=$5 answers=$6
cd "$(dirname "$0")"
python=${PYTHON:-python3}
: "${WITHOUT:=boost glance heat ironic cinder neutron nova rust-std}"
mkdir -p "$work/trees" "$work/second"
export TORCHINDUCTOR_CACHE_DIR="$work/inductor"
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296

quill() { "$python" -B quill.py "$@"; }
made() { [ -e "$work/$1" ]; }

# Two readers, each with a store of its own, of every second manual; of those that are never trained on as many as have been compared with so far.
names=$("$python" -B -c 'import sys, corpus_table as t
never = {"postgresql", "python", "django", "celery", "scrapy"}
print(*[n for n, row in t.MANUALS.items() if n not in sys.argv[1:] and (row[2] != "never" or n in never)])' $WITHOUT)
if ! made corpus.json; then
    "$python" -B corpus_pack.py fetch "$work"
    "$python" -B corpus_pack.py licences "$work"
    ln -sfn ../x "$work/second/x"
    ln -sfn ../trees "$work/second/trees"
    "$python" -B corpus_pack.py read "$work/second" --bin "$build" --only $(echo "$names" | tr ' ' '\n' | sed -n 'n;p') &
    "$python" -B corpus_pack.py read "$work" --bin "$build" --only $(echo "$names" | tr ' ' '\n' | sed -n 'p;n')
    wait
    "$python" -B corpus_pack.py pack "$work"
fi
made tasks.jsonl.xz || "$python" -B tasks.py make "$work"
"$python" -B tasks.py check "$work"
made tokenizer.json || quill tokenizer "$work"
made data.pkl || quill prepare "$work" --prompts 30000
made teacher.pkl || quill teach "$work" --teacher "$teacher"
made words.pt || quill words "$work"
made cpu-built.pt || quill build "$work"

# In bf16 where the processor has it: emulated it is slower than f32.
both="--size cpu --workers 2 --threads 1"
bf16=$("$python" -c 'import torch; print("--bf16" * torch.cpu._is_avx512_bf16_supported())')
quill language "$work" $both $bf16 --compile --context 1024 --budget "$language"
quill routing "$work" $both --budget "$pooling"
quill answers "$work" $both $bf16 --compile --context 1024 --budget "$answers"
quill export "$work" "$work/out"
made small || "$python" -B int8.py "$work/out" "$work/small"
quill check "$work" "$work/out" --probe "$build/probe" --measured 100
quill recall "$work" --use held
