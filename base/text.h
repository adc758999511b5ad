/* UTF-8 text as manuals have it. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What is not ASCII, for the functions below. */
uint32_t text_decode_wide(const char *text, size_t size, size_t at,
                          size_t *ret_size);
size_t text_space_wide(const char *text, size_t size, size_t at);
bool text_is_letter_wide(uint32_t code_point);
bool text_is_digit_wide(uint32_t code_point);
bool text_is_upper_wide(uint32_t code_point);
uint32_t text_lower_wide(uint32_t code_point);

/* The code point at `at` (which must be < size) and, through `ret_size`, its
 * bytes; U+FFFD and 1 for an invalid byte. */
static inline uint32_t text_decode(const char *text, size_t size, size_t at,
                                   size_t *ret_size)
{
    unsigned char byte = (unsigned char)text[at];
    if (byte >= 0x80)
        return text_decode_wide(text, size, at, ret_size);
    *ret_size = 1;
    return byte;
}
void text_encode(struct buf *buf, uint32_t code_point);
bool text_is_utf8(const char *text, size_t size);

/* Appends `text` with U+FFFD for each byte that is no UTF-8: whole characters, of
 * at most `max` bytes. */
void text_put_utf8(struct buf *buf, struct slice text, size_t max);

/* Bytes from `at` on that are ASCII. */
size_t text_ascii_run(const char *text, size_t size, size_t at);

/* Bytes of the white space at `at`: ASCII white space, U+0085, U+00A0, U+1680,
 * U+2000..200A, U+2028, U+2029, U+202F, U+205F, U+3000; else 0. */
static inline size_t text_space(const char *text, size_t size, size_t at)
{
    unsigned char byte = (unsigned char)text[at];
    if (byte >= 0x80)
        return text_space_wide(text, size, at);
    return byte == ' ' || (byte >= 9 && byte <= 13);
}

/* Returns the end of the white space that begins at `at`; `at` if there is none. */
size_t text_skip_space(struct slice text, size_t at);

/* A character that a reader does not see and a search must not: soft hyphen,
 * zero-width space and joiners, byte order mark. */
bool text_is_invisible(uint32_t code_point);

/* The letters of a ligature that has a code point of its own, "fi" of U+FB01; NULL: it
 * is none. */
const char *text_ligature(uint32_t code_point);

/* Where the character of UTF-8 begins that byte `at` is of: what is cut there has
 * none in halves.  text[at] is there to be read, also behind the end. */
static inline size_t text_begin(const char *text, size_t at)
{
    while (at && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Is all of it white space? */
bool text_is_blank(struct slice text);

/* Is it one character? */
bool text_is_one(struct slice text);

/* Appends `text` with every run of white space as one space and none at
 * either end. */
void text_fold_space(struct buf *buf, struct slice text);

/* Appends the form in which titles and evidence are compared: case folded,
 * only letters and digits, one space between words, nothing invisible. */
void text_fold_compare(struct buf *buf, struct slice text);

/* Appends `text` without the marks on its letters: "Bezier" for "Bézier". */
void text_put_unmarked(struct buf *buf, struct slice text);

/* Unicode classes that tokenising needs: letters and marks, numbers (Nd, Nl,
 * No), capitals. */
static inline bool text_is_letter(uint32_t c)
{
    return c < 0x80 ? (c | 32) >= 'a' && (c | 32) <= 'z'
                    : text_is_letter_wide(c);
}
static inline bool text_is_digit(uint32_t c)
{
    return c < 0x80 ? c >= '0' && c <= '9' : text_is_digit_wide(c);
}
static inline bool text_is_upper(uint32_t c)
{
    return c < 0x80 ? c >= 'A' && c <= 'Z' : text_is_upper_wide(c);
}
static inline uint32_t text_lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return text_lower_wide(c);
}

#endif
