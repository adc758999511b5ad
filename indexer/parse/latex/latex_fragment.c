/* A part of a file as it is typed, white space folded: what its commands make
 * of it depends on the document that it belongs to. */
#include "base/text.h"
#include "indexer/parse/latex/latex.h"
#include "indexer/parse/text/transcode.h"
#include "indexer/wire.h"

struct fragment {
    struct transcoded file;
    struct buf text, places;
};

static void put(struct fragment *f, struct slice bytes, size_t from, size_t to)
{
    struct span span = transcode_span(&f->file, from, to);
    struct text_place place = {(uint32_t)span.from, (uint32_t)span.to};
    for (size_t i = 0; i < bytes.size; i++)
        buf_put(&f->places, &place, sizeof place);
    buf_put_slice(&f->text, bytes);
}

static void read_all(struct fragment *f)
{
    struct slice text = f->file.text;
    for (size_t at = 0, step; at < text.size; at += step) {
        step = text_space(text.data, text.size, at);
        if (!step) {
            text_decode(text.data, text.size, at, &step);
            put(f, (struct slice){text.data + at, step}, at, at + step);
        } else if (f->text.size && f->text.data[f->text.size - 1] != ' ') {
            put(f, (struct slice){" ", 1}, at, at + step);
        }
    }
}

void latex_text(struct slice bytes, int encoding, struct buf *out)
{
    struct fragment f = {0};
    /* The files of one document need not be of one encoding. */
    bool utf8 = text_is_utf8(bytes.data, bytes.size);
    transcode(bytes, 0, utf8 ? ENCODING_UTF8 : encoding, &f.file);
    read_all(&f);
    uint64_t n = f.text.size;
    buf_put(out, &n, sizeof n);
    buf_put_slice(out, buf_slice(&f.text));
    buf_put_slice(out, buf_slice(&f.places));
    transcode_free(&f.file);
    buf_free(&f.text);
    buf_free(&f.places);
}
