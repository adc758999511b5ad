#include "memory/lexical/sought.h"

#include <string.h>

/* The same for both cases of a letter, and for two letters that a stem may change into
 * one another: "dying" becomes "die". */
static unsigned set_of(unsigned char c)
{
    unsigned set = c & (SOUGHT_SETS - 1);
    return set == ('y' & (SOUGHT_SETS - 1)) ? 'i' & (SOUGHT_SETS - 1) : set;
}

/* A stem begins with the first letters of its word: all but the last, which may be
 * added ("using" becomes "use"), and of three at most. */
void sought_add(struct sought_terms *sought, struct slice term)
{
    bool whole = term.size > 1 && term.data[0] == '=';
    const unsigned char *data = (const unsigned char *)term.data + whole;
    size_t size = term.size - whole;
    uint32_t *sets = whole ? sought->wholes : sought->words;
    if (!size)
        return;
    uint32_t *thirds = sets + set_of(data[0]) * SOUGHT_SETS;
    for (unsigned s = 0; s < SOUGHT_SETS; s++)
        if (size == 1 || s == set_of(data[1]))
            thirds[s] |= size > 3 ? (uint32_t)1 << set_of(data[2]) : UINT32_MAX;
}

static bool begins_so(const uint32_t *sets, struct slice text)
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

/* May what a run begins with, or what begins in it, be sought?  What is put together
 * anew of a run stands in brackets. */
bool sought_in(const struct sought_terms *sought, struct slice run)
{
    unsigned char before = ' ';
    for (size_t i = 0; i < run.size; i++) {
        unsigned char c = (unsigned char)run.data[i];
        bool begins = !is_plain(c) || !is_plain(before) ||
                      (!(c & 32) && before & 32); /* a hump */
        struct slice rest = {run.data + i, run.size - i};
        if (c >= 0x80 || c == '[')
            return true;
        if (begins &&
            (begins_so(sought->words, rest) || begins_so(sought->wholes, rest)))
            return true;
        before = c;
    }
    return false;
}

bool sought_word(const struct sought_terms *sought, struct slice word)
{
    return may_be(sought->words, word);
}

bool sought_whole(const struct sought_terms *sought, struct slice whole)
{
    return may_be(sought->wholes, whole);
}
