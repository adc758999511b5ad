"""nginx of one's own: a file server over a folder, for one address on this machine."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    proxy_temp_path t1; fastcgi_temp_path t2; uwsgi_temp_path t3; scgi_temp_path t4;
    server {{
        listen 127.0.0.1:{port};
        location /packs/ {{
            root {root};
            client_max_body_size 0;
            client_body_temp_path {root}/packs/.body;
            dav_methods PUT MOVE DELETE;
            dav_access user:rw all:r;
            {more}
        }}
    }}
}}
"""


def program():
    """nginx; None: it is not installed."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class FileServer:
    """Serves `folder`/packs; more: lines of nginx's for that."""

    def __init__(self, folder, more=""):
        self.path = tempfile.mkdtemp(prefix="lectern-nginx-")
        self.port, self.process = free_port(), None
        self.where = f"http://127.0.0.1:{self.port}/packs"
        os.makedirs(os.path.join(folder, "packs"), exist_ok=True)
        with open(os.path.join(self.path, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(port=self.port, root=folder, more=more))
        self.start()

    def start(self):
        self.process = subprocess.Popen([program(), "-p", self.path, "-c", "nginx.conf", "-e", "log"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.time() + 60
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            if self.process.poll() is not None or time.time() > end:
                with open(os.path.join(self.path, "log"), encoding="utf-8") as file:
                    raise OSError(f"nginx did not start: {file.read()[-1000:]}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
