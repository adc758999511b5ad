#include "kernels/cuda/cuda.h"
template <typename... Arguments> static int unsupported(Arguments...)
{
    return KERNEL_UNSUPPORTED;
}
void cuda_fill_hils(struct kernels *table)
{
    table->hils_choose = unsupported;
    table->hils_attention = unsupported;
}
