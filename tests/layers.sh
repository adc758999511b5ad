#!/bin/sh
# Fails on an #include, in one floor of the house, of a floor it must not know,
# and on a library used outside the one place that wraps it.
status=0
allow() {  # allow FOLDER "ALLOWED FOLDERS"
    folder=$1
    allowed=" $folder $2 "
    for file in $(find "$folder" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'); do
        for floor in $(sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file" | sort -u); do
            case "$allowed" in
            *" $floor "*) ;;
            *)
                [ "$folder" = cli ] && [ "$floor" = daemon ] &&
                    ! grep '^#include "daemon/' "$file" | grep -qv '"daemon/net/protocol.h"' &&
                    continue
                echo "$file must not include $floor/"
                status=1
                ;;
            esac
        done
    done
}
only() {  # only HEADER FOLDER...: nothing but these includes the header
    header=$1
    shift
    for file in $(grep -rlE "^#include <$header" --include='*.[ch]' base tree indexer memory model kernels daemon cli 2>/dev/null); do
        fine=no
        for place in "$@"; do
            case "$file" in "$place"*) fine=yes ;; esac
        done
        [ $fine = yes ] || { echo "$file must not include <$header>"; status=1; }
    done
}
cd "$(dirname "$0")/.." || exit 1
allow base ""
allow tree "base"
allow indexer "memory tree base"
allow memory "tree kernels base"
[ -d model ] && allow model "kernels base"
[ -d kernels ] && allow kernels ""
allow daemon "indexer memory model tree base"
allow cli "base"
only "uv\.h" daemon/
only "lmdb\.h" memory/store/store.c memory/store/store_internal.h
only "gumbo\.h" indexer/parse/
only "libxml" indexer/parse/
only "pcre2\.h" model/
only "faiss/" memory/vectors/vectors.c
only "seccomp\.h" indexer/parse/
exit $status
