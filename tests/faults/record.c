/* Preloaded into a program, notes every write, flush and change of names below
 * $RECORD_FOLDER in $RECORD_LOG (drawn in record.h), so that the disk can be
 * rebuilt as a power cut would have left it.
 *
 * One lock is held over each operation and its note: the order of the log is
 * the order in which it happened, and what a flush covers stands before it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/record.h"

enum { MAX_FDS = 65536, HEAD = 32, COPIED = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_size; /* 0: nothing is recorded */
static int log_fd = -1;
static unsigned char flags_of[MAX_FDS]; /* enum below, 0: not recorded */
enum { RECORDED = 1, DURABLE = 2, APPENDS = 4 };

/* dlsym's result as a function, without a cast that C does not know. */
#define REAL(name, type)                                                       \
    static type *real;                                                         \
    if (!real) {                                                               \
        union {                                                                \
            void *object;                                                      \
            type *function;                                                    \
        } found = {dlsym(RTLD_NEXT, name)};                                    \
        real = found.function;                                                 \
    }

typedef ssize_t write_fn(int, const void *, size_t);

static void put(const void *bytes, size_t size)
{
    REAL("write", write_fn)
    const char *at = bytes;
    while (size) {
        ssize_t n = real(log_fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            static const char text[] = "record.so: cannot write its log\n";
            (void)!real(STDERR_FILENO, text, sizeof text - 1);
            _exit(99);
        }
        at += n;
        size -= (size_t)n;
    }
}

static void head(enum record_kind kind, int fd, uint64_t at, uint64_t size)
{
    unsigned char bytes[HEAD];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint32_t number = kind;
    int32_t of = fd;
    memcpy(bytes, &time, 8);
    memcpy(bytes + 8, &number, 4);
    memcpy(bytes + 12, &of, 4);
    memcpy(bytes + 16, &at, 8);
    memcpy(bytes + 24, &size, 8);
    put(bytes, sizeof bytes);
}

static void note(enum record_kind kind, int fd, uint64_t at, const void *data,
                 size_t size)
{
    int saved = errno;
    head(kind, fd, at, size);
    put(data, size);
    errno = saved;
}

/* The path below the folder, or NULL.  The last part may not exist. */
static const char *below(int at, const char *path, char full[PATH_MAX])
{
    char start[PATH_MAX] = "", link[64];
    if (!folder_size)
        return NULL;
    if (path[0] != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t n = at == AT_FDCWD ? (getcwd(start, sizeof start) ? 1 : -1)
                                   : readlink(link, start, sizeof start - 1);
        if (n < 0)
            return NULL;
    }
    if (snprintf(full, PATH_MAX, "%s%s%s", start, start[0] ? "/" : "", path) >=
        PATH_MAX)
        return NULL;
    size_t size = strlen(full);
    while (size > 1 && full[size - 1] == '/')
        full[--size] = '\0';
    if (strncmp(full, folder, folder_size) != 0)
        return NULL;
    const char *rest = full + folder_size;
    return !*rest ? rest : *rest == '/' ? rest + 1 : NULL;
}

static bool is_recorded(int fd)
{
    return fd >= 0 && fd < MAX_FDS && flags_of[fd];
}

__attribute__((constructor)) static void start(void)
{
    const char *wanted = getenv("RECORD_FOLDER"), *path = getenv("RECORD_LOG");
    if (!wanted || !path)
        return;
    snprintf(folder, sizeof folder, "%s", wanted);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) {
        perror(path);
        _exit(99);
    }
    folder_size = strlen(folder);
    unsetenv("LD_PRELOAD"); /* the parsers have a jail of their own */
}

/* ---- Opening ---- */

typedef int open_fn(const char *, int, ...);
typedef int openat_fn(int, const char *, int, ...);

static void opened(int fd, int at, const char *path, int flags)
{
    char full[PATH_MAX];
    const char *rest = fd < 0 || fd >= MAX_FDS ? NULL : below(at, path, full);
    if (!rest)
        return;
    flags_of[fd] = (unsigned char)(RECORDED | (flags & O_DSYNC ? DURABLE : 0) |
                                   (flags & O_APPEND ? APPENDS : 0));
    note(RECORD_OPEN, fd, (uint64_t)(unsigned)flags, rest, strlen(rest));
}

static int open_noted(int at, const char *path, int flags, mode_t mode)
{
    REAL("openat", openat_fn)
    pthread_mutex_lock(&lock);
    int fd = real(at, path, flags, mode);
    opened(fd, at, path, flags);
    pthread_mutex_unlock(&lock);
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(args, int) : 0;
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        va_list args;                                                          \
        va_start(args, flags);                                                 \
        mode_t mode = mode_of(flags, args);                                    \
        va_end(args);                                                          \
        return open_noted(AT_FDCWD, path, flags, mode);                        \
    }
#define OPENAT(name)                                                           \
    int name(int at, const char *path, int flags, ...)                         \
    {                                                                          \
        va_list args;                                                          \
        va_start(args, flags);                                                 \
        mode_t mode = mode_of(flags, args);                                    \
        va_end(args);                                                          \
        return open_noted(at, path, flags, mode);                              \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd)
{
    typedef int fn(int);
    REAL("close", fn)
    pthread_mutex_lock(&lock);
    if (is_recorded(fd)) {
        flags_of[fd] = 0;
        note(RECORD_CLOSE, fd, 0, NULL, 0);
    }
    int code = real(fd);
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- Writing ---- */

static void wrote(int fd, uint64_t at, const void *data, ssize_t size)
{
    if (size > 0)
        note(flags_of[fd] & DURABLE ? RECORD_WRITTEN : RECORD_WRITE, fd, at,
             data, (size_t)size);
}

static void wrote_all(int fd, uint64_t at, const struct iovec *pieces,
                      ssize_t size)
{
    for (int i = 0; size > 0; i++) {
        size_t n =
            pieces[i].iov_len < (size_t)size ? pieces[i].iov_len : (size_t)size;
        wrote(fd, at, pieces[i].iov_base, (ssize_t)n);
        at += n;
        size -= (ssize_t)n;
    }
}

/* Where the next write without an offset goes. */
static uint64_t position(int fd)
{
    off_t at = lseek(fd, 0, flags_of[fd] & APPENDS ? SEEK_END : SEEK_CUR);
    return at < 0 ? 0 : (uint64_t)at;
}

ssize_t write(int fd, const void *data, size_t size)
{
    REAL("write", write_fn)
    if (!is_recorded(fd))
        return real(fd, data, size);
    pthread_mutex_lock(&lock);
    uint64_t at = position(fd);
    ssize_t n = real(fd, data, size);
    wrote(fd, at, data, n);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    typedef ssize_t fn(int, const struct iovec *, int);
    REAL("writev", fn)
    if (!is_recorded(fd))
        return real(fd, pieces, count);
    pthread_mutex_lock(&lock);
    uint64_t at = position(fd);
    ssize_t n = real(fd, pieces, count);
    wrote_all(fd, at, pieces, n);
    pthread_mutex_unlock(&lock);
    return n;
}

typedef ssize_t pwrite_fn(int, const void *, size_t, off_t);
typedef ssize_t pwritev_fn(int, const struct iovec *, int, off_t);

#define PWRITE(name)                                                           \
    ssize_t name(int fd, const void *data, size_t size, off_t at)              \
    {                                                                          \
        REAL("pwrite", pwrite_fn)                                              \
        if (!is_recorded(fd))                                                  \
            return real(fd, data, size, at);                                   \
        pthread_mutex_lock(&lock);                                             \
        ssize_t n = real(fd, data, size, at);                                  \
        wrote(fd, (uint64_t)at, data, n);                                      \
        pthread_mutex_unlock(&lock);                                           \
        return n;                                                              \
    }
#define PWRITEV(name)                                                          \
    ssize_t name(int fd, const struct iovec *pieces, int count, off_t at)      \
    {                                                                          \
        REAL("pwritev", pwritev_fn)                                            \
        if (!is_recorded(fd))                                                  \
            return real(fd, pieces, count, at);                                \
        pthread_mutex_lock(&lock);                                             \
        ssize_t n = real(fd, pieces, count, at);                               \
        wrote_all(fd, (uint64_t)at, pieces, n);                                \
        pthread_mutex_unlock(&lock);                                           \
        return n;                                                              \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITEV(pwritev)
PWRITEV(pwritev64)

/* Copied here in pieces, so that what is written is seen. */
static ssize_t copy_noted(int in, off_t *in_at, int out, off_t *out_at,
                          size_t size)
{
    char bytes[COPIED];
    size_t want = size < sizeof bytes ? size : sizeof bytes;
    ssize_t n = in_at ? pread(in, bytes, want, *in_at) : read(in, bytes, want);
    if (n <= 0)
        return n;
    ssize_t put_in = out_at ? pwrite(out, bytes, (size_t)n, *out_at)
                            : write(out, bytes, (size_t)n);
    if (put_in < 0)
        return put_in;
    if (in_at)
        *in_at += put_in;
    else if (put_in < n)
        lseek(in, put_in - n, SEEK_CUR);
    if (out_at)
        *out_at += put_in;
    return put_in;
}

ssize_t copy_file_range(int in, off_t *in_at, int out, off_t *out_at,
                        size_t size, unsigned flags)
{
    typedef ssize_t fn(int, off_t *, int, off_t *, size_t, unsigned);
    REAL("copy_file_range", fn)
    return is_recorded(out) ? copy_noted(in, in_at, out, out_at, size)
                            : real(in, in_at, out, out_at, size, flags);
}

#define SENDFILE(name)                                                         \
    ssize_t name(int out, int in, off_t *in_at, size_t size)                   \
    {                                                                          \
        typedef ssize_t fn(int, int, off_t *, size_t);                         \
        REAL("sendfile", fn)                                                   \
        return is_recorded(out) ? copy_noted(in, in_at, out, NULL, size)       \
                                : real(out, in, in_at, size);                  \
    }
ssize_t sendfile(int out, int in, off_t *in_at, size_t size);
ssize_t sendfile64(int out, int in, off_t *in_at, size_t size);
SENDFILE(sendfile)
SENDFILE(sendfile64)

#define FTRUNCATE(name)                                                        \
    int name(int fd, off_t size)                                               \
    {                                                                          \
        typedef int fn(int, off_t);                                            \
        REAL("ftruncate", fn)                                                  \
        pthread_mutex_lock(&lock);                                             \
        int code = real(fd, size);                                             \
        if (!code && is_recorded(fd))                                          \
            note(RECORD_TRUNCATE, fd, (uint64_t)size, NULL, 0);                \
        pthread_mutex_unlock(&lock);                                           \
        return code;                                                           \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

#define POSIX_FALLOCATE(name)                                                  \
    int name(int fd, off_t at, off_t size)                                     \
    {                                                                          \
        typedef int fn(int, off_t, off_t);                                     \
        REAL("posix_fallocate", fn)                                            \
        struct stat st;                                                        \
        pthread_mutex_lock(&lock);                                             \
        int code = real(fd, at, size);                                         \
        if (!code && is_recorded(fd) && !fstat(fd, &st))                       \
            note(RECORD_TRUNCATE, fd, (uint64_t)st.st_size, NULL, 0);          \
        pthread_mutex_unlock(&lock);                                           \
        return code;                                                           \
    }
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)

#define MMAP(name)                                                             \
    void *name(void *hint, size_t size, int protection, int flags, int fd,     \
               off_t at)                                                       \
    {                                                                          \
        typedef void *fn(void *, size_t, int, int, int, off_t);                \
        REAL("mmap", fn)                                                       \
        if (is_recorded(fd) && flags & MAP_SHARED &&                           \
            protection & PROT_WRITE) {                                         \
            pthread_mutex_lock(&lock);                                         \
            note(RECORD_MAP, fd, 0, NULL, 0);                                  \
            pthread_mutex_unlock(&lock);                                       \
        }                                                                      \
        return real(hint, size, protection, flags, fd, at);                    \
    }
MMAP(mmap)
MMAP(mmap64)

/* ---- Flushing ---- */

#define FLUSH(name)                                                            \
    int name(int fd)                                                           \
    {                                                                          \
        typedef int fn(int);                                                   \
        REAL(#name, fn)                                                        \
        if (!is_recorded(fd))                                                  \
            return real(fd);                                                   \
        pthread_mutex_lock(&lock);                                             \
        int code = real(fd);                                                   \
        if (!code)                                                             \
            note(RECORD_SYNC, fd, 0, NULL, 0);                                 \
        pthread_mutex_unlock(&lock);                                           \
        return code;                                                           \
    }
FLUSH(fsync)
FLUSH(fdatasync)

int syncfs(int fd)
{
    typedef int fn(int);
    REAL("syncfs", fn)
    pthread_mutex_lock(&lock);
    int code = real(fd);
    if (!code && folder_size)
        note(RECORD_SYNC_ALL, -1, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- Names ---- */

static void renamed(int from_at, const char *from, int to_at, const char *to)
{
    char full_from[PATH_MAX], full_to[PATH_MAX], both[2 * PATH_MAX];
    const char *a = below(from_at, from, full_from),
               *b = below(to_at, to, full_to);
    if (!a || !b)
        return;
    size_t first = strlen(a) + 1, second = strlen(b) + 1;
    memcpy(both, a, first);
    memcpy(both + first, b, second);
    note(RECORD_RENAME, -1, 0, both, first + second);
}

static int rename_noted(int from_at, const char *from, int to_at,
                        const char *to)
{
    typedef int fn(int, const char *, int, const char *);
    REAL("renameat", fn)
    pthread_mutex_lock(&lock);
    int code = real(from_at, from, to_at, to);
    if (!code)
        renamed(from_at, from, to_at, to);
    pthread_mutex_unlock(&lock);
    return code;
}

int rename(const char *from, const char *to)
{
    return rename_noted(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return rename_noted(from_at, from, to_at, to);
}

static int unlink_noted(int at, const char *path, int flags)
{
    typedef int fn(int, const char *, int);
    REAL("unlinkat", fn)
    char full[PATH_MAX];
    pthread_mutex_lock(&lock);
    int code = real(at, path, flags);
    const char *rest = code ? NULL : below(at, path, full);
    if (rest)
        note(RECORD_UNLINK, -1, 0, rest, strlen(rest));
    pthread_mutex_unlock(&lock);
    return code;
}

int unlink(const char *path)
{
    return unlink_noted(AT_FDCWD, path, 0);
}

int unlinkat(int at, const char *path, int flags)
{
    return unlink_noted(at, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    typedef int fn(const char *, mode_t);
    REAL("mkdir", fn)
    char full[PATH_MAX];
    pthread_mutex_lock(&lock);
    int code = real(path, mode);
    const char *rest = code ? NULL : below(AT_FDCWD, path, full);
    if (rest)
        note(RECORD_MKDIR, -1, 0, rest, strlen(rest));
    pthread_mutex_unlock(&lock);
    return code;
}
