/* The plan of each manual's last build, kept in memory: the next one
 * begins with what has changed since.  Without it all is planned and read again,
 * to the same effect. */
#ifndef MEMORY_EMBEDDINGS_PLAN_CACHE_H
#define MEMORY_EMBEDDINGS_PLAN_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct cached_node {
    uint64_t id;
    struct hash128 seen;  /* of the outline's node (plan.h) */
    struct hash128 whole; /* name of c (plan.h) */
    uint64_t own;         /* tokens of its segments */
    uint32_t segments;
    const float *c; /* [width] */
};

struct plan_cache_manual {
    uint32_t manual;
    uint64_t vectors;      /* number of their making */
    struct hash128 policy; /* that they were made by */
    size_t width;          /* D */
    uint32_t count;
    struct cached_node *nodes; /* [count] by ascending id */
    float *c;                  /* [count, width] */
};

struct plan_cache;

/* Makes a cache of several manuals' plans, as many as have room in `max_bytes`. */
struct plan_cache *plan_cache_new(size_t max_bytes);
void plan_cache_free(struct plan_cache *plan_cache); /* NULL: ok */

/* NULL: nothing of the manual's vectors of this making. */
const struct plan_cache_manual *plan_cache_find(struct plan_cache *plan_cache,
                                                uint32_t manual,
                                                uint64_t vectors,
                                                struct hash128 policy);
/* NULL: no such node, or another content. */
const struct cached_node *plan_cache_same(const struct plan_cache_manual *of,
                                          uint64_t id, struct hash128 seen);

/* Takes over what `of` points to, its nodes in any order, in place of what it had
 * of the manual; forgets other manuals, or this one, for lack of room. */
void plan_cache_put(struct plan_cache *plan_cache,
                    struct plan_cache_manual *of);

#endif
