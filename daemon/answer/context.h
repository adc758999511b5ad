/* The context of an answer: the sections of the best passages, as the
 * numbered sources of a prompt.
 *
 * Passages under one parent become one source, titled as the parent, while all
 * of their sections' text fits into a source's tokens; so room is left for
 * other places.  A source that is hardly filled goes on with the sections that
 * follow under the same parent.  A section that says what one before it says,
 * in the same manual or another, is left out. */
#ifndef DAEMON_ANSWER_CONTEXT_H
#define DAEMON_ANSWER_CONTEXT_H

#include "daemon/answer/cite.h"
#include "daemon/engine/prompt.h"
#include "memory/snapshot/content.h"
#include "memory/routing/passage.h"

/* A section in a source. */
struct context_part {
    struct content content;
    struct passage passage; /* of a neighbour: no text, score 0 */
};

struct context_source {
    struct slice title;
    struct context_part *parts; /* [part_count], in the manual's order */
    size_t part_count, best;    /* `best`: whose passage is the source's */
    struct block *blocks;       /* [count] of all parts; texts are theirs */
    struct slice *heads;        /* [count] title above the block, or empty */
    size_t *owners;             /* [count] index of the part */
    size_t count;
};

struct context_limits {
    size_t sources; /* most */
    size_t tokens;  /* most of one, with its titles */
};

struct context {
    struct context_source *sources; /* [count], of the best passages first */
    size_t count;
};

/* Opens the sections; they stay valid as long as the snapshot and the passages. */
int context_open(const struct snapshot *snapshot,
                 const struct passages *passages,
                 const struct context_limits *limits,
                 const struct prompt_counter *counter, struct context *ret,
                 struct err *err);
/* Opens all sections of a sub-tree, a source each, in the manual's order.  ERR_LIMIT:
 * they have more words than `tokens`; ERR_NOT_FOUND: nothing is written there. */
int context_below(const struct snapshot *snapshot, const struct view *view,
                  uint32_t node, size_t tokens, struct context *ret,
                  struct err *err);
/* Puts all sources but the first in the order of manuals and their places, so that
 * prompts of the same sources begin alike, whatever was asked. */
void context_settle(struct context *context);
void context_close(struct context *context);

struct prompt_source context_prompt(const struct context_source *source);

/* The part that a block of the source belongs to. */
const struct context_part *context_owner(const struct context_source *source,
                                         const struct block *block);

#endif
