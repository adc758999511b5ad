/* Hits that something else than routing puts in order. */
#ifndef DAEMON_VERBS_SCORED_HITS_H
#define DAEMON_VERBS_SCORED_HITS_H

#include "memory/routing/route.h"

struct scored_hit {
    struct route_hit hit;
    double score;
    size_t place; /* before */
};

/* By falling scores; of equal ones that of the earlier place first. */
void scored_hits_sort(struct scored_hit *hits, size_t count);

#endif
