#include "indexer/parse/text/transcode.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "indexer/parse/text/charset.h"

/* What follows in the text stands for the file from `source` on. */
static void mark(struct transcoded *t, size_t source, size_t in, size_t out)
{
    if (in == out)
        in = out = 1;
    if (t->count && t->strides[t->count - 1].in == in &&
        t->strides[t->count - 1].out == out)
        return;
    MEM_RESERVE(t->strides, &t->capacity, t->count + 1);
    t->strides[t->count++] = (struct stride){
        (uint32_t)t->made.size, (uint32_t)source, (uint8_t)in, (uint8_t)out};
}

static void convert(struct transcoded *t, struct slice bytes, int encoding)
{
    bool ascii = encoding != ENCODING_UTF_16LE && encoding != ENCODING_UTF_16BE;
    for (size_t at = t->begin; at < bytes.size;) {
        size_t run = ascii ? text_ascii_run(bytes.data, bytes.size, at) : 0;
        if (run) {
            mark(t, at, 1, 1);
            buf_put(&t->made, bytes.data + at, run);
            at += run;
            continue;
        }
        char text[8];
        size_t size, step = charset_decode(encoding, bytes, at, text, &size);
        mark(t, at, step, size);
        buf_put(&t->made, text, size);
        at += step;
    }
}

void transcode(struct slice bytes, size_t begin, int encoding,
               struct transcoded *ret)
{
    *ret = (struct transcoded){.begin = begin};
    ret->text = (struct slice){bytes.data + begin, bytes.size - begin};
    if (encoding == ENCODING_UTF8 &&
        text_is_utf8(ret->text.data, ret->text.size))
        return;
    buf_reserve(&ret->made, ret->text.size);
    convert(ret, bytes, encoding);
    ret->text = buf_slice(&ret->made);
}

void transcode_free(struct transcoded *transcoded)
{
    buf_free(&transcoded->made);
    free(transcoded->strides);
    *transcoded = (struct transcoded){0};
}

static const struct stride *stride_of(const struct transcoded *t, size_t at)
{
    size_t low = 0, high = t->count; /* strides[low].at <= at */
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (t->strides[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return &t->strides[low];
}

/* Where the character begins that `at` is in, or, with `after`, ends. */
static uint64_t source_of(const struct transcoded *t, size_t at, bool after)
{
    const struct stride *stride = stride_of(t, at);
    size_t characters = (at - stride->at) / stride->out + after;
    return stride->source + characters * stride->in;
}

struct span transcode_span(const struct transcoded *transcoded, size_t from,
                           size_t to)
{
    if (!transcoded->count)
        return (struct span){transcoded->begin + from, transcoded->begin + to};
    struct span span;
    span.from = span.to = source_of(transcoded, from, false);
    if (to > from)
        span.to = source_of(transcoded, to - 1, true);
    return span;
}
