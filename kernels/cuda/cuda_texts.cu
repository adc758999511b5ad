/* A layer's attention of texts in bf16: what products make of the rows, norms and
 * positions of heads, attention of each text to itself, and what the last product
 * reads.  Nothing of it is kept, so that it is rounded between the products as
 * their own rows are.
 *
 * Attention: a block of four warps has 64 queries of a head, 16 to a warp, and goes
 * through the text's slots 64 at a time.  Keys and values come by copies that run on
 * behind the program, a tile ahead.  Products are of one term, sums are f32, softmax
 * is made as it goes (Milakov and Gimelshein 2018), with exponents of 2. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_fragments.h"
#include "kernels/cuda/cuda_reads.h"
#include "kernels/ref/ref_texts.h"

#include <cmath>

constexpr unsigned THREADS = 128, ROWS = 64, SLOTS = 64;
constexpr unsigned HEAD_THREADS = 256;
constexpr float LOG2_E = 1.44269504088896341f;

/* ---- Heads ---- */

/* Queries or keys [m, h, d], which become what attention reads. */
struct rounded_heads {
    uint16_t *x;
    size_t step; /* from row to row */
    const float *bias, *norm; /* [h, d], [d]; nullptr: none */
    float eps, factor;
    unsigned h;
    bool turned;
};

struct rounded_pair {
    struct rounded_heads of[2];
    const float *angles;
    unsigned m, d;
};

static __device__ inline void widen_eight(float *to, const uint16_t *from)
{
    const uint4 eight = *reinterpret_cast<const uint4 *>(from);
    const unsigned word[] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        to[2 * i] = __uint_as_float(word[i] << 16);
        to[2 * i + 1] = __uint_as_float(word[i] & 0xFFFF0000u);
    }
}

static __device__ inline void round_eight(uint16_t *to, const float *from)
{
    *reinterpret_cast<uint4 *>(to) = {
        pack_bf16(from[0], from[1]), pack_bf16(from[2], from[3]),
        pack_bf16(from[4], from[5]), pack_bf16(from[6], from[7])};
}

static __device__ inline void read_eight(float *to, const float *from)
{
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        const float4 four = *reinterpret_cast<const float4 *>(from + 4 * i);
        to[4 * i] = four.x;
        to[4 * i + 1] = four.y;
        to[4 * i + 2] = four.z;
        to[4 * i + 3] = four.w;
    }
}

/* Numbers j .. j + 7 of a vector are added, or multiplied by. */
static __device__ inline void add_eight(float *x, const float *of)
{
    float by[8];
    read_eight(by, of);
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        x[i] += by[i];
}
static __device__ inline void scale_eight(float *x, const float *of, float all)
{
    float by[8];
    read_eight(by, of);
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        x[i] *= by[i] * all;
}

/* The sum over `each` neighbouring lanes, a power of two. */
static __device__ inline float sum_among(float value, unsigned each)
{
    for (unsigned step = each / 2; step; step /= 2)
        value += __shfl_xor_sync(WHOLE_WARP, value, static_cast<int>(step));
    return value;
}

/* d / 16 threads to a head, each of which has eight numbers and what they are turned
 * with. */
static __global__ void __launch_bounds__(HEAD_THREADS)
    finish_rounded(const struct rounded_pair a)
{
    const unsigned each = a.d / 16, half = a.d / 2;
    const unsigned heads = a.of[0].h + a.of[1].h;
    const unsigned units = HEAD_THREADS / each;
    const unsigned unit = blockIdx.x * units + threadIdx.x / each;
    const unsigned row = unit / heads;
    unsigned head = unit % heads;
    const struct rounded_heads z = head >= a.of[0].h ? a.of[1] : a.of[0];
    const bool there = row < a.m;
    const unsigned j = threadIdx.x % each * 8;
    head -= head >= a.of[0].h ? a.of[0].h : 0;
    uint16_t *x = z.x + row * z.step + head * a.d + j;
    float first[8] = {}, second[8] = {}, scale = 1;
    if (there) {
        widen_eight(first, x);
        widen_eight(second, x + half);
        if (z.bias) {
            add_eight(first, z.bias + head * a.d + j);
            add_eight(second, z.bias + head * a.d + j + half);
        }
    }
    float square = 0;
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        square += first[i] * first[i] + second[i] * second[i];
    square = sum_among(square, each); /* all lanes come */
    if (!there)
        return;
    if (z.norm) {
        scale = rsqrtf(square / static_cast<float>(a.d) + z.eps);
        scale_eight(first, z.norm + j, scale);
        scale_eight(second, z.norm + j + half, scale);
    }
    float c[8] = {1, 1, 1, 1, 1, 1, 1, 1}, s[8] = {};
    if (z.turned) {
        read_eight(c, a.angles + size_t{row} * a.d + j);
        read_eight(s, a.angles + size_t{row} * a.d + j + half);
    }
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        const float p = first[i], q = second[i];
        first[i] = (p * c[i] - q * s[i]) * z.factor;
        second[i] = (q * c[i] + p * s[i]) * z.factor;
    }
    round_eight(x, first);
    round_eight(x + half, second);
}

/* ---- Attention ---- */

struct rounded_texts {
    static constexpr size_t MAX = 512; /* they go with the launch */
    const uint16_t *q, *k, *v;         /* [m, hq, d], [m, hkv, d] */
    size_t q_step, k_step, v_step;     /* from row to row */
    const float *q_bias, *v_bias;      /* nullptr: none */
    uint16_t *out;                     /* [m, hq, d] */
    unsigned hq, group, d, window;
    bool causal;
    float scale;
    uint32_t start[MAX + 1];

    __device__ inline unsigned from(unsigned i) const
    {
        const unsigned most = causal ? window - 1 : window;
        return window && i > most ? i - most : 0;
    }
    __device__ inline unsigned to(unsigned i, unsigned count) const
    {
        if (causal)
            return i + 1;
        return window && i + window < count ? i + window + 1 : count;
    }
};

/* A slot's 16 bytes lie so that those of eight neighbouring slots are in different
 * banks. */
template <unsigned WIDTH>
static __device__ __forceinline__ unsigned text_place(unsigned slot,
                                                      unsigned column)
{
    constexpr unsigned PIECES = WIDTH / 8;
    const unsigned turn = PIECES < 8 ? slot / (8 / PIECES) % PIECES : slot % 8;
    return slot * WIDTH + (column / 8 ^ turn) * 8 + column % 8;
}

template <unsigned WIDTH> struct text_tile {
    uint16_t keys[2][SLOTS * WIDTH], values[2][SLOTS * WIDTH]; /* by turn & 1 */
};

/* Asks for slots [at, at + SLOTS) of `count` rows [d], `step` numbers apart; zeros
 * behind the last, and behind d. */
template <unsigned WIDTH>
static __device__ __forceinline__ void fetch_slots(uint16_t *to,
                                                   const uint16_t *from,
                                                   size_t step, unsigned at,
                                                   unsigned count, unsigned d)
{
    constexpr unsigned PIECES = WIDTH / 8;
#pragma unroll
    for (unsigned i = 0; i < SLOTS * PIECES / THREADS; i++) {
        const unsigned piece = i * THREADS + threadIdx.x;
        const unsigned slot = piece / PIECES, l = piece % PIECES * 8;
        uint16_t *place = to + text_place<WIDTH>(slot, l);
        if (at + slot < count && l < d)
            copy_16(place, from + (at + slot) * step + l);
        else
            *reinterpret_cast<uint4 *>(place) = {0, 0, 0, 0};
    }
}

/* What a thread holds of its warp's rows g and g + 8 (cuda_fragments.h). */
template <unsigned WIDTH> struct text_rows {
    unsigned q[WIDTH / 16][4];
    float sum[WIDTH / 8][4];
    float max[2], total[2]; /* total: of the lane's own slots */
};

/* Two neighbouring numbers of a query, with its bias. */
static __device__ inline unsigned two_of(const uint16_t *q, const float *bias)
{
    const unsigned two = *reinterpret_cast<const unsigned *>(q);
    return bias ? pack_bf16(__uint_as_float(two << 16) + bias[0],
                            __uint_as_float(two & 0xFFFF0000u) + bias[1])
                : two;
}

/* q nullptr: there is no such row. */
template <unsigned WIDTH>
static __device__ __forceinline__ void take_text_query(
    struct text_rows<WIDTH> *rows, unsigned half, const uint16_t *q,
    const float *bias, unsigned d)
{
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++) {
        const unsigned l = i * 8 + lane_of_thread() % 4 * 2;
        rows->q[i / 2][half + i % 2 * 2] =
            q && l < d ? two_of(q + l, bias ? bias + l : nullptr) : 0;
    }
}

template <unsigned WIDTH>
static __device__ __forceinline__ void score_text(
    float (*score)[4], const struct text_rows<WIDTH> &rows,
    const uint16_t *keys)
{
    const unsigned lane = lane_of_thread();
    const unsigned slot = lane / 16 * 8 + lane % 8, column = lane / 8 % 2 * 8;
#pragma unroll
    for (unsigned i = 0; i < SLOTS / 16; i++) {
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            score[2 * i][e] = score[2 * i + 1][e] = 0;
#pragma unroll
        for (unsigned k = 0; k < WIDTH / 16; k++) {
            unsigned b[4];
            read_matrices(
                b, keys + text_place<WIDTH>(slot + i * 16, column + k * 16));
            multiply_bf16(score[2 * i], rows.q[k], b);
            multiply_bf16(score[2 * i + 1], rows.q[k], b + 2);
        }
    }
}

/* What row `half` does not see of the tile at `at` becomes -infinity. */
static __device__ __forceinline__ void hide_slots(float (*score)[4],
                                                  unsigned half, unsigned at,
                                                  unsigned from, unsigned to)
{
#pragma unroll
    for (unsigned i = 0; i < SLOTS / 8; i++)
#pragma unroll
        for (unsigned e = 0; e < 2; e++) {
            const unsigned j = at + i * 8 + lane_of_thread() % 4 * 2 + e;
            if (j < from || j >= to)
                score[i][2 * half + e] = minus_infinity();
        }
}

/* Scores become shares of what the row has seen so far, which gets smaller. */
template <unsigned WIDTH>
static __device__ __forceinline__ void weigh_text(
    struct text_rows<WIDTH> *rows, float (*score)[4], unsigned half,
    float scale)
{
    float best = rows->max[half];
#pragma unroll
    for (unsigned i = 0; i < SLOTS / 8; i++)
        best = fmaxf(best, fmaxf(score[i][2 * half], score[i][2 * half + 1]));
    best = fmaxf(best, __shfl_xor_sync(WHOLE_WARP, best, 1));
    best = fmaxf(best, __shfl_xor_sync(WHOLE_WARP, best, 2));
    const float most = best == minus_infinity() ? 0 : best * scale;
    const float factor = exp2_near(rows->max[half] * scale - most);
    float total = rows->total[half] * factor;
#pragma unroll
    for (unsigned i = 0; i < SLOTS / 8; i++)
#pragma unroll
        for (unsigned e = 2 * half; e < 2 * half + 2; e++) {
            score[i][e] = exp2_near(score[i][e] * scale - most);
            total += score[i][e];
        }
    rows->max[half] = best;
    rows->total[half] = total;
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++) {
        rows->sum[i][2 * half] *= factor;
        rows->sum[i][2 * half + 1] *= factor;
    }
}

template <unsigned WIDTH>
static __device__ __forceinline__ void mix_text(struct text_rows<WIDTH> *rows,
                                                const float (*share)[4],
                                                const uint16_t *values)
{
    const unsigned lane = lane_of_thread();
    const unsigned slot = lane % 16, column = lane / 16 * 8;
#pragma unroll
    for (unsigned k = 0; k < SLOTS / 16; k++) {
        const float *low = share[2 * k], *high = share[2 * k + 1];
        const unsigned a[4] = {
            pack_bf16(low[0], low[1]), pack_bf16(low[2], low[3]),
            pack_bf16(high[0], high[1]), pack_bf16(high[2], high[3])};
#pragma unroll
        for (unsigned i = 0; i < WIDTH / 16; i++) {
            unsigned b[4];
            read_turned(
                b, values + text_place<WIDTH>(slot + k * 16, column + i * 16));
            multiply_bf16(rows->sum[2 * i], a, b);
            multiply_bf16(rows->sum[2 * i + 1], a, b + 2);
        }
    }
}

/* Writes row `half`; out nullptr: there is none.  All lanes come. */
template <unsigned WIDTH>
static __device__ __forceinline__ void leave_text(
    const struct text_rows<WIDTH> &rows, unsigned half, uint16_t *out,
    const float *bias, unsigned d)
{
    float total = rows.total[half];
    total += __shfl_xor_sync(WHOLE_WARP, total, 1);
    total += __shfl_xor_sync(WHOLE_WARP, total, 2);
    const float factor = 1 / total;
    if (!out)
        return;
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++) {
        const unsigned l = i * 8 + lane_of_thread() % 4 * 2;
        const float *two = &rows.sum[i][2 * half];
        if (l < d)
            *reinterpret_cast<unsigned *>(out + l) =
                pack_bf16(two[0] * factor + (bias ? bias[l] : 0),
                          two[1] * factor + (bias ? bias[l + 1] : 0));
    }
}

/* grid: tiles of ROWS queries, heads, texts. */
template <unsigned WIDTH>
static __global__ void __launch_bounds__(THREADS, WIDTH > 64   ? 2
                                        : WIDTH > 32 ? 3
                                                     : 4)
    attend_rounded(const struct rounded_texts s)
{
    auto *t = static_cast<struct text_tile<WIDTH> *>(cuda_shared());
    const unsigned begin = s.start[blockIdx.z];
    const unsigned count = s.start[blockIdx.z + 1] - begin;
    const unsigned first = blockIdx.x * ROWS, head = blockIdx.y;
    const unsigned own = first + warp_of_thread() * 16 + lane_of_thread() / 4;
    const unsigned kv = head / s.group * s.d;
    const uint16_t *keys = s.k + begin * s.k_step + kv;
    const uint16_t *values = s.v + begin * s.v_step + kv;
    struct text_rows<WIDTH> rows;
    unsigned from[2], to[2];
    if (first >= count)
        return;
    const unsigned last = first + ROWS < count ? first + ROWS - 1 : count - 1;
    const unsigned end = s.to(last, count);
    unsigned at = s.from(first) / SLOTS * SLOTS;
    fetch_slots<WIDTH>(t->keys[0], keys, s.k_step, at, count, s.d);
    fetch_slots<WIDTH>(t->values[0], values, s.v_step, at, count, s.d);
    end_copies();
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        const unsigned i = own + 8 * half;
        const bool is = i < count;
        const size_t place = (begin + size_t{i}) * s.q_step + head * s.d;
        from[half] = is ? s.from(i) : 0;
        to[half] = is ? s.to(i, count) : end;
        take_text_query(&rows, half, is ? s.q + place : nullptr,
                        s.q_bias ? s.q_bias + head * s.d : nullptr, s.d);
        rows.max[half] = minus_infinity();
        rows.total[half] = 0;
    }
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++)
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            rows.sum[i][e] = 0;
    for (unsigned turn = 0; at < end; turn++, at += SLOTS) {
        const unsigned side = turn & 1;
        float score[SLOTS / 8][4];
        if (at + SLOTS < end) {
            fetch_slots<WIDTH>(t->keys[side ^ 1], keys, s.k_step, at + SLOTS,
                               count, s.d);
            fetch_slots<WIDTH>(t->values[side ^ 1], values, s.v_step,
                               at + SLOTS, count, s.d);
        }
        end_copies();
        wait_copies<1>();
        __syncthreads(); /* the tile is there */
        score_text(score, rows, t->keys[side]);
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            if (at < from[half] || at + SLOTS > to[half])
                hide_slots(score, half, at, from[half], to[half]);
            weigh_text(&rows, score, half, s.scale);
        }
        mix_text(&rows, score, t->values[side]);
        __syncthreads(); /* nobody reads it any more */
    }
    for (unsigned half = 0; half < 2; half++) {
        const unsigned i = own + 8 * half;
        leave_text(rows, half,
                   i < count
                       ? s.out + ((begin + size_t{i}) * s.hq + head) * s.d
                       : nullptr,
                   s.v_bias ? s.v_bias + kv : nullptr, s.d);
    }
}

/* ---- Starting ---- */

static const struct kernels *operations; /* the table that these are of */

static bool power_of_two(size_t x)
{
    return x && !(x & (x - 1));
}

/* Heads that nothing is done to stay as the product left them. */
static bool are_changed(const struct kernel_heads &heads)
{
    return heads.norm || heads.turned || heads.factor != 1;
}

static bool lie(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % 16 == 0;
}

static bool fit(const struct kernel_text_part *part, size_t m)
{
    const struct kernel_product products[] = {part->q, part->k, part->v,
                                              part->out};
    const bool changed = are_changed(part->q_head) || are_changed(part->k_head);
    bool all = cuda_are_rounded(products, 4, m) && part->d % 8 == 0 &&
               part->d <= 128 &&
               m * (part->q_head.h + part->k_head.h) <= INT32_MAX &&
               part->window <= INT32_MAX && lie(part->angles) &&
               (!changed ||
                (part->d % 16 == 0 && power_of_two(part->d / 16)));
    for (unsigned i = 0; i < 3; i++)
        all = all && lie(products[i].out) && lie(products[i].bias);
    return all && lie(part->mixed) && lie(part->q_head.norm) &&
           lie(part->k_head.norm);
}

/* What a product left, in bf16, where its f32 would be. */
static uint16_t *narrow_of(float *out)
{
    return reinterpret_cast<uint16_t *>(out);
}

/* Where queries, keys and values are in bf16. */
struct narrow_rows {
    uint16_t *of[3];
    size_t step[3]; /* from row to row */
};

static struct rounded_heads heads_of(const struct kernel_heads &heads,
                                     const struct kernel_product &p,
                                     const struct narrow_rows &at,
                                     unsigned which)
{
    return {at.of[which], at.step[which], p.bias,
            heads.norm,   heads.eps,      heads.factor,
            static_cast<unsigned>(heads.h), heads.turned};
}

/* *ret_done: biases of queries are in them then. */
static int finish(struct kernel_run *run, const struct kernel_text_part *part,
                  const struct narrow_rows &at, size_t m, bool *ret_done)
{
    *ret_done = are_changed(part->q_head) || are_changed(part->k_head);
    if (!*ret_done)
        return KERNEL_OK;
    const size_t units = HEAD_THREADS / (part->d / 16);
    const struct rounded_pair both = {
        {heads_of(part->q_head, part->q, at, 0),
         heads_of(part->k_head, part->k, at, 1)},
        part->angles,
        static_cast<unsigned>(m),
        static_cast<unsigned>(part->d)};
    return cuda_launch(run, finish_rounded,
                       {cuda_ceil(m * (part->q_head.h + part->k_head.h), units),
                        1, 1, HEAD_THREADS},
                       both);
}

template <unsigned WIDTH>
static int attend_by(struct kernel_run *run, const struct rounded_texts &s,
                     size_t texts, size_t longest)
{
    return cuda_launch(run, attend_rounded<WIDTH>,
                       {cuda_ceil(longest, ROWS), s.hq, texts, THREADS,
                        sizeof(struct text_tile<WIDTH>)},
                       s);
}

/* A key's bias adds as much to all scores of a query, which is nothing to their
 * softmax; a value's is added to what comes out. */
static int attend(struct kernel_run *run, const struct kernel_text_part *part,
                  const struct narrow_rows &at, bool finished)
{
    struct rounded_texts s = {};
    int code = KERNEL_OK;
    s.q = at.of[0];
    s.k = at.of[1];
    s.v = at.of[2];
    s.q_step = at.step[0];
    s.k_step = at.step[1];
    s.v_step = at.step[2];
    s.q_bias = finished ? nullptr : part->q.bias;
    s.v_bias = part->v.bias;
    s.out = narrow_of(part->mixed);
    s.hq = static_cast<unsigned>(part->q_head.h);
    s.group = s.hq / static_cast<unsigned>(part->hkv);
    s.d = static_cast<unsigned>(part->d);
    s.window = static_cast<unsigned>(part->window);
    s.causal = part->causal;
    s.scale = LOG2_E * static_cast<float>(
                           1 / std::sqrt(static_cast<double>(part->d)));
    for (size_t first = 0, some; first < part->texts && !code; first += some) {
        size_t longest = 0;
        some = part->texts - first < rounded_texts::MAX ? part->texts - first
                                                        : rounded_texts::MAX;
        for (size_t t = 0; t <= some; t++) {
            s.start[t] = static_cast<uint32_t>(part->host_start[first + t]);
            if (t && s.start[t] - s.start[t - 1] > longest)
                longest = s.start[t] - s.start[t - 1];
        }
        code = s.d <= 32   ? attend_by<32>(run, s, some, longest)
               : s.d <= 64 ? attend_by<64>(run, s, some, longest)
                           : attend_by<128>(run, s, some, longest);
    }
    return code;
}

/* One product where the weights are joined, else three. */
static int multiply(struct kernel_run *run, const struct kernel_text_part *part,
                    const uint16_t *a, cuda_workspace *room, size_t m,
                    struct narrow_rows *ret)
{
    const struct kernel_product products[] = {part->q, part->k, part->v};
    size_t all = 0, begin = 0;
    int code = KERNEL_OK;
    for (unsigned i = 0; i < 3; i++)
        all += products[i].w->n;
    uint16_t *joined = cuda_are_joined(products, 3)
                           ? room->take<uint16_t>(m, all)
                           : nullptr;
    for (unsigned i = 0; i < 3; i++) {
        ret->of[i] = joined ? joined + begin : narrow_of(products[i].out);
        ret->step[i] = joined ? all : products[i].w->n;
        begin += products[i].w->n;
    }
    if (joined)
        return cuda_matmul_joined(run, joined, products, 3, a, m);
    for (unsigned i = 0; i < 3 && !code; i++)
        code = cuda_matmul_narrow(run, products[i], a, m);
    return code;
}

static int attend_narrow(struct kernel_run *run,
                         const struct kernel_text_part *part,
                         const struct kernel_rows *rows, size_t m)
{
    cuda_workspace room(run), joined(run);
    struct narrow_rows at;
    bool finished;
    int code;
    const uint16_t *a =
        cuda_rows_rounded(run, &room, rows, m, part->q.w->k, &code);
    if (!code)
        code = multiply(run, part, a, &joined, m, &at);
    if (!code)
        code = finish(run, part, at, m, &finished);
    if (!code)
        code = attend(run, part, at, finished);
    return code ? code
                : cuda_matmul_rounded(run, part->out, narrow_of(part->mixed),
                                      m);
}

static int attend_texts(struct kernel_run *run,
                        const struct kernel_text_part *part,
                        const struct kernel_rows *rows, size_t m)
{
    int code = KERNEL_UNSUPPORTED;
    if (!m)
        return KERNEL_OK;
    if (fit(part, m))
        code = attend_narrow(run, part, rows, m);
    return code == KERNEL_UNSUPPORTED
               ? ref_attend_texts(operations, run, part, rows, m)
               : code;
}

void cuda_fill_texts(struct kernels *table)
{
    operations = table;
    table->attend_texts = attend_texts;
}
