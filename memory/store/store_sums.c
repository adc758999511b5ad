/* A checksum behind each value: 4 bytes, low byte first, of the value, its key and
 * its table, so that a value that was changed is known, and one that stands in
 * another's place.  Not where the value has its own (trees, outlines, vectors), nor in
 * `meta`, whose schema programs of before must be able to read. */
#include <string.h>

#include "memory/store/store_internal.h"

bool table_has_sums(int table)
{
    return table != TABLE_META && table != TABLE_TREES &&
           table != TABLE_OUTLINES && table != TABLE_VECTORS;
}

static uint32_t sum_of(int table, struct slice key, struct slice value)
{
    uint64_t seed = hash_bytes64(key.data, key.size) + (uint64_t)table;
    return (uint32_t)hash_seeded64(value.data, value.size, seed);
}

void sum_append(int table, struct slice key, struct slice value,
                struct buf *ret)
{
    uint32_t sum = sum_of(table, key, value);
    buf_clear(ret);
    buf_put_slice(ret, value);
    for (int i = 0; i < SUM_BYTES; i++)
        buf_put_byte(ret, (int)(sum >> 8 * i & 255));
}

struct checking {
    int table;
    struct slice key, value;
    bool right;
};

static int check(void *context)
{
    struct checking *c = context;
    uint32_t sum = sum_of(c->table, c->key, c->value);
    const unsigned char *stored =
        (const unsigned char *)c->value.data + c->value.size;
    c->right = true;
    for (int i = 0; i < SUM_BYTES; i++)
        c->right = c->right && stored[i] == (sum >> 8 * i & 255);
    return 0;
}

bool sum_strip(const struct store_txn *txn, int table, struct slice key,
               struct slice *value)
{
    bool trapped = false;
    if (!table_has_sums(table))
        return true;
    if (value->size < SUM_BYTES)
        return false;
    value->size -= SUM_BYTES;
    struct checking c = {table, key, *value, false};
    /* Of a writer's values it is not known whether they lie within the file. */
    if (txn->writes)
        trap_run(check, &c, &trapped);
    else
        check(&c);
    return c.right && !trapped;
}

int sum_error(const struct store_txn *txn, int table, struct err *err)
{
    atomic_store(&txn->store->damage, true);
    return err_set(err, ERR_STORE,
                   "the store is damaged: a value of its table '%s' is not "
                   "what was written: lectern verify --repair",
                   table_names[table]);
}

bool store_saw_damage(const struct store *store)
{
    return atomic_load(&store->damage);
}

void store_forget_damage(struct store *store)
{
    atomic_store(&store->postings_whole, false);
    atomic_store(&store->damage, false);
}

/* A term whose key was changed is not found, and nothing else tells. */
static int go_through_postings(struct store_txn *txn, struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    int code = table_cursor_open(txn, TABLE_POSTINGS, &cursor, err);
    if (code)
        return code;
    code = table_cursor_seek(&cursor, (struct slice){0}, &key, &value, err);
    while (!code)
        code = table_cursor_next(&cursor, &key, &value, err);
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
}

int store_check_postings(struct store *store, struct err *err)
{
    struct store_txn *txn;
    if (atomic_load(&store->postings_whole))
        return 0;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = go_through_postings(txn, err);
    store_end(txn);
    atomic_store(&store->postings_whole, !code);
    return code;
}

/* ---- Stores of before ---- */

static int add_to_all(MDB_cursor *cursor, int table)
{
    MDB_val key, value;
    char key_bytes[MDB_MAX_KEY];
    struct buf summed = {0};
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (!rc) {
        if (key.mv_size > sizeof key_bytes) {
            rc = MDB_CORRUPTED;
            break;
        }
        struct slice name = {memcpy(key_bytes, key.mv_data, key.mv_size),
                             key.mv_size};
        sum_append(table, name, slice_of_val(value), &summed);
        key.mv_data = key_bytes;
        value = (MDB_val){summed.size, summed.data};
        rc = mdb_cursor_put(cursor, &key, &value, MDB_CURRENT);
        if (!rc)
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    buf_free(&summed);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int sums_add(const struct store_env *env, MDB_txn *txn, struct err *err)
{
    for (int t = 0; t < TABLES; t++) {
        MDB_cursor *cursor;
        if (!table_has_sums(t))
            continue;
        int rc = mdb_cursor_open(txn, env->tables[t], &cursor);
        if (!rc) {
            rc = add_to_all(cursor, t);
            mdb_cursor_close(cursor);
        }
        if (rc)
            return store_error(rc, "cannot bring the store to this version",
                               err);
    }
    return 0;
}
