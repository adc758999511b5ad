#include "base/weight_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_READ = 256 << 20 }; /* bytes; a larger file is mapped */

static int read_all(int fd, char *to, size_t size, struct err *err)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, to + at, size - at);
        if (got == 0)
            return err_set(err, ERR_FORMAT, "cut off while it was read");
        if (got < 0 && errno != EINTR)
            return err_errno(err, ERR_IO, "cannot read");
        at += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* To truncate a mapped file ends the process, and to write in it changes the
 * arrays: one that is small enough is read, not mapped.  (Not by mem_alloc,
 * which ends the process when there is no room.) */
static int take_file(int fd, struct slice *ret, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "not a regular file");
    if (st.st_size < 8)
        return err_set(err, ERR_FORMAT, "cut off within its header");
    size_t size = (size_t)st.st_size;
    bool reads = size <= MAX_READ;
    void *map = reads ? mmap(NULL, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return err_errno(err, ERR_LIMIT, "no room for its %zu bytes", size);
    int code = reads ? read_all(fd, map, size, err) : 0;
    if (code) {
        munmap(map, size);
        return code;
    }
    *ret = (struct slice){map, size};
    return 0;
}

static int open_path(const char *path, struct slice *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot open %s", path);
    int code = take_file(fd, ret, err);
    close(fd);
    return code;
}

int weight_bytes_open(const char *path, struct slice *ret, struct err *err)
{
    int code = open_path(path, ret, err);
    if (code && err)
        err_at(err, path);
    return code;
}

void weight_bytes_let_go(struct slice bytes)
{
    if (bytes.data && bytes.size > MAX_READ)
        (void)madvise((void *)(uintptr_t)bytes.data, bytes.size, MADV_DONTNEED);
}

void weight_bytes_close(struct slice bytes)
{
    munmap((void *)(uintptr_t)bytes.data, bytes.size);
}
