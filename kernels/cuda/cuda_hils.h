/* Where what HiLS attention reads lies, and what a query may choose from. */
#ifndef KERNELS_CUDA_CUDA_HILS_H
#define KERNELS_CUDA_CUDA_HILS_H

#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_tiles.h"

struct hils_source {
    const float *qhat; /* [m, hq, d] */
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    const int32_t *position, *landmark;
    struct kernel_hils sizes;
    size_t d, heads, group;
    float scale;

    /* Where query i's window begins. */
    __device__ size_t window(size_t i) const
    {
        size_t t = static_cast<size_t>(position[i]);
        size_t before = t + 1 > sizes.window ? t + 1 - sizes.window : 0;
        unsigned chunk = static_cast<unsigned>(sizes.chunk);
        return static_cast<unsigned>(before) / chunk * chunk;
    }
    __device__ size_t candidates(size_t i) const
    {
        return static_cast<unsigned>(window(i)) /
               static_cast<unsigned>(sizes.chunk);
    }
    __device__ static size_t from(size_t)
    {
        return 0;
    }
    __device__ static bool there(size_t)
    {
        return true;
    }
    __device__ const float *query(size_t i, size_t head) const
    {
        return qhat + (i * heads + head) * d;
    }
    /* Chunk c's summary key, of the pages' numbers. */
    template <typename Number>
    __device__ const Number *summary(size_t c, size_t head) const
    {
        return reinterpret_cast<const Number *>(summaries.keys[c] +
                                                summaries.key_at) +
               head * d;
    }
    __device__ float bias(size_t c, size_t head) const
    {
        return summaries.biases[c][summaries.bias_at + head];
    }
    __device__ bool real(size_t j) const
    {
        return !landmark || !landmark[j];
    }
    template <typename Number>
    __device__ const Number *slot_key(size_t j, size_t kv) const
    {
        return key_at<Number>(pages, j, page_step(pages, sizes.hkv, d)) +
               page_at(pages, kv, d);
    }
    template <typename Number>
    __device__ const Number *slot_value(size_t j, size_t kv) const
    {
        return value_at<Number>(pages, j, page_step(pages, sizes.hkv, d)) +
               page_at(pages, kv, d);
    }
};

/* Whether the chunks' summaries are of the pages' type, as they must be. */
inline bool are_alike(const struct kernel_summaries *summaries,
                      const struct kernel_pages *pages)
{
    return summaries->means || summaries->type == pages->type;
}

/* The sizes, but n no more than the window: kernels take it from positions, which
 * lie in memory, and what else is asked for goes by the window's tiles. */
inline struct kernel_hils hils_steady(struct kernel_hils sizes)
{
    sizes.n = sizes.n < sizes.window ? sizes.n : sizes.window;
    return sizes;
}

inline struct hils_source hils_source_of(
    const float *qhat, const struct kernel_pages *pages,
    const struct kernel_summaries *summaries, const int32_t *position,
    const int32_t *landmark, const struct kernel_hils *sizes)
{
    const struct dense_sizes dense =
        dense_sizes_of(1, sizes->hq, sizes->hkv, sizes->d);
    return {qhat,   *pages,   *summaries, position,    landmark,
            *sizes, sizes->d, sizes->hq,  dense.group, dense.scale};
}

int cuda_hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                     const float *qhat, const struct kernel_pages *pages,
                     const struct kernel_summaries *summaries,
                     const int32_t *position, const int32_t *landmark,
                     const struct kernel_hils *sizes);

#endif
