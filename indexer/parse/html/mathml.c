#include "indexer/parse/html/mathml.h"

#include <string.h>

enum {
    MAX_DEPTH = 100 /* elements in one another; those below are left out */
};

static bool is(const xmlNode *node, const char *name)
{
    return dom_is_element(node) && !strcmp((const char *)node->name, name);
}

/* Element number n in it; NULL: it has fewer. */
static const xmlNode *part_of(const xmlNode *node, size_t n)
{
    const xmlNode *at = node->children;
    while (at && (!dom_is_element(at) || n--))
        at = at->next;
    return at;
}

static bool holds_text(const xmlNode *node)
{
    return node && dom_holds(node, DOM_HOLDS_TEXT);
}

struct formula {
    struct writer *writer;
    bool apart; /* the next number is another one, not more digits */
};

/* ---- Signs that are drawn ---- */

static void put_before(struct formula *f, const char *sign)
{
    writer_sign(f->writer, sign);
}

/* Directly behind what was read, which may have white space around it. */
static void put_behind(struct formula *f, const char *sign)
{
    f->writer->space = false;
    writer_sign(f->writer, sign);
}

/* What is read from `at` on follows directly. */
static void join(struct formula *f, size_t at)
{
    struct buf *text = &f->writer->text;
    if (at >= text->size || text->data[at] != ' ')
        return;
    memmove(text->data + at, text->data + at + 1, text->size - at);
    text->size--;
}

static void read_node(struct formula *f, const xmlNode *node, int depth);

static bool is_degree(const xmlNode *sign)
{
    const xmlNode *in = sign->children;
    return in && !dom_is_element(in) && slice_is(dom_text(in)->text, "°");
}

/* One sign or word alone, or several without operators between them? */
static bool is_simple(const xmlNode *group)
{
    size_t tokens = 0, operators = is(group, "mo");
    if (is(group, "mfrac"))
        return false;
    for (const xmlNode *at = dom_next(group, group, false); at;
         at = dom_next(at, group, false)) {
        if (is(at, "mfrac"))
            return false;
        bool is_operator = is(at, "mo");
        operators += is_operator && !is_degree(at);
        tokens +=
            is_operator || is(at, "mi") || is(at, "mn") || is(at, "mtext");
    }
    return !operators || tokens <= 1;
}

/* All in it, or all that is in a row of its own; in brackets where it would be taken
 * apart without them.  `behind`: a sign. */
static void read_group(struct formula *f, const xmlNode *group, bool behind,
                       int depth)
{
    bool simple = is_simple(group);
    if (!simple)
        put_before(f, "(");
    size_t at = f->writer->text.size;
    if (is(group, "msqrt"))
        for (const xmlNode *in = group->children; in; in = in->next)
            read_node(f, in, depth);
    else
        read_node(f, group, depth);
    if (behind || !simple)
        join(f, at);
    if (!simple)
        put_behind(f, ")");
}

static void read_behind(struct formula *f, const char *sign,
                        const xmlNode *group, int depth)
{
    if (!holds_text(group))
        return;
    put_behind(f, sign);
    read_group(f, group, true, depth);
}

/* ---- Elements ---- */

/* What stands above or below its first part, or behind it. */
static const struct script {
    const char *name;
    const char *signs[2]; /* before the second part, and the third */
} scripts[] = {{"msup", {"^", NULL}},      {"msub", {"_", NULL}},
               {"msubsup", {"_", "^"}},    {"munder", {"_", NULL}},
               {"munderover", {"_", "^"}}, {"mfrac", {"/", NULL}}};

static bool read_script(struct formula *f, const xmlNode *node, int depth)
{
    const xmlNode *first = part_of(node, 0);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (!is(node, scripts[i].name))
            continue;
        if (!holds_text(first))
            read_node(f, part_of(node, 1), depth);
        else if (is(node, "mfrac"))
            read_group(f, first, false, depth);
        else
            read_node(f, first, depth);
        for (size_t p = 0; p < 2 && scripts[i].signs[p] && holds_text(first);
             p++)
            read_behind(f, scripts[i].signs[p], part_of(node, p + 1), depth);
        return true;
    }
    return false;
}

static bool read_root(struct formula *f, const xmlNode *node, int depth)
{
    bool square = is(node, "msqrt");
    if (!square && !is(node, "mroot"))
        return false;
    const xmlNode *what = square ? node : part_of(node, 0);
    if (!square && holds_text(part_of(node, 1)))
        read_group(f, part_of(node, 1), false, depth);
    if (!holds_text(what))
        return true;
    put_before(f, "√");
    read_group(f, what, true, depth);
    return true;
}

static bool is_left_out(const xmlNode *node)
{
    return !strncmp((const char *)node->name, "annotation", 10) ||
           is(node, "mphantom");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* LyX writes "1", white space, then "0" with its exponent: digits of one number. */
static void read_text(struct formula *f, const struct dom_text *text)
{
    struct writer *w = f->writer;
    bool more = !f->apart && w->space && w->text.size && text->text.size &&
                is_digit(w->text.data[w->text.size - 1]) &&
                is_digit(text->text.data[0]);
    if (more)
        w->space = false;
    writer_text(w, text);
    f->apart = f->apart && w->space;
}

static void read_node(struct formula *f, const xmlNode *node, int depth)
{
    if (!node || depth > MAX_DEPTH)
        return;
    if (!dom_is_element(node)) {
        read_text(f, dom_text(node));
        return;
    }
    if (is_left_out(node) || read_script(f, node, depth + 1) ||
        read_root(f, node, depth + 1))
        return;
    if (is(node, "mspace") || is(node, "mtd") || is(node, "mtr")) {
        writer_space(f->writer);
        f->apart = true;
    }
    for (const xmlNode *at = node->children; at; at = at->next)
        read_node(f, at, depth + 1);
}

void mathml_read(struct writer *writer, const xmlNode *formula)
{
    struct formula f = {.writer = writer, .apart = true};
    for (const xmlNode *at = formula->children; at; at = at->next)
        read_node(&f, at, 0);
}
