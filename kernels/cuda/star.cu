#include "kernels/cuda/cuda.h"
template <typename... Arguments> static int unsupported(Arguments...)
{
    return KERNEL_UNSUPPORTED;
}
void cuda_fill_star(struct kernels *table)
{
    table->star_attention = unsupported;
}
