#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    LOCK_TRIES = 20,
    LOCK_PAUSE_MS = 50,
    MAX_OPEN = 16 /* folders, while one is removed */
};

void file_open_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int file_end_output(struct err *err)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return 0;
    return errno ? err_errno(err, ERR_IO, "cannot write the output")
                 : err_set(err, ERR_IO, "cannot write the output");
}

static int read_open(int fd, uint64_t from, size_t want, struct buf *ret)
{
    buf_reserve(ret, want);
    while (ret->size < want) {
        ssize_t n = pread(fd, ret->data + ret->size, want - ret->size,
                          (off_t)(from + ret->size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        ret->size += (size_t)n;
    }
    ret->data[ret->size] = '\0';
    return 0;
}

int file_open_regular(const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot open %s", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return err_set(err, ERR_IO, "%s is not a regular file", path);
}

int file_read_open(int fd, const char *path, size_t limit, struct buf *ret,
                   struct err *err)
{
    struct stat st;
    int code = 0;
    if (fstat(fd, &st) < 0)
        return err_errno(err, ERR_IO, "cannot read %s", path);
    if ((uint64_t)st.st_size > limit)
        code = err_set(err, ERR_LIMIT, "%s has %lld bytes, more than %zu", path,
                       (long long)st.st_size, limit);
    else if (read_open(fd, 0, (size_t)st.st_size, ret) < 0)
        code = err_errno(err, ERR_IO, "cannot read %s", path);
    if (code)
        buf_free(ret);
    return code;
}

int file_read(const char *path, size_t limit, struct buf *ret, struct err *err)
{
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return fd;
    int code = file_read_open(fd, path, limit, ret, err);
    close(fd);
    return code;
}

int file_read_open_span(int fd, const char *path, uint64_t from, uint64_t to,
                        struct buf *ret, struct err *err)
{
    struct stat st;
    int code = 0;
    if (fstat(fd, &st) < 0)
        return err_errno(err, ERR_IO, "cannot read %s", path);
    if (from > to || to > (uint64_t)st.st_size)
        code = err_set(err, ERR_STALE, "%s no longer reaches byte %llu", path,
                       (unsigned long long)to);
    else if (read_open(fd, from, (size_t)(to - from), ret) < 0)
        code = err_errno(err, ERR_IO, "cannot read %s", path);
    if (code)
        buf_free(ret);
    return code;
}

int file_read_span(const char *path, uint64_t from, uint64_t to,
                   struct buf *ret, struct err *err)
{
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return fd;
    int code = file_read_open_span(fd, path, from, to, ret, err);
    close(fd);
    return code;
}

static int write_all(int fd, struct slice content)
{
    while (content.size) {
        ssize_t n = write(fd, content.data, content.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        content.data += n;
        content.size -= (size_t)n;
    }
    return fsync(fd);
}

/* mode 0: the owner's alone, whatever it was. */
static int write_anew(const char *path, struct slice content, mode_t mode,
                      struct err *err)
{
    struct buf temp = {0};
    buf_printf(&temp, "%s.%ld.tmp", path, (long)getpid());
    int code = 0;
    int fd = open(temp.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (mode && fchmod(fd, mode) < 0) || write_all(fd, content) < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", path);
    if (fd >= 0 && close(fd) < 0 && !code)
        code = err_errno(err, ERR_IO, "cannot write %s", path);
    if (!code && rename(temp.data, path) < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", path);
    if (code && fd >= 0)
        unlink(temp.data);
    buf_free(&temp);
    return code;
}

int file_write(const char *path, struct slice content, struct err *err)
{
    return write_anew(path, content, 0, err);
}

int file_rewrite(const char *path, struct slice content, struct err *err)
{
    struct stat st;
    return write_anew(path, content, stat(path, &st) ? 0 : st.st_mode & 0777,
                      err);
}

int file_lock_patiently(int fd)
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

int file_sync_folder(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        return 0;
    /* Some file systems have no such call for folders. */
    bool synced = fd >= 0 && (!fsync(fd) || errno == EINVAL);
    int code = synced ? 0 : err_errno(err, ERR_IO, "cannot sync %s", path);
    if (fd >= 0)
        close(fd);
    return code;
}

int file_sync_disk(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = 0;
    if (fd < 0 || syncfs(fd) < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return code;
}

/* One of its folders, whose own parent is there. */
static int make_one(const char *path, unsigned mode, struct err *err)
{
    struct stat st;
    struct buf parent = {0};
    if (mkdir(path, mode) < 0)
        return errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode)
                   ? 0
                   : err_errno(err, ERR_IO, "cannot make the folder %s", path);
    file_join(&parent, path, "..");
    int code = file_sync_folder(parent.data, err);
    buf_free(&parent);
    return code;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void file_remove_folder(const char *path)
{
    nftw(path, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
}

int file_make_folder(const char *path, unsigned mode, struct err *err)
{
    char *copy = mem_strdup(path);
    int code = 0;
    for (char *p = copy + 1; !code; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char stop = *p;
        *p = '\0';
        code = make_one(copy, stop ? 0755 : mode, err);
        *p = stop;
        if (!stop)
            break;
    }
    free(copy);
    return code;
}

bool file_is_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/');
}

void file_join(struct buf *buf, const char *folder, const char *name)
{
    buf_put_text(buf, folder);
    if (buf->size && buf->data[buf->size - 1] != '/')
        buf_put_byte(buf, '/');
    buf_put_text(buf, name);
}

int64_t clock_nanoseconds(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool file_is_same_place(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
    bool same = !strcmp(real_a ? real_a : a, real_b ? real_b : b);
    free(real_a);
    free(real_b);
    return same;
}

bool file_is_below(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return !strncmp(path, folder, size) &&
           (size == 1 || path[size] == '/' || !path[size]);
}

bool file_is_gone(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}
