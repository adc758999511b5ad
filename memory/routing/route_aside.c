/* Sections that stand beside what they tell of: what changed from version to version, and
 * the source of what is documented. */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/routing/route_internal.h"

/* What such a section loses of its fused score; chosen for history on people's
 * questions (docs/log/people.md). */
static const double ASIDE = 0.35;
enum { LONGEST_TITLE = 80 };

static const char *const history_titles[] = {
    "change history", "change log",         "changelog",
    "changes in",     "history of changes", "release history",
    "release notes",  "revision history",   "version history",
    "what s new",     "whats new"};
static const char *const whole_titles[] = {"changes", "history", "news"};

/* Words by which a question asks for what changed; as they are written. */
static const char *const asks_for_history[] = {
    "changed",  "changelog", "changes",  "deprecated", "introduced", "news",
    "obsolete", "release",   "released", "releases",   "regression", "removed",
    "upgraded", "upgrading", "upgrade",  "version",    "versions"};

/* Sphinx's pages of a module's source. */
static const char listing_title[] = "Source code for ";
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
static bool may_be_history(struct slice title)
{
    static const char *const in_all[] = {"hang", "hist", "note", "new"};
    for (size_t i = 0; i < title.size; i++) {
        int c = (unsigned char)title.data[i] | 32;
        if (c >= 0x80) /* may be folded away */
            return true;
        if (c != 'h' && c != 'n')
            continue;
        for (size_t w = 0; w < sizeof in_all / sizeof *in_all; w++)
            if (title.size - i >= strlen(in_all[w]) &&
                !strncasecmp(title.data + i, in_all[w], strlen(in_all[w])))
                return true;
    }
    return false;
}

static bool is_history_title(struct slice title)
{
    struct buf folded = {0};
    bool is = false;
    if (title.size > LONGEST_TITLE || !may_be_history(title))
        return false;
    text_fold_compare(&folded, title);
    buf_put_byte(&folded, '\0');
    const char *name = folded.data + strspn(folded.data, "0123456789 ");
    for (size_t i = 0; i < sizeof history_titles / sizeof *history_titles; i++)
        is |= strstr(name, history_titles[i]) != NULL;
    for (size_t i = 0; i < sizeof whole_titles / sizeof *whole_titles; i++)
        is |= !strcmp(name, whole_titles[i]);
    buf_free(&folded);
    return is;
}

struct aside {
    const struct routing *routing;
    bool history, listings; /* these are */
};

/* The root is called as the manual is, which may be nothing else. */
static double aside(const void *context, const struct fused *item)
{
    const struct aside *all = context;
    const struct tree *outline =
        all->routing->scopes[item->scope].view->outline;
    for (uint32_t n = item->node; n != TREE_NONE && n;
         n = outline->nodes[n].parent) {
        struct slice title = outline->nodes[n].title;
        if ((all->history && is_history_title(title)) ||
            (all->listings && slice_starts(title, slice_of(listing_title))))
            return -ASIDE;
    }
    return 0;
}

void set_aside(const struct routing *routing, struct fused *fused, size_t count)
{
    const struct query *query = &routing->query;
    int mode = routing->request->mode;
    struct aside all = {routing, !ASKS(query, asks_for_history),
                        !ASKS(query, asks_for_listings)};
    if ((mode == ROUTE_AUTO || mode == ROUTE_LEXICAL) &&
        (all.history || all.listings))
        rankings_add(fused, count, aside, &all);
}
