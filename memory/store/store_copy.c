/* Copies of the store: backups, and the denser one that takes its place.
 *
 * Records are written in the order of their keys, so that every page of the copy
 * is full; without syncs until its end, when the file is synced as a whole.
 *
 * Compaction, where a kill or a power cut leaves the store at each step:
 *
 *   copy into compact/           the old one; store_open removes the folder
 *   sync the copy, its folder    "
 *   wait for writers; has none written since?  else all again
 *   rename its file over the store's      the one or the other: both are whole
 *   sync the store's folder               the new one
 *   let writers go on, in the new one
 *
 * The locks of LMDB belong to their file, so that the copy brings its own. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/store/store_internal.h"

enum {
    BATCH_BYTES = 32 << 20, /* of records in a transaction */
    POLL_RECORDS = 256,
    BESIDES = 128 << 10, /* bytes: LMDB's lock, pages between transactions */
    FREE_TRIES = 2       /* copies while others may write; then they wait */
};

static const char data_file[] = "data.mdb", lock_file[] = "lock.mdb",
                  unborn_file[] = "new.mdb"; /* store_prepare's */

struct copy {
    struct store_txn *from;
    struct store_env *to;
    MDB_txn *mdb; /* of `to` */
    MDB_dbi table;
    size_t bytes; /* in this transaction */
    size_t done, total;
    store_progress *progress;
    void *context;
    const atomic_bool *cancel;
};

/* ---- Records ---- */

static int write_error(int rc, struct err *err)
{
    return store_error(rc, "cannot write the copy of the store", err);
}

static int begin_batch(struct copy *c, struct err *err)
{
    c->bytes = 0;
    int rc = mdb_txn_begin(c->to->mdb, NULL, 0, &c->mdb);
    return rc ? write_error(rc, err) : 0;
}

static int end_batch(struct copy *c, struct err *err)
{
    int rc = mdb_txn_commit(c->mdb);
    c->mdb = NULL;
    return rc ? write_error(rc, err) : 0;
}

static int poll_copy(struct copy *c, struct err *err)
{
    c->done++;
    if (c->done % POLL_RECORDS)
        return 0;
    if (c->progress)
        c->progress(c->context, c->done, c->total);
    return c->cancel && atomic_load(c->cancel)
               ? err_set(err, ERR_CANCELLED, "cancelled")
               : 0;
}

static int put_record(struct copy *c, struct slice key, struct slice value,
                      struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data};
    MDB_val v = {value.size, (void *)(uintptr_t)value.data};
    int rc = mdb_put(c->mdb, c->table, &k, &v, MDB_APPEND);
    if (rc)
        return write_error(rc, err);
    c->bytes += key.size + value.size;
    int code = poll_copy(c, err);
    if (!code && c->bytes > BATCH_BYTES) {
        code = end_batch(c, err);
        if (!code)
            code = begin_batch(c, err);
    }
    return code;
}

/* The schema is there already, and comes again from the old one. */
static int copy_table(struct copy *c, int table, struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    c->table = c->to->tables[table];
    int rc = mdb_drop(c->mdb, c->table, 0);
    if (rc)
        return write_error(rc, err);
    int code = table_cursor_open(c->from, table, &cursor, err);
    if (code)
        return code;
    cursor.kind = CURSOR_RAW;
    while (!(code = table_cursor_next(&cursor, &key, &value, err)))
        if ((code = put_record(c, key, value, err)))
            break;
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
}

static void count_records(struct copy *c)
{
    MDB_stat stat;
    for (int t = 0; t < TABLES; t++)
        if (!trap_stat(c->from, c->from->env->tables[t], &stat))
            c->total += stat.ms_entries;
}

static int copy_records(struct copy *c, struct err *err)
{
    count_records(c);
    int code = begin_batch(c, err);
    for (int t = 0; t < TABLES && !code; t++)
        code = copy_table(c, t, err);
    if (!code)
        return end_batch(c, err);
    if (c->mdb)
        mdb_txn_abort(c->mdb);
    return code;
}

static int sync_folder(const char *folder, struct err *err)
{
    struct err cause = {0};
    return file_sync_folder(folder, &cause)
               ? err_set(err, ERR_STORE, "%s", cause.message)
               : 0;
}

static int sync_copy(struct store_env *env, const char *folder, struct err *err)
{
    int rc = mdb_env_sync(env->mdb, 1);
    if (!rc)
        rc = mdb_env_set_flags(env->mdb, MDB_NOSYNC, 0);
    return rc ? write_error(rc, err) : sync_folder(folder, err);
}

/* ---- Folders ---- */

static void remove_in(const char *folder, const char *name)
{
    struct buf path = {0};
    file_join(&path, folder, name);
    unlink(path.data);
    buf_free(&path);
}

static void remove_copy(const char *folder)
{
    remove_in(folder, data_file);
    remove_in(folder, lock_file);
    remove_in(folder, unborn_file);
    rmdir(folder);
}

static struct buf compact_folder(const char *store)
{
    struct buf folder = {0};
    file_join(&folder, store, "compact");
    return folder;
}

void store_copy_clear(const char *folder)
{
    struct buf copy = compact_folder(folder);
    remove_copy(copy.data);
    buf_free(&copy);
}

/* Dense pages hold what half-full ones do. */
static int check_room(struct store *store, const char *folder,
                      struct copy_report *report, struct err *err)
{
    struct store_pages pages;
    struct statvfs disk;
    int code = store_pages(store, false, &pages, err);
    if (code)
        return code;
    report->before = pages.bytes;
    report->needed = pages.bytes - pages.free + BESIDES;
    if (statvfs(folder, &disk) < 0)
        return err_errno(err, ERR_STORE, "cannot look at the disk of %s",
                         folder);
    report->available = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (report->available >= report->needed)
        return 0;
    return err_set(err, ERR_STORE,
                   "a copy of the store takes up to %.1f MB, the disk of %s "
                   "has %.1f MB left",
                   (double)report->needed / 1e6, folder,
                   (double)report->available / 1e6);
}

/* ---- A copy in a folder of its own ---- */

struct wish {
    store_progress *progress;
    void *context;
    const atomic_bool *cancel;
};

static int fill_copy(struct store_txn *from, struct store_env *to,
                     const struct wish *wish, const char *folder,
                     struct err *err)
{
    struct copy c = {.from = from,
                     .to = to,
                     .progress = wish->progress,
                     .context = wish->context,
                     .cancel = wish->cancel};
    int code = copy_records(&c, err);
    return code ? code : sync_copy(to, folder, err);
}

/* *ret_moment: the number of the last commit that the copy has. */
static int make_copy(struct store *store, const char *folder,
                     const struct wish *wish, struct store_env **ret,
                     size_t *ret_moment, struct err *err)
{
    struct store_txn *from;
    struct store_env *env;
    remove_copy(folder);
    if (mkdir(folder, 0700) < 0)
        return err_errno(err, ERR_STORE, "cannot make the folder %s", folder);
    int code = store_reserve_lock(folder, err); /* is_unfinished */
    if (!code)
        code = store_prepare(folder, err);
    if (!code)
        code = env_open(folder, store->max_bytes, MDB_NOSYNC, &env, err);
    if (code) {
        remove_copy(folder);
        return code;
    }
    code = store_read(store, &from, err);
    if (!code) {
        *ret_moment = mdb_txn_id(from->mdb);
        code = env_check(from->env, store->folder, err);
        if (!code)
            code = fill_copy(from, env, wish, folder, err);
        store_end(from);
    }
    if (!code) {
        *ret = env;
        return 0;
    }
    env_close(env);
    remove_copy(folder);
    return code;
}

static uint64_t used_bytes(const struct store_env *env)
{
    MDB_envinfo info;
    MDB_stat stat;
    mdb_env_info(env->mdb, &info);
    mdb_env_stat(env->mdb, &stat);
    return (uint64_t)(info.me_last_pgno + 1) * stat.ms_psize;
}

/* ---- Backup ---- */

/* Nothing is there, or a folder that is empty: a rename takes its place. */
static int check_free(const char *folder, struct err *err)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    bool empty = true;
    if (!open && errno == ENOENT)
        return 0;
    if (!open && errno != ENOTDIR)
        return err_errno(err, ERR_IO, "cannot open %s", folder);
    while (open && empty && (entry = readdir(open)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (open)
        closedir(open);
    return open && empty ? 0
                         : err_set(err, ERR_USAGE,
                                   "%s is there already: a backup takes a new "
                                   "folder",
                                   folder);
}

/* Left by one who was killed: LMDB's lock is there before the data, and until the copy
 * has its name; a store has more. */
static bool is_unfinished(DIR *folder)
{
    const struct dirent *entry;
    bool locked = false, filled = false, more = false;
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        bool ours = !strcmp(name, ".") || !strcmp(name, "..") ||
                    !strcmp(name, unborn_file);
        locked = locked || !strcmp(name, lock_file);
        filled = filled || !strcmp(name, data_file);
        more = more ||
               !(ours || !strcmp(name, lock_file) || !strcmp(name, data_file));
    }
    return !more && (locked || !filled);
}

/* What a copy is written into before it has its name is not somebody's own. */
static int check_partial(const char *folder, struct err *err)
{
    DIR *open = opendir(folder);
    bool free = !open || is_unfinished(open);
    if (open)
        closedir(open);
    return free ? 0
                : err_set(err, ERR_USAGE,
                          "%s, where the copy is written first, is there "
                          "already and no unfinished backup: choose another "
                          "name, or move it away",
                          folder);
}

static int parent_of(const char *folder, struct buf *ret, struct err *err)
{
    const char *slash = strrchr(folder, '/');
    struct stat st;
    if (folder[0] != '/' || !slash[1])
        return err_set(err, ERR_USAGE, "%s is no absolute path of a folder",
                       folder);
    buf_put(ret, folder, slash == folder ? 1 : (size_t)(slash - folder));
    if (stat(ret->data, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_USAGE, "%s: there is no such folder",
                       ret->data);
    return check_free(folder, err);
}

static int take_name(const char *partial, const char *folder,
                     const char *parent, struct err *err)
{
    if (rename(partial, folder) < 0) {
        int code = err_errno(err, ERR_STORE, "cannot rename %s", partial);
        remove_copy(partial);
        return code;
    }
    remove_in(folder, lock_file);
    return sync_folder(parent, err);
}

static int backup_into(struct store *store, const char *parent,
                       const char *folder, const struct wish *wish,
                       struct copy_report *report, struct err *err)
{
    struct buf partial = {0};
    struct store_env *env;
    size_t moment;
    buf_printf(&partial, "%s.partial", folder);
    int code = check_partial(partial.data, err);
    if (!code)
        code = make_copy(store, partial.data, wish, &env, &moment, err);
    if (!code) {
        report->after = used_bytes(env);
        env_close(env);
        code = take_name(partial.data, folder, parent, err);
    }
    buf_free(&partial);
    return code;
}

int store_backup(struct store *store, const char *folder,
                 store_progress *progress, void *context,
                 const atomic_bool *cancel, struct copy_report *ret,
                 struct err *err)
{
    const struct wish wish = {progress, context, cancel};
    struct copy_report report = {0};
    struct buf parent = {0};
    int code = parent_of(folder, &parent, err);
    if (!code)
        code = check_room(store, parent.data, &report, err);
    if (!code)
        code = backup_into(store, parent.data, folder, &wish, &report, err);
    if (!code)
        *ret = report;
    buf_free(&parent);
    return code;
}

/* ---- Compaction ---- */

static int move_into(const char *from, const char *to, const char *name,
                     struct err *err)
{
    struct buf old = {0}, new = {0};
    int code = 0;
    file_join(&old, from, name);
    file_join(&new, to, name);
    if (rename(old.data, new.data) < 0)
        code =
            err_errno(err, ERR_STORE, "cannot move %s to its place", old.data);
    buf_free(&old);
    buf_free(&new);
    return code;
}

/* The caller holds `writing`. */
static int take_place(struct store *store, struct store_env *env,
                      const char *folder, struct err *err)
{
    int code = move_into(folder, store->folder, data_file, err);
    if (code) {
        env_close(env);
        remove_copy(folder);
        return code;
    }
    env_exchange(store, env);
    code = move_into(folder, store->folder, lock_file, err);
    rmdir(folder);
    return code ? code : sync_folder(store->folder, err);
}

static size_t last_commit(struct store *store)
{
    MDB_envinfo info;
    mdb_env_info(store->env->mdb, &info);
    return info.me_last_txnid;
}

/* *ret_done false: somebody wrote meanwhile. */
static int try_compact(struct store *store, const char *folder, bool alone,
                       const struct wish *wish, struct copy_report *report,
                       bool *ret_done, struct err *err)
{
    struct store_env *env;
    size_t moment;
    if (alone)
        pthread_mutex_lock(&store->writing);
    int code = make_copy(store, folder, wish, &env, &moment, err);
    if (code && !alone)
        return code;
    if (!alone)
        pthread_mutex_lock(&store->writing);
    if (!code && last_commit(store) != moment) {
        env_close(env);
        remove_copy(folder);
        *ret_done = false;
        if (alone)
            code = err_set(err, ERR_STORE,
                           "%s was changed by another program: stop the "
                           "daemon, and restore the store from a backup",
                           store->folder);
    } else if (!code) {
        report->after = used_bytes(env);
        code = take_place(store, env, folder, err);
        *ret_done = true;
    }
    pthread_mutex_unlock(&store->writing);
    return code;
}

int store_compact(struct store *store, store_progress *progress, void *context,
                  const atomic_bool *cancel, struct copy_report *ret,
                  struct err *err)
{
    const struct wish wish = {progress, context, cancel};
    struct copy_report report = {0};
    struct buf folder = compact_folder(store->folder);
    bool done = false;
    int code = check_room(store, store->folder, &report, err);
    for (int tries = 0; !code && !done; tries++)
        code = try_compact(store, folder.data, tries >= FREE_TRIES, &wish,
                           &report, &done, err);
    if (!code)
        *ret = report;
    buf_free(&folder);
    return code;
}
