#include "model/chat/template_strings_internal.h"

#include <utf8proc.h>

#include "base/text.h"
#include "model/chat/template_run_internal.h"

bool string_is_space(uint32_t code_point)
{
    struct buf text = {0};
    if (code_point < 0x80)
        return code_point == ' ' || (code_point >= 9 && code_point <= 13) ||
               (code_point >= 0x1C && code_point <= 0x1F);
    text_encode(&text, code_point);
    bool space = text_space(text.data, text.size, 0) > 0;
    buf_free(&text);
    return space;
}

size_t string_step(struct slice text, size_t at)
{
    size_t size;
    text_decode(text.data, text.size, at, &size);
    return size;
}

size_t string_length(struct slice text)
{
    size_t length = 0;
    for (size_t at = 0; at < text.size; at++)
        length += ((unsigned char)text.data[at] & 0xC0) != 0x80;
    return length;
}

size_t string_offset(struct slice text, size_t count)
{
    size_t at = 0;
    for (; count && at < text.size; count--)
        at += string_step(text, at);
    return at;
}

/* ---- Stripping ---- */

/* Where the character before `end` begins. */
static size_t step_back(struct slice text, size_t end)
{
    return text_begin(text.data, end - 1);
}

/* Is the character at `at` one of `set`, or a space when there is no set? */
static bool in_set(struct slice text, size_t at, const struct slice *set)
{
    size_t size, member;
    uint32_t code = text_decode(text.data, text.size, at, &size);
    if (!set)
        return string_is_space(code);
    for (size_t i = 0; i < set->size; i += member)
        if (text_decode(set->data, set->size, i, &member) == code)
            return true;
    return false;
}

static struct slice strip(struct slice text, const struct slice *set, bool left,
                          bool right)
{
    size_t from = 0, to = text.size;
    while (left && from < to && in_set(text, from, set))
        from += string_step(text, from);
    while (right && to > from && in_set(text, step_back(text, to), set))
        to = step_back(text, to);
    return (struct slice){text.data + from, to - from};
}

struct slice string_strip_left(struct slice text)
{
    return strip(text, NULL, true, false);
}

struct slice string_strip_right(struct slice text)
{
    return strip(text, NULL, false, true);
}

struct slice string_strip(struct slice text)
{
    return strip(text, NULL, true, true);
}

struct slice string_strip_set(struct slice text, struct slice set, bool left,
                              bool right)
{
    return strip(text, &set, left, right);
}

/* ---- Finding and replacing ---- */

size_t string_find(struct slice text, struct slice needle)
{
    if (!needle.size)
        return 0;
    const char *found =
        text.size ? memmem(text.data, text.size, needle.data, needle.size)
                  : NULL;
    return found ? (size_t)(found - text.data) : SIZE_MAX;
}

size_t string_find_last(struct slice text, struct slice needle)
{
    for (size_t at = text.size + 1; at-- > 0;) {
        struct slice rest = {text.data + at, text.size - at};
        if (slice_starts(rest, needle))
            return at;
    }
    return SIZE_MAX;
}

bool string_ends(struct slice text, struct slice suffix)
{
    return text.size >= suffix.size &&
           slice_equal(
               (struct slice){text.data + text.size - suffix.size, suffix.size},
               suffix);
}

/* An empty text stands before each character and at the end. */
static void replace_empty(struct run *run, struct buf *out, struct slice text,
                          struct slice new, int64_t count)
{
    size_t at = 0;
    while (count != 0 && at < text.size && !run->failed) {
        size_t size = string_step(text, at);
        run_charge(run, 1);
        run_put(run, out, new);
        run_put(run, out, (struct slice){text.data + at, size});
        at += size;
        count--;
    }
    run_put(run, out, (struct slice){text.data + at, text.size - at});
    if (count != 0)
        run_put(run, out, new);
}

void string_replace(struct run *run, struct buf *out, struct slice text,
                    struct slice old, struct slice new, int64_t count)
{
    size_t found;
    if (!old.size) {
        replace_empty(run, out, text, new, count);
        return;
    }
    while (count != 0 && !run->failed &&
           (found = string_find(text, old)) != SIZE_MAX) {
        run_charge(run, 1);
        run_put(run, out, (struct slice){text.data, found});
        run_put(run, out, new);
        text.data += found + old.size;
        text.size -= found + old.size;
        count--;
    }
    run_put(run, out, text);
}

static bool ends_line(uint32_t code)
{
    return (code >= '\n' && code <= '\r') || (code >= 0x1C && code <= 0x1E) ||
           code == 0x85 || code == 0x2028 || code == 0x2029;
}

size_t string_line(struct slice text, size_t *ret_next)
{
    size_t at = 0, size = 0;
    while (at < text.size &&
           !ends_line(text_decode(text.data, text.size, at, &size)))
        at += size;
    *ret_next = at < text.size ? at + size : at;
    if (at + 1 < text.size && text.data[at] == '\r' &&
        text.data[at + 1] == '\n')
        ++*ret_next;
    return at;
}

/* ---- Cases ---- */

/* Does Unicode give this character several in another case, or one that depends
 * on what is around? */
static bool has_special_case(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0xDF, 0xDF},     {0x130, 0x130},   {0x149, 0x149},   {0x1F0, 0x1F0},
        {0x390, 0x390},   {0x3A3, 0x3A3},   {0x3B0, 0x3B0},   {0x587, 0x587},
        {0x1E96, 0x1E9A}, {0x1F50, 0x1F56}, {0x1F80, 0x1FFC}, {0xFB00, 0xFB17}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static void put_character(struct run *run, struct buf *out, uint32_t code,
                          enum string_case which)
{
    if (code >= 0x80 && has_special_case(code))
        run_refuse(run, "changing the case of U+%04X", (unsigned)code);
    else if (which == STRING_LOWER)
        text_encode(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
    else if (which == STRING_UPPER)
        text_encode(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)code));
    else
        text_encode(out, (uint32_t)utf8proc_totitle((utf8proc_int32_t)code));
}

void string_put_case(struct run *run, struct buf *out, struct slice text,
                     enum string_case which)
{
    size_t size;
    run_charge(run, text.size / 16);
    for (size_t at = 0; at < text.size && !run->failed; at += size)
        put_character(run, out, text_decode(text.data, text.size, at, &size),
                      which);
}

void string_capitalize(struct run *run, struct buf *out, struct slice text)
{
    size_t first = string_offset(text, 1);
    string_put_case(run, out, (struct slice){text.data, first}, STRING_TITLE);
    string_put_case(run, out,
                    (struct slice){text.data + first, text.size - first},
                    STRING_LOWER);
}

static bool is_cased(uint32_t code)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    return category == UTF8PROC_CATEGORY_LU ||
           category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

void string_title(struct run *run, struct buf *out, struct slice text)
{
    bool inside = false;
    size_t size;
    run_charge(run, text.size / 16);
    for (size_t at = 0; at < text.size && !run->failed; at += size) {
        uint32_t code = text_decode(text.data, text.size, at, &size);
        put_character(run, out, code, inside ? STRING_LOWER : STRING_TITLE);
        inside = is_cased(code);
    }
}
