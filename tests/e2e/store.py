"""The store: verify, compact, backup."""
import fcntl
import gzip
import json
import os
import re
import shutil
import socket
import struct
import time

from e2e.house import FEW, check, house, test


STORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/stores")
FIXTURE = "/tmp/lectern-fixture"  # the manual of all these stores
SCHEMA = 8
PAGE, LEAF, OVERFLOW, BIG = 4096, 2, 4, 1
ZSTD = b"\x28\xb5\x2f\xfd"


def values(data):
    """Where the values of LMDB's pages are, (first byte, bytes): what a page has
    beside them is its bookkeeping, or the remains of what was there before."""
    at = 2 * PAGE
    while at < len(data):
        flags, lower, upper = struct.unpack_from("<HHH", data, at + 10)
        if flags & OVERFLOW:
            pages = lower | upper << 16
            yield at + 16, max(pages, 1) * PAGE - 16
            at += (max(pages, 1) - 1) * PAGE
        elif flags & LEAF and lower <= PAGE:
            for node in struct.unpack_from(f"<{max(lower - 16, 0) // 2}H", data, at + 16):
                low, high, kind, key = struct.unpack_from("<HHHH", data, at + node)
                if not kind & BIG:
                    yield at + node + 8 + key, low | high << 16
        at += PAGE


def spoil(h, table, every):
    """Changes a byte of values of a table: postings' keys end in a term, files' in a path."""
    path = os.path.join(h.store, "data.mdb")
    done = 0
    with open(path, "r+b") as file:
        data = file.read()
        for count, (at, size) in enumerate((at, size) for key, at, size in keyed_values(data)
                                           if TABLE_KEYS[table].match(key) and size):
            if count % every == 0:
                file.seek(at + size // 2)
                file.write(bytes([data[at + size // 2] ^ 0x10]))
                done += 1
    return done


def keyed_values(data):
    """(key, first byte of the value, bytes) of the leaves' own."""
    for page in range(2 * PAGE, len(data), PAGE):
        flags, lower, upper = struct.unpack_from("<HHH", data, page + 10)
        if flags != LEAF or not 16 <= lower <= upper <= PAGE:
            continue
        for node in struct.unpack_from(f"<{(lower - 16) // 2}H", data, page + 16):
            low, high, kind, size = struct.unpack_from("<HHHH", data, page + node)
            if not kind & BIG and node + 8 + size + (low | high << 16) <= PAGE:
                at = page + node + 8
                yield data[at:at + size], at + size, low | high << 16


TABLE_KEYS = {"postings": re.compile(rb"\x00\x00\x00\x01\x00\x00\x00[\x01-\x20][a-z=]+$"),
              "files": re.compile(rb"\x00\x00\x00\x01[a-z-]+\.html$")}


@test
def damage_is_mended_by_itself():
    """What was damaged is told, or does no harm; soon nothing is, and nobody asked."""
    for table in TABLE_KEYS:
        with house() as h:
            folder = h.part(FEW)
            h.run("add", folder, "-c", "pg", "--wait")
            whole = [hit["node"] for hit in h.json("search", "partial index", "-n", "5")["results"]]
            h.stop()
            check(spoil(h, table, 5 if table == "postings" else 1) >= 5, f"{table} in the file")
            for query in ("partial index", "index columns table", "constraints"):
                done = h.run("search", query, code=None)
                check(done.returncode in (0, 6), (table, query, done))
            end = time.time() + 60
            while h.json("verify", code=None).get("fault_count", 1) or h.json("status").get("damaged"):
                check(time.time() < end, f"{table} is not mended")
                time.sleep(0.1)
            h.run("wait")
            check([hit["node"] for hit in h.json("search", "partial index", "-n", "5")["results"]] == whole,
                  f"{table}: the same sections")


def spoil_a_tree(h):
    """Changes a byte of every third packed tree, behind a stopped daemon's back."""
    path = os.path.join(h.store, "data.mdb")
    with open(path, "r+b") as file:
        data = file.read()
        packed = [(at, size) for at, size in values(data) if data.startswith(ZSTD, at)]
        for at, size in packed[::3]:
            place = at + min(40, size - 1)
            file.seek(place)
            file.write(bytes([data[place] ^ 0x55]))
    return len(packed[::3])


@test
def damage_is_named_and_repaired():
    with house() as h:
        h.configure(watch="off", mend="no")
        h.copy_model()
        h.run("add", h.part(FEW), "-c", "pg", "--wait")
        report = h.json("verify")
        check(not report["fault_count"] and report["checked"]["by_model"] and
              report["checked"]["memories"] > 10, report)
        check("no fault" in h.run("verify", "-c", "pg").stdout, "verify")
        h.stop()
        check(spoil_a_tree(h) > 2, "trees in the file")
        report = h.json("verify", code=6)
        check(report["fault_count"] and
              all(f["table"] in ("trees", "outlines") and f["remedy"] and f["what"] and
                  f["place"] and f["manual"] == "pg" for f in report["faults"]), report)
        done = h.run("verify", code=6)
        check("lectern update --force -c pg" in done.stdout, done.stdout)
        report = h.json("verify", "--repair")
        check(report["fault_count"] and report["manuals"][0]["repairing"] and
              not report["after"]["fault_count"], report)
        check("no fault" in h.run("verify").stdout, "repaired")
        check(h.json("search", "partial index", "-n", "1")["results"], "search")
        h.run("verify", "-c", "none", code=2)


def spoil_all(h):
    """Changes a byte of every packed value: no manual can be read."""
    path = os.path.join(h.store, "data.mdb")
    with open(path, "r+b") as file:
        data = file.read()
        for at, size in values(data):
            if data.startswith(ZSTD, at):
                place = at + min(40, size - 1)
                file.seek(place)
                file.write(bytes([data[place] ^ 0x55]))


@test
def a_damaged_manual_is_told_and_never_nothing():
    with house() as h:
        h.configure(watch="off", mend="no")
        h.run("add", h.part(FEW), "-c", "pg", "--wait")
        node = h.json("search", "partial index", "-n", "1")["results"][0]["node"]
        h.stop()
        spoil_all(h)
        for verb in (["search", "partial index"], ["ask", "what is a partial index"], ["toc"], ["get", node],
                     ["search", "partial index", "-c", "pg"], ["toc", "-c", "pg"], ["open", node, "--print"],
                     ["ask", "what is a partial index", "-c", "pg"]):
            done = h.run(*verb, code=6)
            check("manual pg is damaged" in done.stderr and "verify" in done.stderr, (verb, done.stderr))
            error = h.json(*verb, code=6)["error"]
            check(error["code"] == "store" and "pg" in error["message"], (verb, error))
        status = h.json("status")
        check(status["state"] == "degraded" and status["manuals"][0]["state"] == "failed" and
              "pg" in status["manuals"][0]["error"]["message"] and status["damaged"][0]["manual"] == "pg", status)
        for verb in ("status", "ls"):
            check("pg is damaged" in h.run(verb).stderr, verb)
        # What else there is answers, and says what it did not see.
        h.write("other/okapi.html", "<h1>Okapi</h1><p>The okapi eats leaves.</p>")
        h.run("add", os.path.join(h.path, "other"), "-c", "zoo", "--wait")
        for verb in (["search", "okapi"], ["ask", "what does the okapi eat"], ["toc"]):
            done = h.run(*verb)
            check("kapi" in done.stdout and "pg is damaged" in done.stderr, (verb, done))
            result = h.json(*verb)
            check([d["manual"] for d in result["damaged"]] == ["pg"] and not result.get("complete"), result)
            check("damaged" not in h.json(*verb, "-c", "zoo"), verb)
        h.run("search", "okapi", "--strict", code=4)
        check("pg is damaged" in h.run("search", "partial", code=6).stderr, "what only pg has")
        h.run("search", "partial", "-c", "zoo", code=1)
        h.json("verify", "--repair")
        result = h.json("search", "partial index")
        check(result["results"] and "damaged" not in result, "repaired")


@test
def a_store_that_is_gone_is_told():
    with house() as h:
        h.write("zoo/okapi.html", "<h1>Okapi</h1><p>The okapi eats leaves.</p>")
        h.run("add", os.path.join(h.path, "zoo"), "-c", "zoo", "--wait")
        shutil.rmtree(h.store)
        check(h.json("status")["state"] == "degraded", "status, before anything is written")
        check(f"{h.store} was removed" in h.run("status").stdout, "status, as text")
        for verb in (["update", "--wait"], ["update", "--force", "--wait"], ["add", os.path.join(h.path, "zoo"), "-c", "b", "--wait"],
                     ["rm", "zoo"], ["verify"], ["compact"]):
            check(h.store in h.run(*verb, code=6).stderr, verb)


@test
def it_is_verified_while_it_changes():
    with house() as h:
        h.copy_model()
        folder = h.part(FEW)
        h.run("add", folder, "-c", "pg", "--wait")
        page = os.path.join(folder, "ddl-basics.html")
        for turn in range(8):
            text = open(page).read()
            h.write("manual/ddl-basics.html", text.replace("</body>", f"<p>Turn {turn}.</p></body>"))
            h.run("update")
            report = h.json("verify")
            check(not report["fault_count"], report)
        h.run("wait")
        check(h.json("verify")["checked"]["by_model"], "current memories")


@test
def what_is_replaced_is_collected_though_updates_never_rest():
    with house() as h:
        h.run("add", h.part(("ddl",)), "-c", "pg", "--wait")
        status = h.json("status")
        first, generation = status["store"]["bytes"], status["generation"]
        most, lines = 0, socket.socket(socket.AF_UNIX)
        lines.connect(h.socket)
        with lines, lines.makefile("rwb") as stream:
            def call(method, params):
                stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method,
                                         "params": params}).encode() + b"\n")
                stream.flush()
                return json.loads(stream.readline())["result"]
            while status["generation"] < generation + 40:
                call("update", {"force": True})
                status = call("status", {})
                most = max(most, status["store"]["bytes"])
                time.sleep(0.002)
        check(most < 8 * first, f"{first} bytes have become {most}")


@test
def it_is_compacted_and_backed_up_while_it_works():
    with house() as h:
        h.copy_model()
        folder = h.part(FEW)
        h.run("add", folder, "-c", "pg", "--wait")
        page = os.path.join(folder, "ddl-basics.html")
        backup = os.path.join(h.path, "backup")
        for turn in range(6):
            text = open(page).read()
            h.write("manual/ddl-basics.html", text.replace("</body>", f"<p>Turn{turn}.</p></body>"))
            h.run("update", "--force")
            report = h.json("compact")
            check(report["after"] and report["needed"] and report["available"], report)
            h.json("backup", f"{backup}{turn}")
            check(h.json("search", "partial index", "-n", "1")["results"], "search")
        done = h.run("backup", f"{backup}0", code=2)
        check("is there already" in done.stderr, done.stderr)
        h.run("wait")
        check(h.json("search", "Turn5")["results"], "the last edit")
        check(not h.json("verify")["fault_count"], "verify")
        h.run("backup", backup + "/")
        check("\u2192" in h.run("compact").stdout, "compact")
        whole = h.json("toc", "-c", "pg")
        h.stop()
        check(not os.path.exists(os.path.join(h.store, "compact")), "the copy stays")
        at_last, h.store = h.store, backup
        h.run("wait")  # until it has looked at the files, it does not call them fresh
        check(h.json("toc", "-c", "pg") == whole, "the backup")
        check(not h.json("verify")["fault_count"], "verify the backup")
        check(h.json("search", "partial index", "--mode", "dense", "-n", "1")["results"], "dense")
        h.stop()
        h.store = f"{backup}3"  # of the midst of it; then it catches up
        check(not h.json("verify", "-c", "pg")["fault_count"], "verify one of the midst")
        h.run("wait")
        check(h.json("search", "Turn5")["results"], "the last edit, from the backup")
        check(not h.json("verify")["fault_count"], "verify once it has caught up")
        h.stop()
        h.store = at_last


def unpack_store(h, schema):
    os.makedirs(h.store, mode=0o700, exist_ok=True)
    with gzip.open(os.path.join(STORES, f"schema-{schema}.mdb.gz")) as packed, \
            open(os.path.join(h.store, "data.mdb"), "wb") as file:
        file.write(packed.read())


def stamped(h):
    """The schema that the store says it has."""
    with open(os.path.join(h.store, "data.mdb"), "rb") as file:
        found = [value for key, value in ((k, file_value(file, at, n)) for k, at, n in keyed_values(file.read()))
                 if key == b"schema"]
    return [int.from_bytes(value, "little") for value in found]


def file_value(file, at, size):
    file.seek(at)
    return file.read(size)


def check_guide(h, schema):
    check(h.json("search", "heron", "-n", "1")["results"][0]["path"][-1] == "The heron", schema)
    answer = h.json("ask", "-n", "1", "what does the bittern do")
    check("booms; its call carries over three kilometres" in answer["answer"] and
          answer["citations"][0]["file"] == "birds.html", (schema, answer))


@test
def stores_of_every_schema_open_and_are_upgraded():
    with open(FIXTURE + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FIXTURE, ignore_errors=True)
        shutil.copytree(os.path.join(STORES, "manual"), os.path.join(FIXTURE, "manual"))
        for schema in range(1, SCHEMA):
            with house() as h:
                h.copy_model()
                unpack_store(h, schema)
                check_guide(h, schema)
                h.run("wait")  # trees that parsers of before have made are made anew
                check(not h.json("verify")["fault_count"], f"schema {schema}: faults")
                nodes = [hit["node"] for hit in h.json("search", "alder willow")["results"]]
                h.run("update", "--force", "--wait")
                check_guide(h, schema)
                check([hit["node"] for hit in h.json("search", "alder willow")["results"]] == nodes, f"ids, {schema}")
                h.stop()
                check(SCHEMA in stamped(h) and not h.run("verify").returncode, (schema, stamped(h)))
        shutil.rmtree(FIXTURE)


@test
def a_store_of_a_later_version_is_refused():
    with house() as h:
        unpack_store(h, SCHEMA - 1)
        path = os.path.join(h.store, "data.mdb")
        with open(path, "r+b") as file:
            for key, at, _ in list(keyed_values(file.read())):
                if key == b"schema":
                    file.seek(at)
                    file.write((SCHEMA + 1).to_bytes(4, "little"))
        done = h.run("status", code=None)
        check(done.returncode == 6 and f"schema {SCHEMA + 1}" in done.stderr and "use the program that wrote it" in done.stderr, done)
