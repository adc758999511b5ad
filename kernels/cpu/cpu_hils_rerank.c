/* HiLS's choice by the keys themselves, a query of a key-value head at a time. */
#include "kernels/cpu/cpu_hils.h"

#include <stdlib.h>

enum {
    MAX_GROUP = 64, /* above, `ref` does it */
    ON_STACK = 8192 /* masses: a token decoded allocates nothing, unless the
                       chunks that are looked at, times a group and two, are more */
};

struct rerank {
    const struct kernel_hils *sizes;
    const float *q;
    const struct kernel_pages *pages;
    const int32_t *position, *wide;
    int32_t *chosen;
    size_t many, group;
    atomic_bool failed; /* no memory */
};

/* What a row is worked on in, of `many` chunks each. */
struct room {
    double *mass; /* [many, group] */
    double *value, *score;
    int32_t *best;
};

/* ret [group] = the logarithm of what slots [from, to) weigh for each query head of
 * the row's key-value head: keys are read once for all. */
static void log_masses(const struct rerank *r, size_t row, size_t from,
                       size_t to, double *ret)
{
    SCRATCH float room[KEYS * MAX_D];
    const struct kernel_hils *z = r->sizes;
    size_t step, slots = r->pages->slots, kv = row % z->hkv;
    const float *q = r->q + (row / z->hkv * z->hq + kv * r->group) * z->d;
    float max[MAX_GROUP], total[MAX_GROUP], score[KEYS];
    for (size_t g = 0; g < r->group; g++) {
        max[g] = LANES_LEAST;
        total[g] = 0;
    }
    for (size_t j = from, some; j < to; j += some) {
        some = to - j < KEYS ? to - j : KEYS;
        some = slots - j % slots < some ? slots - j % slots : some;
        struct cpu_run run = {r->pages, z->hkv, z->d, kv, j, some};
        const float *key = cpu_keys(&run, room, &step);
        for (size_t g = 0; g < r->group; g++) {
            cpu_lanes->dots(score, q + g * z->d, key, step, z->d, some,
                            1 / sqrtf((float)z->d), 0);
            cpu_lanes->fold_row(score, some, &max[g], &total[g]);
        }
    }
    for (size_t g = 0; g < r->group; g++)
        ret[g] = total[g] > 0 ? (double)max[g] + log((double)total[g])
                              : (double)-INFINITY;
}

/* value [many] = the most that a query head gives each chunk of all that it met. */
static void take_parts(const struct rerank *r, size_t row, double *mass,
                       double *value)
{
    const struct kernel_hils *z = r->sizes;
    const int32_t *wide = r->wide + row * r->many;
    size_t t = (size_t)r->position[row / z->hkv], count = 0;
    double total[MAX_GROUP];
    log_masses(r, row, ref_window(z, t), t + 1, total);
    for (; count < r->many && wide[count] >= 0; count++) {
        size_t from = (size_t)wide[count] * z->chunk;
        log_masses(r, row, from, from + z->chunk, mass + count * r->group);
        for (size_t g = 0; g < r->group; g++)
            total[g] = ref_log_add(total[g], mass[count * r->group + g]);
    }
    for (size_t k = 0; k < r->many; k++)
        value[k] = (double)-INFINITY;
    for (size_t k = 0; k < count; k++)
        for (size_t g = 0; g < r->group; g++)
            value[k] = fmax(value[k], mass[k * r->group + g] - total[g]);
}

static void rerank_rows(const struct rerank *r, const struct room *room,
                        size_t begin, size_t end)
{
    size_t top_k = r->sizes->top_k;
    for (size_t row = begin; row < end; row++) {
        take_parts(r, row, room->mass, room->value);
        ref_rerank(r->wide + row * r->many, room->value, r->many, top_k,
                   room->best, room->score, r->chosen + row * top_k);
    }
}

static void rerank(void *argument, size_t begin, size_t end)
{
    struct rerank *r = argument;
    SCRATCH double few[ON_STACK];
    SCRATCH int32_t few_best[ON_STACK];
    size_t top_k = r->sizes->top_k;
    size_t each = r->many > top_k ? r->many : top_k;
    size_t all = each * (r->group + 2);
    double *many = all > ON_STACK ? malloc(all * sizeof *many) : NULL;
    int32_t *many_best =
        all > ON_STACK ? malloc(each * sizeof *many_best) : NULL;
    struct room room = {.mass = many ? many : few,
                        .best = many_best ? many_best : few_best};
    room.value = room.mass + each * r->group;
    room.score = room.value + each;
    if (all > ON_STACK && (!many || !many_best))
        atomic_store(&r->failed, true);
    else
        rerank_rows(r, &room, begin, end);
    free(many);
    free(many_best);
}

static int hils_rerank(struct kernel_run *run, int32_t *chosen,
                       const int32_t *wide, size_t many, const float *q,
                       const struct kernel_pages *pages,
                       const int32_t *position, const struct kernel_hils *z)
{
    if (z->d > MAX_D || z->hq / z->hkv > MAX_GROUP)
        return kernels_ref()->hils_rerank(run, chosen, wide, many, q, pages,
                                          position, z);
    struct rerank r = {.sizes = z,
                       .q = q,
                       .pages = pages,
                       .position = position,
                       .wide = wide,
                       .chosen = chosen,
                       .many = many,
                       .group = z->hq / z->hkv};
    double keys = (double)many * (double)z->chunk + (double)z->window;
    cpu_share(run, z->m * z->hkv,
              (double)z->m * (double)z->hq * (double)z->d * keys, rerank, &r);
    return atomic_load(&r.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

void cpu_fill_hils_rerank(struct kernels *table)
{
    table->hils_rerank = hils_rerank;
}
