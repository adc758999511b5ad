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
#include "cli/getting.h"

enum { STEP = 1 << 18, PACK_MODE = 0644, STALL_MS = 1000 };

int place_find(struct fleet *fleet, struct place *ret, struct err *err)
{
    const char *own = config_text(&fleet->config, CONFIG_FLEET_PACKS);
    struct rows rows;
    if (own[0]) {
        buf_put_text(&ret->where, own);
        return 0;
    }
    int code =
        registry_ask(fleet->registry,
                     "SELECT value FROM lectern.settings WHERE name = 'packs'",
                     NULL, &rows, err);
    if (code)
        return code;
    if (rows.count)
        buf_put_text(&ret->where, rows_text(&rows, 0, 0));
    else
        code = err_set(err, ERR_USAGE,
                       "the registry does not say where packs are: lectern "
                       "fleet init CONNECTION PLACE");
    rows_free(&rows);
    return code;
}

void place_free(struct place *place)
{
    buf_free(&place->where);
}

int place_name(const char *where, struct buf *ret, struct err *err)
{
    if (!config_is_address(where)) {
        config_put_path(where, NULL, ret);
        return 0;
    }
    const char *host = strstr(where, "://") + 3;
    if (memchr(host, '@', strcspn(host, "/")))
        return err_set(err, ERR_USAGE,
                       "the address has a name in it that others would read: "
                       "that belongs into ~/.netrc, which is yours alone");
    buf_put_text(ret, where);
    while (ret->data[ret->size - 1] == '/')
        ret->data[--ret->size] = '\0';
    return 0;
}

/* A text of ours there and back. */
static int try_address(const struct place *place, struct err *err)
{
    static const char text[] = "lectern fleet init tries this place.\n";
    struct buf name = {0};
    char folder[] = "/tmp/lectern-XXXXXX", sum[SHA256_HEX];
    int64_t bytes;
    if (!mkdtemp(folder))
        return err_errno(err, ERR_IO, "cannot make %s", folder);
    buf_printf(&name, "%s/lectern-trial", folder);
    int code = file_write(name.data, slice_of(text), err);
    if (!code)
        code = place_sum(name.data, sum, &bytes, err);
    if (!code)
        code = place_put(place, name.data, "lectern-trial", err);
    if (!code)
        code = place_get(place, "lectern-trial", sum, bytes, name.data, err);
    if (!code)
        code = place_remove(place, "lectern-trial", err);
    unlink(name.data);
    rmdir(folder);
    buf_free(&name);
    return code;
}

int place_check(const struct place *place, struct err *err)
{
    const char *where = place->where.data;
    if (config_is_address(where))
        return try_address(place, err);
    return access(where, W_OK | X_OK) < 0
               ? err_errno(err, ERR_USAGE, "packs cannot be put into %s", where)
               : 0;
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

/* One step of a copy; *ret_more false: that was all. */
static int copy_some(int in, int out, off_t *at, const char *from,
                     const char *to, bool *ret_more, struct err *err)
{
    char *bytes = mem_alloc(STEP);
    ssize_t some = pread(in, bytes, STEP, *at);
    int code = some < 0 ? err_errno(err, ERR_IO, "cannot read %s", from)
                        : write_all(out, bytes, (size_t)some, to, err);
    free(bytes);
    *at += some;
    *ret_more = some > 0;
    return code;
}

static int copy(const struct place *place, int in, int out, const char *from,
                const char *to, struct err *err)
{
    int64_t next = clock_ms() + place->ms;
    off_t at = lseek(out, 0, SEEK_END);
    bool more = true;
    int code = at < 0 ? err_errno(err, ERR_IO, "cannot write %s", to) : 0;
    while (!code && more) {
        code = copy_some(in, out, &at, from, to, &more, err);
        if (!code && fleet_is_over())
            code = err_set(err, ERR_CANCELLED, "interrupted");
        if (!code && place->each && clock_ms() >= next) {
            code = place->each(place->user, err);
            next = clock_ms() + place->ms;
        }
    }
    if (!code && (fchmod(out, PACK_MODE) < 0 || fsync(out) < 0))
        code = err_errno(err, ERR_IO, "cannot write %s", to);
    return code;
}

/* Appends to `to` what it lacks of `from`, and syncs it. */
static int copy_rest(const struct place *place, const char *from,
                     const char *to, int flags, struct err *err)
{
    int in = file_open_regular(from, err);
    if (in < 0)
        return in;
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                   PACK_MODE);
    int code = out < 0 ? err_errno(err, ERR_IO, "cannot write %s", to)
                       : copy(place, in, out, from, to, err);
    close(in);
    if (out >= 0)
        close(out);
    return code;
}

static int put_into_folder(const struct place *place, const char *path,
                           const char *to, struct err *err)
{
    struct buf trial = {0};
    buf_printf(&trial, "%s.part", to);
    int code = copy_rest(place, path, trial.data, O_TRUNC, err);
    if (!code && rename(trial.data, to) < 0)
        code = err_errno(err, ERR_IO, "cannot rename %s", trial.data);
    if (code)
        unlink(trial.data);
    else
        code = file_sync_folder(place->where.data, err);
    buf_free(&trial);
    return code;
}

static int get_from_folder(const struct place *place, const char *from,
                           const char *sha256, const char *to, struct err *err)
{
    struct buf part = {0};
    buf_printf(&part, "%s.part", to);
    int code = copy_rest(place, from, part.data, 0, err);
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

static int remove_from_folder(const char *path, struct err *err)
{
    struct buf trial = {0};
    buf_printf(&trial, "%s.part", path);
    bool done = (unlink(path) == 0 || errno == ENOENT) &&
                (unlink(trial.data) == 0 || errno == ENOENT);
    int code = done ? 0 : err_errno(err, ERR_IO, "cannot remove %s", path);
    buf_free(&trial);
    return code;
}

/* ---- By an address ---- */

struct transfer {
    const struct place *place;
    int64_t next;
};

static int meanwhile(void *user, const cJSON *progress, struct err *err)
{
    struct transfer *transfer = user;
    (void)progress;
    if (fleet_is_over())
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (!transfer->place->each || clock_ms() < transfer->next)
        return 0;
    transfer->next = clock_ms() + transfer->place->ms;
    return transfer->place->each(transfer->place->user, err);
}

static int run(const struct place *place, const char *const *words,
               struct err *err)
{
    struct transfer transfer = {place, clock_ms() + place->ms};
    return getting_run(words, meanwhile, &transfer,
                       place->ms ? place->ms : STALL_MS, err);
}

/* ---- Either ---- */

/* What others have written into the registry names a file there, and no other. */
static int put_path(const struct place *place, const char *name,
                    struct buf *ret, struct err *err)
{
    if (!name || !file_is_name(name))
        return err_set(err, ERR_FORMAT,
                       "the registry has '%.200s' for a pack, which is no name "
                       "of a file",
                       name ? name : "");
    file_join(ret, place->where.data, name);
    return 0;
}

int place_put(const struct place *place, const char *path, const char *name,
              struct err *err)
{
    struct buf to = {0};
    int code = put_path(place, name, &to, err);
    const char *const words[] = {"--put", path, to.data, NULL};
    if (!code)
        code = config_is_address(to.data)
                   ? run(place, words, err)
                   : put_into_folder(place, path, to.data, err);
    buf_free(&to);
    return code;
}

int place_get(const struct place *place, const char *name, const char *sha256,
              int64_t bytes, const char *to, struct err *err)
{
    struct buf from = {0};
    char size[24];
    snprintf(size, sizeof size, "%lld", (long long)bytes);
    int code = put_path(place, name, &from, err);
    const char *const words[] = {"--to",    to,   "--sha256", sha256,
                                 "--bytes", size, from.data,  NULL};
    if (!code)
        code = config_is_address(from.data)
                   ? run(place, words, err)
                   : get_from_folder(place, from.data, sha256, to, err);
    buf_free(&from);
    return code;
}

int place_remove(const struct place *place, const char *name, struct err *err)
{
    struct buf path = {0};
    int code = put_path(place, name, &path, err);
    const char *const words[] = {"--remove", path.data, NULL};
    if (!code)
        code = config_is_address(path.data)
                   ? run(place, words, err)
                   : remove_from_folder(path.data, err);
    buf_free(&path);
    return code;
}
