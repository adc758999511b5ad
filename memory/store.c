/* The store's tables, each an LMDB database of its own.  Numbers in keys are
 * big-endian, so that keys sort by them; values use the varints and strings of
 * base/buf.h; "zstd" is one zstd frame that knows its size and ends in
 * a checksum (those of earlier versions do not).
 *
 *   meta       "schema"      u32, SCHEMA below
 *              "next-manual" "next-node" "next-epoch"  u64, next to be given
 *   manuals    manual u32
 *              -> generation, epoch, version of its postings, name, root,
 *                 ignore, indexed at, files, failed, nodes, words,
 *                 vectors (since schema 2)
 *   files      manual u32, path (a long one: its head and a hash of it all)
 *              -> path, size, mtime, inode, content hash 16, tree 16,
 *                 state, failure
 *   trees      name of the tree 16          -> zstd of tree_encode
 *   outlines   manual u32, generation u64   -> zstd of tree_encode
 *   postings   manual u32, epoch u32, term  -> as lexical.c draws them
 *   segments   hash of what was cut 16      -> as segment.c draws them
 *   memories   hash of what was encoded 16  -> f16 each of its values
 *   vectors    manual u32                   -> as vector_table.c draws them
 *
 * Invariants:
 *   1. What a manual's record refers to (its outline, its epoch's postings,
 *      its files' trees) is in the store before the record is; likewise the
 *      segments and memories that its vectors name.
 *   2. Ids of manuals, nodes and epochs are given once, also across crashes:
 *      the counter moves in the transaction that uses the id.
 *   3. Whatever no record refers to may be deleted at any time (collect.c). */
#include "memory/store.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/log.h"
#include "memory/tables.h"

enum {
    SCHEMA = 2,
    OLDEST_SCHEMA = 1, /* that is read as it is */
    MOST_READERS = 126,
    TREE_LEVEL = 3, /* of zstd */
    LOCK_TRIES = 20,
    LOCK_PAUSE_MS = 50
};

#if defined(__SANITIZE_THREAD__)
static const uint64_t default_map = (uint64_t)1 << 30;
#else
static const uint64_t default_map = (uint64_t)256 << 30;
#endif

const char *const table_names[TABLES] = {
    "meta",     "manuals",  "files",    "trees",  "outlines",
    "postings", "segments", "memories", "vectors"};

int store_error(int mdb_code, const char *what, struct err *err)
{
    if (mdb_code == ENOSPC)
        return err_set(err, ERR_STORE, "%s: the disk is full", what);
    if (mdb_code == MDB_MAP_FULL)
        return err_set(err, ERR_STORE,
                       "%s: the store has reached its greatest size", what);
    if (mdb_code == MDB_CORRUPTED || mdb_code == MDB_PAGE_NOTFOUND ||
        mdb_code == MDB_INVALID)
        return err_set(err, ERR_STORE, "%s: the store is damaged (%s)", what,
                       mdb_strerror(mdb_code));
    /* LMDB reports a write cut short by a full disk as EIO. */
    return err_set(err, ERR_STORE, "%s: %s%s", what, mdb_strerror(mdb_code),
                   mdb_code == EIO ? " (the disk may be full)" : "");
}

/* ---- Opening ---- */

/* A daemon that was killed holds its lock until the system has cleared it
 * away: some patience before it is taken for a live one. */
static int lock_patiently(int fd)
{
    const struct timespec pause = {0, LOCK_PAUSE_MS * 1000000L};
    for (int tries = LOCK_TRIES;; tries--) {
        if (!flock(fd, LOCK_EX | LOCK_NB))
            return 0;
        if (!tries)
            return -1;
        nanosleep(&pause, NULL);
    }
}

static int take_lock(const char *folder, int *ret_fd, struct err *err)
{
    struct buf path = {0};
    file_join(&path, folder, "lock");
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    buf_free(&path);
    if (fd < 0)
        return err_errno(err, ERR_STORE, "cannot open the lock of %s", folder);
    if (lock_patiently(fd) < 0) {
        char pid[32] = "";
        ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
        close(fd);
        return err_set(err, ERR_STORE,
                       "another daemon (pid %s) uses the store %s",
                       n > 0 ? pid : "unknown", folder);
    }
    char pid[32];
    int size = snprintf(pid, sizeof pid, "%ld", (long)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)size, 0) < 0) {
        int code =
            err_errno(err, ERR_STORE, "cannot write the lock of %s", folder);
        close(fd);
        return code;
    }
    *ret_fd = fd;
    return 0;
}

static int stamp_schema(struct store *store, MDB_txn *txn, struct err *err)
{
    uint32_t schema = SCHEMA;
    MDB_val key = {6, (void *)(uintptr_t) "schema"};
    MDB_val value = {sizeof schema, &schema};
    int rc = mdb_put(txn, store->tables[TABLE_META], &key, &value, 0);
    return rc ? store_error(rc, "cannot write the schema", err) : 0;
}

static int check_schema(struct store *store, MDB_txn *txn, struct err *err)
{
    MDB_val key = {6, (void *)(uintptr_t) "schema"}, value;
    uint32_t schema;
    int rc = mdb_get(txn, store->tables[TABLE_META], &key, &value);
    if (rc == MDB_NOTFOUND)
        return stamp_schema(store, txn, err);
    if (rc || value.mv_size != sizeof schema)
        return store_error(rc ? rc : MDB_CORRUPTED, "cannot read the schema",
                           err);
    memcpy(&schema, value.mv_data, sizeof schema);
    if (schema < OLDEST_SCHEMA || schema > SCHEMA)
        return err_set(err, ERR_STORE,
                       "the store has schema %u, this program knows %d: use "
                       "the program that wrote it, or another --store",
                       schema, SCHEMA);
    return schema < SCHEMA ? stamp_schema(store, txn, err) : 0;
}

static int open_tables(struct store *store, struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (rc)
        return store_error(rc, "cannot open the store", err);
    for (int t = 0; t < TABLES && !rc; t++)
        rc = mdb_dbi_open(txn, table_names[t], MDB_CREATE, &store->tables[t]);
    int code = rc ? store_error(rc, "cannot open a table", err)
                  : check_schema(store, txn, err);
    if (code) {
        mdb_txn_abort(txn);
        return code;
    }
    rc = mdb_txn_commit(txn);
    return rc ? store_error(rc, "cannot open the store", err) : 0;
}

static int open_env(struct store *store, const struct store_options *options,
                    struct err *err)
{
    int rc = mdb_env_create(&store->env);
    if (rc)
        return store_error(rc, "cannot open the store", err);
    uint64_t map = options->most_bytes ? options->most_bytes : default_map;
    mdb_env_set_mapsize(store->env, map);
    mdb_env_set_maxdbs(store->env, TABLES);
    mdb_env_set_maxreaders(store->env, MOST_READERS);
    rc = mdb_env_open(store->env, options->folder, MDB_NOTLS, 0600);
    int dead;
    if (!rc)
        rc = mdb_reader_check(store->env, &dead);
    int code = rc ? store_error(rc, "cannot open the store", err)
                  : open_tables(store, err);
    if (code)
        mdb_env_close(store->env);
    return code;
}

int store_open(const struct store_options *options, struct store **ret_store,
               struct err *err)
{
    struct err cause = {0};
    int lock = -1, code = file_make_folder(options->folder, 0700, &cause);
    if (code)
        return err_set(err, ERR_STORE, "%s", cause.message);
    code = take_lock(options->folder, &lock, err);
    if (code)
        return code;
    struct store *store = mem_alloc(sizeof *store);
    store->lock = lock;
    code = store_prepare(options->folder, err);
    if (!code)
        code = open_env(store, options, err);
    if (code) {
        close(lock);
        free(store);
        return code;
    }
    *ret_store = store;
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    mdb_env_close(store->env);
    close(store->lock);
    free(store);
}

void store_size(struct store *store, uint64_t *ret_used, uint64_t *ret_map)
{
    MDB_envinfo info;
    MDB_stat stat;
    mdb_env_info(store->env, &info);
    mdb_env_stat(store->env, &stat);
    *ret_used = (uint64_t)(info.me_last_pgno + 1) * stat.ms_psize;
    *ret_map = info.me_mapsize;
}

/* ---- Transactions ---- */

static int begin(struct store *store, unsigned flags,
                 struct store_txn **ret_txn, struct err *err)
{
    MDB_txn *mdb;
    int rc = mdb_txn_begin(store->env, NULL, flags, &mdb);
    if (rc)
        return store_error(rc, "cannot begin a transaction", err);
    struct store_txn *txn = mem_alloc(sizeof *txn);
    *txn = (struct store_txn){store, mdb};
    *ret_txn = txn;
    return 0;
}

int store_read(struct store *store, struct store_txn **ret_txn, struct err *err)
{
    return begin(store, MDB_RDONLY, ret_txn, err);
}

int store_write(struct store *store, struct store_txn **ret_txn,
                struct err *err)
{
    return begin(store, 0, ret_txn, err);
}

int store_commit(struct store_txn *txn, struct err *err)
{
    int rc = mdb_txn_commit(txn->mdb);
    free(txn);
    return rc ? store_error(rc, "cannot commit to the store", err) : 0;
}

void store_end(struct store_txn *txn)
{
    if (!txn)
        return;
    mdb_txn_abort(txn->mdb);
    free(txn);
}

int table_put(struct store_txn *txn, int table, struct slice key,
              struct slice value, struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data};
    MDB_val v = {value.size, (void *)(uintptr_t)value.data};
    int rc = mdb_put(txn->mdb, txn->store->tables[table], &k, &v, 0);
    return rc ? store_error(rc, "cannot write to the store", err) : 0;
}

int table_get(struct store_txn *txn, int table, struct slice key,
              struct slice *ret_value, struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data}, v;
    int rc = mdb_get(txn->mdb, txn->store->tables[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (rc)
        return store_error(rc, "cannot read the store", err);
    *ret_value = (struct slice){v.mv_data, v.mv_size};
    return 0;
}

int table_delete(struct store_txn *txn, int table, struct slice key,
                 struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data};
    int rc = mdb_del(txn->mdb, txn->store->tables[table], &k, NULL);
    return rc && rc != MDB_NOTFOUND
               ? store_error(rc, "cannot delete from the store", err)
               : 0;
}

static int take_number(struct store_txn *txn, const char *name, uint64_t count,
                       uint64_t *ret_first, struct err *err)
{
    struct slice value;
    uint64_t next = 1;
    int code = table_get(txn, TABLE_META, slice_of(name), &value, err);
    if (code == ERR_STORE)
        return code;
    if (!code && value.size != sizeof next)
        return err_set(err, ERR_STORE, "the counter %s is damaged", name);
    if (!code)
        memcpy(&next, value.data, sizeof next);
    uint64_t after = next + count;
    code = table_put(txn, TABLE_META, slice_of(name),
                     (struct slice){(const char *)&after, sizeof after}, err);
    if (!code)
        *ret_first = next;
    return code;
}

int store_take_ids(struct store_txn *txn, uint64_t count, uint64_t *ret_first,
                   struct err *err)
{
    return take_number(txn, "next-node", count, ret_first, err);
}

int store_take_epoch(struct store_txn *txn, uint32_t *ret_epoch,
                     struct err *err)
{
    uint64_t epoch;
    int code = take_number(txn, "next-epoch", 1, &epoch, err);
    if (!code)
        *ret_epoch = (uint32_t)epoch;
    return code;
}

/* ---- Manuals ---- */

void manual_free(struct manual *manual)
{
    free(manual->name);
    free(manual->root);
    free(manual->ignore);
    manual->name = manual->root = manual->ignore = NULL;
}

int manual_write(struct store_txn *txn, const struct manual *manual,
                 struct err *err)
{
    struct buf value = {0};
    buf_put_varint(&value, manual->generation);
    buf_put_varint(&value, manual->epoch);
    buf_put_varint(&value, manual->lexical);
    buf_put_string(&value, slice_of(manual->name));
    buf_put_string(&value, slice_of(manual->root));
    buf_put_string(&value, slice_of(manual->ignore));
    buf_put_signed(&value, manual->indexed_at);
    buf_put_varint(&value, manual->files);
    buf_put_varint(&value, manual->failed);
    buf_put_varint(&value, manual->nodes);
    buf_put_varint(&value, manual->words);
    buf_put_varint(&value, manual->vectors);
    char key[4];
    key_u32(key, manual->id);
    int code = table_put(txn, TABLE_MANUALS, (struct slice){key, sizeof key},
                         buf_slice(&value), err);
    buf_free(&value);
    return code;
}

int store_put_manual(struct store_txn *txn, struct manual *manual,
                     struct err *err)
{
    struct manual old = {0};
    uint64_t id = manual->id;
    int code = id ? store_get_manual(txn, manual->id, &old, err)
                  : take_number(txn, "next-manual", 1, &id, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    manual->id = (uint32_t)id;
    manual->vectors = old.vectors;
    manual_free(&old);
    return manual_write(txn, manual, err);
}

int manual_read(struct slice key, struct slice value, struct manual *ret,
                struct err *err)
{
    struct reader in = reader_of(value.data, value.size);
    if (key.size != 4)
        return err_set(err, ERR_STORE, "the record of a manual has no number");
    struct manual manual = {.id = read_key_u32(key.data)};
    manual.generation = read_varint(&in);
    manual.epoch = read_u32(&in);
    manual.lexical = read_u32(&in);
    manual.name = take_text(&in);
    manual.root = take_text(&in);
    manual.ignore = take_text(&in);
    manual.indexed_at = read_signed(&in);
    manual.files = read_varint(&in);
    manual.failed = read_varint(&in);
    manual.nodes = read_varint(&in);
    manual.words = read_varint(&in);
    manual.vectors = in.at < in.size ? read_varint(&in) : 0;
    if (in.failed || in.at != in.size || !manual.name[0]) {
        manual_free(&manual);
        return err_set(err, ERR_STORE, "the record of manual %u is damaged",
                       manual.id);
    }
    *ret = manual;
    return 0;
}

int store_get_manual(struct store_txn *txn, uint32_t id,
                     struct manual *ret_manual, struct err *err)
{
    char key[4];
    struct slice value;
    key_u32(key, id);
    int code = table_get(txn, TABLE_MANUALS, (struct slice){key, sizeof key},
                         &value, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "no manual with number %u", id);
    return code ? code
                : manual_read((struct slice){key, sizeof key}, value,
                              ret_manual, err);
}

int store_list_manuals(struct store_txn *txn, struct manual **ret_manuals,
                       size_t *ret_count, struct err *err)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc =
        mdb_cursor_open(txn->mdb, txn->store->tables[TABLE_MANUALS], &cursor);
    if (rc)
        return store_error(rc, "cannot list the manuals", err);
    void *items = NULL;
    size_t count = 0, capacity = 0;
    while (!(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        mem_reserve(&items, &capacity, count + 1, sizeof(struct manual));
        struct err damage;
        if (manual_read(slice_of_val(key), slice_of_val(value),
                        (struct manual *)items + count, &damage))
            log_error("%s: lectern verify", damage.message);
        else
            count++;
    }
    mdb_cursor_close(cursor);
    if (rc != MDB_NOTFOUND) {
        for (size_t i = 0; i < count; i++)
            manual_free((struct manual *)items + i);
        free(items);
        return store_error(rc, "cannot list the manuals", err);
    }
    *ret_manuals = items;
    *ret_count = count;
    return 0;
}

int store_find_manual(struct store_txn *txn, const char *name,
                      struct manual *ret_manual, struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_list_manuals(txn, &manuals, &count, err);
    if (code)
        return code;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (!found && !strcmp(manuals[i].name, name)) {
            *ret_manual = manuals[i];
            found = true;
        } else {
            manual_free(&manuals[i]);
        }
    }
    free(manuals);
    return found ? 0
                 : err_set(err, ERR_NOT_FOUND, "no manual is named %s", name);
}

int store_delete_manual(struct store_txn *txn, uint32_t id, struct err *err)
{
    static const int tables[] = {TABLE_MANUALS, TABLE_FILES, TABLE_OUTLINES,
                                 TABLE_VECTORS};
    char start[4];
    key_u32(start, id);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        MDB_cursor *cursor;
        MDB_val key, value;
        int rc =
            mdb_cursor_open(txn->mdb, txn->store->tables[tables[t]], &cursor);
        if (rc)
            return store_error(rc, "cannot delete a manual", err);
        for (;;) {
            key = (MDB_val){sizeof start, start};
            rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
            if (rc || memcmp(key.mv_data, start, sizeof start))
                break;
            rc = mdb_cursor_del(cursor, 0);
            if (rc)
                break;
        }
        mdb_cursor_close(cursor);
        if (rc && rc != MDB_NOTFOUND)
            return store_error(rc, "cannot delete a manual", err);
    }
    return 0;
}

/* ---- Trees and outlines ---- */

static int put_packed(struct store_txn *txn, int table, struct slice key,
                      const struct tree *tree, struct err *err)
{
    struct buf plain = {0}, packed = {0};
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return err_set(err, ERR_INTERNAL, "zstd: no memory");
    tree_encode(tree, &plain);
    buf_reserve(&packed, ZSTD_compressBound(plain.size));
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, TREE_LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    size_t size = ZSTD_compress2(zstd, packed.data, packed.capacity, plain.data,
                                 plain.size);
    ZSTD_freeCCtx(zstd);
    int code =
        ZSTD_isError(size)
            ? err_set(err, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(size))
            : table_put(txn, table, key, (struct slice){packed.data, size},
                        err);
    buf_free(&plain);
    buf_free(&packed);
    return code;
}

static int get_packed(struct store_txn *txn, int table, struct slice key,
                      struct tree **ret_tree, struct err *err)
{
    struct slice packed;
    int code = table_get(txn, table, key, &packed, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, code, "no such tree in the store");
    if (code)
        return code;
    unsigned long long size =
        ZSTD_getFrameContentSize(packed.data, packed.size);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
        size > (1ull << 34))
        return err_set(err, ERR_FORMAT, "a stored tree is damaged");
    struct buf plain = {0};
    buf_reserve(&plain, (size_t)size);
    size_t got =
        ZSTD_decompress(plain.data, (size_t)size, packed.data, packed.size);
    if (ZSTD_isError(got) || got != size)
        code = err_set(err, ERR_FORMAT, "a stored tree is damaged");
    else if (tree_decode(plain.data, got, ret_tree, err))
        code = err_set(err, ERR_FORMAT, "a stored tree is damaged");
    buf_free(&plain);
    return code;
}

static struct slice tree_key(unsigned char key[16], struct hash128 name)
{
    hash_write(name, key);
    return (struct slice){(const char *)key, 16};
}

int store_put_tree(struct store_txn *txn, struct hash128 name,
                   const struct tree *tree, struct err *err)
{
    unsigned char key[16];
    return put_packed(txn, TABLE_TREES, tree_key(key, name), tree, err);
}

bool store_has_tree(struct store_txn *txn, struct hash128 name)
{
    unsigned char key[16];
    struct slice value;
    return table_get(txn, TABLE_TREES, tree_key(key, name), &value, NULL) == 0;
}

int store_get_tree(struct store_txn *txn, struct hash128 name,
                   struct tree **ret_tree, struct err *err)
{
    unsigned char key[16];
    return get_packed(txn, TABLE_TREES, tree_key(key, name), ret_tree, err);
}

static struct slice outline_key(char key[12], uint32_t manual,
                                uint64_t generation)
{
    key_u32(key, manual);
    key_u64(key + 4, generation);
    return (struct slice){key, 12};
}

int store_put_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, const struct tree *outline,
                      struct err *err)
{
    char key[12];
    return put_packed(txn, TABLE_OUTLINES, outline_key(key, manual, generation),
                      outline, err);
}

int store_get_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, struct tree **ret_outline,
                      struct err *err)
{
    char key[12];
    return get_packed(txn, TABLE_OUTLINES, outline_key(key, manual, generation),
                      ret_outline, err);
}

/* ---- Postings ---- */

static struct slice postings_key(char key[MDB_MAX_KEY], uint32_t manual,
                                 uint32_t epoch, struct slice term)
{
    size_t size = term.size < MDB_MAX_KEY - 8 ? term.size : MDB_MAX_KEY - 8;
    key_u32(key, manual);
    key_u32(key + 4, epoch);
    memcpy(key + 8, term.data, size);
    return (struct slice){key, 8 + size};
}

int store_get_postings(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                       struct slice term, struct slice *ret_value,
                       struct err *err)
{
    char key[MDB_MAX_KEY];
    int code =
        table_get(txn, TABLE_POSTINGS, postings_key(key, manual, epoch, term),
                  ret_value, err);
    if (code != ERR_NOT_FOUND)
        return code;
    *ret_value = (struct slice){"", 0};
    return 0;
}

int store_put_postings(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                       struct slice term, struct slice value, struct err *err)
{
    char bytes[MDB_MAX_KEY];
    struct slice key = postings_key(bytes, manual, epoch, term);
    if (value.size)
        return table_put(txn, TABLE_POSTINGS, key, value, err);
    return table_delete(txn, TABLE_POSTINGS, key, err);
}

int store_each_term(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                    struct slice prefix,
                    bool (*each)(void *context, struct slice term, size_t size),
                    void *context, struct err *err)
{
    char bytes[MDB_MAX_KEY];
    struct slice from = postings_key(bytes, manual, epoch, prefix);
    MDB_cursor *cursor;
    int rc =
        mdb_cursor_open(txn->mdb, txn->store->tables[TABLE_POSTINGS], &cursor);
    if (rc)
        return store_error(rc, "cannot read the store", err);
    MDB_val key = {from.size, bytes}, value;
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!rc && key.mv_size >= from.size &&
           !memcmp(key.mv_data, bytes, from.size) &&
           each(context,
                (struct slice){(char *)key.mv_data + 8, key.mv_size - 8},
                value.mv_size))
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    mdb_cursor_close(cursor);
    return rc && rc != MDB_NOTFOUND
               ? store_error(rc, "cannot read the store", err)
               : 0;
}
