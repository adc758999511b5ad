#include "indexer/parse/html/html_fragment.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/hidden.h"
#include "indexer/parse/text/declared.h"
#include "indexer/parse/text/lexer.h"
#include "indexer/parse/text/transcode.h"
#include "indexer/wire.h"

enum {
    MAX_MORE = 1 << 16
}; /* bytes that entities may read beyond the part's */

struct folding {
    struct source source;
    const struct transcoded *file;
    struct buf text;
    struct text_place *places; /* [text.size] */
    size_t capacity;
    bool space;    /* white space waits for the next character */
    bool unclosed; /* what is passed over does not end here, nor would others */
    struct text_place space_at;
};

static void put(struct folding *f, const char *bytes, size_t size,
                struct text_place place)
{
    MEM_RESERVE(f->places, &f->capacity, f->text.size + size);
    for (size_t i = 0; i < size; i++)
        f->places[f->text.size + i] = place;
    buf_put(&f->text, bytes, size);
}

/* The characters of one place in the source: one, or a reference's. */
static void fold(struct folding *f, const struct character *character,
                 size_t from)
{
    struct slice text = character_text(character);
    struct span span = transcode_span(f->file, from, character->to);
    struct text_place place = {(uint32_t)span.from, (uint32_t)span.to};
    /* The part's entities are not all of its file's, which is checked. */
    if (character->text && f->text.size + text.size > MAX_MORE + f->source.size)
        return;
    for (size_t at = 0, step; at < text.size; at += step) {
        step = text_space(text.data, text.size, at);
        if (step) {
            if (!f->space)
                f->space_at = place;
            else if (place.from == f->space_at.to) /* no tag is in it */
                f->space_at.to = place.to;
            f->space = true;
            continue;
        }
        text_decode(text.data, text.size, at, &step);
        if (f->space && f->text.size)
            put(f, " ", 1, f->space_at);
        f->space = false;
        put(f, text.data + at, step, place);
    }
}

static void read_characters(struct folding *f, size_t at, size_t end,
                            enum text_mode mode)
{
    struct character character;
    for (; at < end; at = character.to) {
        lexer_character(&f->source, at, end, mode, &character);
        fold(f, &character, at);
    }
}

/* Elements whose text nobody reads, wherever they stand. */
static bool is_unread(const struct source *source, const struct markup *markup)
{
    struct slice name = markup->name;
    if (markup->kind != MARKUP_OPEN || (source->xml && markup->closed))
        return false;
    return lexer_name_is(name, "script") || lexer_name_is(name, "style") ||
           (source->xml && (lexer_name_is(name, "indexterm") ||
                            lexer_name_is(name, "remark")));
}

/* Of an attribute that begins with its name and ends at `to`. */
static struct slice value_of(const struct source *source, struct slice name,
                             size_t to)
{
    struct slice value = {name.data + name.size,
                          (size_t)(source->data + to - name.data) - name.size};
    while (value.size && memchr(" \t\n\r\f=\"'", value.data[0], 8)) {
        value.data++;
        value.size--;
    }
    if (value.size && strchr("\"'", value.data[value.size - 1]))
        value.size--;
    return value;
}

static bool is_passed(const struct source *source, const struct markup *tag)
{
    struct hiding hiding = {0};
    if (tag->kind != MARKUP_OPEN || !tag->attributes || tag->closed ||
        lexer_is_void(tag->name))
        return false;
    size_t at = (size_t)(tag->name.data - source->data) + tag->name.size, to;
    struct slice name;
    for (; lexer_attribute(source, at, tag->to, &name, &to); at = to) {
        struct slice value = value_of(source, name, to);
        if (lexer_name_is(name, "class") && classes_are_passed(value))
            return true;
        hiding_add(&hiding, name, value);
    }
    return hiding_is(&hiding) && !source->xml;
}

/* Where the element ends that the tag opens; 0: not in the source. */
static size_t element_end(const struct source *source, const struct markup *tag)
{
    size_t depth = 1;
    for (size_t at = tag->to; at < source->size;) {
        struct markup markup;
        if (!lexer_markup(source, at, source->size, &markup)) {
            at++;
            continue;
        }
        at = is_unread(source, &markup)
                 ? lexer_raw_end(source, markup.to, source->size, markup.name)
                 : markup.to;
        if (markup.name.size != tag->name.size ||
            strncasecmp(markup.name.data, tag->name.data, tag->name.size))
            continue;
        depth += markup.kind == MARKUP_OPEN && !markup.closed;
        depth -= markup.kind == MARKUP_CLOSE;
        if (!depth)
            return at;
    }
    return 0;
}

/* ---- Elements whose end tag may be left out ---- */

static bool is_one_of(struct slice name, const char *const *names)
{
    while (*names && !lexer_name_is(name, *names))
        names++;
    return *names != NULL;
}

/* What is ended in so many words, and ends a paragraph. */
static bool is_box(struct slice name)
{
    static const char *const names[] = {
        "address", "article", "aside",   "blockquote", "center", "details",
        "dir",     "div",     "dl",      "fieldset",   "figure", "footer",
        "form",    "h1",      "h2",      "h3",         "h4",     "h5",
        "h6",      "header",  "main",    "menu",       "nav",    "ol",
        "pre",     "section", "summary", "table",      "ul",     NULL};
    return is_one_of(name, names);
}

static const char *const nothing[] = {NULL};
static const char *const lists[] = {"dir", "menu", "ol", "ul", NULL};
static const char *const items[] = {"li", NULL};
static const char *const glossaries[] = {"dl", NULL};
static const char *const terms[] = {"dt", "dd", NULL};
static const char *const tables[] = {"table", NULL};
static const char *const rows[] = {"tr", "tbody", "tfoot", "thead", NULL};
static const char *const cells[] = {"td",    "th",    "tr", "tbody",
                                    "tfoot", "thead", NULL};
static const char *const parts[] = {"dd",    "dt",    "hr", "li", "p",  "tbody",
                                    "tfoot", "thead", "td", "th", "tr", NULL};

static const struct optional {
    const char *name;
    const char *const *enders;  /* tags that end it, */
    const char *const *holders; /* but not within these in it */
    bool boxes;                 /* all boxes end it, too */
} optional[] = {
    {"p", parts, nothing, true},      {"li", items, lists, false},
    {"dt", terms, glossaries, false}, {"dd", terms, glossaries, false},
    {"td", cells, tables, false},     {"th", cells, tables, false},
    {"tr", rows, tables, false},
};

/* NULL: its end tag must be there. */
static const struct optional *optional_of(struct slice name)
{
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (lexer_name_is(name, optional[i].name))
            return &optional[i];
    return NULL;
}

static bool ends(const struct optional *of, struct slice name)
{
    return is_one_of(name, of->enders) || (of->boxes && is_box(name));
}

/* As element_end, of such an element: its own end tag, what may not stand in it, or the
 * end of what it stands in.  Elements within a line are not looked at. */
static size_t open_end(const struct source *source, const struct markup *tag,
                       const struct optional *of)
{
    size_t holders = 0, boxes = 0; /* that are open in it */
    for (size_t at = tag->to; at < source->size;) {
        struct markup markup;
        if (!lexer_markup(source, at, source->size, &markup)) {
            at++;
            continue;
        }
        struct slice name = markup.name;
        bool opens = markup.kind == MARKUP_OPEN, own = !holders;
        bool closes = markup.kind == MARKUP_CLOSE;
        size_t *open = is_one_of(name, of->holders) ? &holders
                       : is_box(name)               ? &boxes
                                                    : NULL;
        if (closes && own && lexer_name_is(name, of->name))
            return markup.to;
        if ((opens || closes) && own && ends(of, name))
            return at;
        if (closes && open && !*open && (own || open == &holders))
            return at;
        if (open && closes)
            *open -= *open > 0;
        else if (open && opens)
            *open += !markup.closed;
        at = is_unread(source, &markup)
                 ? lexer_raw_end(source, markup.to, source->size, name)
                 : markup.to;
    }
    return 0;
}

/* Returns where what follows the markup begins. */
static size_t read_markup(struct folding *f, const struct markup *markup)
{
    const struct source *source = &f->source;
    struct slice raw;
    if (lexer_cdata(source, markup, TEXT_MARKUP, &raw)) {
        size_t from = (size_t)(raw.data - source->data);
        read_characters(f, from, from + raw.size, TEXT_RAW);
    } else if (is_unread(source, markup)) {
        return lexer_raw_end(source, markup->to, source->size, markup->name);
    } else if (!f->unclosed && is_passed(source, markup)) {
        const struct optional *of = optional_of(markup->name);
        size_t end =
            of ? open_end(source, markup, of) : element_end(source, markup);
        f->unclosed = !end;
        return end ? end : markup->to;
    }
    return markup->to;
}

static void read_all(struct folding *f)
{
    const struct source *source = &f->source;
    for (size_t at = 0; at < source->size;) {
        struct markup markup;
        struct character character;
        if (lexer_markup(source, at, source->size, &markup)) {
            at = read_markup(f, &markup);
            continue;
        }
        lexer_character(source, at, source->size, TEXT_MARKUP, &character);
        fold(f, &character, at);
        at = character.to;
    }
}

static void read_head(struct declared *declared, struct slice head,
                      int encoding)
{
    struct transcoded file;
    transcode(head, 0, encoding, &file);
    declared_read(declared, file.text);
    transcode_free(&file);
}

void fragment_text(struct slice head, struct slice bytes, int format,
                   int encoding, struct buf *out)
{
    struct transcoded file;
    struct declared declared = {0};
    if (head.size && format == PARSER_XML)
        read_head(&declared, head, encoding);
    transcode(bytes, 0, encoding, &file);
    struct folding f = {.source = {.data = file.text.data,
                                   .size = file.text.size,
                                   .xml = format == PARSER_XML,
                                   .declared = &declared},
                        .file = &file};
    read_all(&f);
    uint64_t size = f.text.size;
    buf_put(out, &size, sizeof size);
    buf_put_slice(out, buf_slice(&f.text));
    if (f.places)
        buf_put(out, f.places, f.text.size * sizeof *f.places);
    buf_free(&f.text);
    free(f.places);
    transcode_free(&file);
    declared_free(&declared);
}
