#!/bin/sh
# All tests, as `make test` runs them: layers, format, tidy, units and end to end in release,
# the same again with AddressSanitizer and UBSan, then what is measured against
# independent checks on a whole manual.  The last line is "N passed, N failed".
cd "$(dirname "$0")/.." || exit 1
jobs=$(nproc)
TEST_TOTALS=$(mktemp)
export TEST_TOTALS
trap 'rm -f "$TEST_TOTALS"' EXIT

step() {  # step NAME COMMAND...: a command that counts as one test
    name=$1
    shift
    if "$@"; then
        echo "1 0" >>"$TEST_TOTALS"
    else
        echo "FAILED: $name"
        echo "0 1" >>"$TEST_TOTALS"
    fi
}

step "layers" make --no-print-directory layers
step "format" make --no-print-directory format-check
step "tidy" make --no-print-directory tidy
make --no-print-directory build/manuals/postgresql || exit 1
for build in release asan; do
    step "build ($build)" make --no-print-directory -s -j"$jobs" BUILD=$build all
    step "units ($build)" make --no-print-directory -s -j"$jobs" BUILD=$build unit
    step "simulation ($build)" make --no-print-directory -s -j"$jobs" BUILD=$build simulate
    step "end to end ($build)" make --no-print-directory -s BUILD=$build e2e
done
step "build (gpu, by the stand-ins alone)" make --no-print-directory -s -j"$jobs" BUILD=gpu O=build/gpu-plain DNNL= NVCC= CFLAGS='-O0 -U_FORTIFY_SOURCE' gpu-programs
step "registers of the device's kernels" make --no-print-directory -s -j"$jobs" gpu-resources CHECK=--check
step "races of the device's kernels, by emulation" make --no-print-directory -s race RACE=--short
step "mutations stand in the code" python3 tests/faults/mutations.py --check
step "documents" python3 tests/checks/docs.py build/release
step "manual pages (made)" make --no-print-directory -s man
step "manual pages" python3 tests/checks/man.py build/release build/man
step "faults: kills, power cuts and disks" make --no-print-directory -s faults
step "instruments of HTML reading" python3 tests/checks/html/self_test.py build/release
step "html5lib's cases" sh tests/checks/html5lib.sh build/release
step "fuzz corpora (asan)" make --no-print-directory -s -j"$jobs" BUILD=asan replay
step "acceptance" sh tests/acceptance.sh build/release build/manuals/postgresql
awk '{p += $1; f += $2} END {printf "%d passed, %d failed\n", p, f; exit f > 0}' "$TEST_TOTALS"
