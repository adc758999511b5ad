#include "model/tokenizer/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_TEXTS = 1 << 30 };

/* Appends `text` with each `from` replaced. */
static void put_replaced(struct buf *out, struct slice text, const char *from,
                         const char *to)
{
    size_t size = strlen(from);
    for (size_t at = 0; at < text.size;) {
        if (size && text.size - at >= size &&
            !memcmp(text.data + at, from, size)) {
            buf_put_text(out, to);
            at += size;
        } else {
            buf_put_byte(out, text.data[at++]);
        }
    }
}

/* In this order, each over all of the token, as the reference does. */
static void clean(struct buf *text)
{
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct buf made = {0};
        put_replaced(&made, buf_slice(text), pairs[i][0], pairs[i][1]);
        buf_free(text);
        *text = made;
    }
}

static void put_text(const struct decoder *d, const struct vocabulary *v,
                     int32_t id, bool first, struct buf *out)
{
    struct buf text = {0};
    struct slice bytes = vocabulary_bytes(v, id);
    int byte = d->bytes ? vocabulary_fallback(v, bytes) : -1;
    bool inside = v->tokens[id].flags & TOKEN_INSIDE;
    if (d->joins && !first && !inside)
        buf_put_byte(&text, ' ');
    if (byte >= 0)
        buf_put_byte(&text, byte);
    else if (first && inside)
        vocabulary_write(v, id, &text);
    else if (d->replaced)
        put_replaced(&text, bytes, d->replaced, first && d->drops ? "" : d->by);
    else
        buf_put_slice(&text, bytes);
    if (d->cleans)
        clean(&text);
    buf_put_slice(out, buf_slice(&text));
    buf_free(&text);
}

int decoder_seal(struct decoder *d, const struct vocabulary *v, struct err *err)
{
    d->from = mem_alloc((v->count + 1) * sizeof *d->from);
    buf_put(&d->texts, "", 0);
    for (size_t i = 0; i < v->count; i++) {
        size_t max = vocabulary_bytes(v, (int32_t)i).size * DECODER_MAX_BY + 1;
        if (max > MAX_TEXTS - d->texts.size)
            return err_set(err, ERR_LIMIT, "the vocabulary has too much text");
        d->from[i] = (uint32_t)d->texts.size;
        put_text(d, v, (int32_t)i, false, &d->texts);
    }
    d->from[v->count] = (uint32_t)d->texts.size;
    return 0;
}

void decoder_free(struct decoder *d)
{
    free(d->replaced);
    free(d->by);
    free(d->from);
    buf_free(&d->texts);
}

struct slice decoder_text(const struct decoder *d, int32_t id)
{
    return (struct slice){d->texts.data + d->from[id],
                          d->from[id + 1] - d->from[id]};
}

void decoder_first(const struct decoder *d, const struct vocabulary *v,
                   int32_t id, struct buf *text)
{
    struct buf own = {0};
    size_t from = 0;
    put_text(d, v, id, true, &own);
    while (from < d->strip && from < own.size && own.data[from] == ' ')
        from++;
    buf_put(text, buf_slice(&own).data + from, own.size - from);
    buf_free(&own);
}
