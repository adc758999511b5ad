#include "kernels/cpu/cpu_pages.h"

#include "kernels/cpu/cpu_internal.h"

enum { GROUP = KERNEL_PAGE_GROUP };

static const float *decode(const struct cpu_run *run, const float *keys,
                           float *room)
{
    size_t d = run->d, slots = run->pages->slots, slot = run->slot % slots;
    size_t groups = ref_groups(d);
    const int8_t *q =
        (const int8_t *)keys + ref_integers(run->head, slots, d) + slot * d;
    const float *scale =
        (const float *)(const void *)(q - slot * d) - (slots - slot) * groups;
    struct lanes_weight rows = {q, scale, KERNEL_INT8};
    if (d % GROUP == 0)
        cpu_lanes->widen(room, rows, run->count * groups, GROUP);
    for (size_t j = 0; d % GROUP && j < run->count; j++)
        for (size_t l = 0; l < d; l += GROUP) {
            struct lanes_weight group = {
                q + j * d + l, scale + j * groups + l / GROUP, KERNEL_INT8};
            cpu_lanes->widen(room + j * d + l, group, 1,
                             d - l < GROUP ? d - l : GROUP);
        }
    return room;
}

const float *cpu_keys(const struct cpu_run *run, float *room, size_t *step)
{
    const struct kernel_pages *pages = run->pages;
    *step = run->d;
    if (pages->type == KERNEL_INT8)
        return decode(
            run, pages->keys[run->slot / pages->slots] + pages->key_at, room);
    *step = ref_step(pages, run->hkv, run->d);
    return ref_key(pages, run->slot, *step) + ref_at(pages, run->head, run->d);
}

const float *cpu_values(const struct cpu_run *run, float *room, size_t *step)
{
    const struct kernel_pages *pages = run->pages;
    *step = run->d;
    if (pages->type == KERNEL_INT8)
        return decode(run,
                      pages->values[run->slot / pages->slots] + pages->value_at,
                      room);
    *step = ref_step(pages, run->hkv, run->d);
    return ref_value(pages, run->slot, *step) +
           ref_at(pages, run->head, run->d);
}
