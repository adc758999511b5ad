#include "tests/unit/support/unit.h"

#include <sqlite3.h>
#include <string.h>

#include "indexer/parse/docset/docset.h"

/* The bytes of a database made by `sql`. */
static struct buf make(const char *sql)
{
    sqlite3 *database;
    sqlite3_int64 size;
    struct buf bytes = {0};
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    unsigned char *data = sqlite3_serialize(database, "main", &size, 0);
    buf_put(&bytes, data, (size_t)size);
    sqlite3_free(data);
    sqlite3_close(database);
    return bytes;
}

static void expect_bytes(struct slice bytes, const char *expected)
{
    struct tree *tree = NULL;
    struct err err = {0};
    struct buf out = {0};
    if (docset_parse(bytes, &tree, &err)) {
        assert_null(tree);
        assert_string_equal(err.message, expected);
        return;
    }
    assert_int_equal(tree->page.role, PAGE_MADE);
    for (uint32_t i = 0; i < tree->page.alias_count; i++) {
        const struct page_alias *alias = &tree->page.aliases[i];
        buf_printf(&out, "%s%.*s > %.*s", i ? " | " : "", (int)alias->text.size,
                   alias->text.data, (int)alias->url.size, alias->url.data);
    }
    assert_string_equal(buf_slice(&out).data, expected);
    buf_free(&out);
    tree_free(tree);
}

static void expect(const char *sql, const char *expected)
{
    struct buf bytes = make(sql);
    expect_bytes(buf_slice(&bytes), expected);
    buf_free(&bytes);
}

#define TABLE                                                                  \
    "CREATE TABLE searchIndex(id INTEGER PRIMARY KEY, name TEXT, type TEXT, "  \
    "path TEXT);"
#define ROW(name, path)                                                        \
    "INSERT INTO searchIndex(name, type, path) VALUES (" name                  \
    ", 'Function', " path ");"

static void test_symbols(void **state)
{
    (void)state;
    expect(
        TABLE ROW("'prime()'",
                  "'pumps.html#//apple_ref/c/Function/prime%28%29'")
            ROW("' a  b '", "'<dash_entry_name=x><dash_entry_menu=y>a b.html'"),
        "prime() > Documents/pumps.html#//apple_ref/c/Function/prime%28%29 "
        "| a b > Documents/a b.html");
    expect(TABLE, "");
}

static void test_rows_that_are_none(void **state)
{
    (void)state;
    expect(TABLE ROW("NULL", "'a.html'") ROW("'a'", "NULL")
               ROW("''", "'a.html'") ROW("'  '", "'a.html'")
                   ROW("x'fffe41'", "'a.html'") ROW("'b'", "x'410042'")
                       ROW("printf('%300s', 'x')", "'a.html'")
                           ROW("7", "'a.html'"),
           "7 > Documents/a.html");
}

static void test_other_tables(void **state)
{
    (void)state;
    expect("CREATE TABLE searchIndex(name, path, fragment);"
           "INSERT INTO searchIndex VALUES ('a', 'a.html', 'x'), ('b', "
           "'b.html', NULL)",
           "a > Documents/a.html#x | b > Documents/b.html");
    expect("CREATE TABLE t(n, p); INSERT INTO t VALUES ('a', 'a.html');"
           "CREATE VIEW searchIndex AS SELECT n AS name, p AS path FROM t",
           "a > Documents/a.html");
    expect("CREATE TABLE zfilepath(z_pk INTEGER PRIMARY KEY, zpath);"
           "CREATE TABLE ztokenmetainformation(z_pk INTEGER PRIMARY KEY, "
           "zfile, zanchor);"
           "CREATE TABLE ztoken(z_pk INTEGER PRIMARY KEY, ztokenname, "
           "zmetainformation);"
           "INSERT INTO zfilepath VALUES (4, 'a.html');"
           "INSERT INTO ztokenmetainformation VALUES (5, 4, 'x');"
           "INSERT INTO ztoken VALUES (1, 'prime', 5), (2, 'lost', 6)",
           "prime > Documents/a.html#x");
}

/* What a database may do besides holding rows. */
static void test_hostile(void **state)
{
    (void)state;
#define CANNOT "the symbols of the docset cannot be read: "
    expect("CREATE VIEW searchIndex AS SELECT hex(randomblob(9)) AS name, "
           "'a.html' AS path",
           CANNOT "not authorized to use function: hex");
    expect("CREATE VIEW searchIndex AS WITH RECURSIVE c(name) AS (SELECT 1 "
           "UNION ALL "
           "SELECT name FROM c) SELECT name, 'a.html' AS path FROM c",
           CANNOT "not authorized");
    expect("CREATE TABLE other(name, path)",
           CANNOT "no such table: searchIndex");
    expect_bytes(slice_of("no database at all, but long enough to have a "
                          "header of a hundred bytes, were it one.........."),
                 CANNOT "file is not a database");
    expect_bytes((struct slice){"", 0}, CANNOT "no such table: searchIndex");
}

/* Written by a log: its header says so. */
static void test_log(void **state)
{
    (void)state;
    struct buf bytes = make(TABLE ROW("'a'", "'a.html'"));
    bytes.data[18] = bytes.data[19] = 2;
    expect_bytes(buf_slice(&bytes), "a > Documents/a.html");
    buf_free(&bytes);
}

static void read_any(struct slice bytes)
{
    struct tree *tree = NULL;
    if (!docset_parse(bytes, &tree, NULL))
        tree_free(tree);
}

static void test_damage(void **state)
{
    (void)state;
    struct buf bytes = make("PRAGMA page_size = 512;" TABLE ROW(
        "'a'", "'a.html'") ROW("'b'", "'b.html'"));
    for (size_t size = 0; size < bytes.size; size += 7)
        read_any((struct slice){bytes.data, size});
    for (size_t at = 0; at < bytes.size; at++) {
        bytes.data[at] = (char)~bytes.data[at];
        read_any(buf_slice(&bytes));
        bytes.data[at] = (char)~bytes.data[at];
    }
    expect_bytes(buf_slice(&bytes),
                 "a > Documents/a.html | b > Documents/b.html");
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_rows_that_are_none),
        cmocka_unit_test(test_other_tables),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
