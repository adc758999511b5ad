/* Attention without a matrix of all scores: for a tile of up to 64 rows, a row
 * being a query of one head, the keys are taken in blocks of 64, and softmax
 * runs along (running maximum, running sum).
 *
 * All heads that share a key-value head are rows of the same tile, so each key
 * and value is read once for the group.  Scores are kept transposed, [keys,
 * rows]: then neither keys nor values are ever rearranged, only the tile's
 * queries, once. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_few_rows.h"
#include "kernels/cpu/cpu_pages.h"
#include "kernels/ref/ref.h"

enum {
    ROWS = LANES_ROWS,
    KEYS = 64,
    MAX_D = 256 /* above, `ref` does it */
};

struct job {
    float *out;     /* [m, hq, d] */
    const float *q; /* [m, hq, d] */
    const struct kernel_pages *pages;
    size_t m, n, hq, hkv, d, window;
    size_t group; /* query heads of a key-value head */
    size_t tiles; /* of each key-value head's m * group rows */
    bool causal;  /* else a window reaches as far behind */
};

struct tile {
    size_t head;                 /* of keys and values */
    size_t first, rows, padded;  /* rows of the head; padded to 16 */
    size_t from[ROWS], to[ROWS]; /* the keys that each row sees */
    float max[ROWS], total[ROWS], shrink[ROWS];
};

/* Where row r of a tile lies in q and out. */
static size_t place(const struct job *job, const struct tile *tile, size_t r)
{
    size_t row = tile->first + r, query = row / job->group;
    size_t head = tile->head * job->group + row % job->group;
    return (query * job->hq + head) * job->d;
}

/* The tile's queries, scaled, a column each: [d, ROWS]. */
static void load_queries(const struct job *job, const struct tile *tile,
                         float *queries)
{
    float scale = 1 / sqrtf((float)job->d);
    for (size_t r = 0; r < tile->padded; r++) {
        const float *q = job->q + place(job, tile, r < tile->rows ? r : 0);
        for (size_t l = 0; l < job->d; l++)
            queries[l * ROWS + r] = q[l] * scale;
    }
}

/* The keys that a query sees. */
static void set_range(const struct job *job, size_t query, size_t *from,
                      size_t *to)
{
    size_t window = job->window;
    if (job->causal) {
        *to = job->n - job->m + query + 1;
        *from = window && *to > window ? *to - window : 0;
        return;
    }
    *to = window && query + window < job->n ? query + window + 1 : job->n;
    *from = window && query > window ? query - window : 0;
}

static void set_up(const struct job *job, struct tile *tile, size_t index)
{
    size_t rows = job->m * job->group;
    tile->head = index / job->tiles;
    tile->first = index % job->tiles * ROWS;
    tile->rows = rows - tile->first < ROWS ? rows - tile->first : ROWS;
    tile->padded = (tile->rows + 15) / 16 * 16;
    for (size_t r = 0; r < tile->padded; r++) {
        size_t row = tile->first + (r < tile->rows ? r : 0);
        set_range(job, row / job->group, &tile->from[r], &tile->to[r]);
        tile->max[r] = LANES_LEAST;
        tile->total[r] = 0;
    }
}

/* The first of slots [slot, slot + count), as far as they lie in one page. */
static struct cpu_run run_of(const struct job *job, const struct tile *tile,
                             size_t slot, size_t count)
{
    return (struct cpu_run){.pages = job->pages,
                            .hkv = job->hkv,
                            .d = job->d,
                            .head = tile->head,
                            .slot = slot,
                            .count = ref_stretch(job->pages, slot, count)};
}

/* Takes keys [key, key + keys), which may lie in several pages, into the tile's
 * sums [rows, d]. */
static void take_block(const struct job *job, struct tile *tile,
                       const float *queries, float *sums, size_t key,
                       size_t keys, bool add)
{
    SCRATCH float score[KEYS * ROWS];
    SCRATCH float room[KEYS * MAX_D];
    int32_t from[ROWS], to[ROWS];
    size_t step;
    for (size_t j = 0, some; j < keys; j += some) {
        struct cpu_run run = run_of(job, tile, key + j, keys - j);
        const float *at = cpu_keys(&run, room, &step);
        some = run.count;
        cpu_lanes->mix(score + j * ROWS, ROWS, at, step, 1, queries, ROWS, some,
                       tile->padded, job->d, false);
    }
    bool whole = true;
    for (size_t r = 0; r < tile->padded; r++) {
        size_t first = tile->from[r], end = tile->to[r];
        whole = whole && first <= key && end >= key + keys;
        from[r] = first > key
                      ? (int32_t)(first - key < KEYS ? first - key : KEYS)
                      : 0;
        to[r] = end > key ? (int32_t)(end - key < KEYS ? end - key : KEYS) : 0;
    }
    cpu_lanes->fold(score, tile->max, tile->total, tile->shrink,
                    whole ? NULL : from, whole ? NULL : to, keys, tile->padded);
    for (size_t r = 0; add && r < tile->rows; r++)
        if (tile->shrink[r] != 1)
            cpu_lanes->scale(sums + r * job->d, sums + r * job->d, NULL,
                             tile->shrink[r], job->d);
    for (size_t j = 0, some; j < keys; j += some) {
        struct cpu_run run = run_of(job, tile, key + j, keys - j);
        const float *at = cpu_values(&run, room, &step);
        some = run.count;
        cpu_lanes->mix(sums, job->d, score + j * ROWS, 1, ROWS, at, step,
                       tile->rows, job->d, some, add || j > 0);
    }
}

/* The same for one row of few, of the keys that it sees. */
static void take_row(const struct job *job, struct tile *tile, float *sums,
                     size_t r, size_t key, size_t keys)
{
    SCRATCH float room[KEYS * MAX_D];
    size_t d = job->d, step;
    size_t from = tile->from[r] > key ? tile->from[r] : key;
    size_t to = tile->to[r] < key + keys ? tile->to[r] : key + keys;
    float score[FEW_KEYS], scale = 1 / sqrtf((float)d), shrink;
    if (from >= to)
        return;
    for (size_t j = from, some; j < to; j += some) {
        struct cpu_run run = run_of(job, tile, j, to - j);
        const float *at = cpu_keys(&run, room, &step);
        some = run.count;
        cpu_lanes->dots(score + (j - from), job->q + place(job, tile, r), at,
                        step, d, some, scale, 0);
    }
    shrink =
        cpu_lanes->fold_row(score, to - from, &tile->max[r], &tile->total[r]);
    few_shrink(sums + r * d, shrink, d);
    for (size_t j = from, some; j < to; j += some) {
        struct cpu_run run = run_of(job, tile, j, to - j);
        const float *at = cpu_values(&run, room, &step);
        some = run.count;
        few_mix(sums + r * d, score + (j - from), at, step, d, some);
    }
}

/* Asks for the keys and values of slots [key, key + keys), as far as they lie in
 * one page.  A head's are pieces with those of the other heads between: the
 * processor does not ask for the next one by itself. */
static void ask(const struct job *job, const struct tile *tile, size_t key,
                size_t keys)
{
    size_t step = ref_step(job->pages, job->hkv, job->d);
    size_t at = ref_at(job->pages, tile->head, job->d);
    size_t bytes = job->d * sizeof(float);
    if (!keys || job->pages->type != KERNEL_F32)
        return;
    const char *k = (const char *)(ref_key(job->pages, key, step) + at);
    const char *v = (const char *)(ref_value(job->pages, key, step) + at);
    keys = ref_stretch(job->pages, key, keys);
    for (size_t j = 0; j < keys * step * sizeof(float);
         j += step * sizeof(float))
        for (size_t l = 0; l < bytes; l += 64) {
            __builtin_prefetch(k + j + l, 0, 2);
            __builtin_prefetch(v + j + l, 0, 2);
        }
}

/* Keys from `key` on, up to `last`, to be taken at once: none is hidden. */
static size_t block_of(const struct kernel_pages *pages, size_t key,
                       size_t last)
{
    size_t keys = key < last ? last - key : 0;
    keys = keys < KEYS ? keys : KEYS;
    if (!pages->hidden)
        return keys;
    size_t seen = pages->hidden - 1 - key % pages->hidden;
    return seen < keys ? seen : keys;
}

static void attend(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    SCRATCH float queries[MAX_D * ROWS];
    SCRATCH float sums[ROWS * MAX_D];
    struct tile tile;
    for (size_t index = begin; index < end; index++) {
        set_up(job, &tile, index);
        load_queries(job, &tile, queries);
        size_t key = tile.from[0], last = tile.to[tile.rows - 1];
        bool add = false, few = tile.rows <= FEW_ROWS;
        if (few)
            memset(sums, 0, tile.rows * job->d * sizeof *sums);
        for (size_t keys; key < last; key += keys) {
            key += ref_is_hidden(job->pages, key);
            keys = block_of(job->pages, key, last);
            if (few)
                ask(job, &tile, key + keys,
                    block_of(job->pages, key + keys, last));
            for (size_t r = 0; keys && few && r < tile.rows; r++)
                take_row(job, &tile, sums, r, key, keys);
            if (keys && !few)
                take_block(job, &tile, queries, sums, key, keys, add);
            add = add || keys;
        }
        for (size_t r = 0; r < tile.rows; r++) {
            float *out = job->out + place(job, &tile, r);
            if (!add || tile.total[r] <= 0)
                memset(out, 0, job->d * sizeof *out);
            else
                cpu_lanes->scale(out, sums + r * job->d, NULL,
                                 1 / tile.total[r], job->d);
        }
    }
}

static int share(struct kernel_run *run, struct job *job)
{
    size_t reach = job->causal ? job->window : 2 * job->window + 1;
    reach = job->window && reach < job->n ? reach : job->n;
    job->tiles = (job->m * job->group + ROWS - 1) / ROWS;
    cpu_share(run, job->hkv * job->tiles,
              2 * (double)job->m * (double)job->hq * (double)reach *
                  (double)job->d,
              attend, job);
    return KERNEL_OK;
}

static int attention(struct kernel_run *run, float *out, const float *q,
                     const struct kernel_pages *pages, size_t m, size_t n,
                     size_t hq, size_t hkv, size_t d, size_t window)
{
    if (d > MAX_D)
        return kernels_ref()->attention(run, out, q, pages, m, n, hq, hkv, d,
                                        window);
    struct job job = {out, q, pages,  m,        n, hq,
                      hkv, d, window, hq / hkv, 0, true};
    return share(run, &job);
}

static int attention_bidirectional(struct kernel_run *run, float *out,
                                   const float *q, const float *k,
                                   const float *v, size_t m, size_t n,
                                   size_t hq, size_t hkv, size_t d,
                                   size_t window)
{
    if (d > MAX_D)
        return kernels_ref()->attention_bidirectional(run, out, q, k, v, m, n,
                                                      hq, hkv, d, window);
    struct kernel_pages pages = ref_one_page(&k, &v, n);
    struct job job = {out, q, &pages, m,        n, hq,
                      hkv, d, window, hq / hkv, 0, false};
    return share(run, &job);
}

static int attention_texts(struct kernel_run *run, float *out, const float *q,
                           const float *k, const float *v,
                           const size_t *host_start, size_t texts, size_t hq,
                           size_t hkv, size_t d, size_t window, bool causal)
{
    return ref_attention_texts(kernels_cpu(), run, out, q, k, v, host_start,
                               texts, hq, hkv, d, window, causal);
}

static int attend_texts(struct kernel_run *run,
                        const struct kernel_text_part *part,
                        const struct kernel_rows *rows, size_t m)
{
    return ref_attend_texts(kernels_cpu(), run, part, rows, m);
}

void cpu_fill_attention(struct kernels *table)
{
    table->attention = attention;
    table->attention_bidirectional = attention_bidirectional;
    table->attention_texts = attention_texts;
    table->attend_texts = attend_texts;
}
