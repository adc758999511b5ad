"""The daemon as a service: sockets that are handed over, and the units for systemd."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from e2e.house import BUILD, HERE, MODEL, PATIENCE, Skip, check, house, page, test

UNITS = os.path.join(HERE, "../../mk/systemd")
LECTERND = os.path.join(BUILD, "lecternd")


@contextlib.contextmanager
def manager(h):
    """In systemd's place: who is told what the daemon does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        path = os.path.join(h.path, "notify")
        told.bind(path)
        told.settimeout(PATIENCE)
        h.env["NOTIFY_SOCKET"] = path
        yield told
        del h.env["NOTIFY_SOCKET"]
    os.unlink(path)


HAND_OVER = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])"""


def activate(h, listening):
    """The daemon with the socket as descriptor 3, as systemd starts it."""
    number = listening.fileno()
    return subprocess.Popen([sys.executable, "-c", HAND_OVER, str(number), LECTERND, "--store", h.store, "--model", "none"],
                            env=h.env, pass_fds=[number], stderr=subprocess.PIPE)


@test
def a_socket_that_is_handed_over_is_served():
    with house() as h, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(h.socket)
        listening.listen()
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        for _ in range(2):  # also after the one before has gone
            with manager(h) as told:
                process = activate(h, listening)
                check(told.recv(4096) == b"READY=1", "it is not told when it answers")
                check(h.json("status")["pid"] == process.pid, "another daemon answers")
                h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
                process.send_signal(signal.SIGTERM)
                check(told.recv(4096) == b"STOPPING=1", "it is not told when it ends")
                said = process.communicate(timeout=PATIENCE)[1].decode()
            check(process.returncode == 0 and "the socket that systemd opened" in said, said)
            check(os.path.exists(h.socket), "the socket is not the daemon's to remove")
        os.unlink(h.socket)
        check(h.json("search", "casing")["results"], "without a manager as before")


@test
def a_descriptor_that_is_no_socket_is_not_served():
    with house() as h, open(os.path.join(h.path, "file"), "w") as file:
        process = activate(h, file)
        h.until(lambda: os.path.exists(h.socket), "its own socket")
        check(h.json("status")["pid"] == process.pid, "another daemon answers")
        process.send_signal(signal.SIGTERM)
        check("is not a listening Unix socket" in process.communicate(timeout=PATIENCE)[1].decode(), "nothing is said")


@test
def the_first_client_starts_it():
    """By systemd's own tool for that."""
    if not shutil.which("systemd-socket-activate"):
        raise Skip("there is no systemd-socket-activate")
    with house() as h:
        settings = [f"--setenv={name}" for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LECTERN_SOCKET")]
        process = subprocess.Popen(["systemd-socket-activate", f"--listen={h.socket}", *settings, LECTERND, "--store", h.store],
                                   env=h.env, stderr=subprocess.PIPE)
        h.until(lambda: os.path.exists(h.socket), "the socket")
        check(h.json("status")["pid"] == process.pid, "the tool becomes the daemon")
        h.run("daemon", "--stop")
        said = process.communicate(timeout=PATIENCE)[1].decode()
        check(process.returncode == 0 and "the socket that systemd opened" in said, said)


@test
def units_are_right():
    with open(os.path.join(UNITS, "lectern.socket"), encoding="utf-8") as file:
        listens = re.search(r"^ListenStream=(.*)$", file.read(), re.M)[1]
    with house() as h:
        h.env["XDG_RUNTIME_DIR"] = h.path
        del h.env["LECTERN_SOCKET"]
        values = {value["key"]: value["value"] for value in json.loads(h.run("doctor", "--json", code=None).stdout)["config"]}
        check(listens.replace("%t", h.path) == values["socket"], (listens, values["socket"]))
        h.run("daemon", "--stop", code=None)
        if not shutil.which("systemd-analyze"):
            raise Skip("there is no systemd-analyze")
        with open(os.path.join(UNITS, "lectern.service.in"), encoding="utf-8") as file:
            h.write("units/lectern.service", file.read().replace("@bindir@", BUILD))
        shutil.copy(os.path.join(UNITS, "lectern.socket"), os.path.join(h.path, "units"))
        done = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", "lectern.socket", "lectern.service"],
                              cwd=os.path.join(h.path, "units"), env=h.env, capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr)


@test
def a_running_daemon_is_not_taken_for_another():
    """Of another store nothing is shown; another model is told."""
    with house() as h:
        h.write("m/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        h.run("add", os.path.join(h.path, "m"), "--wait")
        os.symlink("store", os.path.join(h.path, "link"))
        for store in (h.store + "/", os.path.join(h.path, "link")):
            check(not h.run("ls", "--store", store, "--model", "none", store=False).stderr, store)
        for verb in (("ls",), ("daemon",), ("rm", "m")):
            said = h.run(*verb, "--store", os.path.join(h.path, "other"), store=False, code=2)
            check(f"has the store {h.store}" in said.stderr and not said.stdout, said)
        said = h.run("doctor", "--store", os.path.join(h.path, "other"), store=False, code=2)
        check("the running daemon" in said.stdout and f"its store is {h.store}, not" in said.stdout, said.stdout)
        h.write("lectern/lectern.ini", "store = ../other\n")
        said = h.run("ls", store=False, code=2)
        check(f"has the store {h.store}" in said.stderr and not said.stdout, f"of the configuration: {said}")
        h.write("lectern/lectern.ini", "")
        said = h.run("ls", "--model", MODEL, "--device", "auto", store=False)
        check("has --model none" in said.stderr and "m" in said.stdout, said)
        check(not h.run("ls", "--model", MODEL, "--quiet", store=False).stderr, "--quiet")
