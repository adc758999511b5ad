#include "daemon/answer/quote_drawn.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { DRAWS_POWERS = 1, DRAWS_FORMULAS = 2 };

struct drawn {
    struct slice bytes, text, wanted;
    const struct text_place *places;
};

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n';
}

/* What an element of this name draws. */
static int draws(struct slice name)
{
    static const char *const formulas[] = {
        "math", "mi",    "mn",     "mo",      "mrow",       "mstyle",
        "msup", "msub",  "mtext",  "msubsup", "mfrac",      "msqrt",
        "ms",   "mover", "munder", "mtd",     "munderover", "mpadded"};
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        if (name.size == strlen(formulas[i]) &&
            !strncasecmp(name.data, formulas[i], name.size))
            return DRAWS_FORMULAS | DRAWS_POWERS;
    bool power =
        (name.size == 3 && !strncasecmp(name.data, "sup", 3)) ||
        (name.size == 11 && !strncasecmp(name.data, "superscript", 11));
    return power ? DRAWS_POWERS : 0;
}

/* What the tags in [from, to) draw. */
static int draws_between(const struct drawn *d, size_t from, size_t to)
{
    int all = 0;
    for (size_t at = from; at < to && at < d->bytes.size; at++) {
        if (d->bytes.data[at] != '<')
            continue;
        size_t name = at + 1, end;
        name += name < to && d->bytes.data[name] == '/';
        for (end = name; end < to && is_letter(d->bytes.data[end]);)
            end++;
        if (end < to && d->bytes.data[end] == ':') /* a prefix */
            for (name = ++end; end < to && is_letter(d->bytes.data[end]);)
                end++;
        all |= draws((struct slice){d->bytes.data + name, end - name});
    }
    return all;
}

/* What is drawn between the character before `at`, with white space behind it, and the
 * next. */
static int draws_at(const struct drawn *d, size_t at)
{
    size_t beyond = text_skip_space(d->text, at);
    if (!at || beyond >= d->text.size)
        return 0;
    return draws_between(d, d->places[at - 1].to, d->places[beyond].from);
}

/* Bytes of the sign, 0: it is none. */
static size_t sign_size(struct slice wanted, size_t at)
{
    static const char root[] = "√";
    struct slice rest = {wanted.data + at, wanted.size - at};
    if (slice_starts(rest, slice_of(root)))
        return sizeof root - 1;
    return rest.data[0] && strchr("^_/()", rest.data[0]) ? 1 : 0;
}

/* May the sign stand before `at`?  The file's part begins and ends with text, so that what
 * draws a root before all of it, or a bracket behind, is not in it. */
static bool is_drawn(const struct drawn *d, size_t at, size_t i, size_t signs)
{
    int by = draws_at(d, at);
    char sign = d->wanted.data[i];
    if (by & DRAWS_FORMULAS || (by & DRAWS_POWERS && sign == '^'))
        return true;
    if (!at)
        return sign_size(d->wanted, 0) > 1;
    return sign == ')' && signs && text_skip_space(d->text, at) == d->text.size;
}

static bool has_sign(const struct drawn *d, size_t at, size_t i, size_t size)
{
    return size && d->text.size - at >= size &&
           !memcmp(d->text.data + at, d->wanted.data + i, size);
}

/* The end of what matches at `at`, 0: nothing does. */
static size_t match_at(const struct drawn *d, size_t at)
{
    struct slice text = d->text, wanted = d->wanted;
    size_t signs = 0, size;
    for (size_t i = 0; i < wanted.size; i++) {
        size_t beyond = text_skip_space(text, at);
        size = sign_size(wanted, i);
        if (size && !has_sign(d, at, i, size) && is_drawn(d, at, i, signs)) {
            signs++;
            i += size - 1;
            if (i + 1 < wanted.size && !is_space(wanted.data[i + 1]))
                at = beyond;
            continue;
        }
        if (at >= text.size)
            return 0;
        if (is_space(wanted.data[i])) {
            bool tag = i && !is_space(wanted.data[i - 1]) && at &&
                       d->places[at].from > d->places[at - 1].to;
            if (beyond == at && wanted.data[i] == ' ' && !tag)
                return 0;
            at = beyond;
            continue;
        }
        if (beyond > at && i && is_digit(wanted.data[i - 1]) &&
            is_digit(wanted.data[i]) && draws_at(d, at) & DRAWS_FORMULAS)
            at = beyond; /* digits of one number */
        if (at >= text.size || text.data[at++] != wanted.data[i])
            return 0;
    }
    return signs ? at : 0;
}

/* The first byte that is no sign; '\0': there is none. */
static char first_byte(struct slice wanted)
{
    for (size_t i = 0, size; i < wanted.size; i += size) {
        size = sign_size(wanted, i);
        if (!size)
            return wanted.data[i];
    }
    return '\0';
}

bool quote_find_drawn(struct slice bytes, struct slice text,
                      const struct text_place *places, struct slice wanted,
                      struct span *ret_span)
{
    const struct drawn d = {bytes, text, wanted, places};
    char first = first_byte(wanted);
    if (!first || !draws_between(&d, 0, bytes.size))
        return false;
    for (size_t at = 0, end; at < text.size; at++) {
        char byte = text.data[at];
        if ((byte != first && byte != wanted.data[0]) ||
            !(end = match_at(&d, at)))
            continue;
        *ret_span = (struct span){places[at].from, places[end - 1].to};
        return true;
    }
    return false;
}
