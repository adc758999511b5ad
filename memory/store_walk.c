#include <string.h>

#include "memory/tables.h"

enum { PIECE_RECORDS = 2000, PIECE_BYTES = 4 << 20 };

struct walk {
    struct store *store;
    int table;
    struct slice prefix;
    table_each *each;
    void *context;
    char last[MDB_MAX_KEY]; /* key of the record met last */
    size_t last_size;       /* 0: none yet */
    bool ended;
};

/* At the first record after the one met last. */
static int go_on(const struct walk *walk, MDB_cursor *cursor, MDB_val *key,
                 MDB_val *value)
{
    struct slice from = walk->prefix;
    if (walk->last_size)
        from = (struct slice){walk->last, walk->last_size};
    *key = (MDB_val){from.size, (void *)(uintptr_t)from.data};
    if (!from.size)
        return mdb_cursor_get(cursor, key, value, MDB_FIRST);
    int rc = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    if (!rc && walk->last_size && slice_equal(slice_of_val(*key), from))
        rc = mdb_cursor_get(cursor, key, value, MDB_NEXT);
    return rc;
}

static bool is_meant(const struct walk *walk, const MDB_val *key)
{
    return key->mv_size >= walk->prefix.size &&
           (!walk->prefix.size ||
            !memcmp(key->mv_data, walk->prefix.data, walk->prefix.size));
}

static int walk_piece(struct walk *walk, struct store_txn *txn, struct err *err)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = 0;
    int rc = mdb_cursor_open(txn->mdb, txn->env->tables[walk->table], &cursor);
    if (rc)
        return store_error(rc, "cannot look through the store", err);
    rc = go_on(walk, cursor, &key, &value);
    size_t records = 0, bytes = 0;
    while (!rc && !code && is_meant(walk, &key) && records < PIECE_RECORDS &&
           bytes < PIECE_BYTES) {
        records++;
        bytes += value.mv_size;
        memcpy(walk->last, key.mv_data, key.mv_size);
        walk->last_size = key.mv_size;
        code = walk->each(walk->context, slice_of_val(key), slice_of_val(value),
                          err);
        if (!code)
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    walk->ended = rc || !is_meant(walk, &key);
    mdb_cursor_close(cursor);
    return !code && rc && rc != MDB_NOTFOUND
               ? store_error(rc, "cannot look through the store", err)
               : code;
}

int table_walk(struct store *store, int table, struct slice prefix,
               const atomic_bool *cancel, table_each *each, void *context,
               struct err *err)
{
    struct walk walk = {.store = store,
                        .table = table,
                        .prefix = prefix,
                        .each = each,
                        .context = context};
    int code = 0;
    while (!walk.ended && !code) {
        struct store_txn *txn;
        if (cancel && atomic_load(cancel))
            return err_set(err, ERR_CANCELLED, "cancelled");
        code = store_read(store, &txn, err);
        if (code)
            return code;
        code = walk_piece(&walk, txn, err);
        store_end(txn);
    }
    return code;
}
