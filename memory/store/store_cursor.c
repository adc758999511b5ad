/* Cursors that trust no page.
 *
 * LMDB checks nothing of what it reads.  On a damaged page a key may be one of
 * 64 KiB, the next record may be an earlier one, so that a loop never ends, and a
 * value may be said to go on behind the end of the file. */
#include <string.h>

#include "memory/store/store_internal.h"

static int damaged(struct err *err)
{
    return store_error(MDB_CORRUPTED, "cannot look through the store", err);
}

bool table_value_is_possible(const struct store_txn *txn, const MDB_val *value)
{
    MDB_envinfo info;
    MDB_stat stat;
    if (txn->writes) /* what it has put may be longer than the file is yet */
        return true;
    mdb_env_info(txn->env->mdb, &info);
    mdb_env_stat(txn->env->mdb, &stat);
    uint64_t size = ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
    return guard_holds(txn->env->guard, size, value->mv_data, value->mv_size);
}

/* Notes where the cursor stands, which must be behind where it stood. */
static int arrive(struct table_cursor *cursor, int rc, const MDB_val *key,
                  const MDB_val *value, struct slice *ret_key,
                  struct slice *ret_value, struct err *err)
{
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (rc)
        return store_error(rc, "cannot look through the store", err);
    if (key->mv_size > MDB_MAX_KEY || !key->mv_size ||
        slice_compare(slice_of_val(*key),
                      (struct slice){cursor->last, cursor->last_size}) <= 0 ||
        !table_value_is_possible(cursor->txn, value))
        return damaged(err);
    memcpy(cursor->last, key->mv_data, key->mv_size);
    cursor->last_size = key->mv_size;
    *ret_key = slice_of_val(*key);
    *ret_value = slice_of_val(*value);
    if (cursor->kind == CURSOR_RAW ||
        sum_strip(cursor->txn, cursor->table, *ret_key, ret_value))
        return 0;
    *ret_value = (struct slice){0};
    return cursor->kind == CURSOR_LENIENT
               ? 0
               : sum_error(cursor->txn, cursor->table, err);
}

int table_cursor_open(struct store_txn *txn, int table,
                      struct table_cursor *ret, struct err *err)
{
    *ret = (struct table_cursor){.txn = txn, .table = table};
    int rc = mdb_cursor_open(txn->mdb, txn->env->tables[table], &ret->mdb);
    return rc ? store_error(rc, "cannot look through the store", err) : 0;
}

void table_cursor_close(struct table_cursor *cursor)
{
    mdb_cursor_close(cursor->mdb);
}

int table_cursor_seek(struct table_cursor *cursor, struct slice from,
                      struct slice *ret_key, struct slice *ret_value,
                      struct err *err)
{
    MDB_val key = {from.size, (void *)(uintptr_t)from.data}, value;
    int rc = trap_cursor_get(cursor->txn, cursor->mdb, &key, &value,
                             from.size ? MDB_SET_RANGE : MDB_FIRST);
    if (!rc && (key.mv_size > MDB_MAX_KEY ||
                slice_compare(slice_of_val(key), from) < 0))
        return damaged(err);
    return arrive(cursor, rc, &key, &value, ret_key, ret_value, err);
}

int table_cursor_next(struct table_cursor *cursor, struct slice *ret_key,
                      struct slice *ret_value, struct err *err)
{
    MDB_val key, value;
    int rc = trap_cursor_get(cursor->txn, cursor->mdb, &key, &value, MDB_NEXT);
    return arrive(cursor, rc, &key, &value, ret_key, ret_value, err);
}

int table_delete_prefix(struct store_txn *txn, int table, struct slice prefix,
                        struct err *err)
{
    struct table_cursor cursor;
    struct slice key, value;
    int code = table_cursor_open(txn, table, &cursor, err);
    if (code)
        return code;
    cursor.kind = CURSOR_RAW;
    while (!(code = table_cursor_seek(&cursor, prefix, &key, &value, err)) &&
           slice_starts(key, prefix)) {
        int rc = trap_cursor_delete(txn, cursor.mdb);
        if (rc) {
            code = store_error(rc, "cannot delete from the store", err);
            break;
        }
    }
    table_cursor_close(&cursor);
    return code == ERR_NOT_FOUND ? 0 : code;
}
