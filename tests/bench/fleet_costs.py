#!/usr/bin/env python3
"""What publishing and fetching a manual cost, beside cp and beside indexing it.

    fleet_costs.py BUILD MANUAL [--rounds 5] [--model PATH]

One indexer, one reader, a PostgreSQL, a folder of packs and nginx on this machine. Prints JSON, seconds in
the median of the rounds, which alternate: `index` (once, with memories where there is a model), `pack` alone,
`publish` (lectern fleet work, of a manual whose index is current: it looks at all files, packs, puts, registers),
`fetch` (gets, checks, unpacks), both by folder and by HTTP, `unpack` alone, `cp` (with fsync), `put` and `get`
(lectern-get alone).
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.database import Database
from harness.files import FileServer
from harness.home import Home


def must(done):
    if done.returncode:
        raise SystemExit(f"{done.args}: {done.stdout}{done.stderr}")
    return done


class Costs:
    def __init__(self, args):
        self.build, self.model, self.times = os.path.abspath(args.build), args.model, {}

    def timed(self, name, function, *args, **how):
        start = time.perf_counter()
        result = function(*args, **how)
        self.times.setdefault(name, []).append(time.perf_counter() - start)
        return result

    def get(self, *args):
        must(subprocess.run([os.path.join(self.build, "lectern-get"), *args], capture_output=True, check=False))

    def forget(self, reader):
        """The reader holds nothing."""
        reader.run("rm", "m")

    def round(self, indexer, reader, database, folder, server):
        alone = os.path.join(indexer.path, "alone.pack")
        self.timed("pack", lambda: must(indexer.run("pack", "m", alone, "--key", os.path.join(indexer.path, "key"))))
        for place, name in ((folder, "folder"), (server.where, "http")):
            database.sql(f"UPDATE lectern.settings SET value = '{place}' WHERE name = 'packs'")
            must(indexer.run("fleet", "publish", "m"))
            self.timed(f"publish {name}", lambda: must(indexer.run("fleet", "work", "--once", "--quiet")))
            self.timed(f"fetch {name}", lambda: must(reader.run("fleet", "fetch", "--once", "--quiet")))
            self.forget(reader)
        self.timed("unpack", lambda: must(reader.run("unpack", alone)))
        self.forget(reader)
        copy = os.path.join(folder, "copy")
        self.timed("cp", lambda: subprocess.run(f"cp {alone} {copy} && sync {copy}", shell=True, check=True))
        self.timed("put", lambda: self.get("--put", alone, server.where + "/put"))
        sha256 = subprocess.run(["sha256sum", alone], capture_output=True, text=True, check=True).stdout.split()[0]
        self.timed("get", lambda: self.get("--to", os.path.join(reader.path, "got"), "--sha256", sha256, server.where + "/put"))
        for path in (copy, os.path.join(reader.path, "got")):
            os.remove(path)
        return os.path.getsize(alone)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("manual")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="none")
    args = parser.parse_args()
    costs = Costs(args)
    with Database(sync=True) as database, Home(args.build, model=args.model) as indexer, Home(args.build) as reader, \
            FileServer(indexer.path) as server:
        folder = os.path.join(indexer.path, "packs")
        trusted = os.path.join(reader.path, "trusted")
        indexer.configure(watch="off", fleet=database.where(), fleet_key=os.path.join(indexer.path, "key"))
        reader.configure(watch="off", fleet=database.where(), trusted_keys=trusted)
        must(indexer.run("fleet", "init", database.where(), folder))
        source = os.path.join(indexer.path, "m")
        shutil.copytree(args.manual, source)
        costs.timed("index", lambda: (must(indexer.run("add", source, "-c", "m", "--wait")), must(indexer.run("wait"))))
        made = indexer.json("pack", "m", os.path.join(indexer.path, "first.pack"), "--key", os.path.join(indexer.path, "key"))
        with open(trusted, "w", encoding="utf-8") as file:
            file.write(made["signer"] + "\n")
        must(indexer.run("fleet", "publish", "m", source))
        must(reader.run("ls"))
        for _ in range(args.rounds):
            size = costs.round(indexer, reader, database, folder, server)
    print(json.dumps({"bytes": size, "load": os.getloadavg()[0],
                      **{name: round(statistics.median(times), 3) for name, times in costs.times.items()}}))


if __name__ == "__main__":
    main()
