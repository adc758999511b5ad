/* Deleting what no manual refers to: old outlines, postings of old epochs,
 * trees of files that changed or went, segments and memories that no vectors
 * were made of; not what unfinished work will go on with (store_unfinished.c).
 *
 * First one reading transaction notes the keys to go of all tables, then writing
 * ones of at most BATCH deletions each, so that nobody waits long. */
#include <stdlib.h>
#include <string.h>

#include "memory/store/store_internal.h"
#include "memory/vectors/vectors.h"

enum { BATCH = 2000 };

struct doomed {
    struct buf keys; /* strings, one after the other */
    size_t count;
};

struct names {
    struct hash128 *items; /* sorted, once all are there */
    size_t count, capacity;
};

struct references {
    struct manual *manuals; /* ascending ids */
    size_t manual_count;
    struct names trees;
    struct names made_of; /* segments and memories */
    bool unknown;         /* vectors are damaged: what of is not known */
};

static void references_free(struct references *refs)
{
    for (size_t i = 0; i < refs->manual_count; i++)
        manual_free(&refs->manuals[i]);
    free(refs->manuals);
    free(refs->trees.items);
    free(refs->made_of.items);
}

static void add_names(struct names *names, const struct hash128 *items,
                      size_t count)
{
    MEM_RESERVE(names->items, &names->capacity, names->count + count);
    if (count)
        memcpy(names->items + names->count, items, count * sizeof *items);
    names->count += count;
}

static void sort_names(struct names *names)
{
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, hash_compare);
}

static bool has_name(const struct names *names, const char *key)
{
    struct hash128 name = hash_read((const unsigned char *)key);
    return names->count && bsearch(&name, names->items, names->count,
                                   sizeof name, hash_compare);
}

static void add_made(void *context, struct hash128 name)
{
    struct references *refs = context;
    add_names(&refs->trees, &name, 1);
    add_names(&refs->made_of, &name, 1);
}

static int gather_trees(struct store_txn *txn, struct references *refs,
                        uint32_t manual, struct err *err)
{
    struct file *files;
    size_t count;
    int code = store_list_files(txn, manual, &files, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        add_names(&refs->trees, &files[i].tree, 1);
        file_free(&files[i]);
    }
    free(files);
    return 0;
}

/* Of a delta and its base both: what the one replaces the other still names. */
static void add_vectors(struct references *refs, struct slice value)
{
    struct vector_table head;
    if (!vector_table_is_whole(value) ||
        vector_table_head(value, &head, NULL)) {
        refs->unknown = true;
        return;
    }
    add_names(&refs->made_of, head.names, head.name_count);
    vector_table_free(&head);
}

static int gather_made_of(struct store_txn *txn, struct references *refs,
                          const struct manual *manual, struct err *err)
{
    struct slice base, delta = {"", 0};
    int code = store_get_vectors(txn, manual->id, &base, err);
    if (!code) {
        add_vectors(refs, base);
        code = store_get_vector_delta(txn, manual->id, &delta, err);
    }
    if (!code)
        add_vectors(refs, delta);
    return code == ERR_NOT_FOUND ? 0 : code;
}

static int gather(struct store_txn *txn, struct references *ret,
                  struct err *err)
{
    struct references refs = {0};
    int code = store_list_manuals(txn, &refs.manuals, &refs.manual_count, err);
    if (!code) /* what a damaged record refers to is not known */
        code = store_check_manuals(txn, refs.manual_count, err);
    for (size_t m = 0; m < refs.manual_count && !code; m++) {
        code = gather_trees(txn, &refs, refs.manuals[m].id, err);
        if (!code)
            code = gather_made_of(txn, &refs, &refs.manuals[m], err);
        if (!code)
            code = unfinished_each(txn, refs.manuals[m].id, -1, add_made, &refs,
                                   err);
    }
    if (code) {
        references_free(&refs);
        return code;
    }
    sort_names(&refs.trees);
    sort_names(&refs.made_of);
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

/* Records of a manual: its id is in the store before they are. */
static bool keep_of_manual(const struct references *refs, const char *key)
{
    return find_manual(refs, read_key_u32(key));
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
    return has_name(&refs->trees, key);
}

static bool keep_made_of(const struct references *refs, const char *key)
{
    return refs->unknown || has_name(&refs->made_of, key);
}

/* The first `group` bytes of a key decide; a group that is kept is skipped. */
enum { MAX_GROUP = 16 };
static const struct {
    int table;
    size_t group;
    bool (*keep)(const struct references *refs, const char *key);
} collected[] = {
    {TABLE_FILES, 4, keep_of_manual},      {TABLE_VECTORS, 4, keep_of_manual},
    {TABLE_UNFINISHED, 4, keep_of_manual}, {TABLE_OUTLINES, 12, keep_outline},
    {TABLE_POSTINGS, 8, keep_postings},    {TABLE_TREES, 16, keep_tree},
    {TABLE_SEGMENTS, 16, keep_made_of},    {TABLE_MEMORIES, 16, keep_made_of},
};

enum { COLLECTED = sizeof collected / sizeof collected[0] };

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

/* Goes on behind a key that is kept: what is to go is noted one by one, a group
 * that is kept is skipped. */
static int note_next(struct table_cursor *cursor, size_t which,
                     const struct references *refs, struct doomed *doomed,
                     struct slice *key, struct err *err)
{
    size_t group = collected[which].group;
    char next[MAX_GROUP];
    struct slice value;
    if (key->size < group || !collected[which].keep(refs, key->data)) {
        buf_put_string(&doomed->keys, *key);
        doomed->count++;
        return table_cursor_next(cursor, key, &value, err);
    }
    memcpy(next, key->data, group);
    return next_group(next, group)
               ? table_cursor_seek(cursor, (struct slice){next, group}, key,
                                   &value, err)
               : ERR_NOT_FOUND;
}

static int note_doomed(struct store_txn *txn, size_t which,
                       const struct references *refs, struct doomed *doomed,
                       struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    int code = table_cursor_open(txn, collected[which].table, &cursor, err);
    if (code)
        return code;
    cursor.kind = CURSOR_RAW;
    code = table_cursor_next(&cursor, &key, &value, err);
    while (!code)
        code = note_next(&cursor, which, refs, doomed, &key, err);
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
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
            int rc = trap_delete(txn, txn->env->tables[table], &key);
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

/* Of each table the keys of what nothing refers to, in one snapshot. */
static int find_doomed(struct store *store, struct doomed doomed[COLLECTED],
                       struct err *err)
{
    struct store_txn *txn;
    struct references refs = {0};
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = gather(txn, &refs, err);
    for (size_t i = 0; i < COLLECTED && !code; i++)
        code = note_doomed(txn, i, &refs, &doomed[i], err);
    store_end(txn);
    references_free(&refs);
    return code;
}

int store_collect(struct store *store, struct err *err)
{
    struct doomed doomed[COLLECTED] = {0};
    int code = find_doomed(store, doomed, err);
    for (size_t i = 0; i < COLLECTED; i++) {
        if (!code)
            code = delete_doomed(store, collected[i].table, &doomed[i], err);
        buf_free(&doomed[i].keys);
    }
    return code;
}
