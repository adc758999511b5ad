#!/bin/sh
# Fails on an #include of a floor that a floor must not know, of a room's private
# header, on a library used outside the rooms that wrap it, and on two source
# files of one name.
cd "$(dirname "$0")/.." || exit 1
python3 - <<'PY'
import os
import re
import subprocess
import sys

FLOORS = {  # what may be included besides its own
    "base": "",
    "tree": "base",
    "indexer/parse": "tree base",  # the jailed program: this wall is one of security
    "indexer": "memory tree base",
    "memory": "tree kernels base",
    "kernels": "",
    "model": "kernels base",
    "daemon": "indexer memory model tree base",
    "cli/download": "base cli/archive",  # the program with a network
    "cli/fleet": "base",  # the program with a database
    "cli/web": "base",  # the page, with a server of HTTP
    "cli": "base",
}
ALSO = {  # and these headers
    "indexer/parse": ("indexer/wire.h",),
    "cli/fleet": ("cli/client.h", "cli/connection.h", "cli/getting.h", "cli/program_options.h", "daemon/net/protocol.h", "daemon/net/line_reader.h", "cli/download/sha256.h"),
    "cli/web": ("cli/client.h", "cli/connection.h", "cli/program_options.h", "daemon/net/protocol.h"),
    "cli": ("daemon/net/protocol.h", "daemon/net/rpc.h", "daemon/net/line_reader.h"),
}
LIBRARIES = {
    "uv.h": "daemon/net", "lmdb.h": "memory/store", "gumbo.h": "indexer/parse", "libxml": "indexer/parse",
    "pcre2.h": "model/tokenizer daemon/grep", "faiss": "memory/vectors", "seccomp.h": "indexer/parse",
    "sqlite3.h": "indexer/parse/docset", "sodium.h": "memory/pack", "curl": "cli/download", "microhttpd.h": "cli/web",
    "libpq-fe.h": "cli/fleet",
}
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
faults = []


def inside(path, folder):
    return path.startswith(folder + "/")


def check_include(file, floor, header):
    allowed = [floor, *FLOORS[floor].split()]
    if "/" in header and os.path.exists(header) and header not in ALSO.get(floor, ()) and \
            not any(inside(header, one) for one in allowed):
        faults.append(f"{file} must not include {header}")
    if header.endswith("_internal.h") and not inside(file, os.path.dirname(header)):
        faults.append(f"{file} must not include {header}, which is its room's own")
    for library, rooms in LIBRARIES.items():
        if (header == library or header.startswith(library + "/")) and \
                not any(inside(file, room) for room in rooms.split()):
            faults.append(f"{file} must not include <{header}>")


files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cu"], capture_output=True, text=True).stdout.split() or \
    [os.path.relpath(os.path.join(at, name)) for at, _, names in os.walk(".") for name in names
     if name.endswith((".c", ".h", ".cu")) and not at.startswith("./build")]
names = {}
for file in files:
    if not os.path.exists(file):
        continue
    if not inside(file, "tests/cuda/shim") and not inside(file, "tests/golden"):
        names.setdefault(os.path.basename(file), []).append(file)
    floor = next((one for one in FLOORS if inside(file, one)), None)
    if floor:
        with open(file, encoding="utf-8") as stream:
            for header in INCLUDE.findall(stream.read()):
                check_include(file, floor, header)
faults += [f"two files are called {name}: {' '.join(paths)}" for name, paths in names.items() if len(paths) > 1]
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))
PY
