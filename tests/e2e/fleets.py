"""A fleet: indexers and readers, each with its daemon, over a real PostgreSQL."""
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from e2e.house import BUILD, HERE, PATIENCE, Skip, check, house, page, test
from harness import files
from harness.database import Database, programs


def content(path):
    with open(path, "rb") as file:
        return file.read()


@contextlib.contextmanager
def fleet(readers=1, where=None):
    """A database, an indexer that makes packs into a shared folder or to an address, and readers of these."""
    if not programs():
        raise Skip("PostgreSQL is not installed (apt-get install postgresql)")
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        indexer = stack.enter_context(house())
        places = where or os.path.join(indexer.path, "packs")
        if not where:
            os.mkdir(places)
        database.sql("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN")
        indexer.run("fleet", "init", database.where(), places)
        database.sql("GRANT lectern_indexer TO ann; GRANT lectern_reader TO bob")
        indexer.configure(watch="off", fleet=database.where("ann"))
        signer = trusted(indexer)
        houses = [stack.enter_context(house()) for _ in range(readers)]
        for reader in houses:
            reader.configure(watch="off", fleet=database.where("bob"), trusted_keys=reader.write("keys", signer))
        yield database, indexer, *houses


def trusted(indexer):
    """The key that the indexer signs with."""
    indexer.write("any/a.html", page("Any", "<p>Any words.</p>"))
    indexer.run("add", os.path.join(indexer.path, "any"), "-c", "any", "--wait")
    made = indexer.json("pack", "any", os.path.join(indexer.path, "any.pack"), "--key",
                        os.path.join(indexer.path, "lectern/fleet-key"))
    indexer.run("rm", "any")
    return made["signer"]


def packs_of(places):
    """All that is there but what nginx works at."""
    return [name for name in os.listdir(places) if name != ".body"]


def damage(places):
    """Changes the last byte of every pack; a second time, back."""
    for name in packs_of(places):
        bytes_ = content(os.path.join(places, name))
        with open(os.path.join(places, name), "wb") as file:
            file.write(bytes_[:-1] + bytes([bytes_[-1] ^ 1]))


def shown(h):
    return {m["name"]: m for m in h.json("fleet", "status")["manuals"]}


@test
def only_lectern_fleet_has_a_database():
    linked = [name for name in ("lectern", "lecternd", "lectern-parse", "lectern-get", "lectern-web", "lectern-fleet")
              if b"libpq.so" in content(os.path.join(BUILD, name))]
    check(linked == ["lectern-fleet"], linked)


@test
def a_manual_is_indexed_once_and_read_elsewhere():
    with fleet() as (database, indexer, reader):
        told = indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        asked = indexer.json("fleet", "publish", "m", os.path.dirname(told))
        check(asked == {"manual": "m", "revision": 1}, asked)
        check(shown(reader)["m"]["generation"] is None, "nothing is published yet")
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        reader.run("wait")
        check(reader.json("ask", "what is the impeller primed with")["citations"][0]["status"] == "stored", "an answer")
        # A change, published under searches: the reader has the next generation.
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with oil.</p>"))
        indexer.run("fleet", "publish", "m")
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        check("oil" in reader.json("ask", "what is the impeller primed with")["answer"], "the newer")
        rows = database.sql("SELECT outcome, count(*) FROM lectern.attempts GROUP BY 1")
        check(rows == [["published", "2"]], rows)
        state = indexer.json("fleet", "status")
        check(state["readers"][0]["current"] == state["readers"][0]["manuals"] == 1, state)
        # The packs are those of any single daemon.
        alone = os.path.join(indexer.path, "alone.pack")
        indexer.run("pack", "m", alone, "--key", os.path.join(indexer.path, "lectern/fleet-key"))
        file = database.sql("SELECT file FROM lectern.packs JOIN lectern.generations g ON pack = sha256 "
                            "ORDER BY g.id DESC LIMIT 1")[0][0]
        check(content(alone) == content(os.path.join(indexer.path, "packs", file)), "not the same bytes")


@test
def a_fleet_says_what_is_wrong():
    with fleet() as (database, indexer, reader):
        said = reader.run("fleet", "publish", "m", "/nowhere", code=2).stderr
        check("permission denied" in said, said)
        indexer.run("fleet", "publish", "m", code=2)
        indexer.run("fleet", "publish", "m", "/nowhere")
        indexer.run("fleet", "work", "--once")
        check("/nowhere is no folder" in shown(indexer)["m"]["problem"], shown(indexer))
        newest = database.sql("SELECT max(number) FROM lectern.migrations")[0][0]
        database.sql(f"UPDATE lectern.migrations SET number = 99 WHERE number = {newest}")
        check("newer Lectern" in reader.run("fleet", "status", code=2).stderr, "a later schema")
        database.sql("DELETE FROM lectern.migrations WHERE number = 99")
        check("fleet init" in reader.run("fleet", "status", code=2).stderr, "an earlier schema")
        database.sql(f"INSERT INTO lectern.migrations (number) VALUES ({newest})")
        check("netrc" in indexer.run("fleet", "init", database.where(), "http://me:word@files/packs", code=2).stderr, "a password")
        check("127.0.0.1" in indexer.run("fleet", "init", database.where(), "http://127.0.0.1:1/packs", code=7).stderr, "nobody there")
        check("password" in reader.run("fleet", "join", "host=x password=y", code=2).stderr, "a password")
        check("no connection string: invalid" in reader.run("fleet", "join", "hots=x", code=2).stderr, "a wrong word")
        for wrong in ("password=a secret", "postgresql://me:%zzsecret@x/y"):
            said = reader.run("fleet", "join", wrong, code=2).stderr
            check("no connection string" in said and "pgpass" in said and "secret" not in said, said)
        told = reader.json("fleet", "join", database.where("bob"))
        check(told["role"] == "reader", told)


@test
def a_schema_is_brought_up_to_date():
    if not programs():
        raise Skip("PostgreSQL is not installed (apt-get install postgresql)")
    with Database() as database, house() as h:
        check("fleet init" in h.run("fleet", "join", database.where(), code=2).stderr, "no registry")
        first = h.json("fleet", "init", database.where())
        check(first["from"] == 0 and first["schema"] >= 3, first)
        # What there was of the first two, with two generations of a manual.
        database.sql("DROP SCHEMA lectern CASCADE; CREATE SCHEMA lectern; CREATE TABLE lectern.migrations (number integer "
                     "PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now()); INSERT INTO lectern.migrations VALUES (1), (2)")
        for name in ("001_registry", "002_readers"):
            database.sql(content(os.path.join(HERE, f"../../cli/fleet/sql/{name}.sql")).decode())
        database.sql("SELECT lectern.ask_for('m', '/m')")
        for fence in (1, 2):
            database.sql("UPDATE lectern.leases SET wanted = wanted + 1; SELECT lectern.take('w', '{}'); "
                         f"SELECT lectern.register(1, {fence}, repeat('{fence}', 64), 'h', 'file{fence}', 1, NULL)")
        second = h.json("fleet", "init", database.where())
        check(second == {"from": 2, "schema": first["schema"]}, second)
        check(database.sql("SELECT name, file FROM lectern.offers") == [["m", "file2"]], "what was there stays")
        database.sql("UPDATE lectern.settings SET value = '0' WHERE name = 'grace_seconds'")
        check(database.sql("SELECT file FROM lectern.unneeded") == [["file1"]], "the earlier may go")


@test
def a_manual_is_withdrawn_and_its_packs_go():
    with fleet() as (database, indexer, reader):
        places = os.path.join(indexer.path, "packs")
        for name in ("pumps", "valves"):
            indexer.write(f"{name}/a.html", page(name, "<p>The impeller is primed.</p>"))
            indexer.run("fleet", "publish", name, os.path.join(indexer.path, name))
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        # An attempt that dies with half a file.
        indexer.run("fleet", "publish", "pumps")
        database.sql("SELECT lectern.take('dead', '{}'); SELECT lectern.announce(1, 2, 'half.pack')")
        half = indexer.write("packs/half.pack.part", "half")
        database.sql("UPDATE lectern.leases SET until = clock_timestamp() - interval '1 s'")
        indexer.run("fleet", "work", "--once")
        check(len(os.listdir(places)) == 4 and os.path.exists(half), "grace is a day")
        check(shown(indexer)["valves"]["generation"], "published")
        check(indexer.json("fleet", "withdraw", "valves") == {"withdrawn": "valves"}, "withdrawn")
        check("no manual" in indexer.run("fleet", "withdraw", "other", code=2).stderr, "an unknown one")
        check("denied" in reader.run("fleet", "withdraw", "pumps", code=2).stderr, "by a reader")
        reader.run("fleet", "fetch", "--once")
        check([m["name"] for m in reader.json("ls")["manuals"]] == ["pumps"], reader.json("ls"))
        check(shown(indexer)["valves"]["withdrawn"] and not shown(indexer)["valves"]["generation"], shown(indexer))
        check("withdrawn" in indexer.run("fleet", "status").stdout, "in words")
        database.sql("UPDATE lectern.settings SET value = '0' WHERE name = 'grace_seconds'")
        indexer.run("fleet", "work", "--once")
        file = database.sql("SELECT file FROM lectern.offers")
        check([[name] for name in os.listdir(places)] == file, (os.listdir(places), file))
        # It may come back.
        indexer.run("fleet", "publish", "valves")
        check(shown(indexer)["valves"]["generation"] is None, "not the old one")
        reader.run("fleet", "fetch", "--once")
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        check([m["name"] for m in reader.json("ls")["manuals"]] == ["pumps", "valves"], reader.json("ls"))


@test
def what_the_registry_calls_a_pack_leads_nowhere_else():
    with fleet() as (database, indexer, reader):
        told = indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed.</p>"))
        mine, old = indexer.write("precious", "mine"), indexer.write("packs/old.pack", "old")
        indexer.run("fleet", "publish", "m", os.path.dirname(told))
        database.sql("UPDATE lectern.settings SET value = '0' WHERE name = 'grace_seconds'")
        for fence, name in enumerate(("../precious", "old.pack"), 1):
            database.sql(f"SELECT lectern.take('dead', '{{}}'); SELECT lectern.announce(1, {fence}, '{name}');"
                         "UPDATE lectern.leases SET until = clock_timestamp() - interval '1 s'")
        said = indexer.run("fleet", "work", "--once").stderr
        check(content(mine) == b"mine" and "no name of a file" in said, said)
        check(not os.path.exists(old), "others are removed")


@test
def what_the_registry_has_for_a_sum_leads_nowhere_else():
    with fleet() as (database, indexer, reader):
        told, mine = indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed.</p>")), reader.write("mine.pack", "mine")
        indexer.run("fleet", "publish", "m", os.path.dirname(told))
        indexer.run("fleet", "work", "--once")
        database.sql("SET session_replication_role = replica; ALTER TABLE lectern.packs DROP CONSTRAINT packs_sha256_check;"
                     "UPDATE lectern.packs SET sha256 = '../../mine'; UPDATE lectern.generations SET pack = '../../mine'")
        said = reader.run("fleet", "fetch", "--once", code=2).stderr
        check("'../../mine' for the sha256" in said and content(mine) == b"mine", said)


@test
def who_holds_a_lease_of_a_withdrawn_manual_cannot_publish():
    with fleet() as (database, indexer, _):
        indexer.run("fleet", "publish", "m", "/m")
        check(database.sql("SELECT fence FROM lectern.take('late', '{}')") == [["1"]], "taken")
        indexer.run("fleet", "withdraw", "m")
        check(database.sql("SELECT lectern.renew(1, 1), lectern.announce(1, 1, 'f')") == [["f", "f"]], "lost")
        check(database.sql("SELECT lectern.register(1, 1, repeat('1', 64), 'h', 'f', 1, NULL)") == [[""]], "fenced")
        check(not database.sql("SELECT fence FROM lectern.take('other', '{}')"), "nothing to do")
        indexer.run("fleet", "publish", "m")
        check(database.sql("SELECT fence FROM lectern.take('other', '{}')") == [["2"]], "asked for again")


@test
def what_is_not_to_be_held_any_more_goes():
    with fleet() as (_, indexer, reader):
        for name in ("pumps", "valves"):
            indexer.write(f"{name}/a.html", page(name, "<p>The impeller is primed.</p>"))
            indexer.run("fleet", "publish", name, os.path.join(indexer.path, name))
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        reader.write("own/a.html", page("Own", "<p>Words.</p>"))
        reader.run("add", os.path.join(reader.path, "own"), "-c", "own", "--wait")
        with open(os.path.join(reader.path, "lectern/lectern.ini"), "a") as file:
            file.write("fleet_manuals = valves\n")
        reader.run("fleet", "fetch", "--once")
        check({m["name"] for m in reader.json("ls")["manuals"]} == {"own", "valves"}, reader.json("ls"))


@test
def a_reader_says_what_it_does_not_hold():
    with fleet() as (database, indexer, reader):
        for name in ("pumps", "valves"):
            indexer.write(f"{name}/a.html", page(name, f"<p>The impeller of {name} is primed.</p>"))
            indexer.run("fleet", "publish", name, os.path.join(indexer.path, name))
        indexer.run("fleet", "work", "--once")
        check("elsewhere" not in indexer.json("search", "impeller"), "no reader")
        with open(os.path.join(reader.path, "lectern/lectern.ini"), "a") as file:
            file.write("fleet_manuals = valves\n")
        reader.run("fleet", "fetch", "--once")
        for verb in ("search", "ask", "grep"):
            check(reader.json(verb, "impeller")["elsewhere"] == 1, reader.json(verb, "impeller"))
        check(reader.json("status")["fleet"]["elsewhere"] == ["pumps"], reader.json("status")["fleet"])
        check("not held here" in reader.run("search", "zygote", code=1).stderr, "where nothing is found")
        check("is not held here" in reader.run("search", "impeller", "-c", "pumps", code=2).stderr, "by its name")
        check("no manual named" in reader.run("search", "impeller", "-c", "other", code=2).stderr, "one that nobody has")
        # It stays known while the registry is away.
        database.stop("immediate")
        reader.run("fleet", "fetch", "--once", code=3)
        check(reader.json("search", "impeller")["elsewhere"] == 1, "without the database")
        database.start()
        indexer.run("fleet", "withdraw", "pumps")
        reader.run("fleet", "fetch", "--once")
        check("elsewhere" not in reader.json("search", "impeller") and not reader.json("status")["fleet"]["elsewhere"], "withdrawn")


@contextlib.contextmanager
def beside(**more):
    """A reader with its manuals, and one that asks it for what it does not hold."""
    with house() as far, house() as near:
        for h, name in ((far, "pumps"), (far, "both"), (near, "valves"), (near, "both")):
            h.write(f"{name}/a.html", page(name, f"<p>The impeller of the {name} is primed with clean water before it is started.</p>"))
            h.run("add", os.path.join(h.path, name), "-c", name, "--wait")
        near.configure(watch="off", fleet_readers=f"far={far.socket}", **more)
        near.run("daemon", "--stop")
        yield near, far


@test
def what_is_not_held_is_asked_of_another_reader():
    with beside() as (near, far):
        found = near.json("search", "impeller primed")
        places = {(hit["manual"], hit.get("reader")) for hit in found["results"]}
        check(places == {("valves", None), ("both", None), ("pumps", "far")}, found)
        check(found["readers"] == [{"name": "far", "searched": 2}] and found["searched"] == 4, found)
        check("pumps at far" in near.run("search", "impeller primed").stdout, "in words")
        # By its name alone, and its sections by theirs.
        alone = near.json("search", "impeller", "-c", "pumps")
        check([(hit["manual"], hit["reader"]) for hit in alone["results"]] == [("pumps", "far")] and alone["terms"], alone)
        node = alone["results"][0]["node"]
        section = near.json("get", node)
        check("pumps" in section["blocks"][0]["text"] and section["id"] == node and section["reader"] == "far", section)
        check(far.json("get", node.split("@")[0])["blocks"] == section["blocks"], "as it is there")
        check(near.json("get", "1") == section, "by its number")
        cited = near.call("quote", node=node, quote="The impeller of the pumps")
        check(cited["status"] == "verified" and cited["node"] == node, cited)
        contents = near.json("toc", "-c", "pumps")
        check((contents["manual"], contents["reader"]) == ("pumps", "far") and near.json("toc", section["path_nodes"][0])["id"] == section["path_nodes"][0],
              "contents")
        check("the reader far has it" in near.run("open", node, code=4).stderr, "its file is not here")
        below = near.json("search", "impeller", "--under", section["path_nodes"][0])
        check(below["reader"] == "far" and [hit["reader"] for hit in below["results"]] == ["far"] * len(below["results"]) != [], below)
        below = near.call("ask", query="what is the impeller primed with", under=section["path_nodes"][0])
        check([hit["reader"] for hit in below["citations"]] == ["far"] * len(below["citations"]) != [], below)
        # Where no model may write, below one of its sections, too.
        below = near.call("search", query="impeller", under=section["path_nodes"][0], expand=True)
        check(below["reader"] == "far" and below["results"] and "expanded" not in below, below)
        check("not asked here" in near.run("get", "n1@other", code=2).stderr, "a reader that is not known")
        # A question is answered by one of both.
        answer = near.json("ask", "what is the impeller of the pumps primed with", "-c", "pumps")
        check(answer["reader"] == "far" and answer["citations"][0]["node"].endswith("@far"), answer)
        check("clean water" in answer["answer"], answer)
        check("reader" not in near.json("ask", "what is the impeller of the valves primed with", "-c", "valves"), "its own")
        # Names that one of both has, and that nobody has.
        two = near.json("search", "impeller", "-c", "pumps", "-c", "valves")
        check({hit["manual"] for hit in two["results"]} == {"pumps", "valves"}, two)
        check("no manual named other" in near.run("search", "impeller", "-c", "other", code=2).stderr, "nobody has it")
        # Who is asked asks nobody in turn.
        check("readers" not in far.call("search", query="impeller", local=True, manuals=["valves"]), "in turn")


@test
def a_question_goes_to_who_holds_its_answer():
    with beside() as (near, far):
        far.write("pumps/b.html", page("Bearings", "<p>The bearings are greased with lithium soap every thousand hours.</p>"))
        far.run("update", "--wait")
        answer = near.json("ask", "what are the bearings greased with")
        check(answer["reader"] == "far" and "lithium" in answer["answer"] and answer["readers"], answer)
        check("pumps at far" in near.run("ask", "what are the bearings greased with").stdout, "in words")
        # Of several readers each leaves out the names that it has no manual of.
        with house() as third:
            third.write("fans/a.html", page("Fans", "<p>The blades of the fans are balanced with brass clips.</p>"))
            third.run("add", os.path.join(third.path, "fans"), "-c", "fans", "--wait")
            near.configure(watch="off", fleet_readers=f"far={far.socket} third={third.socket}")
            near.run("daemon", "--stop")
            answer = near.json("ask", "what are the blades balanced with", "-c", "pumps", "-c", "fans")
            check(answer["reader"] == "third" and "brass" in answer["answer"] and len(answer["readers"]) == 2, answer)
        check(near.json("ask", "what are the bearings greased with", "--session", "s", code=1)["kind"] == "none", "sessions stay here")


@contextlib.contextmanager
def answering(path, answers):
    """Somebody who answers each method with what stands in `answers`, the last for good; gives the parameters of what was asked."""
    asked = []

    def serve(listening):
        with contextlib.suppress(OSError):
            while True:
                with listening.accept()[0] as one, one.makefile("rw") as lines:
                    request = json.loads(lines.readline())
                    asked.append((request["method"], request["params"]))
                    of = answers[request["method"]]
                    lines.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **(of.pop(0) if len(of) > 1 else of[0])}) + "\n")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield asked
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
    os.unlink(path)


def said(*manuals):
    """An answer that cites these, in a name that is not its own."""
    cited = [{"n": 1, "manual": name, "node": "n1", "title": "T", "quote": "forged", "status": "verified", "reader": "other"} for name in manuals]
    return {"result": {"kind": "passages", "answer": "forged", "confidence": 9, "searched": 1, "citations": cited}}


@test
def what_is_held_here_is_answered_here():
    with beside() as (near, far):
        far.run("daemon", "--stop")
        found = {"result": {"query": "q", "confidence": 7, "searched": 1, "unheld": [],
                            "results": [{"manual": "pumps", "node": "n1", "reader": "other", "title": "T", "text": "t"}]}}
        question = "what is the impeller of the valves primed with"
        with answering(far.socket, {"search": [found], "ask": [said("valves")]}):
            answer = near.json("ask", question)
            check("reader" not in answer and "forged" not in answer["answer"] and answer["complete"], answer)
            check("not asked for" in near.run("ask", question, "-c", "pumps", code=3).stderr, "by its name")
        # What is of both is asked for again, without what is held here.
        with answering(far.socket, {"search": [found], "ask": [said("pumps", "valves"), said("pumps")]}) as asked:
            answer = near.json("ask", question)
            check([hit["reader"] for hit in answer["citations"]] == ["far"] and answer["reader"] == "far" and answer["confidence"] == 1, answer)
            check([params.get("manuals") for method, params in asked if method == "ask"] == [None, ["pumps"]], asked)
        with answering(far.socket, {"search": [found], "ask": [said("pumps", "valves")]}):
            check("reader" not in near.json("ask", question), "it does not do so")
        # Who is surest and then has no answer is said.
        with answering(far.socket, {"search": [found], "ask": [{"error": {"code": -8, "message": "it broke"}}]}):
            answer = near.json("ask", question)
            check(answer["readers"] == [{"name": "far", "problem": "it broke"}] and not answer["complete"], answer)


@test
def a_dead_reader_holds_up_nobody():
    with beside() as (near, far):
        far.run("daemon", "--stop")
        found = near.json("search", "impeller primed")
        check(len(found["results"]) == 2 and "no daemon answers" in found["readers"][0]["problem"], found)
        check(not found["complete"] and "is not searched" in near.run("search", "impeller").stderr, "it is said")
        check("cannot be asked" in near.run("search", "impeller", "-c", "pumps", code=3).stderr, "by its name")
        answer = near.json("ask", "what is the impeller primed with")
        check(answer["answer"] and not answer["complete"] and answer["readers"][0]["problem"], "it answers itself")
        far.run("daemon")
        check(near.json("search", "impeller", "-c", "pumps")["results"], "it is back")
        far.run("daemon", "--stop")
        # One that takes requests and answers none: it is waited for once.
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(far.socket)
            silent.listen()
            check("in time" in near.json("search", "impeller primed")["readers"][0]["problem"], "silent")
            check("asked again" in near.json("search", "impeller primed")["readers"][0]["problem"], "not asked")
            silent.settimeout(0)
            silent.accept()[0].close()
            try:
                silent.accept()
                check(False, "it was asked twice")
            except BlockingIOError:
                pass
        os.unlink(far.socket)


@test
def two_that_ask_each_other_answer_each_other():
    with beside() as (near, far):
        far.configure(watch="off", fleet_readers=f"near={near.socket}")
        far.run("daemon", "--stop")
        asked = [(h, verb) for verb in ("search", "ask") for _ in range(6) for h in (near, far)]
        for h in (near, far):
            h.run("daemon")
        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            answers = list(pool.map(lambda one: one[0].json(one[1], "what is the impeller primed with"), asked))
        for answer in answers:
            check([sorted(reader) for reader in answer["readers"]] == [["name", "searched"]], answer["readers"])


@test
def what_readers_are_called_is_checked():
    with house() as h:
        for wrong in ("far", "far=s", "f r=/s", "a=/s, a=/t"):
            h.configure(fleet_readers=wrong)
            check("fleet_readers" in h.run("ls", code=None).stderr, wrong)
        # A daemon that runs already does not hide it.
        h.configure()
        h.run("ls")
        h.configure(fleet_readers="a=b")
        check("lectern.ini:1: fleet_readers: 'a=b' is not" in h.run("doctor", code=2).stderr, "doctor")
        h.configure()


@test
def a_manual_of_ones_own_is_not_removed_for_a_lease():
    """One that a lease was for goes where its source has moved."""
    with fleet(readers=0) as (_, indexer):
        for folder, word in (("own", "wombat"), ("first", "okapi"), ("second", "quokka")):
            indexer.write(f"{folder}/a.html", page("Animals", f"<p>The {word} eats grass.</p>"))
        own, first, second = (os.path.join(indexer.path, name) for name in ("own", "first", "second"))
        indexer.run("add", own, "-c", "m", "--wait")
        indexer.run("fleet", "publish", "m", first)
        indexer.run("fleet", "work", "--once")
        check(f"indexed from {own}" in shown(indexer)["m"]["problem"], shown(indexer))
        check(indexer.json("search", "wombat")["results"], "it is still here")
        indexer.run("rm", "m")
        for folder, word in ((first, "okapi"), (second, "quokka")):
            indexer.run("fleet", "publish", "m", folder)
            indexer.run("fleet", "work", "--once")
            check(indexer.manual("m")["root"] == folder and indexer.json("search", word)["results"], folder)


@test
def who_lost_the_lease_cannot_publish():
    with fleet() as (database, indexer, _):
        indexer.write("m/a.html", page("Pumps", "<p>Words.</p>"))
        indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
        take = "SELECT fence FROM lectern.take('%s', '{}')"
        check(database.sql(take % "late") == [["1"]] and not database.sql(take % "other"), "one at a time")
        database.sql("UPDATE lectern.leases SET until = clock_timestamp() - interval '1 s'")
        register = "SELECT lectern.register(1, %d, repeat('%x', 64), 'hash', 'file', 1, NULL)"
        check(database.sql(take % "other") == [["2"]], "the lease of one who is dead is given out")
        check(database.sql(register % (1, 1)) == [[""]] and database.sql("SELECT lectern.renew(1, 1)") == [["f"]], "fenced")
        done = database.sql(register % (2, 2))
        check(done == database.sql(register % (2, 2)) and done != [[""]], "asked twice, answered twice, done once")
        check(database.sql("SELECT worker, outcome FROM lectern.attempts ORDER BY fence") ==
              [["late", "lost"], ["other", "published"]], "what became of them")
        check(database.sql("SELECT count(*) FROM lectern.packs") == [["1"]], "the late one's pack")


@test
def packs_of_a_fleet_may_have_their_files():
    with fleet() as (database, indexer, reader):
        def say(words):
            indexer.write("m/deep/a.html", page("Pumps", f"<p>The impeller is primed with {words}.</p>"))
            indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
            indexer.run("fleet", "work", "--once")
            reader.run("fleet", "fetch", "--once")
            reader.run("wait")

        def asked():
            answer = reader.json("ask", "what is the impeller primed with")
            return answer["answer"], answer["citations"][0]["status"], answer["fresh"], answer.get("away", False)

        files = os.path.join(reader.store, "fleet/files")
        say("rain")
        check("rain" in asked()[0] and asked()[1:] == ("stored", False, True), asked())
        with open(os.path.join(indexer.path, "lectern/lectern.ini"), "a") as file:
            file.write("fleet_files = yes\n")
        say("clean water")
        check("clean water" in asked()[0] and asked()[1:] == ("verified", True, False), asked())
        check(reader.run("open", "1", "--print").stdout.startswith(f"file://{files}/"), "it opens")
        first = os.listdir(files)
        # The next has files of its own; those before go at the look after that.
        say("oil")
        check("oil" in asked()[0] and asked()[1:] == ("verified", True, False), asked())
        check(len(os.listdir(files)) == 2, os.listdir(files))
        reader.run("fleet", "fetch", "--once")
        check(len(os.listdir(files)) == 1 and os.listdir(files) != first, os.listdir(files))
        check(not reader.json("verify")["fault_count"], reader.run("verify", code=None).stdout)
        # Of one who was killed: half of a folder, and a pack that he did not note.
        reader.write("store/fleet/files/" + 64 * "a" + "/half.html", "half")
        os.unlink(os.path.join(reader.store, "fleet/held.json"))
        reader.run("fleet", "fetch", "--once")
        check(len(os.listdir(files)) == 1 and "oil" in asked()[0] and reader.json("status")["fleet"]["fresh"], os.listdir(files))
        # Of a backup, which has no files, with what was noted and without.
        for lost in ([], [os.path.join(reader.store, "fleet/held.json")]):
            shutil.rmtree(files)
            for path in lost:
                os.unlink(path)
            reader.run("fleet", "fetch", "--once")
            check(len(os.listdir(files)) == 1 and "oil" in asked()[0] and asked()[1:] == ("verified", True, False), asked())
        # The store may be moved.
        reader.run("daemon", "--stop")
        os.rename(reader.store, reader.store + ".moved")
        reader.store += ".moved"
        files = os.path.join(reader.store, "fleet/files")
        reader.run("fleet", "fetch", "--once")
        check(reader.json("ls")["manuals"][0]["root"].startswith(files) and asked()[1:] == ("verified", True, False), reader.json("ls"))
        indexer.run("fleet", "withdraw", "m")
        reader.run("fleet", "fetch", "--once")
        check(not reader.json("ls")["manuals"], "withdrawn")
        reader.run("fleet", "fetch", "--once")
        check(not os.listdir(files), os.listdir(files))


@test
def what_is_indexed_is_published_when_the_database_is_back():
    with fleet() as (database, indexer, _):
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
        daemon = indexer.json("status")["pid"]
        os.kill(daemon, signal.SIGSTOP)
        worker = subprocess.Popen([os.path.join(BUILD, "lectern"), "fleet", "work", "--once", "--store", indexer.store], env=indexer.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            indexer.until(lambda: database.sql("SELECT fence FROM lectern.attempts"), "the lease is taken")
            database.stop("immediate")
        finally:
            os.kill(daemon, signal.SIGCONT)
        indexer.until(lambda: os.path.exists(os.path.join(indexer.store, "fleet/made.pack")) or worker.poll() is not None, "it is packed")
        database.start()
        check(worker.wait(PATIENCE) == 0, worker.returncode)
        check(database.sql("SELECT fence, outcome FROM lectern.attempts") == [["1", "published"]], "once")


@test
def readers_serve_on_without_database_and_packs():
    with fleet() as (database, indexer, reader):
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with oil.</p>"))
        indexer.run("fleet", "publish", "m")
        indexer.run("fleet", "work", "--once")
        places = os.path.join(indexer.path, "packs")
        os.rename(places, places + ".gone")
        check(reader.json("status")["fleet"]["fresh"], reader.json("status")["fleet"])
        check("packs" in reader.run("fleet", "fetch", "--once", code=7).stderr, "no packs")
        state = reader.json("status")["fleet"]
        check(not state["fresh"] and "packs" in state["problem"] and state["behind"] >= state["looked"] >= 0, state)
        check("water" in reader.json("ask", "what is the impeller primed with")["answer"], "without packs")
        database.stop("immediate")
        reader.run("fleet", "fetch", "--once", code=3)
        later = reader.json("status")["fleet"]
        check("registry" in later["problem"] and later["behind"] >= state["behind"], later)
        check("not all is current for" in reader.run("status").stdout, "in words")
        answer = reader.json("ask", "what is the impeller primed with")
        check("water" in answer["answer"] and not answer["fresh"] and answer["behind"] >= later["behind"], answer)
        for verb in ("search", "grep"):
            found = reader.json(verb, "impeller")
            check(not found["fresh"] and found["behind"] >= answer["behind"] and "elsewhere" not in found, found)
        check("not all packs" in reader.run("search", "impeller").stderr, "in words")
        database.start()
        os.rename(places + ".gone", places)
        damage(places)
        check("sha256" in reader.run("fleet", "fetch", "--once", code=2).stderr, "a changed pack")
        damage(places)
        reader.run("fleet", "fetch", "--once")
        check("oil" in reader.json("ask", "what is the impeller primed with")["answer"], "all is there again")
        check(reader.json("status")["fleet"]["fresh"], reader.json("status")["fleet"])
        check("behind" not in reader.json("search", "impeller"), "all is current")
        check("all is current" in reader.run("status").stdout, "in words")
        # A fetch that has died says nothing of now.
        reader.write("store/fleet/looked.json", json.dumps({"at": int(time.time()) - 590, "elsewhere": 0}))
        check(reader.json("status")["fleet"]["fresh"], "it may still look")
        reader.write("store/fleet/looked.json", json.dumps({"at": int(time.time()) - 3610, "elsewhere": 0}))
        state, found = reader.json("status")["fleet"], reader.json("search", "impeller")
        check(not state["fresh"] and "running" in state["problem"] and state["behind"] >= 3600, state)
        check(not found["fresh"] and found["behind"] >= 3600, found)
        # Nor does one that is not wanted any more.
        reader.configure(watch="off", trusted_keys=os.path.join(reader.path, "keys"))
        reader.run("daemon", "--stop")
        check("fleet" not in reader.json("status") and "behind" not in reader.json("search", "impeller"), "no fleet")


@test
def what_is_held_is_configuration_and_followed():
    with fleet() as (database, indexer, reader):
        with open(os.path.join(reader.path, "lectern/lectern.ini"), "a") as file:
            file.write("fleet_manuals = pump*, other\n")
        for name in ("pumps", "valves"):
            indexer.write(f"{name}/a.html", page(name, "<p>The impeller is primed.</p>"))
            indexer.run("fleet", "publish", name, os.path.join(indexer.path, name))
        workers = [subprocess.Popen([os.path.join(BUILD, "lectern"), "fleet", verb, "--store", h.store], env=h.env,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for h, verb in ((indexer, "work"), (reader, "fetch"))]
        try:
            def held():
                return [m["name"] for m in reader.json("ls")["manuals"]]
            reader.until(lambda: held() == ["pumps"], "what was published is followed")
            database.stop()
            database.start()
            indexer.run("fleet", "publish", "valves")
            indexer.until(lambda: shown(indexer)["valves"]["published"] == 2, "after the database was away")
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
                check(worker.wait(PATIENCE) in (0, 7, 130), worker.returncode)
        check(held() == ["pumps"], held())


@contextlib.contextmanager
def file_server(folder, more=""):
    if not files.program():
        raise Skip("nginx is not installed (apt-get install nginx)")
    with files.FileServer(folder, more) as server:
        yield server


@test
def packs_go_over_http():
    with house() as place, file_server(place.path) as server, fleet(where=server.where) as (_, indexer, reader):
        check(not packs_of(os.path.join(place.path, "packs")), "what init tried is gone")
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
        indexer.run("fleet", "work", "--once")
        reader.run("fleet", "fetch", "--once")
        check("water" in reader.json("ask", "what is the impeller primed with")["answer"], "an answer")
        # Nothing else is there, neither where packs are nor beside the reader's store: half of one that nobody wants any more, say.
        reader.write("store/fleet/" + 64 * "a" + ".pack.part", "half")
        reader.run("fleet", "fetch", "--once")
        names = packs_of(os.path.join(place.path, "packs"))
        check(len(names) == 1 and names[0].endswith(".pack"), names)
        left = [name for name in os.listdir(os.path.join(reader.store, "fleet")) if "pack" in name]
        check(not left, left)
        # The file server is away: the indexer says so, the reader serves on.
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with oil.</p>"))
        indexer.run("fleet", "publish", "m")
        server.stop()
        indexer.run("fleet", "work", "--once")
        check(server.where in shown(indexer)["m"]["problem"], shown(indexer))
        server.start()
        indexer.run("fleet", "publish", "m")
        indexer.run("fleet", "work", "--once")
        server.stop()
        check("127.0.0.1" in reader.run("fleet", "fetch", "--once", code=7).stderr, "no packs")
        check("water" in reader.json("ask", "what is the impeller primed with")["answer"], "without packs")
        server.start()
        damage(os.path.join(place.path, "packs"))
        check("sha256" in reader.run("fleet", "fetch", "--once", code=7).stderr, "a changed pack")
        damage(os.path.join(place.path, "packs"))
        reader.run("fleet", "fetch", "--once")
        check("oil" in reader.json("ask", "what is the impeller primed with")["answer"], "all is there again")


@test
def a_fetch_goes_on_where_it_broke_off():
    with house() as place, file_server(place.path) as server, fleet(where=server.where) as (database, indexer, reader):
        indexer.run("fleet", "publish", "m", indexer.part())
        indexer.run("fleet", "work", "--once")
        sha256, file = database.sql("SELECT sha256, file FROM lectern.packs")[0]
        whole = content(os.path.join(place.path, "packs", file))
        part = os.path.join(reader.store, "fleet", f"{sha256}.pack.part")
        os.makedirs(os.path.dirname(part))
        with open(part, "wb") as out:
            out.write(whole[:len(whole) // 2])
        # What is left is served, the first half is not there any more.
        with open(os.path.join(place.path, "packs", file), "r+b") as out:
            out.write(bytes(len(whole) // 2))
        reader.run("fleet", "fetch", "--once")
        check([m["name"] for m in reader.json("ls")["manuals"]] == ["m"], "it is here")


@test
def who_may_put_packs_is_the_servers_to_say():
    with house() as place:
        words = place.write("words", "ann:{PLAIN}word\n")
        with file_server(place.path, f"limit_except GET {{ auth_basic packs; auth_basic_user_file {words}; }}") as server, \
                contextlib.ExitStack() as stack:
            if not programs():
                raise Skip("PostgreSQL is not installed (apt-get install postgresql)")
            database = stack.enter_context(Database())
            said = place.run("fleet", "init", database.where(), server.where, code=7).stderr
            check("401" in said and server.where in said, said)
            place.write(".netrc", "machine 127.0.0.1 login ann password word\n")
            place.run("fleet", "init", database.where(), server.where)
            check(database.sql("SELECT value FROM lectern.settings WHERE name = 'packs'") == [[server.where]], "noted")


@test
def a_machine_may_see_the_place_elsewhere():
    with house() as place, file_server(place.path) as server, fleet(where=server.where) as (database, indexer, reader):
        indexer.write("m/a.html", page("Pumps", "<p>The impeller is primed with clean water.</p>"))
        indexer.run("fleet", "publish", "m", os.path.join(indexer.path, "m"))
        indexer.run("fleet", "work", "--once")
        server.stop()
        reader.run("fleet", "join", database.where("bob"), os.path.join(place.path, "packs"))
        reader.run("fleet", "fetch", "--once")
        check("water" in reader.json("ask", "what is the impeller primed with")["answer"], "by the folder")
