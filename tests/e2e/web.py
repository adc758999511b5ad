"""The page of `lectern web`, over HTTP: who is let in, what is answered, and what a browser that misbehaves can do."""
import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from e2e import writing, writing_model
from e2e.agents import SAID, add_pumps, stand_in
from e2e.house import BUILD, GOLDEN, LECTERN, PATIENCE, Skip, check, house, page, test

PAGE_LIMIT = 100_000  # bytes of all files of the page together


class Web:
    """A `lectern web` at a free port."""

    def __init__(self, h, own=True, port=0):
        """`own`: of our store and model, which a daemon that runs is asked for."""
        named = ["--store", h.store, "--model", h.model or "none"] if own else []
        self.process = subprocess.Popen([LECTERN, "web", "--port", str(port), *named], env=h.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{64})/", self.address)
        if not found:
            raise ValueError(f"no address: {self.address} {self.process.stderr.read().decode()}")
        self.port, self.token = int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"

    def ask(self, path, method="GET", body=None, token=True, **headers):
        """Status, headers and bytes; the path is below the token's, unless there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, f"/{self.token}{path}" if token else path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()

    def verb(self, verb, code=200, **params):
        status, headers, body = self.ask(f"/api/{verb}", "POST", json.dumps(params))
        check(status == code, (verb, status, body))
        check(headers["Content-Type"] == "application/json", headers)
        return json.loads(body)

    def raw(self, data, shut=False):
        """What comes for these bytes until the end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with contextlib.suppress(OSError):  # it may have been refused already
                connection.sendall(data)
                if shut:
                    connection.shutdown(socket.SHUT_WR)
            parts = []
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    parts.append(part)
            return b"".join(parts)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=PATIENCE)
        check(self.process.returncode == 0 and not said, f"exit {self.process.returncode}: {said.decode()[-3000:]}")


@contextlib.contextmanager
def web(h, own=True, port=0):
    it = Web(h, own, port)
    try:
        yield it
    finally:
        it.close()


def lines_of(body):
    return [json.loads(line) for line in body.decode().splitlines()]


@test
def the_page_is_served():
    with house() as h, web(h) as w:
        whole = 0
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            status, headers, body = w.ask(path)
            check(status == 200 and headers["Content-Type"].startswith(kind) and body, (path, status, headers))
            policy = headers["Content-Security-Policy"]
            check("default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy, policy)
            check(headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff", headers)
            check(b"http://" not in body and b"https://" not in body, f"{path} names another machine")
            whole += len(body)
            headed, of_head, none = w.ask(path, "HEAD")
            check((headed, of_head["Content-Length"], none) == (200, headers["Content-Length"], b""), (path, headed, of_head))
        check(whole < PAGE_LIMIT, f"the page has {whole} bytes")
        check(w.verb("ls")["manuals"] == [], "no manual yet")


@test
def the_page_asks_the_daemon():
    with house() as h, web(h) as w:
        add_pumps(h)
        hit = w.verb("search", query="prime the impeller")["results"][0]
        check(hit["file"] == "a.html", hit)
        check(w.verb("search", query="cas", typing=True)["results"] and not w.verb("search", query="cas")["results"], "a word that is typed")
        got = w.verb("get", node=hit["node"])
        check(got["blocks"][1]["text"] == SAID and got["path_nodes"][-1] == hit["node"], got)
        check([c["title"] for c in w.verb("toc", depth=1)["children"]] == ["Pumps", "Valves"], "toc")
        check(w.verb("quote", node=hit["node"], quote=SAID)["status"] == "verified", "quote")
        status, headers, body = w.ask("/api/ask", "POST", json.dumps({"query": "prime the impeller", "stream": True}))
        check(status == 200 and headers["Content-Type"] == "application/x-ndjson", headers)
        said = lines_of(body)
        check([line["event"] for line in said[:-1]][0] == "route" and "token" in str(said), said)
        check(said[-1]["result"]["citations"][-1]["quote"] == SAID, said[-1])
        again = "".join(line["text"] for line in said if line.get("event") == "token")
        check(again == said[-1]["result"]["answer"], "what was streamed is the answer")


@test
def errors_of_the_page_say_what_is_wrong():
    with house() as h, web(h) as w:
        add_pumps(h)
        for code, name, verb, params in ((400, "usage", "search", {}), (400, "usage", "search", {"query": "x", "qery": "y"}),
                                         (404, "not_found", "get", {"node": "n99999"})):
            error = w.verb(verb, code, **params)["error"]
            check(error["code"] == name and error["message"], error)
        for body in ("nonsense", "[]", "[" * 200, '"x"', '{"query":"impeller\\u0000"}'):
            status, _, said = w.ask("/api/search", "POST", body)
            check(status == 400 and json.loads(said)["error"]["code"] == "usage", (body, status, said))
        status, _, said = w.ask("/api/ask", "POST", "{}")
        check(status == 200 and lines_of(said)[-1]["error"]["code"] == "usage", said)


@test
def nobody_else_is_let_in():
    """Without the token, by another name, from another page: not even the page is shown."""
    with house() as h, web(h) as w:
        good = f"http://{w.host}"
        wrong = "0" * 64
        search = ("/api/search", "POST", '{"query":"x"}')
        for path in ("/", "/page.js", "/api/ls", f"/{wrong}/", f"/{w.token[:-1]}/", f"/{w.token}", f"//{w.token}/", f"/x/{w.token}/"):
            check(w.ask(path, token=False)[0] == 403, path)
        for host in ("evil.example", f"evil.example:{w.port}", "127.0.0.1", f"127.0.0.1:{w.port}.evil.example",
                     f"127.0.0.1:{w.port + 1}", f"[::1]:{w.port}", ""):
            for request in (("/",), search):
                check(w.ask(*request, Host=host)[0] == 403, host)
        for origin in ("https://evil.example", "null", f"https://{w.host}", f"{good}.evil.example", f"http://127.0.0.1:{w.port + 1}"):
            check(w.ask(*search, Origin=origin)[0] == 403, origin)
        for name in (w.host, f"localhost:{w.port}"):
            check(w.ask("/", Host=name, Origin=f"http://{name}")[0] == 200, name)
        check(w.raw(f"GET /{w.token}/ HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 4"), "no Host")
        check(w.ask("/", token=False, Authorization=f"Bearer {wrong}")[0] == 403, "a wrong header")
        for scheme in ("Bearer", "bearer", "BEARER"):  # RFC 9110: in any letter case
            check(w.ask("/", token=False, Authorization=f"{scheme} {w.token}")[0] == 200, "the token in a header")


@test
def the_port_of_http_need_not_be_said():
    with contextlib.closing(socket.socket()) as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", 80))
        except OSError as error:
            raise Skip(f"port 80: {error}") from None
    with house() as h, web(h, port=80) as w:
        for host in ("127.0.0.1", "localhost", "127.0.0.1:80"):
            check(w.ask("/", Host=host, Origin=f"http://{host}")[0] == 200, host)
        for host in ("evil.example", "127.0.0.1:", "127.0.0.1:8", "localhost."):
            check(w.ask("/", Host=host)[0] == 403, host)


@test
def only_reading_is_offered():
    with house() as h, web(h) as w:
        add_pumps(h)
        for path in ("/api/stop", "/api/rm", "/api/add", "/api/backup", "/api/", "/api/search/", "/page.html", "/..", "/../page.js",
                     "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd"):
            for method in ("GET", "POST"):
                status, _, body = w.ask(path, method)
                check(status in (403, 404, 405) and b"root:" not in body, (method, path, status))
        for path, method in (("/", "POST"), ("/", "DELETE"), ("/api/search", "GET"), ("/api/search", "PUT"), ("/api/search", "HEAD")):
            status, headers, body = w.ask(path, method)
            taken = "POST" if path.startswith("/api/") else "GET, HEAD"
            check(status == 405 and headers["Allow"] == taken, (path, method, status, headers["Allow"]))
            check(method == "HEAD" or taken[:4].strip(", ").encode() in body, body)
        # A body is one request to the daemon, whatever is in it.
        w.ask("/api/search", "POST", '{"query":"x"}\n{"jsonrpc":"2.0","id":2,"method":"rm","params":{"manual":"pumps and valves"}}')
        w.ask("/api/search", "POST", json.dumps({"query": 'x"}}\n{"jsonrpc":"2.0","method":"stop"}\n'}))
        check(len(w.verb("ls")["manuals"]) == 1, "a body became two requests")


@test
def broken_clients_disturb_nobody():
    with house() as h, web(h) as w:
        add_pumps(h)
        start = f"POST /{w.token}/api/search HTTP/1.1\r\nHost: {w.host}\r\n".encode()
        for data in (b"\x00\xff" * 4000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x" * 300_000,
                     b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n", start + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
                     start + b"Content-Length: -5\r\n\r\n", start + b"Content-Length: nine\r\n\r\n",
                     start + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", start + b"Content-Length: 100\r\n\r\n{"):
            said = w.raw(data, shut=True)
            check(not said or said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 505")), (data[:80], said[:200]))
        status, _, _ = w.ask("/api/search", "POST", '{"query":"' + "x" * 700_000 + '"}')
        check(status == 413, status)
        with contextlib.ExitStack() as open_ones:
            slow = [open_ones.enter_context(socket.create_connection(("127.0.0.1", w.port))) for _ in range(20)]
            for connection in slow:
                connection.sendall(start[:-9])
            check(w.verb("search", query="valve")["results"], "others wait for a slow one")


@test
def a_daemon_that_takes_no_more_is_asked_again_later():
    """503, which programs try again, and not 413, which says that the request is too large."""
    with house() as h, web(h) as w:
        add_pumps(h)
        with contextlib.ExitStack() as clients:
            for _ in range(64):
                clients.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX))).connect(h.socket)
            error = w.verb("search", 503, query="valve")["error"]
            check(error["code"] == "unreachable" and "64 clients" in error["message"], error)
            check("64 clients" in json.loads(chat(w, "valve", 503)[1])["error"]["message"], "in OpenAI's form")
            status, _, said = w.ask("/api/ask", "POST", '{"query":"valve"}')
            check(status == 200 and "64 clients" in lines_of(said)[-1]["error"]["message"], said)
        h.until(lambda: w.ask("/api/search", "POST", '{"query":"valve"}')[0] == 200, "when they have gone")
    with house() as h, stand_in(h) as listening, web(h, own=False) as w:
        def refuse(code, name, why):
            daemon, _ = listening.accept()
            with daemon, daemon.makefile("rb") as lines:
                error = {"code": code, "message": why, "data": {"code": name, "message": why}}
                asked = json.loads(lines.readline())
                daemon.sendall(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode() + b"\n")
        for code, name, why in ((-10, "cancelled", "the daemon is stopping"), (-13, "busy", "the daemon is out of memory")):
            daemon = threading.Thread(target=refuse, args=(code, name, why))
            daemon.start()
            error = w.verb("search", 503, query="valve")["error"]
            check(error == {"code": name, "message": why}, error)
            daemon.join()


@test
def what_a_browser_gave_up_is_cancelled():
    with house() as h:
        with stand_in(h) as listening, web(h, own=False) as w:
            for verb in ("ask", "search"):
                body = b'{"query":"slow"}'
                browser = socket.create_connection(("127.0.0.1", w.port))
                browser.sendall(f"POST /{w.token}/api/{verb} HTTP/1.1\r\nHost: {w.host}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                daemon, _ = listening.accept()
                with daemon, daemon.makefile("rb") as lines:
                    check(json.loads(lines.readline())["params"] == {"query": "slow"}, verb)
                    browser.close()
                    daemon.settimeout(PATIENCE)
                    check(lines.read() == b"", "the daemon is still asked")
            # And a daemon that dies is told, in the form of an answer that had begun.
            body = b'{"query":"lost"}'
            browser = socket.create_connection(("127.0.0.1", w.port))
            browser.sendall(f"POST /{w.token}/api/ask HTTP/1.1\r\nHost: {w.host}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            daemon, _ = listening.accept()
            with daemon, daemon.makefile("rb") as lines:
                lines.readline()
            with browser, browser.makefile("rb") as said:
                check(b"went away" in said.read(), "the daemon went away")


@test
def an_answer_that_takes_long_is_waited_for():
    with house() as h, stand_in(h) as listening, web(h, own=False) as w:
        def answer_late():
            daemon, _ = listening.accept()
            with daemon, daemon.makefile("rb") as lines:
                asked = json.loads(lines.readline())
                time.sleep(31)  # longer than a browser may say nothing
                daemon.sendall(b'{"jsonrpc":"2.0","id":%d,"result":{"answer":"late"}}\n' % asked["id"])
        daemon = threading.Thread(target=answer_late)
        daemon.start()
        status, _, body = w.ask("/api/ask", "POST", '{"query":"slow"}')
        daemon.join()
        check(status == 200 and lines_of(body) == [{"result": {"answer": "late"}}], (status, body))


@test
def the_token_is_this_users_alone():
    with house() as h:
        token = os.path.join(h.path, "lectern", "web-token")
        with web(h) as w:
            check(os.stat(token).st_mode & 0o777 == 0o600 and open(token).read() == w.token, "the token's file")
            second = subprocess.run([LECTERN, "web", "--port", str(w.port)], env=h.env, capture_output=True, text=True, timeout=PATIENCE)
            check(second.returncode == 7 and "cannot listen" in second.stderr and "--port" in second.stderr, second)
        with web(h) as again:
            check(again.token == w.token, "an address that was kept goes on being right")
        for spoil in (lambda: os.chmod(token, 0o644), lambda: h.write("lectern/web-token", "short")):
            spoil()
            refused = subprocess.run([LECTERN, "web", "--port", "0"], env=h.env, capture_output=True, text=True, timeout=PATIENCE)
            check(refused.returncode != 0 and "remove it" in refused.stderr, refused)


@test
def no_other_program_has_a_server_of_http():
    for program, has in (("lectern-web", True), ("lectern", False), ("lecternd", False), ("lectern-parse", False), ("lectern-get", False)):
        libraries = subprocess.run(["ldd", os.path.join(BUILD, program)], capture_output=True, text=True, check=True).stdout
        check(("microhttpd" in libraries) == has, (program, libraries))


# ---- OpenAI's form ----

def chat(w, question, code=200, **more):
    body = {"model": "lectern", "messages": [{"role": "user", "content": question}], **more}
    status, headers, said = w.ask("/v1/chat/completions", "POST", json.dumps(body))
    check(status == code, (status, said))
    return headers, said.decode()


@test
def a_chat_is_answered_with_citations():
    with house() as h, web(h) as w:
        add_pumps(h)
        whole = json.loads(chat(w, "prime the impeller")[1])
        message = whole["choices"][0]["message"]
        check(message["role"] == "assistant" and SAID in message["content"] and "[2] pumps and valves: Pumps  a.html" in message["content"], message)
        check(whole["citations"][-1]["quote"] == SAID and whole["choices"][0]["finish_reason"] == "stop", whole)
        headers, said = chat(w, [{"type": "text", "text": "prime the "}, {"type": "text", "text": "impeller"}], stream=True)
        check(headers["Content-Type"] == "text/event-stream", headers)
        events = said.split("\n\n")
        check(events[-2:] == ["data: [DONE]", ""], events)
        chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        check(deltas[0]["role"] == "assistant" and "".join(delta.get("content", "") for delta in deltas) == message["content"], deltas)
        check(chunks[-1]["choices"][0]["finish_reason"] == "stop" and chunks[-1]["citations"] == whole["citations"], chunks[-1])
        nothing = json.loads(chat(w, "who was the king of Sweden in 1523")[1])["choices"][0]["message"]["content"]
        check(nothing == "Nothing in the manuals answers this.", nothing)
        for question in ("prime the impeller", "vent the casing and prime the impeller of a rusty pump"):
            said = chat(w, question)[1]
            check(("The manuals may not answer this.\\n\\n[1]" in said) == ("doubtful" in h.json("ask", question)) == ("rusty" in question), said)
        models = json.loads(w.ask("/v1/models")[2])["data"]
        check([model["id"] for model in models] == ["lectern", "lectern:pumps and valves"], models)
        check(SAID in chat(w, "prime the impeller", model="lectern:pumps and valves", stop="x", seed=1, max_tokens=20)[1], "one manual")


@test
def a_chat_says_why_its_answer_ends():
    with house() as h:
        h.model = writing_model.make(os.path.join(h.path, "chatter"), "jump dock,fig.", chat=writing.CHAT)
        h.write("m/a.html", page("Harbour", "<p>The jump docks, with the fig tree, are open at night.</p>"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        with web(h) as w:
            for most, why in ((14, "length"), (16, "stop")):
                whole = json.loads(chat(w, "Which docks are open at night?", max_tokens=most)[1])
                check(whole["choices"][0]["finish_reason"] == why, whole)
                said = chat(w, "Which docks are open at night?", max_tokens=most, stream=True)[1]
                last = json.loads(said.split("\n\n")[-3].removeprefix("data: "))
                check(last["choices"][0]["finish_reason"] == why, last)


@test
def a_chat_that_cannot_be_answered_says_why():
    with house() as h, web(h) as w:
        add_pumps(h)
        for code, why, more in ((404, "no model 'gpt'", {"model": "gpt"}), (400, "no manual", {"model": "lectern:none"}),
                                (400, "messages", {"messages": []}), (400, "messages", {"messages": "x"}),
                                (400, "temperature", {"temperature": "hot"}), (400, "stop", {"stop": 7})):
            error = json.loads(chat(w, "valve", code, **more)[1])["error"]
            check(why in error["message"], error)
        check('data: {"error":' in chat(w, "valve", stream=True, model="lectern:none")[1], "of what had begun")
        for key in ({}, {"Authorization": "Bearer sk-1"}):
            status, headers, body = w.ask("/v1/chat/completions", "POST", "{}", token=False, **key)
            check(status == 401 and headers["WWW-Authenticate"] == "Bearer", (status, headers["WWW-Authenticate"]))
            check("Bearer TOKEN" in json.loads(body)["error"]["message"], body)
        for path in ("/v1", "/v1x/models", f"/{'0' * 64}/v1/models"):
            check(w.ask(path, token=False)[0] == 403, path)


@test
def texts_become_vectors():
    with house() as h:
        h.copy_model()
        with web(h) as w:
            def vectors(texts, code=200, **more):
                status, _, said = w.ask("/v1/embeddings", "POST", json.dumps({"model": "lectern", "input": texts, **more}))
                check(status == code, (status, said))
                return json.loads(said)
            several = vectors(["a pump", "a valve", "a pump"])
            first, second, third = (one["embedding"] for one in several["data"])
            check([one["index"] for one in several["data"]] == [0, 1, 2] and several["usage"]["total_tokens"] > 3, several)
            check(first == third != second and abs(sum(x * x for x in first) - 1) < 1e-4, "of length 1, equal for equal texts")
            check(vectors("a pump")["data"][0]["embedding"] == first, "one text")
            check(vectors("a pump", encoding_format="float")["data"][0]["embedding"] == first, "as numbers")
            packed = base64.b64decode(vectors("a pump", encoding_format="base64")["data"][0]["embedding"], validate=True)
            unpacked = struct.unpack(f"<{len(first)}f", packed)
            check(all(abs(a - b) < 1e-6 for a, b in zip(unpacked, first)), "as base64, which OpenAI's client for JavaScript asks for")
            for wrong in ("int8", 7):
                check("encoding_format" in vectors("a pump", 400, encoding_format=wrong)["error"]["message"], wrong)
            for texts, code, why in ((7, 400, "input"), ([7], 400, "texts"), ([""], 400, "without words"),
                                     ("pump " * 9000, 413, "tokens"), (["x"] * 257, 413, "256")):
                check(why in vectors(texts, code)["error"]["message"], texts)
    with house() as h, web(h) as w:
        status, _, said = w.ask("/v1/embeddings", "POST", '{"input": "a pump"}')
        check(status == 501 and json.loads(said)["error"]["code"] == "model", said)


@test
def texts_are_put_in_order():
    with house() as h:
        h.run("model", "use", "--for", "reranking", os.path.abspath(os.path.join(GOLDEN, "gguf/bert-rerank.gguf")))
        with web(h) as w:
            def ranked(code=200, **body):
                status, _, said = w.ask("/v1/rerank", "POST", json.dumps(body))
                check(status == code, (status, said))
                return json.loads(said)
            texts = ["the pump is primed", "a valve", {"text": "water in the casing"}, "a valve"]
            said = ranked(query="prime the pump", documents=texts, return_documents=True)
            scores = [one["relevance_score"] for one in said["results"]]
            check(sorted(one["index"] for one in said["results"]) == [0, 1, 2, 3] and scores == sorted(scores, reverse=True), said)
            by_index = {one["index"]: one for one in said["results"]}
            check(by_index[1]["relevance_score"] == by_index[3]["relevance_score"] and all(0 < score < 1 for score in scores), said)
            check(by_index[2]["document"]["text"] == "water in the casing" and said["model"].startswith("bert-rerank"), said)
            best = ranked(query="prime the pump", documents=texts, top_n=1)["results"]
            check(best == [{key: said["results"][0][key] for key in ("index", "relevance_score")}], best)
            check(ranked(query="x", documents=[])["results"] == [], "nothing to be put in order")
            for body, code, why in (({"documents": ["x"]}, 400, "query"), ({"query": "x", "documents": "y"}, 400, "documents"),
                                    ({"query": "x", "documents": [7]}, 400, "texts"), ({"query": "x", "documents": ["y"] * 257}, 413, "256")):
                check(why in ranked(code, **body)["error"]["message"], body)
    with house() as h, web(h) as w:
        status, _, said = w.ask("/v1/rerank", "POST", '{"query": "a", "documents": ["b"]}')
        check(status == 501 and "no reranker" in json.loads(said)["error"]["message"], said)
    with house() as h:
        h.run("model", "use", "--for", "reranking", h.broken_reranker())
        with web(h) as w:
            status, _, said = w.ask("/v1/rerank", "POST", '{"query": "a", "documents": ["b"]}')
            check(status >= 500 and "no number" in json.loads(said)["error"]["message"], said)


@test
def openais_own_client_is_served():
    try:
        import openai
    except ImportError:
        raise Skip("the Python package openai is not installed") from None
    with house() as h, web(h) as w:
        add_pumps(h)
        client = openai.OpenAI(base_url=f"http://{w.host}/v1", api_key=w.token, max_retries=0)
        asked = {"model": "lectern", "messages": [{"role": "user", "content": "prime the impeller"}]}
        whole = client.chat.completions.create(**asked).choices[0].message.content
        parts = [chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**asked, stream=True)]
        check(SAID in whole and "".join(parts) == whole, (whole, parts))
        check([model.id for model in client.models.list()][0] == "lectern", "models")
        try:
            client.chat.completions.create(model="gpt", messages=asked["messages"])
            check(False, "there is such a model")
        except openai.NotFoundError as error:
            check("lectern" in error.message, error)
        try:
            openai.OpenAI(base_url=f"http://{w.host}/v1", api_key="sk-1", max_retries=0).models.list()
            check(False, "a wrong key is taken")
        except openai.AuthenticationError as error:
            check("Bearer TOKEN" in error.message, error)
