/* Several ascending lists of chunks walked together: each chunk that anybody's
 * list has comes once, with who has it.  What a tile of queries reads in HiLS
 * and STAR attention.
 *
 * `Lists` has count(), at most UNION_MAX_LISTS, and at(list, place), a chunk or,
 * behind the list's last, something negative.  The chunks are dealt out to `count` blocks in turn.  The state is in shared
 * memory and belongs to the block's first warp: its lanes come together.
 *
 * I1  next[l] is the place in list l of the first chunk not walked past, head[l]
 *     that chunk, UNION_END behind the last.
 * I2  used < chunk: slots [used, chunk) of chunk `id` are still to be read. */
#ifndef KERNELS_CUDA_CUDA_UNION_H
#define KERNELS_CUDA_CUDA_UNION_H

#include "kernels/cuda/cuda_tensor.h"

constexpr unsigned UNION_MAX_LISTS = TENSOR_MANY;
constexpr unsigned UNION_PIECES = 4; /* chunks of a tile */
constexpr size_t UNION_MAX_LENGTH = UINT16_MAX;
constexpr int32_t UNION_END = INT32_MAX;

/* What a tile is made of: piece p is its slots [end[p - 1], end[p]). */
struct union_pieces {
    uint64_t members[UNION_PIECES]; /* bit l: list l has the chunk */
    uint8_t end[UNION_PIECES];
    unsigned count;
    int32_t id; /* of the first piece's chunk */
};

struct union_state {
    struct union_pieces pieces[2]; /* by turn & 1 */
    uint64_t members;              /* of the chunk at hand */
    int32_t id;
    unsigned used, walked; /* slots; chunks of all blocks */
    int32_t head[UNION_MAX_LISTS];
    uint16_t next[UNION_MAX_LISTS];

    template <typename Lists>
    __device__ void begin(const Lists &lists, unsigned chunk)
    {
        for (unsigned l = lane_of_thread(); l < UNION_MAX_LISTS; l += WARP) {
            next[l] = 0;
            head[l] = read(lists, l, 0);
        }
        if (!lane_of_thread()) {
            used = chunk;
            walked = 0;
        }
        __syncwarp();
    }

    /* The slots of the next tile: slot[half] of the chunks, SIZE_MAX: none.
     * alone: of one chunk only.  False: there are none. */
    template <typename Lists>
    __device__ bool fill(unsigned turn, const Lists &lists, unsigned chunk,
                         unsigned part, unsigned parts, bool alone,
                         size_t *slot)
    {
        struct union_pieces *to = &pieces[turn & 1];
        unsigned filled = 0, piece = 0;
        slot[0] = slot[1] = SIZE_MAX;
#pragma unroll 1
        while (filled < TENSOR_SLOTS && piece < UNION_PIECES &&
               !(alone && piece)) {
            if (used == chunk && !advance(lists, part, parts))
                break;
            unsigned some = chunk - used < TENSOR_SLOTS - filled
                                ? chunk - used
                                : TENSOR_SLOTS - filled;
            for (unsigned half = 0; half < 2; half++) {
                unsigned at = half * WARP + lane_of_thread();
                if (at >= filled && at < filled + some)
                    slot[half] =
                        static_cast<size_t>(id) * chunk + used + at - filled;
            }
            filled += some;
            __syncwarp();
            if (!lane_of_thread()) {
                to->members[piece] = members;
                to->end[piece] = static_cast<uint8_t>(filled);
                if (!piece)
                    to->id = id;
                used += some;
            }
            piece++;
            __syncwarp();
        }
        if (!lane_of_thread())
            to->count = piece;
        return piece > 0;
    }

    /* Bits of the tile's slots that list l has. */
    __device__ uint64_t seen(unsigned turn, unsigned list) const
    {
        const struct union_pieces *from = &pieces[turn & 1];
        uint64_t bits = 0;
#pragma unroll 1
        for (unsigned p = 0; p < from->count; p++)
            if (from->members[p] >> list & 1)
                bits |= tensor_bits(0, p ? from->end[p - 1] : 0, from->end[p]);
        return bits;
    }

  private:
    template <typename Lists>
    __device__ static int32_t read(const Lists &lists, unsigned l,
                                   unsigned place)
    {
        int32_t got = l < lists.count() ? lists.at(l, place) : -1;
        return got < 0 ? UNION_END : got;
    }

    __device__ static int32_t warp_min(int32_t value)
    {
        for (unsigned step = WARP / 2; step; step /= 2) {
            int32_t other =
                __shfl_xor_sync(WHOLE_WARP, value, static_cast<int>(step));
            value = other < value ? other : value;
        }
        return value;
    }

    /* To the part's next chunk; false: there is none. */
    template <typename Lists>
    __device__ bool advance(const Lists &lists, unsigned part, unsigned parts)
    {
        unsigned lane = lane_of_thread(), passed = walked;
        int32_t min;
        uint64_t has;
        do {
            if (lists.count() == 1) { /* no need to walk past the others' */
                unsigned ahead = (part + parts - passed % parts) % parts;
                passed += ahead;
                min = read(lists, 0, passed);
                has = 1;
            } else {
                min = warp_min(head[lane] < head[lane + WARP]
                                   ? head[lane]
                                   : head[lane + WARP]);
                has = 0;
                for (unsigned half = 0; min != UNION_END && half < 2; half++) {
                    unsigned l = half * WARP + lane;
                    bool mine = head[l] == min;
                    has |=
                        static_cast<uint64_t>(__ballot_sync(WHOLE_WARP, mine))
                        << 32 * half;
                    if (mine)
                        head[l] = read(lists, l, ++next[l]);
                }
                __syncwarp();
            }
            if (min == UNION_END)
                return false;
        } while (passed++ % parts != part);
        __syncwarp(); /* all have read what changes */
        if (!lane) {
            walked = passed;
            id = min;
            members = has;
            used = 0;
        }
        __syncwarp();
        return true;
    }
};

#endif
