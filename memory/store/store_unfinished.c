/* What work that has not come to its end has put into the store: nothing refers
 * to it yet, and the work goes on with it after an interruption, a failure or a
 * crash.
 *
 *   makings    manual u32, kind u8, number of the transaction u64
 *              -> names, 16 each */
#include <stdlib.h>
#include <string.h>

#include "memory/store/store_internal.h"

enum { NAME = 16, GROUP = 5 };

static void put_group(char key[GROUP], uint32_t manual,
                      enum unfinished_kind kind)
{
    key_u32(key, manual);
    key[4] = (char)kind;
}

int store_note_made(struct store_txn *txn, uint32_t manual,
                    enum unfinished_kind kind, const struct hash128 *names,
                    size_t count, struct err *err)
{
    char bytes[GROUP + 8];
    struct slice key = {bytes, sizeof bytes}, before = {"", 0};
    struct buf value = {0};
    unsigned char name[NAME];
    put_group(bytes, manual, kind);
    key_u64(bytes + GROUP, mdb_txn_id(txn->mdb));
    int code = table_get(txn, TABLE_UNFINISHED, key, &before, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    buf_put_slice(&value, before);
    for (size_t i = 0; i < count; i++) {
        hash_write(names[i], name);
        buf_put(&value, name, sizeof name);
    }
    code = value.size
               ? table_put(txn, TABLE_UNFINISHED, key, buf_slice(&value), err)
               : 0;
    buf_free(&value);
    return code;
}

int store_forget_made(struct store_txn *txn, uint32_t manual,
                      enum unfinished_kind kind, struct err *err)
{
    char group[GROUP];
    put_group(group, manual, kind);
    return table_delete_prefix(txn, TABLE_UNFINISHED,
                               (struct slice){group, sizeof group}, err);
}

int unfinished_each(struct store_txn *txn, uint32_t manual, int kind,
                    void (*each)(void *context, struct hash128 name),
                    void *context, struct err *err)
{
    char bytes[GROUP];
    struct slice group = {bytes, kind < 0 ? 4 : GROUP}, key, value;
    struct table_cursor cursor;
    int code = table_cursor_open(txn, TABLE_UNFINISHED, &cursor, err);
    if (code)
        return code;
    put_group(bytes, manual, kind < 0 ? 0 : (enum unfinished_kind)kind);
    code = table_cursor_seek(&cursor, group, &key, &value, err);
    while (!code && slice_starts(key, group)) {
        for (size_t at = 0; at + NAME <= value.size; at += NAME)
            each(context, hash_read((const unsigned char *)value.data + at));
        code = table_cursor_next(&cursor, &key, &value, err);
    }
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* ---- What is of no use any more ---- */

struct sieve {
    const struct hash128 *wanted; /* [count] sorted */
    size_t count;
    struct hash128 *kept;
    size_t kept_count, capacity, met;
};

static void sift(void *context, struct hash128 name)
{
    struct sieve *sieve = context;
    sieve->met++;
    if (!sieve->count ||
        !bsearch(&name, sieve->wanted, sieve->count, sizeof name, hash_compare))
        return;
    MEM_RESERVE(sieve->kept, &sieve->capacity, sieve->kept_count + 1);
    sieve->kept[sieve->kept_count++] = name;
}

static int rewrite(struct store *store, uint32_t manual,
                   enum unfinished_kind kind, const struct sieve *sieve,
                   struct err *err)
{
    struct store_txn *txn;
    int code = store_write(store, &txn, err);
    if (code)
        return code;
    code = store_forget_made(txn, manual, kind, err);
    if (!code)
        code = store_note_made(txn, manual, kind, sieve->kept,
                               sieve->kept_count, err);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

int store_prune_made(struct store *store, uint32_t manual,
                     enum unfinished_kind kind, const struct hash128 *wanted,
                     size_t count, struct err *err)
{
    struct store_txn *txn;
    struct sieve sieve = {.wanted = wanted, .count = count};
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = unfinished_each(txn, manual, (int)kind, sift, &sieve, err);
    store_end(txn);
    if (!code && sieve.kept_count < sieve.met)
        code = rewrite(store, manual, kind, &sieve, err);
    free(sieve.kept);
    return code;
}
