/* The best results by late interaction: how near each of the question's tokens comes to
 * some token of a section says more than two vectors of the whole (docs/log/people.md). */
#include <stdlib.h>
#include <string.h>

#include "memory/routing/route_internal.h"
#include "memory/vectors/token_codes.h"

/* That are looked at, and what the match counts beside the fused score as a share of the
 * best one's: of codes of tokens, as a share of the best match, and of pieces as it is;
 * chosen on people's questions and on those of tests/questions/asked. */
enum { DEPTH = 30 };
static const double WEIGHT = 0.5, PIECES_WEIGHT = 1.5;

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

/* What of which no tokens are known gets: the mean of the others, 0 of the worst of
 * which and 1 of the best. */
static size_t rate(const struct fused *fused, size_t count, double *ret)
{
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double score = fused[i].tokens.score;
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
        ret[i] += WEIGHT * scaled;
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

/* Of the best that rankings gave: what rules about names add to it decides as before. */
static void share_scores(const struct fused *fused, size_t count, double *ret)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fused[i].ranked > most ? fused[i].ranked : most;
    for (size_t i = 0; i < count; i++)
        ret[i] = most > 0 ? fused[i].score / most : 0;
}

/* A question that is being typed cannot wait. */
static bool has_pieces(const struct route_request *request)
{
    return request->pieces && !request->typing;
}

void match_tokens(const struct routing *routing, struct fused *fused,
                  size_t count)
{
    const struct route_request *request = routing->request;
    double scores[DEPTH];
    bool known = false;
    count = count < DEPTH ? count : DEPTH;
    if (request->mode != ROUTE_AUTO || request->weights || !count)
        return;
    share_scores(fused, count, scores);
    if (request->tokens && match_each(routing, fused, count)) {
        known = rate(fused, count, scores) > 0;
    } else if (!request->tokens && has_pieces(request) &&
               match_pieces(routing, fused, count)) {
        known = true;
        for (size_t i = 0; i < count; i++)
            scores[i] += PIECES_WEIGHT * fused[i].tokens.score;
    } else {
        return;
    }
    rank_matches(fused, count);
    if (known)
        rankings_reorder(fused, scores, count);
}
