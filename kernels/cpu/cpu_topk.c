#include <math.h>

#include "kernels/cpu/cpu_internal.h"

enum { PART = 1024 };

static float number(float logit)
{
    return isnan(logit) ? -INFINITY : logit;
}

/* Into the first `count` of the list, which is in order, or in the last one's
 * place when that is full. */
static void take(struct kernel_top_k *list, size_t count, float logit,
                 int32_t id)
{
    size_t at = count < KERNEL_TOP_K ? count : KERNEL_TOP_K - 1;
    for (; at && list->logit[at - 1] < logit; at--) {
        list->logit[at] = list->logit[at - 1];
        list->id[at] = list->id[at - 1];
    }
    list->logit[at] = logit;
    list->id[at] = id;
}

/* Those of a block of LANES_ROWS that are more than the list's last. */
static void take_block(struct kernel_top_k *list, const float *logits,
                       size_t first)
{
    const float *last = &list->logit[KERNEL_TOP_K - 1];
    for (uint64_t left = cpu_lanes->above(logits, *last); left;
         left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        if (logits[i] > *last) /* now, and no NaN */
            take(list, KERNEL_TOP_K, logits[i], (int32_t)(first + i));
    }
}

static void rank(struct kernel_top_k *list, const float *logits, size_t n)
{
    size_t i = 0;
    for (size_t l = 0; l < KERNEL_TOP_K; l++) {
        list->logit[l] = -INFINITY;
        list->id[l] = -1;
    }
    for (; i < n && i < KERNEL_TOP_K; i++)
        take(list, i, number(logits[i]), (int32_t)i);
    for (; i + LANES_ROWS <= n; i += LANES_ROWS)
        take_block(list, logits + i, i);
    for (; i < n; i++)
        if (logits[i] > list->logit[KERNEL_TOP_K - 1])
            take(list, KERNEL_TOP_K, logits[i], (int32_t)i);
}

static float sum_of(const float *logits, size_t n, float max, float beta)
{
    SCRATCH float part[PART];
    double sum = 0;
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < PART ? n - i : PART;
        for (size_t j = 0; j < count; j++)
            part[j] = (number(logits[i + j]) - max) * beta;
        sum += (double)cpu_lanes->exp_sum(part, 0, count);
    }
    return (float)sum;
}

static int top_k(struct kernel_run *run, struct kernel_top_k *host_ret,
                 const float *logits, size_t n, float beta)
{
    (void)run;
    rank(host_ret, logits, n);
    host_ret->sum = sum_of(logits, n, host_ret->logit[0], 1);
    host_ret->sum_beta = beta < 1 || beta > 1
                             ? sum_of(logits, n, host_ret->logit[0], beta)
                             : host_ret->sum;
    return KERNEL_OK;
}

void cpu_fill_top_k(struct kernels *table)
{
    table->top_k = top_k;
}
