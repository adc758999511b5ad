/* Stands in for the emulation where there is none. */
#include "tests/cuda/emulated.h"

const struct kernels *kernels_emulated(const char **ret_reason)
{
    *ret_reason = "not with this sanitizer";
    return NULL;
}

void emulated_self_test(enum emulated_test test, int *out, unsigned count)
{
    (void)test;
    (void)out;
    (void)count;
}
