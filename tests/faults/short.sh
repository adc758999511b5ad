#!/bin/sh
# The faults in seconds, with fixed seeds, as `make test` runs them: kills, power
# cuts, full and read-only disks, calls that fail, damage.  docs/log/torture.md has the long ones.
#
#     short.sh BUILD-FOLDER        of release: nothing is preloaded into ASan
build=$1
here=$(dirname "$0")
set -e
python3 "$here/kills.py" --build "$build" --seed 7 --kills 20 --every 20
python3 "$here/powercut.py" --build "$build" --record "$build/tests/faults/record.so" \
    --seed 4 --runs 1 --acts 8 --random 1 --between 20 --most 50
python3 "$here/disk_faults.py" --build "$build" start_on_a_full_disk verbs_on_a_full_disk read_only_store
python3 "$here/nth.py" --build "$build" --preload "$build/tests/faults/nth.so" --seed 7 --most 4 \
    --restart-every 2 --verbs ask,update,compact,start --classes memory,open,read,write
"$build/tests/faults/damages" --count 400
if [ -d "$here/../../build/manuals/postgresql" ]; then
    python3 "$here/damage.py" --build "$build" --seed 7 --damages 15
fi
