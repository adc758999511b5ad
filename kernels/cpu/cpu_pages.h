/* Keys and values in pages as floats: where they lie, or, of eight bits, decoded. */
#ifndef KERNELS_CPU_CPU_PAGES_H
#define KERNELS_CPU_CPU_PAGES_H

#include "kernels/ref/ref.h"

/* A run of slots of one key-value head, which lie in one page. */
struct cpu_run {
    const struct kernel_pages *pages;
    size_t hkv, d, head;
    size_t slot, count;
};

/* Return the run's keys, or values, *step floats apart: in the page, or decoded to room
 * [count, d]. */
const float *cpu_keys(const struct cpu_run *run, float *room, size_t *step);
const float *cpu_values(const struct cpu_run *run, float *room, size_t *step);

#endif
