#include "indexer/parse/fragment.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "indexer/parse/lexer.h"

struct folding {
    const struct source *source;
    struct buf text;
    uint32_t *offsets; /* [text.size] */
    size_t capacity;
    bool space; /* white space waits for the next character */
    size_t space_at;
    size_t end; /* of the last character in the source */
};

static void put(struct folding *f, const char *bytes, size_t size, size_t from)
{
    void *offsets = f->offsets;
    mem_reserve(&offsets, &f->capacity, f->text.size + size + 1,
                sizeof *f->offsets);
    f->offsets = offsets;
    for (size_t i = 0; i < size; i++)
        f->offsets[f->text.size + i] = (uint32_t)from;
    buf_put(&f->text, bytes, size);
}

/* The characters of one place in the source: one, or a reference's. */
static void fold(struct folding *f, const struct character *character,
                 size_t from)
{
    for (size_t at = 0, step; at < character->size; at += step) {
        step = text_space(character->bytes, character->size, at);
        if (step) {
            if (!f->space)
                f->space_at = from;
            f->space = true;
            continue;
        }
        text_decode(character->bytes, character->size, at, &step);
        if (f->space && f->text.size)
            put(f, " ", 1, f->space_at);
        f->space = false;
        put(f, character->bytes + at, step, from);
        f->end = character->to;
    }
}

/* Elements whose text nobody reads. */
static bool is_code(struct slice name)
{
    return lexer_name_is(name, "script") || lexer_name_is(name, "style");
}

static void read_all(struct folding *f)
{
    const struct source *source = f->source;
    struct markup markup;
    struct character character;
    for (size_t at = 0; at < source->size;) {
        if (lexer_markup(source, at, source->size, &markup)) {
            at = markup.to;
            if (markup.kind == MARKUP_OPEN && is_code(markup.name))
                at = lexer_raw_end(source, at, source->size, markup.name);
            continue;
        }
        lexer_character(source, at, source->size, TEXT_MARKUP, &character);
        fold(f, &character, at);
        at = character.to;
    }
}

void fragment_text(struct slice bytes, int encoding, struct buf *out)
{
    struct source source = {
        .data = bytes.data, .size = bytes.size, .encoding = encoding};
    struct folding f = {.source = &source};
    read_all(&f);
    put(&f, "", 0, 0);
    f.offsets[f.text.size] = (uint32_t)f.end;
    uint64_t size = f.text.size;
    buf_put(out, &size, sizeof size);
    buf_put_slice(out, buf_slice(&f.text));
    buf_put(out, f.offsets, (f.text.size + 1) * sizeof *f.offsets);
    buf_free(&f.text);
    free(f.offsets);
}
