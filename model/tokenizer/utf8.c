#include "model/tokenizer/utf8.h"

#include <stdint.h>

/* What the second byte may be, after each first byte of a longer sequence. */
static size_t expect(unsigned char first, unsigned char *low,
                     unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF) {
        *low = first == 0xE0 ? 0xA0 : 0x80;
        *high = first == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        *low = first == 0xF0 ? 0x90 : 0x80;
        *high = first == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

size_t utf8_step(const char *text, size_t size, size_t at,
                 enum utf8_kind *ret_kind)
{
    const unsigned char *p = (const unsigned char *)text + at;
    unsigned char low, high;
    *ret_kind = UTF8_WELL;
    if (*p < 0x80)
        return 1;
    size_t want = expect(*p, &low, &high), have = 1;
    *ret_kind = UTF8_ILL;
    if (!want)
        return 1;
    while (have < want) {
        if (at + have == size) {
            *ret_kind = UTF8_CUT;
            return have;
        }
        if (p[have] < low || p[have] > high)
            return have;
        have++;
        low = 0x80;
        high = 0xBF;
    }
    *ret_kind = UTF8_WELL;
    return have;
}

/* First byte at or after `at` that is not ASCII. */
static size_t skip_ascii(struct slice text, size_t at)
{
    uint64_t eight;
    while (text.size - at >= sizeof eight) {
        memcpy(&eight, text.data + at, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
        at += sizeof eight;
    }
    while (at < text.size && (unsigned char)text.data[at] < 0x80)
        at++;
    return at;
}

static size_t well_from(struct slice text, size_t at)
{
    while ((at = skip_ascii(text, at)) < text.size) {
        enum utf8_kind kind;
        size_t step = utf8_step(text.data, text.size, at, &kind);
        if (kind != UTF8_WELL)
            break;
        at += step;
    }
    return at;
}

size_t utf8_well(struct slice text)
{
    return well_from(text, 0);
}

void utf8_repair(struct buf *buf, struct slice text)
{
    size_t at = 0;
    while (at < text.size) {
        size_t well = well_from(text, at);
        buf_put(buf, text.data + at, well - at);
        at = well;
        if (at == text.size)
            break;
        enum utf8_kind kind;
        at += utf8_step(text.data, text.size, at, &kind);
        buf_put_text(buf, "\xEF\xBF\xBD");
    }
    buf_put(buf, "", 0);
}
