/* Confidence: the probability that the manuals asked hold an answer, from what is at
 * hand when their sections have been ranked. */
#ifndef MEMORY_ROUTING_CONFIDENCE_H
#define MEMORY_ROUTING_CONFIDENCE_H

#include <stdbool.h>

/* What it is told from; shares of information are of the question's, weight times
 * idf of its terms. */
enum confidence_feature {
    CONFIDENCE_BM25,  /* BM25 of the best of the first three, as a share of what
                          a section that is all about it would have */
    CONFIDENCE_BLOCK, /* the same with a section's best block for its body */
    CONFIDENCE_MARGIN, /* how far the fourth's score is below the first's: a share
                          of that; where there are no four the usual one */
    CONFIDENCE_MISSING,     /* share of information of words that stand nowhere,
                               nor anything like them */
    CONFIDENCE_INFORMATION, /* ln(1 + information of the question) */
    CONFIDENCE_TERMS,       /* ln(1 + its terms) */
    CONFIDENCE_COMMON,      /* share of them that are everyday words */
    CONFIDENCE_AGREEMENT, /* 1 / the best rank that one of the first three has among
                             the nearest by meaning; 0: it has none */
    CONFIDENCE_MEMORIES, /* 1: the nearest by meaning were looked for */
    CONFIDENCE_FEATURES
};
extern const char *const confidence_feature_names[CONFIDENCE_FEATURES];

/* Returns the probability, 0 to 1.  english: the question is, or nothing says otherwise. */
double confidence_from(const double features[CONFIDENCE_FEATURES],
                       bool english);

#endif
