/* Results that are another edition of one before them: the same section in a manual's
 * other version or language, or copied word for word into another manual.
 *
 * Manuals, or the languages within one, are editions of one work when at least half of
 * the smaller one's places (file and anchor, less the language in the path) are in the
 * other.  A section is a copy of another edition's when it stands at the same place and
 * has the same title, or another language; or, of whatever manuals, when title and
 * nearly all of the text are the same. */
#ifndef DAEMON_ANSWER_COPIES_H
#define DAEMON_ANSWER_COPIES_H

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

/* Hits to ask for where `max` are wanted that are no copies. */
size_t copies_depth(size_t max);

/* Keeps the first `max` hits that are no copies, in their order, and lists the copies of
 * these.  What cannot be read is no copy by its text. */
void copies_fold(const struct snapshot *snapshot, struct route_result *route,
                 size_t max, struct copies *ret);
void copies_free(struct copies *copies);

/* "copies" {manual, node, file} of a hit; no member where it has none. */
void copies_put(struct json *json, const struct copies *copies, size_t hit);

#endif
