/* A page that is a text of its own in one <pre>, as Vim's help is: a line of "=" stands
 * above each section's title, and "*J*", the names of what a line or a paragraph tells of,
 * at the end of that line or in one above it. */
#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/html_internal.h"

enum {
    MIN_RULE = 20,   /* signs of a line that parts sections */
    MIN_RULES = 2,   /* of a page */
    MAX_TITLE = 120, /* bytes */
    MAX_NAMES = 200  /* bytes of an entry's names */
};

struct range {
    size_t from, to; /* in a text */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The line of "=" that begins at or behind `at`, with its end; of none to == 0. */
static struct range find_rule(struct slice text, size_t at)
{
    while (at < text.size) {
        const char *sign = memchr(text.data + at, '=', text.size - at);
        if (!sign)
            break;
        size_t from = (size_t)(sign - text.data), to = from;
        while (to < text.size && text.data[to] == '=')
            to++;
        bool alone = (!from || text.data[from - 1] == '\n') &&
                     (to == text.size || text.data[to] == '\n');
        if (alone && to - from >= MIN_RULE)
            return (struct range){from, to + (to < text.size)};
        at = to;
    }
    return (struct range){0};
}

static bool is_name(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_A && dom_attribute(node, "name");
}

/* What a program prints has lines of "=", too, but no names. */
bool ruled_is(const xmlNode *pre)
{
    size_t rules = 0;
    bool named = false;
    for (const xmlNode *at = pre->children; at && (rules < MIN_RULES || !named);
         at = at->next) {
        struct slice text = {"", 0};
        if (!dom_is_element(at))
            text = dom_text(at)->text;
        named = named || is_name(at);
        for (struct range rule = find_rule(text, 0); rule.to;
             rule = find_rule(text, rule.to))
            rules++;
    }
    return rules >= MIN_RULES && named;
}

static struct span place_of(const struct walk *w, const struct dom_text *text,
                            struct range range)
{
    uint64_t from, to;
    dom_place(w->dom, text, range.from, range.to, &from, &to);
    return (struct span){from, to};
}

static void put(struct walk *w, const struct dom_text *text, struct range range)
{
    struct dom_text part = *text;
    if (range.from >= range.to)
        return;
    struct span span = place_of(w, text, range);
    part.text =
        (struct slice){text->text.data + range.from, range.to - range.from};
    part.from = (uint32_t)span.from;
    part.to = (uint32_t)span.to;
    writer_text(&w->writer, &part);
}

/* What the line at `at` begins with, up to white space of a column; none: an empty one. */
static struct range title_at(struct slice text, size_t at)
{
    struct range title = {at, at};
    while (title.to < text.size && text.data[title.to] != '\n' &&
           text.data[title.to] != '\t' &&
           !(title.to > at && text.data[title.to] == ' ' &&
             text.data[title.to - 1] == ' '))
        title.to++;
    while (title.to > at && text.data[title.to - 1] == ' ')
        title.to--;
    if (title.to - at > MAX_TITLE || text.data[at] == '*')
        title.to = at;
    return title;
}

static void begin_section(struct walk *w, const struct dom_text *text,
                          struct range title)
{
    walk_flush(w);
    if (title.to > title.from)
        outline_heading(
            w->outline, 2, false,
            (struct slice){text->text.data + title.from, title.to - title.from},
            (struct slice){"", 0}, place_of(w, text, title),
            w->outline->ref_count);
}

/* "*12.1*  Replace a word": the title is behind the names. */
static void begin_behind_names(struct walk *w, const xmlNode *name)
{
    const xmlNode *at = name;
    while (at && (dom_is_element(at) || slice_is(dom_text(at)->text, "* *")))
        at = at->next;
    const struct dom_text *text = at ? dom_text(at) : NULL;
    if (!text || text->text.size < 2 || text->text.data[0] != '*')
        return;
    size_t from = 1;
    while (from < text->text.size && is_space(text->text.data[from]) &&
           text->text.data[from] != '\n')
        from++;
    if (from < text->text.size)
        begin_section(w, text, title_at(text->text, from));
}

/* Is it all that is left of the page? */
static bool is_last(const xmlNode *node, size_t at)
{
    struct slice text = dom_text(node)->text;
    const char *end = memchr(text.data + at, '\n', text.size - at);
    size_t behind = end ? (size_t)(end - text.data) : text.size;
    return !node->next && text_skip_space(text, behind) == text.size;
}

/* The title below a rule; returns where what follows it begins. */
static size_t read_title(struct walk *w, const xmlNode *node, size_t at)
{
    const struct dom_text *text = dom_text(node);
    at = text_skip_space(text->text, at);
    if (at == text->text.size)
        return at;
    struct range title = title_at(text->text, at);
    bool named = at + 1 == text->text.size && text->text.data[at] == '*';
    w->ruled.awaits = false;
    if (named && node->next) {
        begin_behind_names(w, node->next);
        return at;
    }
    if (text->text.data[at] == '=' || is_last(node, at))
        return at;
    begin_section(w, text, title);
    return title.to;
}

/* ---- Entries ---- */

/* Where the line begins at whose end the text has a "*" behind white space; its size: there
 * is none. */
static size_t named_line(struct slice text, size_t at)
{
    size_t size = text.size, from = size;
    if (size < at + 2 || text.data[size - 1] != '*' ||
        !is_space(text.data[size - 2]))
        return size;
    while (from > at && text.data[from - 1] != '\n')
        from--;
    return from > at ? from : size;
}

/* The names that begin with the anchor, "*J* *:join*"; *ret_span: where they stand. */
static struct buf names_from(const xmlNode *anchor, struct span *ret_span)
{
    struct buf names = {0};
    for (const xmlNode *at = anchor; at; at = at->next) {
        bool between = !dom_is_element(at);
        struct slice text =
            between ? dom_text(at)->text : (struct slice){"", 0};
        if (between && (!text.size || text.data[0] != '*' ||
                        memchr(text.data, '\n', text.size)))
            break;
        const xmlNode *name = dom_is_element(at) ? at->children : NULL;
        if (dom_tag(at) != GUMBO_TAG_B || !name || dom_is_element(name))
            continue;
        struct slice own = dom_text(name)->text;
        if (names.size + own.size + 2 > MAX_NAMES)
            break;
        buf_put_text(&names, names.size ? ", " : "");
        ret_span->from = names.size ? ret_span->from : dom_text(name)->from;
        ret_span->to = dom_text(name)->to;
        buf_put_slice(&names, own);
    }
    return names;
}

static void begin_entry(struct walk *w, const xmlNode *anchor)
{
    struct span span = {0};
    struct buf names = names_from(anchor, &span);
    walk_flush(w);
    if (names.size)
        outline_heading(w->outline, TREE_LEVEL_ENTRY, true, buf_slice(&names),
                        (struct slice){"", 0}, span, w->outline->ref_count);
    buf_free(&names);
}

void ruled_text(struct walk *w, const xmlNode *node)
{
    const struct dom_text *text = dom_text(node);
    size_t at = 0, size = text->text.size;
    for (;;) {
        if (w->ruled.awaits)
            at = read_title(w, node, at);
        struct range rule = find_rule(text->text, at);
        if (!rule.to)
            break;
        put(w, text, (struct range){at, rule.from});
        walk_flush(w);
        w->ruled.awaits = true;
        at = rule.to;
    }
    const xmlNode *next = node->next;
    bool named =
        next && dom_tag(next) == GUMBO_TAG_A && dom_attribute(next, "name");
    size_t line = named ? named_line(text->text, at) : size;
    put(w, text, (struct range){at, line});
    if (line == size)
        return;
    begin_entry(w, next);
    put(w, text, (struct range){line, size});
}
