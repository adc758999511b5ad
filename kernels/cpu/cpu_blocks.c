#include "kernels/cpu/cpu_blocks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_internal.h"

enum {
    COLUMNS = 32, /* that one thread takes at least */
    ROOM = 4 << 20,
    BATCH = 128, /* rows of a batch, or as many times that as there is room */
    ROOMS = 2
};

/* Where rows are rounded: memory of this size that came and went with each product
 * would cost its pages anew, more than rounding does.  Two stay, of one thread that
 * answers and one that indexes. */
static _Atomic(void *) rooms[ROOMS];

static void *room_take(size_t bytes)
{
    for (size_t i = 0; i < ROOMS && bytes <= ROOM; i++) {
        void *room = atomic_exchange(&rooms[i], NULL);
        if (room)
            return room;
    }
    return ref_scratch(bytes <= ROOM ? ROOM : bytes);
}

static void room_give(void *room, size_t bytes)
{
    for (size_t i = 0; i < ROOMS && bytes <= ROOM; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&rooms[i], &none, room))
            return;
    }
    free(room);
}

struct blocks_job {
    float *out;
    const float *a;
    struct rounded *rounded; /* [m, rounded_groups(k)], of a batch of rows */
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
        cpu_block_lanes->round(job->rounded + i * rounded_groups(k),
                               job->a + i * k, k, job->w->type);
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

/* Some rows, rounded to where there is room for them. */
static void rounded_rows(struct kernel_run *run, struct blocks_job *job)
{
    const double work = (double)job->m * (double)job->w->k;
    cpu_share(run, job->m, work, round_part, job);
    cpu_share(run, (job->w->n + COLUMNS - 1) / COLUMNS,
              work * (double)job->w->n, rounded_part, job);
}

static int rounded_matmul(struct kernel_run *run, struct blocks_job job)
{
    const size_t row = rounded_groups(job.w->k) * sizeof *job.rounded,
                 all = job.m;
    size_t most = row && row <= ROOM ? ROOM / row : 1;
    if (most > BATCH)
        most -= most % BATCH;
    const size_t bytes = (all < most ? all : most) * row;
    job.rounded = room_take(bytes);
    if (!job.rounded)
        return KERNEL_NO_MEMORY;
    for (size_t i = 0; i < all; i += job.m) {
        job.m = all - i < most ? all - i : most;
        rounded_rows(run, &job);
        job.a += job.m * job.w->k;
        job.out += job.m * job.w->n;
    }
    room_give(job.rounded, bytes);
    return KERNEL_OK;
}

int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add)
{
    struct blocks_job job = {.out = out, .a = a, .w = w, .m = m, .add = add};
    if (cpu_block_lanes)
        return rounded_matmul(run, job);
    cpu_share(run, (w->n + COLUMNS - 1) / COLUMNS,
              (double)m * (double)w->n * (double)w->k, exact_part, &job);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}
