/* The table is searchIndex(name, type, path), or one that is laid out for Core Data.  The
 * database comes from a stranger: it is read from memory, one SELECT is all that is
 * allowed, and that in the jail. */
#include "indexer/parse/docset/docset.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    MAX_SYMBOLS = 1 << 20,
    MAX_NAME = 200, /* bytes; what is longer is no name */
    MAX_PATH = 4000,
    VERSIONS = 18, /* places of the header: how it is written, and read */
    HEADER = 100,
    JOURNAL = 1, /* not by a log beside it */
    LOG = 2
};

/* Of a symbol the name, the page below Documents with its anchor, and the anchor
 * where that stands by itself. */
static const char *const queries[] = {
    "SELECT ztokenname, zpath, zanchor FROM ztoken"
    " JOIN ztokenmetainformation ON zmetainformation = "
    "ztokenmetainformation.z_pk"
    " JOIN zfilepath ON zfile = zfilepath.z_pk",
    "SELECT name, path, fragment FROM searchIndex",
    "SELECT name, path, NULL FROM searchIndex", /* what is wrong is said of it */
};

struct reading {
    struct tree *tree;
    struct page_alias *aliases; /* [count] */
    size_t count, capacity;
    struct buf name, url;
};

void docset_load(void)
{
    unsigned char seed;
    sqlite3_initialize();
    sqlite3_randomness(sizeof seed, &seed); /* opens /dev/urandom, once */
}

/* ---- A symbol ---- */

static struct slice column(sqlite3_stmt *rows, int i)
{
    const unsigned char *text = sqlite3_column_text(rows, i);
    int size = sqlite3_column_bytes(rows, i);
    return (struct slice){text ? (const char *)text : "",
                          text && size > 0 ? (size_t)size : 0};
}

static bool is_text(struct slice text, size_t max)
{
    return text.size && text.size <= max &&
           !memchr(text.data, '\0', text.size) &&
           text_is_utf8(text.data, text.size);
}

/* Dash writes "<dash_entry_name=...>" before some paths. */
static struct slice without_remarks(struct slice path)
{
    const char *end;
    while (path.size && path.data[0] == '<' &&
           (end = memchr(path.data, '>', path.size))) {
        path.size -= (size_t)(end + 1 - path.data);
        path.data = end + 1;
    }
    return path;
}

static void take_row(struct reading *r, sqlite3_stmt *rows)
{
    struct slice name = column(rows, 0);
    struct slice path = without_remarks(column(rows, 1));
    struct slice anchor = column(rows, 2);
    if (!is_text(name, MAX_NAME) || !is_text(path, MAX_PATH) ||
        (anchor.size && !is_text(anchor, MAX_PATH)))
        return;
    buf_clear(&r->name);
    text_fold_space(&r->name, name);
    buf_clear(&r->url);
    buf_put_text(&r->url, "Documents/");
    buf_put_slice(&r->url, path);
    if (anchor.size) {
        buf_put_byte(&r->url, '#');
        buf_put_slice(&r->url, anchor);
    }
    if (!r->name.size)
        return;
    MEM_RESERVE(r->aliases, &r->capacity, r->count + 1);
    r->aliases[r->count++] =
        (struct page_alias){tree_copy_text(r->tree, buf_slice(&r->name)),
                            tree_copy_text(r->tree, buf_slice(&r->url))};
}

/* ---- The database ---- */

static int failed(sqlite3 *database, int code, struct err *err)
{
    if (code == SQLITE_NOMEM || code == SQLITE_TOOBIG)
        return err_set(err, ERR_LIMIT,
                       "needs more memory than a file may take to be read");
    return err_set(err, ERR_FORMAT,
                   "the symbols of the docset cannot be read: %s",
                   database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

/* Reading tables, and nothing else. */
static int allow(void *context, int action, const char *a, const char *b,
                 const char *c, const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK
                                                            : SQLITE_DENY;
}

static int restrict_it(sqlite3 *database)
{
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0,
                                 NULL);
    /* No file is made for what is sorted or joined. */
    if (code == SQLITE_OK)
        code = sqlite3_exec(database,
                            "PRAGMA temp_store = memory;"
                            "PRAGMA cell_size_check = on",
                            NULL, NULL, NULL);
    return code;
}

/* A copy, that may say that it goes with a log, which is not here. */
static unsigned char *copy(struct slice bytes)
{
    unsigned char *copied = sqlite3_malloc64(bytes.size + 1);
    if (!copied)
        return NULL;
    memcpy(copied, bytes.data, bytes.size);
    for (int i = 0; bytes.size >= HEADER && i < 2; i++)
        if (copied[VERSIONS + i] == LOG)
            copied[VERSIONS + i] = JOURNAL;
    return copied;
}

static int open_bytes(struct slice bytes, sqlite3 **ret, struct err *err)
{
    sqlite3 *database = NULL;
    int code =
        sqlite3_open_v2(":memory:", &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = restrict_it(database);
    unsigned char *copied = code == SQLITE_OK ? copy(bytes) : NULL;
    if (code == SQLITE_OK && !copied)
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = sqlite3_deserialize(
            database, "main", copied, (sqlite3_int64)bytes.size,
            (sqlite3_int64)bytes.size,
            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (code == SQLITE_OK)
        code = sqlite3_set_authorizer(database, allow, NULL);
    if (code == SQLITE_OK) {
        *ret = database;
        return 0;
    }
    failed(database, code, err);
    sqlite3_close(database);
    return err ? err->code : ERR_FORMAT;
}

static int prepare(sqlite3 *database, sqlite3_stmt **ret, struct err *err)
{
    int code = SQLITE_ERROR;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        code = sqlite3_prepare_v2(database, queries[i], -1, ret, NULL);
        if (code != SQLITE_ERROR)
            break;
    }
    return code == SQLITE_OK ? 0 : failed(database, code, err);
}

static int read_rows(struct reading *r, sqlite3 *database, struct err *err)
{
    sqlite3_stmt *rows;
    int code = prepare(database, &rows, err);
    if (code)
        return code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW && r->count < MAX_SYMBOLS)
        take_row(r, rows);
    sqlite3_finalize(rows);
    if (code == SQLITE_ROW)
        return err_set(err, ERR_LIMIT, "the docset has more than %d symbols",
                       MAX_SYMBOLS);
    return code == SQLITE_DONE ? 0 : failed(database, code, err);
}

int docset_parse(struct slice bytes, struct tree **ret_tree, struct err *err)
{
    struct reading r = {.tree = tree_new(false)};
    sqlite3 *database = NULL;
    int code = open_bytes(bytes, &database, err);
    if (!code)
        code = read_rows(&r, database, err);
    sqlite3_close(database);
    tree_add_file(r.tree, (struct slice){"", 0});
    tree_add_node(r.tree, TREE_NONE, 0, slice_of("Symbols"),
                  (struct slice){"", 0});
    r.tree->page.role = PAGE_MADE;
    r.tree->page.aliases = tree_copy_aliases(r.tree, r.aliases, r.count);
    r.tree->page.alias_count = (uint32_t)r.count;
    if (!code)
        code = tree_seal(r.tree, err);
    if (code)
        tree_free(r.tree);
    else
        *ret_tree = r.tree;
    buf_free(&r.name);
    buf_free(&r.url);
    free(r.aliases);
    return code;
}
