/* Rotary positions (RoFormer, arXiv 2104.09864): how fast each pair of a head
 * turns, and how a context longer than the trained one changes that. */
#ifndef MODEL_WEIGHTS_ROTARY_H
#define MODEL_WEIGHTS_ROTARY_H

#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

enum rotary_kind {
    ROTARY_PLAIN,
    ROTARY_LINEAR, /* all frequencies / factor */
    ROTARY_LLAMA3, /* the slow ones / factor, those between partly */
    ROTARY_YARN    /* likewise by pairs (arXiv 2309.00071), and larger scores */
};

struct rotary {
    int kind; /* enum rotary_kind */
    double theta, factor;
    double trained;   /* positions before the scaling */
    double low, high; /* llama3: turns over `trained` below which a pair slows
                         down wholly, above which not at all; yarn: the same,
                         beta_slow and beta_fast */
    bool truncate;    /* yarn: the pairs between which it ramps are whole */
    double attention; /* yarn: cosines and sines are times this */
    double min;       /* a pair that turns more slowly does not turn at all,
                         unless it is the first (HoPE, arXiv 2410.21216) */
};

/* From config.json's `rope_theta` and `rope_scaling`, or transformers 5's
 * `rope_parameters`.  `by_kind`: there, objects for "full_attention" and
 * "sliding_attention" may stand in it; a scaling elsewhere is of the first
 * only.  ret[0]: of layers that see all, ret[1]: of those with a window. */
int rotary_from(const cJSON *root, double theta, size_t context, bool by_kind,
                struct rotary ret[2], struct err *err);

/* ret [d / 2]: by how much each pair turns from one position to the next. */
void rotary_frequencies(const struct rotary *rotary, size_t d, double *ret);

#endif
