#include "model/tokenizer/combining.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/text.h"

enum {
    LONG = 64,      /* marks in a run: of fewer exchanges cost nothing */
    MAX_PARTS = 32, /* of a character; the most is 18 */
    CLASSES = 256,  /* of combining marks; 0: it is none */
    FIRST_MARK = 0x300
};

struct mark {
    uint32_t c;
    uint8_t class;
};

struct run {
    struct mark *marks; /* [count] */
    size_t count, capacity;
};

static uint8_t class_of(utf8proc_int32_t c)
{
    return (uint8_t)utf8proc_get_property(c)->combining_class;
}

/* Of what a character is decomposed into; returns how many. */
static size_t parts_of(uint32_t c, int options, utf8proc_int32_t *ret)
{
    int unused = 0;
    utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)c, ret, MAX_PARTS,
                                (utf8proc_option_t)options, &unused);
    if (count >= 0 && count <= MAX_PARTS)
        return (size_t)count;
    ret[0] = (utf8proc_int32_t)c;
    return 1;
}

bool combining_is_long(struct slice text, int options)
{
    utf8proc_int32_t parts[MAX_PARTS];
    size_t run = 0;
    if (text.size < LONG)
        return false;
    for (size_t at = 0, step; at < text.size && run < LONG; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        size_t count = c < FIRST_MARK ? 0 : parts_of(c, options, parts);
        run = count ? run : 0;
        for (size_t i = 0; i < count; i++)
            run = class_of(parts[i]) ? run + 1 : 0;
    }
    return run >= LONG;
}

/* Those of a class stay as they stand. */
static void put_run(struct buf *out, struct run *run)
{
    size_t next[CLASSES + 1] = {0};
    if (!run->count)
        return;
    uint32_t *ordered = mem_alloc(run->count * sizeof *ordered);
    for (size_t i = 0; i < run->count; i++)
        next[run->marks[i].class + 1]++;
    for (size_t class = 0; class < CLASSES; class ++)
        next[class + 1] += next[class];
    for (size_t i = 0; i < run->count; i++)
        ordered[next[run->marks[i].class]++] = run->marks[i].c;
    for (size_t i = 0; i < run->count; i++)
        text_encode(out, ordered[i]);
    free(ordered);
    run->count = 0;
}

static void put_part(struct buf *out, struct run *run, utf8proc_int32_t c)
{
    uint8_t class = class_of(c);
    if (!class) {
        put_run(out, run);
        text_encode(out, (uint32_t)c);
        return;
    }
    MEM_RESERVE(run->marks, &run->capacity, run->count + 1);
    run->marks[run->count++] = (struct mark){(uint32_t)c, class};
}

void combining_put(struct buf *out, struct slice text, int options)
{
    utf8proc_int32_t parts[MAX_PARTS];
    struct run run = {0};
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        size_t count = parts_of(c, options, parts);
        for (size_t i = 0; i < count; i++)
            put_part(out, &run, parts[i]);
    }
    put_run(out, &run);
    free(run.marks);
}
