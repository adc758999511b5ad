#include "model/sample.h"

#include <math.h>

int32_t sample_greedy(const float *logits, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (best == SIZE_MAX ? !isnan(logits[i]) : logits[i] > logits[best])
            best = i;
    return best == SIZE_MAX ? -1 : (int32_t)best;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double weight_of(float logit, float top, double temperature)
{
    double weight = exp(((double)logit - (double)top) / temperature);
    return weight > 0 ? weight : 0; /* NaN: never */
}

int32_t sample_draw(const float *logits, size_t count, double temperature,
                    uint64_t *state)
{
    int32_t best = sample_greedy(logits, count);
    double unit = (double)(next_random(state) >> 11) * 0x1p-53, sum = 0;
    if (best < 0 || !(temperature > 1e-6) || !isfinite(logits[best]))
        return best;
    for (size_t i = 0; i < count; i++)
        sum += weight_of(logits[i], logits[best], temperature);
    double left = unit * sum;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(logits[i], logits[best], temperature);
        if (left < weight)
            return (int32_t)i;
        left -= weight;
    }
    return best;
}

double sample_log_chance(const float *logits, size_t count, int32_t id)
{
    int32_t best = sample_greedy(logits, count);
    double sum = 0;
    if (best < 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sum += weight_of(logits[i], logits[best], 1);
    return (double)logits[id] - (double)logits[best] - log(sum);
}
