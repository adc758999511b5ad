/* Calls of LMDB that come back.
 *
 * LMDB trusts its pages.  On a damaged one it may end in an assertion, follow a
 * pointer that it never set, or read behind the end of the file.  Each call that
 * looks at pages is made through trap_run: what would end the process there ends
 * the call, as MDB_CORRUPTED.  What LMDB holds for a reading transaction is as it
 * was before the call; a writing one cannot be ended any more, and is left as it
 * is (store_env.c). */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "memory/store/store_internal.h"

static _Thread_local sigjmp_buf *way_back; /* NULL: no call is made */

int trap_run(trap_call *call, void *context, bool *ret_trapped)
{
    sigjmp_buf here, *const outer = way_back;
    /* Without the signals' mask: the handlers block none. */
    if (sigsetjmp(here, 0)) {
        way_back = outer;
        *ret_trapped = true;
        return MDB_CORRUPTED;
    }
    way_back = &here;
    int rc = call(context);
    way_back = outer;
    return rc;
}

void trap_leave(void)
{
    if (way_back)
        siglongjmp(*way_back, 1);
}

void trap_on_assert(MDB_env *env, const char *message)
{
    (void)env;
    (void)message;
    trap_leave();
}

/* ---- Calls within a transaction ---- */

static int run(struct store_txn *txn, trap_call *call, void *context)
{
    bool trapped = false;
    int rc = trap_run(call, context, &trapped);
    if (trapped && txn->writes) {
        txn->trapped = true;
        atomic_store(&txn->env->write_trapped, true);
    }
    return rc;
}

struct record {
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val *key, *value;
};

static int get(void *context)
{
    const struct record *r = context;
    return mdb_get(r->txn, r->table, r->key, r->value);
}

static int put(void *context)
{
    const struct record *r = context;
    return mdb_put(r->txn, r->table, r->key, r->value, 0);
}

static int delete (void *context)
{
    const struct record *r = context;
    return mdb_del(r->txn, r->table, r->key, NULL);
}

int trap_get(struct store_txn *txn, MDB_dbi table, MDB_val *key, MDB_val *value)
{
    return run(txn, get, &(struct record){txn->mdb, table, key, value});
}

int trap_put(struct store_txn *txn, MDB_dbi table, MDB_val *key, MDB_val *value)
{
    return run(txn, put, &(struct record){txn->mdb, table, key, value});
}

int trap_delete(struct store_txn *txn, MDB_dbi table, MDB_val *key)
{
    return run(txn, delete, &(struct record){txn->mdb, table, key, NULL});
}

struct counting {
    MDB_txn *txn;
    MDB_dbi table;
    MDB_stat *stat;
};

static int count(void *context)
{
    const struct counting *c = context;
    return mdb_stat(c->txn, c->table, c->stat);
}

int trap_stat(struct store_txn *txn, MDB_dbi table, MDB_stat *stat)
{
    return run(txn, count, &(struct counting){txn->mdb, table, stat});
}

static int commit(void *context)
{
    return mdb_txn_commit(context);
}

int trap_commit(struct store_txn *txn)
{
    return run(txn, commit, txn->mdb);
}

struct step {
    MDB_cursor *cursor;
    MDB_val *key, *value;
    MDB_cursor_op op;
};

static int move(void *context)
{
    const struct step *s = context;
    return mdb_cursor_get(s->cursor, s->key, s->value, s->op);
}

int trap_cursor_get(struct store_txn *txn, MDB_cursor *cursor, MDB_val *key,
                    MDB_val *value, MDB_cursor_op op)
{
    return run(txn, move, &(struct step){cursor, key, value, op});
}

static int delete_here(void *context)
{
    return mdb_cursor_del(context, 0);
}

int trap_cursor_delete(struct store_txn *txn, MDB_cursor *cursor)
{
    return run(txn, delete_here, cursor);
}
