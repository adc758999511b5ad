/* The form of a file of prompt_files.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "daemon/engine/prompt_files_internal.h"

static const char magic[8] = "lectkv2\n";

enum { HEAD = sizeof magic + 4 + 16, LEVEL = 1, MAX_HEADER = 1 << 17 };
static const size_t max_plain = (size_t)1 << 30;

struct hash128 prompt_piece_name(const struct prompt_piece *piece)
{
    unsigned char before[16];
    struct buf text = {0};
    hash_write(piece->before, before);
    buf_put(&text, before, sizeof before);
    buf_put(&text, piece->ids, piece->count * sizeof *piece->ids);
    if (piece->rounded)
        buf_put_byte(&text, 1);
    struct hash128 name = hash_bytes(text.data, text.size);
    buf_free(&text);
    return name;
}

void piece_header_free(struct piece_header *header)
{
    free(header->ids);
    free(header->sections);
    *header = (struct piece_header){0};
}

static void put_hash(struct buf *to, struct hash128 hash)
{
    unsigned char bytes[16];
    hash_write(hash, bytes);
    buf_put(to, bytes, sizeof bytes);
}

/* ---- The body ---- */

/* Every fourth byte: exponents of f32 repeat, mantissas do not. */
static void split(const unsigned char *from, size_t size, unsigned char *to)
{
    size_t each = size / 4;
    for (size_t i = 0; i < each; i++)
        for (size_t b = 0; b < 4; b++)
            to[b * each + i] = from[4 * i + b];
    memcpy(to + 4 * each, from + 4 * each, size - 4 * each);
}

static void join(const unsigned char *from, size_t size, unsigned char *to)
{
    size_t each = size / 4;
    for (size_t i = 0; i < each; i++)
        for (size_t b = 0; b < 4; b++)
            to[4 * i + b] = from[b * each + i];
    memcpy(to + 4 * each, from + 4 * each, size - 4 * each);
}

/* ---- Rounded to eight bits ---- */

enum { GROUP = 32, GROUP_BYTES = sizeof(float) + GROUP };

static size_t rounded_size(size_t size)
{
    size_t floats = size / sizeof(float);
    return (floats + GROUP - 1) / GROUP * GROUP_BYTES;
}

static float largest(const float *x, size_t count)
{
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    return isfinite(most) ? most : 0;
}

/* What is no number, which only what nobody reads can be, becomes 0. */
static void round_group(const float *x, size_t count, char *to)
{
    float most = largest(x, count), scale = most / 127;
    signed char *out = (signed char *)to + sizeof scale;
    memcpy(to, &scale, sizeof scale);
    memset(out, 0, GROUP);
    for (size_t i = 0; i < count && scale > 0; i++)
        if (isfinite(x[i]))
            out[i] = (signed char)lrintf(x[i] / scale);
}

static void round_all(const float *x, size_t floats, char *to)
{
    for (size_t i = 0; i < floats; i += GROUP, to += GROUP_BYTES)
        round_group(x + i, floats - i < GROUP ? floats - i : GROUP, to);
}

static void widen_all(const char *from, size_t floats, float *ret)
{
    for (size_t i = 0; i < floats; i += GROUP, from += GROUP_BYTES) {
        const signed char *x = (const signed char *)from + sizeof(float);
        float scale;
        memcpy(&scale, from, sizeof scale);
        for (size_t k = 0; k < GROUP && i + k < floats; k++)
            ret[i + k] = scale * (float)x[k];
    }
}

/* ---- Packed ---- */

static void lay_out(const void *pages, size_t size, bool rounded, void *to)
{
    if (rounded)
        round_all(pages, size / sizeof(float), to);
    else
        split(pages, size, to);
}

static int pack(const void *pages, size_t plain, bool rounded, struct buf *ret,
                struct err *err)
{
    size_t size = rounded ? rounded_size(plain) : plain;
    unsigned char *planes = malloc(size + 1);
    if (!planes)
        return err_set(err, ERR_LIMIT, "no memory for a prompt's file");
    lay_out(pages, plain, rounded, planes);
    buf_reserve(ret, ZSTD_compressBound(size));
    size_t packed =
        ZSTD_compress(ret->data, ret->capacity, planes, size, LEVEL);
    free(planes);
    if (ZSTD_isError(packed))
        return err_set(err, ERR_LIMIT, "zstd: %s", ZSTD_getErrorName(packed));
    ret->size = packed;
    return 0;
}

int piece_body(const struct piece_header *header, struct slice body, void *ret,
               struct err *err)
{
    if (body.size != header->packed ||
        !hash_equal(hash_bytes(body.data, body.size), header->body))
        return err_set(err, ERR_FORMAT, "a prompt's file is damaged");
    size_t laid_out =
        header->rounded ? rounded_size(header->plain) : header->plain;
    unsigned char *planes = malloc(laid_out + 1);
    if (!planes)
        return err_set(err, ERR_LIMIT, "no memory for a prompt's file");
    size_t size = ZSTD_decompress(planes, laid_out, body.data, body.size);
    bool whole = size == laid_out;
    if (whole && header->rounded)
        widen_all((const char *)planes, header->plain / sizeof(float), ret);
    else if (whole)
        join(planes, size, ret);
    free(planes);
    return whole ? 0 : err_set(err, ERR_FORMAT, "a prompt's file is damaged");
}

/* ---- The header ---- */

int piece_encode(const struct prompt_piece *piece,
                 const struct prompt_section *sections, size_t count,
                 const void *pages, size_t size, struct buf *ret,
                 struct err *err)
{
    struct buf header = {0}, body = {0};
    int code = count > PIECE_MAX_SECTIONS || piece->count > PIECE_MAX_IDS
                   ? err_set(err, ERR_LIMIT, "a prompt of too many sections")
                   : pack(pages, size, piece->rounded, &body, err);
    if (code)
        return code;
    buf_put_varint(&header, piece->rounded);
    buf_put_varint(&header, piece->count);
    buf_put_varint(&header, size);
    buf_put_varint(&header, body.size);
    put_hash(&header, hash_bytes(body.data, body.size));
    for (size_t i = 0; i < piece->count; i++)
        buf_put_varint(&header, (uint64_t)piece->ids[i]);
    buf_put_varint(&header, count);
    for (size_t i = 0; i < count; i++) {
        buf_put_varint(&header, sections[i].node);
        put_hash(&header, sections[i].own);
    }
    buf_put(ret, magic, sizeof magic);
    for (int i = 0; i < 4; i++)
        buf_put_byte(ret, (int)(header.size >> 8 * i & 255));
    put_hash(ret, hash_bytes(header.data, header.size));
    buf_put_slice(ret, buf_slice(&header));
    buf_put_slice(ret, buf_slice(&body));
    buf_free(&header);
    buf_free(&body);
    return 0;
}

static struct hash128 take_hash(struct reader *reader)
{
    const unsigned char *bytes = read_bytes(reader, 16);
    return bytes ? hash_read(bytes) : (struct hash128){0};
}

static void take_ids(struct reader *reader, struct piece_header *ret)
{
    ret->ids = mem_alloc((ret->count + 1) * sizeof *ret->ids);
    for (size_t i = 0; i < ret->count && !reader->failed; i++)
        ret->ids[i] = (int32_t)read_u32(reader);
}

static void take_sections(struct reader *reader, struct piece_header *ret)
{
    ret->section_count = read_count(reader, 17);
    ret->sections = mem_alloc((ret->section_count + 1) * sizeof *ret->sections);
    for (size_t i = 0; i < ret->section_count && !reader->failed; i++) {
        ret->sections[i].node = read_varint(reader);
        ret->sections[i].own = take_hash(reader);
    }
}

/* The header's bytes in a file; size 0: it is none. */
static struct slice header_of(struct slice file)
{
    const unsigned char *head = (const unsigned char *)file.data;
    const struct slice none = {NULL, 0};
    if (file.size < HEAD || memcmp(head, magic, sizeof magic) != 0)
        return none;
    const unsigned char *length = head + sizeof magic;
    size_t size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
                  (size_t)length[3] << 24;
    if (size > MAX_HEADER || size > file.size - HEAD)
        return none;
    struct slice header = {file.data + HEAD, size};
    struct hash128 said = hash_read(length + 4);
    return hash_equal(hash_bytes(header.data, size), said) ? header : none;
}

int piece_header(struct slice file, struct piece_header *ret, size_t *ret_at,
                 struct err *err)
{
    struct slice header = header_of(file);
    struct reader reader = reader_of(header.data, header.size);
    *ret = (struct piece_header){0};
    if (!header.size)
        return err_set(err, ERR_FORMAT, "a prompt's file is damaged");
    ret->rounded = read_varint(&reader);
    ret->count = read_count(&reader, 1);
    ret->plain = read_varint(&reader);
    ret->packed = read_varint(&reader);
    ret->body = take_hash(&reader);
    take_ids(&reader, ret);
    take_sections(&reader, ret);
    *ret_at = HEAD + header.size;
    if (!reader.failed && reader.at == reader.size && ret->plain <= max_plain)
        return 0;
    piece_header_free(ret);
    return err_set(err, ERR_FORMAT, "a prompt's file is damaged");
}
