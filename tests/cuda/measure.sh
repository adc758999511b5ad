#!/bin/sh
# The parts of the device's measures one by one, each in a process of its own with
# a time limit, as one JSON file:  measure.sh PROGRAM FOLDER
# The file is whole after each part, so that being cut off loses only the rest.
# GPU_BENCH names the parts that are measured, or with a minus those that are not;
# GPU_SECONDS is how long all may take, 480.
program=$1
folder=$2
day=$(date -u +%Y-%m-%d)
file="$folder/gpu-$day.json"
end=$(($(date +%s) + ${GPU_SECONDS:-480}))
work=$(mktemp -d)
lines=$work/lines
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder" || exit 1
: >"$lines"
: >"$work/sdpa"

write() {  # what is known so far, at once or not at all
    {
        printf '{"card":"%s","driver":"%s","date":"%s","commit":"%s","figures":[\n' \
            "$(echo "$GPU_CARD" | cut -d, -f1)" "$(echo "$GPU_CARD" | cut -d, -f2 | tr -d ' ')" "$day" "$GPU_COMMIT"
        grep '^{.*}$' "$lines" | sed '$!s/$/,/'
        echo ']}'
    } >"$file.part" && mv "$file.part" "$file"
}
wanted() {  # wanted PART: GPU_BENCH names it, or names others with a minus
    case " $GPU_BENCH " in *" -$1 "*) return 1 ;; *" $1 "*) return 0 ;; esac
    for name in $GPU_BENCH; do
        case "$name" in -*) ;; *) return 1 ;; esac
    done
}
# A part that is left out says so, and one that does not end, or fails, perhaps in
# the middle of a line.
note() {  # note PART WHY
    why=$(printf '%s' "$2" | tr -d '"\\\t\n')
    [ -z "$(tail -c 1 "$lines")" ] || echo >>"$lines"
    printf '{"part":"%s","what":"all","shape":"","left out":"%s"}\n' "$1" "$why" >>"$lines"
    echo "gpu-bench: $1: $why" >&2
}
limited() {  # limited PART SECONDS COMMAND...: what it prints goes to $to
    part=$1 most=$2
    shift 2
    wanted "$part" || { note "$part" "GPU_BENCH leaves it out"; return; }
    left=$((end - $(date +%s)))
    [ $left -gt 5 ] || { note "$part" "the time for all parts is over"; return; }
    [ "$most" -le $left ] || most=$left
    echo "gpu-bench: $part, up to $most s" >&2
    timeout -k 5 "$most" "$@" >>"$to" 2>"$work/errors"
    code=$?
    case $code in
    0) ;;
    77) note "$part" "$(grep -h '^SKIP' "$to" | tail -1 | sed 's/^SKIP [a-z]*: //')" ;;
    124 | 137) note "$part" "not done in $most s" ;;
    *) note "$part" "failed (status $code): $(tail -1 "$work/errors")" ;;
    esac
}

"$program" --parts >"$work/parts" || exit 1
# The reference, where there is one: first, so that it stands beside.
to=$work/sdpa
limited sdpa 75 python3 tests/cuda/sdpa.py
grep '^{.*}$' "$work/sdpa" >>"$lines"
write
to=$lines
while read -r part seconds; do
    # It leaves out by itself what would take longer.
    most=$((end - $(date +%s) - 15))
    limited "$part" $((seconds + 15)) "$program" --sdpa "$work/sdpa" --seconds "$most" "$part"
    write
done <"$work/parts"
cat "$file"
echo "written: $file" >&2
