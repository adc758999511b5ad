/* The inside of the store, shared by store*.c and store_collect.c:
 * the only files that know LMDB. */
#ifndef MEMORY_STORE_STORE_INTERNAL_H
#define MEMORY_STORE_STORE_INTERNAL_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "memory/store/store.h"

enum table {
    TABLE_META,
    TABLE_MANUALS,
    TABLE_FILES,
    TABLE_TREES,
    TABLE_OUTLINES,
    TABLE_POSTINGS,
    TABLE_SEGMENTS,
    TABLE_MEMORIES,
    TABLE_VECTORS,
    TABLE_UNFINISHED,
    TABLES /* checksums are made with these numbers; with 10 those of codes of
              tokens, until schema 8 */
};

extern const char *const table_names[TABLES];

enum { MDB_MAX_KEY = 511 }; /* LMDB's limit as it is compiled */

/* LMDB's file, of its format 1: what the two pages from which it begins hold, behind
 * a page's head.  The later commit counts. */
struct start_page {
    uint32_t magic, version;
    uint64_t address, map_size;
    struct start_table {
        uint32_t page_size; /* of the first table; 0 of others */
        uint16_t flags, depth;
        uint64_t branches, leaves, overflows, entries, root;
    } free_list, names;
    uint64_t last_page, commit;
};

struct store_env {
    MDB_env *mdb; /* NULL: closed for good, and not yet opened anew */
    MDB_dbi tables[TABLES];
    int guard;                 /* guard_map's */
    atomic_bool whole;         /* env_check has found no fault */
    atomic_bool write_trapped; /* a writing transaction could not be ended */
    atomic_bool panicked;      /* LMDB lets nobody in any more */
    size_t users;              /* transactions; the store has the lock */
};

struct store {
    struct store_env *env;
    pthread_mutex_t exchange; /* of env; and its users */
    struct err why_closed;    /* with it */
    pthread_mutex_t writing;  /* held by the one who writes */
    char *folder;
    uint64_t max_bytes;
    atomic_bool damage; /* a value was read that is not what was written */
    atomic_bool postings_whole; /* store_check_postings has found no fault */
    int lock;        /* descriptor of the locked file, which says who has it */
    int folder_lock; /* of the locked folder, whose file may be removed */
};

struct store_txn {
    struct store *store;
    struct store_env *env;
    MDB_txn *mdb;
    bool writes;
    bool trapped;      /* by a damaged page, while it wrote */
    struct buf summed; /* the value that is put */
};

/* `max_bytes` 0: the default; flags: LMDB's, besides MDB_NOTLS. */
int env_open(const char *folder, uint64_t max_bytes, unsigned flags,
             struct store_env **ret, struct err *err);
void env_close(struct store_env *env);
/* store_check.c: ERR_STORE where LMDB's pages are not what they should be.  Looks at
 * each page but those of long values, once; from then on it knows. */
int env_check(struct store_env *env, const char *folder, struct err *err);
/* The caller holds `writing`.  Closes the old one, or leaves it to its last
 * reader. */
void env_exchange(struct store *store, struct store_env *env);

/* Removes what a compaction that was killed has left behind. */
void store_copy_clear(const char *folder);

/* Fills `err` from a code of LMDB; ERR_STORE, or ERR_LIMIT for want of
 * memory. */
int store_error(int mdb_code, const char *what, struct err *err);

/* store_prepare.c: the folder may be opened by LMDB: its data file is whole, or
 * made; the names of its files are on the disk. */
int store_prepare(const char *folder, struct err *err);
/* The folder's lock file has all its blocks. */
int store_reserve_lock(const char *folder, struct err *err);

/* store_trap.c: LMDB's calls; what would end the process ends the call, with
 * MDB_CORRUPTED. */
int trap_get(struct store_txn *txn, MDB_dbi table, MDB_val *key,
             MDB_val *value);
int trap_put(struct store_txn *txn, MDB_dbi table, MDB_val *key,
             MDB_val *value);
int trap_delete(struct store_txn *txn, MDB_dbi table, MDB_val *key);
int trap_stat(struct store_txn *txn, MDB_dbi table, MDB_stat *stat);
int trap_commit(struct store_txn *txn);
int trap_cursor_get(struct store_txn *txn, MDB_cursor *cursor, MDB_val *key,
                    MDB_val *value, MDB_cursor_op op);
int trap_cursor_delete(struct store_txn *txn, MDB_cursor *cursor);
/* Any other call; *ret_trapped is set where it did not return. */
typedef int trap_call(void *context);
int trap_run(trap_call *call, void *context, bool *ret_trapped);
/* For handlers: ends the call that this thread makes; returns without one. */
void trap_leave(void);
void trap_on_assert(MDB_env *env, const char *message); /* LMDB's callback */

/* store_guard.c: the map of an environment is read without dying of a SIGBUS; -1:
 * it is not known where it lies.  Damaged: something was missing there. */
void guard_install(void); /* before LMDB is called */
int guard_map(MDB_env *env);
void guard_unmap(int guard);
bool guard_is_damaged(int guard);
const char *guard_map_start(int guard); /* NULL: it is not known */
/* Whether so many bytes from `data` on are in the first `file_size` bytes of it. */
bool guard_holds(int guard, uint64_t file_size, const void *data, size_t size);
/* ERR_STORE where the file ends before the last page that is in use. */
int guard_check_size(MDB_env *env, const char *folder, struct err *err);
/* The file was removed, or another one has taken its place. */
bool guard_is_gone(MDB_env *env);

/* store_sums.c: checksums of values. */
enum { SUM_BYTES = 4 };
bool table_has_sums(int table);
/* The value and its sum in place of what `ret` held. */
void sum_append(int table, struct slice key, struct slice value,
                struct buf *ret);
/* Takes the sum off the value; false: it is not the value's. */
bool sum_strip(const struct store_txn *txn, int table, struct slice key,
               struct slice *value);
/* ERR_STORE, noted with the store. */
int sum_error(const struct store_txn *txn, int table, struct err *err);
/* Gives one to each value of a store from before schema 6. */
int sums_add(const struct store_env *env, MDB_txn *txn, struct err *err);

int table_put(struct store_txn *txn, int table, struct slice key,
              struct slice value, struct err *err);
/* 0, ERR_NOT_FOUND (without a message) or ERR_STORE. */
int table_get(struct store_txn *txn, int table, struct slice key,
              struct slice *ret_value, struct err *err);

/* The same; a value without its sum is empty, its data NULL. */
int table_get_lenient(struct store_txn *txn, int table, struct slice key,
                      struct slice *ret_value, struct err *err);

/* A string of a record, to be freed. */
static inline char *take_text(struct reader *in)
{
    struct slice text = read_string(in);
    return mem_strndup(text.data, text.size);
}

static inline struct slice slice_of_val(MDB_val value)
{
    return (struct slice){value.mv_data, value.mv_size};
}

/* The record as it stands in `manual`. */
int manual_write(struct store_txn *txn, const struct manual *manual,
                 struct err *err);
int manual_read(struct slice key, struct slice value, struct manual *ret,
                struct err *err);

/* The path itself, so that no two files share a key; what is too long ends in
 * a hash of it all. */
struct slice file_key(char key[MDB_MAX_KEY], uint32_t manual, const char *path);
int file_read_record(struct slice value, struct file *ret, struct err *err);

/* False: it has another width, or holds what is no number. */
bool memory_read(struct slice value, float *ret, size_t width);

/* The names that unfinished work on the manual has noted; kind -1: any. */
int unfinished_each(struct store_txn *txn, uint32_t manual, int kind,
                    void (*each)(void *context, struct hash128 name),
                    void *context, struct err *err);

/* store_cursor.c: whether a value of that size can lie in the store's file. */
bool table_value_is_possible(const struct store_txn *txn, const MDB_val *value);

/* Records in the order of their keys: each that it arrives at is behind the one
 * before, or the store is damaged. */
enum cursor_kind {
    CURSOR_STRICT,  /* a value without its sum is an error */
    CURSOR_LENIENT, /* it is none at all: the value is empty, its data NULL */
    CURSOR_RAW      /* sums are part of the values, and not looked at */
};
struct table_cursor {
    struct store_txn *txn;
    int table;
    enum cursor_kind kind; /* CURSOR_STRICT, until the caller says otherwise */
    MDB_cursor *mdb;
    char last[MDB_MAX_KEY]; /* [last_size] the key that it stands at */
    size_t last_size;       /* 0: none yet */
};
int table_cursor_open(struct store_txn *txn, int table,
                      struct table_cursor *ret, struct err *err);
void table_cursor_close(struct table_cursor *cursor);
/* Goes to the first record at or behind `from`, or to the next one.  0,
 * ERR_NOT_FOUND (without a message: there is none) or ERR_STORE.  The slices hold
 * until the transaction writes or ends. */
int table_cursor_seek(struct table_cursor *cursor, struct slice from,
                      struct slice *ret_key, struct slice *ret_value,
                      struct err *err);
int table_cursor_next(struct table_cursor *cursor, struct slice *ret_key,
                      struct slice *ret_value, struct err *err);

/* Deletes all records whose key starts with `prefix`. */
int table_delete_prefix(struct store_txn *txn, int table, struct slice prefix,
                        struct err *err);

/* Deletes a record; that it is not there is fine. */
int table_delete(struct store_txn *txn, int table, struct slice key,
                 struct err *err);

/* Every record whose key starts with `prefix`, in order, in transactions of at
 * most a few thousand records, so that it sees later records as they are by
 * then.  `each` ends it by an error.  ERR_CANCELLED when `cancel` (NULL: never)
 * is set. */
typedef int table_each(void *context, struct slice key, struct slice value,
                       struct err *err);
int table_walk(struct store *store, int table, struct slice prefix,
               const atomic_bool *cancel, table_each *each, void *context,
               struct err *err);

static inline void key_u32(char key[4], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        key[i] = (char)(unsigned char)(value >> (24 - 8 * i));
}

static inline void key_u64(char key[8], uint64_t value)
{
    key_u32(key, (uint32_t)(value >> 32));
    key_u32(key + 4, (uint32_t)value);
}

static inline uint32_t read_key_u32(const void *key)
{
    const unsigned char *p = key;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static inline uint64_t read_key_u64(const void *key)
{
    return (uint64_t)read_key_u32(key) << 32 |
           read_key_u32((const char *)key + 4);
}

#endif
