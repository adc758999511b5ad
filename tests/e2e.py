#!/usr/bin/env python3
"""End-to-end tests: the real programs, private sockets and stores, a real manual.

    e2e.py BUILD-FOLDER MANUAL-FOLDER [NAME...]

BUILD-FOLDER holds lectern, lecternd and lectern-parse; MANUAL-FOLDER is
PostgreSQL's manual as HTML, of which most tests index a small part.  Each test
is a function marked @test in a module of tests/e2e, by subject; with NAMEs, of
tests or of modules, only these run.
"""
import importlib
import os
import subprocess
import sys
import time

if len(sys.argv) < 3:
    sys.exit(__doc__)

from e2e.house import TESTS, Failure, Skip

SUBJECTS = ("reading", "latex", "asking", "quoting", "updates", "watching", "hostile", "injections", "life", "store",
            "evaluation", "models", "gguf", "getting", "writing", "missing", "terminal", "agents", "service", "installed",
            "archives", "packs", "fleets", "web", "browser", "editors")


def chosen(names):
    """The tests of these names, or of the modules so called; all if there are none."""
    known = {name: [test] for name, test in TESTS.items()}
    known |= {subject: [test for test in TESTS.values() if test.__module__ == f"e2e.{subject}"]
              for subject in SUBJECTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"e2e: no test or module is called {' or '.join(unknown)}")
    wanted = [test for name in names for test in known[name]]
    return [test for test in TESTS.values() if not names or test in wanted]


def main():
    for subject in SUBJECTS:
        importlib.import_module(f"e2e.{subject}")
    passed = failed = 0
    for test in chosen(sys.argv[3:]):
        start = time.time()
        try:
            test()
            passed += 1
            print(f"ok      {test.__name__} ({time.time() - start:.1f} s)", flush=True)
        except Skip as reason:
            print(f"SKIP    {test.__name__}: {reason}", flush=True)
        except (Failure, AssertionError, KeyError, IndexError, ValueError,
                subprocess.TimeoutExpired, OSError) as problem:
            failed += 1
            print(f"FAILED  {test.__name__}: {type(problem).__name__}: {problem}",
                  flush=True)
    print(f"e2e: {passed} passed, {failed} failed")
    if os.environ.get("TEST_TOTALS"):
        with open(os.environ["TEST_TOTALS"], "a") as totals:
            totals.write(f"{passed} {failed}\n")
    sys.exit(1 if failed else 0)


main()
