/* HiLS attention, a tile at a time: the windows of its queries first, a block of
 * rows at a time, then the chunks that any of them chose, in ascending order, so
 * that each is read from memory once for all that chose it, while the next one is
 * asked for.  Within a chunk a row is taken alone: no bit depends on what other
 * queries choose, nor on how queries are put into tiles. */
#include "kernels/cpu/cpu_hils.h"

#include <stdlib.h>

enum {
    SPAN = 64,  /* chunks whose askers are listed at a time */
    AT_ONCE = 4 /* rows */
};

/* A tile's rows: for each its query and what it has summed up, side by side. */
struct rows {
    struct hils_softmax softmax;
    float shift[TILE]; /* of the scores in the present chunk */
    float *both;       /* [rows, 2, d] */
};

static float *query_of(const struct rows *rows, size_t r, size_t d)
{
    return rows->both + 2 * r * d;
}

static float *values_of(const struct rows *rows, size_t r, size_t d)
{
    return query_of(rows, r, d) + d;
}

/* ---- Windows ---- */

/* Takes a run, whose scores are there, with the values. */
static void take_run(const struct hils_job *job, const struct hils_tile *t,
                     struct hils_block *b, size_t slot, size_t keys,
                     float *score, const struct hils_mask *mask,
                     struct rows *rows)
{
    SCRATCH float room[KEYS * MAX_D];
    size_t d = job->sizes->d, step;
    float *values = values_of(rows, b->first, d);
    hils_fold(b, score, keys, mask);
    for (size_t i = 0; i < b->count; i++)
        if (b->shrink[i] != 1)
            cpu_lanes->scale(values + 2 * i * d, values + 2 * i * d, NULL,
                             b->shrink[i], d);
    struct cpu_run run = hils_run(job, t, slot, keys);
    const float *value = cpu_values(&run, room, &step);
    cpu_lanes->mix(values, 2 * d, score, 1, ROWS, value, step, b->count, d,
                   keys, true);
}

static struct lanes_row row_at(struct rows *rows, size_t r, size_t d)
{
    return (struct lanes_row){.q = query_of(rows, r, d),
                              .values = values_of(rows, r, d),
                              .max = &rows->softmax.max[r],
                              .total = &rows->softmax.total[r],
                              .shift = rows->shift[r]};
}

static void take_windows(const struct hils_job *job, const struct hils_tile *t,
                         struct rows *rows)
{
    SCRATCH float score[KEYS * ROWS];
    SCRATCH float queries[MAX_D * ROWS];
    struct hils_block b;
    struct hils_mask mask;
    bool few = hils_few(job);
    for (size_t first = 0; first < t->rows; first += b.count) {
        size_t slot, end;
        hils_load(job, t, first, &b, queries);
        hils_windows(job, t, &b, &slot, &end);
        for (size_t keys; (keys = hils_next_run(job, &slot, end));
             slot += keys) {
            hils_mask_window(job, t, &b, slot, keys, &mask);
            for (size_t r = 0; few && r < t->rows; r++) {
                struct lanes_row row = row_at(rows, r, job->sizes->d);
                hils_take_row(job, t, slot + (size_t)mask.from[r],
                              slot + (size_t)mask.to[r], &row);
            }
            if (few)
                continue;
            hils_score(job, t, &b, queries, slot, keys, score);
            take_run(job, t, &b, slot, keys, score, &mask, rows);
        }
        if (!few)
            hils_keep(&b, &rows->softmax);
    }
}

/* ---- Chunks ---- */

/* A run of keys as columns [d, KEYS], and its values [keys, d]: where they lie, or,
 * where those of other heads lie between or they are decoded, copied. */
struct packed {
    size_t slot, keys; /* 0: none */
    const float *value;
    float key[MAX_D * KEYS], copied[KEYS * MAX_D];
};

static void pack(const struct hils_job *job, const struct hils_tile *t,
                 size_t slot, size_t keys, struct packed *p)
{
    struct cpu_run run = hils_run(job, t, slot, keys);
    size_t d = job->sizes->d, step;
    const float *at[KEYS];
    if (p->keys == keys && p->slot == slot)
        return;
    const float *key = cpu_keys(&run, p->copied, &step);
    for (size_t j = 0; j < KEYS; j++)
        at[j] = key + (j < keys ? j : 0) * step;
    cpu_lanes->columns(p->key, at, 1, (keys + 15) / 16 * 16, d);
    const float *value = cpu_values(&run, p->copied, &step);
    p->value = step == d ? value : p->copied;
    for (size_t j = 0; step != d && j < keys; j++)
        memcpy(p->copied + j * d, value + j * step, d * sizeof *value);
    p->slot = slot;
    p->keys = keys;
}

/* Asks for parts [i, i + some) of n of a run's keys and values. */
static void ask(const struct hils_job *job, const struct hils_tile *t,
                size_t slot, size_t keys, size_t i, size_t some, size_t n)
{
    size_t d = job->sizes->d, step = hils_step(job), at = hils_at(job, t);
    if (job->pages->type != KERNEL_F32)
        return;
    const char *key = (const char *)(ref_key(job->pages, slot, step) + at);
    const char *value = (const char *)(ref_value(job->pages, slot, step) + at);
    for (size_t j = keys * i / n; j < keys * (i + some) / n; j++)
        for (size_t l = 0; l < d * sizeof(float); l += 64) {
            __builtin_prefetch(key + j * step * sizeof(float) + l, 0, 2);
            __builtin_prefetch(value + j * step * sizeof(float) + l, 0, 2);
        }
}

/* Who reads a chunk. */
struct askers {
    const uint16_t *query; /* of the tile, ascending */
    size_t count, group;
    size_t next; /* the chunk that is read after this one */
    bool packed;
};

/* The i-th row that asks. */
static size_t asker(const struct askers *a, size_t i)
{
    return a->query[i / a->group] * a->group + i % a->group;
}

/* Asks for the rows that are taken after the first `from`. */
static void ask_rows(const struct rows *rows, const struct askers *a,
                     size_t from, size_t count, size_t d)
{
    for (size_t i = from; i < count && i < from + AT_ONCE; i++)
        for (size_t l = 0; l < 2 * d; l += 16)
            __builtin_prefetch(query_of(rows, asker(a, i), d) + l, 1, 3);
}

/* Slots [slot, slot + keys) for each row that asks; own: only into these
 * softmaxes. */
static void take_for(const struct hils_job *job, const struct hils_tile *t,
                     const struct askers *a, size_t slot, size_t keys,
                     struct rows *rows, struct hils_softmax *own,
                     struct packed *p)
{
    size_t d = job->sizes->d, count = a->count * a->group, ahead = 0;
    size_t chunk = job->sizes->chunk;
    if (!own && a->next != SIZE_MAX)
        ahead = ref_stretch(job->pages, a->next * chunk, chunk);
    if (a->packed)
        pack(job, t, slot, keys, p);
    for (size_t i = 0, some; i < count; i += some) {
        struct lanes_row row[AT_ONCE];
        some = count - i < AT_ONCE ? count - i : AT_ONCE;
        for (size_t k = 0; k < some; k++) {
            size_t r = asker(a, i + k);
            row[k] = row_at(rows, r, d);
            if (!own)
                continue;
            row[k].values = NULL;
            row[k].max = &own->max[r];
            row[k].total = &own->total[r];
        }
        ask_rows(rows, a, i + some, count, d);
        if (ahead)
            ask(job, t, a->next * chunk, ahead, i, some, count);
        if (a->packed)
            cpu_lanes->fold_rows(row, some, p->key, own ? NULL : p->value, d,
                                 keys, hils_scale(job));
        for (size_t k = 0; !a->packed && k < some; k++)
            hils_take_row(job, t, slot, slot + keys, &row[k]);
    }
}

/* rows->shift = what makes a row's scores in a chunk those of its share of
 * exp(the chunk's score). */
static void shift_rows(const struct hils_job *job, const struct hils_tile *t,
                       size_t chunk, const struct askers *a, struct rows *rows,
                       struct packed *p)
{
    SCRATCH struct hils_softmax own;
    size_t slot = chunk * job->sizes->chunk, end = slot + job->sizes->chunk;
    size_t count = a->count * a->group;
    for (size_t i = 0; i < count; i++) {
        size_t r = asker(a, i);
        own.max[r] = LANES_LEAST;
        own.total[r] = rows->shift[r] = 0;
    }
    for (size_t keys; (keys = hils_next_run(job, &slot, end)); slot += keys)
        take_for(job, t, a, slot, keys, rows, &own, p);
    for (size_t i = 0; i < count; i++) {
        size_t r = asker(a, i), head = t->kv * a->group + r % a->group;
        float score =
            cpu_lanes->dot(job->qhat + hils_place(job, t, r),
                           hils_summary_key(job, chunk, head), job->sizes->d) *
                hils_scale(job) +
            hils_summary_bias(job, chunk, head);
        rows->shift[r] = score - own.max[r] - logf(own.total[r]);
    }
}

static void take_chunk(const struct hils_job *job, const struct hils_tile *t,
                       size_t chunk, const struct askers *a, struct rows *rows,
                       struct packed *p)
{
    size_t slot = chunk * job->sizes->chunk, end = slot + job->sizes->chunk;
    if (!job->sizes->exact)
        shift_rows(job, t, chunk, a, rows, p);
    for (size_t keys; (keys = hils_next_run(job, &slot, end)); slot += keys)
        take_for(job, t, a, slot, keys, rows, NULL, p);
}

/* Who chose which of the chunks [base, base + SPAN). */
struct span {
    size_t base;
    size_t start[SPAN + 1];      /* where each chunk's queries begin */
    uint16_t query[TILE * SPAN]; /* of the tile, ascending */
    size_t at[TILE];             /* how far each query's list was read */
};

static const int32_t *list_of(const struct hils_job *job,
                              const struct hils_tile *t, size_t i)
{
    const struct kernel_hils *z = job->sizes;
    return job->chosen + ((t->first + i) * z->hkv + t->kv) * z->top_k;
}

/* The next span that any query chose from; false: there is none. */
static bool next_span(const struct hils_job *job, const struct hils_tile *t,
                      struct span *span)
{
    size_t top_k = job->sizes->top_k, filled[SPAN];
    int32_t next = INT32_MAX, end;
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *list = list_of(job, t, i);
        if (span->at[i] < top_k && list[span->at[i]] >= 0)
            next = list[span->at[i]] < next ? list[span->at[i]] : next;
    }
    if (next == INT32_MAX)
        return false;
    span->base = (size_t)next / SPAN * SPAN;
    end = (int32_t)(span->base + SPAN);
    memset(span->start, 0, sizeof span->start);
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *list = list_of(job, t, i);
        for (size_t k = span->at[i]; k < top_k && list[k] >= 0 && list[k] < end;
             k++)
            span->start[(size_t)list[k] - span->base + 1]++;
    }
    for (size_t c = 0; c < SPAN; c++) {
        filled[c] = span->start[c];
        span->start[c + 1] += span->start[c];
    }
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *list = list_of(job, t, i);
        size_t *k = &span->at[i];
        for (; *k < top_k && list[*k] >= 0 && list[*k] < end; ++*k)
            span->query[filled[(size_t)list[*k] - span->base]++] = (uint16_t)i;
    }
    return true;
}

/* The chunk of the span that is read after its c-th; SIZE_MAX: not known. */
static size_t next_in(const struct span *span, size_t c)
{
    for (c++; c < SPAN; c++)
        if (span->start[c + 1] > span->start[c])
            return span->base + c;
    return SIZE_MAX;
}

static void take_chunks(const struct hils_job *job, const struct hils_tile *t,
                        struct rows *rows)
{
    SCRATCH struct span span;
    SCRATCH struct packed packed;
    packed.keys = 0;
    memset(span.at, 0, t->count * sizeof span.at[0]);
    while (next_span(job, t, &span))
        for (size_t c = 0; c < SPAN; c++) {
            struct askers askers = {.query = span.query + span.start[c],
                                    .count = span.start[c + 1] - span.start[c],
                                    .group = job->group,
                                    .packed = !hils_few(job)};
            if (!askers.count)
                continue;
            askers.next = next_in(&span, c);
            take_chunk(job, t, span.base + c, &askers, rows, &packed);
        }
}

static void attend_tile(const struct hils_job *job, const struct hils_tile *t,
                        struct rows *rows)
{
    size_t d = job->sizes->d;
    hils_begin(&rows->softmax, t->rows);
    for (size_t r = 0; r < t->rows; r++) {
        rows->shift[r] = 0;
        memcpy(query_of(rows, r, d), job->q + hils_place(job, t, r),
               d * sizeof *rows->both);
        memset(values_of(rows, r, d), 0, d * sizeof *rows->both);
    }
    take_windows(job, t, rows);
    take_chunks(job, t, rows);
    for (size_t r = 0; r < t->rows; r++) {
        float total = rows->softmax.total[r];
        float *out = job->out + hils_place(job, t, r);
        if (job->sizes->softmax1)
            total += expf(-rows->softmax.max[r]);
        if (rows->softmax.total[r] <= 0)
            memset(out, 0, d * sizeof *out);
        else
            cpu_lanes->scale(out, values_of(rows, r, d), NULL, 1 / total, d);
    }
}

/* The rows of few queries are on the stack: a token decoded allocates nothing. */
static void attend(void *argument, size_t begin, size_t end)
{
    struct hils_job *job = argument;
    SCRATCH struct rows rows;
    SCRATCH float few[FEW_ROWS * 2 * MAX_D];
    size_t m = job->sizes->m, d = job->sizes->d;
    size_t max = (m < job->queries ? m : job->queries) * job->group;
    float *many = NULL;
    if (max > FEW_ROWS)
        many = malloc(max * 2 * d * sizeof *many);
    rows.both = many ? many : few;
    if (max > FEW_ROWS && !many)
        atomic_store(&job->failed, true);
    else
        for (size_t index = begin; index < end; index++) {
            struct hils_tile t = hils_tile(job, index);
            attend_tile(job, &t, &rows);
        }
    free(many);
}

static int hils_attention(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const struct kernel_pages *pages,
                          const struct kernel_summaries *summaries,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen, const struct kernel_hils *z)
{
    size_t group = z->hq / z->hkv;
    if (z->d > MAX_D || group > ROWS)
        return kernels_ref()->hils_attention(
            run, out, q, qhat, pages, summaries, position, landmark, chosen, z);
    struct hils_job job = {.sizes = z,
                           .q = q,
                           .qhat = qhat,
                           .pages = pages,
                           .summaries = summaries,
                           .position = position,
                           .landmark = landmark,
                           .chosen = chosen,
                           .out = out,
                           .group = group};
    size_t chunks = z->top_k < z->chunks ? z->top_k : z->chunks;
    hils_share(run, &job, TILE / group,
               2 * ((double)chunks * (double)z->chunk + (double)z->window),
               attend);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

void cpu_fill_hils(struct kernels *table)
{
    cpu_fill_hils_choose(table);
    cpu_fill_hils_rerank(table);
    table->hils_attention = hils_attention;
}
