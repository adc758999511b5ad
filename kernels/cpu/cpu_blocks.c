#include "kernels/cpu/cpu_blocks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_internal.h"

enum { COLUMNS = 16 /* that one thread takes at least */ };

struct blocks_job {
    float *out;
    const float *a;
    struct rounded *rounded; /* [m, k / 32] */
    const struct kernel_weight *w;
    size_t m;
    bool add;
    atomic_bool failed;
};

static size_t end_of(const struct blocks_job *job, size_t to)
{
    return to * COLUMNS < job->w->n ? to * COLUMNS : job->w->n;
}

/* Rows of w as floats, one at a time. */
static void exact_part(void *argument, size_t from, size_t to)
{
    struct blocks_job *job = argument;
    const struct kernel_weight *w = job->w;
    float *row = ref_scratch(w->k * sizeof *row);
    if (!row)
        atomic_store(&job->failed, true);
    for (size_t j = from * COLUMNS; row && j < end_of(job, to); j++) {
        ref_weight_values(w, j, row);
        cpu_lanes->rows(job->out + j, w->n, job->a, lanes_floats(row), job->m,
                        1, w->k, job->add);
    }
    free(row);
}

static void round_part(void *argument, size_t from, size_t to)
{
    const struct blocks_job *job = argument;
    size_t k = job->w->k;
    for (size_t i = from; i < to; i++)
        cpu_block_lanes->round(job->rounded + i * (k / 32), job->a + i * k, k);
}

static void rounded_part(void *argument, size_t from, size_t to)
{
    const struct blocks_job *job = argument;
    const struct kernel_weight *w = job->w;
    size_t first = from * COLUMNS;
    cpu_block_lanes->rows(job->out + first, w->n, job->rounded,
                          ref_weight_row(w, first), w->type, job->m,
                          end_of(job, to) - first, w->k, job->add);
}

int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add)
{
    struct blocks_job job = {.out = out, .a = a, .w = w, .m = m, .add = add};
    double work = (double)m * (double)w->n * (double)w->k;
    if (cpu_block_lanes) {
        job.rounded = ref_scratch(m * (w->k / 32) * sizeof *job.rounded);
        if (!job.rounded)
            return KERNEL_NO_MEMORY;
        cpu_share(run, m, (double)m * (double)w->k, round_part, &job);
    }
    cpu_share(run, (w->n + COLUMNS - 1) / COLUMNS, work,
              job.rounded ? rounded_part : exact_part, &job);
    free(job.rounded);
    return job.failed ? KERNEL_NO_MEMORY : KERNEL_OK;
}
