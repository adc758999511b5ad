/* Stands in for the emulation where there is none. */
#include "tests/cuda/emulated.h"

const struct kernels *kernels_emulated(const char **ret_reason)
{
    *ret_reason = "not in this build";
    return NULL;
}

void emulated_self_test(enum emulated_test test, int *out, unsigned count)
{
    (void)test;
    (void)out;
    (void)count;
}

void emulated_fail(enum emulated_failure failure, unsigned after)
{
    (void)failure;
    (void)after;
}

void emulated_memory(size_t bytes)
{
    (void)bytes;
}

void emulated_without_blas(bool missing)
{
    (void)missing;
}

void emulated_without_warpgroups(bool missing)
{
    (void)missing;
}

void emulated_max_scores(size_t count)
{
    (void)count;
}

size_t emulated_launches(void)
{
    return 0;
}

struct emulated_steps *emulated_steps_seen(void)
{
    static struct emulated_steps none;
    return &none;
}

void emulated_matmul_test(const float *a, const float *b, float *c,
                          enum emulated_turn turn, bool swapped)
{
    (void)a;
    (void)b;
    (void)c;
    (void)turn;
    (void)swapped;
}

size_t emulated_plan_place(size_t m, size_t n, size_t k)
{
    return m ^ n ^ k;
}

const struct emulated_work *emulated_stream_seen(size_t at)
{
    (void)at;
    return NULL;
}

void emulated_hold(enum emulated_order how, void (*at_wait)(void *context),
                   void *context)
{
    (void)how;
    (void)at_wait;
    (void)context;
}
