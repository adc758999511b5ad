/* Passages: the sentences of the found sections that say most about the
 * question, to be quoted. */
#ifndef MEMORY_ROUTING_PASSAGE_H
#define MEMORY_ROUTING_PASSAGE_H

#include <stdatomic.h>

#include "memory/routing/route.h"

/* Where a passage is cut within its sentence, statement or list. */
enum passage_cut { CUT_BEGIN = 1, CUT_END = 2 };

struct passage {
    const struct view *view;
    uint32_t node;       /* in the outline */
    struct slice text;   /* within one line, row or piece of code of one block:
                            what is quoted */
    size_t at;           /* where it begins in the block's text */
    struct origin block; /* the block's origin; file: outline's index */
    int kind;            /* enum block_kind */
    int encoding;        /* of the file: enum encoding */
    double score;
    double share;   /* of the best hit's score, its section's */
    uint64_t terms; /* of the question that it holds, a bit each */
    double about;   /* greatest share of a part of the question in its title */
    uint8_t sides;  /* of a comparison that its section is called as */
    unsigned cut;   /* enum passage_cut, of units; 0: nowhere */
    uint32_t index; /* of the block in its node; of those chosen, and units */
};

struct passages {
    struct passage *items; /* [count], in order of the hits */
    size_t count, capacity;
    struct arena arena; /* holds the text */
};

/* Chooses passages from at most `max` sections that a question was routed to: up
 * to four of the best section, each of another line, row or piece, one of each of the others,
 * in the order of the hits; none that says, word for word, what one before it
 * says, and none from hits that are far weaker than the strongest; in the place of a best
 * one that the question is the title of and that has no text of its own one of each of
 * its parts.  `kinds`: only
 * from blocks of these; 0: of all.  `cancel` (NULL: never) is polled:
 * ERR_CANCELLED.  Free the passages with passages_free. */
int passages_choose(const struct snapshot *snapshot,
                    const struct route_result *route, size_t max,
                    kind_set kinds, const atomic_bool *cancel,
                    struct passages *ret_passages, struct err *err);
void passages_free(struct passages *passages);

/* Appends to ret [count], of each of the first `count` hits, at most `bytes` of its
 * section's text, from the sentence, row or piece on that says most of the question; all
 * of one that is no longer, the end of one that ends before: by what a model is to judge
 * it.  What cannot be read has none.  ERR_CANCELLED. */
int passages_excerpts(const struct snapshot *snapshot,
                      const struct route_result *route, size_t count,
                      size_t bytes, const atomic_bool *cancel, struct buf *ret,
                      struct err *err);

/* Measures how much of a question texts hold.  The route must outlive it. */
struct passage_measure;
struct passage_measure *passage_measure_open(const struct route_result *route);
void passage_measure_close(struct passage_measure *measure); /* NULL: ok */
/* Those of the question's terms that the text holds, a bit each. */
uint64_t passage_measure_terms(const struct passage_measure *measure,
                               struct slice text);
/* The share of the question's information that the terms are: 0..1. */
double passage_measure_share(const struct passage_measure *measure,
                             uint64_t terms);

#endif
