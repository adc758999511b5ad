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
exec 3>&1  # the output of a check itself may go elsewhere
passed=0
failed=0

check() {  # check NAME COMMAND...
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok      $name" >&3
    else
        failed=$((failed + 1))
        echo "FAILED  $name" >&3
    fi
}
bounded() {  # bounded JSON-FILE 'KEY/KEY>=LEAST' 'KEY|KEY<=MOST'...: numbers in the file
    python3 - "$@" <<'PY'
import json, re, sys
values = json.load(open(sys.argv[1]))
fine = True
for want in sys.argv[2:]:
    key, sign, bound = re.fullmatch(r"(.*)([<>])=(.*)", want).groups()
    value = values
    for part in key.split("|" if "|" in key else "/"):
        value = value[part]
    print(f"        {key} {value:.4g} ({'at least' if sign == '>' else 'at most'} {bound})")
    fine &= value >= float(bound) if sign == ">" else value <= float(bound)
sys.exit(not fine)
PY
}

# The manual's index holds the terms that are asked for, and what they lead to.
mkdir "$work/lectern" && echo "aliases = no" >"$work/lectern/lectern.ini" || exit 1
"$lectern" add "$manual" -c pg --wait --json --store "$work/store" --model "$here/../model/nib" \
    >"$work/added.json" || exit 1
cat "$work/added.json"
check "every section of the manual has memories" bounded "$work/added.json" 'segments>=8000' 'files/failed<=0'
"$lectern" toc -c pg --json >"$work/toc.json"
python3 "$here/checks/index_terms.py" "$manual" >"$work/terms.jsonl" || exit 1
check "every heading of level 1 to 3 is in the toc, under its parent" \
    python3 "$here/checks/headings.py" "$manual" "$work/toc.json"
python3 "$here/checks/fts5_baseline.py" "$manual" "$work/terms.jsonl"
"$lectern" eval "$work/terms.jsonl" -c pg --json >"$work/eval.json"
check "index terms find their section at least as often as SQLite's BM25 does" \
    bounded "$work/eval.json" 'recall@1/value>=.63' 'recall@5/value>=.87' 'recall@10/value>=.92'
python3 "$here/checks/reword.py" "$work/terms.jsonl" --count 600 --seed 1 >"$work/reworded.jsonl"
python3 "$here/checks/compare_modes.py" --lectern "$lectern" --socket "$LECTERN_SOCKET" -c pg \
    "$work/reworded.jsonl" >"$work/modes.json"
check "memories do not make search worse than words alone, on 600 reworded index terms" \
    bounded "$work/modes.json" 'modes|auto|minus lexical|recall@1|difference>=0' \
    'modes|auto|minus lexical|recall@10|difference>=0'
check "what tells whether a quote is literal tells right from wrong" python3 "$here/checks/quotes.py" --self-test
check "200 index terms are asked, every quote is literal" \
    python3 "$here/checks/ask_sample.py" --lectern "$lectern" --socket "$LECTERN_SOCKET" \
    -c pg --questions "$work/terms.jsonl" --seed 1 --count 200 --root "$manual" --json \
    >"$work/asked.json"
check "the first citation lies in the right section for 60 % of them" \
    bounded "$work/asked.json" 'right>=.6'
check "on- and off-topic questions are asked" \
    python3 "$here/checks/abstain.py" --lectern "$lectern" --socket "$LECTERN_SOCKET" \
    -c pg --half all --json >"$work/abstain.json"
check "what the manual cannot answer is not answered, the rest is" \
    bounded "$work/abstain.json" 'off-topic/none>=15' 'on-topic/none<=2'
echo "acceptance: $passed passed, $failed failed"
[ -n "${TEST_TOTALS:-}" ] && echo "$passed $failed" >>"$TEST_TOTALS"
[ "$failed" -eq 0 ]
