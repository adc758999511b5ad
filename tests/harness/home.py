"""A user's home of one's own: the command line in it, and the daemon that it starts there."""
import json
import os
import shutil
import subprocess
import tempfile

from harness.daemon import Client


def environment(folder, socket):
    """Variables under which nothing of the real user's is read or written."""
    env = dict(os.environ, LECTERN_SOCKET=socket, NO_COLOR="1", HOME=folder, XDG_DATA_HOME=folder,
               XDG_CONFIG_HOME=folder, XDG_STATE_HOME=folder)
    for name in ("BROWSER", "EDITOR"):
        env.pop(name, None)
    return env


class Home:
    """model: a folder, "none", or None: the one configured."""

    def __init__(self, build, store=None, model="none", prefix="lectern-home-"):
        self.path = tempfile.mkdtemp(prefix=prefix)
        self.program = os.path.join(os.path.abspath(build), "lectern")
        self.store = store or os.path.join(self.path, "store")
        self.socket = os.path.join(self.path, "s")
        self.model = model
        self.env = environment(self.path, self.socket)
        self.client = None

    def run(self, *args, store=True, seconds=3600, **how):
        """The finished process of a command; how: for subprocess.run."""
        command = [self.program, *args]
        if store:
            command += ["--store", self.store]
            command += ["--model", self.model] if self.model else []
        return subprocess.run(command, env=self.env, capture_output=True, timeout=seconds, check=False, **how)

    def json(self, *args, seconds=3600):
        done = self.run(*args, "--json", seconds=seconds)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise SystemExit(f"lectern {' '.join(args)}: exit {done.returncode}, "
                             f"{(done.stdout + done.stderr)[-400:].decode(errors='replace')}") from None

    def call(self, method, **params):
        """The daemon's own answer, without a process for each: for many questions."""
        if not self.client:
            self.client = Client(self.socket)
        return self.client.call(method, **params)

    def pid(self):
        return self.json("status")["pid"]

    def configure(self, **keys):
        self.write("lectern/lectern.ini", "".join(f"{key} = {value}\n" for key, value in keys.items()))

    def write(self, path, text):
        path = os.path.join(self.path, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def close(self):
        self.run("daemon", "--stop")
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def walk(node):
    """The node and all below it, in order."""
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo += reversed(here.get("children") or [])
