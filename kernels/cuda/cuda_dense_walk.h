/* Dense attention of few queries over bf16 pages, each warp on its own
 * (cuda_warp_walk.h): the tiles of the context are dealt out to all warps of all blocks
 * that have the same rows. */
#ifndef KERNELS_CUDA_CUDA_DENSE_WALK_H
#define KERNELS_CUDA_CUDA_DENSE_WALK_H

#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_warp_walk.h"

struct dense_walk {
    const struct paged<uint16_t> &s;
    unsigned kv, first, rows; /* the warp's rows, `rows` of them > 0 */
    unsigned worker, workers; /* this warp, of all that share these rows */
    unsigned begin, from,
        end; /* where tiles begin; the widest range of slots */
    unsigned row_from[2], row_to[2]; /* of rows 2 t and 2 t + 1 */

    /* The same for rows that are not there as for the last. */
    __device__ unsigned query(unsigned row) const
    {
        unsigned its = row < rows ? row : rows - 1;
        return (first + its) / static_cast<unsigned>(s.sizes.group);
    }
    __device__ unsigned head(unsigned row) const
    {
        unsigned group = static_cast<unsigned>(s.sizes.group);
        return kv * group + (first + row) % group;
    }
    __device__ size_t place(unsigned row) const
    {
        return s.place(0, query(row), head(row));
    }

    template <unsigned WIDTH>
    __device__ void start(struct warp_rows<WIDTH> *own)
    {
        unsigned row = warp_query_row();
        for (unsigned e = 0; e < 2; e++) {
            unsigned i = query(warp_row(e));
            row_from[e] = static_cast<unsigned>(s.from(0, i));
            row_to[e] = static_cast<unsigned>(s.to(0, i));
        }
        from = static_cast<unsigned>(s.from(0, query(0)));
        end = static_cast<unsigned>(s.to(0, query(rows - 1)));
        begin = from / WARP_SLOTS * WARP_SLOTS + worker * WARP_SLOTS;
        warp_begin(own,
                   row < rows ? s.query(0, query(row), head(row)) : nullptr,
                   s.sizes.d);
    }
    __device__ void find(struct warp_tile *t)
    {
        t->first = begin;
        t->count = begin >= end               ? 0
                   : end - begin < WARP_SLOTS ? end - begin
                                              : WARP_SLOTS;
        begin += workers * WARP_SLOTS;
        for (unsigned half = 0; half < 2; half++) {
            unsigned j = t->first + half * WARP + lane_of_thread();
            t->gone[half] = j < from || s.hidden(j);
        }
    }
    __device__ void ask(const struct warp_tile &)
    {
    }
    template <unsigned WIDTH>
    __device__ void take(struct warp_rows<WIDTH> *own,
                         struct warp_scores *scores,
                         const struct warp_tile &t) const
    {
        uint64_t seen[2];
        for (unsigned e = 0; e < 2; e++)
            seen[e] = tensor_bits(t.first, row_from[e], row_to[e]) & t.there;
        warp_hide(scores, seen);
        warp_weigh(own, scores, s.sizes.scale * LOG2_E);
    }
};

#endif
