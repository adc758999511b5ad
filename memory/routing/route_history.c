/* Sections that tell what changed from version to version. */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "memory/routing/route_internal.h"

/* What such a section loses of its fused score; chosen on people's questions
 * (docs/log/people.md). */
static const double HISTORY = 0.35;
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

static bool asks(const struct query_term *term)
{
    size_t count = sizeof asks_for_history / sizeof *asks_for_history;
    for (size_t i = 0; i < count; i++)
        if (!term->instead_of && !strcmp(term->word, asks_for_history[i]))
            return true;
    return false;
}

static bool wants_history(const struct query *query)
{
    for (size_t t = 0; t < query->count; t++)
        if (asks(&query->terms[t]))
            return true;
    return false;
}

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

/* The root is called as the manual is, which may be nothing else. */
static double history(const void *context, const struct fused *item)
{
    const struct routing *routing = context;
    const struct tree *outline = routing->scopes[item->scope].view->outline;
    for (uint32_t n = item->node; n != TREE_NONE && n;
         n = outline->nodes[n].parent)
        if (is_history_title(outline->nodes[n].title))
            return -HISTORY;
    return 0;
}

void demote_history(const struct routing *routing, struct fused *fused,
                    size_t count)
{
    int mode = routing->request->mode;
    if ((mode == ROUTE_AUTO || mode == ROUTE_LEXICAL) &&
        !wants_history(&routing->query))
        rankings_add(fused, count, history, routing);
}
