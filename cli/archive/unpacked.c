#include "cli/archive/unpacked.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "cli/archive/tar.h"
#include "cli/archive/zip.h"

static const struct kind {
    const char *ending;
    int (*unpack)(const char *path, const char *folder, struct err *err);
} kinds[] = {
    {".zip", zip_unpack},
    {".tar", tar_unpack},
    {".tar.gz", tar_unpack},
    {".tgz", tar_unpack},
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

static void put_place(struct buf *out)
{
    config_user_folder("XDG_DATA_HOME", ".local/share", out);
    buf_put_text(out, "/manuals");
}

/* `kind`: "", ".new" while it is unpacked, ".old" while it is replaced. */
static void put_folder(struct buf *out, const char *name, const char *kind)
{
    put_place(out);
    buf_printf(out, "/%s%s", name, kind);
}

void unpacked_put_folder(struct buf *out, const char *name)
{
    put_folder(out, name, "");
}

static void put_name(struct buf *out, const char *archive, const char *name)
{
    const char *slash = strrchr(archive, '/');
    if (name) {
        buf_put_text(out, name);
        return;
    }
    name = slash ? slash + 1 : archive;
    buf_put(out, name, strlen(name) - strlen(kind_of(archive)->ending));
}

/* The new folder takes the old one's place. */
static int put_in_place(const char *fresh, const char *folder, const char *old,
                        struct err *err)
{
    bool replaces = !rename(folder, old);
    if (rename(fresh, folder)) {
        int code = err_errno(err, ERR_IO, "cannot make %s", folder);
        if (replaces)
            rename(old, folder);
        return code;
    }
    file_remove_folder(old);
    return 0;
}

int unpacked_make(const char *archive, const char *name, struct buf *ret_folder,
                  struct err *err)
{
    struct buf title = {0}, fresh = {0}, folder = {0}, old = {0};
    put_name(&title, archive, name);
    if (!title.size || title.data[0] == '.' || strchr(title.data, '/')) {
        buf_free(&title);
        return err_set(err, ERR_USAGE,
                       "an archive's manual needs a name that can be a "
                       "folder's: -c NAME");
    }
    put_folder(&fresh, title.data, ".new");
    put_folder(&folder, title.data, "");
    put_folder(&old, title.data, ".old");
    file_remove_folder(fresh.data);
    file_remove_folder(old.data);
    int code = kind_of(archive)->unpack(archive, fresh.data, err);
    if (!code)
        code = put_in_place(fresh.data, folder.data, old.data, err);
    if (code)
        file_remove_folder(fresh.data);
    else
        buf_put_slice(ret_folder, buf_slice(&folder));
    buf_free(&title);
    buf_free(&fresh);
    buf_free(&folder);
    buf_free(&old);
    return code;
}

void unpacked_remove(const char *folder)
{
    struct buf place = {0};
    put_place(&place);
    size_t size = place.size;
    if (!strncmp(folder, place.data, size) && folder[size] == '/' &&
        folder[size + 1] && !strchr(folder + size + 1, '/'))
        file_remove_folder(folder);
    buf_free(&place);
}
