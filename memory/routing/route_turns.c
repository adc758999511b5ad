/* Of results behind the first ones each second is the next by meaning.
 *
 * One fused score puts first what words and meaning both find.  What a reader looks
 * for further down are other readings of the question, and there a section that a
 * model made to embed finds near, without its words, is as likely right as one that
 * words alone find (docs/log/people.md). */
#include <stdlib.h>
#include <string.h>

#include "memory/routing/route_internal.h"

/* Results that the fused score alone decides; of 3, 4, 5, 7 and 8 the fewest that lose
 * nothing among the first five. */
enum { FIRST = 5 };

/* An item's place by the fused score, and its meaning: its cosine from 0, the worst of
 * all ranked, to 1, the best, and what rules about names and manuals have added. */
struct meant {
    size_t place;
    double meaning;
};

static int by_meaning(const void *a, const void *b)
{
    const struct meant *x = a, *y = b;
    if (x->meaning != y->meaning)
        return x->meaning > y->meaning ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Returns how many have a cosine, best first. */
static size_t list_meant(const struct fused *fused, size_t count,
                         struct meant *list)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        const struct route_place *dense = &fused[i].by[ROUTE_BY_DENSE];
        if (!dense->rank)
            continue;
        low = dense->score < low ? dense->score : low;
        high = dense->score > high ? dense->score : high;
        list[listed++] = (struct meant){i, dense->score};
    }
    for (size_t k = 0; k < listed; k++) {
        const struct fused *item = &fused[list[k].place];
        double scaled = high > low ? (list[k].meaning - low) / (high - low) : 1;
        list[k].meaning = scaled + item->score - item->ranked;
    }
    if (listed)
        qsort(list, listed, sizeof *list, by_meaning);
    return listed;
}

/* The items in the new order: behind the first ones one by meaning, one by score, ... An
 * item that moves up has the score of the one before which it comes to stand. */
static void put_in_turn(const struct fused *fused, size_t count,
                        const struct meant *list, size_t listed,
                        struct fused *out)
{
    bool *taken = mem_alloc(count * sizeof *taken);
    size_t next = 0, meant = 0;
    for (size_t i = 0; i < count; i++) {
        while (taken[next])
            next++;
        while (meant < listed && taken[list[meant].place])
            meant++;
        bool by_turn = i >= FIRST && (i - FIRST) % 2 == 0 && meant < listed;
        size_t from = by_turn ? list[meant].place : next;
        out[i] = fused[from];
        out[i].score = fused[next].score;
        taken[from] = true;
    }
    free(taken);
}

void take_turns(const struct routing *routing, struct fused *fused,
                size_t count)
{
    const struct route_request *request = routing->request;
    if (request->mode != ROUTE_AUTO || request->weights || !request->vector ||
        !request->embeds || count <= FIRST)
        return;
    struct meant *list = mem_alloc(count * sizeof *list);
    struct fused *out = mem_alloc(count * sizeof *out);
    size_t listed = list_meant(fused, count, list);
    put_in_turn(fused, count, list, listed, out);
    memcpy(fused, out, count * sizeof *fused);
    free(list);
    free(out);
}
