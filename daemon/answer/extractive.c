/* All that may be written lies in one row of places, each before a byte, with a
 * place before none behind each text:
 *
 *     START abstention | BETWEEN | "[1]" | "[2]" ... | text | text ...
 *
 * What is written leads from a place to the next by its byte; by a space from
 * where a sentence ends to its passage's citation, and from START and from behind
 * a citation to BETWEEN; and from START and BETWEEN, by its first byte, into every
 * text where a sentence begins.
 *
 * Invariants:
 *   1. A set of points has a place once.
 *   2. `first` holds of just the bytes that lead somewhere from `at`.
 *   3. `begun` holds of the sentences with which the spans that are cited begin;
 *      none of them is begun again. */
#include "daemon/answer/extractive.h"

#include <stdlib.h>

#include "base/text.h"
#include "daemon/answer/cite.h"
#include "memory/lexical/sentences.h"

enum {
    MAX_CODE = 480,     /* bytes of code that is copied over its lines */
    MAX_SENTENCE = 480, /* bytes */
    NO_BYTE = -1,
    START = 0 /* a place */
};

static const uint32_t NONE = UINT32_MAX;
static const uint64_t TAKEN = UINT64_MAX;

struct place {
    int16_t byte;
    bool ends;      /* the answer may */
    uint32_t space; /* where a space leads, besides; 0: nowhere */
};

/* Where the answer may be. */
struct point {
    uint32_t place;
    uint32_t begin; /* index, of the span that it is in or behind; or NONE */
};

struct points {
    struct point *items; /* [count], room for all places */
    size_t count;
};

struct copying {
    struct place *row; /* [count] */
    size_t count, capacity;
    uint32_t *begins; /* [begin_count] places where sentences do */
    uint64_t *begun;  /* [begin_count] TAKEN, or the last walk that cited it */
    size_t begin_count, begin_capacity;
    uint32_t between;
    struct points at, next, other; /* the last two are for walking */
    uint64_t *seen;                /* [count] the last step that led there */
    uint64_t steps, walks;
    bool first[256];
    bool opens[256]; /* bytes with which sentences begin */
};

/* ---- The row ---- */

static uint32_t put_place(struct copying *c, struct place place)
{
    MEM_RESERVE(c->row, &c->capacity, c->count + 1);
    c->row[c->count] = place;
    return (uint32_t)c->count++;
}

/* The place before the text; behind it is one before no byte. */
static uint32_t put_text(struct copying *c, struct slice text)
{
    size_t at = c->count;
    for (size_t i = 0; i < text.size; i++)
        put_place(c, (struct place){.byte = (unsigned char)text.data[i]});
    put_place(c, (struct place){.byte = NO_BYTE});
    return (uint32_t)at;
}

static void put_abstention(struct copying *c)
{
    put_text(c, slice_of(" Not in these passages."));
    c->row[c->count - 1].ends = true;
    c->between = put_place(c, (struct place){.byte = NO_BYTE});
    c->row[START].space = c->between;
}

static uint32_t put_citation(struct copying *c, size_t number)
{
    struct buf text = {0};
    buf_printf(&text, "[%zu]", number);
    uint32_t at = put_text(c, buf_slice(&text));
    c->row[c->count - 1].ends = true;
    c->row[c->count - 1].space = c->between;
    buf_free(&text);
    return at;
}

static void put_begin(struct copying *c, uint32_t place)
{
    MEM_RESERVE(c->begins, &c->begin_capacity, c->begin_count + 1);
    c->begins[c->begin_count++] = place;
    c->opens[c->row[place].byte] = true;
}

/* ---- What may be copied of a passage ---- */

/* Bytes of a text. */
struct range {
    size_t from, to;
};

static size_t line_end(struct slice text, size_t from)
{
    const char *end = memchr(text.data + from, '\n', text.size - from);
    return end ? (size_t)(end - text.data) : text.size;
}

static size_t part_end(struct slice text, size_t from, bool code)
{
    return code ? line_end(text, from) : sentence_end(text, from);
}

/* From where the first of the text's sentences (of code: lines) begins that lies
 * in the range, if only in part, to where the last one ends. */
static struct slice within(struct slice text, struct range range, bool code)
{
    struct range found = {text.size, text.size};
    size_t from = text_skip_space(text, 0), end;
    for (; from < text.size && from < range.to;
         from = text_skip_space(text, end)) {
        end = part_end(text, from, code);
        if (end > range.from && found.from == text.size)
            found.from = from;
        found.to = end;
    }
    if (found.from == text.size)
        found.to = text.size;
    return (struct slice){text.data + found.from, found.to - found.from};
}

/* A text within which a span stays, with those of its sentences that may begin
 * one. */
static void put_sentences(struct copying *c, struct slice text, bool code,
                          uint32_t citation)
{
    uint32_t at = put_text(c, text);
    size_t end;
    for (size_t from = 0; from < text.size; from = text_skip_space(text, end)) {
        end = part_end(text, from, code);
        struct slice sentence = {text.data + from, end - from};
        c->row[at + end].space = citation;
        if (sentence.size <= MAX_SENTENCE && cite_has_words(sentence))
            put_begin(c, at + (uint32_t)from);
    }
}

static void put_block(struct copying *c, const struct block *block,
                      struct range range, size_t sources, uint32_t citation)
{
    bool code = block->kind == BLOCK_CODE;
    struct slice piece = block->text;
    for (size_t at = 0; at < block->text.size;) {
        if (code && block->text.size <= MAX_CODE)
            at = block->text.size;
        else
            piece = sentences_unmarked(block, sentences_line(block, &at));
        size_t from = (size_t)(piece.data - block->text.data);
        struct range own = {range.from > from ? range.from - from : 0,
                            range.to > from ? range.to - from : 0};
        piece = within(piece, own, code);
        if (!cite_has_marker(piece, sources))
            put_sentences(c, piece, code, citation);
    }
}

static void put_passage(struct copying *c,
                        const struct copying_passage *passage, size_t sources,
                        uint32_t citation)
{
    for (size_t b = passage->first; b <= passage->last; b++) {
        const struct block *block = &passage->blocks[b];
        struct range range = {b == passage->first ? passage->from : 0,
                              b == passage->last ? passage->to
                                                 : block->text.size};
        put_block(c, block, range, sources, citation);
    }
}

/* ---- Walking ---- */

static void add(struct copying *c, struct points *points, uint32_t place,
                uint32_t begin)
{
    if (c->seen[place] == c->steps)
        return;
    c->seen[place] = c->steps;
    points->items[points->count++] = (struct point){place, begin};
}

/* Whether sentences may begin there. */
static bool is_open(const struct copying *c, uint32_t place)
{
    return place == START || place == c->between;
}

/* NO_BYTE: no span may begin with it any more. */
static int begin_byte(const struct copying *c, uint32_t begin)
{
    bool begun = c->begun[begin] == TAKEN || c->begun[begin] == c->walks;
    return begun ? NO_BYTE : c->row[c->begins[begin]].byte;
}

/* Where a space leads, besides; 0: nowhere, as behind a citation when all that
 * may begin a span has begun one. */
static uint32_t space_from(const struct copying *c, uint32_t place)
{
    uint32_t to = c->row[place].space;
    bool goes_on = to != c->between;
    for (uint32_t b = 0; !goes_on && b < c->begin_count; b++)
        goes_on = begin_byte(c, b) != NO_BYTE;
    return goes_on ? to : 0;
}

static void step(struct copying *c, const struct points *from, int byte,
                 struct points *to)
{
    c->steps++;
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct point point = from->items[i];
        const struct place *place = &c->row[point.place];
        if (place->byte == byte)
            add(c, to, point.place + 1, point.begin);
        uint32_t space = byte == ' ' ? space_from(c, point.place) : 0;
        if (space)
            add(c, to, space, point.begin);
        bool opens = is_open(c, point.place) && c->opens[byte];
        for (uint32_t b = 0; opens && b < c->begin_count; b++)
            if (begin_byte(c, b) == byte)
                add(c, to, c->begins[b] + 1, b);
    }
}

static void swap(struct points *a, struct points *b)
{
    struct points held = *a;
    *a = *b;
    *b = held;
}

/* The spans that are cited now. */
static void note_begun(struct copying *c, const struct points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        struct point point = points->items[i];
        if (c->row[point.place].ends && point.begin != NONE)
            c->begun[point.begin] = c->walks;
    }
}

/* Where the bytes lead is in `next`; false: nowhere. */
static bool walk(struct copying *c, struct slice bytes)
{
    const struct points *from = &c->at;
    c->walks++;
    for (size_t i = 0; i < bytes.size; i++) {
        step(c, from, (unsigned char)bytes.data[i], &c->other);
        swap(&c->other, &c->next);
        from = &c->next;
        if (!from->count)
            return false;
        note_begun(c, from);
    }
    return bytes.size > 0;
}

static void note_byte(struct copying *c, int byte)
{
    if (byte != NO_BYTE)
        c->first[byte] = true;
}

static void note_first(struct copying *c)
{
    memset(c->first, 0, sizeof c->first);
    for (size_t i = 0; i < c->at.count; i++) {
        struct point point = c->at.items[i];
        note_byte(c, c->row[point.place].byte);
        note_byte(c, space_from(c, point.place) ? ' ' : NO_BYTE);
        bool opens = is_open(c, point.place);
        for (uint32_t b = 0; opens && b < c->begin_count; b++)
            note_byte(c, begin_byte(c, b));
    }
}

struct copying *copying_open(const struct copying_passage *passages,
                             size_t count)
{
    struct copying *c = mem_alloc(sizeof *c);
    put_abstention(c);
    for (size_t i = 0; i < count; i++)
        put_passage(c, &passages[i], count, put_citation(c, i + 1));
    struct points *all[] = {&c->at, &c->next, &c->other};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        all[i]->items = mem_alloc(c->count * sizeof *all[i]->items);
    c->seen = mem_alloc(c->count * sizeof *c->seen);
    c->begun = mem_alloc((c->begin_count + 1) * sizeof *c->begun);
    c->walks = 1; /* 0 is none */
    c->at.items[c->at.count++] = (struct point){START, NONE};
    note_first(c);
    return c;
}

void copying_close(struct copying *c)
{
    if (!c)
        return;
    free(c->row);
    free(c->begins);
    free(c->begun);
    free(c->at.items);
    free(c->next.items);
    free(c->other.items);
    free(c->seen);
    free(c);
}

bool copying_allows(struct copying *c, struct slice bytes)
{
    return bytes.size && c->first[(unsigned char)bytes.data[0]] &&
           walk(c, bytes);
}

bool copying_abstains(struct copying *c, struct slice bytes)
{
    bool might = false;
    for (size_t i = 0; i < c->at.count; i++)
        might = might || c->at.items[i].place == START ||
                c->at.items[i].place >= c->between;
    if (!might || !c->begin_count || !walk(c, bytes))
        return false;
    for (size_t i = 0; i < c->next.count; i++)
        if (c->next.items[i].place >= c->between)
            return false;
    return true;
}

size_t copying_certain(const struct copying *c)
{
    const struct place *place = &c->row[c->at.items[0].place];
    size_t count = 0;
    for (; c->at.count == 1 && place->byte != NO_BYTE && !place->space; place++)
        count++;
    return count;
}

void copying_take(struct copying *c, struct slice bytes)
{
    if (!walk(c, bytes))
        return;
    swap(&c->at, &c->next);
    for (size_t b = 0; b < c->begin_count; b++)
        if (c->begun[b] == c->walks)
            c->begun[b] = TAKEN;
    note_first(c);
}

bool copying_may_end(const struct copying *c)
{
    for (size_t i = 0; i < c->at.count; i++)
        if (c->row[c->at.items[i].place].ends)
            return true;
    return false;
}
