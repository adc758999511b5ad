/* Reranking: the best sections that were found are read with the question by a model
 * made for that, and what it says of each counts beside what found them. */
#ifndef DAEMON_VERBS_RERANK_H
#define DAEMON_VERBS_RERANK_H

#include "daemon/answer/question.h"
#include "daemon/verbs/verbs.h"
#include "memory/routing/route.h"

enum {
    RERANK_HITS = 30,   /* that are looked at */
    RERANK_MS = 1000,   /* after which no more are */
    RERANK_BYTES = 600, /* of a section's text */
    RERANK_TITLES = 4   /* its own and those above, without the manual's */
};

/* Whether there is a reranker. */
bool rerank_wanted(const struct call *call);

/* Puts the first hits in the order of their score, as a share of the best one's, plus .05
 * times how many standard deviations the model's lies above the mean of those that it
 * has read; 0 of those for which there was no time.  Says in *ret which model and of how
 * many.  Without a reranker, or when it fails, nothing changes; ERR_CANCELLED. */
int rerank(const struct call *call, const struct snapshot *snapshot,
           const char *question, struct route_result *route,
           struct question *ret, struct err *err);

/* "reranked", where that was done. */
void rerank_put(struct json *json, const struct question *question);

#endif
