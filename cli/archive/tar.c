/* Blocks of 512 bytes: a header, then the file's bytes, filled up to a whole block; two
 * blocks of zeros at the end.  A name that is too long for the header comes before it, as
 * the content of an entry of its own: GNU's `L`, or a record "NN path=NAME\n" of POSIX's
 * `x`. */
#include "cli/archive/tar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "cli/archive/member.h"

enum {
    BLOCK = 512,
    MAX_NAMES = 1 << 16, /* bytes of an entry that names the next */
    MAX_REST = 64 << 20, /* bytes behind the files; tar fills up to some KiB */
    NAME = 0,            /* places in a header, and their sizes */
    NAME_SIZE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    SUM = 148,
    SUM_SIZE = 8,
    KIND = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155
};

struct tar {
    const char *path, *folder;
    gzFile file; /* reads what is not compressed as it is */
    uint64_t unpacked;
    struct buf name; /* of the next file, where an entry before it had it */
};

struct entry {
    struct buf name;
    uint64_t size;
    char kind;
};

static int damaged(const struct tar *tar, struct err *err)
{
    return err_set(err, ERR_FORMAT,
                   "%s is no tar archive, is damaged, or compressed in "
                   "another way than by gzip: unpack it yourself and add the "
                   "folder",
                   tar->path);
}

static int read_block(struct tar *tar, char block[BLOCK], struct err *err)
{
    return gzread(tar->file, block, BLOCK) == BLOCK ? 0 : damaged(tar, err);
}

/* ---- Headers ---- */

/* An octal number, with spaces or zeros about it. */
static bool read_octal(const char *text, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    size_t at = 0;
    while (at < size && text[at] == ' ')
        at++;
    for (; at < size && text[at] >= '0' && text[at] <= '7'; at++)
        value = value * 8 + (uint64_t)(text[at] - '0');
    *ret = value;
    return at == size || text[at] == ' ' || text[at] == '\0';
}

static bool is_zero(const char block[BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

/* The sum of all bytes, of itself as if they were spaces. */
static bool has_sum(const char block[BLOCK])
{
    uint64_t sum = 0, wanted;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= SUM && i < SUM + SUM_SIZE ? ' ' : (unsigned char)block[i];
    return read_octal(block + SUM, SUM_SIZE, &wanted) && wanted == sum;
}

static void put_name(const char block[BLOCK], struct buf *out)
{
    size_t prefix = strnlen(block + PREFIX, PREFIX_SIZE);
    if (!memcmp(block + MAGIC, "ustar\0", 6) && prefix) {
        buf_put(out, block + PREFIX, prefix);
        buf_put_byte(out, '/');
    }
    buf_put(out, block + NAME, strnlen(block + NAME, NAME_SIZE));
}

static int read_header(struct tar *tar, const char block[BLOCK],
                       struct entry *ret, struct err *err)
{
    uint64_t size;
    if (!has_sum(block) || !read_octal(block + SIZE, SIZE_SIZE, &size))
        return damaged(tar, err);
    *ret = (struct entry){.size = size, .kind = block[KIND]};
    return 0;
}

/* ---- Contents ---- */

/* Calls `take` with all bytes of an entry, block by block; NULL: nobody wants them. */
typedef int take_bytes(void *user, const char *bytes, size_t size);
static int read_content(struct tar *tar, uint64_t size, take_bytes *take,
                        void *user, struct err *err)
{
    char block[BLOCK];
    int code = 0;
    while (!code && size) {
        size_t some = size < BLOCK ? (size_t)size : BLOCK;
        code = read_block(tar, block, err);
        if (!code && take && take(user, block, some))
            code = err_errno(err, ERR_IO, "cannot unpack %s", tar->path);
        size -= some;
    }
    return code;
}

static int write_some(void *user, const char *bytes, size_t size)
{
    return member_write(*(int *)user, bytes, size);
}

static int keep_some(void *user, const char *bytes, size_t size)
{
    buf_put(user, bytes, size);
    return 0;
}

/* Also of what is only passed over, and of what says names: a few bytes may be packed
 * for it. */
static int count_bytes(struct tar *tar, const struct entry *entry,
                       struct err *err)
{
    tar->unpacked += entry->size + BLOCK;
    return entry->size > member_max_unpacked ||
                   tar->unpacked > member_max_unpacked
               ? err_set(err, ERR_LIMIT, "%s has more than 4 GiB in it",
                         tar->path)
               : 0;
}

static int write_file(struct tar *tar, const struct entry *entry,
                      struct err *err)
{
    int fd =
        member_create(tar->path, tar->folder, buf_slice(&entry->name), err);
    if (fd < 0)
        return fd;
    int code = read_content(tar, entry->size, write_some, &fd, err);
    if (close(fd) && !code)
        code = err_errno(err, ERR_IO, "cannot unpack %s", tar->path);
    return code;
}

/* Of "NN path=NAME\n" records, NN bytes each, the path. */
static void put_path_record(struct slice records, struct buf *out)
{
    while (records.size) {
        char *end;
        unsigned long size = strtoul(records.data, &end, 10);
        size_t head = (size_t)(end - records.data);
        if (*end != ' ' || size > records.size || size < head + 2)
            return;
        struct slice record = {end + 1, size - head - 2};
        if (slice_starts(record, slice_of("path="))) {
            buf_clear(out);
            buf_put(out, record.data + 5, record.size - 5);
        }
        records = (struct slice){records.data + size, records.size - size};
    }
}

/* The content is about the entry that follows. */
static int read_name(struct tar *tar, const struct entry *entry,
                     struct err *err)
{
    struct buf text = {0};
    int code = entry->size > MAX_NAMES ? damaged(tar, err) : 0;
    if (!code)
        code = read_content(tar, entry->size, keep_some, &text, err);
    if (!code && entry->kind == 'x')
        put_path_record(buf_slice(&text), &tar->name);
    else if (!code && text.size) {
        buf_clear(&tar->name);
        buf_put(&tar->name, text.data, strnlen(text.data, text.size));
    }
    buf_free(&text);
    return code;
}

static bool is_regular(const struct entry *entry)
{
    struct slice name = buf_slice(&entry->name);
    bool folder = !name.size || name.data[name.size - 1] == '/';
    return !folder && (entry->kind == '0' || entry->kind == '\0');
}

static int unpack_entry(struct tar *tar, const char block[BLOCK],
                        struct err *err)
{
    struct entry entry;
    int code = read_header(tar, block, &entry, err);
    if (!code)
        code = count_bytes(tar, &entry, err);
    if (code)
        return code;
    if (entry.kind == 'L' || entry.kind == 'x')
        return read_name(tar, &entry, err);
    if (tar->name.size)
        buf_put_slice(&entry.name, buf_slice(&tar->name));
    else
        put_name(block, &entry.name);
    buf_clear(&tar->name);
    code = is_regular(&entry) ? write_file(tar, &entry, err)
                              : read_content(tar, entry.size, NULL, NULL, err);
    buf_free(&entry.name);
    return code;
}

/* Behind the files: a compressed archive has its checksum at its end. */
static int read_rest(struct tar *tar, struct err *err)
{
    char block[BLOCK];
    int got, rest = 0;
    while ((got = gzread(tar->file, block, BLOCK)) > 0 && rest <= MAX_REST)
        rest += got;
    if (rest > MAX_REST)
        return err_set(err, ERR_LIMIT,
                       "%s has more than %d MiB behind its files: unpack it "
                       "yourself and add the folder",
                       tar->path, MAX_REST >> 20);
    return got < 0 ? damaged(tar, err) : 0;
}

int tar_unpack(const char *path, const char *folder, struct err *err)
{
    struct tar tar = {.path = path, .folder = folder};
    char block[BLOCK];
    int code = file_make_folder(folder, 0700, err);
    if (code)
        return code;
    tar.file = gzopen(path, "rbe");
    if (!tar.file)
        return err_errno(err, ERR_IO, "cannot read %s", path);
    code = read_block(&tar, block, err);
    while (!code && !is_zero(block)) {
        code = unpack_entry(&tar, block, err);
        if (!code)
            code = read_block(&tar, block, err);
    }
    if (!code)
        code = read_rest(&tar, err);
    if (gzclose_r(tar.file) != Z_OK && !code)
        code = damaged(&tar, err);
    buf_free(&tar.name);
    return code;
}
