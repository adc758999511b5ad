/* What HiLS attention knows of a chunk: summaries, or means of its keys. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

/* A head, turned as by `rotary`; the last of an odd width is not. */
static void put_turned(float *key, const float *x, const float *angles,
                       size_t d)
{
    size_t half = d / 2;
    for (size_t j = 0; j < half; j++) {
        double c = (double)angles[j], s = (double)angles[half + j];
        double p = (double)x[j], q = (double)x[half + j];
        key[j] = (float)(p * c - q * s);
        key[half + j] = (float)(q * c + p * s);
    }
    for (size_t j = 2 * half; j < d; j++)
        key[j] = x[j];
}

static int chunk_proxies(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_proxies *proxies, size_t first,
                         size_t chunks, size_t hq, size_t d)
{
    (void)run;
    for (size_t i = 0; i < chunks * hq; i++) {
        size_t c = i / hq, head = i % hq;
        float *key = summaries->keys[first + c] + summaries->key_at + head * d;
        const float *x = proxies->x + c * proxies->step + head * d;
        if (proxies->angles)
            put_turned(key, x, proxies->angles + c * proxies->turn, d);
        else
            memcpy(key, x, d * sizeof *key);
    }
    return KERNEL_OK;
}

/* One head's summary of the slots [from, from + keys): `key` holds the proxy
 * first; returns the bias.  `at`: the head's place in a slot of `step` floats. */
static float summarise(float *key, const struct kernel_pages *pages,
                       size_t from, size_t keys, size_t at, size_t step,
                       size_t d, double *score)
{
    double max = -INFINITY, total = 0, entropy = 0;
    for (size_t j = 0; j < keys; j++) {
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            sum += (double)ref_key_number(pages, from + j, step, at, l) *
                   (double)key[l];
        score[j] = sum / sqrt((double)d);
        max = fmax(max, score[j]);
    }
    for (size_t j = 0; j < keys; j++)
        total += exp(score[j] - max);
    double all = max + log(total);
    for (size_t j = 0; j < keys; j++) {
        double p = exp(score[j] - all);
        entropy -= p > 0 ? p * (score[j] - all) : 0;
        score[j] = p;
    }
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++)
            sum +=
                score[j] * (double)ref_key_number(pages, from + j, step, at, l);
        key[l] = (float)sum;
    }
    return (float)entropy;
}

static int chunk_summary(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_pages *pages, size_t first,
                         size_t chunks, size_t chunk, size_t hq, size_t hkv,
                         size_t d)
{
    (void)run;
    double *score = calloc(chunk, sizeof *score);
    if (!score)
        return KERNEL_NO_MEMORY;
    for (size_t c = first; c < first + chunks; c++)
        for (size_t head = 0; head < hq; head++) {
            float *key = summaries->keys[c] + summaries->key_at + head * d;
            summaries->biases[c][summaries->bias_at + head] =
                summarise(key, pages, c * chunk, chunk - 1,
                          ref_at(pages, head / (hq / hkv), d),
                          ref_step(pages, hkv, d), d, score);
        }
    free(score);
    return KERNEL_OK;
}

/* mean [d] of the keys of slots [from, from + keys). */
static void average(uint16_t *mean, const struct kernel_pages *pages,
                    size_t from, size_t keys, size_t at, size_t step, size_t d)
{
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t j = from; j < from + keys; j++)
            sum += (double)ref_key_number(pages, j, step, at, l);
        mean[l] = ref_to_bf16((float)(sum / (double)keys));
    }
}

static int chunk_means(struct kernel_run *run,
                       const struct kernel_summaries *summaries,
                       const struct kernel_pages *pages, size_t first,
                       size_t chunks, size_t chunk, size_t hkv, size_t d)
{
    (void)run;
    size_t means = summaries->means, keys = chunk / means;
    for (size_t c = first; c < first + chunks; c++)
        for (size_t i = 0; i < hkv * means; i++)
            average(ref_mean(summaries, c, i, d), pages,
                    c * chunk + i % means * keys, keys,
                    ref_at(pages, i / means, d), ref_step(pages, hkv, d), d);
    return KERNEL_OK;
}

void ref_fill_summaries(struct kernels *table)
{
    table->chunk_proxies = chunk_proxies;
    table->chunk_summary = chunk_summary;
    table->chunk_means = chunk_means;
}
