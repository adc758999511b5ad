/* The model as memory sees it.  The daemon fills it from model/; memory never
 * sees tensors, weights or devices.
 *
 * Every function may be called from any thread and waits until it is done.
 * Errors: ERR_MODEL, the model cannot be opened, or failed; ERR_CANCELLED; ERR_LIMIT.
 * `ret` arrays belong to the caller. */
#ifndef MEMORY_EMBEDDINGS_EMBEDDER_H
#define MEMORY_EMBEDDINGS_EMBEDDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

/* How the children's memories become one (H2MT 2.2.3). */
enum aggregate_policy { AGGREGATE_MEAN, AGGREGATE_ATTENTION };
/* The recall that an inner node's own segments are encoded with: nothing, the aggregate
 * of its children (the paper's), or the children's memories themselves. */
enum recall_policy { RECALL_OFF, RECALL_AGGREGATE, RECALL_CHILDREN };

/* The soft token t of E_t (HMT). */
enum embed_soft {
    EMBED_SUMMARY, /* mem: a question, or the summary query of a segment */
    EMBED_ALONE,   /* mem0: a segment that recalls nothing */
    EMBED_RECALL   /* a recalled vector */
};

struct embed_text {
    const int32_t *ids; /* [count] */
    size_t count;
    int soft;            /* enum embed_soft */
    const float *recall; /* [width], for EMBED_RECALL */
    float *ret_tokens; /* [count, width] gets each token's own vector, of length
                            1, zeros of those that the model does not read; NULL:
                            not wanted */
    /* [count] gets the length that each had, 0 of those; NULL: not wanted, else
     * ret_tokens is. */
    float *ret_lengths;
};

struct embed_ids {
    int32_t *ids; /* [count] */
    size_t count, capacity;
};

struct embedder_facts {
    size_t width;           /* D: of memories */
    size_t key_width;       /* p: of keys, where routing happens */
    size_t context;         /* most tokens of a text */
    size_t tokens;          /* of the vocabulary: ids are below */
    bool recalls;           /* trained to recall: else RECALL_OFF */
    bool keys_are_memories; /* a key is its memory, made unit length */
    bool embeds;            /* made to embed texts, and nothing else */
    bool bag;               /* a token's vector is the same in every text */
    bool words; /* a text's tokens are those of its words alone: cut at
                               white space it has the same ones */
    struct hash128 model, tokenizer; /* fingerprints */
};

struct embedder {
    void *context;

    /* Opens the model when it is not open yet. */
    int (*facts)(void *context, struct embedder_facts *ret, struct err *err);

    /* Appends the ids of `text`. */
    int (*tokenize)(void *context, struct slice text, struct embed_ids *ids,
                    struct err *err);

    /* ret [count, width]: E_t of each text. */
    int (*embed)(void *context, const struct embed_text *texts, size_t count,
                 float *ret, struct err *err);

    /* ret [width] = softmax((query Wq)(memories Wk)^T / sqrt(p)) memories;
     * memories [count, width], count >= 1. */
    int (*recall)(void *context, const float *query, const float *memories,
                  size_t count, float *ret, struct err *err);

    /* ret [groups, width]: each group of children as one, group g the vectors
     * [start[g], start[g + 1]) of children [start[groups], width], at least
     * one; start[0] is 0. */
    int (*aggregate)(void *context, int policy, const float *children,
                     const size_t *start, size_t groups, float *ret,
                     struct err *err);

    /* ret [count, key_width]: memories [count, width] in key space, m Wk
     * (without trained projections: m), each of length 1. */
    int (*keys)(void *context, const float *memories, size_t count, float *ret,
                struct err *err);

    /* ret [key_width]: a question in key space, of length 1. */
    int (*question)(void *context, const char *text, float *ret,
                    struct err *err);
};

#endif
