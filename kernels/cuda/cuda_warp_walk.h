/* Attention whose warps are each on their own: a warp has eight rows, its own tiles in
 * its own shared memory, and waits for no other; keys of the next tile come while the
 * values of this one are waited for, and the other way about.  What is to be read says
 * `Walk`, a struct of the caller's:
 *
 *     void find(tile)           the warp's next tile, count 0: there is none, nor
 *                               will there be
 *     void ask(tile)            starts reading what `take` needs beside the scores
 *     void take(rows, scores, tile)   makes shares of the scores (warp_weigh)
 *
 * Where queries are few, all warps of several blocks have the same rows and deal the
 * tiles out among them (`warp_gather`, then cuda_join.h); else each has rows of its
 * own. */
#ifndef KERNELS_CUDA_CUDA_WARP_WALK_H
#define KERNELS_CUDA_CUDA_WARP_WALK_H

#include "kernels/cuda/cuda_warp_rows.h"

/* Warps of a block that share rows: two blocks fill a processor's shared memory. */
template <unsigned WIDTH>
constexpr unsigned WARP_SHARING = WIDTH <= TENSOR_MAX_WIDTH / 2 ? 6 : 3;
/* Warps of a block that do not. */
constexpr unsigned WARP_ALONE = 2;

template <unsigned WIDTH> constexpr size_t warp_bytes(unsigned warps)
{
    return warps * sizeof(struct warp_memory<WIDTH>);
}
static_assert(warp_bytes<TENSOR_MAX_WIDTH>(WARP_SHARING<TENSOR_MAX_WIDTH>) <=
                      CUDA_MAX_ASKED &&
                  warp_bytes<TENSOR_MAX_WIDTH / 2>(
                      WARP_SHARING<TENSOR_MAX_WIDTH / 2>) <= CUDA_MAX_ASKED,
              "no room for them");

template <unsigned WIDTH>
static __device__ __forceinline__ struct warp_memory<WIDTH> *warp_own_memory() {
    return static_cast<struct warp_memory<WIDTH> *>(cuda_shared()) +
           warp_of_thread();
}

/* All lanes come. */
template <unsigned WIDTH, typename Walk>
static __device__ __forceinline__ void warp_walk(struct warp_memory<WIDTH> *m,
                                                 struct warp_rows<WIDTH> *rows,
                                                 const struct warp_pages &pages,
                                                 Walk &walk)
{
    struct warp_tile now, next;
    walk.find(&now);
    pages.place(&now);
    warp_settle(&now);
    warp_fetch<false, WIDTH>(m->keys, pages, now);
    warp_fetch<true, WIDTH>(m->values, pages, now);
    walk.find(&next);
    pages.place(&next);
#pragma unroll 1
    while (now.count) {
        struct warp_scores scores;
        walk.ask(now);
        wait_copies<1>();
        __syncwarp(); /* the keys are there */
        warp_score(m->keys, rows, &scores);
        __syncwarp(); /* nobody reads them any more */
        warp_settle(&next);
        warp_fetch<false, WIDTH>(m->keys, pages, next);
        walk.take(rows, &scores, now);
        wait_copies<1>();
        __syncwarp(); /* the values are there */
        warp_mix(m->values, rows, &scores);
        __syncwarp(); /* nobody reads them any more */
        warp_fetch<true, WIDTH>(m->values, pages, next);
        now = next;
        walk.find(&next);
        pages.place(&next);
    }
}

/* ---- What the walk leaves ---- */

/* Writes row 2 t + e, as all there is of it or as a part; out of a row that is not
 * there is nullptr.  All lanes come. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_leave(
    const struct warp_rows<WIDTH> *rows, unsigned e, size_t d, float *out,
    float *log)
{
    float total = rows_sum(rows->total[e]);
    float factor = total == 0 ? 0 : 1 / total; /* a NaN is no 0 */
    if (!out)
        return;
    if (log && !warp_query_row())
        *log = log_of_total(rows->max[e], total);
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 16; i++)
        for (unsigned h = 0; h < 2; h++) {
            unsigned l = i * 16 + h * 8 + warp_query_row();
            if (l < d)
                out[l] = rows->sum[i][h * 2 + e] * factor;
        }
}

/* What a warp found, in its memory after the walk. */
template <unsigned WIDTH> struct warp_found {
    float max[WARP_ROWS], total[WARP_ROWS];
    float sum[WARP_ROWS * WIDTH];
};

/* Joins what the block's warps found of the same rows.  write(row) gives where row
 * r < count goes: its numbers, and its logarithm unless that is nullptr.  All threads
 * come; a barrier must follow before shared memory is used again. */
template <unsigned WIDTH, typename Write>
static __device__ __forceinline__ void warp_gather(
    const struct warp_rows<WIDTH> *rows, size_t d, unsigned count,
    const Write &write)
{
    auto *found =
        reinterpret_cast<struct warp_found<WIDTH> *>(warp_own_memory<WIDTH>());
    static_assert(sizeof *found <= sizeof(struct warp_memory<WIDTH>),
                  "what a warp found does not fit into its memory");
    __syncwarp(); /* the walk is done with it */
#pragma unroll
    for (unsigned e = 0; e < 2; e++) {
        unsigned row = warp_row(e);
        float total = rows_sum(rows->total[e]);
        if (!warp_query_row()) {
            found->max[row] = rows->max[e];
            found->total[row] = total;
        }
#pragma unroll
        for (unsigned i = 0; i < WIDTH / 16; i++)
            for (unsigned h = 0; h < 2; h++)
                found->sum[row * WIDTH + i * 16 + h * 8 + warp_query_row()] =
                    rows->sum[i][h * 2 + e];
    }
    __syncthreads();
    for (unsigned at = threadIdx.x; at < count * WIDTH; at += blockDim.x) {
        auto *memory = static_cast<const struct warp_memory<WIDTH> *>(
            static_cast<const void *>(cuda_shared()));
        unsigned row = at / WIDTH, l = at % WIDTH;
        float max = minus_infinity(), total = 0, sum = 0;
        for (unsigned w = 0; w < blockDim.x / WARP; w++)
            max = fmaxf(max, reinterpret_cast<const struct warp_found<WIDTH> *>(
                                 memory + w)
                                 ->max[row]);
        for (unsigned w = 0; w < blockDim.x / WARP; w++) {
            auto *its =
                reinterpret_cast<const struct warp_found<WIDTH> *>(memory + w);
            float share = share_of_2(its->max[row], max);
            total += share * its->total[row];
            sum += share * its->sum[row * WIDTH + l];
        }
        float *out, *log;
        write(row, &out, &log);
        if (l < d)
            out[l] = total == 0 ? 0 : sum / total;
        if (log && !l)
            *log = log_of_total(max, total);
    }
}

#endif
