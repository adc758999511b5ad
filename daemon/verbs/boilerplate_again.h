/* The boilerplate that indexing excluded from a section, read from its file again. */
#ifndef DAEMON_VERBS_BOILERPLATE_AGAIN_H
#define DAEMON_VERBS_BOILERPLATE_AGAIN_H

#include "base/json.h"
#include "daemon/verbs/verbs.h"

struct boilerplate_text {
    struct slice reason; /* "navigation", "hidden", "repeated"... */
    struct slice text;
    struct span span;
};

/* In the order of the file; of the node that heads a page, all of the page. */
struct boilerplate {
    struct tree *chrome, *content;  /* that the texts are of */
    struct boilerplate_text *texts; /* [count] */
    size_t count, capacity;
};

/* ERR_STALE: the file is not the one that was indexed.  A node without a file
 * has nothing dropped, nor has one of a LaTeX document. */
int boilerplate_read(const struct call *call, const struct view *view,
                     uint32_t node, struct boilerplate *ret, struct err *err);
void boilerplate_free(struct boilerplate *boilerplate);

#endif
