#!/bin/sh
# Runs test programs, as many at once as there are cores, each in its own process
# with a time limit, and prints what cmocka's output adds up to,
# with the processor time of each:
#   run.sh BUILD-FOLDER PROGRAM...
# The output of a program that fails is shown whole.
if [ "$1" = --one ]; then  # --one BUILD-FOLDER PROGRAM: says how it went in PROGRAM.log and PROGRAM.counts
    export LECTERN_PARSE="$2/lectern-parse" LECTERN_BUILD="$2"
    log="$3.log"
    timeout "${TEST_SECONDS:-900}" "$3" >"$log" 2>&1
    status=$?
    times >"$3.times"  # in a file: a pipe's end is a process of its own, with times of its own
    spent=$(awk 'NR == 2 {gsub(/[ms]/, " "); printf "%.1f", 60 * $1 + $2 + 60 * $3 + $4}' "$3.times")
    ok=$(grep -c '^\[       OK \]' "$log")
    bad=$(grep '^\[  FAILED  \] [a-zA-Z_0-9]*$' "$log" | sort -u | wc -l)
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    echo "$ok $bad" >"$3.counts"
    if [ "$status" -ne 0 ]; then
        printf '%s\nFAILED: %s (status %d)\n' "$(cat "$log")" "$3" "$status"
    fi
    echo "$(basename "$3"): $ok passed, $bad failed ($spent s of processor)"
    exit 0
fi
build=$1
shift
for program in "$@"; do
    rm -f "$program.counts"
done
printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh "$0" --one "$build" '{}'
passed=0
failed=0
for program in "$@"; do
    if read -r ok bad <"$program.counts"; then
        passed=$((passed + ok))
        failed=$((failed + bad))
    else
        echo "FAILED: $program did not run"
        failed=$((failed + 1))
    fi
done
[ -n "${TEST_TOTALS:-}" ] && echo "$passed $failed" >>"$TEST_TOTALS"
[ "$failed" -eq 0 ]
