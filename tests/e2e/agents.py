"""Agents: the Model Context Protocol, spoken to `lectern mcp` line by line, and with the official SDK.

RECORD=FILE keeps what it asked and got.
That one runs under a Python that has it: python3 -m venv V; V/bin/pip install mcp; V/bin/python tests/e2e.py ... agents.
"""
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

from e2e.house import LECTERN, PATIENCE, Skip, check, house, page, test
from e2e.terminal import on_terminal, plain

LATEST = "2026-07-28"  # says its revision in each request, without a handshake


class Bridge:
    """A `lectern mcp` and what is said to it."""

    def __init__(self, h, store=True):
        self.process = subprocess.Popen([LECTERN, "mcp", *(["--store", h.store] if store else []), "--model", "none"], env=h.env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.asked = 0

    def write(self, *messages):
        lines = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        check(line, "the bridge has ended")
        return json.loads(line)

    def request(self, method, **params):
        self.asked += 1
        return {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}

    def call(self, method, **params):
        self.write(self.request(method, **params))
        answer = self.read()
        check(answer["id"] == self.asked, answer)
        return answer

    def tool(self, name, **arguments):
        """The structured result of a tool, which its text says as well."""
        result = self.call("tools/call", name=name, arguments=arguments)["result"]
        check(not result["isError"], result)
        check(json.loads(result["content"][0]["text"]) == result["structuredContent"], "text and structure differ")
        return result["structuredContent"]

    def refusal(self, name, **arguments):
        """What a tool says that cannot be run so."""
        result = self.call("tools/call", name=name, arguments=arguments)["result"]
        check(result["isError"] and "structuredContent" not in result, result)
        return result["content"][0]["text"]

    def pages(self, name, member, **arguments):
        """All items of a result that comes in pages, and how many those are."""
        result = self.tool(name, **arguments)
        items, count = result[member], 1
        while "next" in result:
            result = self.tool(name, cursor=result["next"], **arguments)
            items += result[member]
            count += 1
        return items, count

    def close(self):
        self.process.stdin.close()
        self.process.stdin = None
        _, said = self.process.communicate(timeout=PATIENCE)
        check(not said, f"on standard error: {said.decode(errors='replace')[-2000:]}")
        return self.process.returncode


@contextlib.contextmanager
def bridge(h, store=True):
    it = Bridge(h, store)
    try:
        yield it
    finally:
        code = it.close()
    check(code == 0, f"exit {code}")


SAID = "The impeller is primed with clean water."


def add_pumps(h):
    h.write("m/a.html", page("Pumps", f"<p>Vent the casing.</p><p>{SAID}</p>"))
    h.write("m/b.html", page("Valves", "<p>A valve is closed by hand.</p>"))
    h.run("add", os.path.join(h.path, "m"), "-c", "pumps and valves", "--wait")


@test
def an_agent_is_served():
    with house() as h, bridge(h) as b:
        add_pumps(h)
        for offered, agreed in (("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
            hello = b.call("initialize", protocolVersion=offered, capabilities={}, clientInfo={"name": "t", "version": "1"})
            check(hello["result"]["protocolVersion"] == agreed, hello)
        b.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = {tool["name"]: tool for tool in b.call("tools/list")["result"]["tools"]}
        check(set(tools) == {"search", "ask", "grep", "toc", "get", "verify_citation"}, tools)
        check(all("fresh" in tool["outputSchema"]["required"] for tool in tools.values()), "freshness in each result")
        found = b.tool("search", query="prime the impeller")
        node = found["results"][0]["node"]
        check(found["fresh"] and found["results"][0]["path"][-1] == "Pumps", found)
        answer = b.tool("ask", query="how do I prime the impeller", manuals=["pumps and valves"])
        check(answer["kind"] == "passages" and answer["citations"][0]["file"] == "a.html" and answer["fresh"], answer)
        check(b.tool("ask", query="who was the king of Sweden in 1523")["kind"] == "none", "not in the manual")
        lines = b.tool("grep", pattern="(?i)IMPEL+er", manuals=["pumps and valves"], n=1)
        check(lines["fresh"] and lines["results"][0]["node"] == node and "impeller" in lines["results"][0]["text"], lines)
        check("pattern" in b.refusal("grep", pattern="("), "not a pattern")
        listed = b.tool("toc")
        check([s["title"] for s in listed["sections"] if s["level"] == 1] == ["Pumps", "Valves"] and listed["fresh"], listed)
        check(b.tool("get", node=node)["blocks"][1]["text"] == SAID, "get")
        check(b.tool("verify_citation", node=node, quote=SAID)["status"] == "verified", "verified")
        check(b.tool("verify_citation", node=node, quote="It is primed with oil.")["status"] == "unverified", "not")
        h.write("m/a.html", page("Pumps", "<p>Nothing is primed any more.</p>"))
        changed = {"search": {"query": "prime the impeller"}, "get": {"node": node},
                   "verify_citation": {"node": node, "quote": SAID}}
        for name, arguments in changed.items():
            check(not b.tool(name, **arguments)["fresh"], f"{name} says that the file is as it was")


@test
def a_person_is_told_that_it_waits():
    with house() as h:
        said, status = on_terminal(h, "mcp", keys=b"\x04")
        check(status == 0 and "for agents" in plain(said), said)


@test
def manuals_are_resources():
    with house() as h, bridge(h) as b:
        check(b.call("resources/list")["result"]["resources"] == [], "none yet")
        add_pumps(h)
        manual, = b.call("resources/list")["result"]["resources"]
        check(manual["uri"] == "lectern://manual/pumps%20and%20valves", manual)
        contents, = b.call("resources/read", uri=manual["uri"])["result"]["contents"]
        sections = json.loads(contents["text"])["sections"]
        check(contents["uri"] == manual["uri"] and sections[1]["title"] == "Pumps", contents)
        contents, = b.call("resources/read", uri=f"lectern://node/{sections[1]['node']}")["result"]["contents"]
        check(SAID in contents["text"], contents)
        templates = b.call("resources/templates/list")["result"]["resourceTemplates"]
        check({t["uriTemplate"] for t in templates} == {"lectern://manual/{name}", "lectern://node/{node}"}, templates)
        for uri in ("lectern://manual/none", "lectern://node/n99999", "lectern://node/", "file:///etc/passwd"):
            error = b.call("resources/read", uri=uri)["error"]
            check(error["code"] == -32002, (uri, error))


@test
def large_results_come_in_pages():
    """Also of one text that is larger than a page; none is lost, none comes twice."""
    with house() as h, bridge(h) as b:
        long = "".join(f"größe {number} ≤ " for number in range(8000))
        h.write("m/long.html", page("Long", "<p>First.</p>" + f"<pre>{long}</pre>" +
                                    "".join(f"<p>Paragraph {n}. {'Word ' * 60}</p>" for n in range(300))))
        for n in range(400):
            h.write(f"m/s{n}.html", page(f"Section {n} with a title that is long enough to fill pages", f"<p>zebra {n}</p>"))
        h.run("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = next(s["node"] for s in b.pages("toc", "sections")[0] if s["title"] == "Long")
        whole = h.json("get", node)["blocks"]
        blocks, count = b.pages("get", "blocks", node=node)
        check(count > 5, count)
        joined = []
        for block in blocks:
            if joined and joined[-1].get("cut"):
                joined[-1] = dict(block, text=joined[-1]["text"] + block["text"])
            else:
                joined.append(block)
        check(joined == whole, "the pages are not the whole")
        sections, count = b.pages("toc", "sections", depth=9)
        check(count > 1 and len({s["node"] for s in sections}) == len(sections) == 402, (count, len(sections)))
        hits, count = b.pages("search", "results", query="zebra", n=400)
        check(count > 1 and len({hit["node"] for hit in hits}) == len(hits) == 400, (count, len(hits)))
        hit = b.tool("search", query="größe")["results"][0]
        check(hit["cut"] and len(hit["text"]) < 4096, "a hit's text is an excerpt")
        longest = max(len(json.dumps(b.tool("get", node=node))), len(json.dumps(b.tool("search", query="word", n=400))))
        check(longest < 64 << 10, longest)
        cursor = b.tool("search", query="zebra", n=400)["next"]
        check("have changed" in b.refusal("search", query="zebra", n=300, cursor=cursor), "another result's cursor")
        for wrong in ("", "1", "1.2", "x.y.z", cursor + " ", 7, [cursor]):
            check("cursor" in b.refusal("search", query="zebra", n=400, cursor=wrong), wrong)


@test
def bad_requests_are_answered():
    with house() as h, bridge(h) as b:
        add_pumps(h)
        for line, code in ((b"nonsense", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b"[" * 1000, -32700),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":3}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600)):
            b.write(line)
            check(b.read()["error"]["code"] == code, line)
        for params, code in (({}, -32602), ({"name": "serch"}, -32602), ({"name": "search", "arguments": [1]}, -32602)):
            check(b.call("tools/call", **params)["error"]["code"] == code, params)
        check(b.call("tools/eat")["error"]["code"] == -32601, "no such method")
        check(b.call("initialize")["error"]["code"] == -32602, "no revision")
        for said, arguments in (("did you mean 'query'", {"qery": "x"}), ("needs the argument 'query'", {}),
                                ("query must be a string", {"query": 7}), ("n must be a whole", {"query": "x", "n": 0.5}),
                                ("mode must be one of", {"query": "x", "mode": "aut"}),
                                ("manuals must be an array", {"query": "x", "manuals": "m"}),
                                ("no manual", {"query": "x", "manuals": ["none"]})):
            refusal = b.refusal("search", **arguments)
            check(said in refusal, refusal)
        check("n99999" in b.refusal("get", node="n99999"), "no such section")
        # In the words of the tools, which have arguments and no options.
        for tool, arguments in (("search", {"query": "x", "under": "77"}), ("search", {"query": "x", "under": "n99999"}),
                                ("grep", {"pattern": "x", "under": "77"}), ("grep", {"pattern": "x", "under": "n99999"}),
                                ("ask", {"query": "x", "answer": "generated"}), ("toc", {"manual": "none"}),
                                ("search", {"query": "x", "under": "n99999", "manuals": ["pumps and valves"]})):
            refusal = b.refusal(tool, **arguments)
            check("--" not in refusal and "lectern " not in refusal, refusal)
        node = b.tool("search", query="impeller")["results"][0]["node"]
        cut = b.call("tools/call", name="verify_citation", arguments={"node": node, "quote": SAID + "\0 Or with oil."})
        check("character 0" in cut["error"]["message"], f"not of what stands before it alone: {cut}")
        refused = b.call("ping", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"})["error"]
        check(refused["code"] == -32022 and LATEST in refused["data"]["supported"], refused)
        b.write({"jsonrpc": "2.0", "method": "notifications/unheard"}, {"jsonrpc": "2.0", "method": "tools/eat"})
        check(b.call("ping")["result"]["resultType"] == "complete", "notifications are not answered")


@test
def an_array_of_messages_is_taken_where_the_revision_has_it():
    with house() as h:
        add_pumps(h)
        for revision, taken in (("2024-11-05", False), ("2025-03-26", True), ("2025-06-18", False)):
            with bridge(h) as b:
                b.call("initialize", protocolVersion=revision, capabilities={}, clientInfo={"name": "x", "version": "1"})
                several = [b.request("ping"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7,
                           b.request("tools/call", name="search", arguments={"query": "valve"})]
                b.write(several)
                if not taken:
                    check(b.read()["error"]["code"] == -32600, revision)
                    continue
                together = b.read()
                check(isinstance(together, list) and len(together) == 3, f"JSON-RPC answers an array with one: {together}")
                answers = {answer["id"]: answer for answer in together}
                check(answers[None]["error"]["code"] == -32600 and "result" in answers[several[0]["id"]], answers)
                check(answers[several[3]["id"]]["result"]["structuredContent"]["results"], answers)
                b.write([])
                check(b.read()["error"]["code"] == -32600, "an array of nothing")
                asked = b.request("tools/call", name="search", arguments={"query": "valve"})
                cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked["id"]}}
                b.write([{"jsonrpc": "2.0", "method": "notifications/unheard"}], [asked, cancelled])
                check("result" in b.call("ping"), "of what wants no answer, and what was cancelled, there is none")
                b.write([asked, b.request("tools/eat")])
                check([answer["id"] for answer in b.read()] == [b.asked, asked["id"]], "one that fails at once waits for the other")


@test
def another_store_than_the_daemons_is_not_served():
    with house() as h:
        add_pumps(h)
        for verb in (["mcp"], ["web"], ["fleet", "fetch"]):
            asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "toc", "arguments": {}}})
            done = subprocess.run([LECTERN, *verb, "--store", os.path.join(h.path, "other")], env=h.env, input=asked + "\n",
                                  capture_output=True, text=True, timeout=PATIENCE)
            check("has the store" in done.stdout + done.stderr and "Pumps" not in done.stdout, (verb, done))
            check(done.returncode == (0 if verb == ["mcp"] else 2), (verb, done.returncode))


@test
def the_last_line_needs_no_end():
    with house() as h:
        add_pumps(h)
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "toc", "arguments": {}}})
        done = subprocess.run([LECTERN, "mcp", "--store", h.store], env=h.env, input=asked, capture_output=True, text=True,
                              timeout=PATIENCE)
        check(json.loads(done.stdout)["id"] == 1 and "Pumps" in done.stdout and done.returncode == 0, done)


@test
def an_agent_may_ask_faster_than_it_is_answered():
    """Answers of some megabytes come before the last of the requests is sent."""
    with house() as h, bridge(h) as b:
        h.write("m/a.html", page("Pumps", "".join(f"<p>{i} The casing of the pump is vented.</p>" for i in range(100))))
        h.run("add", os.path.join(h.path, "m"), "-c", "pumps", "--wait")
        node = b.tool("search", query="casing")["results"][0]["node"]
        asked = [b.request("tools/call", name="get", arguments={"node": node}) for _ in range(800)]
        writer = threading.Thread(target=b.write, args=asked, daemon=True)
        writer.start()
        stalled = threading.Timer(60, b.process.kill)
        stalled.start()
        check({b.read()["id"] for _ in asked} == {one["id"] for one in asked}, "answers")
        stalled.cancel()
        writer.join()


@test
def an_agent_beyond_the_daemons_clients_is_told_so():
    with house() as h:
        add_pumps(h)
        with contextlib.ExitStack() as clients:
            for _ in range(64):
                clients.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX))).connect(h.socket)
            with bridge(h, store=False) as b:
                check("64 clients" in b.refusal("search", query="valve"), "why")
            with bridge(h, store=False) as b:
                said = b.refusal("search", query="valve " * 80_000)
                check("64 clients" in said, said[:300])
            for options in (["--store", h.store], []):
                done = subprocess.run([LECTERN, "ls", *options], env=h.env, capture_output=True, text=True, timeout=PATIENCE)
                check("64 clients" in done.stderr, done)
        with bridge(h) as b:
            check(b.tool("search", query="valve")["results"], "when they have gone")


@test
def a_line_without_end_is_the_end():
    with house() as h:
        b = Bridge(h)
        with contextlib.suppress(BrokenPipeError):
            b.write(b"x" * (2 << 20))
        check(b.read()["error"]["code"] == -32603, "too long")
        b.process.communicate(timeout=PATIENCE)
        check(b.process.returncode != 0, "went on")


@contextlib.contextmanager
def stand_in(h):
    """In the daemon's place: takes one connection, and answers nothing."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(h.socket)
        listening.listen()
        listening.settimeout(PATIENCE)
        yield listening
    os.unlink(h.socket)


@test
def a_cancelled_request_is_cancelled_in_the_daemon():
    with house() as h:
        with stand_in(h) as listening, bridge(h, store=False) as b:
            b.write(b.request("tools/call", name="ask", arguments={"query": "slow"}))
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as lines:
                asked = json.loads(lines.readline())
                check(asked["method"] == "ask" and asked["params"] == {"query": "slow"}, asked)
                b.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": b.asked}})
                told = json.loads(lines.readline())
                check(told["method"] == "cancel" and told["params"] == {"id": asked["id"]}, told)
                connection.sendall(b'{"jsonrpc":"2.0","id":%d,"error":{"code":-10,"message":"cancelled"}}\n' % asked["id"])
                check(b.call("ping")["result"] == {"resultType": "complete"}, "a cancelled request was answered")
                b.write(b.request("tools/call", name="ask", arguments={"query": "odd"}))
                connection.sendall(b'nonsense\n{"jsonrpc":"2.0","id":%d}\n' % json.loads(lines.readline())["id"])
                check(b.read()["result"]["isError"], "an answer without a result")
                b.write(b.request("tools/call", name="ask", arguments={"query": "lost"}))
                lines.readline()
            lost = b.read()["result"]
            check(lost["isError"] and "went away" in lost["content"][0]["text"], lost)
        with bridge(h) as b:
            add_pumps(h)
            check(b.tool("search", query="valve")["results"], "found")
            pid = h.pid()
            os.kill(pid, signal.SIGKILL)
            h.until(lambda: not os.path.exists(f"/proc/{pid}"), "the daemon is gone")
            time.sleep(0.1)
            check(b.tool("search", query="valve")["results"] and h.pid() != pid, "a daemon that died is started again")


@test
def after_a_refusal_the_daemon_is_asked_anew():
    refusal = b'{"jsonrpc":"2.0","id":null,"error":{"code":-8,"message":"64 clients are connected, and no more are taken"}}\n'
    with house() as h:
        kept = []
        with stand_in(h) as listening, bridge(h, store=False) as b:
            for turn in range(2):
                b.write(b.request("tools/call", name="ask", arguments={"query": "valve"}))
                connection, _ = listening.accept()
                connection.recv(65536)
                connection.sendall(refusal)
                connection.shutdown(socket.SHUT_RD)  # takes nothing more, and has not closed yet
                said = b.read()["result"]["content"][0]["text"]
                check("64 clients" in said, f"{turn}: {said}")
                kept.append(connection)


# ---- The official SDK ----

async def session(h, mode, calls):
    """A recorded session of a real client; returns what `calls` does."""
    import mcp

    server = mcp.StdioServerParameters(command=LECTERN, env=h.env, args=["mcp", "--store", h.store, "--model", "none"])
    async with mcp.Client(server, mode=mode) as client:
        return await calls(client)


async def thirty_calls(client):
    import mcp

    count, record = 0, []

    async def tool(name, **arguments):
        nonlocal count
        count += 1
        result = await client.call_tool(name, arguments)
        record.append({"call": name, "arguments": arguments, "is_error": result.is_error, "result": result.structured_content})
        return result

    check(client.server_info is None or client.server_info.name == "lectern", "who")
    tools = (await client.list_tools()).tools
    check(len(tools) >= 5, tools)
    manual, = (await client.list_resources()).resources
    check((await client.list_resource_templates()).resource_templates, "templates")
    sections = json.loads((await client.read_resource(manual.uri)).contents[0].text)["sections"]
    for section in sections:
        got = (await tool("get", node=section["node"])).structured_content
        check(got["fresh"] and got["title"] == section["title"], got)
    for query in ("impeller", "valve", "casing", "hand", "water"):
        hits = (await tool("search", query=query)).structured_content["results"]
        check(hits, query)
        proof = await tool("verify_citation", node=hits[0]["node"], quote=hits[0]["text"].split("\n")[0])
        check(proof.structured_content["status"] == "verified", proof)
        cited = (await tool("ask", query=query)).structured_content
        check(cited["fresh"], cited)
    refused = await tool("search")
    check(refused.is_error, refused)
    try:
        await tool("no_such_tool")
        check(False, "there is such a tool")
    except mcp.MCPError as error:
        check(error.code == -32602, error)
    # The SDK tells the server when its own waiting is cancelled.
    slow = [asyncio.create_task(tool("ask", query="impeller")) for _ in range(5)]
    await asyncio.sleep(0)
    slow[0].cancel()
    done = await asyncio.gather(*slow, return_exceptions=True)
    check(isinstance(done[0], asyncio.CancelledError) and not any(one.is_error for one in done[1:]), done)
    while count < 30:
        check((await tool("toc")).structured_content["fresh"], "toc")
        check((await tool("grep", pattern="impel+er")).structured_content["results"], "grep")
    if os.environ.get("RECORD"):
        with open(os.environ["RECORD"], "w", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in record)
    return client.protocol_version


@test
def the_official_sdk_is_served():
    try:
        import mcp
        mcp.Client
    except (ImportError, AttributeError):
        raise Skip("the Python package mcp, from 2.0 on, is not installed") from None
    with house() as h:
        add_pumps(h)
        for mode, version in (("legacy", "2025-11-25"), ("auto", LATEST), (LATEST, LATEST)):
            agreed = asyncio.run(asyncio.wait_for(session(h, mode, thirty_calls), PATIENCE))
            check(agreed == version, (mode, agreed))
