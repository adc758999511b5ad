#include "tests/cuda/emulated.h"

const struct kernels *kernels_emulated(const char **ret_reason)
{
    *ret_reason = "not with this sanitizer";
    return NULL;
}
