#include "indexer/parse/html/dom/skeleton.h"

#include "base/mem.h"
#include "base/text.h"
#include "indexer/parse/html/dom/dom_build.h"
#include "indexer/parse/html/dom/depth.h"

struct making {
    const struct source *source;
    struct skeleton *skeleton;
    struct depth depth;
    unsigned svg, math;  /* that are open */
    unsigned root_parts; /* attributes of <html> and <body> so far */
    bool line_end_goes;  /* one right here, after <pre>, is no text */
};

/* What follows in the skeleton stands for the source from `at` on. */
static void mark(struct making *m, size_t at)
{
    struct skeleton *skeleton = m->skeleton;
    uint32_t here = (uint32_t)skeleton->text.size;
    if (skeleton->count) {
        struct piece *last = &skeleton->pieces[skeleton->count - 1];
        if (here - last->at == at - last->source)
            return;
    }
    MEM_RESERVE(skeleton->pieces, &skeleton->capacity, skeleton->count + 1);
    skeleton->pieces[skeleton->count++] = (struct piece){here, (uint32_t)at};
}

static void copy(struct making *m, size_t from, size_t to)
{
    const struct source *source = m->source;
    struct buf *out = &m->skeleton->text;
    for (size_t at = from; at < to;) {
        size_t plain = lexer_plain(source, at, to, TEXT_RAW);
        mark(m, at);
        buf_put(out, source->data + at, plain);
        at += plain;
        if (at == to)
            break;
        struct character character;
        lexer_character(source, at, to, TEXT_RAW, &character);
        mark(m, at);
        buf_put(out, character.bytes, character.size);
        at = character.to;
    }
}

static void put_byte(struct making *m, size_t at, char byte)
{
    mark(m, at);
    buf_put_byte(&m->skeleton->text, byte);
}

/* The text [at, to), shrunk: where it begins with white space, the tree builder
 * may put that elsewhere than the rest.  A NUL counts as white space, too. */
static void put_run(struct making *m, size_t at, size_t to)
{
    size_t word = at;
    while (word < to && strchr(" \n\t\r\f", m->source->data[word]))
        word++;
    if (word > at)
        put_byte(m, at, ' ');
    if (word < to)
        put_byte(m, word, 'x');
}

static size_t after_line_end(const struct source *source, size_t at)
{
    struct character character;
    lexer_character(source, at, source->size, TEXT_MARKUP, &character);
    bool is = character.size == 1 && character.bytes[0] == '\n';
    return is ? character.to : at;
}

/* The run of text from `at` to the next markup; returns where that is. */
static size_t shrink(struct making *m, size_t at)
{
    const struct source *source = m->source;
    if (m->line_end_goes)
        at = after_line_end(source, at);
    m->line_end_goes = false;
    size_t to = at;
    struct markup markup;
    for (; to < source->size; to++) {
        const char *next = memchr(source->data + to, '<', source->size - to);
        to = next ? (size_t)(next - source->data) : source->size;
        if (to == source->size ||
            lexer_markup(source, to, source->size, &markup))
            break;
    }
    put_run(m, at, to);
    return to;
}

/* Where the attributes begin that are too many for the tree builder, which
 * compares each with all others: those of one tag, or, since they all end in
 * one element, of all <html> and <body>.  0: none are. */
static size_t surplus(struct making *m, const struct markup *markup)
{
    if (!markup->attributes || (!lexer_name_is(markup->name, "html") &&
                                !lexer_name_is(markup->name, "body")))
        return markup->surplus;
    if (m->root_parts + markup->attributes > MAX_ATTRIBUTES)
        return (size_t)(markup->name.data - m->source->data) +
               markup->name.size;
    m->root_parts += markup->attributes;
    return 0;
}

/* The tree builder compares formatting elements by all their attributes, and
 * looks at those of some others. */
static bool is_compared(struct slice name)
{
    static const char *const names[] = {
        "b",      "i",    "u",    "s",     "em",     "tt",
        "big",    "code", "font", "nobr",  "small",  "strike",
        "strong", "html", "body", "input", "isindex"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lexer_name_is(name, names[i]))
            return true;
    return false;
}

/* Up to `end`, without the attributes that nobody reads.  Where the next one
 * follows without a space, as in <td align="left"class="x">, one takes the
 * place of what is left out. */
static void copy_read(struct making *m, const struct markup *markup, size_t end)
{
    size_t at =
        (size_t)(markup->name.data - m->source->data) + markup->name.size;
    size_t from = markup->from, to;
    struct slice name;
    for (; lexer_attribute(m->source, at, end, &name, &to); at = to) {
        if (build_reads(name))
            continue;
        copy(m, from, at);
        from = to;
        if (to < end && !strchr(" \t\n\r\f/>", m->source->data[to]))
            put_byte(m, to - 1, ' ');
    }
    copy(m, from, end);
}

static void copy_attributes(struct making *m, const struct markup *markup)
{
    size_t end = surplus(m, markup);
    size_t to = end ? end : markup->to;
    if (markup->kind == MARKUP_OPEN && markup->attributes && !m->svg &&
        !m->math && !is_compared(markup->name))
        copy_read(m, markup, to);
    else
        copy(m, markup->from, to);
    if (end && markup->kind != MARKUP_OTHER)
        copy(m, markup->to - 1 - markup->closed, markup->to);
}

/* Elements whose text only the tree builder reads right stay as they are. */
static size_t copy_raw(struct making *m, const struct markup *markup)
{
    const struct source *source = m->source;
    size_t end = lexer_raw_end(source, markup->to, source->size, markup->name);
    copy_attributes(m, markup);
    copy(m, markup->to, end);
    return end;
}

static bool is_foreign(const struct making *m)
{
    return m->svg || m->math;
}

static void follow_foreign(struct making *m, const struct markup *markup)
{
    bool svg = lexer_name_is(markup->name, "svg");
    if (!svg && !lexer_name_is(markup->name, "math"))
        return;
    unsigned *open = svg ? &m->svg : &m->math;
    if (markup->kind == MARKUP_OPEN && !markup->closed)
        ++*open;
    else if (markup->kind == MARKUP_CLOSE && *open)
        --*open;
}

static size_t copy_tag(struct making *m, const struct markup *markup)
{
    follow_foreign(m, markup);
    bool whole = markup->closed && m->source->xhtml && !is_foreign(m) &&
                 markup->kind == MARKUP_OPEN;
    bool drawn = is_foreign(m) && lexer_name_is(markup->name, "title");
    if (markup->kind == MARKUP_OPEN && !whole && !drawn &&
        lexer_text_mode(markup->name) != TEXT_MARKUP)
        return copy_raw(m, markup);
    copy_attributes(m, markup);
    m->line_end_goes = markup->kind == MARKUP_OPEN && !whole &&
                       (lexer_name_is(markup->name, "pre") ||
                        lexer_name_is(markup->name, "listing"));
    if (whole && !lexer_is_void(markup->name)) {
        mark(m, markup->to);
        buf_put_text(&m->skeleton->text, "</");
        buf_put_slice(&m->skeleton->text, markup->name);
        buf_put_text(&m->skeleton->text, ">");
    }
    return markup->to;
}

/* Outside of <svg> and <math> the tree builder takes it for a comment, which
 * ends at the first '>'; it then finds text, but no markup.  gumbo aborts at
 * text right behind one in an <svg><title> in a table: a comment parts them. */
static size_t copy_cdata(struct making *m, const struct markup *markup)
{
    const char *data = m->source->data;
    struct slice raw;
    lexer_cdata(m->source, markup, TEXT_FOREIGN, &raw);
    size_t from = (size_t)(raw.data - data), to = from + raw.size;
    copy(m, markup->from, from);
    const char *angle = memchr(data + from, '>', raw.size);
    if (angle) {
        size_t at = (size_t)(angle - data);
        put_run(m, from, at);
        copy(m, at, at + 1);
        from = at + 1;
    }
    put_run(m, from, to);
    copy(m, to, markup->to);
    mark(m, markup->to);
    buf_put_text(&m->skeleton->text, "<!---->");
    return markup->to;
}

static size_t copy_other(struct making *m, const struct markup *markup)
{
    if (markup->name.size)
        copy_attributes(m, markup);
    else
        copy(m, markup->from, markup->to);
    return markup->to;
}

/* True: it is a section of raw text. */
static bool is_cdata(const struct making *m, struct markup *markup)
{
    struct slice raw;
    return is_foreign(m) &&
           lexer_text_markup(m->source, markup->from, m->source->size,
                             TEXT_FOREIGN, markup) &&
           lexer_cdata(m->source, markup, TEXT_FOREIGN, &raw);
}

static size_t copy_markup(struct making *m, struct markup *markup)
{
    if (markup->kind != MARKUP_OTHER)
        return copy_tag(m, markup);
    return is_cdata(m, markup) ? copy_cdata(m, markup) : copy_other(m, markup);
}

static int make(struct making *m, struct err *err)
{
    const struct source *source = m->source;
    for (size_t at = 0; at < source->size;) {
        struct markup markup;
        if (!lexer_markup(source, at, source->size, &markup)) {
            at = shrink(m, at);
            continue;
        }
        if (!depth_tag(&m->depth, &markup)) {
            err_set(err, ERR_LIMIT, "nests deeper than %d elements", DEPTH_MAX);
            if (err)
                err->position = (int64_t)at;
            return ERR_LIMIT;
        }
        at = copy_markup(m, &markup);
    }
    mark(m, source->size);
    return 0;
}

int skeleton_make(const struct source *source, struct skeleton *ret,
                  struct err *err)
{
    struct making *m = mem_alloc(sizeof *m);
    struct skeleton skeleton = {0};
    m->source = source;
    m->skeleton = &skeleton;
    buf_reserve(&skeleton.text, source->size / 2);
    int rc = make(m, err);
    free(m);
    if (rc)
        skeleton_free(&skeleton);
    else
        *ret = skeleton;
    return rc;
}

void skeleton_free(struct skeleton *skeleton)
{
    buf_free(&skeleton->text);
    free(skeleton->pieces);
    *skeleton = (struct skeleton){0};
}

size_t skeleton_source(struct skeleton *skeleton, size_t at)
{
    const struct piece *pieces = skeleton->pieces;
    size_t low = 0, high = skeleton->count; /* pieces[low].at <= at */
    if (skeleton->recent + 1 < high && pieces[skeleton->recent].at <= at) {
        low = skeleton->recent;
        for (int i = 0; i < 4; i++)
            low += low + 1 < high && pieces[low + 1].at <= at;
        if (low + 1 == high || pieces[low + 1].at > at)
            high = low + 1;
    }
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    skeleton->recent = low;
    size_t place = pieces[low].source + (at - pieces[low].at);
    if (low + 1 < skeleton->count && place > pieces[low + 1].source)
        place = pieces[low + 1].source;
    return place;
}
