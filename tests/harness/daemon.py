"""A private daemon: its process, connections to it, and what it uses.

Everything is kept below one folder, its home: socket, store, configuration, log.
"""
import atexit
import json
import os
import re
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SMALL_MODEL = os.path.join(ROOT, "tests/golden/models/memory")
START_SECONDS = 60


class Broken(Exception):
    """Something is that must not be."""


class Skip(Exception):
    """What a test needs is not there."""


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, method, error):
        super().__init__(f"{method}: {error['message']}")
        self.error = error


class Client:
    """One connection; calls one at a time."""

    def __init__(self, path, timeout=300):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rwb")
        self.calls = 0

    def call(self, method, **params):
        self.calls += 1
        self.stream.write(json.dumps({"jsonrpc": "2.0", "id": self.calls, "method": method,
                                      "params": params}).encode() + b"\n")
        self.stream.flush()
        while True:
            line = self.stream.readline()
            if not line:
                raise ConnectionResetError("the daemon closed the connection")
            answer = json.loads(line)
            if answer.get("id") == self.calls:
                break
        if "error" in answer:
            raise Refused(method, answer["error"])
        return answer["result"]

    def close(self):
        self.socket.close()


def cpu_seconds(pid):
    """Of a process and the parsers that it has waited for."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Daemon:
    """`prefix` goes before the program, as setpriv and its arguments; `env` is added."""

    def __init__(self, build, home, model="none", prefix=(), env=(), wait=True, store=None,
                 **config):
        os.makedirs(home, exist_ok=True)
        self.build, self.home = os.path.abspath(build), home
        self.store = store or os.path.join(home, "store")
        self.socket_path = os.path.join(home, "s")
        self.log_path = os.path.join(home, "log")
        config_path = os.path.join(home, "lectern.ini")
        with open(config_path, "w") as file:
            file.writelines(f"{key} = {value}\n" for key, value in config.items())
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*prefix, os.path.join(self.build, "lecternd"), "--socket", self.socket_path,
                 "--store", self.store, "--config", config_path, "--model", model],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=dict(os.environ, **dict(env)))
        self.pid = self.process.pid
        self.client = None
        atexit.register(self.end)
        if wait:
            self.reach()

    def reach(self):
        end = time.time() + START_SECONDS
        while not self.client:
            try:
                client = Client(self.socket_path)
                # The socket of one that was killed lives on for a moment.
                client.call("status")
                self.client = client
            except OSError as problem:
                if self.process.poll() is not None:
                    raise Broken(f"the daemon ended with {self.process.returncode} at its start: "
                                 f"{self.last_words()}") from problem
                if time.time() > end:
                    raise Broken("the daemon does not answer") from problem
                time.sleep(0.005)

    def call(self, method, **params):
        return self.client.call(method, **params)

    def lectern(self, *args, code=0):
        """What `lectern ... --json` prints."""
        done = subprocess.run([os.path.join(self.build, "lectern"), *args, "--json", "--socket", self.socket_path],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if code is not None and done.returncode != code:
            raise Broken(f"lectern {' '.join(args)}: exit {done.returncode}, "
                         f"{(done.stdout + done.stderr)[-600:].decode(errors='replace')}")
        return json.loads(done.stdout)

    def connect(self, timeout=300):
        return Client(self.socket_path, timeout)

    def manual(self, name):
        found = [m for m in self.call("status")["manuals"] if m["name"] == name]
        return found[0] if found else None

    def alive(self):
        return self.process.poll() is None

    def last_words(self, size=600):
        with open(self.log_path, errors="replace") as log:
            return log.read()[-size:]

    def children(self):
        """Process ids of its parsers."""
        found = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{task}/children") as file:
                    found += [int(pid) for pid in file.read().split()]
            except OSError:
                pass
        return found

    def memory(self):
        """In KiB: RssAnon, RssFile, VmHWM."""
        with open(f"/proc/{self.pid}/status") as file:
            text = file.read()
        return {name: int(re.search(rf"{name}:\s+(\d+)", text)[1])
                for name in ("VmRSS", "RssAnon", "RssFile", "VmHWM")}

    def cpu_seconds(self):
        return cpu_seconds(self.pid)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        atexit.unregister(self.end)
        self.forget()

    def stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken("the daemon does not stop") from None
        finally:
            atexit.unregister(self.end)
            self.forget()
        return code

    def end(self):
        """Whatever happens, no daemon stays behind."""
        if self.alive():
            self.process.kill()

    def forget(self):
        if self.client:
            self.client.close()
            self.client = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.alive():
            self.stop()


def until(reached, what, seconds=60, pause=0.05):
    """Waits until reached() is true, and returns that."""
    end = time.time() + seconds
    while True:
        found = reached()
        if found:
            return found
        if time.time() > end:
            raise Broken(f"not in {seconds} s: {what}")
        time.sleep(pause)


def check(truth, what):
    if not truth:
        raise Broken(what)
