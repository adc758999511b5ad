/* HiLS's choice by the keys themselves, a query of a key-value head at a time. */
#include "kernels/cpu/cpu_hils.h"

enum { MAX_MANY = 512 };

struct rerank {
    const struct kernel_hils *sizes;
    const float *q;
    const struct kernel_pages *pages;
    const int32_t *position, *wide;
    int32_t *chosen;
    size_t many, group;
};

/* The logarithm of what slots [from, to) weigh for one query head. */
static double log_mass(const struct rerank *r, const float *q, size_t kv,
                       size_t from, size_t to)
{
    SCRATCH float room[KEYS * MAX_D];
    const struct kernel_hils *z = r->sizes;
    size_t step, slots = r->pages->slots;
    float score[KEYS], max = LANES_LEAST;
    double total = 0;
    for (size_t j = from, some; j < to; j += some) {
        float most = LANES_LEAST;
        some = to - j < KEYS ? to - j : KEYS;
        some = slots - j % slots < some ? slots - j % slots : some;
        struct cpu_run run = {r->pages, z->hkv, z->d, kv, j, some};
        const float *key = cpu_keys(&run, room, &step);
        cpu_lanes->dots(score, q, key, step, z->d, some, 1 / sqrtf((float)z->d),
                        0);
        for (size_t k = 0; k < some; k++)
            most = score[k] > most ? score[k] : most;
        most = most > max ? most : max;
        total = total * exp((double)max - (double)most) +
                (double)cpu_lanes->exp_sum(score, most, some);
        max = most;
    }
    return total > 0 ? (double)max + log(total) : (double)-INFINITY;
}

static void take_parts(const struct rerank *r, size_t row, size_t g,
                       double *value)
{
    const struct kernel_hils *z = r->sizes;
    const int32_t *wide = r->wide + row * r->many;
    size_t i = row / z->hkv, kv = row % z->hkv;
    size_t t = (size_t)r->position[i];
    const float *q = r->q + (i * z->hq + kv * r->group + g) * z->d;
    double mass[MAX_MANY];
    double total = log_mass(r, q, kv, ref_window(z, t), t + 1);
    for (size_t k = 0; k < r->many && wide[k] >= 0; k++) {
        size_t from = (size_t)wide[k] * z->chunk;
        mass[k] = log_mass(r, q, kv, from, from + z->chunk);
        total = ref_log_add(total, mass[k]);
    }
    for (size_t k = 0; k < r->many && wide[k] >= 0; k++)
        value[k] = fmax(value[k], mass[k] - total);
}

static void rerank(void *argument, size_t begin, size_t end)
{
    const struct rerank *r = argument;
    size_t top_k = r->sizes->top_k;
    int32_t best[MAX_MANY];
    double score[MAX_MANY], value[MAX_MANY];
    for (size_t row = begin; row < end; row++) {
        for (size_t k = 0; k < r->many; k++)
            value[k] = (double)-INFINITY;
        for (size_t g = 0; g < r->group; g++)
            take_parts(r, row, g, value);
        ref_rerank(r->wide + row * r->many, value, r->many, top_k, best, score,
                   r->chosen + row * top_k);
    }
}

static int hils_rerank(struct kernel_run *run, int32_t *chosen,
                       const int32_t *wide, size_t many, const float *q,
                       const struct kernel_pages *pages,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *z)
{
    if (landmark || many > MAX_MANY || z->top_k > MAX_MANY || z->d > MAX_D)
        return kernels_ref()->hils_rerank(run, chosen, wide, many, q, pages,
                                          position, landmark, z);
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
    return KERNEL_OK;
}

void cpu_fill_hils_rerank(struct kernels *table)
{
    table->hils_rerank = hils_rerank;
}
