/* Results that repeat one before them: the same section of a manual's other
 * version, copied into another manual, or in another language.
 *
 * Between manuals a section is a copy when it has the same title (however
 * chapters are numbered) and its text resembles (shingles.h): nearly all of it
 * anywhere, half of it at the same file and anchor.  What is called alike and says
 * something else is never hidden.  Within a manual the same holds of two files, as a page
 * and another that has it once more, and a section is a copy, too, when it
 * is the same file and anchor in another language, and most files come in both
 * (languages.h).  Of copies in one manual the one that makes up its page is shown,
 * whichever was found first. */
#ifndef DAEMON_ANSWER_COPIES_H
#define DAEMON_ANSWER_COPIES_H

#include <stdatomic.h>

#include "base/json.h"
#include "memory/routing/route.h"

struct copy {
    size_t of; /* index of the hit that is shown for it */
    const struct view *view;
    uint32_t node;
};

struct copies {
    struct copy *items; /* [count] */
    size_t count;
};

/* What counts as a copy. */
struct copies_rule {
    bool equal;   /* the same words, for what does not name the copies; else as
                     above: for a list, which does */
    bool between; /* manuals and languages, too; else only files of one */
};

/* Number of hits to ask for where `max` are wanted that are no copies. */
size_t copies_depth(size_t max);

/* Keeps the first `max` hits that are no copies, in their order, and lists the
 * copies of these.  A text that cannot be read, or that is too long to compare, is
 * no copy unless its hash is the same.  Stops comparing when `cancelled`
 * (may be NULL) is set.  Free `ret` with copies_free. */
void copies_fold(const struct snapshot *snapshot, struct route_result *route,
                 size_t max, struct copies_rule rule,
                 const atomic_bool *cancelled, struct copies *ret);
void copies_free(struct copies *copies);

/* "copies" {manual, node, file} of a hit; no member where it has none. */
void copies_put(struct json *json, const struct copies *copies, size_t hit);

#endif
