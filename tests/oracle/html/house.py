"""A private daemon: its socket and store in a folder of its own, gone when it is closed."""
import json
import os
import shutil
import socket
import subprocess
import tempfile


class House:
    def __init__(self, build, store=None):
        self.path = tempfile.mkdtemp(prefix="lectern-oracle-")
        self.lectern = os.path.join(os.path.abspath(build), "lectern")
        self.store = store or os.path.join(self.path, "store")
        self.socket = os.path.join(self.path, "s")
        self.env = {**os.environ, "LECTERN_SOCKET": self.socket, "NO_COLOR": "1", "HOME": self.path,
                    "XDG_DATA_HOME": self.path, "XDG_CONFIG_HOME": self.path, "XDG_STATE_HOME": self.path}
        self.line, self.number = None, 0

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.run("daemon", "--stop")
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self, *words, seconds=3600):
        command = [self.lectern, *words, "--store", self.store, "--model", "none"]
        return subprocess.run(command, env=self.env, capture_output=True, timeout=seconds, check=False)

    def json(self, *words, seconds=3600):
        done = self.run(*words, "--json", seconds=seconds)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise SystemExit(f"lectern {' '.join(words)}: exit {done.returncode}, "
                             f"{(done.stdout + done.stderr)[-400:].decode(errors='replace')}") from None

    def call(self, method, **params):
        """The daemon's own answer, without a process for each: for many questions."""
        if not self.line:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self.socket)
            self.line = connection.makefile("rwb")
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.line.write(json.dumps(request).encode() + b"\n")
        self.line.flush()
        while True:
            reply = json.loads(self.line.readline())
            if reply.get("id") == self.number:
                return reply.get("result", reply.get("error"))

    def pid(self):
        return self.json("status")["pid"]


def walk(node):
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo += reversed(here.get("children") or [])
