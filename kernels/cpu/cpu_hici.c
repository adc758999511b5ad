/* HiCI attention, with this table's products, norms and attention. */
#include "kernels/cpu/cpu_internal.h"
#include "kernels/ref/ref.h"

static int hici_local(struct kernel_run *run, float *out, const float *x,
                      const struct kernel_hici *hici, size_t n, size_t segment)
{
    return ref_hici_local(kernels_cpu(), run, out, x, hici, n, segment);
}

static int hici_context(struct kernel_run *run, float *out, const float *local,
                        const struct kernel_hici *hici, size_t segments,
                        bool causal)
{
    return ref_hici_context(kernels_cpu(), run, out, local, hici, segments,
                            causal);
}

static int hici_attention(struct kernel_run *run, float *out, const float *q,
                          const float *k, const float *v, const float *slot_k,
                          const float *slot_v, size_t n, size_t segment,
                          size_t shown, size_t hq, size_t hkv, size_t d,
                          bool causal)
{
    return ref_hici_attention(kernels_cpu(), run, out, q, k, v, slot_k, slot_v,
                              n, segment, shown, hq, hkv, d, causal);
}

void cpu_fill_hici(struct kernels *table)
{
    table->hici_local = hici_local;
    table->hici_context = hici_context;
    table->hici_attention = hici_attention;
}
