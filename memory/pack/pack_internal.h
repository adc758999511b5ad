/* What the files of the packs share. */
#ifndef MEMORY_PACK_PACK_INTERNAL_H
#define MEMORY_PACK_PACK_INTERNAL_H

#include "memory/pack/pack.h"

int pack_start(struct err *err); /* libsodium, once */

/* ERR_FORMAT, with what cannot be. */
int pack_wrong(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether a manual may be called so. */
int pack_check_name(const char *name, struct err *err);

/* How much of a tree is believed, by the bytes it is encoded in. */
struct tree_limits pack_tree_limits(size_t size);

/* pack_check.c: every record of a decoded pack against the others. */
int pack_check(const struct pack *pack, struct err *err);

/* The nodes of each tree, as a list: next[n] is the next of the same, TREE_NONE: no more.
 * Several files may be of one tree. */
struct pack_deal {
    uint32_t *first; /* [tree_count] */
    uint32_t *next;  /* [outline->count] */
};
/* Of a pack whose outline and files have been checked. */
struct pack_deal pack_deal_out(const struct pack *pack);
void pack_deal_free(struct pack_deal *deal);

/* The body of what was gathered, with trees, files and records in their order. */
void pack_encode(const struct pack *pack, struct buf *out);

#endif
