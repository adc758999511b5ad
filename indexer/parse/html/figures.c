#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/html_internal.h"

/* ---- Images ---- */

static void figure(struct walk *w, const xmlNode *figure)
{
    unsigned blocks =
        DOM_HOLDS_CODE | DOM_HOLDS_TABLE | DOM_HOLDS_LIST | DOM_HOLDS_HEADING;
    int kind = dom_holds(figure, blocks) ? BLOCK_PARAGRAPH : BLOCK_FIGURE;
    walk_within(w, figure, (struct context){.kind = kind});
}

static const xmlNode *figure_around(const xmlNode *image)
{
    enum { MAX_ABOVE = 12 };
    const xmlNode *at = image->parent;
    for (int i = 0; i < MAX_ABOVE && dom_is_element(at); i++, at = at->parent)
        if (dom_tag(at) == GUMBO_TAG_FIGURE ||
            (dom_tag(at) == GUMBO_TAG_DIV && classes_has(at, "figure")))
            return at;
    return NULL;
}

/* As it is compared, between spaces. */
static void fold_words(struct buf *out, struct slice text)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    buf_put_byte(out, ' ');
    buf_put_slice(out, buf_slice(&folded));
    buf_put_byte(out, ' ');
    buf_free(&folded);
}

/* Does its figure say so in words?  DocBook gives a figure's title to each image of it. */
static bool is_captioned(const xmlNode *image, const char *alt)
{
    enum { MAX_NODES = 200, MAX_TEXT = 2000 };
    const xmlNode *figure = figure_around(image), *at = figure;
    struct buf words = {0}, said = {0}, sought = {0};
    for (int i = 0; at && i < MAX_NODES && words.size < MAX_TEXT; i++) {
        at = dom_next(at, figure, false);
        struct slice text = at && !dom_is_element(at) ? dom_text(at)->text
                                                      : (struct slice){"", 0};
        buf_put(&words, text.data, text.size < MAX_TEXT ? text.size : MAX_TEXT);
        buf_put_byte(&words, ' ');
    }
    fold_words(&said, buf_slice(&words));
    fold_words(&sought, slice_of(alt));
    bool is = figure && memmem(said.data, said.size, sought.data, sought.size);
    buf_free(&words);
    buf_free(&said);
    buf_free(&sought);
    return is;
}

static bool is_tex(const xmlNode *image, const char *text)
{
    return text[0] == '\\' || text[0] == '$' || classes_has(image, "math");
}

/* Signs that stand for bullets, rules and arrows say nothing, nor does a letter of ASCII
 * alone. */
static bool has_words(struct slice text)
{
    size_t letters = 0;
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        if (text_is_letter(c) || text_is_digit(c))
            letters += step;
    }
    return letters > 1;
}

static bool is_label(struct walk *w, struct slice text)
{
    if (text.size > 2 && text.data[0] == '[' && text.data[text.size - 1] == ']')
        text = (struct slice){text.data + 1, text.size - 2};
    return walk_note_label(w, text);
}

void figures_flush(struct walk *w, bool text)
{
    struct slice last = {"", 0};
    for (size_t i = 0; i < w->image_count; i++) {
        const struct walk_image *image = &w->images[i];
        bool alone = !text && !i;
        if (slice_equal(image->text, last) ||
            (!alone && (image->button || !has_words(image->text))))
            continue;
        last = image->text;
        outline_block(w->outline, BLOCK_FIGURE, image->text,
                      (struct slice){"", 0}, image->span);
    }
    w->image_count = 0;
}

/* To another page: not to a place in this one, nor to a larger image. */
static bool turns_page(const char *url)
{
    static const char *const images[] = {".png",  ".gif", ".jpg",
                                         ".jpeg", ".svg", ".webp"};
    size_t size = strcspn(url, "?#");
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        size_t n = strlen(images[i]);
        if (size > n && !strncasecmp(url + size - n, images[i], n))
            return false;
    }
    /* "#" and "#top" are the top of the page. */
    return url[0] != '#' || !url[1] || !strcasecmp(url, "#top");
}

/* Is it all that a link shows?  Such are mostly there to turn pages. */
static bool is_button(const xmlNode *image)
{
    const xmlNode *link = image->parent;
    const char *url = NULL;
    if (dom_tag(link) == GUMBO_TAG_A && !dom_holds(link, DOM_HOLDS_TEXT))
        url = dom_attribute(link, "href");
    return url && turns_page(url);
}

static void keep_image(struct walk *w, const xmlNode *image, struct slice text)
{
    if (w->in.kind == BLOCK_NOTE && is_label(w, text))
        return;
    MEM_RESERVE(w->images, &w->image_capacity, w->image_count + 1);
    w->images[w->image_count++] =
        (struct walk_image){text, walk_tag_span(image), is_button(image)};
}

/* In lists, tables and definitions, it stands among the rest. */
static void put_image(struct walk *w, const xmlNode *image, struct slice text)
{
    if (is_button(image) || !has_words(text))
        return;
    writer_space(&w->writer);
    writer_literal(&w->writer, text, walk_tag_span(image));
    writer_space(&w->writer);
}

static void image(struct walk *w, const xmlNode *image)
{
    const char *alt = dom_attribute(image, "alt");
    bool formula = alt && (w->in.kind == BLOCK_MATH || is_tex(image, alt));
    if (!alt || !*alt || (!formula && is_captioned(image, alt)))
        return;
    struct slice text = slice_of(alt);
    struct span span = walk_tag_span(image);
    if (w->in.kind == BLOCK_FIGURE || w->in.kind == IN_TITLE) {
        walk_boundary(w);
        writer_literal(&w->writer, text, span);
        walk_boundary(w);
    } else if (formula) {
        writer_literal(&w->writer, text, span);
    } else if (walk_is_prose(w)) {
        keep_image(w, image, text);
    } else if (w->in.kind != BLOCK_CODE) {
        put_image(w, image, text);
    }
}

/* A link drawn on an image. */
static void area(struct walk *w, const xmlNode *area)
{
    const char *alt = dom_attribute(area, "alt");
    const char *url = dom_attribute(area, "href");
    if (!alt || !*alt)
        return;
    if (url)
        outline_ref(w->outline, slice_of(alt), slice_of(url));
    w->facts->areas++;
    image(w, area);
}

/* Text in a drawing stands where it is drawn: no order, no lines. */
static void drawing_text(struct walk *w, const xmlNode *drawing)
{
    bool skip = false;
    for (const xmlNode *at = dom_next(drawing, drawing, false); at;
         at = dom_next(at, drawing, skip)) {
        skip = false;
        if (dom_is_element(at)) {
            const char *name = (const char *)at->name;
            skip = !strcmp(name, "title") || !strcmp(name, "desc") ||
                   !strcmp(name, "style") || !strcmp(name, "script") ||
                   !strcmp(name, "metadata");
            writer_space(&w->writer);
        } else {
            writer_text(&w->writer, dom_text(at));
        }
    }
}

static void drawing(struct walk *w, const xmlNode *drawing)
{
    if (!dom_holds(drawing, DOM_HOLDS_TEXT) || w->in.kind == IN_TITLE)
        return;
    if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE) {
        walk_boundary(w);
        drawing_text(w, drawing);
        walk_boundary(w);
        return;
    }
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = (struct context){.kind = BLOCK_FIGURE};
    w->writer.next = (struct separator){0};
    drawing_text(w, drawing);
    walk_flush(w);
    w->in = outer;
    w->writer.next = next;
}

/* ---- All of them ---- */

bool figures_element(struct walk *w, const xmlNode *element,
                     const struct rule *rule)
{
    switch (rule->part) {
    case PART_FIGURE:
        if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE)
            return false;
        figure(w, element);
        return true;
    case PART_IMAGE: image(w, element); return true;
    case PART_AREA: area(w, element); return true;
    case PART_DRAWING: drawing(w, element); return true;
    default: return math_element(w, element, rule);
    }
}
