#include <string.h>

#include "memory/store/store_internal.h"

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

/* Goes to the first record after the one met last. */
static int go_on(const struct walk *walk, struct table_cursor *cursor,
                 struct slice *key, struct slice *value, struct err *err)
{
    struct slice last = {walk->last, walk->last_size};
    int code = table_cursor_seek(cursor, last.size ? last : walk->prefix, key,
                                 value, err);
    return !code && last.size && slice_equal(*key, last)
               ? table_cursor_next(cursor, key, value, err)
               : code;
}

static int walk_piece(struct walk *walk, struct store_txn *txn, struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    int code = table_cursor_open(txn, walk->table, &cursor, err);
    if (code)
        return code;
    cursor.kind = CURSOR_LENIENT;
    size_t records = 0, bytes = 0;
    code = go_on(walk, &cursor, &key, &value, err);
    while (!code && slice_starts(key, walk->prefix) &&
           records < PIECE_RECORDS && bytes < PIECE_BYTES) {
        records++;
        bytes += value.size;
        memcpy(walk->last, key.data, key.size);
        walk->last_size = key.size;
        code = walk->each(walk->context, key, value, err);
        if (!code)
            code = table_cursor_next(&cursor, &key, &value, err);
    }
    walk->ended =
        code == ERR_NOT_FOUND || (!code && !slice_starts(key, walk->prefix));
    table_cursor_close(&cursor);
    return walk->ended ? 0 : code;
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
