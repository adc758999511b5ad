/* HiLS attention over bf16 pages, each warp on its own (cuda_warp_walk.h): first the
 * windows of the warp's few queries, then the chunks that they chose, each once, with
 * who chose it.  Tiles are dealt out to all warps that share rows. */
#ifndef KERNELS_CUDA_CUDA_HILS_WALK_H
#define KERNELS_CUDA_CUDA_HILS_WALK_H

#include "kernels/cuda/cuda_hils.h"
#include "kernels/cuda/cuda_reads.h"
#include "kernels/cuda/cuda_warp_walk.h"

constexpr int32_t LIST_END = INT32_MAX;

/* The ascending lists of up to WARP_ROWS queries, walked together by one warp: lane l
 * has list l % WARP_ROWS.
 *
 * I1  head is the first chunk of the lane's list that was not walked past, at `place`;
 *     LIST_END behind the last, and of lists that are not there.
 * I2  of the chunks to come, the first `ahead` are other warps'. */
struct list_walk {
    const int32_t *chosen; /* of the lane's list; nullptr: there is none */
    unsigned top_k, lists, workers;
    int32_t head;
    unsigned place, ahead;

    __device__ int32_t read() const
    {
        int32_t got = chosen && place < top_k ? chosen[place] : -1;
        return got < 0 ? LIST_END : got;
    }
    __device__ void begin(unsigned before)
    {
        ahead = before;
        place = lists == 1 ? before : 0; /* no need to walk past the others' */
        head = read();
    }
    /* This warp's next chunk, in *members whose it is; LIST_END: there is none. */
    __device__ int32_t next(unsigned *members)
    {
        int32_t id = head;
        if (lists == 1) {
            *members = 1;
            place += workers;
            head = read();
            return id;
        }
        bool more;
        do {
            id = head;
#pragma unroll
            for (int step = WARP_ROWS / 2; step; step /= 2) {
                int32_t other = __shfl_xor_sync(WHOLE_WARP, id, step);
                id = other < id ? other : id;
            }
            if (id == LIST_END)
                return id;
            *members = __ballot_sync(WHOLE_WARP, head == id);
            if (head == id) {
                place++;
                head = read();
            }
            more = ahead > 0;
            ahead = more ? ahead - 1 : workers - 1;
        } while (more);
        return id;
    }
};

/* WHOLE: a chunk, no longer than a tile, weighs as a whole. */
template <unsigned WIDTH, bool WHOLE> struct hils_walk {
    static constexpr unsigned WINDOW = 1u
                                       << WARP_ROWS; /* a mark; else members */
    static constexpr unsigned PIECES = WHOLE ? WIDTH / 32 : 1;
    const struct hils_source &s;
    unsigned kv, first, rows; /* the warp's rows, `rows` of them > 0 */
    unsigned worker, workers; /* this warp, of all that share these rows */
    unsigned begin, end;      /* the widest window */
    unsigned window, windows; /* the next of its tiles, all of them */
    unsigned row_from[2], row_to[2], row_list[2]; /* of rows 2 t and 2 t + 1 */
    struct list_walk chunks;
    int32_t id; /* the chunk at hand: slots [used, ..) are still to be read */
    unsigned used, members;
    /* Of row g, columns 32 i + 8 t and on. */
    float qhat[PIECES][8];
    uint4 key[PIECES]; /* the summary's */
    float bias;

    __device__ explicit hils_walk(const struct hils_source &of) : s(of)
    {
    }
    __device__ unsigned group() const
    {
        return static_cast<unsigned>(s.group);
    }
    /* The same for rows that are not there as for the last. */
    __device__ unsigned at(unsigned row) const
    {
        return first + (row < rows ? row : rows - 1);
    }
    __device__ unsigned head(unsigned row) const
    {
        return kv * group() + at(row) % group();
    }
    __device__ size_t place(unsigned row) const
    {
        return at(row) / group() * s.heads + head(row);
    }

    __device__ void start(struct warp_rows<WIDTH> *own, const float *q,
                          const int32_t *chosen)
    {
        unsigned row = warp_query_row(),
                 chunk = static_cast<unsigned>(s.sizes.chunk);
        unsigned from = first / group(), last = at(rows) / group();
        begin = UINT32_MAX;
        end = 0;
        for (unsigned i = from; i <= last; i++) {
            unsigned its = static_cast<unsigned>(s.window(i));
            unsigned its_end = static_cast<unsigned>(s.position[i]) + 1;
            begin = its < begin ? its : begin;
            end = its_end > end ? its_end : end;
        }
        for (unsigned e = 0; e < 2; e++) {
            unsigned i = at(warp_row(e)) / group();
            row_from[e] = static_cast<unsigned>(s.window(i));
            row_to[e] = static_cast<unsigned>(s.position[i]) + 1;
            row_list[e] = i - from;
        }
        window = worker;
        windows = (end - begin + WARP_SLOTS - 1) / WARP_SLOTS;
        used = chunk;
        id = 0;
        members = 0;
        chunks.top_k = static_cast<unsigned>(s.sizes.top_k);
        chunks.lists = last - from + 1;
        chunks.workers = workers;
        unsigned list = chunks.lists == 1 ? 0 : lane_of_thread() % WARP_ROWS;
        chunks.chosen =
            list < chunks.lists
                ? chosen + ((from + list) * s.sizes.hkv + kv) * s.sizes.top_k
                : nullptr;
        chunks.begin((worker + workers - windows % workers) % workers);
        warp_begin(own, row < rows ? q + place(row) * s.d : nullptr, s.d);
        if (WHOLE)
            read_query(s.qhat + place(row) * s.d);
    }

    /* The lane's part of rows of d. */
    __device__ void read_query(const float *row)
    {
        unsigned t = lane_of_thread() % 4 * 8;
#pragma unroll
        for (unsigned i = 0; i < 2 * PIECES; i++) {
            float4 four = read_four(row, i / 2 * 32 + t + i % 2 * 4, s.d);
            float *to = qhat[i / 2] + i % 2 * 4;
            to[0] = four.x;
            to[1] = four.y;
            to[2] = four.z;
            to[3] = four.w;
        }
    }
    __device__ void read_summary(const uint16_t *row)
    {
        unsigned t = lane_of_thread() % 4 * 8, d = static_cast<unsigned>(s.d);
        if (d == WIDTH && aligned_16(row)) {
#pragma unroll
            for (unsigned i = 0; i < PIECES; i++)
                key[i] = *reinterpret_cast<const uint4 *>(row + i * 32 + t);
        } else {
#pragma unroll
            for (unsigned i = 0; i < PIECES; i++)
                key[i] = odd_piece(row, i * 32 + t, d);
        }
    }

    __device__ void find(struct warp_tile *t)
    {
        unsigned to = end;
        t->mark = WINDOW;
        t->first = begin + window * WARP_SLOTS;
        if (window < windows) {
            window += workers;
        } else {
            unsigned chunk = static_cast<unsigned>(s.sizes.chunk);
            if (used >= chunk) {
                id = chunks.next(&members);
                used = 0;
            }
            bool some = id != LIST_END;
            unsigned its = some ? static_cast<unsigned>(id) : 0;
            t->mark = members;
            t->first = its * chunk + used;
            to = some ? its * chunk + chunk : t->first;
            used += WARP_SLOTS;
            if (WHOLE && some) {
                t->summary = s.summaries.keys[its];
                t->bias = s.summaries.biases[its];
            }
        }
        t->count = to - t->first < WARP_SLOTS ? to - t->first : WARP_SLOTS;
        for (unsigned half = 0; half < 2; half++) {
            unsigned j = half * WARP + lane_of_thread();
            t->gone[half] =
                s.landmark && j < t->count ? s.landmark[t->first + j] : 0;
        }
    }
    __device__ void ask(const struct warp_tile &t)
    {
        if (!WHOLE || t.mark == WINDOW)
            return;
        unsigned its = head(warp_query_row());
        read_summary(
            reinterpret_cast<const uint16_t *>(t.summary + s.summaries.key_at) +
            its * s.d);
        bias = t.bias[s.summaries.bias_at + its];
    }
    __device__ void take(struct warp_rows<WIDTH> *own,
                         struct warp_scores *scores,
                         const struct warp_tile &t) const
    {
        const float scale = s.scale * LOG2_E;
        uint64_t seen[2];
        for (unsigned e = 0; e < 2; e++)
            seen[e] = t.there &
                      (t.mark == WINDOW
                           ? tensor_bits(t.first, row_from[e], row_to[e])
                           : -static_cast<uint64_t>(t.mark >> row_list[e] & 1));
        warp_hide(scores, seen);
        if (!WHOLE || t.mark == WINDOW) {
            warp_weigh(own, scores, scale);
            return;
        }
        float sum = 0, its[2];
#pragma unroll
        for (unsigned i = 0; i < PIECES; i++)
            sum = dot_piece<uint16_t>(key[i], qhat[i], sum);
        sum = (quad_sum(sum) * s.scale + bias) * LOG2_E;
        for (unsigned e = 0; e < 2; e++)
            its[e] =
                __shfl_sync(WHOLE_WARP, sum, static_cast<int>(warp_row(e) * 4));
        warp_weigh_whole(own, scores, scale, its);
    }
};

#endif
