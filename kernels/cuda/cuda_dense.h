/* Where the queries, keys and values of dense attention lie, and who sees what:
 * the sources of cuda_attention.cu's one kernel. */
#ifndef KERNELS_CUDA_CUDA_DENSE_H
#define KERNELS_CUDA_CUDA_DENSE_H

#include "kernels/cuda/cuda_internal.h"

#include <cmath>

struct dense_sizes {
    size_t places; /* outputs of all batches: queries times heads */
    size_t hq, hkv, group, d;
    float scale;
};

inline struct dense_sizes dense_sizes_of(size_t places, size_t hq, size_t hkv,
                                         size_t d)
{
    return {places, hq,
            hkv,    hq / hkv,
            d,      static_cast<float>(1 / std::sqrt(static_cast<double>(d)))};
}

/* From slot to slot of a page, and where a key-value head's part begins. */
static __device__ inline size_t page_step(const struct kernel_pages &pages,
                                          size_t hkv, size_t d)
{
    return pages.by_head ? d : hkv * d;
}
static __device__ inline size_t page_at(const struct kernel_pages &pages,
                                        size_t head, size_t d)
{
    return head * (pages.by_head ? pages.slots * d : d);
}

/* Kernels that read pages are templates of what their numbers are: float, or
 * uint16_t, bf16. */
static inline bool are_known(const struct kernel_pages *pages)
{
    return pages->type == KERNEL_F32 || pages->type == KERNEL_BF16;
}
static inline bool are_bf16(const struct kernel_pages *pages)
{
    return pages->type == KERNEL_BF16;
}

/* Where the first head's key, or value, of slot j < 2^31 lies; `step` is of
 * page_step.  The device divides 32 bits by itself, 64 bits by a call. */
static __device__ inline unsigned page_slots(const struct kernel_pages &pages)
{
    return pages.slots > INT32_MAX ? INT32_MAX
                                   : static_cast<unsigned>(pages.slots);
}
template <typename Number>
static __device__ inline const Number *key_at(const struct kernel_pages &pages,
                                              size_t j, size_t step)
{
    unsigned slot = static_cast<unsigned>(j), slots = page_slots(pages);
    return reinterpret_cast<const Number *>(pages.keys[slot / slots] +
                                            pages.key_at) +
           slot % slots * step;
}
template <typename Number>
static __device__ inline const Number *value_at(
    const struct kernel_pages &pages, size_t j, size_t step)
{
    unsigned slot = static_cast<unsigned>(j), slots = page_slots(pages);
    return reinterpret_cast<const Number *>(pages.values[slot / slots] +
                                            pages.value_at) +
           slot % slots * step;
}

/* Whether slots [j, j + count) lie in one page; which that is, and where in it the
 * first does. */
static __device__ inline bool in_one_page(const struct kernel_pages &pages,
                                          unsigned j, unsigned count,
                                          unsigned *page, unsigned *within)
{
    const unsigned slots = page_slots(pages);
    *page = j / slots;
    *within = j % slots;
    return *within + count <= slots;
}

/* The last m of n slots ask; one batch. */
template <typename Number> struct paged {
    using number = Number; /* of keys and values */
    static constexpr bool PAGED = true;
    struct dense_sizes sizes;
    const float *q; /* [m, hq, d] */
    float *out;     /* the same */
    struct kernel_pages pages;
    size_t m, n, window;
    const uint32_t *length; /* n; nullptr: it is above */

    __device__ size_t queries(size_t) const
    {
        return m;
    }
    __device__ size_t to(size_t, size_t i) const
    {
        return (length ? *length : n) - m + i + 1;
    }
    __device__ size_t from(size_t b, size_t i) const
    {
        size_t end = to(b, i);
        return window && end > window ? end - window : 0;
    }
    __device__ bool hidden(size_t j) const
    {
        unsigned each = static_cast<unsigned>(pages.hidden);
        return each && static_cast<unsigned>(j) % each == each - 1;
    }
    __device__ const Number *key(size_t, size_t j) const
    {
        return key_at<Number>(pages, j, page_step(pages, sizes.hkv, sizes.d));
    }
    __device__ const Number *value(size_t, size_t j) const
    {
        return value_at<Number>(pages, j, page_step(pages, sizes.hkv, sizes.d));
    }
    /* Whether slots [j, j + count) lie in one page; then where the first does, and
     * from one to the next. */
    __device__ bool one_page(unsigned j, unsigned count, const Number **key,
                             const Number **value, size_t *step) const
    {
        unsigned page, within;
        if (!in_one_page(pages, j, count, &page, &within))
            return false;
        *step = page_step(pages, sizes.hkv, sizes.d);
        *key =
            reinterpret_cast<const Number *>(pages.keys[page] + pages.key_at) +
            within * *step;
        *value = reinterpret_cast<const Number *>(pages.values[page] +
                                                  pages.value_at) +
                 within * *step;
        return true;
    }
    __device__ size_t head_at(size_t head) const
    {
        return page_at(pages, head, sizes.d);
    }
    __device__ size_t place(size_t, size_t i, size_t head) const
    {
        return i * sizes.hq + head;
    }
    __device__ const float *query(size_t, size_t i, size_t head) const
    {
        return q + (i * sizes.hq + head) * sizes.d;
    }
};

/* Batch b is segment b: of n rows those from b segment on.  Its queries are the
 * same `asked` rows for each segment, or (asked 0) its own rows, each of which
 * sees the rows up to itself.  Before its rows come `shown` keys of its own;
 * with first_bare segment 0 has none. */
struct segments {
    using number = float;
    static constexpr bool PAGED = false;
    struct dense_sizes sizes;
    const float *q;               /* [asked, hq, d] or [n, hq, d] */
    float *out;                   /* [batches, asked, hq, d] or [n, hq, d] */
    const float *k, *v;           /* [n, hkv, d] */
    const float *slot_k, *slot_v; /* [batches, shown, hkv, d] */
    size_t n, segment, asked, shown;
    size_t window; /* where n are asked: slots seen before and behind each; 0:
                      all */
    bool first_bare;

    __host__ __device__ size_t rows(size_t b) const
    {
        return n - b * segment < segment ? n - b * segment : segment;
    }
    __host__ size_t max_queries() const
    {
        return asked ? asked : rows(0);
    }
    __host__ size_t longest() const
    {
        size_t both = 2 * window + 1;
        return shown + (window && both < rows(0) ? both : rows(0));
    }
    __device__ size_t shown_to(size_t b) const
    {
        return b || !first_bare ? shown : 0;
    }
    __device__ size_t queries(size_t b) const
    {
        return asked ? asked : rows(b);
    }
    __device__ size_t from(size_t, size_t i) const
    {
        return window && i > window ? i - window : 0;
    }
    __device__ size_t to(size_t b, size_t i) const
    {
        if (window && i + window < rows(b))
            return i + window + 1;
        return shown_to(b) + (asked ? rows(b) : i + 1);
    }
    __device__ bool hidden(size_t) const
    {
        return false;
    }
    __device__ const float *at(const float *slots, const float *own, size_t b,
                               size_t j) const
    {
        size_t step = sizes.hkv * sizes.d, before = shown_to(b);
        return j < before ? slots + (b * shown + j) * step
                          : own + (b * segment + j - before) * step;
    }
    __device__ const float *key(size_t b, size_t j) const
    {
        return at(slot_k, k, b, j);
    }
    __device__ const float *value(size_t b, size_t j) const
    {
        return at(slot_v, v, b, j);
    }
    __device__ size_t head_at(size_t head) const
    {
        return head * sizes.d;
    }
    __device__ size_t place(size_t b, size_t i, size_t head) const
    {
        return (b * (asked ? asked : segment) + i) * sizes.hq + head;
    }
    __device__ const float *query(size_t b, size_t i, size_t head) const
    {
        size_t row = asked ? i : b * segment + i;
        return q + (row * sizes.hq + head) * sizes.d;
    }
};

/* Batch b is text b, rows [start[b], start[b + 1]) of all, which see one another. */
struct texts {
    static constexpr size_t MAX = 512; /* they go with the launch */
    using number = float;
    static constexpr bool PAGED = false;
    struct dense_sizes sizes;
    const float *q, *k, *v;
    float *out;
    size_t window;
    bool causal;
    uint32_t start[MAX + 1];

    __device__ size_t queries(size_t b) const
    {
        return start[b + 1] - start[b];
    }
    __device__ size_t from(size_t, size_t i) const
    {
        size_t most = causal ? window - 1 : window; /* before its own */
        return window && i > most ? i - most : 0;
    }
    __device__ size_t to(size_t b, size_t i) const
    {
        if (causal)
            return i + 1;
        return window && i + window < queries(b) ? i + window + 1 : queries(b);
    }
    __device__ bool hidden(size_t) const
    {
        return false;
    }
    __device__ const float *key(size_t b, size_t j) const
    {
        return k + (start[b] + j) * sizes.hkv * sizes.d;
    }
    __device__ const float *value(size_t b, size_t j) const
    {
        return v + (start[b] + j) * sizes.hkv * sizes.d;
    }
    __device__ size_t head_at(size_t head) const
    {
        return head * sizes.d;
    }
    __device__ size_t place(size_t b, size_t i, size_t head) const
    {
        return (start[b] + i) * sizes.hq + head;
    }
    __device__ const float *query(size_t b, size_t i, size_t head) const
    {
        return q + place(b, i, head) * sizes.d;
    }
};

int cuda_attend_segments(struct kernel_run *run, const struct segments &s,
                         size_t batches);

#endif
