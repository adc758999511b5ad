"""PostgreSQL of one's own: a cluster in a folder, on a Unix socket alone."""
import glob
import os
import pwd
import shutil
import subprocess
import tempfile


def programs():
    """The folder of PostgreSQL's programs; None: it is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    return os.path.dirname(found[-1]) if found else None


def somebody():
    """Words before a command that make it another user's: postgres refuses root."""
    if os.getuid():
        return [], None
    name = next(name for name in ("postgres", "nobody") if name in {user.pw_name for user in pwd.getpwall()})
    user = pwd.getpwnam(name)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user


class Database:
    """sync: with fsync, which tests need not have."""

    def __init__(self, sync=False):
        self.sync = sync
        self.bin = programs()
        self.prefix, user = somebody()
        self.path = tempfile.mkdtemp(prefix="lectern-pg-")
        self.data = os.path.join(self.path, "data")
        os.chmod(self.path, 0o755)
        if user:
            os.chown(self.path, user.pw_uid, user.pw_gid)
        self.command("initdb", "-D", self.data, "-A", "trust", "-U", "admin", "-N", "-E", "UTF8", "--locale=C")
        self.start()

    def command(self, program, *args):
        done = subprocess.run([*self.prefix, os.path.join(self.bin, program), *args], cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise OSError(f"{program}: {done.stdout[-1000:]}")
        return done.stdout

    def start(self):
        options = f"-c listen_addresses= -k {self.path} -c fsync={'on' if self.sync else 'off'} -c max_connections=100"
        self.command("pg_ctl", "-D", self.data, "-w", "-l", os.path.join(self.path, "log"), "-o", options, "start")

    def stop(self, mode="fast"):
        self.command("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def where(self, user="admin"):
        return f"host={self.path} user={user} dbname=postgres"

    def sql(self, text):
        """Rows of fields, as text."""
        out = self.command("psql", "-h", self.path, "-U", "admin", "-d", "postgres", "-X", "-A", "-t", "-q", "-v",
                           "ON_ERROR_STOP=1", "-c", text)
        return [line.split("|") for line in out.splitlines()]

    def close(self):
        try:
            self.stop("immediate")
        except OSError:
            pass
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
