#include "cli/archive/unpacked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder_name.h"
#include "cli/archive/tar.h"
#include "cli/archive/zip.h"

enum { MAX_SOURCE = 1 << 16 };

/* A .jar is Javadoc's. */
static const struct kind {
    const char *ending;
    int (*unpack)(const char *path, const char *folder, struct err *err);
} kinds[] = {
    {".zip", zip_unpack}, {".epub", zip_unpack},   {".jar", zip_unpack},
    {".tar", tar_unpack}, {".tar.gz", tar_unpack}, {".tgz", tar_unpack},
};

/* NULL: it is no archive. */
static const struct kind *kind_of(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t end = strlen(kinds[i].ending);
        if (size > end && !strcasecmp(path + size - end, kinds[i].ending))
            return &kinds[i];
    }
    return NULL;
}

bool unpacked_is_archive(const char *path)
{
    return kind_of(path);
}

/* `kind`: "" or one of those that are hidden. */
static void put_folder(struct buf *out, const char *place, const char *kind,
                       const char *name)
{
    buf_printf(out, "%s/%s%s", place, kind, name);
}

char *unpacked_title(const char *archive)
{
    struct buf path = {0};
    buf_put(&path, archive, strlen(archive) - strlen(kind_of(archive)->ending));
    char *title = folder_name(path.data);
    buf_free(&path);
    return title;
}

int unpacked_lock(const char *place, int *ret_fd, struct err *err)
{
    int code = file_make_folder(place, 0700, err);
    if (code)
        return code;
    int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot open %s", place);
    /* Some file systems have no such lock for folders. */
    while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
    *ret_fd = fd;
    return 0;
}

int unpacked_make(const char *archive, const char *place, const char *name,
                  struct buf *ret_fresh, struct err *err)
{
    struct buf fresh = {0};
    put_folder(&fresh, place, ".new.", name);
    file_remove_folder(fresh.data);
    int code = kind_of(archive)->unpack(archive, fresh.data, err);
    if (code)
        file_remove_folder(fresh.data);
    else
        buf_put_slice(ret_fresh, buf_slice(&fresh));
    buf_free(&fresh);
    return code;
}

/* The new folder takes the old one's place once it is on the disk. */
static int put_in_place(const char *fresh, const char *folder, const char *old,
                        struct err *err)
{
    int code = file_sync_disk(fresh, err);
    file_remove_folder(old);
    bool replaces = !code && !rename(folder, old);
    if (!code && rename(fresh, folder)) {
        code = err_errno(err, ERR_IO, "cannot make %s", folder);
        if (replaces)
            rename(old, folder);
    }
    if (code)
        file_remove_folder(fresh);
    return code;
}

int unpacked_settle(const char *place, const char *name, const char *source,
                    struct err *err)
{
    struct buf fresh = {0}, folder = {0}, old = {0};
    put_folder(&fresh, place, ".new.", name);
    put_folder(&folder, place, "", name);
    put_folder(&old, place, ".old.", name);
    int code = put_in_place(fresh.data, folder.data, old.data, err);
    if (!code) /* before the old one goes */
        code = file_sync_folder(place, err);
    if (!code) {
        file_remove_folder(old.data);
        unpacked_note_source(place, name, source);
    }
    buf_free(&fresh);
    buf_free(&folder);
    buf_free(&old);
    return code;
}

void unpacked_note_source(const char *place, const char *name,
                          const char *source)
{
    struct buf path = {0};
    put_folder(&path, place, ".from.", name);
    file_write(path.data, slice_of(source), NULL);
    buf_free(&path);
}

void unpacked_put_source(struct buf *out, const char *folder)
{
    struct buf path = {0};
    const char *slash = strrchr(folder, '/');
    if (!slash)
        return;
    buf_printf(&path, "%.*s/.from.%s", (int)(slash - folder), folder,
               slash + 1);
    file_read(path.data, MAX_SOURCE, out, NULL);
    buf_free(&path);
}

const char *unpacked_name(const char *place, const char *folder)
{
    size_t size = strlen(place);
    if (strncmp(folder, place, size) != 0 || folder[size] != '/' ||
        !file_is_name(folder + size + 1))
        return NULL;
    return folder + size + 1;
}

void unpacked_remove(const char *place, const char *folder)
{
    const char *name = unpacked_name(place, folder);
    struct buf source = {0};
    if (!name)
        return;
    put_folder(&source, place, ".from.", name);
    file_remove_folder(folder);
    unlink(source.data);
    buf_free(&source);
}
