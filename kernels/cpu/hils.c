/* HiLS attention in tiles, as attention.c: a tile's rows are some neighbouring
 * queries with all the query heads of a key-value head, so that keys and values
 * are read once for all.  The tile goes over the union of the chunks that its
 * queries chose: a chunk that most of them chose is taken with products, each
 * row seeing its own, one that few chose row by row.  A block of keys is a run
 * of real slots within a page.
 *
 * The choice goes over all summaries once, a query head at a time, and keeps
 * for each query and head the best chunks: a chunk that is among the best of a
 * group is among the best of the head that it owes that to. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/few.h"
#include "kernels/ref/ref.h"

enum {
    ROWS = LANES_ROWS,
    KEYS = 64,
    MOST_D = 256,       /* above, `ref` does it */
    MOST_RANKED = 8192, /* chunks that a tile keeps, of all queries and heads */
    FEW = 4,            /* queries whose choice is not worth products' layout */
    SPARSE = 4          /* a row alone costs as much as so many of a tile */
};

struct job {
    const struct kernel_hils *sizes;
    const float *q, *qhat; /* [m, hq, d] */
    const struct kernel_pages *pages;
    const struct kernel_summaries *summaries;
    const int32_t *position, *landmark;
    int32_t *choice;       /* hils_choose: its result */
    const int32_t *chosen; /* hils_attention: its input */
    float *out;
    size_t group;   /* query heads of a key-value head */
    size_t queries; /* of a tile */
    size_t tiles;   /* of each key-value head */
};

/* Queries [first, first + count) of a key-value head. */
struct tile {
    size_t kv, first, count;
    size_t rows, padded; /* count * group; padded to 16 */
};

static struct tile tile_at(const struct job *job, size_t index)
{
    struct tile t = {.kv = index / job->tiles,
                     .first = index % job->tiles * job->queries};
    size_t left = job->sizes->m - t.first;
    t.count = left < job->queries ? left : job->queries;
    t.rows = t.count * job->group;
    t.padded = (t.rows + 15) / 16 * 16;
    return t;
}

static size_t slot_of(const struct job *job, size_t query)
{
    return (size_t)job->position[query];
}

/* Where row r's query lies in q, qhat and out. */
static size_t place(const struct job *job, const struct tile *t, size_t r)
{
    size_t query = t->first + r / job->group;
    size_t head = t->kv * job->group + r % job->group;
    return (query * job->sizes->hq + head) * job->sizes->d;
}

static const float *summary_key(const struct job *job, size_t chunk,
                                size_t head)
{
    return job->summaries->keys[chunk] + job->summaries->key_at +
           head * job->sizes->d;
}

static float summary_bias(const struct job *job, size_t chunk, size_t head)
{
    return job->summaries->biases[chunk][job->summaries->bias_at + head];
}

/* The first run of real slots in [*slot, end) that lie in one page, at most
 * KEYS; *slot moves to its first one.  0: there is none. */
static size_t next_run(const struct job *job, size_t *slot, size_t end)
{
    const int32_t *landmark = job->landmark;
    while (landmark && *slot < end && landmark[*slot])
        ++*slot;
    size_t most = end - *slot < KEYS ? end - *slot : KEYS, count;
    most = ref_stretch(job->pages, *slot, most);
    if (!landmark)
        return most;
    for (count = 0; count < most && !landmark[*slot + count]; count++)
        ;
    return count;
}

/* ---- Softmax over blocks ---- */

/* The tile's queries, scaled, a column each: [d, ROWS]. */
static void load_queries(const struct job *job, const struct tile *t,
                         float *queries)
{
    float scale = 1 / sqrtf((float)job->sizes->d);
    for (size_t r = 0; r < t->padded; r++) {
        const float *q = job->q + place(job, t, r < t->rows ? r : 0);
        for (size_t l = 0; l < job->sizes->d; l++)
            queries[l * ROWS + r] = q[l] * scale;
    }
}

/* score [keys, ROWS] of a run. */
static void score_run(const struct job *job, const struct tile *t,
                      const float *queries, size_t slot, size_t keys,
                      float *score)
{
    size_t d = job->sizes->d, step = job->sizes->hkv * d;
    cpu_lanes->mix(score, ROWS, ref_key(job->pages, slot, step) + t->kv * d,
                   step, 1, queries, ROWS, keys, t->padded, d, false);
}

struct softmax {
    float most[ROWS], total[ROWS], shrink[ROWS];
};

static void begin(struct softmax *s)
{
    for (size_t r = 0; r < ROWS; r++) {
        s->most[r] = LANES_LEAST;
        s->total[r] = 0;
    }
}

/* Which keys of a run each row sees. */
struct mask {
    int32_t from[ROWS], to[ROWS];
};

/* Of slots [slot, slot + keys) those in the row's window, but none before
 * `least`. */
static void mask_window(const struct job *job, const struct tile *t,
                        size_t slot, size_t keys, struct mask *mask)
{
    for (size_t r = 0; r < t->padded; r++) {
        size_t query = t->first + (r < t->rows ? r / job->group : 0);
        size_t to = slot_of(job, query) + 1, from;
        from = ref_window(job->sizes, to - 1);
        from = from > slot ? from - slot : 0;
        to = to > slot ? to - slot : 0;
        mask->from[r] = (int32_t)(from < keys ? from : keys);
        mask->to[r] = (int32_t)(to < keys ? to : keys);
    }
}

/* The slots that the windows of a tile's queries cover. */
static void windows_of(const struct job *job, const struct tile *t,
                       size_t *ret_from, size_t *ret_to)
{
    *ret_from = SIZE_MAX;
    *ret_to = 0;
    for (size_t i = 0; i < t->count; i++) {
        size_t slot = slot_of(job, t->first + i);
        size_t from = ref_window(job->sizes, slot);
        *ret_from = from < *ret_from ? from : *ret_from;
        *ret_to = slot + 1 > *ret_to ? slot + 1 : *ret_to;
    }
}

/* Takes slots [from, to), which are real and in one page, for row r of few. */
static void take_few(const struct job *job, const struct tile *t, size_t r,
                     size_t from, size_t to, float shift, struct softmax *s,
                     float *values)
{
    size_t d = job->sizes->d, step = job->sizes->hkv * d, keys = to - from;
    float score[FEW_KEYS], shrink, scale = 1 / sqrtf((float)d);
    if (from >= to)
        return;
    few_score(score, job->q + place(job, t, r),
              ref_key(job->pages, from, step) + t->kv * d, step, d, keys, scale,
              shift);
    shrink = few_fold(score, keys, &s->most[r], &s->total[r]);
    if (!values)
        return;
    values += r * d;
    few_shrink(values, shrink, d);
    few_mix(values, score, ref_value(job->pages, from, step) + t->kv * d, step,
            d, keys);
}

/* ---- The choice ---- */

/* The best chunks of the tile's queries, a list for each head of each. */
struct ranked {
    int32_t best[MOST_RANKED];
    double score[MOST_RANKED];
    size_t count[ROWS]; /* [query, head of the group] */
};

/* score [keys, ROWS] of chunks [first, first + keys) for one head's queries. */
static void score_chunks(const struct job *job, const struct tile *t,
                         size_t head, size_t first, size_t keys,
                         const float *queries, float *score)
{
    size_t d = job->sizes->d, hq = job->sizes->hq;
    float scale = 1 / sqrtf((float)d);
    SCRATCH float gathered[KEYS * MOST_D];
    if (t->count <= FEW) {
        for (size_t j = 0; j < keys; j++)
            for (size_t i = 0; i < t->count; i++)
                score[j * ROWS + i] =
                    cpu_lanes->dot(job->qhat + ((t->first + i) * hq + head) * d,
                                   summary_key(job, first + j, head), d) *
                        scale +
                    summary_bias(job, first + j, head);
        return;
    }
    for (size_t j = 0; j < keys; j++)
        memcpy(gathered + j * d, summary_key(job, first + j, head),
               d * sizeof *gathered);
    cpu_lanes->mix(score, ROWS, gathered, d, 1, queries, ROWS, keys, ROWS, d,
                   false);
    for (size_t j = 0; j < keys; j++) {
        float bias = summary_bias(job, first + j, head);
        for (size_t i = 0; i < t->count; i++)
            score[j * ROWS + i] += bias;
    }
}

static void load_calibrated(const struct job *job, const struct tile *t,
                            size_t head, float *queries)
{
    size_t d = job->sizes->d;
    float scale = 1 / sqrtf((float)d);
    for (size_t i = 0; i < ROWS && t->count > FEW; i++) {
        size_t query = t->first + (i < t->count ? i : 0);
        const float *q = job->qhat + (query * job->sizes->hq + head) * d;
        for (size_t l = 0; l < d; l++)
            queries[l * ROWS + i] = q[l] * scale;
    }
}

/* Takes a block's scores into the queries' lists, of those that may choose it,
 * and into total [ROWS], the logarithm of all. */
static void rank_block(const struct job *job, const struct tile *t, size_t g,
                       size_t first, size_t keys, const float *score,
                       const size_t *candidates, struct ranked *ranked,
                       double *total)
{
    size_t top_k = job->sizes->top_k;
    float own[KEYS];
    for (size_t i = 0; i < t->count; i++) {
        size_t list = i * job->group + g, limit = candidates[i];
        size_t end = limit > first ? limit - first : 0;
        end = end < keys ? end : keys;
        double most = (double)-INFINITY;
        for (size_t j = 0; j < end; j++) {
            own[j] = score[j * ROWS + i];
            most = fmax(most, (double)own[j]);
            ref_rank(ranked->best + list * top_k, ranked->score + list * top_k,
                     &ranked->count[list], top_k, first + j, (double)own[j]);
        }
        if (end && job->group > 1)
            total[list] = ref_log_add(
                total[list],
                most + log((double)cpu_lanes->exp_sum(own, (float)most, end)));
    }
}

static void rank_head(const struct job *job, const struct tile *t, size_t g,
                      const size_t *candidates, struct ranked *ranked,
                      double *total)
{
    SCRATCH float queries[MOST_D * ROWS];
    SCRATCH float score[KEYS * ROWS];
    size_t head = t->kv * job->group + g, most = 0;
    for (size_t i = 0; i < t->count; i++)
        most = candidates[i] > most ? candidates[i] : most;
    load_calibrated(job, t, head, queries);
    for (size_t c = 0; c < most; c += KEYS) {
        size_t keys = most - c < KEYS ? most - c : KEYS;
        score_chunks(job, t, head, c, keys, queries, score);
        rank_block(job, t, g, c, keys, score, candidates, ranked, total);
    }
}

/* total [rows] = the logarithm of what the windows weigh. */
static void weigh_windows(const struct job *job, const struct tile *t,
                          double *total)
{
    SCRATCH float queries[MOST_D * ROWS];
    SCRATCH float score[KEYS * ROWS];
    struct softmax s;
    struct mask mask;
    size_t slot, end;
    windows_of(job, t, &slot, &end);
    load_queries(job, t, queries);
    begin(&s);
    for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys) {
        mask_window(job, t, slot, keys, &mask);
        for (size_t r = 0; t->rows <= FEW_ROWS && r < t->rows; r++)
            take_few(job, t, r, slot + (size_t)mask.from[r],
                     slot + (size_t)mask.to[r], 0, &s, NULL);
        if (t->rows <= FEW_ROWS)
            continue;
        score_run(job, t, queries, slot, keys, score);
        cpu_lanes->fold(score, s.most, s.total, s.shrink, mask.from, mask.to,
                        keys, t->padded);
    }
    for (size_t r = 0; r < t->rows; r++)
        total[r] = s.total[r] > 0 || isnan(s.total[r])
                       ? (double)s.most[r] + log((double)s.total[r])
                       : (double)-INFINITY;
}

/* Merges the lists of a query's heads: a chunk counts by its best. */
static void merge(const struct job *job, struct ranked *ranked, size_t i,
                  const double *total, int32_t *chosen)
{
    size_t top_k = job->sizes->top_k, group = job->group, taken = 0;
    size_t at[ROWS] = {0};
    while (taken < top_k) {
        double best = (double)-INFINITY;
        int32_t chunk = -1;
        for (size_t g = 0; g < group; g++) {
            size_t list = i * group + g, base = list * top_k;
            bool again = true;
            while (again && at[g] < ranked->count[list]) {
                again = false;
                for (size_t c = 0; c < taken && !again; c++)
                    again = chosen[c] == ranked->best[base + at[g]];
                at[g] += again;
            }
            if (at[g] == ranked->count[list])
                continue;
            double value = ranked->score[base + at[g]] - total[list];
            int32_t id = ranked->best[base + at[g]];
            if (chunk >= 0 && !(value > best) && (value < best || id > chunk))
                continue;
            best = value;
            chunk = id;
        }
        if (chunk < 0)
            break;
        chosen[taken++] = chunk;
    }
    ref_ascending(chosen, chosen, taken, top_k);
}

static void choose(void *argument, size_t begin_at, size_t end)
{
    const struct job *job = argument;
    const struct kernel_hils *z = job->sizes;
    SCRATCH struct ranked ranked;
    for (size_t index = begin_at; index < end; index++) {
        struct tile t = tile_at(job, index);
        double total[ROWS] = {0};
        size_t candidates[ROWS], any = 0;
        memset(ranked.count, 0, sizeof ranked.count);
        for (size_t i = 0; i < t.count; i++) {
            candidates[i] = ref_window(z, slot_of(job, t.first + i)) / z->chunk;
            any += candidates[i];
        }
        /* one head alone: all its scores are lowered by the same */
        if (job->group > 1 && any)
            weigh_windows(job, &t, total);
        for (size_t g = 0; g < job->group; g++)
            rank_head(job, &t, g, candidates, &ranked, total);
        for (size_t i = 0; i < t.count; i++)
            merge(job, &ranked, i, total,
                  job->choice + ((t.first + i) * z->hkv + t.kv) * z->top_k);
    }
}

/* ---- Attention ---- */

/* What a tile sums up, a row each. */
struct sums {
    struct softmax softmax;
    float values[ROWS * MOST_D]; /* [rows, d] */
};

/* Takes a run, whose scores are there, with the values. */
static void take_run(const struct job *job, const struct tile *t, size_t slot,
                     size_t keys, float *score, const struct mask *mask,
                     struct sums *sums)
{
    struct softmax *s = &sums->softmax;
    size_t d = job->sizes->d, step = job->sizes->hkv * d;
    float *values = sums->values, *shrink = s->shrink;
    cpu_lanes->fold(score, s->most, s->total, shrink, mask ? mask->from : NULL,
                    mask ? mask->to : NULL, keys, t->padded);
    for (size_t r = 0; r < t->rows; r++)
        if (shrink[r] != 1)
            cpu_lanes->scale(values + r * d, values + r * d, NULL, shrink[r],
                             d);
    cpu_lanes->mix(values, d, score, 1, ROWS,
                   ref_value(job->pages, slot, step) + t->kv * d, step, t->rows,
                   d, keys, true);
}

static void take_windows(const struct job *job, const struct tile *t,
                         const float *queries, struct sums *sums)
{
    SCRATCH float score[KEYS * ROWS];
    struct mask mask;
    size_t slot, end;
    windows_of(job, t, &slot, &end);
    for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys) {
        mask_window(job, t, slot, keys, &mask);
        for (size_t r = 0; t->rows <= FEW_ROWS && r < t->rows; r++)
            take_few(job, t, r, slot + (size_t)mask.from[r],
                     slot + (size_t)mask.to[r], 0, &sums->softmax,
                     sums->values);
        if (t->rows <= FEW_ROWS)
            continue;
        score_run(job, t, queries, slot, keys, score);
        take_run(job, t, slot, keys, score, &mask, sums);
    }
}

/* shift [rows]: what makes a chunk's scores those of its share of
 * exp(the chunk's score). */
static void shift_of(const struct job *job, const struct tile *t, size_t chunk,
                     const float *queries, const bool *chosen, float *shift)
{
    const struct kernel_hils *z = job->sizes;
    SCRATCH float score[KEYS * ROWS];
    float scale = 1 / sqrtf((float)z->d);
    struct softmax s;
    size_t slot = chunk * z->chunk, end = slot + z->chunk;
    begin(&s);
    for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys) {
        score_run(job, t, queries, slot, keys, score);
        cpu_lanes->fold(score, s.most, s.total, s.shrink, NULL, NULL, keys,
                        t->padded);
    }
    for (size_t r = 0; r < t->rows; r++) {
        size_t head = t->kv * job->group + r % job->group;
        if (chosen[r / job->group])
            shift[r] = cpu_lanes->dot(job->qhat + place(job, t, r),
                                      summary_key(job, chunk, head), z->d) *
                           scale +
                       summary_bias(job, chunk, head) - s.most[r] -
                       logf(s.total[r]);
    }
}

/* What makes row r's scores those of its share of exp(the chunk's score). */
static float shift_of_few(const struct job *job, const struct tile *t, size_t r,
                          size_t chunk)
{
    const struct kernel_hils *z = job->sizes;
    size_t head = t->kv * job->group + r % job->group;
    size_t slot = chunk * z->chunk, end = slot + z->chunk;
    struct softmax s;
    begin(&s);
    for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys)
        take_few(job, t, r, slot, slot + keys, 0, &s, NULL);
    return cpu_lanes->dot(job->qhat + place(job, t, r),
                          summary_key(job, chunk, head), z->d) /
               sqrtf((float)z->d) +
           summary_bias(job, chunk, head) - s.most[r] - logf(s.total[r]);
}

/* A chunk for few rows, of which some queries chose it. */
static void take_chunk_few(const struct job *job, const struct tile *t,
                           size_t chunk, const bool *chosen, struct sums *sums)
{
    const struct kernel_hils *z = job->sizes;
    for (size_t r = 0; r < t->rows; r++) {
        if (!chosen[r / job->group])
            continue;
        size_t slot = chunk * z->chunk, end = slot + z->chunk;
        float shift = z->exact ? 0 : shift_of_few(job, t, r, chunk);
        for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys)
            take_few(job, t, r, slot, slot + keys, shift, &sums->softmax,
                     sums->values);
    }
}

/* Takes a chunk for the queries that chose it. */
static void take_chunk(const struct job *job, const struct tile *t,
                       size_t chunk, const bool *chosen, const float *queries,
                       struct sums *sums)
{
    const struct kernel_hils *z = job->sizes;
    SCRATCH float score[KEYS * ROWS];
    float shift[ROWS] = {0};
    struct mask mask;
    size_t slot = chunk * z->chunk, end = slot + z->chunk;
    if (!z->exact)
        shift_of(job, t, chunk, queries, chosen, shift);
    for (size_t keys; (keys = next_run(job, &slot, end)); slot += keys) {
        score_run(job, t, queries, slot, keys, score);
        for (size_t j = 0; !z->exact && j < keys; j++)
            cpu_lanes->add(score + j * ROWS, shift, t->padded);
        for (size_t r = 0; r < t->padded; r++) {
            bool sees = r < t->rows && chosen[r / job->group];
            mask.from[r] = 0;
            mask.to[r] = sees ? (int32_t)keys : 0;
        }
        take_run(job, t, slot, keys, score, &mask, sums);
    }
}

/* The lists of chunks that a tile's queries chose, merged. */
struct merged {
    const int32_t *list[ROWS];
    size_t at[ROWS];
    bool chosen[ROWS]; /* the present chunk */
};

static void start_merge(const struct job *job, const struct tile *t,
                        struct merged *m)
{
    const struct kernel_hils *z = job->sizes;
    for (size_t i = 0; i < t->count; i++) {
        m->list[i] = job->chosen + ((t->first + i) * z->hkv + t->kv) * z->top_k;
        m->at[i] = 0;
    }
}

/* The next chunk in ascending order, and who chose it; -1: there is none. */
static int32_t next_chunk(const struct job *job, const struct tile *t,
                          struct merged *m)
{
    size_t top_k = job->sizes->top_k;
    int32_t next = INT32_MAX;
    for (size_t i = 0; i < t->count; i++) {
        bool any = m->at[i] < top_k && m->list[i][m->at[i]] >= 0;
        if (any && m->list[i][m->at[i]] < next)
            next = m->list[i][m->at[i]];
    }
    for (size_t i = 0; i < t->count; i++) {
        m->chosen[i] = m->at[i] < top_k && m->list[i][m->at[i]] == next;
        m->at[i] += m->chosen[i];
    }
    return next == INT32_MAX ? -1 : next;
}

/* The chunks of all the tile's queries, in ascending order. */
static void take_chunks(const struct job *job, const struct tile *t,
                        const float *queries, struct sums *sums)
{
    struct merged m;
    int32_t chunk;
    start_merge(job, t, &m);
    while ((chunk = next_chunk(job, t, &m)) >= 0) {
        size_t rows = 0;
        for (size_t i = 0; i < t->count; i++)
            rows += m.chosen[i] ? job->group : 0;
        if (t->rows <= FEW_ROWS || rows * SPARSE < t->padded)
            take_chunk_few(job, t, (size_t)chunk, m.chosen, sums);
        else
            take_chunk(job, t, (size_t)chunk, m.chosen, queries, sums);
    }
}

static void attend(void *argument, size_t begin_at, size_t end)
{
    const struct job *job = argument;
    size_t d = job->sizes->d;
    SCRATCH float queries[MOST_D * ROWS];
    SCRATCH struct sums sums;
    for (size_t index = begin_at; index < end; index++) {
        struct tile t = tile_at(job, index);
        load_queries(job, &t, queries);
        begin(&sums.softmax);
        memset(sums.values, 0, t.rows * d * sizeof sums.values[0]);
        take_windows(job, &t, queries, &sums);
        take_chunks(job, &t, queries, &sums);
        for (size_t r = 0; r < t.rows; r++) {
            float total = sums.softmax.total[r];
            float *out = job->out + place(job, &t, r);
            if (job->sizes->softmax1)
                total += expf(-sums.softmax.most[r]);
            if (sums.softmax.total[r] <= 0)
                memset(out, 0, d * sizeof *out);
            else
                cpu_lanes->scale(out, sums.values + r * d, NULL, 1 / total, d);
        }
    }
}

/* ---- Sharing out ---- */

/* The tiles do not depend on the threads: neither do the results. */
static int share(struct kernel_run *run, struct job *job, size_t queries,
                 double reach, void (*body)(void *, size_t, size_t))
{
    const struct kernel_hils *z = job->sizes;
    job->queries = queries ? queries : 1;
    job->tiles = (z->m + job->queries - 1) / job->queries;
    cpu_share(run, z->hkv * job->tiles,
              (double)z->m * (double)z->hq * (double)z->d * reach, body, job);
    return KERNEL_OK;
}

static int hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                       const float *qhat, const struct kernel_pages *pages,
                       const struct kernel_summaries *summaries,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *sizes)
{
    size_t group = sizes->hq / sizes->hkv;
    if (sizes->d > MOST_D || group > ROWS || sizes->top_k > MOST_RANKED / group)
        return kernels_ref()->hils_choose(run, chosen, q, qhat, pages,
                                          summaries, position, landmark, sizes);
    struct job job = {.sizes = sizes,
                      .q = q,
                      .qhat = qhat,
                      .pages = pages,
                      .summaries = summaries,
                      .position = position,
                      .landmark = landmark,
                      .choice = chosen,
                      .group = group};
    size_t most = MOST_RANKED / group / sizes->top_k, rows = ROWS / group;
    return share(run, &job, most < rows ? most : rows,
                 (double)sizes->chunks + (double)sizes->window, choose);
}

static int hils_attention(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const struct kernel_pages *pages,
                          const struct kernel_summaries *summaries,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen,
                          const struct kernel_hils *sizes)
{
    size_t group = sizes->hq / sizes->hkv;
    if (sizes->d > MOST_D || group > ROWS)
        return kernels_ref()->hils_attention(run, out, q, qhat, pages,
                                             summaries, position, landmark,
                                             chosen, sizes);
    struct job job = {.sizes = sizes,
                      .q = q,
                      .qhat = qhat,
                      .pages = pages,
                      .summaries = summaries,
                      .position = position,
                      .landmark = landmark,
                      .chosen = chosen,
                      .out = out,
                      .group = group};
    size_t chunks = sizes->top_k < sizes->chunks ? sizes->top_k : sizes->chunks;
    return share(
        run, &job, ROWS / group,
        2 * ((double)chunks * (double)sizes->chunk + (double)sizes->window),
        attend);
}

void cpu_fill_hils(struct kernels *table)
{
    table->hils_choose = hils_choose;
    table->hils_attention = hils_attention;
}
