/* What the tests of HiLS attention and of its summaries share. */
#ifndef TESTS_UNIT_SUPPORT_SUMMARIES_H
#define TESTS_UNIT_SUPPORT_SUMMARIES_H

#include "tests/unit/support/papers.h"

struct summary {
    size_t chunks, chunk, hq, hkv, d;
};

/* On the device, chunks' summary keys [chunks, count] in numbers of the pages' type,
 * kept_floats a chunk; `values` NULL: nothing is there yet. */
static inline float *put_summaries(struct bench *b, const float *values,
                                   size_t chunks, size_t count)
{
    size_t row = kept_floats(b, count);
    float *host = mem_alloc((chunks * row + 1) * sizeof *host);
    fill_page_poison(b, host, chunks * row);
    for (size_t c = 0; values && c < chunks; c++)
        keep_in(b, host + c * row, 0, values + c * count, count);
    float *ret = put(b, host, chunks * row);
    free(host);
    return ret;
}

/* Summaries on the processor; key, bias [chunks, ...], proxy as key. */
static inline int summarise_chunks(const struct kernels *table,
                                   struct kernel_run *run, float *key,
                                   float *bias, const float *k,
                                   const float *proxy, struct summary z)
{
    size_t row = z.hq * z.d;
    float **keys = host_table(key, z.chunks, row);
    float **biases = host_table(bias, z.chunks, z.hq);
    struct kernel_summaries summaries = {.keys = keys, .biases = biases};
    struct kernel_pages pages = one_page(&k, &k, z.chunks * z.chunk);
    memcpy(key, proxy, z.chunks * row * sizeof *key);
    int code = table->chunk_summary(run, &summaries, &pages, 0, z.chunks,
                                    z.chunk, z.hq, z.hkv, z.d);
    free(keys);
    free(biases);
    return code;
}

/* Means of keys on the processor: key [chunks] of kernel_means_floats each. */
static inline int average_keys(const struct kernels *table,
                               struct kernel_run *run, float *key,
                               const float *k, struct summary z, size_t means)
{
    float **keys =
        host_table(key, z.chunks, kernel_means_floats(z.hkv, means, z.d));
    struct kernel_summaries summaries = {.keys = keys, .means = means};
    struct kernel_pages pages = one_page(&k, &k, z.chunks * z.chunk);
    int code = table->chunk_means(run, &summaries, &pages, 0, z.chunks, z.chunk,
                                  z.hkv, z.d);
    free(keys);
    return code;
}

#endif
