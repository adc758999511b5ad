/* Calls of the store to LMDB, zstd and the system that fail: one each, told apart by the
 * functions that lead to it.  The linker puts these in the place of the real ones
 * (FAILING in mk/tests.mk). */
#ifndef TESTS_UNIT_SUPPORT_FAILING_CALLS_H
#define TESTS_UNIT_SUPPORT_FAILING_CALLS_H

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

enum { MAX_FRAMES = 64, MAX_SITES = 4000 };

static struct {
    int above;                 /* frames of the test's own */
    bool counts;               /* calls are met: what is there to fail */
    uint64_t sites[MAX_SITES]; /* met, by the chains of their callers */
    unsigned calls[MAX_SITES];
    size_t count;
    uint64_t victim; /* that fails; 0: none */
    unsigned at;     /* of its calls, from 1; 0: each */
    unsigned seen;
    int number; /* the error; of LMDB's where it is LMDB's call */
    bool failed;
    bool panics, opens_fail; /* each transaction, and each opening, fails */
} calls;

/* To be called where the work begins: callers above it tell no calls apart. */
static inline void calls_begin(void)
{
    void *frames[MAX_FRAMES];
    calls.above = backtrace(frames, MAX_FRAMES) - 1;
}

static inline uint64_t site_now(void)
{
    void *frames[MAX_FRAMES];
    int count = backtrace(frames, MAX_FRAMES) - calls.above;
    uint64_t hash = 1469598103934665603u;
    for (int i = 2; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    return hash | 1;
}

static inline void note_call(uint64_t site)
{
    size_t i = 0;
    while (i < calls.count && calls.sites[i] != site)
        i++;
    if (i == calls.count && calls.count < MAX_SITES)
        calls.sites[calls.count++] = site;
    if (i < calls.count)
        calls.calls[i]++;
}

/* Whether the call under way is one that fails. */
__attribute__((noinline)) static bool call_fails(void)
{
    if (!calls.counts && !calls.victim)
        return false;
    uint64_t site = site_now();
    if (calls.counts)
        note_call(site);
    if (site != calls.victim || (calls.at && ++calls.seen != calls.at))
        return false;
    calls.failed = true;
    errno = calls.number > 0 ? calls.number : EIO;
    return true;
}

static inline bool fails_always(const char *name)
{
    return (calls.panics && !strcmp(name, "mdb_txn_begin")) ||
           (calls.opens_fail && !strcmp(name, "mdb_env_open"));
}

/* Makes __wrap_NAME, which fails with `failure` or calls the real one. */
#define FAILING(type, name, failure, params, ...)                              \
    type __real_##name params;                                                 \
    type __wrap_##name params;                                                 \
    type __wrap_##name params                                                  \
    {                                                                          \
        return fails_always(#name) || call_fails()                             \
                   ? (failure)                                                 \
                   : __real_##name(__VA_ARGS__);                               \
    }
#define LMDB_FAILING(name, params, ...)                                        \
    FAILING(int, name, calls.number, params, __VA_ARGS__)

LMDB_FAILING(mdb_get, (MDB_txn * t, MDB_dbi d, MDB_val *k, MDB_val *v), t, d, k,
             v)
LMDB_FAILING(mdb_put,
             (MDB_txn * t, MDB_dbi d, MDB_val *k, MDB_val *v, unsigned f), t, d,
             k, v, f)
LMDB_FAILING(mdb_del, (MDB_txn * t, MDB_dbi d, MDB_val *k, MDB_val *v), t, d, k,
             v)
LMDB_FAILING(mdb_stat, (MDB_txn * t, MDB_dbi d, MDB_stat *s), t, d, s)
LMDB_FAILING(mdb_cursor_open, (MDB_txn * t, MDB_dbi d, MDB_cursor **c), t, d, c)
LMDB_FAILING(mdb_cursor_get,
             (MDB_cursor * c, MDB_val *k, MDB_val *v, MDB_cursor_op op), c, k,
             v, op)
LMDB_FAILING(mdb_cursor_put,
             (MDB_cursor * c, MDB_val *k, MDB_val *v, unsigned f), c, k, v, f)
LMDB_FAILING(mdb_cursor_del, (MDB_cursor * c, unsigned f), c, f)
LMDB_FAILING(mdb_txn_begin, (MDB_env * e, MDB_txn *p, unsigned f, MDB_txn **t),
             e, p, f, t)
LMDB_FAILING(mdb_dbi_open, (MDB_txn * t, const char *n, unsigned f, MDB_dbi *d),
             t, n, f, d)
LMDB_FAILING(mdb_dbi_flags, (MDB_txn * t, MDB_dbi d, unsigned *f), t, d, f)
LMDB_FAILING(mdb_drop, (MDB_txn * t, MDB_dbi d, int all), t, d, all)
LMDB_FAILING(mdb_env_create, (MDB_env * *e), e)
LMDB_FAILING(mdb_env_open, (MDB_env * e, const char *p, unsigned f, mode_t m),
             e, p, f, m)
LMDB_FAILING(mdb_env_get_fd, (MDB_env * e, int *fd), e, fd)
LMDB_FAILING(mdb_env_sync, (MDB_env * e, int force), e, force)
LMDB_FAILING(mdb_reader_check, (MDB_env * e, int *dead), e, dead)

/* The transaction is gone either way. */
int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn)
{
    if (!call_fails())
        return __real_mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return calls.number;
}

FAILING(int, fstat, -1, (int fd, struct stat *st), fd, st)
FAILING(int, stat, -1, (const char *path, struct stat *st), path, st)
FAILING(int, lstat, -1, (const char *path, struct stat *st), path, st)
FAILING(int, statvfs, -1, (const char *path, struct statvfs *st), path, st)
FAILING(int, ftruncate, -1, (int fd, off_t size), fd, size)
FAILING(ssize_t, pread, -1, (int fd, void *to, size_t size, off_t at), fd, to,
        size, at)
FAILING(ssize_t, __pread_chk, -1,
        (int fd, void *to, size_t size, off_t at, size_t room), fd, to, size,
        at, room)
FAILING(ssize_t, pwrite, -1, (int fd, const void *from, size_t size, off_t at),
        fd, from, size, at)
FAILING(int, posix_fallocate, errno, (int fd, off_t at, off_t size), fd, at,
        size)
FAILING(int, rename, -1, (const char *from, const char *to), from, to)
FAILING(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
FAILING(DIR *, opendir, NULL, (const char *path), path)
FAILING(FILE *, fopen, NULL, (const char *path, const char *mode), path, mode)
FAILING(int, fsync, -1, (int fd), fd)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return call_fails() ? -1 : __real_open(path, flags, mode);
}

/* zstd has no memory, or does not know what it reads. */
static inline size_t zstd_failure(void)
{
    enum { NO_MEMORY = 64, CORRUPTION = 20 };
    return (size_t) - (calls.number == ENOMEM ? NO_MEMORY : CORRUPTION);
}
FAILING(ZSTD_CCtx *, ZSTD_createCCtx, NULL, (void), )
FAILING(size_t, ZSTD_compress2, zstd_failure(),
        (ZSTD_CCtx * z, void *to, size_t room, const void *from, size_t size),
        z, to, room, from, size)
FAILING(size_t, ZSTD_decompress, zstd_failure(),
        (void *to, size_t room, const void *from, size_t size), to, room, from,
        size)
FAILING(size_t, ZSTD_findFrameCompressedSize, zstd_failure(),
        (const void *from, size_t size), from, size)

#endif
