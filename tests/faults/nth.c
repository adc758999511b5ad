/* Preloaded into a program, makes the n-th call of a class fail, as nth.h says:
 * once, or from then on.  $NTH_CONTROL is a file that both sides map, so that the
 * calls of one verb can be counted; the parsers get nothing of it. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/faults/nth.h"

#undef free

static struct nth_control *control; /* NULL: nothing fails */

/* Whether this call is one that fails. */
static bool fails(enum nth_class class, int number)
{
    struct nth_control *c = control;
    if (!c || __atomic_load_n(&c->class, __ATOMIC_ACQUIRE) != (int32_t) class)
        return false;
    if (flush_runs && flush_runs())
        return false;
    int64_t seen = __atomic_add_fetch(&c->seen, 1, __ATOMIC_ACQ_REL);
    if (c->forever ? seen < c->n : seen != c->n)
        return false;
    __atomic_add_fetch(&c->failed, 1, __ATOMIC_ACQ_REL);
    errno = number;
    return true;
}

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

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("NTH_CONTROL");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *map =
        mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        perror(path);
        _exit(99);
    }
    unsetenv("LD_PRELOAD");
    control = map;
}

/* ---- Memory: glibc's own names, since dlsym itself allocates ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size)
{
    return fails(NTH_MEMORY, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(NTH_MEMORY, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(NTH_MEMORY, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(NTH_MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *room = aligned_alloc(alignment, size);
    if (!room)
        return ENOMEM;
    *ret = room;
    return 0;
}

/* ---- Opening ---- */

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(args, int) : 0;
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        typedef int fn(const char *, int, ...);                                \
        REAL(#name, fn)                                                        \
        va_list args;                                                          \
        va_start(args, flags);                                                 \
        mode_t mode = mode_of(flags, args);                                    \
        va_end(args);                                                          \
        return fails(NTH_OPEN, EMFILE) ? -1 : real(path, flags, mode);         \
    }
#define OPENAT(name)                                                           \
    int name(int at, const char *path, int flags, ...)                         \
    {                                                                          \
        typedef int fn(int, const char *, int, ...);                           \
        REAL(#name, fn)                                                        \
        va_list args;                                                          \
        va_start(args, flags);                                                 \
        mode_t mode = mode_of(flags, args);                                    \
        va_end(args);                                                          \
        return fails(NTH_OPEN, EMFILE) ? -1 : real(at, path, flags, mode);     \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* A function of these parameters that fails with `failure`. */
#define HOOK(type, name, class, number, failure, params, ...)                  \
    type name params                                                           \
    {                                                                          \
        typedef type fn params;                                                \
        REAL(#name, fn)                                                        \
        return fails(class, number) ? failure : real(__VA_ARGS__);             \
    }

HOOK(FILE *, fopen, NTH_OPEN, EMFILE, NULL,
     (const char *path, const char *mode), path, mode)
HOOK(FILE *, fopen64, NTH_OPEN, EMFILE, NULL,
     (const char *path, const char *mode), path, mode)
HOOK(DIR *, opendir, NTH_OPEN, EMFILE, NULL, (const char *path), path)
HOOK(DIR *, fdopendir, NTH_OPEN, ENOMEM, NULL, (int fd), fd)

/* ---- Reading and writing: files and pipes; sockets; nothing else ---- */

static bool fails_on(int fd, enum nth_class class, int number)
{
    struct stat st;
    if (!control || fstat(fd, &st))
        return false;
    if (S_ISSOCK(st.st_mode))
        return fails(NTH_SOCKET, ECONNRESET);
    return S_ISREG(st.st_mode) && fd != STDERR_FILENO && fails(class, number);
}

#define ON_FD(name, class, number, params, ...)                                \
    ssize_t name params                                                        \
    {                                                                          \
        typedef ssize_t fn params;                                             \
        REAL(#name, fn)                                                        \
        return fails_on(fd, class, number) ? -1 : real(__VA_ARGS__);           \
    }

ON_FD(read, NTH_READ, EIO, (int fd, void *to, size_t size), fd, to, size)
ON_FD(pread, NTH_READ, EIO, (int fd, void *to, size_t size, off_t at), fd, to,
      size, at)
ON_FD(pread64, NTH_READ, EIO, (int fd, void *to, size_t size, off_t at), fd, to,
      size, at)
ON_FD(readv, NTH_READ, EIO, (int fd, const struct iovec *to, int count), fd, to,
      count)
ON_FD(recvmsg, NTH_READ, EIO, (int fd, struct msghdr *to, int flags), fd, to,
      flags)
ON_FD(write, NTH_WRITE, ENOSPC, (int fd, const void *data, size_t size), fd,
      data, size)
ON_FD(pwrite, NTH_WRITE, ENOSPC,
      (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
ON_FD(pwrite64, NTH_WRITE, ENOSPC,
      (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
ON_FD(writev, NTH_WRITE, ENOSPC, (int fd, const struct iovec *from, int count),
      fd, from, count)
ON_FD(pwritev, NTH_WRITE, ENOSPC,
      (int fd, const struct iovec *from, int count, off_t at), fd, from, count,
      at)
ON_FD(pwritev64, NTH_WRITE, ENOSPC,
      (int fd, const struct iovec *from, int count, off_t at), fd, from, count,
      at)
ON_FD(sendmsg, NTH_WRITE, ENOSPC,
      (int fd, const struct msghdr *from, int flags), fd, from, flags)
HOOK(int, ftruncate, NTH_WRITE, ENOSPC, -1, (int fd, off_t size), fd, size)
HOOK(int, ftruncate64, NTH_WRITE, ENOSPC, -1, (int fd, off_t size), fd, size)
ON_FD(copy_file_range, NTH_WRITE, ENOSPC,
      (int fd, off_t *from, int to, off_t *at, size_t size, unsigned flags), fd,
      from, to, at, size, flags)

/* These return their error. */
#define FALLOCATE(name)                                                        \
    int name(int fd, off_t at, off_t size)                                     \
    {                                                                          \
        typedef int fn(int, off_t, off_t);                                     \
        REAL(#name, fn)                                                        \
        return fails(NTH_WRITE, ENOSPC) ? ENOSPC : real(fd, at, size);         \
    }
FALLOCATE(posix_fallocate)
FALLOCATE(posix_fallocate64)

/* ---- Maps, flushes, names ---- */

HOOK(void *, mmap, NTH_MAP, ENOMEM, MAP_FAILED,
     (void *hint, size_t size, int protection, int flags, int fd, off_t at),
     hint, size, protection, flags, fd, at)
HOOK(void *, mmap64, NTH_MAP, ENOMEM, MAP_FAILED,
     (void *hint, size_t size, int protection, int flags, int fd, off_t at),
     hint, size, protection, flags, fd, at)
HOOK(int, mprotect, NTH_MAP, ENOMEM, -1,
     (void *at, size_t size, int protection), at, size, protection)
HOOK(int, fsync, NTH_FLUSH, EIO, -1, (int fd), fd)
HOOK(int, fdatasync, NTH_FLUSH, EIO, -1, (int fd), fd)
HOOK(int, msync, NTH_FLUSH, EIO, -1, (void *at, size_t size, int flags), at,
     size, flags)
HOOK(int, syncfs, NTH_FLUSH, EIO, -1, (int fd), fd)
HOOK(int, rename, NTH_NAME, EIO, -1, (const char *from, const char *to), from,
     to)
HOOK(int, renameat, NTH_NAME, EIO, -1,
     (int from_at, const char *from, int to_at, const char *to), from_at, from,
     to_at, to)
HOOK(int, unlink, NTH_NAME, EIO, -1, (const char *path), path)
HOOK(int, unlinkat, NTH_NAME, EIO, -1, (int at, const char *path, int flags),
     at, path, flags)
HOOK(int, mkdir, NTH_NAME, EIO, -1, (const char *path, mode_t mode), path, mode)

/* ---- Sockets, threads, processes ---- */

HOOK(int, socket, NTH_SOCKET, EMFILE, -1, (int domain, int type, int protocol),
     domain, type, protocol)
HOOK(int, socketpair, NTH_SOCKET, EMFILE, -1,
     (int domain, int type, int protocol, int ret[2]), domain, type, protocol,
     ret)
/* Under other names here: their headers have a union for the address. */
int hooked_accept(int fd, void *address, socklen_t *size) __asm__("accept");
int hooked_accept4(int fd, void *address, socklen_t *size,
                   int flags) __asm__("accept4");

int hooked_accept(int fd, void *address, socklen_t *size)
{
    typedef int fn(int, void *, socklen_t *);
    REAL("accept", fn)
    return fails(NTH_SOCKET, EMFILE) ? -1 : real(fd, address, size);
}

int hooked_accept4(int fd, void *address, socklen_t *size, int flags)
{
    typedef int fn(int, void *, socklen_t *, int);
    REAL("accept4", fn)
    return fails(NTH_SOCKET, EMFILE) ? -1 : real(fd, address, size, flags);
}

HOOK(int, pthread_create, NTH_THREAD, EAGAIN, EAGAIN,
     (pthread_t * ret, const pthread_attr_t *how, void *(*run)(void *),
      void *context),
     ret, how, run, context)
HOOK(int, posix_spawn, NTH_PROCESS, EAGAIN, EAGAIN,
     (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *how, char *const args[restrict],
      char *const env[restrict]),
     ret, path, actions, how, args, env)
HOOK(int, pipe2, NTH_PROCESS, EMFILE, -1, (int ret[2], int flags), ret, flags)
HOOK(int, pipe, NTH_PROCESS, EMFILE, -1, (int ret[2]), ret)
HOOK(pid_t, fork, NTH_PROCESS, EAGAIN, -1, (void), )
