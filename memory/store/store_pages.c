/* What pages of LMDB's file are of.  Beside our tables there are two of its own,
 * the list of free pages and the names of the tables, and two pages to start
 * from. */
#include <string.h>

#include "memory/store/store_internal.h"

enum { FREE_LIST = 0, NAMES = 1, START_PAGES = 2 };

static int add_table(struct store_txn *txn, MDB_dbi table, const char *name,
                     struct store_pages *pages)
{
    MDB_stat stat;
    int rc = trap_stat(txn, table, &stat);
    if (rc)
        return rc;
    size_t count =
        stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    pages->tables[pages->count].name = name;
    pages->tables[pages->count].entries = stat.ms_entries;
    pages->tables[pages->count++].bytes = (uint64_t)count * stat.ms_psize;
    return 0;
}

/* A record of the list is the number of pages and their numbers. */
static int count_free(struct store_txn *txn, uint64_t page,
                      struct store_pages *pages)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    size_t count;
    int rc = mdb_cursor_open(txn->mdb, FREE_LIST, &cursor);
    if (rc)
        return rc;
    while (!rc &&
           !(rc = trap_cursor_get(txn, cursor, &key, &value, MDB_NEXT))) {
        if (value.mv_size < sizeof count ||
            !table_value_is_possible(txn, &value))
            rc = MDB_CORRUPTED;
        else
            memcpy(&count, value.mv_data, sizeof count);
        if (!rc && count > value.mv_size / sizeof count)
            rc = MDB_CORRUPTED;
        if (!rc)
            pages->free += count * page;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int count_pages(struct store_txn *txn, struct store_pages *pages)
{
    MDB_stat stat;
    MDB_envinfo info;
    int rc = trap_stat(txn, FREE_LIST, &stat);
    if (!rc)
        rc = mdb_env_info(txn->env->mdb, &info);
    if (rc)
        return rc;
    uint64_t page = stat.ms_psize;
    pages->bytes = (info.me_last_pgno + 1) * page;
    pages->tables[0].name = "start";
    pages->tables[pages->count++].bytes = START_PAGES * page;
    rc = add_table(txn, FREE_LIST, "free list", pages);
    if (!rc)
        rc = add_table(txn, NAMES, "names", pages);
    for (int t = 0; t < TABLES && !rc; t++)
        rc = add_table(txn, txn->env->tables[t], table_names[t], pages);
    return rc ? rc : count_free(txn, page, pages);
}

/* The list of free pages can only be read by one who does not write. */
int store_pages(struct store *store, bool exact, struct store_pages *ret,
                struct err *err)
{
    struct store_txn *txn, *writing = NULL;
    struct store_pages pages = {0};
    int code = exact ? store_write(store, &writing, err) : 0;
    if (!code)
        code = store_read(store, &txn, err);
    if (!code) {
        int rc = count_pages(txn, &pages);
        store_end(txn);
        if (rc)
            code = store_error(rc, "cannot count the store's pages", err);
    }
    store_end(writing);
    if (!code)
        *ret = pages;
    return code;
}
