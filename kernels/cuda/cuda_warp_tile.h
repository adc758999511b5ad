/* A tile of slots that one warp reads for itself, bf16: where its keys and values come
 * from, and how they come into the warp's own shared memory. */
#ifndef KERNELS_CUDA_CUDA_WARP_TILE_H
#define KERNELS_CUDA_CUDA_WARP_TILE_H

#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_tensor_tile.h"

constexpr unsigned WARP_SLOTS = 64;
static_assert(WARP_SLOTS == TENSOR_SLOTS, "tensor_bits is of such tiles");

/* A warp's own; numbers lie as products read them (split_place). */
template <unsigned WIDTH> struct warp_memory {
    uint16_t keys[WARP_SLOTS * WIDTH], values[WARP_SLOTS * WIDTH];
};

/* The same in all lanes, but for `gone`.  What is read of memory for it is not looked
 * at before its keys are asked for, a tile later. */
struct warp_tile {
    unsigned first, count;       /* slots; count 0: there is no tile */
    unsigned mark;               /* whose it is (a walk's own) */
    unsigned within;             /* the first's place in its page */
    const float *keys, *values;  /* the page; nullptr: there are several */
    const float *summary, *bias; /* its chunk's, where it weighs as a whole */
    int gone[2];    /* not 0: slot first + 32 half + lane is not seen */
    uint64_t there; /* bits: slots with a key (warp_settle) */
};

/* One head's slots. */
struct warp_pages {
    const struct kernel_pages &pages;
    size_t step, at; /* numbers: from slot to slot, the head's first */
    unsigned d;

    __device__ void place(struct warp_tile *t) const
    {
        unsigned page;
        bool one = in_one_page(pages, t->first, t->count, &page, &t->within) &&
                   t->count;
        t->keys = one ? pages.keys[page] : nullptr;
        t->values = one ? pages.values[page] : nullptr;
    }
    /* Slot i of the tile, VALUES: its value. */
    template <bool VALUES>
    __device__ const uint16_t *row(const struct warp_tile &t, unsigned i) const
    {
        const float *page = VALUES ? t.values : t.keys;
        if (page)
            return reinterpret_cast<const uint16_t *>(
                       page + (VALUES ? pages.value_at : pages.key_at)) +
                   at + (t.within + i) * step;
        return at + (VALUES ? value_at<uint16_t>(pages, t.first + i, step)
                            : key_at<uint16_t>(pages, t.first + i, step));
    }
};

static __device__ __forceinline__ struct warp_pages warp_pages_of(
    const struct kernel_pages &pages, size_t hkv, size_t d, size_t kv)
{
    return {pages, page_step(pages, hkv, d), page_at(pages, kv, d),
            static_cast<unsigned>(d)};
}

/* Which slots of the tile have a key. */
static __device__ __forceinline__ void warp_settle(struct warp_tile *t)
{
    t->there = 0;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        bool is = half * WARP + lane_of_thread() < t->count && !t->gone[half];
        t->there |= static_cast<uint64_t>(__ballot_sync(WHOLE_WARP, is))
                    << half * WARP;
    }
}

/* Asks for the tile's keys, or values; zeros where there is nothing.  Their group is
 * ended whatever there is. */
template <bool VALUES, unsigned WIDTH>
static __device__ __forceinline__ void warp_fetch(
    uint16_t *to, const struct warp_pages &pages, const struct warp_tile &t)
{
    constexpr unsigned PIECES = WIDTH / 8, EACH = WARP / PIECES;
    const uint4 zeros = {0, 0, 0, 0};
    unsigned slot = lane_of_thread() / PIECES,
             l = lane_of_thread() % PIECES * 8;
    if (t.count) {
        const uint16_t *from = nullptr;
        if (VALUES ? t.values : t.keys)
            from = pages.row<VALUES>(t, slot) + l;
        if (from && pages.d == WIDTH && pages.step % 8 == 0 &&
            aligned_16(from)) {
            uint64_t there = t.there >> slot;
#pragma unroll
            for (unsigned i = 0; i < WARP_SLOTS / EACH; i++) {
                uint16_t *place = to + split_place(slot + i * EACH, l);
                if (there >> i * EACH & 1)
                    copy_16(place, from);
                else
                    *reinterpret_cast<uint4 *>(place) = zeros;
                from += EACH * pages.step;
            }
        } else {
#pragma unroll 1
            for (unsigned i = slot; i < WARP_SLOTS; i += EACH) {
                bool is = t.there >> i & 1;
                const uint16_t *row = is ? pages.row<VALUES>(t, i) : nullptr;
                uint16_t *place = to + split_place(i, l);
                if (row && l + 8 <= pages.d && aligned_16(row + l))
                    copy_16(place, row + l);
                else
#pragma unroll 1
                    for (unsigned e = 0; e < 8; e++)
                        place[e] =
                            row && l + e < pages.d ? row[l + e] : uint16_t{0};
            }
        }
    }
    end_copies();
}

#endif
