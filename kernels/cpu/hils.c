/* HiLS attention: a query and a key-value head at a time, with all the query
 * heads of its group, so that keys and values are read once for the group. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

struct job {
    const struct kernel_hils *sizes;
    const float *q, *qhat, *k, *v, *summary_key, *summary_bias;
    const int32_t *position, *landmark;
    int32_t *choice;       /* hils_choose: its result */
    const int32_t *chosen; /* hils_attention: its input */
    float *out;
    size_t group;       /* query heads of a key-value head */
    size_t most;        /* slots that one query can attend to */
    atomic_bool failed; /* no memory */
};

/* Neighbouring slots that are attended to. */
struct stretch {
    size_t slot, count;
    size_t at; /* of its first score */
};

/* What one thread works with. */
struct scratch {
    size_t query, kv;
    struct stretch *stretches; /* [most] */
    size_t stretch_count;
    float *score; /* [group, most] */
    size_t count; /* of slots taken */
    float *copy;  /* [most] */
    float *whole; /* [group, chunks]: of hils_choose, the chunks' scores */
    int32_t *best;
    double *rank, *total; /* best, rank [top_k]; total [group] */
};

/* Of query heads, the first of the group. */
static const float *queries_of(const struct job *job, const struct scratch *s,
                               const float *q)
{
    const struct kernel_hils *z = job->sizes;
    return q + (s->query * z->hq + s->kv * job->group) * z->d;
}

static float highest_of(const float *score, size_t count)
{
    float most = -INFINITY;
    for (size_t j = 0; j < count; j++)
        most = score[j] > most ? score[j] : most;
    return most;
}

/* ln sum exp(score), copy [count] being room; count 0: -INFINITY. */
static float log_sum(const float *score, float *copy, size_t count)
{
    float most = highest_of(score, count);
    if (!count)
        return most;
    memcpy(copy, score, count * sizeof *copy);
    return most + logf(cpu_lanes->exp_sum(copy, most, count));
}

/* Takes the slots [from, to) but for landmarks, with their scores. */
static void take(const struct job *job, struct scratch *s, size_t from,
                 size_t to)
{
    const struct kernel_hils *z = job->sizes;
    const float *q = queries_of(job, s, job->q);
    float scale = 1 / sqrtf((float)z->d);
    bool open = false;
    for (size_t j = from; j < to; j++) {
        if (job->landmark && job->landmark[j]) {
            open = false;
            continue;
        }
        if (!open)
            s->stretches[s->stretch_count++] = (struct stretch){j, 0, s->count};
        open = true;
        s->stretches[s->stretch_count - 1].count++;
        const float *k = job->k + (j * z->hkv + s->kv) * z->d;
        for (size_t g = 0; g < job->group; g++)
            s->score[g * job->most + s->count] =
                cpu_lanes->dot(q + g * z->d, k, z->d) * scale;
        s->count++;
    }
}

static void take_window(const struct job *job, struct scratch *s)
{
    size_t t = (size_t)job->position[s->query];
    s->count = s->stretch_count = 0;
    take(job, s, ref_window(job->sizes, t), t + 1);
}

static float chunk_score(const struct job *job, const struct scratch *s,
                         size_t g, size_t c)
{
    const struct kernel_hils *z = job->sizes;
    size_t own = c * z->hq + s->kv * job->group + g;
    return cpu_lanes->dot(queries_of(job, s, job->qhat) + g * z->d,
                          job->summary_key + own * z->d, z->d) /
               sqrtf((float)z->d) +
           job->summary_bias[own];
}

/* ---- The choice ---- */

static void choose(const struct job *job, struct scratch *s)
{
    const struct kernel_hils *z = job->sizes;
    size_t count = 0;
    size_t candidates =
        ref_window(z, (size_t)job->position[s->query]) / z->chunk;
    for (size_t c = 0; c < candidates; c++)
        for (size_t g = 0; g < job->group; g++)
            s->whole[g * z->chunks + c] = chunk_score(job, s, g, c);
    /* one head alone: all its scores are lowered by the same */
    s->total[0] = 0;
    if (job->group > 1 && candidates)
        take_window(job, s);
    for (size_t g = 0; job->group > 1 && candidates && g < job->group; g++) {
        const float *own = s->whole + g * z->chunks;
        double window =
            (double)log_sum(s->score + g * job->most, s->copy, s->count);
        s->total[g] =
            ref_log_add(window, (double)log_sum(own, s->copy, candidates));
    }
    for (size_t c = 0; c < candidates; c++) {
        double highest = (double)-INFINITY;
        for (size_t g = 0; g < job->group; g++)
            highest = fmax(highest,
                           (double)s->whole[g * z->chunks + c] - s->total[g]);
        ref_rank(s->best, s->rank, &count, z->top_k, c, highest);
    }
    ref_ascending(job->choice + (s->query * z->hkv + s->kv) * z->top_k, s->best,
                  count, z->top_k);
}

/* ---- Attention ---- */

/* Takes chunk c, which as a whole weighs exp(its score). */
static void take_chunk(const struct job *job, struct scratch *s, size_t c)
{
    size_t chunk = job->sizes->chunk, first = s->count;
    take(job, s, c * chunk, (c + 1) * chunk);
    for (size_t g = 0; !job->sizes->exact && g < job->group; g++) {
        float *score = s->score + g * job->most + first;
        size_t count = s->count - first;
        float shift =
            chunk_score(job, s, g, c) - log_sum(score, s->copy, count);
        for (size_t j = 0; j < count; j++)
            score[j] += shift;
    }
}

/* Scores become weights. */
static void weigh(const struct job *job, struct scratch *s)
{
    for (size_t g = 0; g < job->group; g++) {
        float *score = s->score + g * job->most;
        float most = highest_of(score, s->count);
        float total = cpu_lanes->exp_sum(score, most, s->count);
        if (job->sizes->softmax1)
            total += expf(-most);
        cpu_lanes->scale(score, score, NULL, 1 / total, s->count);
    }
}

static void attend(const struct job *job, struct scratch *s)
{
    const struct kernel_hils *z = job->sizes;
    const int32_t *chosen =
        job->chosen + (s->query * z->hkv + s->kv) * z->top_k;
    float *out = job->out + (s->query * z->hq + s->kv * job->group) * z->d;
    take_window(job, s);
    for (size_t c = 0; c < z->top_k && chosen[c] >= 0; c++)
        take_chunk(job, s, (size_t)chosen[c]);
    if (!s->count) {
        memset(out, 0, job->group * z->d * sizeof *out);
        return;
    }
    weigh(job, s);
    for (size_t r = 0; r < s->stretch_count; r++) {
        const struct stretch *part = &s->stretches[r];
        cpu_lanes->mix(out, z->d, s->score + part->at, job->most, 1,
                       job->v + (part->slot * z->hkv + s->kv) * z->d,
                       z->hkv * z->d, job->group, z->d, part->count, r > 0);
    }
}

/* ---- Sharing out ---- */

static void free_scratch(struct scratch *s)
{
    free(s->stretches);
    free(s->score);
    free(s->copy);
    free(s->whole);
    free(s->best);
    free(s->rank);
    free(s->total);
}

static bool make_scratch(const struct job *job, struct scratch *s)
{
    const struct kernel_hils *z = job->sizes;
    size_t copies = job->most > z->chunks ? job->most : z->chunks;
    *s = (struct scratch){
        .stretches = calloc(job->most + 1, sizeof *s->stretches),
        .score = calloc(job->most + 1, job->group * sizeof *s->score),
        .copy = calloc(copies + 1, sizeof *s->copy),
        .whole = calloc(z->chunks + 1, job->group * sizeof *s->whole),
        .best = calloc(z->top_k, sizeof *s->best),
        .rank = calloc(z->top_k, sizeof *s->rank),
        .total = calloc(job->group, sizeof *s->total)};
    return s->stretches && s->score && s->copy && s->whole && s->best &&
           s->rank && s->total;
}

static void part(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    struct scratch s;
    bool ready = make_scratch(job, &s);
    if (!ready)
        atomic_store(&job->failed, true);
    for (size_t index = from; ready && index < to; index++) {
        s.query = index / job->sizes->hkv;
        s.kv = index % job->sizes->hkv;
        (job->choice ? choose : attend)(job, &s);
    }
    free_scratch(&s);
}

/* Of the slots of a window and `chunks` chunks, no more than there are. */
static size_t slots_of(const struct kernel_hils *z, size_t chunks)
{
    size_t count;
    if (__builtin_mul_overflow(chunks + 1, z->chunk, &count) ||
        __builtin_add_overflow(count, z->window, &count) || count > z->n)
        return z->n;
    return count;
}

static int share(struct kernel_run *run, struct job *job, size_t chunks,
                 size_t summaries)
{
    const struct kernel_hils *z = job->sizes;
    job->group = z->hq / z->hkv;
    job->most = slots_of(z, chunks);
    cpu_share(run, z->m * z->hkv,
              (double)z->m * (double)z->hq * (double)z->d *
                  ((double)job->most + (double)summaries),
              part, job);
    return atomic_load(&job->failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

static int hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                       const float *qhat, const float *k,
                       const float *summary_key, const float *summary_bias,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *sizes)
{
    struct job job = {.sizes = sizes,
                      .q = q,
                      .qhat = qhat,
                      .k = k,
                      .summary_key = summary_key,
                      .summary_bias = summary_bias,
                      .position = position,
                      .landmark = landmark,
                      .choice = chosen};
    return share(run, &job, 0, sizes->chunks);
}

static int hils_attention(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const float *k, const float *v,
                          const float *summary_key, const float *summary_bias,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen,
                          const struct kernel_hils *sizes)
{
    struct job job = {.sizes = sizes,
                      .q = q,
                      .qhat = qhat,
                      .k = k,
                      .v = v,
                      .summary_key = summary_key,
                      .summary_bias = summary_bias,
                      .position = position,
                      .landmark = landmark,
                      .chosen = chosen,
                      .out = out};
    size_t chunks = sizes->top_k < sizes->chunks ? sizes->top_k : sizes->chunks;
    return share(run, &job, chunks, 0);
}

void cpu_fill_hils(struct kernels *table)
{
    table->hils_choose = hils_choose;
    table->hils_attention = hils_attention;
}
