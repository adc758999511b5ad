/* LMDB's environment, its tables, and transactions.
 *
 * A store changes its environment when it is compacted (store_copy.c): whoever
 * reads keeps the one he began with, which is closed by its last reader.
 * Writers go through `writing` one at a time, so that none writes into an
 * environment that is about to go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "memory/store/store_internal.h"

enum {
    SCHEMA = 8,        /* with it goes the table of tokens, of schema 7 */
    SUMS_SCHEMA = 6,   /* from then on values have checksums */
    OLDEST_SCHEMA = 1, /* that is read as it is */
    DROPPED = 1,       /* tables that are opened to be dropped */
    MAX_READERS = 126
};

#if defined(__SANITIZE_THREAD__)
static const uint64_t default_map = (uint64_t)1 << 30;
#else
static const uint64_t default_map = (uint64_t)256 << 30;
#endif

const char *const table_names[TABLES] = {
    "meta",     "manuals",  "files",    "trees",   "outlines",
    "postings", "segments", "memories", "vectors", "makings"};

int store_error(int mdb_code, const char *what, struct err *err)
{
    if (mdb_code == ENOSPC)
        return err_set(err, ERR_STORE, "%s: the disk is full", what);
    if (mdb_code == MDB_PANIC)
        return err_set(err, ERR_STORE,
                       "%s: writing to the store failed (the disk may be full, "
                       "or fail); it is opened anew once nobody reads it",
                       what);
    if (mdb_code == ENOMEM)
        return err_set(err, ERR_LIMIT, "%s: %s", what, strerror(mdb_code));
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

static int stamp_schema(struct store_env *env, MDB_txn *txn, struct err *err)
{
    uint32_t schema = SCHEMA;
    MDB_val key = {6, (void *)(uintptr_t) "schema"};
    MDB_val value = {sizeof schema, &schema};
    int rc = mdb_put(txn, env->tables[TABLE_META], &key, &value, 0);
    return rc ? store_error(rc, "cannot write the schema", err) : 0;
}

/* ERR_NOT_FOUND: there is none, or an older one. */
static int check_schema(struct store_env *env, MDB_txn *txn, struct err *err)
{
    MDB_val key = {6, (void *)(uintptr_t) "schema"}, value;
    uint32_t schema;
    int rc = mdb_get(txn, env->tables[TABLE_META], &key, &value);
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (rc || value.mv_size != sizeof schema)
        return store_error(rc ? rc : MDB_CORRUPTED, "cannot read the schema",
                           err);
    memcpy(&schema, value.mv_data, sizeof schema);
    if (schema < OLDEST_SCHEMA || schema > SCHEMA)
        return err_set(err, ERR_STORE,
                       "the store has schema %u, this program knows %d: use "
                       "the program that wrote it, or another --store",
                       schema, SCHEMA);
    return schema < SCHEMA ? ERR_NOT_FOUND : 0;
}

/* A table of another kind would have LMDB follow pointers of which there are
 * none. */
static int open_table(MDB_txn *txn, const char *name, unsigned make,
                      MDB_dbi *ret)
{
    unsigned flags = 0;
    int rc = mdb_dbi_open(txn, name, make, ret);
    if (!rc)
        rc = mdb_dbi_flags(txn, *ret, &flags);
    return rc ? rc : flags ? MDB_CORRUPTED : 0;
}

/* ERR_NOT_FOUND: something is still to be made.  A table that is there under
 * another name is damage, and not replaced by an empty one. */
static int find_tables(struct store_env *env, MDB_txn *txn, struct err *err)
{
    enum { NAMES = 1 };
    MDB_stat stat;
    size_t found = 0;
    int rc = mdb_stat(txn, NAMES, &stat), code = 0;
    for (int t = 0; t < TABLES && !rc && !code; t++) {
        rc = open_table(txn, table_names[t], 0, &env->tables[t]);
        found += !rc;
        if (!rc && t == TABLE_META)
            code = check_schema(env, txn, err);
        if (rc == MDB_NOTFOUND)
            rc = 0;
    }
    if (code && code != ERR_NOT_FOUND)
        return code;
    if (!rc && !code && stat.ms_entries != found)
        rc = MDB_CORRUPTED;
    if (rc)
        return store_error(rc, "cannot open a table", err);
    return found == TABLES ? code : ERR_NOT_FOUND;
}

/* 0: a new store. */
static uint32_t schema_of(const struct store_env *env, MDB_txn *txn)
{
    MDB_val key = {6, (void *)(uintptr_t) "schema"}, value;
    uint32_t schema = 0;
    if (!mdb_get(txn, env->tables[TABLE_META], &key, &value) &&
        value.mv_size == sizeof schema)
        memcpy(&schema, value.mv_data, sizeof schema);
    return schema;
}

/* Codes of tokens, by which nobody puts results in order any more. */
static int drop_tokens(MDB_txn *txn)
{
    MDB_dbi table;
    int rc = open_table(txn, "tokens", 0, &table);
    if (!rc)
        rc = mdb_drop(txn, table, 1);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int make_tables(struct store_env *env, MDB_txn *txn, struct err *err)
{
    int rc = 0, code = 0;
    for (int t = 0; t < TABLES && !rc; t++)
        rc = open_table(txn, table_names[t], MDB_CREATE, &env->tables[t]);
    if (!rc)
        rc = drop_tokens(txn);
    if (rc)
        return store_error(rc, "cannot open a table", err);
    uint32_t schema = schema_of(env, txn);
    if (schema && schema < SUMS_SCHEMA)
        code = sums_add(env, txn, err);
    return code ? code : stamp_schema(env, txn, err);
}

typedef int tables_work(struct store_env *env, MDB_txn *txn, struct err *err);

static int with_tables(struct store_env *env, unsigned flags, tables_work *work,
                       struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(env->mdb, NULL, flags, &txn);
    if (rc)
        return store_error(rc, "cannot open the store", err);
    int code = work(env, txn, err);
    if (code) {
        mdb_txn_abort(txn);
        return code;
    }
    rc = mdb_txn_commit(txn);
    return rc ? store_error(rc, "cannot open the store", err) : 0;
}

static int open_tables(struct store_env *env, const char *folder,
                       struct err *err)
{
    int code = with_tables(env, MDB_RDONLY, find_tables, err);
    if (code != ERR_NOT_FOUND)
        return code;
    code = env_check(env, folder, err);
    return code ? code : with_tables(env, 0, make_tables, err);
}

struct opening {
    struct store_env *env;
    const char *folder;
    unsigned flags;
    struct err *err;
};

static int open_folder(void *context)
{
    struct opening *o = context;
    MDB_env *mdb = o->env->mdb;
    int rc = mdb_env_open(mdb, o->folder, MDB_NOTLS | o->flags, 0600), dead;
    if (!rc)
        rc = mdb_reader_check(mdb, &dead);
    if (rc)
        return store_error(rc, "cannot open the store", o->err);
    o->env->guard = guard_map(mdb);
    int code = guard_check_size(mdb, o->folder, o->err);
    return code ? code : open_tables(o->env, o->folder, o->err);
}

int env_open(const char *folder, uint64_t max_bytes, unsigned flags,
             struct store_env **ret, struct err *err)
{
    int code = store_reserve_lock(folder, err);
    if (code)
        return code;
    struct store_env *env = mem_alloc(sizeof *env);
    int rc = mdb_env_create(&env->mdb);
    if (rc) {
        free(env);
        return store_error(rc, "cannot open the store", err);
    }
    env->guard = -1;
    mdb_env_set_mapsize(env->mdb, max_bytes ? max_bytes : default_map);
    mdb_env_set_maxdbs(env->mdb, TABLES + DROPPED);
    mdb_env_set_maxreaders(env->mdb, MAX_READERS);
    mdb_env_set_assert(env->mdb, trap_on_assert);
    guard_install();
    struct opening opening = {env, folder, flags, err};
    bool trapped = false;
    code = trap_run(open_folder, &opening, &trapped);
    atomic_store(&env->write_trapped, trapped);
    if (trapped)
        code = err_set(err, ERR_STORE,
                       "the store %s is damaged: restore a backup, or remove "
                       "the folder and add the manuals again",
                       folder);
    if (code)
        env_close(env);
    else
        *ret = env;
    return code;
}

/* With a transaction that cannot be ended, what is LMDB's stays until the end of
 * the process: this thread holds its lock. */
void env_close(struct store_env *env)
{
    guard_unmap(env->guard);
    if (env->mdb && !atomic_load(&env->write_trapped))
        mdb_env_close(env->mdb);
    free(env);
}

/* After a failed write of its first pages LMDB lets nobody in any more.  With the last
 * user gone it is closed, and then opened: in a process that has a file open twice,
 * closing one gives up the locks of both.  Where that fails, the next user tries
 * again.  With `exchange`. */
static void revive(struct store *store)
{
    struct store_env *old = store->env, *env;
    if (!atomic_load(&old->panicked) || old->users ||
        atomic_load(&old->write_trapped))
        return;
    guard_unmap(old->guard);
    old->guard = -1;
    if (old->mdb)
        mdb_env_close(old->mdb);
    old->mdb = NULL;
    if (env_open(store->folder, store->max_bytes, 0, &env, &store->why_closed))
        return;
    log_warn("the store %s was opened anew after a write to it had failed",
             store->folder);
    store->env = env;
    free(old);
}

/* The store may have another environment by the time it is given back. */
static struct store_env *env_take(struct store *store)
{
    pthread_mutex_lock(&store->exchange);
    revive(store);
    struct store_env *env = store->env;
    env->users++;
    pthread_mutex_unlock(&store->exchange);
    return env;
}

static void env_give_back(struct store *store, struct store_env *env)
{
    pthread_mutex_lock(&store->exchange);
    bool last = --env->users == 0 && env != store->env;
    pthread_mutex_unlock(&store->exchange);
    if (last)
        env_close(env);
}

void env_exchange(struct store *store, struct store_env *env)
{
    pthread_mutex_lock(&store->exchange);
    struct store_env *old = store->env;
    store->env = env;
    bool unused = !old->users;
    pthread_mutex_unlock(&store->exchange);
    if (unused)
        env_close(old);
}

void store_size(struct store *store, uint64_t *ret_used, uint64_t *ret_map)
{
    struct store_env *env = env_take(store);
    MDB_envinfo info = {0};
    MDB_stat stat = {0};
    if (env->mdb) {
        mdb_env_info(env->mdb, &info);
        mdb_env_stat(env->mdb, &stat);
    }
    env_give_back(store, env);
    *ret_used = (uint64_t)(info.me_last_pgno + 1) * stat.ms_psize;
    *ret_map = info.me_mapsize;
}

/* ---- Transactions ---- */

static void txn_end(struct store_txn *txn)
{
    env_give_back(txn->store, txn->env);
    if (txn->writes)
        pthread_mutex_unlock(&txn->store->writing);
    buf_free(&txn->summed);
    free(txn);
}

static int env_damage(struct store *store, const struct store_env *env,
                      struct err *err)
{
    if (!env->mdb) {
        pthread_mutex_lock(&store->exchange);
        int code = err_set(err, ERR_STORE,
                           "the store %s was closed after a write to it had "
                           "failed, and cannot be opened yet: %s",
                           store->folder, store->why_closed.message);
        pthread_mutex_unlock(&store->exchange);
        return code;
    }
    return guard_is_damaged(env->guard)
               ? err_set(err, ERR_STORE,
                         "the store %s is damaged: a part of its file cannot "
                         "be read; stop the daemon and restore a backup, or "
                         "remove the folder and add the manuals again",
                         store->folder)
               : 0;
}

/* What is written to a file that has no name is lost with the daemon. */
static int env_may_write(struct store *store, const struct store_env *env,
                         struct err *err)
{
    if (env->mdb && guard_is_gone(env->mdb))
        return err_set(err, ERR_STORE,
                       "the store %s was removed while the daemon uses it: "
                       "stop the daemon (lectern daemon --stop), then add the "
                       "manuals again",
                       store->folder);
    if (atomic_load(&env->write_trapped))
        return err_set(err, ERR_STORE,
                       "the store %s is damaged, so that nothing more is "
                       "written to it: stop the daemon and restore a backup, "
                       "or remove the folder and add the manuals again",
                       store->folder);
    return env_damage(store, env, err);
}

static int check_env(const struct store_txn *txn, struct err *err)
{
    if (!txn->writes)
        return env_damage(txn->store, txn->env, err);
    int code = env_may_write(txn->store, txn->env, err);
    return code ? code : env_check(txn->env, txn->store->folder, err);
}

int store_may_write(struct store *store, struct err *err)
{
    struct store_env *env = env_take(store);
    int code = env_may_write(store, env, err);
    env_give_back(store, env);
    return code;
}

int store_check(struct store *store, bool again, struct err *err)
{
    struct store_env *env = env_take(store);
    if (again)
        atomic_store(&env->whole, false);
    int code = env_damage(store, env, err);
    if (!code)
        code = env_check(env, store->folder, err);
    env_give_back(store, env);
    return code;
}

int store_damage(struct store *store, struct err *err)
{
    struct store_env *env = env_take(store);
    int code = env_damage(store, env, err);
    env_give_back(store, env);
    return code;
}

/* In an environment that LMDB has given up once more, in the one after it. */
static int begin_in(struct store_txn *txn, int *ret_rc, struct err *err)
{
    for (int tries = 0; tries < 2; tries++) {
        int code = check_env(txn, err);
        if (code)
            return code;
        *ret_rc = mdb_txn_begin(txn->env->mdb, NULL,
                                txn->writes ? 0 : MDB_RDONLY, &txn->mdb);
        if (*ret_rc != MDB_PANIC)
            return 0;
        atomic_store(&txn->env->panicked, true);
        env_give_back(txn->store, txn->env);
        txn->env = env_take(txn->store);
    }
    return 0;
}

static int begin(struct store *store, bool writes, struct store_txn **ret_txn,
                 struct err *err)
{
    struct store_txn *txn = mem_alloc(sizeof *txn);
    if (writes)
        pthread_mutex_lock(&store->writing);
    *txn = (struct store_txn){
        .store = store, .env = env_take(store), .writes = writes};
    int rc = 0, code = begin_in(txn, &rc, err);
    if (rc && !code)
        code = store_error(rc, "cannot begin a transaction", err);
    if (code) {
        txn_end(txn);
        return code;
    }
    *ret_txn = txn;
    return 0;
}

int store_read(struct store *store, struct store_txn **ret_txn, struct err *err)
{
    return begin(store, false, ret_txn, err);
}

int store_write(struct store *store, struct store_txn **ret_txn,
                struct err *err)
{
    return begin(store, true, ret_txn, err);
}

int store_commit(struct store_txn *txn, struct err *err)
{
    int rc = txn->trapped ? MDB_CORRUPTED : trap_commit(txn);
    txn_end(txn);
    return rc ? store_error(rc, "cannot commit to the store", err) : 0;
}

void store_end(struct store_txn *txn)
{
    if (!txn)
        return;
    if (!txn->trapped)
        mdb_txn_abort(txn->mdb);
    txn_end(txn);
}

int table_put(struct store_txn *txn, int table, struct slice key,
              struct slice value, struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data};
    if (table_has_sums(table)) {
        sum_append(table, key, value, &txn->summed);
        value = buf_slice(&txn->summed);
    }
    MDB_val v = {value.size, (void *)(uintptr_t)value.data};
    int rc = trap_put(txn, txn->env->tables[table], &k, &v);
    return rc ? store_error(rc, "cannot write to the store", err) : 0;
}

static int get(struct store_txn *txn, int table, struct slice key,
               struct slice *ret_value, bool *ret_right, struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data}, v;
    int rc = trap_get(txn, txn->env->tables[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (!rc && !table_value_is_possible(txn, &v))
        rc = MDB_CORRUPTED;
    if (rc)
        return store_error(rc, "cannot read the store", err);
    *ret_value = (struct slice){v.mv_data, v.mv_size};
    *ret_right = sum_strip(txn, table, key, ret_value);
    return 0;
}

int table_get(struct store_txn *txn, int table, struct slice key,
              struct slice *ret_value, struct err *err)
{
    struct slice value;
    bool right = true;
    int code = get(txn, table, key, &value, &right, err);
    if (code || !right)
        return code ? code : sum_error(txn, table, err);
    *ret_value = value;
    return 0;
}

int table_get_lenient(struct store_txn *txn, int table, struct slice key,
                      struct slice *ret_value, struct err *err)
{
    bool right = true;
    int code = get(txn, table, key, ret_value, &right, err);
    if (!code && !right)
        *ret_value = (struct slice){0};
    return code;
}

int table_delete(struct store_txn *txn, int table, struct slice key,
                 struct err *err)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data};
    int rc = trap_delete(txn, txn->env->tables[table], &k);
    return rc && rc != MDB_NOTFOUND
               ? store_error(rc, "cannot delete from the store", err)
               : 0;
}
