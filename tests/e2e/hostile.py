"""Bad files, bad arguments, bad clients."""
import contextlib
import gzip
import json
import os
import shutil
import socket
import subprocess
import time

from e2e.house import BUILD, PATIENCE, check, house, is_sanitized, page, talk, test


@test
def bad_files_cost_only_themselves():
    with house() as h:
        h.write("m/good.html", page("Good", "<p>platypus</p>"))
        h.write("m/binary.html", bytes(range(256)) * 64)
        h.write("m/deep.html", "<div>" * 300000 + "x")
        h.write("m/empty.html", "")
        h.write("m/latin.html", "<title>L</title><h1>L</h1><p>caf\u00e9 cr\u00e8me br\u00fbl\u00e9e"
                .encode("latin-1"))
        os.symlink("/nonexistent", os.path.join(h.path, "m/dangling.html"))
        os.mkfifo(os.path.join(h.path, "m/pipe.html"))
        report = h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(report["files"]["seen"] == 7, report)
        check(report["files"]["failed"] in (4, 5), report)
        reasons = {f["file"]: f["reason"] for f in h.json("failed")["files"]}
        check(len(reasons) == report["files"]["failed"], reasons)
        check("No such file" in reasons["dangling.html"] and
              "deeper" in reasons["deep.html"], reasons)
        check(h.json("search", "platypus")["results"], "the good file")
        quote = h.json("ask", "caf\u00e9 cr\u00e8me")["citations"][0]
        data = open(os.path.join(h.path, "m/latin.html"), "rb").read()
        check(data[quote["span"][0]:quote["span"][1]].decode("latin-1") == quote["quote"],
              quote)
        check(h.json("status")["manuals"][0]["failed"] == report["files"]["failed"],
              "status")
        again = h.json("update", "-c", "m", "--wait")
        check(again["parsed"] <= 2, again)
        h.write("m/deep.html", page("Mended", "<p>wombat</p>"))
        h.json("update", "-c", "m", "--wait")
        check(h.json("search", "wombat")["results"], "the mended file")


@test
def quotes_are_the_files_own_bytes():
    """In every encoding, packed or not, as HTML and as XML."""
    korean, latin = "\uc124\uce58 \ubc29\ubc95", "caf\u00e9 cr\u00e8me"
    declared = "<meta charset=%s><h1>T</h1><p>x</p><p>%s %s.</p>"
    xml = ("<?xml version='1.0' encoding='%s'?><html xmlns='http://www.w3.org/1999/xhtml'>"
           "<body><h1>T</h1><p>x</p><p>%s %s.</p></body></html>")
    docbook = ("<?xml version='1.0' encoding='%s'?><!DOCTYPE article PUBLIC '-//OASIS//DTD "
               "DocBook XML V4.5//EN' ''><article><title>T</title><para>%s %s.</para></article>")
    files = {  # name: template, encoding, a word that only this file has, text
        "k.html": (declared, "euc-kr", "quokka", korean),
        "g.html": (declared, "gb18030", "wombat", korean),
        "r.html": (declared, "iso-8859-15", "numbat", latin),
        "w.html": ("\ufeff<!-- %s --><h1>T</h1><p>x</p><p>%s %s.</p>", "utf-16-le", "dingo",
                   korean),
        "p.html.gz": (declared, "euc-kr", "bilby", korean),
        "x.xhtml": (xml, "euc-kr", "potoroo", korean),
        "d.xml": (docbook, "iso-8859-1", "kowari", latin),
    }
    with house() as h:
        for name, (template, encoding, word, text) in files.items():
            data = (template % (encoding, word, text)).encode(encoding)
            h.write("m/" + name, gzip.compress(data) if name.endswith(".gz") else data)
        h.write("m/feed.xml", "<rss/>")
        report = h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(report["files"] == {"seen": 7, "indexed": 7, "failed": 0}, report)
        for name, (_, encoding, word, text) in files.items():
            quote, = [c for c in h.json("ask", word)["citations"] if word in c["quote"]]
            data = open(os.path.join(h.path, "m", name), "rb").read()
            if name.endswith(".gz"):
                data = gzip.decompress(data)
            source = data[quote["span"][0]:quote["span"][1]].decode(encoding)
            check(quote["file"] == name and quote["status"] == "verified", quote)
            check(source == quote["quote"] == f"{word} {text}.", (source, quote))


@test
def bombs_are_named():
    with house() as h:
        html = "<html xmlns='http://www.w3.org/1999/xhtml'>"
        h.write("m/good.html", page("Good", "<p>platypus</p>"))
        h.write("m/zip.html.gz", gzip.compress(b" " * (65 << 20)))
        h.write("m/cut.html.gz", gzip.compress(b"<p>text")[:-9])
        h.write("m/wide.xhtml", html + "<p" + "".join(f" a{i}=''" for i in range(50000)) +
                "/></html>")
        h.write("m/deep.xhtml", html + "<p>" * 200000)
        h.write("m/bold.html", "<b>" * 200000)
        h.write("m/nul.html", b"<p>a\0b")
        h.write("m/line.html", b"<p>" + b"x " * (50 << 20))
        # What makes many times itself, of its own text or of another file's.
        h.write("m/loop.tex", "\\loop\\section\\iftrue9\\repeat")
        h.write("m/spans.html", "<h1>T</h1><table>" + ("<tr>" + "<td colspan=1000>x" * 1000) * 60)
        h.write("m/again.tex", "\\documentclass{book}\\begin{document}\\chapter{Again}wombat"
                "\\def\\x{\\input{fill}\\x}\\x\\end{document}")
        h.write("m/fill.sty.gz", gzip.compress(b"%" * (62 << 20)))
        h.write("m/again2.tex", "\\documentclass{book}\\begin{document}\\chapter{More}"
                "\\def\\x{\\input{fill.sty}\\x}\\x\\end{document}")
        os.symlink("loop.html", os.path.join(h.path, "m/loop.html"))
        os.symlink(".", os.path.join(h.path, "m/round"))
        report = h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(report["files"] == {"seen": 14, "indexed": 4, "failed": 10}, report)
        reasons = {f["file"]: f["reason"] for f in h.json("failed")["files"]}
        for name, words in {"zip.html.gz": "MiB decompressed", "cut.html.gz": "end early",
                            "wide.xhtml": "256 attributes", "deep.xhtml": "deeper than 250",
                            "bold.html": "nests deeper", "nul.html": "byte 0x00",
                            "line.html": "bytes, more than",
                            "loop.html": "Too many levels", "loop.tex": "macros repeat",
                            "spans.html": "more than 16 times"}.items():
            check(words in reasons.get(name, ""), (name, reasons))
        warnings = [w for w in h.json("failed")["warnings"] if w["document"] == "again2.tex"]
        check("larger than 64 MiB" in warnings[0]["message"], warnings[:3])
        check(h.json("search", "platypus")["results"], "the good file")
        check(report["seconds"] < 20, report)


@test
def links_out_of_a_manual_are_not_followed():
    """A stranger's manual must not have other files of its reader quoted."""
    with house() as h:
        h.write("m/good.html", page("Good", "<p>The platypus lays eggs.</p>"))
        h.write("m/doc.tex", "\\documentclass{article}\\begin{document}\\section{Tin}Pewter \\input{key}"
                "\\input{../secret}\\input{up/secret}\\end{document}")
        h.write("m/sub/inner.html", page("Inner", "<p>The echidna has spines.</p>"))
        h.write("secret.html", page("Secret", "<p>The wombat guards the password.</p>"))
        h.write("secret.tex", "The quokka guards the key.")
        h.write("away/far.html", page("Far", "<p>The numbat guards the hoard.</p>"))
        for name, target in {"notes.html": "../secret.html", "key.tex": h.path + "/secret.tex",
                             "up": "..", "away": "../away", "twice.html": "sub/hop.html",
                             "sub/hop.html": "../../secret.html", "near": "sub"}.items():
            os.symlink(target, os.path.join(h.path, "m", name))
        report = h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        check(report["files"] == {"seen": 3, "indexed": 3, "failed": 0}, report)
        for word in ("wombat", "quokka", "numbat"):
            check(not h.json("search", word, code=1)["results"], word)
        left = h.json("failed", "--excluded")
        check({f["file"] for f in left["excluded"] if f["reason"] == "link"} ==
              {"notes.html", "key.tex", "up", "away", "twice.html", "sub/hop.html"} and not left["files"], left)
        check(h.manual("m")["excluded"] == {"link": 6}, h.manual("m"))
        check(h.json("search", "platypus", "--strict")["complete"], "what is left out is not missing")
        h.run("verify")


@test
def a_link_that_comes_after_the_scan_is_not_read():
    with house() as h:
        text = page("Good", "<p>The platypus lays eggs.</p>")
        h.write("m/good.html", text)
        h.write("m/other.html", page("Other", "<p>The echidna has spines.</p>"))
        h.write("m/doc.tex", "\\documentclass{article}\\begin{document}\\section{Tin}The dingo howls.\\end{document}")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = h.json("search", "platypus")["results"][0]["node"]
        check(h.json("ask", "platypus eggs")["citations"][0]["status"] == "verified", "before")
        os.rename(os.path.join(h.path, "m/good.html"), os.path.join(h.path, "moved.html"))
        os.symlink("../moved.html", os.path.join(h.path, "m/good.html"))
        found = json.loads(h.run("ask", "platypus eggs", "--json", code=None).stdout)
        check(not any(c["status"] == "verified" for c in found.get("citations", [])), found)
        check("error" in json.loads(h.run("get", node, "--all", "--json", code=None).stdout), "get --all")
        done = h.run("open", node, "--print", code=None)
        check(done.returncode and "moved" not in done.stdout, (done.stdout, done.stderr))


@test
def a_manual_does_not_lead_to_what_it_is_in():
    """Also where its links are followed: all of a disk would be the manual."""
    with house() as h:
        h.write("m/good.html", page("Good", "<p>The platypus lays eggs.</p>"))
        h.write("beside.html", page("Beside", "<p>The wombat digs.</p>"))
        h.write("away/far.html", page("Far", "<p>The numbat digs.</p>"))
        for name, target in {"far": "../away", "up": ".."}.items():
            os.symlink(target, os.path.join(h.path, "m", name))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--follow-links", "--wait")
        h.run("search", "numbat")
        h.run("search", "wombat", code=1)
        check([f["file"] for f in h.json("failed", "--excluded")["excluded"]] == ["up"], "told")


@test
def links_are_watched_as_far_as_they_are_followed():
    with house() as h:
        h.configure(watch="inotify")
        h.write("m/good.html", page("Good", "<p>The platypus lays eggs.</p>"))
        h.write("sub/in.html", page("In", "<p>The wombat digs.</p>"))
        os.symlink("../sub/in.html", os.path.join(h.path, "m/in.html"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--follow-links", "--wait")
        h.write("sub/in.html", page("In", "<p>The numbat digs.</p>"))
        h.until(lambda: json.loads(h.run("search", "numbat", "--json", code=None).stdout)["results"], "a followed link")


@test
def a_folder_of_links_alone_says_how_they_are_followed():
    with house() as h:
        h.write("wombat.html", page("Wombat", "<p>The wombat digs.</p>"))
        os.mkdir(os.path.join(h.path, "m"))
        os.symlink("../wombat.html", os.path.join(h.path, "m/w.html"))
        done = h.run("add", os.path.join(h.path, "m"), code=1)
        check("--follow-links" in done.stderr, done.stderr)
        os.symlink("m", os.path.join(h.path, "way"))  # the manual's own folder may be a link
        h.write("m/good.html", page("Good", "<p>The platypus lays eggs.</p>"))
        h.json("add", os.path.join(h.path, "way"), "-c", "m", "--wait")
        check(h.json("ask", "platypus eggs")["citations"][0]["status"] == "verified", "by a link")


@test
def unreadable_files_are_failed():
    """As nobody where the test runs as root, who may read everything."""
    prefix = []
    if os.geteuid() == 0:
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with house() as h:
        for program in ("lectern", "lecternd", "lectern-parse"):
            os.makedirs(os.path.join(h.path, "bin"), exist_ok=True)
            shutil.copy(os.path.join(BUILD, program), os.path.join(h.path, "bin"))
        good = h.write("m/good.html", page("Good", "<p>The platypus lays eggs.</p>"))
        os.chmod(h.write("m/locked.html", page("Locked", "<p>x</p>")), 0)
        os.chmod(h.write("elsewhere/locked.html", page("Locked", "<p>x</p>")), 0)
        h.write("away/page.html", page("Away", "<p>x</p>"))
        os.chmod(os.path.join(h.path, "away"), 0)
        os.symlink("../elsewhere/locked.html", os.path.join(h.path, "m/to-a-file.html"))
        os.symlink("../away/page.html", os.path.join(h.path, "m/to-a-folder.html"))
        for place in (h.path, os.path.join(h.path, "m"), os.path.join(h.path, "bin")):
            os.chmod(place, 0o777)
        def run(*args):
            return subprocess.run([*prefix, os.path.join(h.path, "bin", "lectern"), *args,
                                   "--store", h.store], env=h.env, capture_output=True,
                                  text=True, timeout=PATIENCE)
        done = run("add", os.path.join(h.path, "m"), "-c", "m", "--follow-links", "--wait", "--json")
        report = json.loads(done.stdout)
        check(report.get("files") == {"seen": 4, "indexed": 1, "failed": 3}, report)
        failed = json.loads(run("failed", "--json").stdout)["files"]
        check({one["file"] for one in failed} == {"locked.html", "to-a-file.html", "to-a-folder.html"} and
              all("Permission denied" in one["reason"] for one in failed), failed)
        check(run("ask", "platypus eggs").returncode == 0, "quoted")
        os.chmod(good, 0)
        done = run("ask", "platypus eggs")
        check(done.returncode == 1 and "cannot be quoted" in done.stdout + done.stderr, f"locked since it was read: {done}")
        run("daemon", "--stop")
        os.chmod(os.path.join(h.path, "away"), 0o700)


@test
def arguments_are_checked():
    with house() as h:
        empty = os.path.join(h.path, "empty")
        os.mkdir(empty)
        error = h.json("add", os.path.join(h.path, "nowhere"), code=2)["error"]
        check("nowhere" in error["message"] + str(error.get("path")), error)
        h.run("add", h.write("file.html", "x"), code=2)
        error = h.json("add", empty, code=1)["error"]
        check(error["code"] == "not_found" and ".html" in error["message"], error)
        check(h.json("ls")["manuals"] == [], "nothing is registered")
        check("search" in h.run("serach", "x", code=2).stderr, "the nearest verb")
        h.run("search", code=2)
        h.run("search", "x", "--modes", "tree", code=2)
        h.run("get", "n12345", code=None)
        done = h.run("status", "--socket", "/tmp/" + "x" * 200, code=2)
        check("socket" in done.stderr and "107" in done.stderr, done.stderr)
        check("lectern" in h.run("--help").stdout, "help")


@test
def words_with_a_dash_go_behind_two():
    with house() as h:
        for verb in ("search", "ask", "grep"):
            for word in ("-unique", "--bogus"):
                said = h.run(verb, word, code=2).stderr
                check("goes behind '--'" in said and word in said, said)
            for words in ('-"exact phrase" word', "-weak vs -strict", "--bogus or not"):
                said = h.run(verb, words, code=1).stderr
                check("option" not in said, said)  # no manual holds it
            for words in (["-cuda vs opencl"], ["-cuda", "vs", "opencl"]):
                said = h.run(verb, *words[:1 if verb == "grep" else 3], code=2).stderr
                check(f"'{words[0]}' is read as -c '{words[0][2:]}'" in said and "goes behind '--'" in said, said)
        said = h.run("search", "-c", "uda", "vs", code=2).stderr
        check("uda" in said and "goes behind" not in said, said)
        check("goes behind" not in h.run("ls", "-u", code=2).stderr, "nothing is sought")


@test
def a_number_that_was_not_printed_is_said_to_be_none():
    with house() as h:
        for code, args in ((1, ("get", "7")), (1, ("open", "7")), (1, ("get", "[7]")), (2, ("toc", "7")),
                           (2, ("search", "x", "--under", "7")), (2, ("grep", "x", "--under", "7"))):
            said = h.run(*args, code=code).stderr
            check("the last answer or search has no number 7" in said, (args, said))


@test
def nothing_is_said_to_be_nothing():
    with house() as h:
        for args in (("grep", ""), ("ask", " "), ("search", ""), ("add", "")):
            said = h.run(*args, code=2).stderr
            check("is empty" in said, (args, said))


@test
def a_second_daemon_is_refused():
    with house() as h:
        h.run("status")
        other = subprocess.run([os.path.join(BUILD, "lecternd"), "--socket",
                                h.socket + "2", "--store", h.store], env=h.env,
                               capture_output=True, text=True, timeout=PATIENCE)
        check(other.returncode == 6 and str(h.pid()) in other.stderr, other)
        done = h.run("status", "--socket", h.socket + "2", code=6)
        check("store" in done.stderr, done.stderr)
        h.run("status")


@test
def bad_requests_harm_nobody():
    with house() as h:
        h.run("status")
        pid = h.pid()
        check(oct(os.stat(h.socket).st_mode & 0o777) == "0o600", "the socket's mode")
        talk(h, b'{"jsonrpc":"2.0","id":1,"met', wait=0.2)
        for bad, code in ((b"nonsense\n", -32700), (b"[]\n", -32600), (b"{}\n", -32600),
                          (b'{"jsonrpc":"2.0","id":1,"method":"fly"}\n', -32601),
                          (b'{"jsonrpc":"2.0","id":1,"method":"search","params":'
                           b'{"query":"x","fly":1}}\n', -2),
                          (b'{"jsonrpc":"2.0","id":1,"method":"search","params":'
                           b'{"query":7}}\n', -2),
                          *((b'{"jsonrpc":"2.0","id":1,"method":"search","params":'
                             b'{"query":"x","weights":' + weights + b'}}\n', -2)
                            for weights in (b"7", b"[]", b"[1,2,3,4,5,6]", b"[1,2,3,-4]")),
                          (b"[" * 100000 + b"\n", None)):
            reply = json.loads(talk(h, bad))
            check(code is None or reply["error"]["code"] == code, (bad[:80], reply))
        talk(h, b"x" * (3 << 20), wait=1.0)
        crowd = [socket.socket(socket.AF_UNIX) for _ in range(80)]
        for s in crowd:
            with contextlib.suppress(OSError):
                s.connect(h.socket)
        for s in crowd:
            s.close()
        time.sleep(0.1)
        check(h.pid() == pid, "the daemon is another one")


@test
def a_manual_leads_nowhere_but_into_itself():
    """A stranger's links to other people's files are neither indexed nor quoted, also when
    they take a file's place later; who trusts the manual may follow them."""
    with house() as h:
        secret = h.write("home/id_rsa", "<p>The secret quagga key.</p>")
        h.write("m/a.html", page("Animals", "<p>The zebra eats grass.</p>"))
        h.write("m/b.html", page("Plants", "<p>The giraffe eats leaves.</p>"))
        h.write("m/c.tex", "\\documentclass{book}\\begin{document}\\chapter{Okapi}The okapi eats."
                           "\\input{../home/id_rsa}\\input{key}\\end{document}")
        os.symlink(secret, os.path.join(h.path, "m/notes.html"))
        os.symlink(secret, os.path.join(h.path, "m/key.tex"))
        os.symlink(os.path.dirname(secret), os.path.join(h.path, "m/home"))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        h.run("search", "quagga", code=1)
        report = h.json("failed", "--excluded")
        left = {entry["file"]: entry["reason"] for entry in report["excluded"]}
        check(all(left.get(name) == "link" for name in ("notes.html", "key.tex", "home")), report)
        check(not report["files"], report)
        check("--follow-links" in h.run("failed", "--excluded").stdout, "what to do")
        # What was indexed becomes a link: it is not read through it.
        os.unlink(os.path.join(h.path, "m/b.html"))
        os.symlink(secret, os.path.join(h.path, "m/b.html"))
        asked = h.run("ask", "giraffe eats leaves", "--json", code=None).stdout
        check("quagga" not in asked, asked)
        h.run("update", "--wait")
        h.run("search", "quagga", code=1)
        h.run("search", "giraffe", code=1)
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--follow-links", "--wait")
        check("quagga" in h.run("ask", "secret quagga key").stdout, "trusted")
        check(not h.json("verify")["fault_count"], "verify")
        # Added again they stay; no longer followed, what they led to is gone.
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        h.run("search", "quagga")
        h.run("add", os.path.join(h.path, "m"), "--follow-links", "--no-follow-links", code=2)
        h.json("add", os.path.join(h.path, "m"), "--no-follow-links", "--wait")
        h.run("search", "quagga", code=1)


@test
def nothing_of_a_manual_forges_a_line():
    """Titles, anchors, file names and quotes with line ends, citation marks, bidirectional controls and escapes."""
    forged = "\n[9] Trusted \u203a Section  safe.html#a\n"
    bidi = "\u202e\u2066\u200f\u2029"
    with house() as h:
        text = ("<html><head><title>t</title></head><body><h1 id='x\n[8] Forged  y.html#z'>Okapi" + bidi + "\x1b[31m</h1>"
                "<p>The okapi eats" + bidi + " leaves.</p><pre>okapi leaves" + forged + "more okapi leaves</pre></body></html>")
        h.write("m/a\n[7] name.html", text)
        h.write("m/b\u202egpj.html", text.replace("Okapi", "Okapi two"))
        h.write("m/c\x1b]0;x.html", "no page\x00")
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        node = h.json("search", "okapi leaves")["results"][0]["node"]
        check(any("\n" in hit["file"] for hit in h.json("search", "okapi leaves")["results"]), "JSON has it as it is")
        for args in (["ask", "okapi leaves"], ["search", "okapi leaves"], ["search", "okapi leaves", "--explain"], ["toc"],
                     ["get", node], ["status"], ["ls"], ["failed", "--excluded"], ["doctor"], ["open", node, "--print"],
                     ["ask", "okapi leaves", "--answer", "passages"], ["get", "n99\n[6] x"], ["search", "okapi", "-c", "x\n[5] y"]):
            done = h.run(*args, code=None)
            for stream in (done.stdout, done.stderr):
                check(not any(c in stream for c in bidi + "\x1b\u0085"), (args, stream))
                if args[0] == "get" and stream is done.stdout:
                    continue  # the section's own lines, as they are
                lines = [line for line in stream.split("\n") if line.startswith("[")]
                ranges = [[int(end) for end in line[1:line.index("]")].split("-")] for line in lines]
                numbers = [n for ends in ranges for n in range(ends[0], ends[-1] + 1)]
                check(numbers == list(range(1, len(numbers) + 1)), (args, stream))
        for args in (["ask", "okapi leaves"], ["search", "okapi leaves"]):
            shown = h.run(*args, "--json").stdout
            check(not any(c in shown for c in bidi + "\x1b"), "escaped in JSON")


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) << 10


@test
def clients_that_do_not_read_cost_little():
    """Their requests wait until they read: the answers are not made and kept for them, and others are served."""
    with house() as h:
        h.write("m/a.html", "<h1>Top</h1>" + "".join(f"<h2 id='part-{n}'>The zebra of part {n}</h2><p>x</p>" for n in range(4000)))
        h.json("add", os.path.join(h.path, "m"), "-c", "m", "--wait")
        size = len(h.run("toc", "--json").stdout)
        h.json("search", "zebra")
        before = resident(h.pid())
        asked, stuck = 20, []
        for _ in range(24):
            one = socket.socket(socket.AF_UNIX)
            one.connect(h.socket)
            one.sendall(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"toc"}\n' % n for n in range(asked)))
            stuck.append(one)
        for _ in range(20):
            check(h.json("search", "zebra of part 7", "-n", "1")["results"], "others are served")
        grown = resident(h.pid()) - before
        # Of each at most a MiB unread and one answer more, where sixteen were kept.
        # (AddressSanitizer holds 256 MB of what was freed.)
        held = 256 << 20 if is_sanitized("lecternd") else 0
        check(grown < 24 * (2 * size + (3 << 20)) + held, f"{grown >> 20} MiB more, {size >> 10} KiB an answer")
        # Who reads again gets what he asked for.
        with stuck[0].makefile("rb") as answers:
            ids = [json.loads(answers.readline())["id"] for _ in range(asked)]
        check(sorted(ids) == list(range(asked)), "all answers")
        for one in stuck:
            one.close()


def slow(h):
    """A manual that is indexed for as long as the test needs, and a request that waits for it."""
    parser = h.write("parser", "#!/bin/sh\nexec sleep 600\n")
    os.chmod(parser, 0o700)
    h.configure(parser=parser)
    h.write("m/a.html", page("Zebras", "<p>The zebra eats grass.</p>"))
    h.json("add", os.path.join(h.path, "m"), "-c", "m")
    return b'{"jsonrpc":"2.0","id":%d,"method":"wait","params":{"manual":"m"}}\n'


def connected(h, data):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(PATIENCE)
    one.connect(h.socket)
    one.sendall(data)
    return one


@test
def one_that_has_asked_a_lot_may_still_cancel():
    with house() as h:
        waiting = slow(h)
        for asked in (16, 40):
            with connected(h, b"".join(waiting % n for n in range(asked))) as one, one.makefile("rb") as lines:
                one.sendall(b'{"jsonrpc":"2.0","method":"cancel","params":{"id":7}}\n')
                answer = {"id": None}
                while "method" in answer or answer["id"] is None:
                    answer = json.loads(lines.readline())
                check(answer["id"] == 7 and answer["error"]["data"]["code"] == "cancelled", f"{asked}: {answer}")


@test
def those_that_have_gone_are_noticed():
    """What they asked for is not gone on with, and others have their places: with its input ended, or full, nothing is read of a client."""
    with house() as h:
        waiting = slow(h)
        gone = []
        for n in range(32):
            gone += [connected(h, waiting % 1), connected(h, b"".join(waiting % n for n in range(300)))]
            gone[-2].shutdown(socket.SHUT_WR)
        check("64 clients" in h.run("ls", code=None).stderr, "all places are taken")
        for one in gone:
            one.close()

        def all_are_served():
            with contextlib.ExitStack() as clients, contextlib.suppress(ConnectionError):
                ours = [clients.enter_context(connected(h, b'{"jsonrpc":"2.0","id":1,"method":"ls"}\n')) for _ in range(60)]
                return all(b'"result"' in one.recv(65536) for one in ours)
        h.until(all_are_served, "those that went have no places")
