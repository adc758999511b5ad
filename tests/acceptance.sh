#!/bin/sh
# What Lectern promises of a whole real manual (PostgreSQL 15's, 1169 pages),
# checked by scripts that know nothing of its code:
#     acceptance.sh BUILD-FOLDER MANUAL-FOLDER
build=$(realpath "$1")
manual=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
export LECTERN_SOCKET="$work/s" XDG_DATA_HOME="$work" XDG_STATE_HOME="$work" XDG_CONFIG_HOME="$work"
lectern="$build/lectern"
trap '"$lectern" daemon --stop --store "$work/store" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
passed=0
failed=0

promise() {  # promise NAME COMMAND...
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
    fi
}
at_least() {  # at_least JSON-FILE KEY=LEAST...: numbers in the file's object
    python3 - "$@" <<'PY'
import json, sys
values = json.load(open(sys.argv[1]))
fine = True
for want in sys.argv[2:]:
    key, least = want.split("=")
    value = values
    for part in key.split("."):
        value = value[part]
    print(f"        {key} {value:.3f} (at least {least})")
    fine &= value >= float(least)
sys.exit(not fine)
PY
}

"$lectern" add "$manual" -c pg --wait --store "$work/store" || exit 1
"$lectern" toc -c pg --json >"$work/toc.json"
python3 "$here/oracle/index_terms.py" "$manual" >"$work/terms.jsonl" || exit 1
promise "every heading of level 1 to 3 is in the toc, under its parent" \
    python3 "$here/oracle/headings.py" "$manual" "$work/toc.json"
python3 "$here/oracle/fts5_baseline.py" "$manual" "$work/terms.jsonl"
"$lectern" eval "$work/terms.jsonl" -c pg --json >"$work/eval.json"
promise "index terms find their section at least as often as SQLite's BM25 does" \
    at_least "$work/eval.json" recall.1=.63 recall.5=.87 recall.10=.92
promise "200 index terms: the first citation is right in 60 %, every quote is literal" \
    python3 "$here/oracle/ask_sample.py" --lectern "$lectern" --socket "$LECTERN_SOCKET" \
    -c pg --questions "$work/terms.jsonl" --seed 1 --count 200 --root "$manual" \
    --out "$work/answers.jsonl" --least 0.6
promise "questions the manual cannot answer are not answered, the others are" \
    python3 "$here/oracle/abstain.py" --lectern "$lectern" --socket "$LECTERN_SOCKET" \
    -c pg --half all
echo "acceptance: $passed passed, $failed failed"
[ -n "${TEST_TOTALS:-}" ] && echo "$passed $failed" >>"$TEST_TOTALS"
[ "$failed" -eq 0 ]
