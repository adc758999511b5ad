/* Results that repeat one before them: the same section of a manual's other
 * version, copied into another manual, or in another language.
 *
 * Between manuals a section is a copy when it has the same title (however
 * chapters are numbered) and its text resembles (shingles.h): nearly all of it
 * anywhere, half of it at the same file and anchor.  What is called alike and says
 * something else is never hidden.  Within a manual a section is a copy when it
 * is the same file and anchor in another language, and most files come in both
 * (languages.h). */
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
enum copies_rule {
    COPIES_RESEMBLE, /* as above: for a list, which names the copies */
    COPIES_EQUAL     /* the same words, for what does not name them */
};

/* Number of hits to ask for where `max` are wanted that are no copies. */
size_t copies_depth(size_t max);

/* Keeps the first `max` hits that are no copies, in their order, and lists the
 * copies of these.  A text that cannot be read, or that is too long to compare, is
 * no copy unless its hash is the same.  Stops comparing when `cancelled`
 * (may be NULL) is set.  Free `ret` with copies_free. */
void copies_fold(const struct snapshot *snapshot, struct route_result *route,
                 size_t max, enum copies_rule rule,
                 const atomic_bool *cancelled, struct copies *ret);
void copies_free(struct copies *copies);

/* "copies" {manual, node, file} of a hit; no member where it has none. */
void copies_put(struct json *json, const struct copies *copies, size_t hit);

#endif
