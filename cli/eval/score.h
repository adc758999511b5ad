/* The arithmetic of `lectern eval`. */
#ifndef CLI_EVAL_SCORE_H
#define CLI_EVAL_SCORE_H

#include <stddef.h>

/* A figure (a mean, if nothing else is said) and its 95 % interval by the
 * percentile bootstrap.  That of the differences of two runs on the same
 * questions is the paired bootstrap. */
struct score {
    double mean, low, high; /* NaN when there are no values */
    size_t count;
};

enum { SCORE_RESAMPLES = 1000 };

/* The seed is fixed: the same values give the same interval. */
struct score score_of(const double *values, size_t count);

/* Scores the sum of `parts` over the sum of `wholes`, pairs drawn together: a
 * share of what each question has several of. */
struct score score_of_ratio(const double *parts, const double *wholes,
                            size_t count);

/* Scores the value below which `share` of the values lie. */
struct score score_of_quantile(const double *values, size_t count,
                               double share);

/* The value below which `share` (0..1) of the values lie, interpolated; NaN
 * without values.  Sorts them. */
double score_quantile(double *values, size_t count, double share);

/* Token F1 and ROUGE-L (F, beta 1) of an answer against a reference, both
 * normalised as SQuAD does: lower case, ASCII punctuation and the articles a,
 * an, the removed. */
double score_f1(const char *answer, const char *reference);
double score_rouge_l(const char *answer, const char *reference);

#endif
