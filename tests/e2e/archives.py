"""Manuals that come as a .zip, .epub, .jar or .tar, or as a docset."""
import concurrent.futures
import contextlib
import gzip
import io
import os
import shutil
import sqlite3
import stat
import struct
import tarfile
import zipfile

from e2e.house import check, house, page, test


def archive(h, name, files, method=zipfile.ZIP_DEFLATED, comment=b""):
    path = os.path.join(h.path, name)
    with zipfile.ZipFile(path, "w", method) as made:
        made.comment = comment
        for file, text in files.items():
            made.writestr(file, text)
    return path


def unpacked(h):
    folder = os.path.join(h.store, "manuals")
    return sorted(name for name in os.listdir(folder) if name[0] != ".") if os.path.isdir(folder) else []


@test
def an_archive_becomes_a_manual():
    with house() as h:
        pages = {"a.html": page("Pumps", "<p>Vent the casing.</p>"), "deep/er/b.html": page("Valves", "<p>Close the valve.</p>"),
                 "empty/": "", "empty.html": "", "pictures/a.png": os.urandom(300000)}
        book = archive(h, "book.zip", pages, comment=b"PK\5\6" * 9)
        h.run("add", book, "--wait")
        manual = h.manual("book")
        check(manual["root"] == os.path.join(h.store, "manuals/book"), manual)
        check(h.json("ask", "what is closed", "-c", "book")["citations"][0]["file"] == "deep/er/b.html", "asked")
        with open(os.path.join(manual["root"], "pictures/a.png"), "rb") as file:
            check(file.read() == pages["pictures/a.png"], "what does not compress")
        check(stat.S_IMODE(os.stat(manual["root"]).st_mode) == 0o700, "private")
        archive(h, "book.zip", {"a.html": page("Pumps", "<p>Prime the impeller.</p>")}, zipfile.ZIP_STORED)
        h.run("add", book, "--wait")
        check(h.json("search", "impeller")["results"] and not h.json("search", "valve", code=1)["results"], "in its place")
        h.run("add", book, "-c", "other", "--wait")
        check(unpacked(h) == ["book", "other"], unpacked(h))
        folder = h.part(("tutorial",))
        h.run("add", folder, "-c", "pg", "--wait")
        h.run("add", book, "-c", "pg", code=2)
        h.run("add", archive(h, "nothing.zip", {"a.png": "x"}), code=1)
        check(unpacked(h) == ["book", "other"], "what is not added leaves nothing behind")
        for name in ("book", "other", "pg"):
            h.run("rm", name)
        check(os.listdir(os.path.join(h.store, "manuals")) == [] and os.path.isdir(folder),
              "an archive's copy goes with the manual, a folder stays")


@test
def a_book_or_javadoc_in_one_file_is_an_archive():
    """Chapters stand in the order of the contents."""
    contents = "<ncx><navMap>" + "".join(f"<navPoint><navLabel><text>{title}</text></navLabel><content src='{file}.xhtml'/></navPoint>"
                                         for title, file in (("Pumps", "z"), ("Valves", "a"))) + "</navMap></ncx>"
    with house() as h:
        book = {"mimetype": "application/epub+zip", "META-INF/container.xml": "<container/>", "OEBPS/toc.ncx": contents,
                "OEBPS/a.xhtml": page("Valves", "<p>Close the valve.</p>"), "OEBPS/z.xhtml": page("Pumps", "<p>Vent the casing.</p>")}
        h.run("add", archive(h, "Plant.EPUB", book), "--wait")
        check([node["title"] for node in h.json("toc", "-c", "Plant")["children"]] == ["Pumps", "Valves"], h.json("toc", "-c", "Plant"))
        check(h.json("ask", "what is vented")["citations"][0]["file"] == "OEBPS/z.xhtml", "asked")
        h.run("add", archive(h, "pump-1.0-javadoc.jar", {"META-INF/MANIFEST.MF": "", "index.html": page("Impeller", "<p>Turns.</p>")}), "--wait")
        check(h.manual("pump-1.0-javadoc")["files"] == 1, h.manual("pump-1.0-javadoc"))


@test
def the_stores_own_folder_is_no_manual():
    """What is unpacked there would be found twice; a copy's folder itself may be named again."""
    with house() as h:
        h.run("add", archive(h, "book.zip", PUMPS), "--wait")
        os.makedirs(os.path.join(h.store, "mine"))
        h.write("store-beside/a.html", page("Pumps", "<p>Vent the casing.</p>"))
        shutil.copy(os.path.join(h.path, "store-beside/a.html"), os.path.join(h.store, "mine"))
        os.symlink(h.store, os.path.join(h.path, "link"))
        for folder in (h.store, f"{h.store}/", f"{h.store}/manuals", f"{h.store}/mine", os.path.join(h.path, "link/mine")):
            said = h.run("add", folder, "--wait", code=2).stderr
            check("store" in said and h.store in said, said)
        h.run("add", f"{h.store}/manuals/book", "--wait")
        h.run("add", os.path.join(h.path, "store-beside"), "--wait")
        check([m["name"] for m in h.json("ls")["manuals"]] == ["book", "store-beside"], h.json("ls"))
        h.run("add", h.path, "-c", "above", "--yes", "--wait")
        check(h.manual("above")["files"] == 1, "a folder above it is added without it")


@test
def names_in_archives_are_as_a_path_is_written():
    """tar has them as somebody wrote the folder: `tar cf docs.tar docs//a.html`."""
    names = {"docs//a.html": "docs/a.html", "docs/./b.html": "docs/b.html", "././c.html": "c.html"}
    with house() as h:
        files = {name: page(f"Pump {i}", f"<p>Pump {i}.</p>") for i, name in enumerate(names)}
        for path in (archive(h, "one.zip", files), tar(h, "two.tar", files)):
            h.run("add", path, "--wait")
            for i, name in enumerate(names.values()):
                hit = h.json("search", f"pump {i}", "-c", os.path.basename(path)[:3])["results"][0]
                check(hit["file"] == name, (path, hit))


@test
def an_archive_of_many_files_is_unpacked_whole():
    """The number of its files does not fit where it is said."""
    with house() as h:
        path = archive(h, "many.zip", {f"{i}/": "" for i in range(65535)} | {"last.html": page("Last", "<p>The zebra.</p>")})
        h.run("add", path, "--wait")
        check(h.json("search", "zebra")["results"], "the last file")


@test
def an_archive_that_is_added_twice_at_once_is_whole():
    with house() as h:
        path = archive(h, "book.zip", {f"{i}.html": page("Pumps", f"<p>Pump {i}.</p>") for i in range(1000)})
        h.run("status")
        with concurrent.futures.ThreadPoolExecutor() as threads:
            ended = [threads.submit(h.run, "add", path, "-c", "book", "--wait", code=None) for _ in range(3)]
        check(all(one.result().returncode == 0 for one in ended), [one.result() for one in ended])
        h.run("update", "-c", "book", "--wait")
        check(len(os.listdir(h.manual("book")["root"])) == h.manual("book")["files"] == 1000, h.manual("book"))


@test
def a_folder_where_archives_are_unpacked_is_not_taken():
    """With its manual it would be removed, as what was unpacked is."""
    with house() as h:
        h.run("add", archive(h, "book.zip", PUMPS), "--wait")
        own = h.write("store/manuals/mine/a.html", page("Mine", "<p>Nobody else has it.</p>"))
        check("put it elsewhere" in h.run("add", os.path.dirname(own), code=2).stderr, "refused")
        h.run("add", os.path.join(h.store, "manuals/book"), "-c", "renamed", "--wait")
        h.run("rm", "renamed")
        check(unpacked(h) == ["mine"] and os.path.isfile(own), unpacked(h))


PUMPS, TAPS = {"a.html": page("Pumps", "<p>Vent the casing.</p>")}, {"a.html": page("Taps", "<p>Turn the tap.</p>")}


def roots(h):
    return {manual["name"]: os.path.basename(manual["root"]) for manual in h.json("ls")["manuals"]}


@test
def a_useless_archive_takes_the_place_of_none():
    with house() as h:
        h.run("add", archive(h, "good.zip", PUMPS), "--wait")
        useless = archive(h, "nohtml.zip", {"a.pdf": "%PDF-1.4"})
        for names in (("-c", "good"), ()):
            said = h.run("add", useless, *names, "--wait", code=1)
            check(useless + " holds no file that Lectern reads" in said.stderr, said.stderr)
            check(os.listdir(os.path.join(h.store, "manuals/good")) == ["a.html"] and unpacked(h) == ["good"], unpacked(h))
        h.run("add", os.path.join(h.path, "good.zip"), "--ignore", "*.html", code=1)
        check(h.json("ask", "vent the casing")["citations"][0]["status"] == "verified", "what was there stays")
        check(not [name for name in os.listdir(os.path.join(h.store, "manuals")) if name.startswith(".new")], "left behind")


@test
def archives_of_one_name_are_manuals_of_their_own():
    """As folders are; the same one again, and another one by -c, take the manual's place."""
    with house() as h:
        for folder in ("va", "vb", "html-of/taps"):
            os.makedirs(os.path.join(h.path, folder))
        first, second = archive(h, "va/pump.zip", PUMPS), archive(h, "vb/pump.zip", TAPS)
        h.run("add", first, "--wait")
        said = h.run("add", second, "--wait")
        check("pump was made of another archive: this one becomes pump-2" in said.stderr, said.stderr)
        h.run("add", archive(h, "html-of/taps/html.zip", TAPS), "--wait")
        check(roots(h) == {"pump": "pump", "pump-2": "pump-2", "taps": "taps"}, roots(h))
        h.run("search", "casing", "-c", "pump")
        archive(h, "vb/pump.zip", {"a.html": page("Cocks", "<p>Open the stopcock.</p>")})
        h.run("add", second, "--wait")
        h.run("add", first, "--wait")
        check(len(roots(h)) == 3 and h.json("search", "stopcock")["results"][0]["path"] == ["Cocks"], roots(h))
        h.run("search", "casing", "-c", "pump")
        h.run("add", second, "-c", "pump", "--wait")
        h.run("search", "stopcock", "-c", "pump")
        h.run("search", "casing", code=1)


@test
def a_manual_of_another_name_keeps_its_files():
    with house() as h:
        good = archive(h, "good.zip", PUMPS)
        h.run("add", good, "--wait")
        h.run("add", os.path.join(h.store, "manuals/good"), "-c", "better", "--wait")
        h.run("add", archive(h, "other.zip", TAPS), "-c", "good", "--wait")
        check(roots(h) == {"better": "good", "good": "good-2"}, roots(h))
        h.run("search", "casing", "-c", "better")
        h.run("search", "tap", "-c", "good")
        archive(h, "good.zip", {"a.html": page("Cocks", "<p>Open the stopcock.</p>")})
        h.run("add", good, "--wait")
        h.run("search", "stopcock", "-c", "better")
        h.run("rm", "good")
        check(unpacked(h) == ["good"], unpacked(h))


@test
def a_backup_is_tidied_without_the_original():
    with house() as h:
        good, backup, socket = archive(h, "good.zip", PUMPS), os.path.join(h.path, "bk"), os.path.join(h.path, "s9")

        def there(*args, code=0):
            return h.run(*args, "--store", backup, "--socket", socket, "--model", "none", store=False, code=code)
        h.run("add", good, "--wait")
        h.run("backup", backup)
        try:
            there("search", "casing")
            archive(h, "good.zip", TAPS)
            there("add", good, "--wait")
            check(os.path.isdir(os.path.join(backup, "manuals/good")), "a copy of its own")
            there("search", "casing", code=1)
            there("rm", "good")
            check(os.listdir(os.path.join(backup, "manuals")) == [], "which goes with it")
        finally:
            there("daemon", "--stop", code=None)
        os.rename(backup, backup + "1")
        h.run("backup", backup)
        try:
            there("rm", "good")
        finally:
            there("daemon", "--stop", code=None)
        check(h.json("ask", "vent the casing")["citations"][0]["status"] == "verified" and unpacked(h) == ["good"], unpacked(h))


@test
def archives_that_are_hostile_or_damaged_are_refused():
    """None writes outside its folder, and none takes the place of a manual that is there."""
    with house() as h:
        good = {"a.html": page("Pumps", "<p>Vent the casing.</p>")}
        path = archive(h, "m.zip", good)
        h.run("add", path, "--wait")
        with open(path, "rb") as file:
            right = file.read()

        def refused(content=None, **how):
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
            said = h.run("add", path, code=None, **how)
            check(said.returncode not in (0, 1) and "Sanitizer" not in said.stderr, said)
            check(unpacked(h) == ["m"], unpacked(h))
            return said.stderr

        for name in ("../../out.html", "/tmp/lectern-out.html", "a/../../out.html", "//out.html", "a/.", "a\\..\\b.html"):
            archive(h, "m.zip", {**good, name: "x"})
            said = refused()
            check("leads out" in said, (name, said))
        check(not os.path.exists(os.path.join(h.path, "lectern/out.html")) and not os.path.exists("/tmp/lectern-out.html"), "written outside")
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("a.html", "x")
            made.writestr("a.html/b.html", "x")
        refused()
        check("no zip archive" in refused(b"") and "no zip archive" in refused(b"PK" * 1000), "no archive")
        directory = right.rindex(b"PK\1\2")
        for at in (*range(0, len(right), 7), *range(directory, len(right))):
            wrong = bytearray(right)
            wrong[at] ^= 0xFF
            with open(path, "wb") as file:
                file.write(wrong)
            said = h.run("add", path, code=None)
            check(said.returncode in (0, 1, 2, 7) and "Sanitizer" not in said.stderr, (at, said))
        for end in range(1, len(right), 11):
            refused(right[:end])
        sizes = bytearray(right)
        struct.pack_into("<I", sizes, directory + 24, 10)
        check("damaged" in refused(bytes(sizes)), "it inflates to more than it says")
        crypt = bytearray(right)
        crypt[directory + 8] |= 1
        check("encrypted" in refused(bytes(crypt)), "encrypted")
        link = zipfile.ZipInfo("link.html")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(link, "/etc/passwd")
            made.writestr("b.html", good["a.html"])
        h.run("add", path, "--wait")
        check(os.listdir(os.path.join(h.store, "manuals/m")) == ["b.html"], "a link is not made")
        h.write("n.zip.txt", "x")
        check("neither a folder nor" in h.run("add", os.path.join(h.path, "n.zip.txt"), code=2).stderr, "what it takes")


def tar(h, name, files, mode="w", form=tarfile.PAX_FORMAT, kind=tarfile.REGTYPE):
    path = os.path.join(h.path, name)
    with tarfile.open(path, mode, format=form) as made:
        for file, text in files.items():
            info = tarfile.TarInfo(file)
            info.type, info.size = kind, len(text.encode())
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            made.addfile(info, io.BytesIO(text.encode()))
    return path


@test
def a_tar_becomes_a_manual():
    """In each of its forms, also with names that are too long for its headers."""
    deep = "/".join(["a folder with a long name"] * 6)
    files = {"./a.html": page("Pumps", "<p>Vent the casing.</p>"), f"./{deep}/größe.html": page("Valves", "<p>Close the valve.</p>"),
             f"{deep}/{'b' * 120}.html": page("Taps", "<p>Turn the tap.</p>"), "empty.html": ""}
    with house() as h:
        for name, mode, form in (("one.tar", "w", tarfile.PAX_FORMAT), ("two.tar.gz", "w:gz", tarfile.GNU_FORMAT), ("three.TGZ", "w:gz", tarfile.PAX_FORMAT)):
            path = tar(h, name, files, mode, form)
            h.run("add", path, "--wait")
            for word, file in (("casing", "a.html"), ("valve", f"{deep}/größe.html"), ("tap", f"{deep}/{'b' * 120}.html")):
                hit = h.json("search", word, "-c", name.split(".")[0])["results"][0]
                check(hit["file"] == file, (name, hit))
        short = {name: text for name, text in files.items() if len(name) < 99}
        h.run("add", tar(h, "four.tar", {**short, f"{'p/' * 60}c.html": page("Far", "<p>A far thing.</p>")}, form=tarfile.USTAR_FORMAT), "--wait")
        check(h.json("search", "far", "-c", "four")["results"][0]["file"] == f"{'p/' * 60}c.html", "the prefix of ustar")
        check(unpacked(h) == ["four", "one", "three", "two"], unpacked(h))


@test
def of_two_names_of_one_file_the_later_one_counts():
    with house() as h:
        path = tar(h, "m.tar", {})
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as made:
            for kind, text in (("L", "a" * 120 + ".html\0"), ("L", "b" * 120 + ".html\0"), ("0", page("Pumps", "<p>Vent the casing.</p>"))):
                info = tarfile.TarInfo("c.html")
                info.type, info.size = kind.encode(), len(text)
                made.addfile(info, io.BytesIO(text.encode()))
        h.run("add", path, "--wait")
        check(os.listdir(os.path.join(h.store, "manuals/m")) == ["b" * 120 + ".html"], "the later one")


@test
def of_two_files_of_one_name_the_later_one_counts():
    """As `tar -r` adds it."""
    with house() as h:
        path = tar(h, "m.tar", {"a.html": page("Pumps", "<p>An old word.</p>")})
        tar(h, "m.tar", {"a.html": page("Pumps", "<p>A new word.</p>")}, "a")
        h.run("add", path, "--wait")
        check(h.json("search", "new", "-c", "m")["results"], "the later one")
        h.run("search", "old", "-c", "m", code=1)


@test
def tars_that_are_hostile_or_damaged_are_refused():
    with house() as h:
        good = {"a.html": page("Pumps", "<p>Vent the casing.</p>")}
        h.run("add", tar(h, "m.tar.gz", good, "w:gz"), "--wait")
        for name in ("../../out.html", "/tmp/lectern-out.html", "a/../../out.html", "a\\..\\b.html", "x" * 200 + "/../y.html"):
            said = h.run("add", tar(h, "m.tar", {**good, name: "x"}), code=None)
            check(said.returncode not in (0, 1) and "leads out" in said.stderr, (name, said))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            path = tar(h, "link.tar", {"link.html": ""}, kind=kind)
            with tarfile.open(path, "a") as made:
                info = tarfile.TarInfo("b.html")
                info.size = len(good["a.html"])
                made.addfile(info, io.BytesIO(good["a.html"].encode()))
            h.run("add", path, "-c", "links", "--wait")
            check(os.listdir(os.path.join(h.store, "manuals/links")) == ["b.html"], f"a {kind} is not made")
        for name, mode in (("m.tar", "w"), ("m.tar.gz", "w:gz")):
            with open(tar(h, name, good, mode), "rb") as file:
                right = file.read()

            def add(content):
                with open(os.path.join(h.path, name), "wb") as file:
                    file.write(content)
                said = h.run("add", os.path.join(h.path, name), "-c", "m", code=None)
                check("Sanitizer" not in said.stderr and unpacked(h) == ["links", "m"], said)
                return said
            step = len(right) // 40 + 1
            for at in range(0, len(right), step):
                wrong = bytearray(right)
                wrong[at] ^= 0xFF
                check(add(wrong).returncode in (0, 1, 2, 7), at)
            for end in range(0, min(len(right), 1536), step):
                check("no tar archive" in add(right[:end]).stderr, end)
        with open(tar(h, "m.tar", good), "rb") as file:
            header = bytearray(file.read())
        header[124:136] = b"77777777777\0"
        for kind in (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE):
            header[148:157] = b" " * 8 + kind
            header[148:156] = b"%06o\0 " % sum(header[:512])
            with open(os.path.join(h.path, "m.tar"), "wb") as file:
                file.write(header)
            check("4 GiB" in h.run("add", os.path.join(h.path, "m.tar"), code=None).stderr, f"a size that nobody has, of a {kind}")
        # Names without files: 4 GiB of them are packed into some MB.
        names = bytearray(header[:512])
        names[124:136] = b"00000000000\0"
        names[148:157] = b" " * 8 + b"x"
        names[148:156] = b"%06o\0 " % sum(names)
        with open(os.path.join(h.path, "m.tar.gz"), "wb") as file:
            file.write(gzip.compress(names * (1 << 16), 1) * (1 << 7))
            with open(tar(h, "good.tar.gz", good, "w:gz"), "rb") as last:
                file.write(last.read())
        check("4 GiB" in h.run("add", os.path.join(h.path, "m.tar.gz"), "-c", "m", code=None).stderr, "names without an end")
        zeros = gzip.compress(bytes(1 << 25), 1)
        with open(tar(h, "m.tar.gz", good, "w:gz"), "ab") as file:
            file.write(zeros)
        h.run("add", os.path.join(h.path, "m.tar.gz"), "-c", "m", "--wait")
        with open(os.path.join(h.path, "m.tar.gz"), "ab") as file:
            file.write(zeros * 2)
        check("behind its files" in h.run("add", os.path.join(h.path, "m.tar.gz"), "-c", "m", code=None).stderr, "zeros without an end")
        check(not os.path.exists(os.path.join(h.path, "lectern/out.html")) and not os.path.exists("/tmp/lectern-out.html"), "written outside")


def docset(h, name, pages, symbols):
    folder = os.path.join(h.path, name + ".docset")
    resources = os.path.join(folder, "Contents/Resources")
    os.makedirs(os.path.join(resources, "Documents"), exist_ok=True)
    for file, text in pages.items():
        h.write(os.path.join(resources, "Documents", file), text)
    index = os.path.join(resources, "docSet.dsidx")
    with contextlib.suppress(FileNotFoundError):
        os.remove(index)
    with contextlib.closing(sqlite3.connect(index)) as database:
        database.execute("CREATE TABLE searchIndex(id INTEGER PRIMARY KEY, name TEXT, type TEXT, path TEXT)")
        database.executemany("INSERT INTO searchIndex(name, type, path) VALUES (?, ?, ?)", symbols)
        database.commit()
    return folder, index


@test
def the_symbols_of_a_docset_are_exact_names():
    """Its table says where a name is described; a search for the name has that place first, with its anchor."""
    anchor = "//apple_ref/cpp/Function/zz%5Fvent"
    pages = {"a.html": page("Pumps", f'<h2 id="one">Priming</h2><p>Fill the casing.</p><a name="{anchor}" class="dashAnchor"></a>'
                                     '<h2 id="two">Venting</h2><p>Open the valve.</p>'),
             "b.html": page("Talk", "<p>zz_vent and zz_prime, zz_vent and zz_prime: names, names.</p>" * 3)}
    with house() as h:
        folder, index = docset(h, "Pumps", pages, [("zz_vent", "Function", "a.html#" + anchor), ("zz_prime", "Function", "a.html#one")])
        h.run("add", folder, "--wait")
        for name, place in (("zz_vent", "two"), ("zz_prime", "one")):
            first = h.json("search", name)["results"][0]
            check((first["file"], first["anchor"]) == ("Contents/Resources/Documents/a.html", place), first)
        check(h.manual("Pumps")["failed"] == 0 and not h.run("failed", "-c", "Pumps").stdout.strip(), h.run("failed").stdout)
        check("docSet" not in h.run("toc", "-c", "Pumps").stdout, "the table is no section")
        docset(h, "Pumps", {}, [("zz_vent", "Function", "a.html#one")])
        h.run("update", "--wait")
        check(h.json("search", "zz_vent")["results"][0]["anchor"] == "one", "the table has changed")
        with open(index, "wb") as file:
            file.write(b"SQLite format 3\0" + os.urandom(3000))
        h.run("update", "--wait")
        check("docSet.dsidx" in h.run("failed", "-c", "Pumps").stdout and h.json("search", "casing")["results"], "a damaged table costs itself")
        docset(h, "Pumps", {}, [("zz_vent", "Function", "a.html#one")])
        with tarfile.open(os.path.join(h.path, "Other.tgz"), "w:gz") as made:
            made.add(folder, "Pumps.docset")
        h.run("add", os.path.join(h.path, "Other.tgz"), "--wait")
        check(h.json("search", "zz_vent", "-c", "Other")["results"][0]["anchor"] == "one", "as it is downloaded")
