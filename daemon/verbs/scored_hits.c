#include "daemon/verbs/scored_hits.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct scored_hit *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void scored_hits_sort(struct scored_hit *hits, size_t count)
{
    if (count)
        qsort(hits, count, sizeof *hits, compare);
}
