/* Several files become one tree; navigation.h tells where each stands. */
#ifndef INDEXER_ASSEMBLE_H
#define INDEXER_ASSEMBLE_H

#include "base/err.h"
#include "tree/tree.h"

/* Returns what assembling needs of a file's tree: an outline of its own with titles,
 * anchors, origins, own hashes and the page; words is 1 where there is
 * content, else 0. */
struct tree *assemble_skeleton(const struct tree *tree);

struct piece {
    const char *path;       /* relative to the manual's root */
    struct tree *skeleton;  /* of the file's tree */
    struct hash128 content; /* equal for equal files; 0, 0: not known */
};

/* The piece of that path; TREE_NONE: there is none. */
uint32_t assemble_find(const struct piece *pieces, uint32_t count,
                       const char *path);

/* pieces [count] in byte order of their paths; file i of the outline is piece
 * i.  `aliases`: nodes are given the names that the manual's indexes have for
 * them.  Ids are left 0. */
int assemble(const char *manual, const struct piece *pieces, uint32_t count,
             bool aliases, struct tree **ret_outline, struct err *err);

/* Gives each node of `outline` that is also in `old` (NULL: none) its id, by
 * (file, anchor), by path of titles and own hash, by path of titles with
 * ordinal, by own hash, in this order;
 * ret_old[n] is its index there, TREE_NONE: it is new.  [outline->count] */
void assemble_match(struct tree *outline, const struct tree *old,
                    uint32_t *ret_old);

#endif
