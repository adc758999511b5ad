#include <math.h>

#include "kernels/ref/ref.h"

static float number(float logit)
{
    return isnan(logit) ? -INFINITY : logit;
}

/* The likeliest behind `last` (-1: of all); -1: there is none. */
static int32_t next_of(const float *logits, size_t n, int32_t last)
{
    int32_t best = -1;
    for (int32_t i = 0; (size_t)i < n; i++) {
        float logit = number(logits[i]);
        float before = last < 0 ? 0 : number(logits[last]);
        bool behind =
            last < 0 || logit < before || (i > last && !(logit > before));
        if (behind && (best < 0 || logit > number(logits[best])))
            best = i;
    }
    return best;
}

static float sum_of(const float *logits, size_t n, float max, float beta)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)beta * ((double)number(logits[i]) - (double)max));
    return (float)sum;
}

static int top_k(struct kernel_run *run, struct kernel_top_k *host_ret,
                 const float *logits, size_t n, float beta)
{
    int32_t last = -1;
    (void)run;
    for (size_t i = 0; i < KERNEL_TOP_K; i++) {
        int32_t id = i && last < 0 ? -1 : next_of(logits, n, last);
        host_ret->id[i] = id;
        host_ret->logit[i] = id < 0 ? -INFINITY : number(logits[id]);
        last = id;
    }
    host_ret->sum = sum_of(logits, n, host_ret->logit[0], 1);
    host_ret->sum_beta = sum_of(logits, n, host_ret->logit[0], beta);
    return KERNEL_OK;
}

void ref_fill_top_k(struct kernels *table)
{
    table->top_k = top_k;
}
