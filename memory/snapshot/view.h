/* Reading a manual's generation into memory: what library.c keeps. */
#ifndef MEMORY_SNAPSHOT_VIEW_H
#define MEMORY_SNAPSHOT_VIEW_H

#include "memory/snapshot/library.h"

/* Takes the manual's record over, also on failure.  Vectors that are damaged
 * are logged and left out. */
int view_read(struct store_txn *txn, struct manual *manual,
              struct view **ret_view, struct err *err);
/* Returns a view that shares all but its record and vectors with `of`, which must
 * outlive it: these are still to come. */
struct view *view_share(struct view *of);
/* Takes the vectors of a later build of the same generation, and owns the record. */
void view_take_vectors(struct store_txn *txn, struct manual *manual,
                       struct view *view);
/* Frees the view, not what it shares. */
void view_free(struct view *view);

/* The node with this id, TREE_NONE: none. */
uint32_t view_find(const struct view *view, uint64_t id);

#endif
