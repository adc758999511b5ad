#!/bin/sh
# Runs test programs, each in its own process with a time limit, and prints
# what cmocka's output adds up to:  run.sh BUILD-FOLDER PROGRAM...
# The output of a program that fails is shown whole.
build=$1
shift
passed=0
failed=0
export LECTERN_PARSE="$build/lectern-parse" LECTERN_BUILD="$build"
for program in "$@"; do
    log="$program.log"
    timeout "${TEST_SECONDS:-900}" "$program" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^\[       OK \]' "$log")
    bad=$(grep '^\[  FAILED  \] [a-zA-Z_0-9]*$' "$log" | sort -u | wc -l)
    if [ "$status" -ne 0 ]; then
        cat "$log"
        echo "FAILED: $program (status $status)"
        [ "$bad" -gt 0 ] || bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    echo "$(basename "$program"): $ok passed, $bad failed"
done
[ -n "${TEST_TOTALS:-}" ] && echo "$passed $failed" >>"$TEST_TOTALS"
[ "$failed" -eq 0 ]
