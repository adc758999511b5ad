#include "indexer/parse/html/mathml.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
    MAX_DEPTH = 100,  /* elements in one another; what is below has no signs */
    MAX_LOOKED = 200, /* nodes of a group that are looked at */
    MAX_PARTS = 3
};

struct formula {
    struct writer *writer;
    char before[16]; /* signs before the next text, should there be any */
    bool behind; /* a script or root: digits that follow are another number */
    bool more_digits; /* the next text's digits are of the number before them */
};

static bool is(const xmlNode *node, const char *name)
{
    return dom_is_element(node) && !strcmp((const char *)node->name, name);
}

static bool is_any(const xmlNode *node, const char *const *names)
{
    while (*names && !is(node, *names))
        names++;
    return *names != NULL;
}

static bool is_token(const xmlNode *node)
{
    static const char *const names[] = {"mi", "mn", "mo", "mtext", "ms", NULL};
    return is_any(node, names);
}

static const xmlNode *only_part(const xmlNode *node)
{
    const xmlNode *only = NULL;
    for (const xmlNode *at = node->children; at; at = at->next) {
        if (!dom_is_element(at))
            continue;
        if (only)
            return NULL;
        only = at;
    }
    return only;
}

/* Without rows and styles that hold it alone. */
static const xmlNode *unwrapped(const xmlNode *node)
{
    static const char *const names[] = {"mrow", "mstyle", "mpadded", NULL};
    for (int i = 0; i < MAX_DEPTH && is_any(node, names); i++) {
        const xmlNode *only = only_part(node);
        if (!only)
            break;
        node = only;
    }
    return node;
}

/* The text of a token; empty: more than that. */
static struct slice text_of(const xmlNode *token)
{
    const xmlNode *in = token->children;
    return in && !in->next && !dom_is_element(in) ? dom_text(in)->text
                                                  : (struct slice){"", 0};
}

/* Does it need no brackets: one sign, name or number, or letters side by side? */
static bool is_simple(const xmlNode *group, bool raised)
{
    static const char *const scripts[] = {"msup", "msub", "msubsup", NULL};
    static const char *const letters[] = {"mi", "mtext", "mrow", "mstyle",
                                          NULL};
    const xmlNode *node = unwrapped(group);
    if (is_token(node) || (!raised && is_any(node, scripts)))
        return true;
    int left = MAX_LOOKED;
    for (const xmlNode *at = dom_next(node, node, false); at && left;
         at = dom_next(at, node, false), left--)
        if (dom_is_element(at) && !is_any(at, letters) &&
            !(is(at, "mo") && slice_is(text_of(at), "°")))
            return false;
    return left > 0 && !is(node, "mfrac") && !is(node, "mroot");
}

/* ---- Text and signs ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool ends_in_digit(const struct writer *w)
{
    return w->open && w->text.size && is_digit(w->text.data[w->text.size - 1]);
}

/* A space that was put at `at` goes. */
static void join(struct writer *w, size_t at)
{
    if (at >= w->text.size || w->text.data[at] != ' ')
        return;
    memmove(w->text.data + at, w->text.data + at + 1, w->text.size - at);
    w->text.size--;
}

static bool stands_behind(char sign)
{
    return sign && strchr("^_/", sign);
}

/* White space around a sign is none. */
static void put_signed(struct formula *f, const struct dom_text *text)
{
    struct writer *w = f->writer;
    const char *signs = f->before;
    bool goes_on = writer_in_line(w);
    while (stands_behind(*signs) && !goes_on)
        signs++;
    if (stands_behind(*signs))
        w->space = false;
    if (*signs)
        writer_sign(w, signs);
    size_t at = w->text.size;
    writer_text(w, text);
    if (*signs)
        join(w, at);
}

static void read_text(struct formula *f, const struct dom_text *text)
{
    struct writer *w = f->writer;
    if (text_is_blank(text->text)) {
        writer_text(w, text);
        return;
    }
    bool digits = ends_in_digit(w) && is_digit(text->text.data[0]);
    if (digits && f->more_digits)
        w->space = false;
    else if (digits && f->behind && !f->before[0])
        w->space = true;
    put_signed(f, text);
    f->before[0] = '\0';
    f->behind = f->more_digits = false;
}

typedef void read_some(struct formula *f, const xmlNode *node, int depth);
static read_some read_node;

static void read_all(struct formula *f, const xmlNode *node, int depth)
{
    for (const xmlNode *at = node->children; at; at = at->next)
        read_node(f, at, depth);
}

/* What `read` reads of the node, with a sign before it, in brackets where it needs them;
 * nothing of either where it has no text. */
static void read_behind(struct formula *f, const xmlNode *node, read_some *read,
                        const char *sign, bool brackets, int depth)
{
    struct writer *w = f->writer;
    size_t size = strlen(f->before);
    uint64_t before = w->written;
    bool room = size + strlen(sign) + 2 <= sizeof f->before;
    if (room)
        snprintf(f->before + size, sizeof f->before - size, "%s%s", sign,
                 brackets ? "(" : "");
    read(f, node, depth);
    if (w->written == before) {
        f->before[size] = '\0';
    } else if (room && brackets) {
        w->space = false;
        writer_sign(w, ")");
    }
}

/* ---- Elements ---- */

/* What stands above or below its first part, or behind it. */
static const struct script {
    const char *name;
    size_t parts;
    const char *signs[MAX_PARTS]; /* before each */
} scripts[] = {{"msup", 2, {"", "^"}},
               {"msub", 2, {"", "_"}},
               {"msubsup", 3, {"", "_", "^"}},
               {"munder", 2, {"", "_"}},
               {"munderover", 3, {"", "_", "^"}},
               {"mfrac", 2, {"", "/"}}};

/* NULL: none, or it has not the parts that it should. */
static const struct script *script_of(const xmlNode *node)
{
    size_t i = 0, parts = 0, count = sizeof scripts / sizeof scripts[0];
    while (i < count && !is(node, scripts[i].name))
        i++;
    if (i == count)
        return NULL;
    for (const xmlNode *at = node->children; at; at = at->next) {
        if (dom_is_element(at))
            parts++;
        else if (!text_is_blank(dom_text(at)->text))
            return NULL;
    }
    return parts == scripts[i].parts ? &scripts[i] : NULL;
}

/* LyX writes 10 to the power of 3 as "1", white space, and "0" to that power. */
static bool goes_on_in_digits(const xmlNode *power)
{
    const xmlNode *before = power->prev, *base = power->children;
    while (before && !dom_is_element(before))
        before = before->prev;
    while (base && !dom_is_element(base))
        base = base->next;
    base = base ? unwrapped(base) : NULL;
    return before && base && is(before, "mn") && is(base, "mn") &&
           text_of(before).size == 1 && text_of(base).size == 1;
}

static void read_script(struct formula *f, const xmlNode *node,
                        const struct script *script, int depth)
{
    static const char *const drawn[] = {"mfrac", "msqrt", "mroot", NULL};
    struct writer *w = f->writer;
    bool fraction = is(node, "mfrac");
    size_t p = 0;
    if (fraction && ends_in_digit(w) && !f->before[0])
        w->space = true;
    if (is(node, "msup"))
        f->more_digits = goes_on_in_digits(node);
    for (const xmlNode *at = node->children; at; at = at->next) {
        if (!dom_is_element(at)) {
            read_node(f, at, depth);
            continue;
        }
        const xmlNode *part = unwrapped(at);
        const char *sign = p && !fraction && is(part, "mo") ? "" /* a prime */
                                                            : script->signs[p];
        bool brackets = fraction ? !is_simple(at, false)
                        : p      ? *sign && !is_simple(at, true)
                                 : is_any(part, drawn);
        read_behind(f, at, read_node, sign, brackets, depth);
        p++;
    }
    f->behind = true;
}

static bool is_left_out(const xmlNode *node)
{
    return !strncmp((const char *)node->name, "annotation", 10);
}

/* The texts in it, one after the other. */
static void read_plain(struct formula *f, const xmlNode *node)
{
    bool skip = false;
    for (const xmlNode *at = dom_next(node, node, false); at;
         at = dom_next(at, node, skip)) {
        skip = dom_is_element(at) && is_left_out(at);
        if (!dom_is_element(at))
            read_text(f, dom_text(at));
    }
}

static void read_root(struct formula *f, const xmlNode *root, int depth)
{
    const xmlNode *only = only_part(root);
    read_behind(f, root, read_all, "√", !is_simple(only ? only : root, true),
                depth);
    f->behind = true;
}

static void read_node(struct formula *f, const xmlNode *node, int depth)
{
    if (!dom_is_element(node)) {
        read_text(f, dom_text(node));
        return;
    }
    if (is_left_out(node))
        return;
    if (depth > MAX_DEPTH) {
        read_plain(f, node);
        return;
    }
    const struct script *script = script_of(node);
    if (script) {
        read_script(f, node, script, depth + 1);
        return;
    }
    if (is(node, "msqrt")) {
        read_root(f, node, depth + 1);
        return;
    }
    if (is(node, "mspace") || is(node, "mtd") || is(node, "mtr"))
        writer_space(f->writer);
    read_all(f, node, depth + 1);
}

void mathml_read(struct writer *writer, const xmlNode *formula)
{
    struct formula f = {.writer = writer};
    read_all(&f, formula, 0);
}
