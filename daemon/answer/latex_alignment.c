#include "daemon/answer/latex_alignment.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

enum {
    MAX_BETWEEN = 60,  /* words of the source between two of the passage */
    MAX_STARTS = 2000, /* places that are tried */
    TRIED_FIRST = 4    /* words of the passage that a try may begin with */
};

struct word {
    uint64_t hash;
    size_t from, to;
};

struct words {
    struct word *items; /* [count] */
    size_t count, capacity;
};

static bool is_part(uint32_t c)
{
    return text_is_letter(c) || text_is_digit(c);
}

static void split(struct slice text, struct words *ret)
{
    for (size_t at = 0, step; at < text.size; at += step) {
        size_t from = at;
        uint32_t c = text_decode(text.data, text.size, at, &step);
        if (!is_part(c))
            continue;
        while (at + step < text.size) {
            size_t next;
            if (!is_part(text_decode(text.data, text.size, at + step, &next)))
                break;
            step += next;
        }
        MEM_RESERVE(ret->items, &ret->capacity, ret->count + 1);
        ret->items[ret->count++] = (struct word){
            hash_bytes64(text.data + from, step), from, from + step};
    }
}

struct match {
    size_t words;       /* of the passage that are there */
    size_t first, last; /* of the source's */
};

/* Goes on from word `at` of the source, which is word `from` of the passage;
 * met (NULL: not asked): [wanted->count] which are there. */
static struct match follow(const struct words *source,
                           const struct words *wanted, size_t at, size_t from,
                           bool *met)
{
    struct match match = {0, at, at};
    for (size_t w = from; w < wanted->count; w++) {
        size_t end = at + MAX_BETWEEN, s = at;
        if (end > source->count)
            end = source->count;
        while (s < end && source->items[s].hash != wanted->items[w].hash)
            s++;
        if (s == end)
            continue;
        if (met)
            met[w] = true;
        match.words++;
        match.last = s;
        at = s + 1;
    }
    return match;
}

static bool is_better(const struct match *a, const struct match *b)
{
    if (a->words != b->words)
        return a->words > b->words;
    return a->last - a->first < b->last - b->first;
}

static bool find_best(const struct words *source, const struct words *wanted,
                      struct match *ret, size_t *ret_from)
{
    bool any = false;
    size_t starts = 0;
    for (size_t w = 0; w < wanted->count && w < TRIED_FIRST; w++)
        for (size_t s = 0; s < source->count && starts < MAX_STARTS; s++) {
            if (source->items[s].hash != wanted->items[w].hash)
                continue;
            struct match match = follow(source, wanted, s, w, NULL);
            starts++;
            if (!any || is_better(&match, ret)) {
                *ret = match;
                *ret_from = w;
            }
            any = true;
        }
    return any;
}

static void note_made(const struct words *wanted, const bool *met,
                      struct buf *ret)
{
    for (size_t w = 0; w < wanted->count; w++) {
        if (met[w])
            continue;
        size_t range[2] = {wanted->items[w].from, wanted->items[w].to};
        while (w + 1 < wanted->count && !met[w + 1])
            range[1] = wanted->items[++w].to;
        buf_put(ret, range, sizeof range);
    }
}

static bool is_digits(struct slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at == text.size;
}

/* "7" and "0" of "7-0: CLKDIV": where a field of a box lies, which is counted by its
 * widths and written nowhere. */
static bool is_position(struct slice text, const struct word *word)
{
    size_t at = word->to;
    if (!is_digits(
            (struct slice){text.data + word->from, word->to - word->from}))
        return false;
    if (at < text.size && text.data[at] == '-')
        for (at++;
             at < text.size && text.data[at] >= '0' && text.data[at] <= '9';)
            at++;
    return at + 1 < text.size && text.data[at] == ':' &&
           text.data[at + 1] == ' ';
}

/* Are half of the words there that may be? */
static bool is_enough(struct slice wanted, const struct words *words,
                      const bool *met)
{
    size_t all = 0, there = 0;
    for (size_t w = 0; w < words->count; w++) {
        if (is_position(wanted, &words->items[w]))
            continue;
        all++;
        there += met[w];
    }
    return there && 2 * there >= all;
}

bool latex_align_find(struct slice source, const struct text_place *places,
                      struct slice wanted, struct span *ret_span,
                      struct buf *ret_made)
{
    struct words typed = {0}, passage = {0};
    struct match match = {0};
    size_t from = 0;
    split(source, &typed);
    split(wanted, &passage);
    bool *met = mem_alloc((passage.count + 1) * sizeof *met);
    bool found = find_best(&typed, &passage, &match, &from);
    if (found) {
        follow(&typed, &passage, match.first, from, met);
        found = is_enough(wanted, &passage, met);
    }
    if (found) {
        note_made(&passage, met, ret_made);
        *ret_span = (struct span){places[typed.items[match.first].from].from,
                                  places[typed.items[match.last].to - 1].to};
    }
    free(met);
    free(typed.items);
    free(passage.items);
    return found;
}
