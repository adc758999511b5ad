/* The blob, little-endian: u32 bytes of the double array, its units of u32,
 * then the replacements, each ended by a NUL.  A unit (darts-clone):
 *
 *     bit 31      a value: the other bits are it
 *     bits 0-7    label            (with bit 31: of a leaf, none)
 *     bit 8       it has a leaf
 *     bit 9       the offset is times 256
 *     bits 10-30  offset to the children, by exclusive or */
#include "model/tokenizer/charsmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct charsmap {
    uint32_t *units;
    size_t unit_count;
    struct buf bytes; /* the whole blob; `texts` lie in it */
    struct slice texts;
};

static int base64_value(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool decode_base64(struct slice in, struct buf *out)
{
    uint32_t held = 0;
    int bits = 0;
    while (in.size && in.data[in.size - 1] == '=')
        in.size--;
    for (size_t i = 0; i < in.size; i++) {
        int value = base64_value(in.data[i]);
        if (value < 0)
            return false;
        held = held << 6 | (uint32_t)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            buf_put_byte(out, (int)(held >> bits & 255));
        }
    }
    return true;
}

static uint32_t u32_at(const struct buf *bytes, size_t at)
{
    uint32_t value = 0;
    for (size_t i = 4; i > 0; i--)
        value = value << 8 | (unsigned char)bytes->data[at + i - 1];
    return value;
}

static int check_texts(struct slice texts, struct err *err)
{
    for (size_t at = 0, size; at < texts.size; at += size + 1) {
        size = strnlen(texts.data + at, texts.size - at);
        if (size > CHARSMAP_MAX_TEXT)
            return err_set(err, ERR_LIMIT,
                           "the precompiled_charsmap replaces something by "
                           "more than %d bytes",
                           CHARSMAP_MAX_TEXT);
    }
    return 0;
}

static int take(struct charsmap *map, struct err *err)
{
    const struct buf *b = &map->bytes;
    size_t size = b->size >= 4 ? u32_at(b, 0) : SIZE_MAX;
    if (b->size < 4 || size > b->size - 4 || size % 4 || !size)
        return err_set(err, ERR_FORMAT,
                       "the precompiled_charsmap is cut off or damaged");
    map->unit_count = size / 4;
    map->units = mem_alloc(size);
    for (size_t i = 0; i < map->unit_count; i++)
        map->units[i] = u32_at(b, 4 + 4 * i);
    map->texts = (struct slice){b->data + 4 + size, b->size - 4 - size};
    return check_texts(map->texts, err);
}

int charsmap_from_bytes(struct slice bytes, struct charsmap **ret,
                        struct err *err)
{
    struct charsmap *map = mem_alloc(sizeof *map);
    buf_put_slice(&map->bytes, bytes);
    int code = take(map, err);
    if (code)
        charsmap_free(map);
    else
        *ret = map;
    return code;
}

int charsmap_from(struct slice base64, struct charsmap **ret, struct err *err)
{
    struct buf bytes = {0};
    int code = decode_base64(base64, &bytes)
                   ? charsmap_from_bytes(buf_slice(&bytes), ret, err)
                   : err_set(err, ERR_FORMAT,
                             "the precompiled_charsmap is not base64");
    buf_free(&bytes);
    return code;
}

void charsmap_free(struct charsmap *map)
{
    if (!map)
        return;
    free(map->units);
    buf_free(&map->bytes);
    free(map);
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200u) >> 6);
}

/* The replacement of the shortest string that `text` begins with, as the
 * reference takes it. */
bool charsmap_find(const struct charsmap *map, struct slice text,
                   struct slice *ret)
{
    size_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        at ^= byte;
        if (!byte || at >= map->unit_count)
            return false;
        uint32_t unit = map->units[at];
        if ((unit & 0x800000FFu) != byte)
            return false;
        at ^= offset_of(unit);
        if (!(unit & 0x100u))
            continue;
        if (at >= map->unit_count)
            return false;
        size_t from = map->units[at] & 0x7FFFFFFFu;
        if (from >= map->texts.size)
            return false;
        const char *start = map->texts.data + from;
        *ret = (struct slice){start, strnlen(start, map->texts.size - from)};
        return true;
    }
    return false;
}
