#include "daemon/verbs/pack_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int write_bytes(int fd, struct slice bytes)
{
    while (bytes.size) {
        ssize_t n = write(fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return 0;
}

static int write_file(const struct pack_file *file, const char *folder,
                      struct err *err)
{
    struct buf path = {0};
    file_join(&path, folder, file->path);
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    int code = file_make_folder(path.data, 0700, err), fd = -1;
    *slash = '/';
    if (!code)
        fd = open(path.data,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (!code && (fd < 0 || write_bytes(fd, file->bytes)))
        code = err_errno(err, ERR_IO, "cannot write %s", path.data);
    if (fd >= 0 && close(fd) && !code)
        code = err_errno(err, ERR_IO, "cannot write %s", path.data);
    buf_free(&path);
    return code;
}

static int make_folder(const char *folder, struct err *err)
{
    struct buf parent = {0};
    const char *slash = strrchr(folder, '/');
    buf_put(&parent, folder, slash == folder ? 1 : (size_t)(slash - folder));
    int code = file_make_folder(parent.data, 0700, err);
    buf_free(&parent);
    if (!code && mkdir(folder, 0700) < 0)
        code = errno == EEXIST
                   ? err_set(err, ERR_USAGE,
                             "%s is there already: the files of a pack go into "
                             "a new folder (--dir)",
                             folder)
                   : err_errno(err, ERR_IO, "cannot make %s", folder);
    return code;
}

int pack_folder_make(const struct pack *pack, const char *folder,
                     struct err *err)
{
    int code = make_folder(folder, err);
    if (code)
        return code;
    for (size_t i = 0; i < pack->file_count && !code; i++)
        if (pack->files[i].bytes.data)
            code = write_file(&pack->files[i], folder, err);
    if (!code)
        code = file_sync_disk(folder, err);
    if (code)
        file_remove_folder(folder);
    return code;
}
