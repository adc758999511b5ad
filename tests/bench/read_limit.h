/* Memory summed up as fast as it goes: what no product of a row with weights
 * can be faster than. */
#ifndef TESTS_BENCH_READ_LIMIT_H
#define TESTS_BENCH_READ_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct read_range {
    const char *memory;
    size_t bytes; /* a multiple of 256 */
};

static volatile uint64_t read_sink; /* so that none of it can be left out */

/* Four streams at once, asked for ahead: one does not keep the memory busy.
 * argument: a struct read_range */
static void read_whole(void *argument)
{
    enum { LINE = 64 / sizeof(uint64_t), STREAMS = 4, AHEAD = 1024 };
    const struct read_range *range = argument;
    size_t count = range->bytes / sizeof(uint64_t) / STREAMS;
    const uint64_t *x = (const uint64_t *)(const void *)range->memory;
    uint64_t total[STREAMS][LINE] = {{0}};
    for (size_t i = 0; i < count; i += LINE)
        for (size_t s = 0; s < STREAMS; s++) {
            const uint64_t *at = x + s * count + i;
            __builtin_prefetch((const char *)at + AHEAD, 0, 3);
            for (size_t l = 0; l < LINE; l++)
                total[s][l] += at[l];
        }
    for (size_t s = 1; s < STREAMS; s++)
        for (size_t l = 0; l < LINE; l++)
            total[0][l] += total[s][l];
    read_sink = total[0][0];
}

#endif
