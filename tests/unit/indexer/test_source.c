#include "tests/unit/support/spans.h"
#include "tests/unit/support/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "daemon/answer/quote.h"
#include "indexer/index.h"
#include "indexer/inputs.h"
#include "indexer/parsers.h"
#include "indexer/scan.h"
#include "indexer/source.h"

/* Files on their way to the parser: which are read, packed ones, and what
 * happens on the way. */

static char *folder;

/* What happens between the opening of a file and all that is done with it: the linker
 * puts this in the place of open (mk/tests.mk). */
static void (*_Atomic after_opening)(void);
static const char
    *not_given; /* end of the path of a file that the disk does not give */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    size_t size = strlen(path), end = not_given ? strlen(not_given) : 0;
    if (end && size > end && !strcmp(path + size - end, not_given)) {
        errno = EIO;
        return -1;
    }
    int fd = __real_open(path, flags, mode);
    void (*then)(void) = atomic_exchange(&after_opening, NULL);
    if (then)
        then();
    return fd;
}

static int set_up_folder(void **state)
{
    folder = unit_folder();
    return set_up(state);
}

static int tear_down_folder(void **state)
{
    unit_folder_remove(folder);
    return tear_down(state);
}

static char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, struct slice bytes)
{
    assert_int_equal(file_write(path_of(name), bytes, NULL), 0);
}

static struct buf packed(struct slice bytes)
{
    struct buf out = {0};
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes.data,
                       .avail_in = (unsigned)bytes.size};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, 0),
                     Z_OK);
    size_t max = deflateBound(&stream, bytes.size);
    buf_reserve(&out, max);
    stream.next_out = (unsigned char *)out.data;
    stream.avail_out = (unsigned)max;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.size = stream.total_out;
    deflateEnd(&stream);
    return out;
}

/* ---- Names ---- */

static void test_names(void **state)
{
    (void)state;
    assert_true(source_is_named("a.html"));
    assert_true(source_is_named("b/A.HTM"));
    assert_true(source_is_named("a.xht"));
    assert_true(source_is_named("toc.hhc"));
    assert_int_equal(source_format("Index.HHK"), PARSER_KEYWORDS);
    assert_true(source_is_named("a.html.gz"));
    assert_true(source_is_named("a.XHTML.GZ"));
    assert_false(source_is_named("a.txt"));
    assert_false(source_is_code("a.txt"));
    assert_true(source_is_code("b/a.PY.gz"));
    assert_true(source_is_code("core.vhdl")); /* what chips are described in */
    assert_true(source_is_code("synth.ys"));
    assert_true(source_is_code("settings.yaml"));
    assert_true(source_is_code("thesis-files/options.clo"));
    assert_true(source_is_code("Filter.cxx"));
    assert_false(source_is_code("a.html"));
    assert_false(source_is_code("py"));
    assert_true(source_is_named("en/contents.js")); /* LibreOffice's */
    assert_false(source_is_code("contents.js"));
    assert_true(source_is_code("en/table-contents.js"));
    assert_false(source_is_named("table-contents.js"));
    assert_true(source_is_part("a.py"));
    assert_true(source_is_part("names.mac"));
    assert_true(source_is_part("lib/pgfcore.code.tex"));
    assert_false(source_is_part("code.tex"));
    assert_false(source_is_named("a.gz"));
    assert_false(source_is_named("a/.html"));
    assert_false(source_is_named(".html"));
    assert_false(source_is_named("a.html.gz.gz"));
    assert_false(source_is_named("ahtml"));
    assert_int_equal(source_format("a.html.gz"), PARSER_HTML);
    assert_int_equal(source_format("a.xhtml"), PARSER_XML);
    assert_int_equal(source_format("a.xml.gz"), PARSER_XML);
    assert_int_equal(source_format("map.jhm"), PARSER_XML);
    assert_int_equal(source_format("toc.ncx"), PARSER_XML);
    static const char *const scripts[] = {
        "navtreedata.js", "js/hmcontent.js", "_toc.json",       "Data/Toc.js",
        "toc1.new.js.gz", "Data/Tocs/A.js",  "a/Data/Tocs/b.js"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        assert_int_equal(source_format(scripts[i]), PARSER_SCRIPT);
    assert_false(source_is_named("MyData/Tocs/b.js"));
    assert_false(source_is_named("Data/Tocs/a/b.js"));
    assert_false(source_is_named("a.json"));
}

static bool all_links;

static void expect_scan(const char *ignore, const char *shown)
{
    struct source_root root = {.path = folder, .all_links = all_links};
    struct scan scan;
    struct buf out = {0};
    assert_int_equal(scan_folder(&root, ignore, &scan, NULL), 0);
    for (size_t i = 0; i < scan.count; i++)
        buf_printf(&out, "%s%s%s\n", scan.files[i].path,
                   scan.files[i].failure ? ": " : "",
                   scan.files[i].failure ? scan.files[i].failure : "");
    assert_string_equal(out.data ? out.data : "", shown);
    scan_free(&scan);
    buf_free(&out);
}

static void test_scan(void **state)
{
    (void)state;
    struct slice docbook = slice_of("<!DOCTYPE x PUBLIC '-//OASIS//DTD DocBook "
                                    "XML'><book/>");
    struct buf packed_docbook = packed(docbook);
    write_file("a.html", slice_of("x"));
    write_file("b.html.gz", slice_of("x"));
    write_file("c.xml", docbook);
    write_file("d.xml.gz", buf_slice(&packed_docbook));
    write_file("e.xml", slice_of("<rss/>"));
    write_file("f.xml", slice_of(""));
    write_file("g.txt", slice_of("x"));
    write_file("h.xml", slice_of("<toc><topic label='Use'/></toc>"));
    write_file("k.xml", slice_of("<HelpTOC>\n<HelpTOCNode Title='Use'/>"));
    write_file("k1.xml", slice_of("<HelpTOCNode Title='A'><HelpTOCNode/>"));
    write_file("contents.js", slice_of("var contents = ['a'];"));
    assert_int_equal(mkdir(path_of("i"), 0755), 0);
    write_file("i/contents.js",
               slice_of("document.getElementById(\"Contents\").innerHTML='<ul>"
                        "</ul>'"));
    assert_int_equal(mkdir(path_of("j"), 0755), 0);
    write_file("j/contents.js",
               slice_of("var docbook = document.getElementById(\"Contents\");"
                        "/* .getElementById(\"Contents\").innerHTML=' */"));
    write_file("hmcontent.js", slice_of("\xEF\xBB\xBFhmLoadTOC({items:[]})"));
    write_file("_toc.json", slice_of("[{\"id\":\"a\",\"parent\":\"#\"}]"));
    write_file("l.xml", slice_of("<CatapultToc><TocEntry Title='Use'/>"));
    write_file("toc.js", slice_of("define({load: function() {}});"));
    write_file("Toc.js", slice_of("define({numchunks:0,tree:{n:[]}});"));
    write_file("toc1.js", slice_of("define({\n \"/a.htm\": {\n i: [1],\n t: "
                                   "['A']}});"));
    write_file("toc.new.js", slice_of("(function() {\nvar toc = [];})();"));
    write_file("navtreedata.js", slice_of("/* MIT */\nvar NAVTREE =\n[\n]"));
    buf_free(&packed_docbook);
    expect_scan("",
                "Toc.js\na.html\nb.html.gz\nc.xml\nd.xml.gz\nh.xml\n"
                "hmcontent.js\ni/contents.js\nk.xml\nl.xml\nnavtreedata.js\n"
                "toc.new.js\ntoc1.js\n");
    expect_scan("*.gz\nc*\nh*\ni\nk*\nl*\nn*\n*oc*", "a.html\n");
}

/* As the store in a folder above it, by whatever path; not what is below it. */
static void test_a_folder_is_passed_over(void **state)
{
    (void)state;
    char *below = mem_strdup(path_of("sub"));
    struct source_root root = {.path = folder, .except = below}, within = root;
    struct scan scan;
    assert_int_equal(mkdir(below, 0755), 0);
    assert_int_equal(mkdir(path_of("sub/deep"), 0755), 0);
    write_file("sub/a.html", slice_of("x"));
    write_file("sub/deep/b.html", slice_of("x"));
    write_file("c.html", slice_of("x"));
    assert_int_equal(symlink("sub", path_of("another")), 0);
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    assert_int_equal(scan.count, 1);
    assert_string_equal(scan.files[0].path, "c.html");
    scan_free(&scan);
    within.path = path_of("sub/deep");
    assert_int_equal(scan_folder(&within, "", &scan, NULL), 0);
    assert_int_equal(scan.count, 1);
    scan_free(&scan);
    free(below);
}

static void test_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("sub"), 0755), 0);
    write_file("sub/a.html", slice_of("x"));
    assert_int_equal(symlink("..", path_of("sub/up")), 0);
    assert_int_equal(symlink(".", path_of("here")), 0);
    assert_int_equal(symlink("sub/a.html", path_of("b.html")), 0);
    assert_int_equal(symlink("loop.html", path_of("loop.html")), 0);
    assert_int_equal(symlink("gone", path_of("gone.html")), 0);
    assert_int_equal(mkdir(path_of("folder.html"), 0755), 0);
    assert_int_equal(mkfifo(path_of("pipe.html"), 0644), 0);
    expect_scan("", "gone.html: No such file or directory\n"
                    "loop.html: Too many levels of symbolic links\n"
                    "pipe.html: not a regular file\nsub/a.html\n");
}

static void test_links_outside(void **state)
{
    (void)state;
    struct buf other = {0}, file = {0}, sibling = {0};
    buf_printf(&other, "%s-other", folder);
    assert_int_equal(mkdir(other.data, 0755), 0);
    buf_printf(&file, "%s/a.html", other.data);
    assert_int_equal(file_write(file.data, slice_of("x"), NULL), 0);
    assert_int_equal(symlink(file.data, path_of("a.html")), 0);
    assert_int_equal(symlink(other.data, path_of("other")), 0);
    assert_int_equal(symlink("..", path_of("above")), 0);
    assert_int_equal(symlink("/dev/null", path_of("null.html")), 0);
    write_file("b.html", slice_of("y"));
    /* Not below the root, though its name begins alike. */
    buf_printf(&sibling, "%s2", folder);
    assert_int_equal(mkdir(sibling.data, 0755), 0);
    assert_int_equal(symlink(sibling.data, path_of("sibling")), 0);
    static const char outside[] = ": " SOURCE_NOT_FOLLOWED "\n";
    struct buf shown = {0};
    buf_printf(&shown, "a.html%sabove%sb.html\n", outside, outside);
    buf_printf(&shown, "null.html: not a regular file\nother%ssibling%s",
               outside, outside);
    expect_scan("", shown.data);
    all_links = true;
    expect_scan("above", "a.html\nb.html\nnull.html: not a regular file\n");
    all_links = false;
    rmdir(sibling.data);
    unit_folder_remove(other.data);
    buf_free(&other);
    buf_free(&file);
    buf_free(&sibling);
    buf_free(&shown);
}

/* A link that takes a file's place after the scan leads nowhere, either. */
static void test_what_is_opened_decides(void **state)
{
    (void)state;
    struct buf other = {0}, secret = {0}, bytes = {0};
    struct source_root root = {.path = folder};
    struct err err = {0};
    buf_printf(&other, "%s-other", folder);
    assert_int_equal(mkdir(other.data, 0755), 0);
    buf_printf(&secret, "%s/secret", other.data);
    assert_int_equal(file_write(secret.data, slice_of("key"), NULL), 0);
    assert_int_equal(symlink(secret.data, path_of("a.html")), 0);
    assert_int_equal(source_read(&root, path_of("a.html"), &bytes, &err),
                     ERR_STALE);
    assert_non_null(strstr(err.message, SOURCE_NOT_FOLLOWED));
    assert_int_equal(
        source_read_span(&root, path_of("a.html"), 0, 3, &bytes, &err),
        ERR_STALE);
    assert_int_equal(bytes.size, 0);
    /* By a folder that has become a link, too. */
    assert_int_equal(symlink(other.data, path_of("sub")), 0);
    assert_int_equal(source_read(&root, path_of("sub/secret"), &bytes, &err),
                     ERR_STALE);
    root.all_links = true;
    assert_int_equal(source_read(&root, path_of("a.html"), &bytes, &err), 0);
    assert_string_equal(bytes.data, "key");
    unit_folder_remove(other.data);
    buf_free(&other);
    buf_free(&secret);
    buf_free(&bytes);
}

/* As Debian's manuals are: /usr/share/doc leads to other places in /usr/share. */
static void test_what_the_system_installed(void **state)
{
    (void)state;
    struct source_root system = {.path = "/usr/share"}, own = {.path = folder};
    assert_true(source_is_within(&system, "/usr/lib/os-release"));
    assert_false(source_is_within(&system, "/etc/passwd"));
    assert_false(source_is_within(&system, "/usrx"));
    assert_false(source_is_within(&own, "/usr/lib/os-release"));
    /* What is not root's, or not for everybody, was not installed for all. */
    struct stat file = {.st_mode = S_IFREG | 0644},
                folder_stat = {.st_mode = S_IFDIR | 0755};
    assert_true(source_is_installed("/usr/share/a", &file));
    assert_true(source_is_installed("/usr/share", &folder_stat));
    assert_false(source_is_installed("/etc/a", &file));
    file.st_mode = S_IFREG | 0640;
    assert_false(source_is_installed("/usr/share/a", &file));
    folder_stat.st_mode = S_IFDIR | 0754;
    assert_false(source_is_installed("/usr/share", &folder_stat));
    file = (struct stat){.st_mode = S_IFREG | 0644, .st_uid = 1000};
    assert_false(source_is_installed("/usr/share/a", &file));
}

static bool opens(struct inputs *inputs, const char *name, struct buf *reason)
{
    struct slice read = {0};
    buf_clear(reason);
    return inputs_open(inputs, slice_of(name), &read, reason);
}

/* As on disks where capital letters are small ones: the author's had them so. */
static void test_inputs_are_found_whatever_their_capital_letters(void **state)
{
    (void)state;
    struct source_root root = {.path = folder};
    struct scan scan;
    struct buf path = {0};
    assert_int_equal(mkdir(path_of("text"), 0755), 0);
    assert_int_equal(mkdir(path_of("ru"), 0755), 0);
    assert_int_equal(mkdir(path_of("ru/text"), 0755), 0);
    write_file("text/Chapter.tex", slice_of("one"));
    write_file("ru/text/Chapter.tex", slice_of("another"));
    write_file("text/b.tex", slice_of("small"));
    write_file("text/B.tex", slice_of("capital"));
    write_file("ru/Style.tex", slice_of("its only one"));
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    struct inputs inputs = {.scan = &scan, .root = &root, .document = "d.tex"};
    assert_true(opens(&inputs, "text/chapter.tex", &path));
    assert_string_equal(path.data, "text/Chapter.tex");
    assert_true(opens(&inputs, "text/B.tex", &path));
    assert_string_equal(path.data, "text/B.tex");
    assert_false(opens(&inputs, "TEXT/b.tex", &path)); /* which? */
    assert_true(opens(&inputs, "style.tex", &path));
    assert_string_equal(path.data, "ru/Style.tex");
    assert_true(opens(&inputs, "ru//./Style.tex", &path));
    inputs.document = "x/d.tex";
    assert_true(opens(&inputs, "ru//./Style.tex", &path)); /* by its end */
    buf_free(&inputs.record);
    inputs_free(&inputs);
    scan_free(&scan);
    buf_free(&path);
}

/* What a makefile makes of a file, in a folder that the manual has not, is that file; of a
 * folder that it has, nothing is. */
static void test_inputs_that_are_built_are_their_sources(void **state)
{
    (void)state;
    struct source_root root = {.path = folder};
    struct scan scan;
    struct buf path = {0};
    assert_int_equal(mkdir(path_of("book"), 0755), 0);
    assert_int_equal(mkdir(path_of("book/parts"), 0755), 0);
    write_file("book/intro.tex", slice_of("source"));
    write_file("book/style.sty", slice_of("style"));
    write_file("book/parts/a.tex", slice_of("another"));
    write_file("other.tex", slice_of("not beside it"));
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    struct inputs inputs = {
        .scan = &scan, .root = &root, .document = "book/book.tex"};
    assert_true(opens(&inputs, "latex.out/intro.tex", &path));
    assert_string_equal(path.data, "book/intro.tex");
    assert_true(opens(&inputs, "../build/intro.tex", &path));
    assert_false(opens(&inputs, "parts/intro.tex", &path));
    assert_false(opens(&inputs, "latex.out/other.tex", &path));
    assert_false(opens(&inputs, "latex.out/style.sty", &path));
    assert_false(opens(&inputs, "latex.out/book.tex", &path));
    buf_free(&inputs.record);
    inputs_free(&inputs);
    scan_free(&scan);
    buf_free(&path);
}

/* However many files a document names that are large when unpacked, they are not
 * unpacked for it one after the other. */
static void test_inputs_are_unpacked_up_to_a_limit(void **state)
{
    (void)state;
    struct source_root root = {.path = folder};
    struct scan scan;
    struct buf spaces = {0}, path = {0};
    buf_reserve(&spaces, PARSER_MAX_BYTES);
    memset(spaces.data, ' ', PARSER_MAX_BYTES - 10);
    spaces.size = PARSER_MAX_BYTES - 10;
    struct buf bomb = packed(buf_slice(&spaces)), one = packed(slice_of("one"));
    write_file("a.tex.gz", buf_slice(&one));
    write_file("y.tex.gz", buf_slice(&one));
    write_file("z.tex", slice_of("plain"));
    for (char name[] = "b.tex.gz"; name[0] < 'h'; name[0]++)
        write_file(name, buf_slice(&bomb));
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    struct inputs inputs = {.scan = &scan, .root = &root, .document = "d.tex"};
    assert_true(opens(&inputs, "a.tex", &path));
    assert_true(opens(&inputs, "b.tex", &path));
    for (char name[] = "c.tex"; name[0] < 'h'; name[0]++)
        assert_false(opens(&inputs, name, &path));
    assert_non_null(strstr(path.data, "larger than 64 MiB"));
    assert_false(opens(&inputs, "y.tex", &path));
    assert_non_null(strstr(path.data, "larger than 64 MiB"));
    assert_true(opens(&inputs, "z.tex", &path));
    assert_true(opens(&inputs, "a.tex", &path));
    buf_free(&inputs.record);
    inputs_free(&inputs);
    scan_free(&scan);
    buf_free(&spaces);
    buf_free(&bomb);
    buf_free(&one);
    buf_free(&path);
}

static const size_t SEVERAL = SIZE_MAX - 1;

/* The one file whose path ends so, looked for one by one. */
static size_t naive_by_end(const struct scan *scan, const char *name,
                           int (*compare)(const char *, const char *, size_t))
{
    size_t found = SIZE_MAX, size = strlen(name);
    for (size_t i = 0; i < scan->count; i++) {
        const char *path = scan->files[i].path;
        size_t all = strlen(path) - (source_is_gzipped(path) ? 3 : 0);
        if (all < size || compare(path + all - size, name, size) != 0 ||
            (all > size && path[all - size - 1] != '/'))
            continue;
        if (found != SIZE_MAX)
            return SEVERAL;
        found = i;
    }
    return found;
}

/* Capital letters count as small ones if there is none otherwise. */
static size_t naive_by_end_of(const struct scan *scan, const char *name)
{
    size_t found = naive_by_end(scan, name, strncmp);
    if (found == SIZE_MAX)
        found = naive_by_end(scan, name, strncasecmp);
    return found == SEVERAL ? SIZE_MAX : found;
}

static void test_files_are_found_by_their_ends(void **state)
{
    (void)state;
    static const char *const parts[] = {"a",     "b",        "ab",   "a.tex",
                                        "B.tex", "b.tex.gz", "c.tex"};
    struct source_root root = {.path = folder};
    struct scan scan;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mkdir(path_of(parts[i]), 0755), 0);
        for (int k = 0; k < 3; k++) {
            struct buf path = {0};
            buf_printf(&path, "%s/%s", parts[i], parts[k]);
            assert_int_equal(mkdir(path_of(path.data), 0755), 0);
            buf_printf(&path, "/%s", parts[3 + (i + k) % 4]);
            write_file(path.data, slice_of(path.data));
            buf_free(&path);
        }
        write_file(parts[4 + i], slice_of(parts[4 + i]));
    }
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    assert_int_equal(scan.count, 12);
    for (int i = 0; i < 7 * 7 * 7; i++) {
        struct buf name = {0};
        int depth = 1 + i % 3;
        for (int d = 0, rest = i; d < depth; d++, rest /= 7)
            buf_printf(&name, "%s%s", d ? "/" : "", parts[rest % 7]);
        assert_int_equal(scan_find_by_end(&scan, buf_slice(&name)),
                         naive_by_end_of(&scan, name.data));
        buf_free(&name);
    }
    scan_free(&scan);
}

static void test_no_permission(void **state)
{
    (void)state;
    uid_t user = geteuid();
    assert_int_equal(mkdir(path_of("shut"), 0755), 0);
    write_file("shut/a.html", slice_of("x"));
    write_file("b.html", slice_of("x"));
    assert_int_equal(chmod(path_of("shut"), 0), 0);
    assert_int_equal(chmod(path_of("b.html"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    if (!user)
        assert_int_equal(seteuid(65534), 0);
    expect_scan("", "b.html\nshut: Permission denied\n");
    struct buf bytes = {0};
    struct err err = {0};
    int rc = source_read(NULL, path_of("b.html"), &bytes, &err);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(chmod(path_of("shut"), 0700), 0);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err.message, "Permission denied"));
}

/* The stat is that of the bytes, wherever the path leads before and after. */
static void test_a_stat_comes_with_the_bytes(void **state)
{
    (void)state;
    struct buf bytes = {0};
    struct stat read, there;
    write_file("a.html", slice_of("<p>one"));
    assert_int_equal(
        source_read_stat(NULL, path_of("a.html"), &bytes, &read, NULL), 0);
    assert_int_equal(stat(path_of("a.html"), &there), 0);
    assert_int_equal(read.st_ino, there.st_ino);
    assert_int_equal(read.st_size, bytes.size);
    assert_int_equal(read.st_mtim.tv_nsec, there.st_mtim.tv_nsec);
    buf_free(&bytes);
}

/* ---- Packed ---- */

static int unpack(struct slice bytes, struct buf *ret, struct err *err)
{
    buf_put_slice(ret, bytes);
    int rc = source_unpack("a.html.gz", ret, err);
    if (rc)
        buf_free(ret);
    return rc;
}

static void test_packed(void **state)
{
    (void)state;
    struct buf one = packed(slice_of("<p>one")), out = {0};
    struct err err = {0};
    assert_int_equal(unpack(buf_slice(&one), &out, &err), 0);
    assert_string_equal(out.data, "<p>one");
    buf_free(&out);
    /* Two in one file, and something behind them. */
    struct buf two = packed(slice_of(" two"));
    struct buf both = {0};
    buf_put_slice(&both, buf_slice(&one));
    buf_put_slice(&both, buf_slice(&two));
    buf_put_text(&both, "garbage");
    assert_int_equal(unpack(buf_slice(&both), &out, &err), 0);
    assert_string_equal(out.data, "<p>one two");
    buf_free(&out);
    for (size_t cut = 0; cut < one.size; cut++) {
        assert_int_equal(unpack((struct slice){one.data, cut}, &out, &err),
                         ERR_FORMAT);
        assert_string_equal(err.message, "its compressed data end early");
    }
    one.data[one.size - 6] ^= 1;
    assert_int_equal(unpack(buf_slice(&one), &out, &err), ERR_FORMAT);
    assert_string_equal(err.message, "its compressed data are damaged");
    assert_int_equal(unpack(slice_of("<p>plain"), &out, &err), ERR_FORMAT);
    struct buf plain = {0};
    buf_put_text(&plain, "<p>plain");
    assert_int_equal(source_unpack("a.html", &plain, &err), 0);
    assert_string_equal(plain.data, "<p>plain");
    buf_free(&plain);
    buf_free(&one);
    buf_free(&two);
    buf_free(&both);
}

static void test_zip_bomb(void **state)
{
    (void)state;
    struct buf bomb = {0};
    for (int i = 0; i < PARSER_MAX_BYTES >> 20; i++) {
        struct buf zeros = {0};
        buf_reserve(&zeros, (1 << 20) + 1);
        memset(zeros.data, ' ', 1 << 20);
        zeros.size = (1 << 20) + (i == 0);
        struct buf member = packed(buf_slice(&zeros));
        buf_put_slice(&bomb, buf_slice(&member));
        buf_free(&zeros);
        buf_free(&member);
    }
    struct buf out = {0};
    struct err err = {0};
    assert_int_equal(unpack(buf_slice(&bomb), &out, &err), ERR_LIMIT);
    assert_string_equal(err.message, "larger than 64 MiB decompressed");
    buf_free(&bomb);
}

/* A document is made of one moment of what it includes, which is unpacked once. */
static void test_inputs_are_read_once(void **state)
{
    (void)state;
    struct source_root root = {.path = folder};
    struct scan scan;
    struct buf bytes = packed(slice_of("first")), path = {0};
    struct slice read = {0};
    write_file("a.tex.gz", buf_slice(&bytes));
    write_file("b.tex.gz", slice_of("no gzip"));
    assert_int_equal(scan_folder(&root, "", &scan, NULL), 0);
    struct inputs inputs = {.scan = &scan, .root = &root, .document = "d.tex"};
    assert_true(inputs_open(&inputs, slice_of("a.tex"), &read, &path));
    assert_true(slice_is(read, "first"));
    buf_clear(&path);
    assert_false(inputs_open(&inputs, slice_of("b.tex"), &read, &path));
    assert_non_null(strstr(path.data, "damaged"));
    write_file("a.tex.gz", slice_of("no gzip"));
    write_file("b.tex.gz", buf_slice(&bytes));
    buf_clear(&path);
    assert_true(inputs_open(&inputs, slice_of("a.tex"), &read, &path));
    assert_true(slice_is(read, "first"));
    buf_clear(&path);
    assert_false(inputs_open(&inputs, slice_of("b.tex"), &read, &path));
    assert_non_null(strstr(path.data, "damaged"));
    buf_free(&inputs.record);
    inputs_free(&inputs);
    scan_free(&scan);
    buf_free(&bytes);
    buf_free(&path);
}

/* Places are those of the decompressed bytes. */
static void test_packed_quote(void **state)
{
    (void)state;
    static const char html[] = "<p>x</p><p>one <b>two</b> three</p>";
    struct buf bytes = packed(slice_of(html)), span = {0};
    char name[] = "a.html.gz";
    write_file(name, buf_slice(&bytes));
    struct slice files[] = {slice_of(name)};
    struct tree outline = {.files = files, .file_count = 1};
    struct view view = {.manual = {.root = folder}, .outline = &outline};
    struct passage passage = {.view = &view,
                              .text = slice_of("two three"),
                              .block = {.file = 0, .span = {8, 31}}};
    struct quote quote;
    assert_int_equal(quote_check(parser, &passage, &quote, NULL), 0);
    assert_int_equal(source_read_span(NULL, path_of(name), quote.span.from,
                                      quote.span.to, &span, NULL),
                     0);
    assert_string_equal(span.data, "two</b> three");
    buf_free(&span);
    assert_int_equal(source_read_span(NULL, path_of(name), 0, 99, &span, NULL),
                     ERR_STALE);
    quote_free(&quote);
    buf_free(&bytes);
}

/* ---- Changing meanwhile ---- */

static atomic_bool done;

static void *keep_growing(void *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    while (!atomic_load(&done))
        if (write(fd, "x", 1) < 0)
            break;
    close(fd);
    return NULL;
}

static void test_changing(void **state)
{
    (void)state;
    struct buf bytes = {0};
    buf_reserve(&bytes, 32 << 20);
    memset(bytes.data, 'x', 32 << 20);
    bytes.size = 32 << 20;
    write_file("a.html", buf_slice(&bytes));
    buf_free(&bytes);
    char *path = path_of("a.html");
    pthread_t thread;
    atomic_store(&done, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_growing, path), 0);
    struct err err = {0};
    int rc = 0;
    for (int i = 0; i < 50 && !rc; i++) {
        buf_free(&bytes);
        rc = source_read(NULL, path, &bytes, &err);
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err.message, "changes while it is read"));
    assert_int_equal(source_read(NULL, path, &bytes, &err), 0);
    assert_true(bytes.size > 32 << 20);
    buf_free(&bytes);
}

static bool same_tree(const char *a, const char *b)
{
    struct hash128 content = hash_bytes("bytes", 5);
    return hash_equal(parsers_tree_name(content, a),
                      parsers_tree_name(content, b));
}

static void the_same_bytes_may_read_otherwise(void **state)
{
    (void)state;
    assert_true(same_tree("a.html", "b/c.htm"));
    assert_true(same_tree("a.html.gz", "b.HTML.GZ"));
    assert_false(same_tree("a.html", "a.html.gz"));
    assert_false(same_tree("a.html", "a.xhtml"));
}

/* The name that a version of the parser gives the tree of "bytes" as HTML. */
static struct hash128 name_by(unsigned char version)
{
    unsigned char bytes[19];
    hash_write(hash_bytes("bytes", 5), bytes);
    bytes[16] = version;
    bytes[17] = (unsigned char)source_format("a.html");
    bytes[18] = 0;
    return hash_bytes(bytes, sizeof bytes);
}

static bool is_tree(const char *path, const char *content, struct hash128 tree)
{
    struct file file = {.path = mem_strdup(path),
                        .content = hash_bytes(content, strlen(content)),
                        .tree = tree};
    bool is = parsers_is_tree(&file);
    file_free(&file);
    return is;
}

/* A store that has just been opened by a newer program is not damaged. */
static void trees_of_earlier_versions_are_known(void **state)
{
    (void)state;
    assert_true(
        hash_equal(name_by(PARSER_VERSION),
                   parsers_tree_name(hash_bytes("bytes", 5), "a.html")));
    for (unsigned char v = 1; v <= PARSER_VERSION; v++) {
        assert_true(is_tree("a.html", "bytes", name_by(v)));
        assert_false(is_tree("a.html", "others", name_by(v)));
        assert_false(is_tree("a.html.gz", "bytes", name_by(v)));
    }
    assert_false(is_tree("a.html", "bytes", name_by(PARSER_VERSION + 1)));
}

#define FOLDER_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)

static void put_back(void)
{
    char aside[512];
    snprintf(aside, sizeof aside, "%s", path_of("aside.html"));
    assert_int_equal(rename(aside, path_of("swapped.html")), 0);
}

/* Another file of the same size stands at the path only while it is opened: its bytes do
 * not come with the record of the one that stands there before and after. */
static void what_was_opened_is_what_is_recorded(void **state)
{
    (void)state;
    const struct source_root root = {.path = folder};
    struct buf bytes = {0};
    struct stat st, now;
    write_file("aside.html", slice_of("<p>The first"));
    write_file("swapped.html", slice_of("<p>Another.."));
    after_opening = put_back;
    assert_int_equal(
        source_read_stat(&root, path_of("swapped.html"), &bytes, &st, NULL), 0);
    assert_null(after_opening);
    assert_int_equal(stat(path_of("swapped.html"), &now), 0);
    assert_int_equal(st.st_ino, now.st_ino);
    assert_true(slice_is(buf_slice(&bytes), "<p>The first"));
    buf_free(&bytes);
}

/* ---- Parts that cannot be read ---- */

static bool has_title(struct store *store, uint32_t id, const char *title)
{
    struct store_txn *txn;
    struct manual manual;
    struct tree *outline;
    bool found = false;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, id, &manual, NULL), 0);
    assert_int_equal(
        store_get_outline(txn, id, manual.generation, &outline, NULL), 0);
    store_end(txn);
    for (uint32_t n = 0; n < outline->count; n++)
        found =
            found || memmem(outline->nodes[n].title.data,
                            outline->nodes[n].title.size, title, strlen(title));
    tree_free(outline);
    manual_free(&manual);
    return found;
}

static void update(struct store *store, uint32_t id)
{
    struct index_report report;
    struct err err = {0};
    const char *program = getenv("LECTERN_PARSE");
    const struct index_options options = {
        .parser.program = program ? program : "build/release/lectern-parse"};
    if (index_update(store, id, &options, NULL, NULL, NULL, &report, &err))
        fail_msg("%s", err.message);
}

/* What a document includes no more is one itself, if not at once: the disk did not give
 * it when that was found out. */
static void a_part_that_was_not_given_is_a_document_later(void **state)
{
    (void)state;
    struct store *store = open_store(path_of("store"));
    struct manual manual;
    char root[512];
    snprintf(root, sizeof root, "%s", path_of("book"));
    const struct registering asked = {.folder = {.path = root}, .name = "m"};
    assert_int_equal(mkdir(root, 0700), 0);
    write_file("book/main.tex",
               slice_of("\\documentclass{article}\\begin{document}"
                        "\\section{Main}\\input{part}\\end{document}"));
    write_file("book/part.tex", slice_of("\\section{Part}Okapi."));
    assert_int_equal(index_register(store, &asked, &manual, NULL), 0);
    update(store, manual.id);
    assert_true(has_title(store, manual.id, "Part"));
    write_file("book/main.tex",
               slice_of("\\documentclass{article}\\begin{document}"
                        "\\section{Main}Nothing.\\end{document}"));
    not_given = "/part.tex";
    update(store, manual.id);
    not_given = NULL;
    update(store, manual.id);
    assert_true(has_title(store, manual.id, "Part"));
    manual_free(&manual);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_names),
        FOLDER_TEST(test_scan),
        FOLDER_TEST(test_a_folder_is_passed_over),
        FOLDER_TEST(test_links),
        FOLDER_TEST(test_no_permission),
        FOLDER_TEST(test_links_outside),
        FOLDER_TEST(test_inputs_are_read_once),
        FOLDER_TEST(test_inputs_are_found_whatever_their_capital_letters),
        FOLDER_TEST(test_inputs_that_are_built_are_their_sources),
        FOLDER_TEST(test_inputs_are_unpacked_up_to_a_limit),
        FOLDER_TEST(test_files_are_found_by_their_ends),
        FOLDER_TEST(test_what_is_opened_decides),
        FOLDER_TEST(test_what_the_system_installed),
        FOLDER_TEST(test_packed),
        FOLDER_TEST(test_zip_bomb),
        FOLDER_TEST(test_packed_quote),
        FOLDER_TEST(test_changing),
        FOLDER_TEST(test_a_stat_comes_with_the_bytes),
        FOLDER_TEST(what_was_opened_is_what_is_recorded),
        FOLDER_TEST(a_part_that_was_not_given_is_a_document_later),
        cmocka_unit_test(the_same_bytes_may_read_otherwise),
        cmocka_unit_test(trees_of_earlier_versions_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
