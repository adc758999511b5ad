#include "daemon/answer/cite.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/sentences.h"

static bool is_word(uint32_t c)
{
    return text_is_letter(c) || text_is_digit(c) || c == '_';
}

/* ---- Markers ---- */

enum { MAX_DIGITS = 3 };

/* Bytes of the marker that `text` starts with, 0: it does not; *ret_open: more
 * of the text must come before that can be said. */
static size_t marker(struct slice text, size_t *ret_number, bool *ret_open)
{
    size_t at = 1, number = 0;
    while (at < text.size && at <= MAX_DIGITS && text.data[at] >= '0' &&
           text.data[at] <= '9')
        number = number * 10 + (size_t)(text.data[at++] - '0');
    *ret_open = at == text.size;
    *ret_number = number;
    return at > 1 && at < text.size && text.data[at] == ']' ? at + 1 : 0;
}

/* Behind what a marker may stand. */
static bool may_mark(uint32_t last)
{
    return !is_word(last) && last != ')' && last != ']';
}

static bool is_number(size_t number, size_t sources)
{
    return number && number <= sources;
}

bool cite_has_marker(struct slice text, size_t sources)
{
    uint32_t last = ' ';
    size_t number, step;
    bool open;
    for (size_t at = 0; at < text.size; at += step) {
        struct slice rest = {text.data + at, text.size - at};
        if (rest.data[0] == '[' && may_mark(last) &&
            marker(rest, &number, &open) && is_number(number, sources))
            return true;
        last = text_decode(rest.data, rest.size, 0, &step);
    }
    return false;
}

static void put(struct cite_reader *reader, struct slice text, struct buf *out)
{
    buf_put_slice(out, text);
    reader->put += text.size;
}

static void put_mark(struct cite_reader *reader, size_t named, struct buf *out)
{
    MEM_RESERVE(reader->marks, &reader->capacity, reader->count + 1);
    size_t before = out->size, at = reader->put;
    buf_printf(out, " [%zu]", reader->count + 1);
    reader->put += out->size - before;
    reader->marks[reader->count++] = (struct cite_mark){at, reader->put, named};
    reader->words = false;
}

/* Reads one character or marker at *at, `from` being where the spaces before
 * it start; false: more must come first. */
static bool read_one(struct cite_reader *reader, struct slice held, size_t from,
                     size_t *at, bool ended, struct buf *out)
{
    struct slice rest = {held.data + *at, held.size - *at};
    size_t number, step;
    bool open = false;
    uint32_t last = *at > from ? ' ' : reader->last;
    if (rest.data[0] == '[' && may_mark(last)) {
        size_t size = marker(rest, &number, &open);
        if (open && !ended)
            return false;
        if (size && is_number(number, reader->sources)) {
            if (reader->words)
                put_mark(reader, number, out);
            reader->last = ' ';
            *at += size;
            return true;
        }
    }
    uint32_t c = text_decode(rest.data, rest.size, 0, &step);
    if (reader->put)
        put(reader, (struct slice){held.data + from, *at - from}, out);
    put(reader, (struct slice){rest.data, step}, out);
    reader->words = reader->words || is_word(c);
    reader->last = c;
    *at += step;
    return true;
}

static void read_held(struct cite_reader *reader, bool ended, struct buf *out)
{
    struct slice held = buf_slice(&reader->held);
    size_t at = 0, from = 0, step;
    while (at < held.size) {
        step = text_space(held.data, held.size, at);
        at += step;
        if (step)
            continue;
        if (!read_one(reader, held, from, &at, ended, out))
            break;
        from = at;
    }
    struct buf left = {0};
    buf_put(&left, held.data + from, held.size - from);
    buf_free(&reader->held);
    reader->held = left;
}

void cite_read(struct cite_reader *reader, struct slice piece, struct buf *out)
{
    buf_put_slice(&reader->held, piece);
    read_held(reader, false, out);
}

void cite_read_end(struct cite_reader *reader, struct buf *out)
{
    read_held(reader, true, out);
    buf_free(&reader->held);
}

void cite_reader_free(struct cite_reader *reader)
{
    free(reader->marks);
    buf_free(&reader->held);
    *reader = (struct cite_reader){0};
}

/* ---- Claims ---- */

/* More are not looked for: a model that cites so much has lost its way. */
enum { MAX_CLAIMS = 64 };

const char *cite_status_name(int status)
{
    static const char *const names[] = {[CITE_VERIFIED] = "verified",
                                        [CITE_REPAIRED] = "repaired",
                                        [CITE_UNVERIFIED] = "unverified",
                                        [CITE_STORED] = "stored"};
    return names[status];
}

bool cite_has_words(struct slice text)
{
    size_t step;
    for (size_t at = 0; at < text.size; at += step)
        if (is_word(text_decode(text.data, text.size, at, &step)))
            return true;
    return false;
}

/* The claim in [from, to): without spaces around it and without what still
 * belongs to the sentence before. */
static void trim(struct slice answer, size_t from, size_t to, struct cite *cite)
{
    size_t step = 1;
    while (from < to && (step = text_space(answer.data, to, from)))
        from += step;
    while (from < to && strchr(".,;:)", answer.data[from]))
        from++;
    while (from < to && (step = text_space(answer.data, to, from)))
        from += step;
    cite->at = from;
    cite->end = to;
}

/* A claim's end without a full stop or comma that the source may not have. */
static struct slice without_stop(struct slice wanted)
{
    while (wanted.size && strchr(".,;:", wanted.data[wanted.size - 1]))
        wanted.size--;
    return wanted;
}

static bool find_in(const struct cite_source *source, struct slice wanted,
                    bool any_case, struct cite *cite)
{
    for (size_t b = 0; b < source->count; b++) {
        const struct block *block = &source->blocks[b];
        struct slice place;
        if (!cite_find(block->text, wanted, any_case, &place) ||
            (any_case && !cite_agrees(wanted, place)))
            continue;
        cite->block = block;
        cite->place = place;
        cite->exact = !any_case;
        return true;
    }
    return false;
}

/* In the source that is named, or else in the next that has it. */
static bool find_anywhere(const struct cite_source *sources, size_t count,
                          struct slice wanted, struct cite *cite)
{
    size_t named = cite->source;
    for (size_t i = 0; i < count; i++) {
        size_t s = (named + i) % count;
        if (!find_in(&sources[s], wanted, false, cite) &&
            !find_in(&sources[s], wanted, true, cite))
            continue;
        cite->source = s;
        cite->status =
            s == named && cite->exact ? CITE_VERIFIED : CITE_REPAIRED;
        return true;
    }
    return false;
}

/* Over the borders of blocks, where no quote goes. */
static bool find_across(const struct cite_source *sources, size_t count,
                        struct slice wanted, struct cite *cite)
{
    for (size_t i = 0; i < count; i++) {
        size_t s = (cite->source + i) % count;
        if (!cite_find_across(&sources[s], wanted, &cite->block, &cite->place))
            continue;
        cite->source = s;
        cite->exact = true;
        cite->status = CITE_REPAIRED;
        return true;
    }
    return false;
}

static void check(struct slice claim, const struct cite_source *sources,
                  size_t count, struct cite *cite)
{
    struct buf folded = {0};
    text_fold_space(&folded, claim);
    struct slice wanted = buf_slice(&folded);
    bool agrees;
    if (!find_anywhere(sources, count, wanted, cite) &&
        !find_anywhere(sources, count, without_stop(wanted), cite) &&
        !find_across(sources, count, without_stop(wanted), cite) &&
        cite_find_near(&sources[cite->source], wanted, &cite->block,
                       &cite->place, &agrees) &&
        agrees)
        cite->status = CITE_REPAIRED;
    buf_free(&folded);
}

void cite_check_claim(struct slice claim, const struct cite_source *source,
                      struct cite *ret)
{
    *ret = (struct cite){.status = CITE_UNVERIFIED};
    check(claim, source, 1, ret);
}

void cites_check(const struct cite_reader *reader, struct slice answer,
                 const struct cite_source *sources, struct cites *ret)
{
    size_t from = 0;
    ret->items = mem_alloc((reader->count + 1) * sizeof *ret->items);
    ret->count = reader->count;
    for (size_t i = 0; i < reader->count; i++) {
        const struct cite_mark *mark = &reader->marks[i];
        struct cite *cite = &ret->items[i];
        cite->status = CITE_UNVERIFIED;
        cite->source = mark->named - 1;
        trim(answer, from, mark->at, cite);
        if (i < MAX_CLAIMS)
            check((struct slice){answer.data + cite->at, cite->end - cite->at},
                  sources, reader->sources, cite);
        from = mark->end;
    }
    ret->unmarked =
        cite_has_words((struct slice){answer.data + from, answer.size - from});
}

void cites_free(struct cites *cites)
{
    free(cites->items);
    *cites = (struct cites){0};
}

void cites_text(const struct cites *cites, struct slice answer, struct buf *out)
{
    size_t from = 0;
    for (size_t i = 0; i < cites->count; i++) {
        const struct cite *cite = &cites->items[i];
        if (cite->status == CITE_UNVERIFIED || cite->exact)
            continue;
        buf_put(out, answer.data + from, cite->at - from);
        text_fold_space(out, cite->place);
        from = cite->end;
    }
    buf_put(out, answer.data + from, answer.size - from);
}

struct slice cite_unmarked(const struct cite *cite)
{
    return sentences_unmarked(cite->block, cite->place);
}
