#include "cli/output/gunzip_copy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "base/config.h"
#include "base/file.h"
#include "base/hash.h"

enum { MAX_BYTES = 64 << 20, STEP = 1 << 16 };

static const char ending[] = ".gz";

static bool is_gzipped(const char *file)
{
    size_t size = strlen(file), end = sizeof ending - 1;
    return size > end && !strcasecmp(file + size - end, ending);
}

/* A file that ends early is noticed when it is closed. */
static int read_all(gzFile packed, struct buf *out)
{
    int got = 1;
    while (got > 0 && out->size <= MAX_BYTES) {
        buf_reserve(out, STEP);
        got = gzread(packed, out->data + out->size, STEP);
        out->size += got > 0 ? (size_t)got : 0;
    }
    bool is_read = !got;
    return gzclose_r(packed) == Z_OK && is_read ? 0
           : out->size > MAX_BYTES              ? ERR_LIMIT
                                                : ERR_IO;
}

static int unpack(const char *file, struct buf *out, struct err *err)
{
    int fd = file_open_regular(file, err);
    gzFile packed = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (fd < 0)
        return ERR_IO;
    if (!packed) {
        close(fd);
        return err_set(err, ERR_INTERNAL, "cannot decompress");
    }
    int code = read_all(packed, out);
    if (code)
        err_set(err, code, "cannot unpack %s: %s", file,
                code == ERR_LIMIT ? "more than 64 MiB are in it"
                                  : "its compressed data are damaged");
    return code;
}

/* Below a folder for its path, so that its own name stays. */
static int write_copy(const char *folder, const char *file,
                      struct slice content, struct buf *ret_path,
                      struct err *err)
{
    struct hash128 hash = hash_bytes(file, strlen(file));
    struct buf path = {0};
    const char *name = strrchr(file, '/');
    buf_printf(&path, "%s/%016llx", folder, (unsigned long long)hash.high);
    int code = file_make_folder(folder, 0700, err);
    if (!code)
        code = file_make_folder(path.data, 0700, err);
    buf_put_text(&path, "/");
    buf_put_text(&path, name ? name + 1 : file);
    path.size -= sizeof ending - 1;
    path.data[path.size] = '\0';
    if (!code)
        code = file_write(path.data, content, err);
    if (!code)
        buf_put_slice(ret_path, buf_slice(&path));
    buf_free(&path);
    return code;
}

int unpacked_copy(const char *file, struct buf *out, struct err *err)
{
    struct buf content = {0}, folder = {0};
    const char *run = getenv("XDG_RUNTIME_DIR");
    if (!is_gzipped(file))
        return 0;
    int code = unpack(file, &content, err);
    if (!code) {
        config_user_folder("XDG_CACHE_HOME", ".cache", &folder);
        code = write_copy(folder.data, file, buf_slice(&content), out, err);
        if (code && run && run[0] == '/') {
            buf_clear(&folder);
            file_join(&folder, run, "lectern");
            code = write_copy(folder.data, file, buf_slice(&content), out, err);
        }
    }
    buf_free(&folder);
    buf_free(&content);
    return code;
}
