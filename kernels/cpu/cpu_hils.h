/* What the two operations of HiLS attention share: tiles, and runs of keys.
 *
 * A tile is some neighbouring queries with all the query heads of a key-value
 * head: what they read from memory they read once.  Its rows, a query's heads
 * side by side, are taken in blocks of up to ROWS. */
#ifndef KERNELS_CPU_CPU_HILS_H
#define KERNELS_CPU_CPU_HILS_H

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/cpu/cpu_few_rows.h"
#include "kernels/cpu/cpu_pages.h"
#include "kernels/ref/ref.h"

enum {
    ROWS = LANES_ROWS, /* of a block */
    KEYS = LANES_ROWS,
    TILE = 4096, /* rows of a tile at most */
    MAX_D = 256  /* above, `ref` does it */
};

struct hils_job {
    const struct kernel_hils *sizes;
    const float *q, *qhat; /* [m, hq, d] */
    const struct kernel_pages *pages;
    const struct kernel_summaries *summaries;
    const int32_t *position, *landmark;
    int32_t *choice;       /* hils_choose: its result */
    const int32_t *chosen; /* hils_attention: its input */
    float *out;
    size_t group;       /* query heads of a key-value head */
    size_t queries;     /* of a tile */
    size_t tiles;       /* of each key-value head */
    atomic_bool failed; /* hils_attention: no memory */
};

/* Queries [first, first + count) of a key-value head. */
struct hils_tile {
    size_t kv, first, count;
    size_t rows; /* count * group */
};

/* Softmax of each row, over what was taken. */
struct hils_softmax {
    float max[TILE], total[TILE];
};

/* Rows [first, first + count) of a tile. */
struct hils_block {
    size_t first, count, padded; /* padded to 16 by the first one */
    size_t row[ROWS];
    float max[ROWS], total[ROWS], shrink[ROWS];
};

/* Which keys of a run each row of a block sees. */
struct hils_mask {
    int32_t from[ROWS], to[ROWS];
};

static inline struct hils_tile hils_tile(const struct hils_job *job,
                                         size_t index)
{
    struct hils_tile t = {.kv = index / job->tiles,
                          .first = index % job->tiles * job->queries};
    size_t left = job->sizes->m - t.first;
    t.count = left < job->queries ? left : job->queries;
    t.rows = t.count * job->group;
    return t;
}

/* Whether there are so few rows in all that each is taken by itself: with what
 * is laid out for products they would pay more than they gain. */
static inline bool hils_few(const struct hils_job *job)
{
    return job->sizes->m * job->group <= FEW_ROWS;
}

/* Shares tiles of up to `most` queries out, two for each thread if there are
 * enough; no bit of a result depends on them: a tile begins where a block does.
 * `reach`: about the keys that a query meets. */
static inline void hils_share(struct kernel_run *run, struct hils_job *job,
                              size_t max, double reach,
                              void (*body)(void *, size_t, size_t))
{
    const struct kernel_hils *z = job->sizes;
    size_t threads = run->pool.parallel_for ? run->pool.threads : 1;
    size_t tiles = (2 * threads + z->hkv - 1) / z->hkv;
    size_t block = ROWS / job->group;
    if (!z->m)
        return;
    size_t queries = (z->m + tiles - 1) / tiles;
    queries = (queries + block - 1) / block * block;
    job->queries = queries < max ? queries : max;
    if (job->queries > block)
        job->queries = job->queries / block * block;
    job->tiles = (z->m + job->queries - 1) / job->queries;
    cpu_share(run, z->hkv * job->tiles,
              (double)z->m * (double)z->hq * (double)z->d * reach, body, job);
}

static inline size_t hils_slot(const struct hils_job *job, size_t query)
{
    return (size_t)job->position[query];
}

/* Slots [slot, slot + count), which lie in one page. */
static inline struct cpu_run hils_run(const struct hils_job *job,
                                      const struct hils_tile *t, size_t slot,
                                      size_t count)
{
    return (struct cpu_run){.pages = job->pages,
                            .hkv = job->sizes->hkv,
                            .d = job->sizes->d,
                            .head = t->kv,
                            .slot = slot,
                            .count = count};
}

/* From slot to slot of a page, and where the tile's head begins. */
static inline size_t hils_step(const struct hils_job *job)
{
    return ref_step(job->pages, job->sizes->hkv, job->sizes->d);
}
static inline size_t hils_at(const struct hils_job *job,
                             const struct hils_tile *t)
{
    return ref_at(job->pages, t->kv, job->sizes->d);
}

/* Where row r's query lies in q, qhat and out. */
static inline size_t hils_place(const struct hils_job *job,
                                const struct hils_tile *t, size_t r)
{
    size_t query = t->first + r / job->group;
    size_t head = t->kv * job->group + r % job->group;
    return (query * job->sizes->hq + head) * job->sizes->d;
}

static inline float hils_scale(const struct hils_job *job)
{
    return 1 / sqrtf((float)job->sizes->d);
}

static inline const float *hils_summary_key(const struct hils_job *job,
                                            size_t chunk, size_t head)
{
    return job->summaries->keys[chunk] + job->summaries->key_at +
           head * job->sizes->d;
}

static inline float hils_summary_bias(const struct hils_job *job, size_t chunk,
                                      size_t head)
{
    return job->summaries->biases[chunk][job->summaries->bias_at + head];
}

/* The first run of real slots in [*slot, end) that lie in one page, at most
 * KEYS; *slot moves to its first one.  0: there is none. */
static inline size_t hils_next_run(const struct hils_job *job, size_t *slot,
                                   size_t end)
{
    const int32_t *landmark = job->landmark;
    while (landmark && *slot < end && landmark[*slot])
        ++*slot;
    size_t max = end - *slot < KEYS ? end - *slot : KEYS, count;
    max = ref_stretch(job->pages, *slot, max);
    if (!landmark)
        return max;
    for (count = 0; count < max && !landmark[*slot + count]; count++)
        ;
    return count;
}

static inline void hils_begin(struct hils_softmax *s, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        s->max[r] = LANES_LEAST;
        s->total[r] = 0;
    }
}

/* ---- Blocks ---- */

/* The block of the tile's rows from `first` on, whole queries, with nothing taken
 * yet; its queries scaled, a column each: [d, ROWS]. */
static inline void hils_load(const struct hils_job *job,
                             const struct hils_tile *t, size_t first,
                             struct hils_block *b, float *queries)
{
    const float *q[ROWS];
    size_t max = ROWS / job->group * job->group;
    b->first = first;
    b->count = t->rows - first < max ? t->rows - first : max;
    b->padded = (b->count + 15) / 16 * 16;
    for (size_t i = 0; i < b->padded; i++) {
        b->row[i] = first + (i < b->count ? i : 0);
        q[i] = job->q + hils_place(job, t, b->row[i]);
        b->max[i] = LANES_LEAST;
        b->total[i] = 0;
    }
    cpu_lanes->columns(queries, q, hils_scale(job), b->padded, job->sizes->d);
}

static inline void hils_keep(const struct hils_block *b, struct hils_softmax *s)
{
    for (size_t i = 0; i < b->count; i++) {
        s->max[b->row[i]] = b->max[i];
        s->total[b->row[i]] = b->total[i];
    }
}

/* score [keys, ROWS] of a run. */
static inline void hils_score(const struct hils_job *job,
                              const struct hils_tile *t,
                              const struct hils_block *b, const float *queries,
                              size_t slot, size_t keys, float *score)
{
    SCRATCH float room[KEYS * MAX_D];
    struct cpu_run run = hils_run(job, t, slot, keys);
    size_t d = job->sizes->d, step;
    const float *key = cpu_keys(&run, room, &step);
    cpu_lanes->mix(score, ROWS, key, step, 1, queries, ROWS, keys, b->padded, d,
                   false);
}

/* score becomes each key's weight. */
static inline void hils_fold(struct hils_block *b, float *score, size_t keys,
                             const struct hils_mask *mask)
{
    cpu_lanes->fold(score, b->max, b->total, b->shrink,
                    mask ? mask->from : NULL, mask ? mask->to : NULL, keys,
                    b->padded);
}

/* Takes slots [from, to), which are real and in one page, for one row; values
 * NULL: into the softmax only. */
static inline void hils_take_row(const struct hils_job *job,
                                 const struct hils_tile *t, size_t from,
                                 size_t to, const struct lanes_row *row)
{
    SCRATCH float room[KEYS * MAX_D];
    size_t d = job->sizes->d, step;
    float score[FEW_KEYS], shrink;
    if (from >= to)
        return;
    struct cpu_run run = hils_run(job, t, from, to - from);
    const float *key = cpu_keys(&run, room, &step);
    cpu_lanes->dots(score, row->q, key, step, d, to - from, hils_scale(job),
                    row->shift);
    shrink = cpu_lanes->fold_row(score, to - from, row->max, row->total);
    if (!row->values)
        return;
    few_shrink(row->values, shrink, d);
    const float *value = cpu_values(&run, room, &step);
    few_mix(row->values, score, value, step, d, to - from);
}

/* ---- Windows ---- */

/* The slots that the windows of a block's queries cover. */
static inline void hils_windows(const struct hils_job *job,
                                const struct hils_tile *t,
                                const struct hils_block *b, size_t *ret_from,
                                size_t *ret_to)
{
    *ret_from = SIZE_MAX;
    *ret_to = 0;
    for (size_t i = 0; i < b->count; i++) {
        size_t slot = hils_slot(job, t->first + b->row[i] / job->group);
        size_t from = ref_window(job->sizes, slot);
        *ret_from = from < *ret_from ? from : *ret_from;
        *ret_to = slot + 1 > *ret_to ? slot + 1 : *ret_to;
    }
}

/* Of slots [slot, slot + keys) those in each row's window. */
static inline void hils_mask_window(const struct hils_job *job,
                                    const struct hils_tile *t,
                                    const struct hils_block *b, size_t slot,
                                    size_t keys, struct hils_mask *mask)
{
    for (size_t i = 0; i < b->padded; i++) {
        size_t query = t->first + b->row[i] / job->group;
        size_t to = hils_slot(job, query) + 1;
        size_t from = ref_window(job->sizes, to - 1);
        from = from > slot ? from - slot : 0;
        to = to > slot ? to - slot : 0;
        mask->from[i] = (int32_t)(from < keys ? from : keys);
        mask->to[i] = (int32_t)(to < keys ? to : keys);
    }
}

#endif
