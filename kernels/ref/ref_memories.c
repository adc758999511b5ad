#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

/* weight [n] becomes its softmax; returns the log of the sum.  Entry `skip`
 * gets no weight (n: none). */
static double softmax(double *weight, size_t n, size_t skip)
{
    double max = -INFINITY, total = 0;
    for (size_t i = 0; i < n; i++)
        if (i != skip)
            max = fmax(max, weight[i]);
    for (size_t i = 0; i < n; i++)
        total += weight[i] = i == skip ? 0 : exp(weight[i] - max);
    for (size_t i = 0; i < n; i++)
        weight[i] /= total;
    return max + log(total);
}

/* out [d] = weight [n] . rows [n, d] */
static void mix(float *out, const double *weight, const float *rows, size_t n,
                size_t d)
{
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += weight[i] * (double)rows[i * d + l];
        out[l] = (float)sum;
    }
}

/* out [n, p] = rows [n, d] . w [d, p] */
static void project(double *out, const float *rows, const float *w, size_t n,
                    size_t d, size_t p)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++) {
            double sum = 0;
            for (size_t l = 0; l < d; l++)
                sum += (double)rows[i * d + l] * (double)w[l * p + j];
            out[i * p + j] = sum;
        }
}

/* out [n, d] = rows, each over its length */
static void unit(double *out, const float *rows, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++, rows += d, out += d) {
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            sum += (double)rows[l] * (double)rows[l];
        for (size_t l = 0; l < d; l++)
            out[l] = sum > 0 ? (double)rows[l] / sqrt(sum) : 0;
    }
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double *room(size_t a, size_t b, size_t c)
{
    size_t count;
    if (__builtin_mul_overflow(a, b, &count) ||
        __builtin_add_overflow(count, c, &count))
        return NULL;
    return calloc(count ? count : 1, sizeof(double));
}

static int recall(struct kernel_run *run, float *out, const float *q,
                  const float *memory, const float *wq, const float *wk,
                  size_t n, size_t d, size_t p)
{
    (void)run;
    double *query = room(1, p, 0), *key = room(n, p, n);
    int code = KERNEL_NO_MEMORY;
    if (query && key) {
        double *weight = key + n * p;
        project(query, q, wq, 1, d, p);
        project(key, memory, wk, n, d, p);
        for (size_t i = 0; i < n; i++)
            weight[i] = dot(query, key + i * p, p) / sqrt((double)p);
        softmax(weight, n, n);
        mix(out, weight, memory, n, d);
        code = KERNEL_OK;
    }
    free(query);
    free(key);
    return code;
}

static int pool_mean(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d)
{
    (void)run;
    for (size_t l = 0; l < d; l++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)children[i * d + l];
        out[l] = (float)(sum / (double)n);
    }
    return KERNEL_OK;
}

static int pool_means(struct kernel_run *run, float *out, const float *children,
                      const size_t *host_start, size_t groups, size_t d)
{
    int code = KERNEL_OK;
    for (size_t g = 0; g < groups && !code; g++)
        code = pool_mean(run, out + g * d, children + host_start[g] * d,
                         host_start[g + 1] - host_start[g], d);
    return code;
}

static int pool_attention(struct kernel_run *run, float *out, float *weight,
                          const float *children, const float *wq,
                          const float *wk, float tau, size_t n, size_t d,
                          size_t p)
{
    (void)run;
    size_t width = wq ? p : d;
    double scale = wq ? 1 / sqrt((double)p) : (double)tau;
    double *query = room(n, width, 0), *key = room(n, width, 2 * n);
    int code = KERNEL_NO_MEMORY;
    if (query && key) {
        double *row = key + n * width, *total = row + n;
        if (wq) {
            project(query, children, wq, n, d, p);
            project(key, children, wk, n, d, p);
        } else {
            unit(query, children, n, d);
            unit(key, children, n, d);
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                row[j] = scale * dot(query + i * width, key + j * width, width);
            softmax(row, n, n > 1 ? i : n);
            for (size_t j = 0; j < n; j++)
                total[j] += row[j] / (double)n;
        }
        mix(out, total, children, n, d);
        for (size_t j = 0; j < n; j++)
            weight[j] = (float)total[j];
        code = KERNEL_OK;
    }
    free(query);
    free(key);
    return code;
}

static int pool_attentions(struct kernel_run *run, float *out, float *weight,
                           const float *children, const float *wq,
                           const float *wk, float tau, const size_t *host_start,
                           size_t groups, size_t d, size_t p)
{
    int code = KERNEL_OK;
    for (size_t g = 0; g < groups && !code; g++)
        code = pool_attention(run, out + g * d, weight + host_start[g],
                              children + host_start[g] * d, wq, wk, tau,
                              host_start[g + 1] - host_start[g], d, p);
    return code;
}

static int pool_landmark(struct kernel_run *run, float *out, float *ret_bias,
                         const float *children, const float *bias,
                         const float *proxy, float tau, size_t n, size_t d)
{
    (void)run;
    double *score = room(2, n, 0);
    if (!score)
        return KERNEL_NO_MEMORY;
    double *weight = score + n, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double cosine = 0;
        for (size_t l = 0; l < d; l++)
            cosine += (double)children[i * d + l] * (double)proxy[l];
        weight[i] = score[i] = (double)tau * cosine + (double)bias[i];
    }
    double all = softmax(weight, n, n);
    for (size_t i = 0; i < n; i++) /* ln weight = score - all */
        sum +=
            weight[i] > 0 ? weight[i] * ((double)bias[i] - score[i] + all) : 0;
    mix(out, weight, children, n, d);
    *ret_bias = (float)sum;
    free(score);
    return KERNEL_OK;
}

void ref_fill_memories(struct kernels *table)
{
    table->recall = recall;
    table->pool_mean = pool_mean;
    table->pool_means = pool_means;
    table->pool_attention = pool_attention;
    table->pool_attentions = pool_attentions;
    table->pool_landmark = pool_landmark;
}
