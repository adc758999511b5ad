/*      local header, name, extra, data   for each member
 *      directory entry, name, extra, comment   for each member
 *      end of directory: count, place of the directory
 *
 * Sizes are those of the directory.  Wheels of 4 GiB and more (zip64) are refused. */
#include "cli/download/wheel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    END = 22,
    MAX_COMMENT = 65535,
    ENTRY = 46,
    LOCAL = 30,
    STORED = 0,
    DEFLATED = 8,
    STEP = 1 << 18
};

static const char end_mark[] = "PK\5\6", entry_mark[] = "PK\1\2",
                  local_mark[] = "PK\3\4";

struct wheel {
    const char *path;
    const unsigned char *data;
    size_t size;
};

struct member {
    const char *name;
    size_t name_size;
    unsigned method;
    uint32_t crc;
    const unsigned char *data;
    size_t packed, size;
};

static uint32_t number(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static int damaged(const struct wheel *wheel, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s: is no wheel that can be read: %s",
                   wheel->path, what);
}

static bool has(const struct wheel *wheel, size_t at, size_t size,
                const char *mark)
{
    return at <= wheel->size && wheel->size - at >= size &&
           !memcmp(wheel->data + at, mark, 4);
}

static int find_end(const struct wheel *wheel, size_t *ret, struct err *err)
{
    for (size_t back = END; back <= END + MAX_COMMENT && back <= wheel->size;
         back++)
        if (has(wheel, wheel->size - back, END, end_mark)) {
            *ret = wheel->size - back;
            return 0;
        }
    return damaged(wheel, "its directory is missing", err);
}

/* Reads the entry at *at and moves on to the next. */
static int next_member(const struct wheel *wheel, size_t *at,
                       struct member *ret, struct err *err)
{
    if (!has(wheel, *at, ENTRY, entry_mark))
        return damaged(wheel, "its directory is cut off", err);
    const unsigned char *entry = wheel->data + *at;
    size_t name = number(entry + 28, 2), place = number(entry + 42, 4);
    size_t next =
        *at + ENTRY + name + number(entry + 30, 2) + number(entry + 32, 2);
    if (next > wheel->size || !has(wheel, place, LOCAL, local_mark))
        return damaged(wheel, "its directory leads nowhere", err);
    const unsigned char *local = wheel->data + place;
    size_t data = place + LOCAL + number(local + 26, 2) + number(local + 28, 2);
    *ret = (struct member){.name = (const char *)entry + ENTRY,
                           .name_size = name,
                           .method = number(entry + 10, 2),
                           .crc = number(entry + 16, 4),
                           .packed = number(entry + 20, 4),
                           .size = number(entry + 24, 4)};
    if (data > wheel->size || wheel->size - data < ret->packed)
        return damaged(wheel, "a member is cut off", err);
    ret->data = wheel->data + data;
    *at = next;
    return 0;
}

static int write_all(int fd, const unsigned char *data, size_t size,
                     const char *path, struct err *err)
{
    while (size) {
        ssize_t some = write(fd, data, size);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return err_errno(err, ERR_IO, "cannot write %s", path);
        data += some;
        size -= (size_t)some;
    }
    return 0;
}

/* Unpacks into a file that is open; *ret_crc and *ret_size are of what came. */
static int inflate_into(const struct member *member, int fd, const char *path,
                        uint32_t *ret_crc, size_t *ret_size, struct err *err)
{
    z_stream z = {.next_in = member->data, .avail_in = (uInt)member->packed};
    unsigned char *out = mem_alloc(STEP);
    int code = 0, result = inflateInit2(&z, -MAX_WBITS);
    *ret_crc = 0;
    *ret_size = 0;
    while (!code && result == Z_OK && *ret_size <= member->size) {
        z.next_out = out;
        z.avail_out = STEP;
        result = inflate(&z, Z_NO_FLUSH);
        size_t some = STEP - z.avail_out;
        *ret_crc = (uint32_t)crc32(*ret_crc, out, (uInt)some);
        *ret_size += some;
        code = write_all(fd, out, some, path, err);
    }
    inflateEnd(&z);
    free(out);
    return code;
}

static int unpack_into(const struct wheel *wheel, const struct member *member,
                       int fd, const char *path, struct err *err)
{
    uint32_t crc = (uint32_t)crc32(0, member->data, (uInt)member->packed);
    size_t size = member->packed;
    int code;
    if (member->method == STORED)
        code = write_all(fd, member->data, size, path, err);
    else if (member->method == DEFLATED)
        code = inflate_into(member, fd, path, &crc, &size, err);
    else
        return damaged(wheel, "a member is packed in an unknown way", err);
    if (!code && (crc != member->crc || size != member->size))
        code = damaged(wheel, "a member is not what its checksum says", err);
    return code;
}

static int unpack_file(const struct wheel *wheel, const struct member *member,
                       const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot make %s", path);
    int code = unpack_into(wheel, member, fd, path, err);
    if (!code && fsync(fd) < 0)
        code = err_errno(err, ERR_IO, "cannot write %s", path);
    close(fd);
    return code;
}

/* No part of it is empty, "." or "..". */
static bool stays_inside(const char *name)
{
    for (;;) {
        size_t size = strcspn(name, "/");
        if (!size || (size <= 2 && strspn(name, ".") >= size))
            return false;
        if (!name[size])
            return true;
        name += size + 1;
    }
}

/* `name`: within the folder `to`. */
static int unpack_within(const struct wheel *wheel, const struct member *member,
                         const char *name, const char *to, struct err *err)
{
    struct buf path = {0};
    int code = 0;
    if (!stays_inside(name))
        return damaged(wheel, "a member's name leads out of it", err);
    file_join(&path, to, name);
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    code = file_make_folder(path.data, 0700, err);
    *slash = '/';
    if (!code)
        code = unpack_file(wheel, member, path.data, err);
    buf_free(&path);
    return code;
}

/* Sets *found if the member was wanted. */
static int unpack_wanted(const struct wheel *wheel, const struct member *member,
                         const char *wanted, const char *to, bool *found,
                         struct err *err)
{
    size_t size = strlen(wanted);
    bool folder = wanted[size - 1] == '/';
    char *name = mem_strndup(member->name, member->name_size);
    int code = 0;
    bool is_folder = name[0] && name[strlen(name) - 1] == '/';
    if (!folder && !strcmp(name, wanted)) {
        *found = true;
        code = unpack_file(wheel, member, to, err);
    } else if (folder && !is_folder && !strncmp(name, wanted, size)) {
        *found = true;
        code = unpack_within(wheel, member, name + size, to, err);
    }
    free(name);
    return code;
}

static int unpack(const struct wheel *wheel, const char *wanted, const char *to,
                  struct err *err)
{
    size_t end;
    bool found = false;
    int code = find_end(wheel, &end, err);
    if (code)
        return code;
    size_t count = number(wheel->data + end + 10, 2);
    size_t at = number(wheel->data + end + 16, 4);
    for (size_t i = 0; i < count && !code; i++) {
        struct member member;
        code = next_member(wheel, &at, &member, err);
        if (!code)
            code = unpack_wanted(wheel, &member, wanted, to, &found, err);
    }
    if (!code && !found)
        code = err_set(err, ERR_FORMAT, "%s: there is no %s in it", wheel->path,
                       wanted);
    return code;
}

int wheel_unpack(const char *wheel, const char *member, const char *to,
                 struct err *err)
{
    struct wheel w = {.path = wheel};
    struct stat st;
    int fd = file_open_regular(wheel, err);
    if (fd < 0)
        return fd;
    void *map = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return damaged(&w, "it is empty", err);
    w.data = map;
    w.size = (size_t)st.st_size;
    int code = unpack(&w, member, to, err);
    munmap(map, w.size);
    return code;
}
