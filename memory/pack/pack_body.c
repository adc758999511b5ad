/* What a pack holds; strings and varints are those of base/buf.h, a count comes before
 * its items.
 *
 *   string   name, globs that are ignored, outline as tree_encode has it
 *   trees:   string of tree_encode ..., by the hashes of these bytes
 *   files:   string path, varint size, 16 content hash, varint tree + 1 (0: none),
 *            varint state, string failure, string reports,
 *            varint 1 and string bytes (0: they are left out) ..., by path
 *   segments: 16 name, string value ..., by name
 *   memories: 16 name, string value ..., by name
 *   string   vectors as vector_table_encode has them; empty: none
 * In those of version 2 follow codes of tokens, which nobody reads any more:
 *   varint   version of the codes
 *   codes:   16 name, string codes ..., at least one */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/pack/pack_internal.h"

enum {
    MIN_TREE = 9, /* bytes that the smallest takes */
    MIN_FILE = 23,
    MIN_RECORD = 17,
    NODE_BYTES = 8 /* that an encoded node takes at least */
};

int pack_wrong(struct err *err, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(err, ERR_FORMAT, "the pack is not taken: %s", text);
}

struct tree_limits pack_tree_limits(size_t size)
{
    return (struct tree_limits){2 + size / NODE_BYTES, 8 + size};
}

/* ---- Writing ---- */

static void put_hash(struct buf *out, struct hash128 hash)
{
    unsigned char bytes[16];
    hash_write(hash, bytes);
    buf_put(out, bytes, sizeof bytes);
}

static void put_tree(struct buf *out, const struct tree *tree)
{
    struct buf bytes = {0};
    tree_encode(tree, &bytes);
    buf_put_string(out, buf_slice(&bytes));
    buf_free(&bytes);
}

static void put_file(struct buf *out, const struct pack_file *file)
{
    buf_put_string(out, slice_of(file->path));
    buf_put_varint(out, file->size);
    put_hash(out, file->content);
    buf_put_varint(out, file->tree);
    buf_put_varint(out, (uint64_t)file->state);
    buf_put_string(out, slice_of(file->failure));
    buf_put_string(out, slice_of(file->reports));
    buf_put_varint(out, file->bytes.data != NULL);
    if (file->bytes.data)
        buf_put_string(out, file->bytes);
}

static void put_records(struct buf *out, const struct pack_record *records,
                        size_t count)
{
    buf_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        put_hash(out, records[i].name);
        buf_put_string(out, records[i].value);
    }
}

void pack_encode(const struct pack *pack, struct buf *out)
{
    struct buf vectors = {0};
    buf_put_string(out, slice_of(pack->name));
    buf_put_string(out, slice_of(pack->ignore));
    put_tree(out, pack->outline);
    buf_put_varint(out, pack->tree_count);
    for (size_t i = 0; i < pack->tree_count; i++)
        buf_put_string(out, pack->trees[i].bytes);
    buf_put_varint(out, pack->file_count);
    for (size_t i = 0; i < pack->file_count; i++)
        put_file(out, &pack->files[i]);
    put_records(out, pack->segments, pack->segment_count);
    put_records(out, pack->memories, pack->memory_count);
    if (pack->vectors.width)
        vector_table_encode(&pack->vectors, &vectors);
    buf_put_string(out, buf_slice(&vectors));
    buf_free(&vectors);
}

/* ---- Reading ---- */

static struct hash128 take_hash(struct reader *in)
{
    const unsigned char *bytes = read_bytes(in, 16);
    return bytes ? hash_read(bytes) : (struct hash128){0};
}

/* A text without zeros in it. */
static char *take_text(struct reader *in)
{
    struct slice text = read_string(in);
    if (text.size && memchr(text.data, '\0', text.size))
        in->failed = true;
    return mem_strndup(text.data, text.size);
}

static int take_outline(struct reader *in, struct pack *pack, struct err *err)
{
    struct slice bytes = read_string(in);
    const struct tree_limits limits = pack_tree_limits(bytes.size);
    struct err cause = {0};
    if (in->failed)
        return 0;
    if (tree_decode_within(bytes.data, bytes.size, &limits, &pack->outline,
                           &cause))
        return pack_wrong(err, "its outline is %s", cause.message);
    return 0;
}

static void take_trees(struct reader *in, struct pack *pack)
{
    pack->tree_count = read_count(in, MIN_TREE);
    pack->trees = mem_alloc(pack->tree_count * sizeof *pack->trees);
    for (size_t i = 0; i < pack->tree_count && !in->failed; i++) {
        struct pack_tree *tree = &pack->trees[i];
        tree->bytes = read_string(in);
        tree->name = hash_bytes(tree->bytes.data, tree->bytes.size);
    }
}

static void take_file(struct reader *in, struct pack_file *file)
{
    file->path = take_text(in);
    file->size = read_varint(in);
    file->content = take_hash(in);
    file->tree = read_u32(in);
    uint64_t state = read_varint(in);
    if (state > FILE_NOT_FOLLOWED)
        in->failed = true;
    file->state = (int)(state & 3);
    file->failure = take_text(in);
    file->reports = take_text(in);
    uint64_t there = read_varint(in);
    if (there > 1)
        in->failed = true;
    if (there)
        file->bytes = read_string(in);
}

static void take_files(struct reader *in, struct pack *pack)
{
    size_t count = read_count(in, MIN_FILE);
    pack->files = mem_alloc(count * sizeof *pack->files);
    while (pack->file_count < count && !in->failed)
        take_file(in, &pack->files[pack->file_count++]);
}

static struct pack_record *take_records(struct reader *in, size_t *ret_count)
{
    size_t count = read_count(in, MIN_RECORD);
    struct pack_record *records = mem_alloc(count * sizeof *records);
    for (size_t i = 0; i < count && !in->failed; i++) {
        records[i].name = take_hash(in);
        records[i].value = read_string(in);
    }
    *ret_count = count;
    return records;
}

static int take_vectors(struct reader *in, struct pack *pack, struct err *err)
{
    struct slice bytes = read_string(in);
    struct err cause = {0};
    if (in->failed || !bytes.size)
        return 0;
    if (vector_table_decode(bytes, &pack->vectors, &cause))
        return pack_wrong(err, "%s", cause.message);
    return 0;
}

static void skip_codes(struct reader *in)
{
    size_t count;
    (void)read_varint(in);
    free(take_records(in, &count));
    in->failed |= !count;
}

static int take_all(struct reader *in, struct pack *pack, struct err *err)
{
    pack->name = take_text(in);
    pack->ignore = take_text(in);
    int code = take_outline(in, pack, err);
    if (code)
        return code;
    take_trees(in, pack);
    take_files(in, pack);
    pack->segments = take_records(in, &pack->segment_count);
    pack->memories = take_records(in, &pack->memory_count);
    code = take_vectors(in, pack, err);
    if (!code && in->at != in->size)
        skip_codes(in);
    if (!code && (in->failed || in->at != in->size || !pack->outline))
        code = pack_wrong(err, "its records do not fit at byte %zu", in->at);
    return code;
}

int pack_decode(struct buf *body, struct pack *ret, struct err *err)
{
    struct pack pack = {.body = *body};
    *body = (struct buf){0};
    struct reader in = reader_of(pack.body.data, pack.body.size);
    int code = take_all(&in, &pack, err);
    pack.has_bytes = !code;
    for (size_t i = 0; i < pack.file_count && !code; i++)
        if (pack.files[i].state == FILE_INDEXED && !pack.files[i].bytes.data)
            pack.has_bytes = false;
    if (!code)
        code = pack_check(&pack, err);
    if (code)
        pack_free(&pack);
    else
        *ret = pack;
    return code;
}

void pack_free(struct pack *pack)
{
    for (size_t i = 0; i < pack->file_count; i++) {
        free(pack->files[i].path);
        free(pack->files[i].failure);
        free(pack->files[i].reports);
    }
    free(pack->files);
    free(pack->trees);
    free(pack->segments);
    free(pack->memories);
    free(pack->name);
    free(pack->ignore);
    tree_free(pack->outline);
    vector_table_free(&pack->vectors);
    buf_free(&pack->body);
    *pack = (struct pack){0};
}
