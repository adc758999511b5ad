/* The best results by late interaction: how near each of the question's tokens comes to
 * some token of a section says more than two vectors of the whole (docs/log/people.md). */
#include <stdlib.h>
#include <string.h>

#include "memory/routing/route_internal.h"
#include "memory/vectors/token_codes.h"

/* That are looked at, and what the best match of them counts beside the fused score, as
 * a share of the best that rankings gave: what rules about names add to it decides as
 * before; chosen on people's questions and on those of tests/questions/asked. */
enum { DEPTH = 30 };
static const double WEIGHT = 0.5;

/* Less than any match. */
static const double UNKNOWN = -2;

static double match_of(const struct scope *scope, struct store_txn *txn,
                       const struct token_query *query, uint32_t node,
                       float *best)
{
    const struct vectors *vectors = scope->vectors;
    uint32_t rows = vectors ? vectors_rows_of(vectors, node) : 0;
    uint32_t row = rows ? vectors_first_row(vectors, node) : 0;
    struct slice codes;
    token_match_start(query, best);
    for (uint32_t end = row + rows; row < end; row++) {
        const struct hash128 *name = vectors_name(vectors, row);
        if (!name || store_get_tokens(txn, *name, &codes, NULL))
            return UNKNOWN;
        token_match_add(query, codes, best);
    }
    return token_match_end(query, best);
}

/* False: the store could not be read. */
static bool match_each(const struct routing *routing, struct fused *fused,
                       size_t count)
{
    const struct token_query *query = routing->request->tokens;
    struct store_txn *txn;
    if (store_read(routing->snapshot->store, &txn, NULL))
        return false;
    float *best = mem_alloc(token_query_count(query) * sizeof *best);
    for (size_t i = 0; i < count; i++)
        fused[i].tokens.score = match_of(&routing->scopes[fused[i].scope], txn,
                                         query, fused[i].node, best);
    free(best);
    store_end(txn);
    return true;
}

struct matched {
    double score;
    size_t place; /* before */
};

static int by_score(const void *a, const void *b)
{
    const struct matched *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* What of which no tokens are known gets: the mean of the others, 0 of the worst of
 * which and 1 of the best. */
static size_t rate(struct fused *fused, size_t count, struct matched *ret)
{
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0, most = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double score = fused[i].tokens.score;
        most = fused[i].ranked > most ? fused[i].ranked : most;
        if (score <= UNKNOWN)
            continue;
        low = score < low ? score : low;
        high = score > high ? score : high;
        sum += score;
        known++;
    }
    for (size_t i = 0; i < count && known; i++) {
        double score = fused[i].tokens.score;
        if (score <= UNKNOWN)
            score = sum / (double)known;
        double scaled = high > low ? (score - low) / (high - low) : 0;
        double share = most > 0 ? fused[i].score / most : 0;
        ret[i] = (struct matched){share + WEIGHT * scaled, i};
    }
    return known;
}

static void rank_matches(struct fused *fused, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct route_place *place = &fused[i].tokens;
        if (place->score <= UNKNOWN) {
            *place = (struct route_place){0};
            continue;
        }
        place->rank = 1;
        for (size_t k = 0; k < count; k++)
            place->rank += fused[k].tokens.score > place->score;
    }
}

/* The best has the score that the best had, and so on. */
static void put_in_order(struct fused *fused, size_t count,
                         const struct matched *order)
{
    struct fused before[DEPTH];
    memcpy(before, fused, count * sizeof *fused);
    for (size_t i = 0; i < count; i++) {
        fused[i] = before[order[i].place];
        fused[i].score = before[i].score;
    }
}

void match_tokens(const struct routing *routing, struct fused *fused,
                  size_t count)
{
    const struct route_request *request = routing->request;
    struct matched order[DEPTH];
    count = count < DEPTH ? count : DEPTH;
    if (request->mode != ROUTE_AUTO || request->weights || !request->tokens ||
        !count || !match_each(routing, fused, count))
        return;
    bool known = rate(fused, count, order) > 0;
    rank_matches(fused, count);
    if (!known)
        return;
    qsort(order, count, sizeof *order, by_score);
    put_in_order(fused, count, order);
}
