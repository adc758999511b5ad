/* The plan of a manual's memories, known before any is made: the segments of
 * every node, and the names of all that is encoded, by hashing alone.
 *
 *   memory of a segment   what its encoder sees: model, tokenizer, heading,
 *                         text, how many tokens; when it recalls: L, what (by policy),
 *                         and the name of that
 *   c, of a whole node    its segments' memories and counts, and a's name
 *   a, of its children    how they are aggregated, and the names of their c
 *
 * So an edit renames its segments, and those of its ancestors that recall. */
#ifndef MEMORY_EMBEDDINGS_PLAN_H
#define MEMORY_EMBEDDINGS_PLAN_H

#include "memory/snapshot/content.h"
#include "memory/embeddings/plan_cache.h"
#include "memory/embeddings/memories.h"
#include "memory/embeddings/segment.h"

/* One making of a manual's vectors. */
struct build {
    const struct snapshot *snapshot;
    const struct view *view;
    const struct embedder *embedder;
    struct embedder_facts facts;
    struct memory_policy policy; /* recall as the model can */
    const atomic_bool *cancel;
    const struct plan_cache_manual
        *plan_cache; /* of the vectors before; NULL: nothing */
    bool only_look;  /* segments that the store does not have are not cut: their
                       nodes have none */
};

/* A node that is kept, with all below it as it was, has only tokens and `whole`. */
struct node_plan {
    const struct cached_node *cached; /* NULL: it is to be made */
    struct segments segments;
    size_t first;              /* of its segments, among those to be made */
    uint64_t own, below;       /* tokens: of its segments, of its descendants */
    struct hash128 kept_under; /* its segments in the store */
    struct hash128 recalls;    /* name of L_v */
    struct hash128 whole;      /* name of c */
};

struct plan {
    struct node_plan *nodes; /* [outline->count] */
    struct hash128 *names;   /* [made] of memories */
    size_t made;             /* segments of nodes that are not kept */
    size_t segments, tokens; /* of all */
    uint32_t made_nodes;
};

/* Nodes whose segments the store does not have are cut, and theirs put there,
 * unless it only looks. */
int plan_make(const struct build *build, struct plan *ret, struct err *err);
void plan_free(struct plan *plan, const struct view *view);

/* Names of what the vectors of nodes that are not kept are made of, each once,
 * sorted; freed by the caller. */
struct hash128 *plan_names(const struct plan *plan, uint32_t nodes,
                           uint32_t *ret_count);

/* Segments of this node recall. */
bool plan_recalls(const struct build *build, uint32_t node);

/* Tokens that a heading has at most: 32, or half of what the model reads. */
size_t plan_heading_tokens(const struct embedder_facts *facts);
/* Appends what a model made to embed reads before a segment: the title of what the node
 * stands in and, but for the first segment, which begins with it, the node's own; else the
 * middle of a section does not say what it is about.  Nothing for other models. */
void plan_put_heading(const struct build *build, uint32_t node, size_t segment,
                      struct buf *ret);

/* Tokens of the segment that the encoder reads, behind its heading. */
size_t plan_reads(const struct build *build, const struct segment *segment);

/* The name of all of a node, and below it, that its memories depend on. */
struct hash128 plan_seen(const struct build *build, uint32_t node,
                         struct buf *scratch);

/* ERR_CANCELLED when it was asked for. */
int build_poll(const struct build *build, struct err *err);

/* The content of a node: of its file's tree, or, when it has none, the outline's
 * node.  Close *ret_content after use. */
int build_open(const struct build *build, uint32_t node,
               struct content *ret_content, const struct node **ret_node,
               struct err *err);

#endif
