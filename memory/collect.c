/* Deleting what no manual refers to: old outlines, postings of old epochs,
 * trees of files that changed or went.
 *
 * Two passes a table: a reading one that notes the keys to go, then writing
 * transactions of at most BATCH deletions, so that nobody waits long. */
#include <stdlib.h>
#include <string.h>

#include "memory/tables.h"

enum { BATCH = 2000 };

struct doomed {
    struct buf keys; /* strings, one after the other */
    size_t count;
};

struct references {
    struct manual *manuals; /* ascending ids */
    size_t manual_count;
    struct hash128 *trees; /* sorted */
    size_t tree_count;
};

static int by_hash(const void *a, const void *b)
{
    const struct hash128 *x = a, *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void references_free(struct references *refs)
{
    for (size_t i = 0; i < refs->manual_count; i++)
        manual_free(&refs->manuals[i]);
    free(refs->manuals);
    free(refs->trees);
}

static int gather(struct store_txn *txn, struct references *ret,
                  struct err *err)
{
    struct references refs = {0};
    int code = store_list_manuals(txn, &refs.manuals, &refs.manual_count, err);
    size_t capacity = 0;
    for (size_t m = 0; m < refs.manual_count && !code; m++) {
        struct file *files;
        size_t count;
        code = store_list_files(txn, refs.manuals[m].id, &files, &count, err);
        if (code)
            break;
        void *trees = refs.trees;
        mem_reserve(&trees, &capacity, refs.tree_count + count,
                    sizeof *refs.trees);
        refs.trees = trees;
        for (size_t i = 0; i < count; i++) {
            refs.trees[refs.tree_count++] = files[i].tree;
            file_free(&files[i]);
        }
        free(files);
    }
    if (code) {
        references_free(&refs);
        return code;
    }
    if (refs.tree_count)
        qsort(refs.trees, refs.tree_count, sizeof *refs.trees, by_hash);
    *ret = refs;
    return 0;
}

static const struct manual *find_manual(const struct references *refs,
                                        uint32_t id)
{
    for (size_t i = 0; i < refs->manual_count; i++)
        if (refs->manuals[i].id == id)
            return &refs->manuals[i];
    return NULL;
}

static bool keep_outline(const struct references *refs, const char *key)
{
    const struct manual *manual = find_manual(refs, read_key_u32(key));
    return manual && manual->generation == read_key_u64(key + 4);
}

static bool keep_postings(const struct references *refs, const char *key)
{
    const struct manual *manual = find_manual(refs, read_key_u32(key));
    return manual && manual->epoch == read_key_u32(key + 4);
}

static bool keep_tree(const struct references *refs, const char *key)
{
    struct hash128 name = hash_read((const unsigned char *)key);
    return refs->tree_count &&
           bsearch(&name, refs->trees, refs->tree_count, sizeof name, by_hash);
}

/* The first `group` bytes of a key decide; a group that is kept is skipped. */
static const struct {
    int table;
    size_t group;
    bool (*keep)(const struct references *refs, const char *key);
} collected[] = {
    {TABLE_OUTLINES, 12, keep_outline},
    {TABLE_POSTINGS, 8, keep_postings},
    {TABLE_TREES, 16, keep_tree},
};

/* The first key after all that start with `group`; false: there is none. */
static bool next_group(char *group, size_t size)
{
    while (size && (unsigned char)group[size - 1] == 255)
        group[--size] = 0;
    if (!size)
        return false;
    group[size - 1] = (char)((unsigned char)group[size - 1] + 1);
    return true;
}

static int note_doomed(struct store_txn *txn, size_t which,
                       const struct references *refs, struct doomed *doomed,
                       struct err *err)
{
    size_t group = collected[which].group;
    char next[16];
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_cursor_open(
        txn->mdb, txn->store->tables[collected[which].table], &cursor);
    if (rc)
        return store_error(rc, "cannot look through the store", err);
    rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (!rc) {
        if (key.mv_size < group || !collected[which].keep(refs, key.mv_data)) {
            buf_put_string(&doomed->keys,
                           (struct slice){key.mv_data, key.mv_size});
            doomed->count++;
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
            continue;
        }
        memcpy(next, key.mv_data, group);
        if (!next_group(next, group))
            break;
        key = (MDB_val){group, next};
        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    }
    mdb_cursor_close(cursor);
    return rc && rc != MDB_NOTFOUND
               ? store_error(rc, "cannot look through the store", err)
               : 0;
}

static int delete_doomed(struct store *store, int table, struct doomed *doomed,
                         struct err *err)
{
    struct reader in = reader_of(doomed->keys.data, doomed->keys.size);
    while (doomed->count) {
        struct store_txn *txn;
        int code = store_write(store, &txn, err);
        if (code)
            return code;
        for (int n = 0; n < BATCH && doomed->count; n++, doomed->count--) {
            struct slice text = read_string(&in);
            MDB_val key = {text.size, (void *)(uintptr_t)text.data};
            int rc = mdb_del(txn->mdb, store->tables[table], &key, NULL);
            if (rc && rc != MDB_NOTFOUND) {
                store_end(txn);
                return store_error(rc, "cannot delete from the store", err);
            }
        }
        code = store_commit(txn, err);
        if (code)
            return code;
    }
    return 0;
}

int store_collect(struct store *store, bool trees, struct err *err)
{
    for (size_t which = 0; which < sizeof collected / sizeof collected[0];
         which++) {
        if (collected[which].table == TABLE_TREES && !trees)
            continue;
        struct store_txn *txn;
        struct references refs = {0};
        struct doomed doomed = {0};
        int code = store_read(store, &txn, err);
        if (code)
            return code;
        code = gather(txn, &refs, err);
        if (!code)
            code = note_doomed(txn, which, &refs, &doomed, err);
        store_end(txn);
        references_free(&refs);
        if (!code)
            code = delete_doomed(store, collected[which].table, &doomed, err);
        buf_free(&doomed.keys);
        if (code)
            return code;
    }
    return 0;
}
