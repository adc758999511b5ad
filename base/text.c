#include "base/text.h"

#include <utf8proc.h>

uint32_t text_decode_wide(const char *text, size_t size, size_t at,
                          size_t *ret_size)
{
    const unsigned char *p = (const unsigned char *)text + at;
    utf8proc_int32_t code;
    utf8proc_ssize_t n =
        utf8proc_iterate(p, (utf8proc_ssize_t)(size - at), &code);
    if (n <= 0) {
        *ret_size = 1;
        return 0xFFFD;
    }
    *ret_size = (size_t)n;
    return (uint32_t)code;
}

void text_encode(struct buf *buf, uint32_t code_point)
{
    utf8proc_uint8_t bytes[4];
    if (code_point < 0x80) {
        buf_put_byte(buf, (int)code_point);
        return;
    }
    if (!utf8proc_codepoint_valid((utf8proc_int32_t)code_point))
        code_point = 0xFFFD;
    utf8proc_ssize_t n =
        utf8proc_encode_char((utf8proc_int32_t)code_point, bytes);
    buf_put(buf, bytes, (size_t)n);
}

size_t text_ascii_run(const char *text, size_t size, size_t at)
{
    size_t start = at;
    for (uint64_t eight; size - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < size && !(text[at] & 0x80))
        at++;
    return at - start;
}

bool text_is_utf8(const char *text, size_t size)
{
    for (size_t at = 0, step; at < size; at += step) {
        at += text_ascii_run(text, size, at);
        if (at == size)
            break;
        if (text_decode(text, size, at, &step) == 0xFFFD && step == 1)
            return false;
    }
    return true;
}

void text_put_utf8(struct buf *buf, struct slice text, size_t max)
{
    size_t start = buf->size;
    for (size_t at = 0, step; at < text.size; at += step) {
        size_t before = buf->size;
        text_encode(buf, text_decode(text.data, text.size, at, &step));
        if (buf->size - start > max) {
            buf->size = before;
            buf->data[before] = '\0';
            return;
        }
    }
}

size_t text_space_wide(const char *text, size_t size, size_t at)
{
    unsigned char byte = (unsigned char)text[at];
    if (byte != 0xC2 && byte != 0xE1 && byte != 0xE2 && byte != 0xE3)
        return 0;
    size_t step;
    uint32_t c = text_decode(text, size, at, &step);
    bool space = c == 0x85 || c == 0xA0 || c == 0x1680 ||
                 (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
                 c == 0x202F || c == 0x205F || c == 0x3000;
    return space ? step : 0;
}

size_t text_skip_space(struct slice text, size_t at)
{
    size_t step;
    while (at < text.size && (step = text_space(text.data, text.size, at)) > 0)
        at += step;
    return at;
}

bool text_is_blank(struct slice text)
{
    return text_skip_space(text, 0) == text.size;
}

bool text_is_one(struct slice text)
{
    size_t step;
    if (!text.size)
        return false;
    text_decode(text.data, text.size, 0, &step);
    return step == text.size;
}

bool text_is_invisible(uint32_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200D) || c == 0x2060 ||
           c == 0xFEFF;
}

const char *text_ligature(uint32_t c)
{
    static const char *const letters[] = {"ff",  "fi", "fl", "ffi",
                                          "ffl", "st", "st"};
    enum { FIRST = 0xFB00 };
    return c >= FIRST && c - FIRST < sizeof letters / sizeof *letters
               ? letters[c - FIRST]
               : NULL;
}

void text_fold_space(struct buf *buf, struct slice text)
{
    size_t start = buf->size;
    bool pending = false;
    buf_reserve(buf, text.size);
    for (size_t at = 0; at < text.size;) {
        size_t space = text_space(text.data, text.size, at);
        if (space) {
            pending = true;
            at += space;
            continue;
        }
        if (pending && buf->size > start)
            buf_put_byte(buf, ' ');
        pending = false;
        size_t step = 1;
        if ((unsigned char)text.data[at] >= 0x80)
            text_decode(text.data, text.size, at, &step);
        buf_put(buf, text.data + at, step);
        at += step;
    }
    buf_put(buf, "", 0);
}

void text_fold_compare(struct buf *buf, struct slice text)
{
    size_t start = buf->size;
    bool pending = false;
    buf_reserve(buf, text.size);
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        if (!text_is_letter(c) && !text_is_digit(c)) {
            pending |= !text_is_invisible(c);
            continue;
        }
        if (pending && buf->size > start)
            buf_put_byte(buf, ' ');
        pending = false;
        text_encode(buf, text_lower(c));
    }
    buf_put(buf, "", 0);
}

void text_put_unmarked(struct buf *buf, struct slice text)
{
    utf8proc_uint8_t *plain = NULL;
    utf8proc_ssize_t size = utf8proc_map(
        (const utf8proc_uint8_t *)text.data, (utf8proc_ssize_t)text.size,
        &plain, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_STRIPMARK);
    if (size >= 0)
        buf_put(buf, plain, (size_t)size);
    else
        buf_put_slice(buf, text);
    buf_put(buf, "", 0);
    free(plain);
}

bool text_is_letter_wide(uint32_t c)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ME;
}

bool text_is_digit_wide(uint32_t c)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool text_is_upper_wide(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LU;
}

uint32_t text_lower_wide(uint32_t c)
{
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}
