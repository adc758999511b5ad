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
 *                 vectors (since schema 2), whether links out of its
 *                 folder are followed, how many are not (since
 *                 schema 5)
 *   files      manual u32, path (a long one: its head and a hash of it all)
 *              -> path, size, mtime, inode, content hash 16, tree 16,
 *                 state, failure, inputs (if there are any, or
 *                 reports), reports (if there are any; since schema 4)
 *   trees      name of the tree 16          -> as store_trees.c draws them
 *   outlines   manual u32, generation u64   -> zstd of tree_encode
 *   postings   manual u32, epoch u32, term  -> as lexical.c draws them
 *   segments   hash of what was cut 16      -> as segment.c draws them
 *   memories   hash of what was encoded 16  -> as kernels/q8.h draws them; those of
 *                                              earlier versions f16 each value
 *   vectors    manual u32; manual u32, "d"  -> as store_vector_table.c draws them:
 *                                              base; delta
 *   makings    what unfinished work has made: as store_unfinished.c draws them
 *
 * Invariants:
 *   1. What a manual's record refers to (its outline, its epoch's postings,
 *      its files' trees) is in the store before the record is; likewise the
 *      segments and memories that its vectors name.
 *   2. Ids of manuals, nodes and epochs are given once, also across crashes:
 *      the counter moves in the transaction that uses the id.
 *   3. Whatever no record refers to may be deleted at any time (store_collect.c), but
 *      for what `makings` names: it is noted in the transaction that puts it. */
#include "memory/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "memory/store/store_internal.h"

enum { MAX_LOCK = 8192 /* bytes of its file */ };

/* ---- Opening ---- */

/* The lock's file has the process in its first line, and its address in the second. */
static int in_use(const char *folder, struct err *err)
{
    struct buf path = {0}, user = {0};
    file_join(&path, folder, "lock");
    file_read(path.data, MAX_LOCK, &user, NULL);
    buf_free(&path);
    const char *text = user.size ? user.data : "unknown";
    size_t pid = strcspn(text, "\n");
    const char *address = text[pid] ? text + pid + 1 : "";
    if (address[0])
        err_set(err, ERR_STORE,
                "another daemon (pid %.*s) uses the store %s; it answers at "
                "--socket %s",
                (int)pid, text, folder, address);
    else
        err_set(err, ERR_STORE, "another daemon (pid %.*s) uses the store %s",
                (int)pid, text, folder);
    buf_free(&user);
    return ERR_STORE;
}

/* The folder itself is locked, too: the file in it can be removed and made anew
 * by another daemon. */
static int lock_folder(const char *folder, int *ret_fd, struct err *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) { /* it may be entered, not read */
        *ret_fd = -1;
        return 0;
    }
    if (fd < 0)
        return err_errno(err, ERR_STORE, "cannot open %s", folder);
    if (file_lock_patiently(fd) < 0) {
        close(fd);
        return in_use(folder, err);
    }
    *ret_fd = fd;
    return 0;
}

static int take_lock(const struct store_options *options, int *ret_fd,
                     struct err *err)
{
    const char *folder = options->folder;
    struct buf path = {0};
    file_join(&path, folder, "lock");
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    buf_free(&path);
    if (fd < 0)
        return err_errno(err, ERR_STORE, "cannot open the lock of %s", folder);
    if (file_lock_patiently(fd) < 0) {
        close(fd);
        return in_use(folder, err);
    }
    struct buf user = {0};
    buf_printf(&user, "%ld", (long)getpid());
    if (options->address)
        buf_printf(&user, "\n%s", options->address);
    bool written =
        ftruncate(fd, 0) == 0 && pwrite(fd, user.data, user.size, 0) >= 0;
    buf_free(&user);
    if (!written) {
        int code =
            err_errno(err, ERR_STORE, "cannot write the lock of %s", folder);
        close(fd);
        return code;
    }
    *ret_fd = fd;
    return 0;
}

static void unlock(int lock, int folder_lock)
{
    if (lock >= 0)
        close(lock);
    if (folder_lock >= 0)
        close(folder_lock);
}

int store_open(const struct store_options *options, struct store **ret_store,
               struct err *err)
{
    struct err cause = {0};
    struct store_env *env;
    int lock = -1, folder_lock = -1;
    int code = file_make_folder(options->folder, 0700, &cause);
    if (code)
        return err_set(err, ERR_STORE, "%s", cause.message);
    code = lock_folder(options->folder, &folder_lock, err);
    if (!code)
        code = take_lock(options, &lock, err);
    if (!code) {
        store_copy_clear(options->folder);
        code = store_prepare(options->folder, err);
    }
    if (!code)
        code = env_open(options->folder, options->max_bytes, 0, &env, err);
    if (code) {
        unlock(lock, folder_lock);
        return code;
    }
    struct store *store = mem_alloc(sizeof *store);
    *store = (struct store){.env = env,
                            .folder = mem_strdup(options->folder),
                            .max_bytes = options->max_bytes,
                            .lock = lock,
                            .folder_lock = folder_lock};
    pthread_mutex_init(&store->exchange, NULL);
    pthread_mutex_init(&store->writing, NULL);
    *ret_store = store;
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    env_close(store->env);
    unlock(store->lock, store->folder_lock);
    pthread_mutex_destroy(&store->exchange);
    pthread_mutex_destroy(&store->writing);
    free(store->folder);
    free(store);
}

const char *store_folder(const struct store *store)
{
    return store->folder;
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
        return err_set(
            err, ERR_STORE,
            "the store's counter %s is damaged: lectern verify --repair", name);
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
    buf_put_varint(&value, manual->all_links);
    buf_put_varint(&value, manual->not_followed);
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
        return err_set(err, ERR_STORE,
                       "the store's record of a manual has no number");
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
    manual.all_links = in.at < in.size && read_varint(&in);
    manual.not_followed = in.at < in.size ? read_varint(&in) : 0;
    if (in.failed || in.at != in.size || !manual.name[0]) {
        manual_free(&manual);
        return err_set(err, ERR_STORE,
                       "the store's record of manual %u is damaged", manual.id);
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

static void free_manuals(struct manual *manuals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        manual_free(&manuals[i]);
    free(manuals);
}

int store_list_manuals(struct store_txn *txn, struct manual **ret_manuals,
                       size_t *ret_count, struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    struct manual *items = NULL;
    size_t count = 0, capacity = 0;
    int code = table_cursor_open(txn, TABLE_MANUALS, &cursor, err);
    if (code)
        return code;
    while (!(code = table_cursor_next(&cursor, &key, &value, err))) {
        MEM_RESERVE(items, &capacity, count + 1);
        struct err damage;
        if (manual_read(key, value, &items[count], &damage))
            log_error("%s: lectern verify", damage.message);
        else
            count++;
    }
    table_cursor_close(&cursor);
    if (code != ERR_NOT_FOUND) {
        free_manuals(items, count);
        return code;
    }
    *ret_manuals = items;
    *ret_count = count;
    return 0;
}

int store_read_manuals(struct store *store, struct manual **ret_manuals,
                       size_t *ret_count, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, ret_manuals, ret_count, err);
    store_end(txn);
    return code;
}

int store_check_manuals(struct store_txn *txn, size_t count, struct err *err)
{
    MDB_stat stat;
    int rc = trap_stat(txn, txn->env->tables[TABLE_MANUALS], &stat);
    if (rc)
        return store_error(rc, "cannot look through the store", err);
    return stat.ms_entries == count
               ? 0
               : err_set(err, ERR_STORE,
                         "the store's record of a manual is damaged: lectern "
                         "verify --repair");
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
    int all = store_check_manuals(txn, count, err);
    for (size_t i = 0; i < count; i++) {
        if (!found && !strcmp(manuals[i].name, name)) {
            *ret_manual = manuals[i];
            found = true;
        } else {
            manual_free(&manuals[i]);
        }
    }
    free(manuals);
    if (found || all) /* it may be the one that was left out */
        return found ? 0 : all;
    return err_set(err, ERR_NOT_FOUND, "no manual is named %s", name);
}

int store_delete_manual(struct store_txn *txn, uint32_t id, struct err *err)
{
    static const int tables[] = {TABLE_MANUALS, TABLE_FILES, TABLE_OUTLINES,
                                 TABLE_VECTORS, TABLE_UNFINISHED};
    char start[4];
    int code = 0;
    key_u32(start, id);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0] && !code; t++)
        code = table_delete_prefix(txn, tables[t],
                                   (struct slice){start, sizeof start}, err);
    return code;
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
    struct table_cursor cursor;
    struct slice key, value;
    int code = table_cursor_open(txn, TABLE_POSTINGS, &cursor, err);
    if (code)
        return code;
    code = table_cursor_seek(&cursor, from, &key, &value, err);
    while (
        !code && slice_starts(key, from) &&
        each(context, (struct slice){key.data + 8, key.size - 8}, value.size))
        code = table_cursor_next(&cursor, &key, &value, err);
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
}
