"""A daemon of one's own to measure with: its store, its socket and its settings lie in one folder, which may be used again."""
import hashlib
import json
import os
import subprocess
import sys
import time

LOG = "daemon.log"


def digest_of(*paths):
    """Of the files' contents."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()[:12]


class House:
    """model: a folder, or "none".  settings: keys of lectern.ini."""

    def __init__(self, build, folder, model, **settings):
        os.makedirs(folder, exist_ok=True)
        self.build, self.folder, self.socket = build, folder, os.path.join(folder, "s")
        config = os.path.join(folder, "lectern.ini")
        with open(config, "w", encoding="utf-8") as stream:
            stream.writelines(f"{key} = {value}\n" for key, value in {"watch": "off", **settings}.items())
        if os.path.exists(self.socket):  # of a daemon that was killed: whoever finds it would start one with the default store
            os.remove(self.socket)
        with open(os.path.join(folder, LOG), "ab") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(build, "lecternd"), "--foreground", "--socket", self.socket, "--store", os.path.join(folder, "store"),
                 "--model", model, "--config", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder})
        while not os.path.exists(self.socket):
            if self.daemon.poll() is not None:
                sys.exit(f"{folder}: the daemon ended; see {LOG} there")
            time.sleep(0.05)

    def lectern(self, *args, code=0):
        """What `lectern ... --json` prints."""
        done = subprocess.run([os.path.join(self.build, "lectern"), *args, "--json", "--socket", self.socket],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if code is not None and done.returncode != code:
            sys.exit(f"lectern {' '.join(args)}: {done.stdout[:300].decode()} {done.stderr[:300].decode()}")
        return json.loads(done.stdout)

    def seconds(self):
        """Of processor time that the daemon has had."""
        with open(f"/proc/{self.daemon.pid}/stat", encoding="utf-8") as stream:
            fields = stream.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def add(self, name, folder, ignored=()):
        """What `add` says, with the processor time and the time by the clock that it took; of a manual that is there: None."""
        if any(manual["name"] == name for manual in self.lectern("status")["manuals"]):
            self.lectern("wait")
            return None
        used, clock = self.seconds(), time.time()
        more = [arg for glob in ignored for arg in ("--ignore", glob)]
        said = self.lectern("add", folder, "-c", name, "--wait", *more)
        if said["files"]["failed"]:
            print(f"{name}: {said['files']['failed']} files failed", file=sys.stderr)
        return {**said, "processor": self.seconds() - used, "clock": time.time() - clock}

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
