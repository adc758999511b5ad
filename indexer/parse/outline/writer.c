#include "indexer/parse/outline/writer.h"

#include "base/text.h"

static void put_separator(struct writer *w)
{
    static const struct separator nothing;
    struct separator *next = &w->next;
    if (next->comma && w->open)
        buf_put(&w->text, ", ", 2);
    if (next->line && w->open)
        buf_put_byte(&w->text, '\n');
    for (unsigned i = 0; i < next->tabs; i++)
        buf_put_byte(&w->text, '\t');
    for (unsigned i = 0; i < next->indent; i++)
        buf_put_byte(&w->text, ' ');
    buf_put_text(&w->text, next->marker);
    *next = nothing;
}

static bool is_nothing(const struct separator *next)
{
    return !next->line && !next->comma && !next->tabs && !next->indent &&
           !next->marker[0];
}

/* Whatever stands between the text so far and a word. */
static void begin_word(struct writer *w)
{
    if (!is_nothing(&w->next))
        put_separator(w);
    else if (w->space && w->open)
        buf_put_byte(&w->text, ' ');
    if (!w->open)
        w->span = (struct span){UINT64_MAX, 0};
    w->open = true;
    w->space = false;
}

static void extend(struct writer *w, struct span span)
{
    if (span.from < w->span.from)
        w->span.from = span.from;
    if (span.to > w->span.to)
        w->span.to = span.to;
}

/* The end of the word at `at`, which does not begin with white space. */
static size_t word_end(struct slice text, size_t at)
{
    while (at < text.size) {
        unsigned char byte = (unsigned char)text.data[at];
        if (byte > ' ' && byte < 0x80) {
            at++;
            continue;
        }
        if (text_space(text.data, text.size, at))
            break;
        size_t step = 1;
        if (byte >= 0x80)
            text_decode(text.data, text.size, at, &step);
        at += step;
    }
    return at;
}

/* Appends the words of `text`; false when there is none. */
static bool put_words(struct writer *w, struct slice text, size_t *ret_first,
                      size_t *ret_last)
{
    bool any = false;
    for (size_t at = 0; at < text.size;) {
        size_t space = text_space(text.data, text.size, at);
        if (space) {
            w->space = true;
            at += space;
            continue;
        }
        size_t end = word_end(text, at);
        begin_word(w);
        buf_put(&w->text, text.data + at, end - at);
        w->written += end - at;
        if (!any)
            *ret_first = at;
        any = true;
        *ret_last = at = end;
    }
    return any;
}

static bool put_exact(struct writer *w, struct slice text, size_t *ret_first,
                      size_t *ret_last)
{
    bool any = false;
    for (size_t at = 0; at < text.size;) {
        size_t space = text_space(text.data, text.size, at);
        if (space) {
            at += space;
            continue;
        }
        if (!any)
            *ret_first = at;
        any = true;
        *ret_last = at = word_end(text, at);
    }
    if (any && !w->open)
        w->span = (struct span){UINT64_MAX, 0};
    w->open |= any;
    buf_put_slice(&w->text, text);
    w->written += any ? *ret_last - *ret_first : 0;
    return any;
}

void writer_text(struct writer *w, const struct dom_text *text)
{
    size_t first = 0, last = 0;
    bool any = w->exact ? put_exact(w, text->text, &first, &last)
                        : put_words(w, text->text, &first, &last);
    if (!any)
        return;
    struct span span;
    dom_place(w->dom, text, first, last, &span.from, &span.to);
    extend(w, span);
}

void writer_literal(struct writer *w, struct slice text, struct span span)
{
    size_t first, last;
    if (put_words(w, text, &first, &last))
        extend(w, span);
}

bool writer_in_line(const struct writer *w)
{
    return w->open && is_nothing(&w->next);
}

bool writer_goes_on(const struct writer *w)
{
    return writer_in_line(w) && !w->space && w->text.size &&
           !text_space(w->text.data, w->text.size, w->text.size - 1);
}

void writer_sign(struct writer *w, const char *sign)
{
    begin_word(w);
    buf_put_text(&w->text, sign);
}

void writer_space(struct writer *w)
{
    if (!w->exact)
        w->space = true;
    else if (w->open && w->text.data[w->text.size - 1] != '\n')
        buf_put_byte(&w->text, '\n');
}

void writer_break(struct writer *w)
{
    if (w->exact && w->open)
        buf_put_byte(&w->text, '\n');
    else
        w->space = true;
}

void writer_line(struct writer *w, unsigned indent, const char *marker)
{
    w->next = (struct separator){.line = true, .indent = indent};
    snprintf(w->next.marker, sizeof w->next.marker, "%s", marker);
}

/* Exact text without blank lines before it and white space after it. */
static struct slice trim(struct slice text)
{
    size_t start = 0;
    for (size_t at = 0; at < text.size; at++) {
        if (!strchr(" \t\n\r\f", text.data[at]) || !text.data[at])
            break;
        if (text.data[at] == '\n')
            start = at + 1;
    }
    text.data += start;
    text.size -= start;
    while (text.size && strchr(" \t\n\r\f", text.data[text.size - 1]))
        text.size--;
    return text;
}

bool writer_take(struct writer *w, struct slice *ret_text,
                 struct span *ret_span)
{
    bool open = w->open;
    if (open) {
        *ret_text = buf_slice(&w->text);
        if (w->exact)
            *ret_text = trim(*ret_text);
        *ret_span = w->span;
    }
    w->open = w->space = false;
    w->text.size = 0;
    return open;
}
