#!/usr/bin/env python3
"""Makes a store of the manual in tests/golden/stores, by the programs of some version, as a fixture.

    stores.py BUILD-FOLDER SCHEMA [MODEL]

BUILD-FOLDER holds lecternd, lectern and lectern-parse of the version that has the schema: of 1 the commit
before 9609ca7, of 2 that before f237caf, of 3 that before 588d864, of 4 that before 4e5d424, of 5 958a14e, of 6 fa5c29c,
of 7, by a model made to embed, 6d02b278.
MODEL is a folder by which memories are made (versions of schema 1 made none).  A store that was made is
never made again: that it opens is the point.
"""
import gzip
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STORES = os.path.join(HERE, "../golden/stores")
ROOT = "/tmp/lectern-fixture"  # stands in the store


def main():
    build, schema = os.path.abspath(sys.argv[1]), sys.argv[2]
    shutil.rmtree(ROOT, ignore_errors=True)
    shutil.copytree(os.path.join(STORES, "manual"), os.path.join(ROOT, "manual"))
    for number, name in enumerate(sorted(os.listdir(os.path.join(ROOT, "manual")))):
        os.utime(os.path.join(ROOT, "manual", name), (1600000000 + number,) * 2)
    socket, store = os.path.join(ROOT, "s"), os.path.join(ROOT, "store")
    model = sys.argv[3:4] and ["--model", os.path.abspath(sys.argv[3])] or []
    daemon = subprocess.Popen([os.path.join(build, "lecternd"), "--socket", socket, "--store", store, *model],
                              stdin=subprocess.DEVNULL)
    while not os.path.exists(socket):  # else lectern starts another, with the user's store
        if daemon.poll() is not None:
            sys.exit("the daemon does not start")
        time.sleep(0.1)
    time.sleep(1)
    lectern = [os.path.join(build, "lectern")]
    for line in (["add", os.path.join(ROOT, "manual"), "-c", "guide", "--wait"], ["search", "heron"], ["status"],
                 ["daemon", "--stop"]):
        subprocess.run([*lectern, *line, "--socket", socket], check=line[0] != "daemon", timeout=60)
    daemon.wait(20)
    with open(os.path.join(store, "data.mdb"), "rb") as file, \
            open(os.path.join(STORES, f"schema-{schema}.mdb.gz"), "wb") as packed:
        packed.write(gzip.compress(file.read(), mtime=0))
    shutil.rmtree(ROOT)


main()
