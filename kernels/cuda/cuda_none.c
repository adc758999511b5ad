/* Stands in for cuda.cu where there is no nvcc. */
#include "kernels/kernels.h"

const struct kernels *kernels_cuda(const char **ret_reason)
{
    *ret_reason = "built without CUDA";
    return NULL;
}

void kernels_cuda_choose(unsigned number)
{
    (void)number;
}
