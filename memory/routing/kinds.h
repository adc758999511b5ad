/* Which kinds of block the sections own, and what one such block is worth to a
 * question. */
#ifndef MEMORY_ROUTING_KINDS_H
#define MEMORY_ROUTING_KINDS_H

#include "memory/lexical/lexical.h"

/* A set of kinds, a bit for each enum block_kind. */
typedef uint32_t kind_set;
static inline kind_set kind_bit(int kind)
{
    return (kind_set)1 << kind;
}

/* ret: [outline->count], of each node's own blocks; belongs to the view.  Read
 * from the store the first time that it is asked for. */
int kinds_of(const struct snapshot *snapshot, const struct view *view,
             const kind_set **ret, struct err *err);

/* A node's best block of the kinds. */
struct kind_block {
    uint32_t block; /* index in the node's content; TREE_NONE: it has none */
    double score;   /* BM25 of the node with that block for its body */
};

/* sought: all terms of the query; row: the node's matches; maker: for the text's
 * terms. */
int kinds_best(const struct snapshot *snapshot, const struct view *view,
               uint32_t node, kind_set kinds, const struct query *query,
               const struct sought_terms *sought, const struct match *row,
               struct analyzer *maker, struct kind_block *ret, struct err *err);

#endif
