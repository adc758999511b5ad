#include "kernels/cpu/cpu_blocks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_internal.h"

enum { COLUMNS = 16 /* that one thread takes at least */ };

struct blocks_job {
    float *out;
    const float *a;
    const struct kernel_weight *w;
    size_t m;
    bool add;
    atomic_bool failed;
};

static void part(void *argument, size_t from, size_t to)
{
    struct blocks_job *job = argument;
    const struct kernel_weight *w = job->w;
    size_t end = to * COLUMNS < w->n ? to * COLUMNS : w->n;
    float *row = ref_scratch(w->k * sizeof *row);
    if (!row)
        atomic_store(&job->failed, true);
    for (size_t j = from * COLUMNS; row && j < end; j++) {
        blocks_decode(w->type, ref_weight_row(w, j), w->k, row);
        cpu_lanes->rows(job->out + j, w->n, job->a, lanes_floats(row), job->m,
                        1, w->k, job->add);
    }
    free(row);
}

int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add)
{
    struct blocks_job job = {.out = out, .a = a, .w = w, .m = m, .add = add};
    cpu_share(run, (w->n + COLUMNS - 1) / COLUMNS,
              (double)m * (double)w->n * (double)w->k, part, &job);
    return job.failed ? KERNEL_NO_MEMORY : KERNEL_OK;
}
