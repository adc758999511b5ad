/* Reading a manual's generation into memory: what library.c keeps. */
#ifndef MEMORY_SNAPSHOT_VOLUME_H
#define MEMORY_SNAPSHOT_VOLUME_H

#include "memory/snapshot/library.h"

/* Takes the manual's record over, also on failure.  Vectors that are damaged
 * are logged and left out. */
int volume_read(struct store_txn *txn, struct manual *manual,
                struct volume **ret_volume, struct err *err);
/* What shares all but its record and vectors with `of`, which must outlive it:
 * they are still to come. */
struct volume *volume_share(struct volume *of);
/* Of the same generation, those of a later making.  Takes the record over. */
void volume_take_vectors(struct store_txn *txn, struct manual *manual,
                         struct volume *volume);
/* Not what it shares. */
void volume_free(struct volume *volume);

/* The node with this id, TREE_NONE: none. */
uint32_t volume_find(const struct volume *volume, uint64_t id);

#endif
