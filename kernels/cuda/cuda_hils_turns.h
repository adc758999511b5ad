/* What a tile of HiLS attention's queries goes through on the tensor cores: its
 * windows, then the union of the chunks that they chose (paper 4.2). */
#ifndef KERNELS_CUDA_CUDA_HILS_TURNS_H
#define KERNELS_CUDA_CUDA_HILS_TURNS_H

#include "kernels/cuda/cuda_hils.h"
#include "kernels/cuda/cuda_union.h"

template <unsigned ROWS, unsigned WIDTH, typename Number> struct hils_memory {
    struct tensor_tile<WIDTH, Number> tile;
    struct union_state chunks;
    float weight[ROWS]; /* the chunk's score, exponents of 2 */
};

/* Rows are queries times the heads of a group, `first` the block's first; the
 * tiles of the windows, then those of the chunks, are dealt out to `parts`
 * blocks in turn.  chosen nullptr: windows alone. */
template <unsigned ROWS, unsigned WIDTH, typename Number> struct hils_turns {
    static constexpr bool TOGETHER = false;
    /* Wider, there are no registers to spare for it. */
    static constexpr bool SPARSE = WIDTH < TENSOR_MAX_WIDTH;
    const struct hils_source &s;
    struct hils_memory<ROWS, WIDTH, Number> *m;
    const float *q;        /* [.., hq, d] */
    const int32_t *chosen; /* [.., hkv, top_k] */
    unsigned kv, part, parts;
    unsigned first, rows;
    unsigned begin, end, windows; /* the widest window, its tiles */

    __device__ unsigned group() const
    {
        return static_cast<unsigned>(s.group);
    }
    __device__ bool is_row(unsigned half) const
    {
        return tensor_row<ROWS>(half) < rows;
    }
    __device__ unsigned query(unsigned half) const
    {
        return (first + tensor_row<ROWS>(half)) / group();
    }
    __device__ unsigned head(unsigned half) const
    {
        return kv * group() + (first + tensor_row<ROWS>(half)) % group();
    }
    __device__ unsigned queries() const
    {
        return (first + rows - 1) / group() - first / group() + 1;
    }
    __device__ unsigned end_of(unsigned i) const
    {
        return static_cast<unsigned>(s.position[i]) + 1;
    }
    /* For union_state: a list is a query's. */
    __device__ unsigned count() const
    {
        return queries();
    }
    __device__ int32_t at(unsigned list, unsigned place) const
    {
        size_t top_k = s.sizes.top_k, i = first / group() + list;
        return place < top_k ? chosen[(i * s.sizes.hkv + kv) * top_k + place]
                             : -1;
    }

    /* All threads come; a barrier must follow before tensor_walk's tiles. */
    __device__ void take_queries(struct tensor_rows<ROWS, WIDTH> *own)
    {
        unsigned from = first / group();
        begin = UINT32_MAX;
        end = 0;
        for (unsigned i = from; i < from + queries(); i++) {
            unsigned its = static_cast<unsigned>(s.window(i));
            begin = its < begin ? its : begin;
            end = end_of(i) > end ? end_of(i) : end;
        }
        windows = (end - begin + TENSOR_SLOTS - 1) / TENSOR_SLOTS;
        for (unsigned half = 0; half < 2; half++) {
            bool is = is_row(half);
            size_t i = query(half);
            tensor_take_query(
                own, half, is ? q + (i * s.heads + head(half)) * s.d : nullptr,
                s.d);
        }
        if (chosen && !warp_of_thread())
            m->chunks.begin(*this, static_cast<unsigned>(s.sizes.chunk));
    }
    __device__ unsigned window_at(unsigned turn) const
    {
        return begin + (part + turn * parts) * TENSOR_SLOTS;
    }
    __device__ bool is_window(unsigned turn) const
    {
        return part + turn * parts < windows;
    }
    __device__ void find(unsigned turn)
    {
        size_t slot[2] = {SIZE_MAX, SIZE_MAX};
        bool some = is_window(turn);
        for (unsigned half = 0; some && half < 2; half++) {
            size_t at = window_at(turn) + half * WARP + lane_of_thread();
            slot[half] = at < end ? at : SIZE_MAX;
        }
        if (!some && chosen) /* the first of them follow the last windows */
            some = m->chunks.fill(turn, *this,
                                  static_cast<unsigned>(s.sizes.chunk),
                                  (part + parts - windows % parts) % parts,
                                  parts, !s.sizes.exact, slot);
        for (unsigned half = 0; half < 2; half++) {
            size_t j = slot[half];
            bool there = j != SIZE_MAX && s.real(j);
            m->tile.place(turn, half,
                          there ? s.slot_key<Number>(j, kv) : nullptr,
                          there ? s.slot_value<Number>(j, kv) : nullptr);
        }
        if (!lane_of_thread())
            m->tile.some[turn & 1] = some;
    }
    __device__ uint64_t seen(unsigned turn, unsigned half) const
    {
        if (!is_row(half))
            return 0;
        unsigned i = query(half);
        return is_window(turn)
                   ? tensor_bits(window_at(turn),
                                 static_cast<unsigned>(s.window(i)), end_of(i))
                   : m->chunks.seen(turn, i - first / group());
    }
    __device__ bool whole(unsigned turn) const
    {
        return !s.sizes.exact && !is_window(turn);
    }
    /* What the chunk weighs in each row that chose it, a warp a row. */
    __device__ void prepare(unsigned turn)
    {
        if (!whole(turn))
            return;
        constexpr unsigned EACH = ROWS / TENSOR_WARPS;
        const struct union_pieces *piece = &m->chunks.pieces[turn & 1];
        size_t c = static_cast<size_t>(piece->id);
#pragma unroll 1
        for (unsigned i = 0; i < EACH; i++) {
            unsigned r = warp_of_thread() * EACH + i, row = first + r;
            if (r >= rows ||
                !(piece->members[0] >> (row / group() - first / group()) & 1))
                continue;
            size_t its = kv * group() + row % group();
            const float *qhat = s.query(row / group(), its);
            const Number *key = s.summary<Number>(c, its);
            float sum = 0;
            for (unsigned l = lane_of_thread(); l < s.d; l += WARP)
                sum += qhat[l] * widened(key[l]);
            sum = warp_sum(sum) * s.scale + s.bias(c, its);
            if (!lane_of_thread())
                m->weight[r] = sum * LOG2_E;
        }
    }
    __device__ void take(struct tensor_rows<ROWS, WIDTH> *own,
                         struct tensor_scores *scores, unsigned bits,
                         unsigned turn) const
    {
        if (!whole(turn)) {
            tensor_weigh(own, scores, bits);
            return;
        }
        const float its[2] = {m->weight[tensor_row<ROWS>(0)],
                              m->weight[tensor_row<ROWS>(1)]};
        tensor_weigh_whole(own, scores, bits, its);
    }
};

/* The turns of block (x: tile of rows, y: key-value head, z: part) of a grid
 * whose rows begin at `base` and are `count`. */
template <unsigned ROWS, unsigned WIDTH, typename Number>
static __device__ inline struct hils_turns<ROWS, WIDTH, Number> hils_turns_of(
    const struct hils_source &s, const float *q, const int32_t *chosen,
    size_t base, size_t count) {
    size_t at = blockIdx.x * size_t{ROWS};
    size_t rows = count - at < ROWS ? count - at : ROWS;
    return {
        s,
        static_cast<struct hils_memory<ROWS, WIDTH, Number> *>(cuda_shared()),
        q,
        chosen,
        blockIdx.y,
        blockIdx.z,
        gridDim.z,
        static_cast<unsigned>(base + at),
        static_cast<unsigned>(rows),
        0,
        0,
        0};
}

#endif
