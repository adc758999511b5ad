#include "memory/lexical/sought.h"

#include <string.h>

/* The same for both cases of a letter. */
static unsigned set_of(unsigned char c)
{
    return c & (SOUGHT_SETS - 1);
}

/* Two letters that a stem may change into one another: "dying" becomes "die". */
static bool same(unsigned set, unsigned other)
{
    unsigned i = set_of('i'), y = set_of('y');
    return (set == y ? i : set) == (other == y ? i : other);
}

/* A stem begins with the first letters of its word: all but the last, which may be
 * added ("using" becomes "use"), and of three at most. */
void sought_add(struct sought_terms *sought, struct slice term)
{
    bool whole = term.size > 1 && term.data[0] == '=';
    const unsigned char *data = (const unsigned char *)term.data + whole;
    size_t size = term.size - whole;
    uint32_t *sets = whole ? sought->wholes : sought->words, thirds = 0;
    if (!size)
        return;
    for (unsigned s = 0; s < SOUGHT_SETS; s++)
        if (size <= 3 || same(s, set_of(data[2])))
            thirds |= (uint32_t)1 << s;
    for (unsigned first = 0; first < SOUGHT_SETS; first++) {
        if (!same(first, set_of(data[0])))
            continue;
        for (unsigned second = 0; second < SOUGHT_SETS; second++) {
            unsigned place = first * SOUGHT_SETS + second;
            if (size > 1 && !same(second, set_of(data[1])))
                continue;
            sets[place] |= thirds;
            sought->either[place] |= thirds;
        }
    }
}

static inline bool begins_so(const uint32_t *sets, struct slice text)
{
    unsigned char bytes[3] = {0};
    memcpy(bytes, text.data, text.size < 3 ? text.size : 3);
    return sets[set_of(bytes[0]) * SOUGHT_SETS + set_of(bytes[1])] >>
               set_of(bytes[2]) &
           1;
}

/* What is not ASCII may be folded to it. */
static bool may_be(const uint32_t *sets, struct slice text)
{
    for (size_t i = 0; i < text.size && i < 3; i++)
        if ((unsigned char)text.data[i] >= 0x80)
            return true;
    return !text.size || begins_so(sets, text);
}

static bool is_plain(unsigned char c)
{
    return (unsigned)((c | 32) - 'a') < 26 || (unsigned)(c - '0') < 10;
}

size_t sought_next(const struct sought_terms *sought, struct slice text,
                   size_t at)
{
    bool after = false, after_small = false;
    for (; at < text.size; at++) {
        unsigned char c = (unsigned char)text.data[at];
        bool plain = is_plain(c), small = c & 32;
        bool begins = !plain | !after | (!small & after_small); /* a hump */
        after = plain;
        after_small = small;
        if (!begins || c == ' ')
            continue;
        struct slice rest = {text.data + at, text.size - at};
        if (c >= 0x80 || c == '[' || begins_so(sought->either, rest))
            break;
    }
    return at;
}

bool sought_word(const struct sought_terms *sought, struct slice word)
{
    return may_be(sought->words, word);
}

bool sought_whole(const struct sought_terms *sought, struct slice whole)
{
    return may_be(sought->wholes, whole);
}
