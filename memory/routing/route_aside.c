/* Sections that stand beside what they tell of: what changed from version to version,
 * the source of what is documented, and where else to look. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/routing/route_internal.h"

enum aside_kind { HISTORY, LISTING, POINTER, ASIDE_KINDS };

/* What such a section loses of its fused score; chosen on people's questions
 * (docs/log/people.md). */
static const double loss[ASIDE_KINDS] = {
    [HISTORY] = 0.35, [LISTING] = 1, [POINTER] = 1};
enum { LONGEST_TITLE = 80 };

/* Titles as text_fold_compare has them, without their number. */
static const struct aside_title {
    const char *text;
    enum aside_kind kind;
    enum { WITHIN, BEGINNING, END, WHOLE } where;
} aside_titles[] = {
    {"change history", HISTORY, WITHIN},
    {"change log", HISTORY, WITHIN},
    {"changelog", HISTORY, WITHIN},
    {"changes in", HISTORY, WITHIN},
    {"history of changes", HISTORY, WITHIN},
    {"release history", HISTORY, WITHIN},
    {"release note", HISTORY, WITHIN},
    {"release notice", HISTORY, WITHIN},
    {"revision history", HISTORY, WITHIN},
    {"version history", HISTORY, WITHIN},
    {"what s new", HISTORY, WITHIN},
    {"whats new", HISTORY, WITHIN},
    {"changes", HISTORY, WHOLE},
    {"history", HISTORY, WHOLE},
    {"news", HISTORY, WHOLE},
    {"older news", HISTORY, WHOLE},
    {" releases", HISTORY, END},
    /* Sphinx's pages of a module's source. */
    {"source code for ", LISTING, BEGINNING},
    {"all modules for which code is available", LISTING, WHOLE},
    {"module index", POINTER, END},
    {"see also", POINTER, WHOLE},
    {"related topics", POINTER, WHOLE},
    {"related links", POINTER, WHOLE},
    {"related information", POINTER, WHOLE},
    {"further reading", POINTER, WHOLE},
};

/* Words by which a question asks for what changed; as they are written. */
static const char *const asks_for_history[] = {
    "changed",  "changelog", "changes",  "deprecated", "introduced", "news",
    "obsolete", "release",   "released", "releases",   "regression", "removed",
    "upgraded", "upgrading", "upgrade",  "version",    "versions"};

static const char *const asks_for_listings[] = {
    "source", "sources", "implementation", "implemented"};

static bool asks(const struct query *query, const char *const *words,
                 size_t count)
{
    for (size_t t = 0; t < query->count; t++)
        for (size_t i = 0; i < count && !query->terms[t].instead_of; i++)
            if (!strcmp(query->terms[t].word, words[i]))
                return true;
    return false;
}
#define ASKS(query, words) asks(query, words, sizeof(words) / sizeof *(words))

/* Each of the titles above holds one of these; most titles none, and need not be
 * folded. */
#define LETTERS(a, b, c, d)                                                    \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 |          \
     (uint32_t)(d))
static bool may_be_aside(struct slice title)
{
    uint32_t last = 0; /* the last four bytes, in lower case */
    for (size_t i = 0; i < title.size; i++) {
        unsigned char c = (unsigned char)title.data[i] | 32;
        if (c >= 0x80) /* may be folded away */
            return true;
        last = last << 8 | c;
        switch (last) {
        case LETTERS('h', 'a', 'n', 'g'):
        case LETTERS('h', 'i', 's', 't'):
        case LETTERS('n', 'o', 't', 'e'):
        case LETTERS('r', 'e', 'l', 'e'):
        case LETTERS('s', 'o', 'u', 'r'):
        case LETTERS('m', 'o', 'd', 'u'):
        case LETTERS('r', 'e', 'l', 'a'):
        case LETTERS('r', 'e', 'a', 'd'): return true;
        default: break;
        }
        if ((last & 0xFFFFFF) == LETTERS(0, 'n', 'e', 'w') ||
            (last & 0xFFFFFF) == LETTERS(0, 's', 'e', 'e'))
            return true;
    }
    return false;
}
#undef LETTERS

static bool stands_in(const struct aside_title *aside, const char *title)
{
    const char *at = strstr(title, aside->text);
    size_t size = strlen(aside->text), all = strlen(title);
    switch (aside->where) {
    case WITHIN: return at;
    case BEGINNING: return at == title;
    case END: return all >= size && !strcmp(title + all - size, aside->text);
    default: return !strcmp(title, aside->text);
    }
}

/* ASIDE_KINDS: it tells of the matter itself. */
static enum aside_kind kind_of(struct slice title)
{
    enum aside_kind kind = ASIDE_KINDS;
    struct buf folded = {0};
    if (title.size > LONGEST_TITLE || !may_be_aside(title))
        return kind;
    text_fold_compare(&folded, title);
    buf_put_byte(&folded, '\0');
    const char *name = folded.data + strspn(folded.data, "0123456789 ");
    for (size_t i = 0; i < sizeof aside_titles / sizeof *aside_titles; i++)
        if (stands_in(&aside_titles[i], name))
            kind = aside_titles[i].kind;
    buf_free(&folded);
    return kind;
}

/* "v6.2.0 (2020-04-02)", "1.8.1 (May 2020)", "Version 1.8": what one release brought;
 * "4.2 (Optional) Locks" is a section's number. */
static bool is_release(struct slice title)
{
    static const char *const heads[] = {"version ", "release ", "v"};
    size_t at = 0, dots = 0;
    if (!title.size || !strchr("0123456789vVrR", title.data[0]))
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !at; i++)
        if (title.size > strlen(heads[i]) &&
            !strncasecmp(title.data, heads[i], strlen(heads[i])))
            at = strlen(heads[i]);
    size_t digits = at;
    while (at < title.size && (isdigit((unsigned char)title.data[at]) ||
                               (title.data[at] == '.' && at > digits)))
        dots += title.data[at++] == '.';
    if (!dots || at == title.size)
        return dots > 0;
    size_t from = at + 2, end = title.size - 1;
    bool dated = end > from && title.data[at] == ' ' &&
                 title.data[at + 1] == '(' && title.data[end] == ')';
    return dated && isdigit((unsigned char)title.data[end - 1]) &&
           !memchr(title.data + from, ')', end - from);
}

/* Titles above are those of many: what they are is kept, by their nodes. */
enum { KEPT = 1024 };
struct kept_kind {
    const struct node *node;
    enum aside_kind kind;
};

struct asides {
    const struct routing *routing;
    bool are[ASIDE_KINDS];
    struct kept_kind *kept; /* [KEPT] */
};

/* Nodes and their titles lie far apart in memory: what is waited for is all of them at
 * once, not one after the other. */
static void fetch_titles(const struct routing *routing,
                         const struct fused *fused, size_t count)
{
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(fused_node(routing, &fused[i]));
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(fused_node(routing, &fused[i])->title.data);
}

static enum aside_kind kind_of_node(const struct asides *asides,
                                    const struct node *node)
{
    struct kept_kind *kept =
        &asides->kept[(uintptr_t)node / sizeof *node % KEPT];
    if (kept->node != node)
        *kept = (struct kept_kind){
            node, is_release(node->title) ? HISTORY : kind_of(node->title)};
    return kept->kind;
}

/* The root is called as the manual is, which may be nothing else. */
static double aside(const void *context, const struct fused *item)
{
    const struct asides *asides = context;
    const struct tree *outline =
        asides->routing->scopes[item->scope].view->outline;
    for (uint32_t n = item->node; n != TREE_NONE && n;
         n = outline->nodes[n].parent) {
        enum aside_kind kind = kind_of_node(asides, &outline->nodes[n]);
        if (kind < ASIDE_KINDS && asides->are[kind] &&
            (kind != POINTER || n == item->node))
            return -loss[kind];
    }
    return 0;
}

void set_aside(const struct routing *routing, struct fused *fused, size_t count)
{
    const struct query *query = &routing->query;
    int mode = routing->request->mode;
    struct kept_kind kept[KEPT] = {{0}};
    struct asides asides = {routing,
                            {[HISTORY] = !ASKS(query, asks_for_history),
                             [LISTING] = !ASKS(query, asks_for_listings),
                             [POINTER] = true},
                            kept};
    if (mode != ROUTE_AUTO && mode != ROUTE_LEXICAL)
        return;
    fetch_titles(routing, fused, count);
    rankings_add(fused, count, aside, &asides);
}
