"""A daemon to measure with, whose home may be used again."""
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.daemon import Daemon


def digest_of(*paths):
    """Of the files' contents."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()[:12]


class Measured(Daemon):
    """settings: keys of lectern.ini."""

    def __init__(self, build, folder, model, **settings):
        socket = os.path.join(folder, "s")
        if os.path.exists(socket):  # of a daemon that was killed
            os.remove(socket)
        super().__init__(build, folder, model, **{"watch": "off", **settings})

    def add(self, name, folder, ignored=()):
        """What `add` says, with the processor time and the time by the clock that it took; of a manual that is there: None."""
        if self.manual(name):
            self.lectern("wait")
            return None
        used, clock = self.cpu_seconds(), time.time()
        more = [arg for glob in ignored for arg in ("--ignore", glob)]
        said = self.lectern("add", folder, "-c", name, "--wait", *more)
        if said["files"]["failed"]:
            print(f"{name}: {said['files']['failed']} files failed", file=sys.stderr)
        return {**said, "processor": self.cpu_seconds() - used, "clock": time.time() - clock}
