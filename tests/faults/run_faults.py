"""Runs functions that make faults and look at what comes of them."""
import subprocess
import sys
import time

from harness.daemon import Broken, Refused, Skip


def run_faults(faults, wanted):
    """Runs functions that may raise Broken, all or those named, and exits."""
    failed = 0
    unknown = set(wanted) - {fault.__name__ for fault in faults}
    if unknown:
        sys.exit(f"no such fault: {', '.join(sorted(unknown))}")
    for fault in faults:
        if wanted and fault.__name__ not in wanted:
            continue
        start = time.time()
        try:
            said = fault() or ""
            print(f"ok      {fault.__name__} ({time.time() - start:.1f} s) {said}", flush=True)
        except Skip as reason:
            print(f"SKIP    {fault.__name__}: {reason}", flush=True)
        except (Broken, Refused, OSError, KeyError, IndexError, ValueError,
                subprocess.SubprocessError) as problem:
            failed += 1
            print(f"FAILED  {fault.__name__}: {type(problem).__name__}: {problem}", flush=True)
    sys.exit(1 if failed else 0)
