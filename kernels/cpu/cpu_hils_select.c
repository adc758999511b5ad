/* The choice of HiLS attention: each query's best chunks by their summaries, or by the
 * means of their keys.
 *
 * A block of summaries is brought together once for all queries of a tile, and
 * scored as a product; of means those that are at the same place of their chunks, for
 * all heads of a group, and the highest scores stay.  A query's head has a list of twice as many chunks as are
 * wanted: what does not exceed the least that was wanted when the list was last
 * full is dropped at once, 64 chunks at a time, and a full list is halved.  The
 * lists stay in the order of the chunks.
 *
 * A chunk that is among the best of a group is among the best of the head that
 * it owes that to. */
#include "kernels/cpu/cpu_hils.h"

enum {
    MAX_QUERIES = 512,  /* of a tile, times the heads of a group */
    MAX_LISTED = 32768, /* places of a tile's lists together */
    MAX_FLOATS = 65536, /* of its queries */
    FEW_QUERIES = 4,    /* not worth products' layout */
    AHEAD = 8           /* summaries asked for before they are read */
};

/* A score and a chunk, so that the higher is the better: of equal scores the
 * lower chunk; a NaN is below all. */
static uint64_t entry(float score, size_t chunk)
{
    uint32_t bits;
    score += 0.0F; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 0x80000000U;
    return (uint64_t)(isnan(score) ? 0 : bits) << 32 | ~(uint32_t)chunk;
}

static int32_t chunk_of(uint64_t entry)
{
    return (int32_t) ~(uint32_t)entry;
}

static float score_of(uint64_t entry)
{
    uint32_t bits = (uint32_t)(entry >> 32);
    float score = NAN;
    if (bits) {
        bits = bits >> 31 ? bits & 0x7FFFFFFFU : ~bits;
        memcpy(&score, &bits, sizeof score);
    }
    return score;
}

/* The k-th highest of list [count], 0 < k <= count; list is reordered. */
static uint64_t highest(uint64_t *list, size_t count, size_t k)
{
    size_t from = 0, to = count;
    while (to - from > 1) {
        uint64_t a = list[from], b = list[from + (to - from) / 2];
        uint64_t c = list[to - 1], pivot, x;
        uint64_t low = a < b ? a : b, high = a < b ? b : a;
        pivot = c < low ? low : c > high ? high : c; /* the median */
        size_t above = from;
        for (size_t j = from; j < to; j++) {
            x = list[j];
            list[j] = list[above];
            list[above] = x;
            above += x > pivot;
        }
        if (k - 1 < above)
            to = above;
        else if (k - 1 == above)
            return pivot;
        else { /* the pivot is behind those above it: not among the rest */
            size_t kept = above;
            for (size_t j = above; j < to; j++) {
                x = list[j];
                list[j] = list[kept];
                list[kept] = x;
                kept += x == pivot;
            }
            from = above + 1;
        }
    }
    return list[from];
}

/* Of list [count], no two alike, the k highest, in their order. */
static size_t keep_best(uint64_t *list, size_t count, size_t k, uint64_t *room)
{
    size_t kept = 0;
    if (count <= k)
        return count;
    memcpy(room, list, count * sizeof *list);
    uint64_t min = highest(room, count, k);
    for (size_t j = 0; j < count; j++) {
        uint64_t x = list[j];
        list[kept] = x;
        kept += x >= min;
    }
    return kept;
}

/* A tile's lists [head of the group, query][2 top_k]. */
struct lists {
    uint64_t entry[MAX_LISTED];
    uint64_t room[2 * MAX_LISTED]; /* a query's lists joined, and a copy */
    size_t count[MAX_QUERIES];
    float min[MAX_QUERIES]; /* [head, query] */
    size_t candidates[MAX_QUERIES];
    double total[MAX_QUERIES]; /* [head, query] the logarithm of all */
};

/* ---- The heads of a group ---- */

/* Some chunks: keys of one head's summaries, or means at one place of one key-value
 * head's, as columns, scaled, and biases. */
struct block {
    size_t first, count;
    float key[MAX_D * KEYS], bias[KEYS];
};

/* The scores of a block: [rows of the tile, KEYS], a head's queries side by side. */
struct scores {
    float of[MAX_QUERIES * KEYS];
};

static void gather(const struct hils_job *job, size_t head, struct block *block)
{
    const float *key[KEYS];
    for (size_t j = 0; j < KEYS; j++) {
        size_t chunk = block->first + (j < block->count ? j : 0);
        key[j] = hils_summary_key(job, chunk, head);
        block->bias[j] = hils_summary_bias(job, chunk, head);
    }
    cpu_lanes->columns(block->key, key, hils_scale(job), KEYS, job->sizes->d);
}

/* Asks for a summary: each lies in a page of its own. */
static void ask(const struct hils_job *job, size_t head, size_t chunk)
{
    const char *key = (const char *)hils_summary_key(job, chunk, head);
    for (size_t l = 0; l < job->sizes->d * sizeof(float); l += 64)
        __builtin_prefetch(key + l, 0, 2);
    __builtin_prefetch(
        job->summaries->biases[chunk] + job->summaries->bias_at + head, 0, 2);
}

static const uint16_t *means_of(const struct hils_job *job, size_t chunk,
                                size_t kv)
{
    return ref_mean(job->summaries, chunk, kv * job->summaries->means,
                    job->sizes->d);
}

/* Of a mean: it stands for so many keys. */
static float mean_bias(const struct hils_job *job)
{
    size_t keys = job->sizes->chunk / job->summaries->means;
    return logf((float)keys);
}

static void gather_means(const struct hils_job *job, size_t kv, size_t mean,
                         struct block *block)
{
    SCRATCH float room[KEYS * MAX_D];
    const float *key[KEYS];
    size_t d = job->sizes->d;
    for (size_t j = 0; j < KEYS; j++) {
        size_t chunk = block->first + (j < block->count ? j : 0);
        struct lanes_weight own = {means_of(job, chunk, kv) + mean * d, NULL,
                                   KERNEL_BF16};
        cpu_lanes->widen(room + j * d, own, 1, d);
        key[j] = room + j * d;
        block->bias[j] = mean_bias(job);
    }
    cpu_lanes->columns(block->key, key, hils_scale(job), KEYS, d);
}

static void ask_means(const struct hils_job *job, size_t kv, size_t chunk)
{
    const char *key = (const char *)means_of(job, chunk, kv);
    size_t bytes = job->summaries->means * job->sizes->d * sizeof(uint16_t);
    for (size_t l = 0; l < bytes; l += 64)
        __builtin_prefetch(key + l, 0, 2);
}

/* score [queries, KEYS] for few queries, one by one. */
static void score_few(const struct hils_job *job, const struct hils_tile *t,
                      size_t head, const struct block *block, float *score)
{
    size_t d = job->sizes->d, hq = job->sizes->hq;
    for (size_t j = 0; j < block->count; j++) {
        size_t chunk = block->first + j;
        const float *key = hils_summary_key(job, chunk, head);
        if (chunk + AHEAD < job->sizes->chunks)
            ask(job, head, chunk + AHEAD);
        for (size_t i = 0; i < t->count; i++)
            score[i * KEYS + j] =
                cpu_lanes->dot(job->qhat + ((t->first + i) * hq + head) * d,
                               key, d) *
                    hils_scale(job) +
                hils_summary_bias(job, chunk, head);
    }
}

/* The same for queries [count, d] by a product. */
static void score_many(const struct hils_job *job, const float *queries,
                       size_t count, const struct block *block, float *score)
{
    size_t d = job->sizes->d;
    for (size_t i = 0; i < count; i++)
        memcpy(score + i * KEYS, block->bias, sizeof block->bias);
    cpu_lanes->mix(score, KEYS, queries, d, 1, block->key, KEYS, count, KEYS, d,
                   true);
}

/* queries [t->rows, d], a head's side by side. */
static void load_queries(const struct hils_job *job, const struct hils_tile *t,
                         float *queries)
{
    size_t d = job->sizes->d, hq = job->sizes->hq;
    for (size_t r = 0; r < t->rows; r++) {
        size_t head = t->kv * job->group + r / t->count;
        size_t query = t->first + r % t->count;
        memcpy(queries + r * d, job->qhat + (query * hq + head) * d,
               d * sizeof *queries);
    }
}

/* A head's scores by its summaries; queries of a block of the tile's rows for each
 * product.  The summaries behind the block are asked for meanwhile. */
static void score_head(const struct hils_job *job, const struct hils_tile *t,
                       size_t g, struct block *block, size_t max,
                       const float *queries, struct scores *score)
{
    size_t head = t->kv * job->group + g, d = job->sizes->d;
    size_t next = block->first + KEYS;
    gather(job, head, block);
    for (size_t at = 0; at < t->count; at += ROWS) {
        size_t count = t->count - at < ROWS ? t->count - at : ROWS;
        size_t row = g * t->count + at;
        size_t end = block->first + KEYS + (at + count) * KEYS / t->count;
        for (; next < end && next < max; next++)
            ask(job, head, next);
        score_many(job, queries + row * d, count, block,
                   score->of + row * KEYS);
    }
}

/* The same for all heads by the means of keys: the highest of each chunk. */
static void score_means(const struct hils_job *job, const struct hils_tile *t,
                        struct block *block, size_t max, const float *queries,
                        struct scores *score)
{
    SCRATCH float other[ROWS * KEYS];
    size_t means = job->summaries->means, d = job->sizes->d;
    size_t next = block->first + KEYS;
    for (size_t mean = 0; mean < means; mean++) {
        size_t end = block->first + KEYS + (mean + 1) * KEYS / means;
        gather_means(job, t->kv, mean, block);
        for (; next < end && next < max; next++)
            ask_means(job, t->kv, next);
        for (size_t row = 0; row < t->rows; row += ROWS) {
            size_t count = t->rows - row < ROWS ? t->rows - row : ROWS;
            float *to = score->of + row * KEYS;
            score_many(job, queries + row * d, count, block, mean ? other : to);
            if (mean)
                cpu_lanes->max_of(to, other, count * KEYS);
        }
    }
}

/* The same for few queries. */
static void score_few_means(const struct hils_job *job,
                            const struct hils_tile *t,
                            const struct block *block, struct scores *score)
{
    const struct kernel_hils *z = job->sizes;
    float best[ROWS];
    for (size_t j = 0; j < block->count; j++) {
        size_t chunk = block->first + j;
        if (chunk + AHEAD < z->chunks)
            ask_means(job, t->kv, chunk + AHEAD);
        for (size_t i = 0; i < t->count; i++) {
            const float *q =
                job->qhat +
                ((t->first + i) * z->hq + t->kv * job->group) * z->d;
            cpu_lanes->best_dots(
                best, q, job->group, means_of(job, chunk, t->kv), z->d,
                job->summaries->means, hils_scale(job), mean_bias(job));
            for (size_t g = 0; g < job->group; g++)
                score->of[(g * t->count + i) * KEYS + j] = best[g];
        }
    }
}

/* score = those of the block's chunks. */
static void score_block(const struct hils_job *job, const struct hils_tile *t,
                        struct block *block, size_t max, const float *queries,
                        struct scores *score)
{
    bool few = job->sizes->m <= FEW_QUERIES;
    if (job->summaries->means && few)
        score_few_means(job, t, block, score);
    else if (job->summaries->means)
        score_means(job, t, block, max, queries, score);
    for (size_t g = 0; !job->summaries->means && g < job->group; g++) {
        if (few)
            score_few(job, t, t->kv * job->group + g, block,
                      score->of + g * t->count * KEYS);
        else
            score_head(job, t, g, block, max, queries, score);
    }
}

static void put(const struct hils_job *job, struct lists *lists, size_t list,
                uint64_t value)
{
    size_t top_k = job->sizes->top_k;
    uint64_t *at = lists->entry + list * 2 * top_k;
    at[lists->count[list]++] = value;
    if (lists->count[list] < 2 * top_k)
        return;
    lists->count[list] = keep_best(at, 2 * top_k, top_k, lists->room);
    uint64_t min = at[0];
    for (size_t j = 1; j < top_k; j++)
        min = at[j] < min ? at[j] : min;
    lists->min[list] = score_of(min);
}

/* Takes a block's scores of a row, of those that it may choose, into its list, and
 * into its softmax, where they are lost. */
static void rank_block(const struct hils_job *job, const struct hils_tile *t,
                       size_t row, const struct block *block, float *score,
                       struct lists *lists, struct hils_softmax *s)
{
    size_t end = lists->candidates[row % t->count], first = block->first;
    size_t count = end > first ? end - first : 0;
    count = count < block->count ? count : block->count;
    if (!count)
        return;
    uint64_t mask = cpu_lanes->above(score, lists->min[row]);
    mask &= ~(uint64_t)0 >> (64 - count);
    for (; mask; mask &= mask - 1) {
        size_t j = (size_t)__builtin_ctzll(mask);
        put(job, lists, row, entry(score[j], first + j));
    }
    if (job->group > 1)
        cpu_lanes->fold_row(score, count, &s->max[row], &s->total[row]);
}

static void rank(const struct hils_job *job, const struct hils_tile *t,
                 struct lists *lists)
{
    SCRATCH float queries[MAX_FLOATS];
    SCRATCH struct scores score;
    SCRATCH struct block block;
    SCRATCH struct hils_softmax s;
    size_t max = 0;
    if (job->sizes->m > FEW_QUERIES)
        load_queries(job, t, queries);
    hils_begin(&s, t->rows);
    for (size_t r = 0; r < t->rows; r++)
        lists->min[r] = NAN; /* so that all exceed it */
    for (size_t i = 0; i < t->count; i++)
        max = lists->candidates[i] > max ? lists->candidates[i] : max;
    for (size_t c = 0; c < max; c += KEYS) {
        block.first = c;
        block.count = max - c < KEYS ? max - c : KEYS;
        score_block(job, t, &block, max, queries, &score);
        for (size_t r = 0; r < t->rows; r++)
            rank_block(job, t, r, &block, score.of + r * KEYS, lists, &s);
    }
    for (size_t r = 0; r < t->rows && job->group > 1; r++)
        if (!(s.total[r] <= 0))
            lists->total[r] = ref_log_add(
                lists->total[r], (double)s.max[r] + log((double)s.total[r]));
}

/* ---- All heads ---- */

/* lists->total = the logarithm of what the windows weigh. */
static void weigh_windows(const struct hils_job *job, const struct hils_tile *t,
                          struct lists *lists)
{
    SCRATCH float queries[MAX_D * ROWS];
    SCRATCH float score[KEYS * ROWS];
    SCRATCH struct hils_softmax s;
    struct hils_block b;
    struct hils_mask mask;
    hils_begin(&s, t->rows);
    for (size_t first = 0; first < t->rows; first += b.count) {
        size_t slot, end;
        hils_load(job, t, first, &b, queries);
        hils_windows(job, t, &b, &slot, &end);
        for (size_t keys; (keys = hils_next_run(job, &slot, end));
             slot += keys) {
            hils_mask_window(job, t, &b, slot, keys, &mask);
            for (size_t i = 0; hils_few(job) && i < b.count; i++) {
                struct lanes_row row = {.q = job->q + hils_place(job, t, i),
                                        .max = &b.max[i],
                                        .total = &b.total[i]};
                hils_take_row(job, t, slot + (size_t)mask.from[i],
                              slot + (size_t)mask.to[i], &row);
            }
            if (hils_few(job))
                continue;
            hils_score(job, t, &b, queries, slot, keys, score);
            hils_fold(&b, score, keys, &mask);
        }
        hils_keep(&b, &s);
    }
    for (size_t r = 0; r < t->rows; r++)
        lists->total[r % job->group * t->count + r / job->group] =
            s.total[r] <= 0 ? (double)-INFINITY
                            : (double)s.max[r] + log((double)s.total[r]);
}

/* Joins the lists of a query's heads in room: a chunk counts by its best. */
static size_t join(const struct hils_job *job, const struct hils_tile *t,
                   struct lists *lists, size_t i)
{
    size_t at[ROWS] = {0}, joined = 0, top_k = job->sizes->top_k;
    for (;;) {
        int32_t chunk = INT32_MAX;
        float best = -INFINITY;
        for (size_t g = 0; g < job->group; g++) {
            size_t list = g * t->count + i;
            if (at[g] == lists->count[list])
                continue;
            uint64_t next = lists->entry[list * 2 * top_k + at[g]];
            chunk = chunk_of(next) < chunk ? chunk_of(next) : chunk;
        }
        if (chunk == INT32_MAX)
            return joined;
        for (size_t g = 0; g < job->group; g++) {
            size_t list = g * t->count + i;
            if (at[g] == lists->count[list])
                continue;
            uint64_t next = lists->entry[list * 2 * top_k + at[g]];
            if (chunk_of(next) != chunk)
                continue;
            float value = (float)((double)score_of(next) - lists->total[list]);
            best = value > best ? value : best;
            at[g]++;
        }
        lists->room[joined++] = entry(best, (size_t)chunk);
    }
}

static void finish(const struct hils_job *job, const struct hils_tile *t,
                   struct lists *lists, size_t i)
{
    const struct kernel_hils *z = job->sizes;
    size_t count = lists->count[i];
    uint64_t *best = lists->entry + i * 2 * z->top_k, *room = lists->room;
    int32_t *chosen =
        job->choice + ((t->first + i) * z->hkv + t->kv) * z->top_k;
    if (job->group > 1) {
        count = join(job, t, lists, i);
        best = lists->room;
        room += count;
    }
    count = keep_best(best, count, z->top_k, room);
    for (size_t k = 0; k < z->top_k; k++)
        chosen[k] = k < count ? chunk_of(best[k]) : -1;
}

static void choose(void *argument, size_t begin, size_t end)
{
    const struct hils_job *job = argument;
    SCRATCH struct lists lists;
    for (size_t index = begin; index < end; index++) {
        struct hils_tile t = hils_tile(job, index);
        size_t any = 0;
        memset(lists.count, 0, sizeof lists.count);
        for (size_t i = 0; i < t.count; i++) {
            size_t slot = hils_slot(job, t.first + i);
            lists.candidates[i] =
                ref_window(job->sizes, slot) / job->sizes->chunk;
            any += lists.candidates[i];
        }
        /* one head alone: all its scores are lowered by the same */
        if (job->group > 1 && any)
            weigh_windows(job, &t, &lists);
        rank(job, &t, &lists);
        for (size_t i = 0; i < t.count; i++)
            finish(job, &t, &lists, i);
    }
}

/* Queries of a tile for which there is room; 0: not one. */
static size_t queries_of(const struct kernel_hils *z, size_t group)
{
    size_t max = MAX_QUERIES / group;
    size_t listed = MAX_LISTED / 2 / z->top_k / group;
    size_t held = MAX_FLOATS / z->d / group;
    max = listed < max ? listed : max;
    return held < max ? held : max;
}

static int hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                       const float *qhat, const struct kernel_pages *pages,
                       const struct kernel_summaries *summaries,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *z)
{
    size_t group = z->hq / z->hkv;
    size_t queries = z->d > MAX_D || group > ROWS ? 0 : queries_of(z, group);
    if (!queries)
        return kernels_ref()->hils_choose(run, chosen, q, qhat, pages,
                                          summaries, position, landmark, z);
    struct hils_job job = {.sizes = z,
                           .q = q,
                           .qhat = qhat,
                           .pages = pages,
                           .summaries = summaries,
                           .position = position,
                           .landmark = landmark,
                           .choice = chosen,
                           .group = group};
    hils_share(run, &job, queries, (double)z->chunks + (double)z->window,
               choose);
    return KERNEL_OK;
}

void cpu_fill_hils_choose(struct kernels *table)
{
    table->hils_choose = hils_choose;
}
