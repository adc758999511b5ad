/* From the end of the file: a record that says where the directory is, the directory,
 * whose entries say where each file is.  A file has a header of its own, of which only
 * the length is believed.
 *
 *     header data  header data ...  entry entry ...  end */
#define ZLIB_CONST /* it only reads its input */
#include "cli/archive/zip.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "cli/archive/member.h"

enum {
    MAX_ARCHIVE = 1 << 30, /* bytes */
    END_SIZE = 22,
    MAX_COMMENT = 0xFFFF,
    MANY = 0xFFFF, /* entries: there may be more, which the end cannot say */
    ENTRY_SIZE = 46,
    HEADER_SIZE = 30,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1, /* of the flags */
    STEP = 1 << 16
};

struct zip {
    const char *path, *folder;
    struct slice bytes;
    uint64_t unpacked;
};

struct entry {
    unsigned flags, method, mode;
    uint32_t crc, packed, size;
    size_t header;
    struct slice name;
};

static unsigned u16(struct slice bytes, size_t at)
{
    const unsigned char *b = (const unsigned char *)bytes.data + at;
    return (unsigned)(b[0] | b[1] << 8);
}

static uint32_t u32(struct slice bytes, size_t at)
{
    return u16(bytes, at) | (uint32_t)u16(bytes, at + 2) << 16;
}

static bool has(struct slice bytes, size_t at, size_t size)
{
    return at <= bytes.size && bytes.size - at >= size;
}

static bool is_marked(struct slice bytes, size_t at, size_t size,
                      const char *mark)
{
    return has(bytes, at, size) && !memcmp(bytes.data + at, mark, 4);
}

static int damaged(const struct zip *zip, struct err *err)
{
    return err_set(err, ERR_FORMAT,
                   "%s is no zip archive, or is damaged: unpack it yourself "
                   "and add the folder",
                   zip->path);
}

/* Folders come with what is in them; a link is not followed, so it is not made. */
static bool is_regular(const struct entry *entry)
{
    bool folder =
        entry->name.size && entry->name.data[entry->name.size - 1] == '/';
    return !folder && !S_ISLNK(entry->mode);
}

/* ---- Contents ---- */

/* Writes what `data` inflates to, at most as much as the entry says. */
static int inflate_to(int fd, struct slice data, const struct entry *entry)
{
    unsigned char out[STEP];
    z_stream stream = {.next_in = (const Bytef *)data.data,
                       .avail_in = (uInt)data.size};
    uint32_t crc = 0;
    int outcome = inflateInit2(&stream, -MAX_WBITS), code = 0;
    while (outcome == Z_OK && !code) {
        stream.next_out = out;
        stream.avail_out = STEP;
        outcome = inflate(&stream, Z_NO_FLUSH);
        size_t got = STEP - stream.avail_out;
        if (stream.total_out > entry->size || (outcome == Z_OK && !got))
            outcome = Z_DATA_ERROR;
        crc = (uint32_t)crc32(crc, out, (uInt)got);
        if (outcome == Z_OK || outcome == Z_STREAM_END)
            code = member_write(fd, out, got);
    }
    bool whole = outcome == Z_STREAM_END && stream.total_out == entry->size &&
                 crc == entry->crc;
    inflateEnd(&stream);
    return code || whole ? code : ERR_FORMAT;
}

static int copy_to(int fd, struct slice data, const struct entry *entry)
{
    if (data.size != entry->size ||
        (uint32_t)crc32(0, (const Bytef *)data.data, (uInt)data.size) !=
            entry->crc)
        return ERR_FORMAT;
    return member_write(fd, data.data, data.size);
}

static int write_file(const struct zip *zip, const struct entry *entry,
                      struct slice data, struct err *err)
{
    int fd = member_create(zip->path, zip->folder, entry->name, err);
    if (fd < 0)
        return fd;
    int code = entry->method == STORED ? copy_to(fd, data, entry)
                                       : inflate_to(fd, data, entry);
    if (code == ERR_FORMAT)
        damaged(zip, err);
    else if (code)
        err_errno(err, ERR_IO, "cannot write %.*s", (int)entry->name.size,
                  entry->name.data);
    if (close(fd) && !code)
        code = err_errno(err, ERR_IO, "cannot write %.*s",
                         (int)entry->name.size, entry->name.data);
    return code;
}

/* ---- The directory ---- */

static int unpack_entry(struct zip *zip, const struct entry *entry,
                        struct err *err)
{
    size_t at = entry->header;
    if (!is_marked(zip->bytes, at, HEADER_SIZE, "PK\3\4"))
        return damaged(zip, err);
    at += (size_t)HEADER_SIZE + u16(zip->bytes, at + 26) +
          u16(zip->bytes, at + 28);
    if (!has(zip->bytes, at, entry->packed))
        return damaged(zip, err);
    if (entry->flags & ENCRYPTED ||
        (entry->method != STORED && entry->method != DEFLATED))
        return err_set(err, ERR_LIMIT,
                       "%s is encrypted, or compressed in an unusual way: "
                       "unpack it yourself and add the folder",
                       zip->path);
    zip->unpacked += entry->size;
    if (zip->unpacked > member_max_unpacked)
        return err_set(err, ERR_LIMIT, "%s has more than 4 GiB in it",
                       zip->path);
    return write_file(zip, entry,
                      (struct slice){zip->bytes.data + at, entry->packed}, err);
}

static bool is_entry(struct slice bytes, size_t at)
{
    return is_marked(bytes, at, ENTRY_SIZE, "PK\1\2");
}

/* Reads the entry at *at, and moves on. */
static bool next_entry(struct slice bytes, size_t *at, struct entry *ret)
{
    if (!is_entry(bytes, *at))
        return false;
    size_t name = u16(bytes, *at + 28);
    size_t rest = name + u16(bytes, *at + 30) + u16(bytes, *at + 32);
    if (!has(bytes, *at + ENTRY_SIZE, rest))
        return false;
    *ret = (struct entry){.flags = u16(bytes, *at + 8),
                          .method = u16(bytes, *at + 10),
                          .mode = u16(bytes, *at + 40),
                          .crc = u32(bytes, *at + 16),
                          .packed = u32(bytes, *at + 20),
                          .size = u32(bytes, *at + 24),
                          .header = u32(bytes, *at + 42),
                          .name = {bytes.data + *at + ENTRY_SIZE, name}};
    *at += ENTRY_SIZE + rest;
    return true;
}

/* The end record's place: its comment reaches to the end of the file. */
static bool find_end(struct slice bytes, size_t *ret_at)
{
    for (size_t back = END_SIZE;
         back <= bytes.size && back <= END_SIZE + MAX_COMMENT; back++) {
        size_t at = bytes.size - back;
        if (!is_marked(bytes, at, END_SIZE, "PK\5\6") ||
            u16(bytes, at + 20) != back - END_SIZE)
            continue;
        *ret_at = at;
        return true;
    }
    return false;
}

static int unpack_all(struct zip *zip, struct err *err)
{
    size_t end;
    if (!find_end(zip->bytes, &end))
        return damaged(zip, err);
    size_t count = u16(zip->bytes, end + 10), at = u32(zip->bytes, end + 16);
    int code = 0;
    for (size_t i = 0;
         !code && (i < count || (count == MANY && is_entry(zip->bytes, at)));
         i++) {
        struct entry entry;
        if (!next_entry(zip->bytes, &at, &entry))
            return damaged(zip, err);
        if (is_regular(&entry))
            code = unpack_entry(zip, &entry, err);
    }
    return code;
}

int zip_unpack(const char *path, const char *folder, struct err *err)
{
    struct zip zip = {.path = path, .folder = folder};
    struct buf bytes = {0};
    int code = file_read(path, MAX_ARCHIVE, &bytes, err);
    zip.bytes = buf_slice(&bytes);
    if (!code)
        code = file_make_folder(folder, 0700, err);
    if (!code)
        code = unpack_all(&zip, err);
    buf_free(&bytes);
    return code;
}
