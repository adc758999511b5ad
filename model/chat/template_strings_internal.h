/* Python's str, on UTF-8: lengths and indices are of characters. */
#ifndef MODEL_CHAT_TEMPLATE_STRINGS_INTERNAL_H
#define MODEL_CHAT_TEMPLATE_STRINGS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct run;

/* str.isspace() of one character; adds U+001C to U+001F to text_space. */
bool string_is_space(uint32_t code_point);

size_t string_length(struct slice text);
/* Bytes of the first `count` characters, or of all. */
size_t string_offset(struct slice text, size_t count);
/* Bytes of the character at a byte. */
size_t string_step(struct slice text, size_t at);

struct slice string_strip_left(struct slice text);
struct slice string_strip_right(struct slice text);
struct slice string_strip(struct slice text);
/* Without the characters of `set` at its ends. */
struct slice string_strip_set(struct slice text, struct slice set, bool left,
                              bool right);

/* Where `needle` stands first, or last; SIZE_MAX: nowhere. */
size_t string_find(struct slice text, struct slice needle);
size_t string_find_last(struct slice text, struct slice needle);
bool string_ends(struct slice text, struct slice suffix);

/* Bytes of the first line, without what ends it; of both through ret_next.  Lines
 * end as for str.splitlines(). */
size_t string_line(struct slice text, size_t *ret_next);

/* replace(), of the first `count` places, below 0: of all. */
void string_replace(struct run *run, struct buf *out, struct slice text,
                    struct slice old, struct slice new, int64_t count);

/* upper(), lower(), and one of them for each letter: title() makes the first
 * letter of each run of letters a capital.  Characters whose other case is
 * several characters are refused. */
enum string_case { STRING_UPPER, STRING_LOWER, STRING_TITLE };
void string_put_case(struct run *run, struct buf *out, struct slice text,
                     enum string_case which);
/* The first character as a title's, the rest lower. */
void string_capitalize(struct run *run, struct buf *out, struct slice text);
void string_title(struct run *run, struct buf *out, struct slice text);

#endif
