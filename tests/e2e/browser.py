"""The page of `lectern web` in a real browser: scenes, each with a picture and what must be so in it.

Needs Debian's chromium, and a Python that has playwright: python3 -m venv V; V/bin/pip install playwright;
V/bin/python tests/e2e.py ... browser.  PICTURES=FOLDER keeps the pictures.
"""
import contextlib
import os
import shutil
import time

from e2e.house import Failure, Skip, check, house, page, test
from e2e.web import web

HOSTILE = """<h2>&lt;img src=x onerror="window.hacked=1"&gt; &lt;script&gt;window.hacked=2&lt;/script&gt;</h2>
<script>window.hacked = 3; alert(1)</script><style>@import "http://evil.example/a.css"; body { display: none }</style>
<p onclick="window.hacked=4">A weasel is <a href="javascript:window.hacked=5">not harmless</a>
<img src="http://evil.example/b.png" onerror="window.hacked=6"> at all.</p>
<iframe src="http://evil.example/c.html"></iframe><object data="http://evil.example/d"></object>
<form action="http://evil.example/e"><input name="secret"></form><base href="http://evil.example/">
<pre>&lt;/code&gt;&lt;/pre&gt;&lt;svg onload=window.hacked=7&gt;</pre><svg onload="window.hacked=8"></svg>
<p><a href="two.html">Two</a> is the <a href="data:text/html,evil">other</a> page.</p>"""
TABLE = "<table>" + "<tr>" + "<td>cell_without_a_place_to_break</td>" * 12 + "</tr>" + "</table>"
SECONDS = 20
QUESTION = "how do I create an index without locking out writes"


class Scenes:
    """A page that is looked at; nothing else than it may be asked for."""

    count = 0  # of all tests

    def __init__(self, browser, w, h):
        self.browser, self.w, self.h, self.foreign = browser, w, h, []
        self.page = None

    def look(self, width=1280, height=850, scheme="light", path=""):
        if self.page:
            self.page.context.close()
        self.page = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
        self.page.set_default_timeout(SECONDS * 1000)
        self.page.on("request", lambda request: self.saw(request.url))
        self.page.on("dialog", lambda dialog: self.foreign.append(dialog.message))
        self.page.on("pageerror", lambda error: self.foreign.append(str(error)))
        self.page.goto(self.w.address + path)
        return self.page

    def saw(self, url):
        if not url.startswith((self.w.address, "data:,")):
            self.foreign.append(url)

    def picture(self, name, truth, what=""):
        """A scene: a picture, and an assertion."""
        Scenes.count += 1
        if os.environ.get("PICTURES"):
            os.makedirs(os.environ["PICTURES"], exist_ok=True)
            self.page.screenshot(path=os.path.join(os.environ["PICTURES"], f"{Scenes.count:02} {name}.png"))
        check(truth, f"{name}: {what}")
        check(not self.foreign, f"{name}: {self.foreign}")
        wide = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        check(wide[0] <= wide[1], f"{name}: wider than its window, {wide}")

    def text(self, selector):
        return self.page.inner_text(selector)

    def until(self, script):
        """Asks again and again: the page's policy forbids the browser to evaluate for itself."""
        end = time.time() + SECONDS
        while not self.page.evaluate(script):
            check(time.time() < end, f"not in {SECONDS} s: {script}")
            time.sleep(0.02)


@contextlib.contextmanager
def scenes():
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise Skip("the Python package playwright is not installed") from None
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("chromium is not installed")
    with house() as h:
        h.run("add", h.part(("index", "indexes", "ddl", "sql-createindex", "runtime-config"), "pg"), "-c", "postgresql", "--wait")
        h.write("bad/one.html", page("Weasels", HOSTILE))
        h.write("bad/two.html", page("Two", f"<p>A stoat is another.</p>{TABLE}<pre>{'wide ' * 80}</pre>"))
        h.run("add", os.path.join(h.path, "bad"), "-c", "hostile", "--wait")
        with web(h) as w, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            with contextlib.closing(browser):
                try:
                    yield Scenes(browser, w, h)
                except Error as problem:
                    raise Failure(str(problem)) from problem


@test
def a_person_reads_and_asks():
    with scenes() as s:
        view = s.look()
        s.until("document.querySelectorAll('#manual option').length === 3")
        s.picture("start", "postgresql" in s.text("#manuals") and view.evaluate("document.activeElement.id") == "query", "the focus")

        view.keyboard.type("create index concurr", delay=20)
        s.until("document.querySelector('#results').getAttribute('aria-busy') === 'false'")
        view.keyboard.press("ArrowDown")
        chosen = view.get_attribute("#query", "aria-activedescendant")
        check("Concurrently" in s.text("#results .title"), "the word that is being typed")
        s.picture("search as one types", view.get_attribute(f"#{chosen}", "aria-selected") == "true", chosen)

        title = s.text(f"#{chosen} .title")
        view.keyboard.press("Enter")
        view.wait_for_selector("#section .steps")
        s.picture("a section", s.text("#section h1") == title and s.text("#tree [aria-current] > .row") == title, title)

        view.keyboard.press("/")
        view.keyboard.type(QUESTION)
        view.keyboard.press("Enter")
        view.wait_for_selector("#sources li")
        view.wait_for_selector("#results [role=option]")
        s.picture("an answer", "[1]" in s.text("#answer-text") and "sql-createindex.html" in s.text("#sources"), s.text("#answer"))

        view.click("#sources a")
        view.wait_for_selector("#section .steps")
        marked = s.text("#section mark")
        seen = view.evaluate("(box => box.top >= 0 && box.top < innerHeight)(document.querySelector('#section mark').getBoundingClientRect())")
        s.picture("the cited passage", len(marked) > 20 and seen, marked)

        view.reload()
        view.wait_for_selector("#section mark")
        s.picture("the same after a reload", s.text("#section mark") == marked, "another passage")
        view.go_back()
        view.wait_for_selector("#sources li")
        s.picture("back to the answer", view.is_visible("#answer") and not view.is_visible("#section"), "not back")

        view.fill("#query", "who was the king of Sweden in 1523")
        view.keyboard.press("Enter")
        s.until("document.querySelector('#answer-text').innerText.includes('Nothing in the manuals')")
        s.picture("no answer", not s.text("#sources"), "sources of nothing")

        s.h.write("bad/two.html", page("Two", "<p>An otter is a third.</p>"))
        view = s.look(path="#q=stoat")
        view.wait_for_selector("#results [role=option]")
        s.picture("files that have changed", "Files have changed" in s.text("#notes"), s.text("#notes"))
        view.click("#results [role=option]")
        view.wait_for_selector("#section .steps")
        check("Files have changed" in s.text("#notes"), "a section whose file has changed")
        view.click("#section .steps a")
        s.until("document.querySelector('#section h1').innerText === 'Weasels'")
        check(not view.is_visible("#notes"), "a section whose file has not")


@test
def a_person_goes_by_keyboard():
    with scenes() as s:
        view = s.look(scheme="dark")
        s.until("document.querySelectorAll('#tree [role=treeitem]').length > 1")
        view.keyboard.press("Tab")
        view.evaluate("document.activeElement.blur()")
        view.keyboard.press("t")
        view.keyboard.press("End")
        view.keyboard.press("ArrowRight")
        s.until("document.activeElement.getAttribute('aria-expanded') === 'true'")
        view.keyboard.press("ArrowRight")
        view.keyboard.press("Enter")
        view.wait_for_selector("#section .steps")
        tree = view.locator("#contents").aria_snapshot()
        s.picture("the tree, dark", "[expanded]" in tree and "treeitem" in tree and s.text("#section h1") in tree, tree)

        first = s.text("#section h1")
        view.keyboard.press("n")
        s.until(f"document.querySelector('#section h1').innerText !== {first!r}")
        view.wait_for_selector("#section .steps")
        second = s.text("#section h1")
        view.keyboard.press("p")
        s.until(f"document.querySelector('#section h1').innerText === {first!r}")
        view.wait_for_selector("#section .steps")
        s.picture("next and previous", second and s.text("#section h1") == first, second)

        view.keyboard.press("?")
        names = view.locator("body").aria_snapshot()
        wanted = ("search:", 'combobox "Search or ask"', 'button "Ask"', 'tree "Contents"', "main:", 'heading "Lectern"')
        s.picture("what a screen reader is told", all(name in names for name in wanted), names)


@test
def a_hostile_manual_does_nothing():
    with scenes() as s:
        view = s.look(path="#q=weasel")
        view.wait_for_selector("#results [role=option]")
        view.click("#results [role=option]")
        view.wait_for_selector("#section .steps")
        view.click("#section p")
        loaded = view.evaluate("[document.querySelectorAll('main img, iframe, object, svg, main style, main script, base').length, "
                               "[...document.links].filter(a => !a.getAttribute('href').startsWith('#')).length, window.hacked ?? null]")
        s.picture("a hostile manual", loaded == [0, 0, None] and "not harmless" in s.text("#section"), loaded)
        blocked = view.evaluate("fetch('http://evil.example/').then(() => 'sent', () => 'blocked')")
        check(blocked == "blocked", "the policy lets the page ask others")
        s.foreign.clear()


@test
def a_narrow_window_shows_all():
    with scenes() as s:
        view = s.look(390, 800)
        s.until("document.querySelectorAll('#tree [role=treeitem]').length > 1")
        check(not view.is_visible("#tree"), "the contents are in the way")
        view.click("#menu")
        s.picture("contents, narrow", view.is_visible("#tree") and view.get_attribute("#menu", "aria-expanded") == "true", "closed")
        view = s.look(390, 800, "dark", "#q=stoat")
        view.wait_for_selector("#results [role=option]")
        view.click("#results [role=option]")
        view.wait_for_selector("#section .steps")
        dark = view.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(c => c < 64)")
        s.picture("a wide table, narrow and dark", dark and view.is_visible("#section table"), "light")
        view = s.look(390, 800, "dark", f"#ask={QUESTION}")
        view.wait_for_selector("#sources li")
        s.picture("an answer, narrow and dark", view.is_visible("#answer"), "no answer")
        s.w.process.terminate()
        s.w.process.wait()
        view.fill("#query", "anything")
        view.wait_for_selector("#problem")
        s.picture("nobody answers", "still running" in s.text("#problem"), s.text("#problem"))
