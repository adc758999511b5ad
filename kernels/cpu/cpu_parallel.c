/* Work shared out over the pool. */
#include "kernels/cpu/cpu_internal.h"

/* Columns that one thread takes at least. */
enum { ROWS_COLUMNS = 16, MIX_COLUMNS = 64 };

void cpu_share(struct kernel_run *run, size_t count, double work,
               void (*body)(void *argument, size_t from, size_t to),
               void *argument)
{
    /* about 10 microseconds of one core */
    const double min = 1e5;
    if (!count)
        return;
    if (!run->pool.parallel_for || run->pool.threads < 2 || count < 2 ||
        work < min)
        body(argument, 0, count);
    else
        run->pool.parallel_for(run->pool.context, count, body, argument);
}

struct job {
    float *out;
    const float *a;        /* of mix: p */
    struct lanes_weight w; /* of mix: v */
    size_t a_row, a_column;
    size_t m, n, k;
    bool add;
};

static double work_of(const struct job *job)
{
    return (double)job->m * (double)job->n * (double)job->k;
}

/* Blocks [from, to) of `columns` columns, as columns. */
static size_t clip(const struct job *job, size_t block, size_t columns)
{
    return block * columns < job->n ? block * columns : job->n;
}

static void rows_part(void *argument, size_t from, size_t to)
{
    const struct job *job = argument;
    size_t first = clip(job, from, ROWS_COLUMNS);
    cpu_lanes->rows(job->out + first, job->n, job->a,
                    lanes_weight_from(job->w, first, job->k), job->m,
                    clip(job, to, ROWS_COLUMNS) - first, job->k, job->add);
}

void cpu_rows(struct kernel_run *run, float *out, const float *a,
              struct lanes_weight w, size_t m, size_t n, size_t k, bool add)
{
    struct job job = {
        .out = out, .a = a, .w = w, .m = m, .n = n, .k = k, .add = add};
    cpu_share(run, (n + ROWS_COLUMNS - 1) / ROWS_COLUMNS, work_of(&job),
              rows_part, &job);
}

static void mix_part(void *argument, size_t from, size_t to)
{
    const struct job *job = argument;
    size_t first = clip(job, from, MIX_COLUMNS);
    const float *v = job->w.rows;
    cpu_lanes->mix(job->out + first, job->n, job->a, job->a_row, job->a_column,
                   v + first, job->n, job->m,
                   clip(job, to, MIX_COLUMNS) - first, job->k, false);
}

void cpu_mix(struct kernel_run *run, float *out, const float *p, size_t p_row,
             size_t p_column, const float *v, size_t m, size_t n, size_t k)
{
    struct job job = {.out = out,
                      .a = p,
                      .w = lanes_floats(v),
                      .a_row = p_row,
                      .a_column = p_column,
                      .m = m,
                      .n = n,
                      .k = k};
    cpu_share(run, (n + MIX_COLUMNS - 1) / MIX_COLUMNS, work_of(&job), mix_part,
              &job);
}
