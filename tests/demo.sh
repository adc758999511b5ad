#!/bin/sh
# Indexes PostgreSQL's manual with a private daemon, asks three questions, shows
# where each first citation opens, and stops:  demo.sh BUILD-FOLDER MANUAL-FOLDER
build=$(realpath "$1")
manual=$(realpath "$2")
work=$(mktemp -d)
export LECTERN_SOCKET="$work/socket" XDG_DATA_HOME="$work" XDG_STATE_HOME="$work"
lectern() {
    "$build/lectern" "$@" --store "$work/store"
}
say() {
    printf '\n$ lectern %s\n' "$1"
}
trap '"$build/lectern" daemon --stop >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
set -e

say "add $(basename "$manual") --wait        # $(find "$manual" -name '*.html' | wc -l) pages of HTML"
lectern add "$manual" -c postgresql --wait
say "toc -c postgresql --depth 2"
lectern toc -c postgresql --depth 2 | head -n 12
for question in "What is a partial index?" \
    "How much memory can a sort use before it writes to disk?" \
    "What does ABORT do?"; do
    say "ask \"$question\""
    lectern ask "$question"
    say "open 1 --print"
    lectern open 1 --print
done
say "status"
lectern status
say "daemon --stop"
lectern daemon --stop
