#include "memory/lexical/sought.h"

#include <endian.h>
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

static inline bool has_beginning(const uint32_t *sets,
                                 const unsigned char *bytes)
{
    return sets[set_of(bytes[0]) * SOUGHT_SETS + set_of(bytes[1])] >>
               set_of(bytes[2]) &
           1;
}

static bool begins_so(const uint32_t *sets, struct slice text)
{
    unsigned char bytes[3] = {0};
    memcpy(bytes, text.data, text.size < 3 ? text.size : 3);
    return has_beginning(sets, bytes);
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
    uint8_t letter = (uint8_t)((c | 32) - 'a'), digit = (uint8_t)(c - '0');
    return (letter < 26) | (digit < 10);
}

/* Bytes that are looked at together, so many that vectors of them pay. */
enum { WINDOW = 64 };

/* A bit for each of the bytes but spaces that something may begin at: a sign, the
 * first letter or digit of a run, a hump.  `before`: the byte before them. */
static uint64_t beginnings(const unsigned char *bytes, unsigned char before)
{
    uint8_t plain[1 + WINDOW], small[1 + WINDOW], begins[WINDOW];
    uint64_t all = 0;
    plain[0] = is_plain(before);
    small[0] = before >> 5 & 1;
    for (unsigned i = 0; i < WINDOW; i++) {
        plain[1 + i] = is_plain(bytes[i]);
        small[1 + i] = bytes[i] >> 5 & 1;
    }
    for (unsigned i = 0; i < WINDOW; i++)
        begins[i] = (uint8_t)((1 ^ (plain[1 + i] & plain[i] &
                                    (small[1 + i] | (1 ^ small[i])))) &
                              (bytes[i] != ' '));
    /* The lowest bits of eight bytes, side by side. */
    for (unsigned i = 0; i < WINDOW; i += 8) {
        uint64_t eight;
        memcpy(&eight, begins + i, sizeof eight);
        all |= (le64toh(eight) * 0x0102040810204080 >> 56) << i;
    }
    return all;
}

/* `bytes`: this one and the two behind it; 0 behind the end. */
static inline bool stops_at(const struct sought_terms *sought,
                            const unsigned char *bytes)
{
    return bytes[0] >= 0x80 || bytes[0] == '[' ||
           has_beginning(sought->either, bytes);
}

size_t sought_next(const struct sought_terms *sought, struct slice text,
                   size_t at)
{
    unsigned char before = ' ';
    if (at < text.size && (unsigned char)text.data[at] >= 0x80)
        return at; /* of such texts every byte is a place */
    while (at < text.size) {
        const unsigned char *bytes = (const unsigned char *)text.data + at;
        unsigned char last[WINDOW + 2];
        if (text.size - at < sizeof last) {
            memset(last, 0, sizeof last);
            memcpy(last, bytes, text.size - at);
            bytes = last;
        }
        for (uint64_t left = beginnings(bytes, before); left;
             left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            if (stops_at(sought, bytes + i))
                return at + i < text.size ? at + i : text.size;
        }
        before = bytes[WINDOW - 1];
        at += WINDOW;
    }
    return text.size;
}

bool sought_word(const struct sought_terms *sought, struct slice word)
{
    return may_be(sought->words, word);
}

bool sought_whole(const struct sought_terms *sought, struct slice whole)
{
    return may_be(sought->wholes, whole);
}
