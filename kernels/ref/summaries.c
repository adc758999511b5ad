/* What HiLS attention knows of a chunk: calibrated queries, proxies, summaries. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

int ref_calibrate(const struct kernels *table, struct kernel_run *run,
                  float *out, const float *h, const struct kernel_weight *down,
                  const struct kernel_weight *up,
                  const struct kernel_weight *wq, const float *norm, size_t m,
                  float eps)
{
    int code = table->product(run, out, h, wq, m, false);
    if (!code && down) {
        float *low = calloc(m * down->n + 1, sizeof *low);
        code = low ? table->product(run, low, h, down, m, false)
                   : KERNEL_NO_MEMORY;
        if (!code)
            code = table->product(run, out, low, up, m, true);
        free(low);
    }
    return code ? code : table->rms_norm(run, out, out, norm, m, wq->n, eps);
}

static int calibrate(struct kernel_run *run, float *out, const float *h,
                     const struct kernel_weight *down,
                     const struct kernel_weight *up,
                     const struct kernel_weight *wq, const float *norm,
                     size_t m, float eps)
{
    return ref_calibrate(kernels_ref(), run, out, h, down, up, wq, norm, m,
                         eps);
}

static int chunk_proxy(struct kernel_run *run, float *out, const float *q,
                       size_t chunks, size_t chunk, size_t width)
{
    (void)run;
    for (size_t c = 0; c < chunks; c++, q += chunk * width, out += width)
        for (size_t l = 0; l < width; l++) {
            double sum = 0;
            for (size_t i = 0; i < chunk; i++)
                sum += (double)q[i * width + l];
            out[l] = (float)(sum / (double)chunk);
        }
    return KERNEL_OK;
}

/* One head's summary of `keys` keys, `step` apart; returns its bias. */
static float summarise(float *key, const float *k, const float *proxy,
                       size_t keys, size_t step, size_t d, double *score)
{
    double most = -INFINITY, total = 0, entropy = 0;
    for (size_t j = 0; j < keys; j++) {
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            sum += (double)k[j * step + l] * (double)proxy[l];
        score[j] = sum / sqrt((double)d);
        most = fmax(most, score[j]);
    }
    for (size_t j = 0; j < keys; j++)
        total += exp(score[j] - most);
    double all = most + log(total);
    for (size_t j = 0; j < keys; j++) {
        double p = exp(score[j] - all);
        entropy -= p > 0 ? p * (score[j] - all) : 0;
        score[j] = p;
    }
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++)
            sum += score[j] * (double)k[j * step + l];
        key[l] = (float)sum;
    }
    return (float)entropy;
}

static int chunk_summary(struct kernel_run *run, float *key, float *bias,
                         const float *k, const float *proxy, size_t chunks,
                         size_t chunk, size_t hq, size_t hkv, size_t d,
                         bool landmark)
{
    (void)run;
    double *score = calloc(chunk, sizeof *score);
    if (!score)
        return KERNEL_NO_MEMORY;
    for (size_t c = 0; c < chunks; c++)
        for (size_t head = 0; head < hq; head++) {
            size_t own = c * hq + head;
            const float *from = k + (c * chunk * hkv + head / (hq / hkv)) * d;
            bias[own] =
                summarise(key + own * d, from, proxy + own * d,
                          landmark ? chunk - 1 : chunk, hkv * d, d, score);
        }
    free(score);
    return KERNEL_OK;
}

void ref_fill_summaries(struct kernels *table)
{
    table->calibrate = calibrate;
    table->chunk_proxy = chunk_proxy;
    table->chunk_summary = chunk_summary;
}
