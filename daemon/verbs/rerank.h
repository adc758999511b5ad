/* Reranking: the best sections that were found, in the order in which a model that
 * reads the question with each of them puts them. */
#ifndef DAEMON_VERBS_RERANK_H
#define DAEMON_VERBS_RERANK_H

#include "daemon/answer/question.h"
#include "daemon/verbs/verbs.h"
#include "memory/routing/route.h"

enum {
    RERANK_HITS = 30,   /* that are looked at */
    RERANK_MS = 1000,   /* after which no more are */
    RERANK_BYTES = 1000 /* of a section's text */
};

/* Whether there is a reranker. */
bool rerank_wanted(const struct call *call);

/* Puts the first hits in that order, and says in *ret who did and of how many; those
 * for which there was no time follow as they were.  Without a reranker, or when it
 * fails, nothing changes; ERR_CANCELLED. */
int rerank(const struct call *call, const struct snapshot *snapshot,
           const char *question, struct route_result *route,
           struct question *ret, struct err *err);

/* "reranked", where that was done. */
void rerank_put(struct json *json, const struct question *question);

#endif
