#!/usr/bin/env python3
"""What leases cost: many workers over empty jobs, in a PostgreSQL of their own.

    leases.py BUILD [--workers 64] [--jobs 2000] [--pause 0] [--no-sync]

Prints JSON: of each job what its worker waited in all for taking it, naming its file and registering it,
in milliseconds; how long all took; whether one was lost or done twice. --pause: so many milliseconds a
worker sleeps at each job, which do not count. --no-sync: without fsync, to see what the disk has in it.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.database import Database
from harness.home import Home


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--pause", type=int, default=0)
    parser.add_argument("--no-sync", action="store_true")
    args = parser.parse_args()
    with Database(sync=not args.no_sync) as database, Home(args.build) as home:
        home.json("fleet", "init", database.where())
        database.sql(f"SELECT lectern.ask_for('m' || i, '/m') FROM generate_series(1, {args.jobs}) i")
        database.sql("VACUUM ANALYZE")
        start = time.perf_counter()
        out = subprocess.run([os.path.join(args.build, "tests/bench/bench_leases"), database.where(), str(args.workers), str(args.pause)],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = time.perf_counter() - start
        times = sorted(map(float, out.split()))
        lost = database.sql("SELECT count(*) FROM lectern.leases WHERE published <> wanted OR taken IS NOT NULL")
        twice = database.sql("SELECT count(*) FROM (SELECT manual FROM lectern.generations GROUP BY 1 HAVING count(*) > 1) x")
        attempts = database.sql("SELECT count(*), count(DISTINCT manual) FROM lectern.attempts")
    print(json.dumps({"workers": args.workers, "jobs": args.jobs, "pause_ms": args.pause, "sync": not args.no_sync, "done": len(times),
                      "median_ms": statistics.median(times), "p95_ms": times[len(times) * 95 // 100], "max_ms": times[-1],
                      "all_seconds": round(seconds, 2), "ms_a_job": round(1000 * seconds / args.jobs, 2), "lost": int(lost[0][0]),
                      "twice": int(twice[0][0]), "attempts": attempts[0]}))


if __name__ == "__main__":
    main()
