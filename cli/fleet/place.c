#include "cli/fleet/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { STEP = 1 << 18, PACK_MODE = 0644 };

int place_find(struct fleet *fleet, struct buf *ret, struct err *err)
{
    const char *own = config_text(&fleet->config, CONFIG_FLEET_PACKS);
    struct rows rows;
    if (own[0]) {
        buf_put_text(ret, own);
        return 0;
    }
    int code =
        registry_ask(fleet->registry,
                     "SELECT value FROM lectern.settings WHERE name = 'packs'",
                     NULL, &rows, err);
    if (code)
        return code;
    if (rows.count)
        buf_put_text(ret, rows_text(&rows, 0, 0));
    else
        code = err_set(err, ERR_USAGE,
                       "the registry does not say where packs are: lectern "
                       "fleet init CONNECTION FOLDER");
    rows_free(&rows);
    return code;
}

int place_sum(const char *path, char ret[SHA256_HEX], int64_t *ret_bytes,
              struct err *err)
{
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return fd;
    struct sha256 sum;
    char *bytes = mem_alloc(STEP);
    ssize_t some;
    *ret_bytes = 0;
    sha256_begin(&sum);
    while ((some = read(fd, bytes, STEP)) > 0) {
        sha256_add(&sum, bytes, (size_t)some);
        *ret_bytes += some;
    }
    sha256_end(&sum, ret);
    free(bytes);
    close(fd);
    return some < 0 ? err_errno(err, ERR_IO, "cannot read %s", path) : 0;
}

/* Whether the file is there, with that sum. */
static bool is_whole(const char *path, const char *sha256)
{
    char sum[SHA256_HEX];
    int64_t bytes;
    return !place_sum(path, sum, &bytes, NULL) && !strcmp(sum, sha256);
}

static int write_all(int fd, const char *bytes, size_t size, const char *path,
                     struct err *err)
{
    while (size) {
        ssize_t some = write(fd, bytes, size);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return err_errno(err, ERR_IO, "cannot write %s", path);
        bytes += some;
        size -= (size_t)some;
    }
    return 0;
}

/* Appends to `to` what it lacks of `from`, and syncs it. */
static int copy_rest(const char *from, const char *to, int flags,
                     struct err *err)
{
    int in = file_open_regular(from, err);
    if (in < 0)
        return in;
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                   PACK_MODE);
    off_t at = out < 0 ? -1 : lseek(out, 0, SEEK_END);
    int code = at < 0 ? err_errno(err, ERR_IO, "cannot write %s", to) : 0;
    char *bytes = mem_alloc(STEP);
    ssize_t some = 0;
    while (!code && (some = pread(in, bytes, STEP, at)) > 0) {
        code = write_all(out, bytes, (size_t)some, to, err);
        at += some;
    }
    if (!code && some < 0)
        code = err_errno(err, ERR_IO, "cannot read %s", from);
    if (!code && (fchmod(out, PACK_MODE) < 0 || fsync(out) < 0))
        code = err_errno(err, ERR_IO, "cannot write %s", to);
    free(bytes);
    close(in);
    if (out >= 0)
        close(out);
    return code;
}

int place_put(const char *place, const char *path, const char *name,
              struct err *err)
{
    struct buf to = {0}, trial = {0};
    file_join(&to, place, name);
    buf_printf(&trial, "%s/.%s.%ld", place, name, (long)getpid());
    int code = copy_rest(path, trial.data, O_TRUNC, err);
    if (!code && rename(trial.data, to.data) < 0)
        code = err_errno(err, ERR_IO, "cannot rename %s", trial.data);
    if (code)
        unlink(trial.data);
    else
        code = file_sync_folder(place, err);
    buf_free(&to);
    buf_free(&trial);
    return code;
}

static int get_from_folder(const char *from, const char *sha256, const char *to,
                           struct err *err)
{
    struct buf part = {0};
    buf_printf(&part, "%s.part", to);
    int code = copy_rest(from, part.data, 0, err);
    if (!code && !is_whole(part.data, sha256)) {
        unlink(part.data);
        code = err_set(err, ERR_FORMAT,
                       "%s is not the file that was registered: its sha256 is "
                       "another",
                       from);
    }
    if (!code && rename(part.data, to) < 0)
        code = err_errno(err, ERR_IO, "cannot rename %s", part.data);
    buf_free(&part);
    return code;
}

int place_get(const char *place, const char *name, const char *sha256,
              const char *to, struct err *err)
{
    struct buf from = {0};
    file_join(&from, place, name);
    int code = get_from_folder(from.data, sha256, to, err);
    buf_free(&from);
    return code;
}
