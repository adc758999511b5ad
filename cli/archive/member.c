#include "cli/archive/member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

const uint64_t member_max_unpacked = UINT64_C(4) << 30;

/* Whether the name stays below the folder: it does not begin with "/", and no part of it
 * is "..".  "a//b" and "a/./b" are "a/b", but none of them names a file at the end. */
static bool is_inside(struct slice name)
{
    size_t from = 0;
    struct slice part = {0};
    if (slice_starts(name, slice_of("/")) ||
        memchr(name.data, '\0', name.size) ||
        memchr(name.data, '\\', name.size))
        return false;
    for (size_t at = 0; at <= name.size; at++) {
        if (at < name.size && name.data[at] != '/')
            continue;
        part = (struct slice){name.data + from, at - from};
        if (slice_is(part, ".."))
            return false;
        from = at + 1;
    }
    return part.size && !slice_is(part, ".");
}

static int make(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
}

int member_create(const char *archive, const char *folder, struct slice name,
                  struct err *err)
{
    struct buf path = {0};
    if (!is_inside(name))
        return err_set(err, ERR_FORMAT,
                       "%s has a file '%.*s', which leads out of its folder; "
                       "nothing is added",
                       archive, name.size < 200 ? (int)name.size : 200,
                       name.data);
    buf_printf(&path, "%s/%.*s", folder, (int)name.size, name.data);
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    int code = file_make_folder(path.data, 0700, err), fd = -1;
    *slash = '/';
    if (!code)
        fd = make(path.data);
    /* Of two that are called alike the later one is meant, as tar -u adds it. */
    if (!code && fd < 0 && errno == EEXIST && !unlink(path.data))
        fd = make(path.data);
    if (!code && fd < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", path.data);
    buf_free(&path);
    return code ? code : fd;
}

int member_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}
