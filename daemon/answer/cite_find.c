/* Where a claim stands in a text, literally or nearly. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/answer/cite.h"
#include "daemon/answer/quote.h"

/* ---- Literally ---- */

static uint32_t character(struct slice text, size_t at, bool any_case,
                          size_t *ret_step)
{
    uint32_t c = text_decode(text.data, text.size, at, ret_step);
    return any_case ? text_lower(c) : c;
}

/* The end of what matches at `at`, 0: nothing does. */
static size_t match_at(struct slice text, size_t at, struct slice wanted,
                       bool any_case)
{
    size_t w = 0, step, wanted_step;
    while (w < wanted.size) {
        if (at >= text.size)
            return 0;
        if (wanted.data[w] == ' ') {
            size_t next = text_skip_space(text, at);
            if (next == at)
                return 0;
            at = next;
            w++;
            continue;
        }
        if (character(text, at, any_case, &step) !=
            character(wanted, w, any_case, &wanted_step))
            return 0;
        at += step;
        w += wanted_step;
    }
    return at;
}

static bool is_word(uint32_t c)
{
    return text_is_letter(c) || text_is_digit(c) || c == '_';
}

/* 0 at the end of the text. */
static uint32_t character_at(struct slice text, size_t at)
{
    size_t step;
    return at < text.size ? text_decode(text.data, text.size, at, &step) : 0;
}

/* Where the character before `at` starts. */
static size_t step_back(struct slice text, size_t at)
{
    return at ? text_begin(text.data, at - 1) : 0;
}

static uint32_t character_before(struct slice text, size_t at)
{
    return at ? character_at(text, step_back(text, at)) : 0;
}

static bool is_hyphen(uint32_t c)
{
    return c == '-' || c == 0x2010 || c == 0x2011 || c == 0x2212;
}

/* Whether `sign`, between the two, makes one word of them: "read-only",
 * "can't", "1.5"; also "-1" after anything. */
static bool joins(uint32_t before, uint32_t sign, uint32_t after)
{
    if (is_hyphen(sign))
        return is_word(after);
    if (sign == '.' || sign == ',')
        return text_is_digit(before) && text_is_digit(after);
    return (sign == '\'' || sign == 0x2019) && is_word(before) &&
           is_word(after);
}

/* False inside a word. */
static bool is_edge(struct slice text, size_t at)
{
    uint32_t before = character_before(text, at);
    uint32_t after = character_at(text, at);
    size_t step = 0;
    if (is_word(before) && is_word(after))
        return false;
    if (is_word(after))
        return !joins(character_before(text, step_back(text, at)), before,
                      after);
    if (!is_word(before) || !after)
        return true;
    text_decode(text.data, text.size, at, &step);
    return !joins(before, after, character_at(text, at + step));
}

bool cite_find(struct slice text, struct slice wanted, bool any_case,
               struct slice *ret_place)
{
    size_t step;
    if (!wanted.size)
        return false;
    for (size_t at = 0; at < text.size; at += step) {
        size_t end = match_at(text, at, wanted, any_case);
        if (end && is_edge(text, at) && is_edge(text, end)) {
            *ret_place = (struct slice){text.data + at, end - at};
            return true;
        }
        text_decode(text.data, text.size, at, &step);
    }
    return false;
}

/* The part of text [at, end) that is in [from, to), without spaces around. */
static struct slice overlap(struct slice text, size_t at, size_t end,
                            size_t from, size_t to)
{
    at = at > from ? at : from;
    end = end < to ? end : to;
    while (at < end && text.data[at] == ' ')
        at++;
    while (end > at && text.data[end - 1] == ' ')
        end--;
    return (struct slice){text.data + at, end > at ? end - at : 0};
}

bool cite_find_across(const struct cite_source *source, struct slice wanted,
                      const struct block **ret_block, struct slice *ret_place)
{
    struct buf whole = {0};
    struct slice found, best = {0};
    size_t *ends = mem_alloc((source->count + 1) * sizeof *ends);
    size_t chosen = 0;
    for (size_t b = 0; b < source->count; b++) {
        text_fold_space(&whole, source->blocks[b].text);
        buf_put_byte(&whole, ' ');
        ends[b] = whole.size;
    }
    struct slice text = buf_slice(&whole);
    bool any = cite_find(text, wanted, false, &found);
    size_t at = any ? (size_t)(found.data - text.data) : 0;
    for (size_t b = 0; b < source->count && any; b++) {
        struct slice part =
            overlap(text, at, at + found.size, b ? ends[b - 1] : 0, ends[b]);
        if (part.size > best.size) {
            best = part;
            chosen = b;
        }
    }
    any = best.size &&
          cite_find(source->blocks[chosen].text, best, false, ret_place);
    if (any)
        *ret_block = &source->blocks[chosen];
    buf_free(&whole);
    free(ends);
    return any;
}

/* ---- Nearly ---- */

enum { MAX_WORDS = 512 };
static const double NEAR = 0.8;

struct words {
    uint64_t items[MAX_WORDS]; /* hashes of the folded words */
    size_t count;
};

/* False: too many. */
static bool split(struct slice text, struct words *ret)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    struct slice rest = buf_slice(&folded);
    bool fits = true;
    ret->count = 0;
    while (rest.size && fits) {
        const char *end = memchr(rest.data, ' ', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        fits = ret->count < MAX_WORDS;
        if (fits)
            ret->items[ret->count++] = hash_bytes64(rest.data, size);
        size += end != NULL;
        rest = (struct slice){rest.data + size, rest.size - size};
    }
    buf_free(&folded);
    return fits && ret->count;
}

/* Of the longest common subsequence: twice its length over both lengths. */
static double likeness(const struct words *a, const struct words *b)
{
    size_t row[MAX_WORDS + 1] = {0};
    size_t fewer = a->count < b->count ? a->count : b->count;
    if (!(2.0 * (double)fewer / (double)(a->count + b->count) >= NEAR))
        return 0;
    for (size_t i = 0; i < a->count; i++) {
        size_t diagonal = 0;
        for (size_t j = 0; j < b->count; j++) {
            size_t above = row[j + 1];
            size_t longer = above > row[j] ? above : row[j];
            row[j + 1] = a->items[i] == b->items[j] ? diagonal + 1 : longer;
            diagonal = above;
        }
    }
    return 2.0 * (double)row[b->count] / (double)(a->count + b->count);
}

static size_t count_parts(struct slice text)
{
    size_t count = 0;
    for (size_t at = text_skip_space(text, 0); at < text.size; count++)
        at = text_skip_space(text, quote_part_end(text, at));
    return count;
}

/* The end of so many sentences, cells or lines; 0: there are fewer. */
static size_t parts_end(struct slice text, size_t at, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (at >= text.size)
            return 0;
        end = quote_part_end(text, at);
        at = text_skip_space(text, end);
    }
    return end;
}

bool cite_find_near(const struct cite_source *source, struct slice wanted,
                    const struct block **ret_block, struct slice *ret_place,
                    bool *ret_agrees)
{
    struct words claim, part;
    double best = 0;
    bool agrees = false;
    size_t parts = count_parts(wanted);
    if (!split(wanted, &claim))
        return false;
    for (size_t b = 0; b < source->count; b++) {
        struct slice text = source->blocks[b].text;
        for (size_t at = text_skip_space(text, 0), end;
             (end = parts_end(text, at, parts));
             at = text_skip_space(text, quote_part_end(text, at))) {
            struct slice piece = {text.data + at, end - at};
            double like = split(piece, &part) ? likeness(&claim, &part) : 0;
            if (like < NEAR || like < best || (agrees && !(like > best)))
                continue;
            bool same = cite_agrees(wanted, piece);
            if (!same && !(like > best))
                continue;
            agrees = same;
            best = like;
            *ret_block = &source->blocks[b];
            *ret_place = piece;
        }
    }
    *ret_agrees = agrees;
    return best >= NEAR;
}
