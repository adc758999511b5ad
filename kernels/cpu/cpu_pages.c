#include "kernels/cpu/cpu_pages.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_internal.h"

enum { GROUP = KERNEL_PAGE_GROUP };

/* ---- Reading ---- */

static void decode_row(const char *row, size_t d, float *out)
{
    const int8_t *q = (const int8_t *)row + (d + GROUP - 1) / GROUP * 4;
    for (size_t l = 0; l < d; l += GROUP, row += 4) {
        float scale;
        memcpy(&scale, row, sizeof scale);
        struct lanes_weight group = {q + l, &scale, KERNEL_INT8};
        cpu_lanes->widen(out + l, group, 1, d - l < GROUP ? d - l : GROUP);
    }
}

static const float *decode(const struct cpu_run *run, const float *part,
                           float *room)
{
    const struct kernel_pages *pages = run->pages;
    size_t bytes = kernel_page_row_bytes(pages->type, run->d);
    size_t first = run->head * pages->slots + run->slot % pages->slots;
    const char *row = (const char *)part + first * bytes;
    for (size_t j = 0; j < run->count; j++)
        decode_row(row + j * bytes, run->d, room + j * run->d);
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

/* ---- Writing ---- */

/* To the nearest of 255 multiples of the group's largest / 127. */
static void encode_row(const float *x, size_t d, char *row)
{
    int8_t *q = (int8_t *)row + (d + GROUP - 1) / GROUP * 4;
    for (size_t l = 0; l < d; l += GROUP, row += 4) {
        size_t end = d - l < GROUP ? d : l + GROUP;
        float most = 0;
        for (size_t i = l; i < end; i++)
            most = fmaxf(most, fabsf(x[i]));
        float scale = most / 127;
        memcpy(row, &scale, sizeof scale);
        for (size_t i = l; i < end; i++)
            q[i] = (int8_t)(scale > 0 ? lrintf(x[i] / scale) : 0);
    }
}

static int kv_write(struct kernel_run *run, float *const *pages, size_t at,
                    size_t slots, int type, const float *x, size_t first,
                    size_t rows, size_t hkv, size_t d)
{
    if (type != KERNEL_INT8)
        return kernels_ref()->kv_write(run, pages, at, slots, type, x, first,
                                       rows, hkv, d);
    size_t bytes = kernel_page_row_bytes(type, d);
    for (size_t i = first; i < first + rows; i++)
        for (size_t head = 0; head < hkv; head++, x += d)
            encode_row(x, d,
                       (char *)(pages[i / slots] + at) +
                           (head * slots + i % slots) * bytes);
    return KERNEL_OK;
}

void cpu_fill_pages(struct kernels *table)
{
    table->int8_pages = true;
    table->kv_write = kv_write;
}
