/* Products of few rows with weights: our own kernels, which keep f32 activations, or,
 * with a weight in blocks, 15 bits of them.  A decode step is bound by the weights'
 * bytes, which are read once for four rows. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_bend.h"
#include "kernels/cuda/cuda_rounded.h"
#include "kernels/cuda/cuda_staged.h"

constexpr unsigned THREADS = 256, MAX_THREADS = 512;
constexpr unsigned MIN_THREADS = 128; /* of weights in blocks */

/* Blocks that shall fit a processor, so many that their warps have some 96 KB of weights
 * on the way. */
template <unsigned ROWS> constexpr unsigned STAGING_BLOCKS = ROWS == 1 ? 3 : 2;

/* ---- Numbers ---- */

/* `share` warps make two neighbouring outputs of up to ROWS rows, of the weight whose
 * blocks of threads they are among. */
template <unsigned ROWS, bool NORMED>
static __global__ void __launch_bounds__(THREADS, STAGING_BLOCKS<ROWS>)
    few_rows(const struct factors factors, const struct factor_rows a)
{
    let_later_begin();
    unsigned which = 0;
    while (blockIdx.x >= factors.of[which].blocks)
        which++;
    const struct factor &f = factors.of[which];
    const unsigned begin = which ? factors.of[which - 1].blocks : 0;
    const unsigned pairs = THREADS / WARP / f.share, warp = warp_of_thread();
    const size_t j =
        2 * ((blockIdx.x - begin) * size_t{pairs} + warp / f.share);
    const size_t first = blockIdx.y * size_t{ROWS};
    const unsigned rows =
        static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    const size_t size = a.k * number_bytes(f.type);
    const auto *w = static_cast<const unsigned char *>(f.w) + j * size;
    const struct weight_rows of = {{w, j + 1 < f.n ? w + size : w},
                                   {f.type, f.type},
                                   f.type == KERNEL_BF16 && a.k % PIECE == 0};
    const unsigned r = lane_of_thread() / 2, i = lane_of_thread() % 2;
    const bool own = warp % f.share == 0 && r < rows && j + i < f.n;
    const size_t at = (first + r) * f.n + j + i;
    const float more = own && f.bias ? f.bias[j + i] : 0;
    const float sum = multiply_staged<ROWS, NORMED>(
        of, j < f.n, a, a.x + first * a.k, rows, f.share,
        own && f.plus ? f.plus + at : nullptr);
    if (own)
        f.out[at] = sum + more;
}

/* The same of two weights, gate and up, whose outputs become one. */
template <unsigned ROWS, bool NORMED>
static __global__ void __launch_bounds__(THREADS, STAGING_BLOCKS<ROWS>)
    few_gated(const struct factor_pair both, int bend,
              const struct factor_rows a)
{
    let_later_begin();
    const struct factor &gate = both.of[0], &up = both.of[1];
    const unsigned each = THREADS / WARP / gate.share;
    const unsigned warp = warp_of_thread();
    const size_t j = blockIdx.x * size_t{each} + warp / gate.share;
    const size_t first = blockIdx.y * size_t{ROWS};
    const unsigned rows =
        static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    const struct weight_rows of = {
        {static_cast<const unsigned char *>(gate.w) +
             j * a.k * number_bytes(gate.type),
         static_cast<const unsigned char *>(up.w) +
             j * a.k * number_bytes(up.type)},
        {gate.type, up.type},
        gate.type == KERNEL_BF16 && up.type == KERNEL_BF16 && a.k % PIECE == 0};
    const float *bias = lane_of_thread() % 2 ? up.bias : gate.bias;
    const float more = bias && j < gate.n ? bias[j] : 0;
    const float sum =
        multiply_staged<ROWS, NORMED>(of, j < gate.n, a, a.x + first * a.k,
                                      rows, gate.share) +
        more;
    const float other = __shfl_xor_sync(WHOLE_WARP, sum, 1);
    const unsigned r = lane_of_thread() / 2;
    if (warp % gate.share == 0 && lane_of_thread() % 2 == 0 && r < rows &&
        j < gate.n)
        gate.out[(first + r) * gate.n + j] = bend_value(sum, bend) * other;
}

/* ---- Blocks ---- */

/* sum [COUNT, ROWS] = `rows` rows from `first` on times row j of COUNT weights in blocks,
 * in all lanes.  All threads of the block come, also of outputs that are not there. */
template <unsigned COUNT, unsigned ROWS, bool NORMED>
static __device__ inline void multiply_blocks(float (*sum)[ROWS],
                                              const struct factor_rows &a,
                                              const struct factor *f, size_t j,
                                              size_t first, unsigned rows)
{
    constexpr unsigned AT_ONCE = ROUNDED_AT_ONCE<ROWS>;
    const unsigned k = static_cast<unsigned>(a.k);
    auto *squares = static_cast<float *>(cuda_shared()); /* [ROWS, MAX_WARPS] */
    const struct rounded rounded = rounded_at(squares + ROWS * MAX_WARPS, ROWS,
                                              rounded_groups(a.k, AT_ONCE));
#pragma unroll
    for (unsigned i = 0; i < COUNT * ROWS; i++)
        sum[i / ROWS][i % ROWS] = 0;
#pragma unroll
    for (unsigned i = 0; i < COUNT; i++)
        if (j < f[i].n)
            prefetch_row(block_row(f[i].w, f[i].type, j, k),
                         block_row_bytes(f[i].type, k));
    wait_for_earlier();
    for (unsigned begin = 0; begin < k; begin += AT_ONCE) {
        const unsigned count = k - begin < AT_ONCE ? k - begin : AT_ONCE;
        if (begin)
            __syncthreads();
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            if (r < rows) {
                float square = round_row<NORMED>(
                    rounded, r, a.x + (first + r) * a.k + begin,
                    NORMED ? a.norm + begin : nullptr, count);
                float *at = squares + r * MAX_WARPS + warp_of_thread();
                if (NORMED && !lane_of_thread())
                    *at = begin ? *at + square : square;
            }
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            if (j < f[i].n) {
                const struct add_block_products<ROWS> products = {
                    sum[i], block_row(f[i].w, f[i].type, j, k), k, begin, count,
                        rounded, rows
                };
                with_block_type(f[i].type, products);
            }
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        float by = 1;
        if constexpr (NORMED) {
            float square = 0;
            for (unsigned i = 0; i < blockDim.x / WARP && r < rows; i++)
                square += squares[r * MAX_WARPS + i];
            by = rsqrtf(square / static_cast<float>(a.k) + a.eps);
        }
#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            sum[i][r] = warp_sum(sum[i][r]) * by;
    }
}

/* A warp makes one output of up to ROWS rows, of the weight whose blocks of threads
 * it is among. */
template <unsigned ROWS, bool NORMED>
static __global__ void __launch_bounds__(MAX_THREADS, ROWS == 1 ? 2 : 0)
    block_rows(const struct factors factors, const struct factor_rows a)
{
    let_later_begin();
    unsigned which = 0;
    while (blockIdx.x >= factors.of[which].blocks)
        which++;
    unsigned begin = which ? factors.of[which - 1].blocks : 0;
    const size_t outputs = blockDim.x / WARP;
    size_t j = (blockIdx.x - begin) * outputs + warp_of_thread();
    size_t first = blockIdx.y * size_t{ROWS};
    unsigned rows =
        static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    float sum[1][ROWS];
    multiply_blocks<1, ROWS, NORMED>(sum, a, &factors.of[which], j, first,
                                     rows);
    const struct factor f = factors.of[which];
    if (j >= f.n)
        return;
    const float more = f.bias ? f.bias[j] : 0;
    size_t at = first * f.n + j;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++, at += f.n)
        if (!lane_of_thread() && r < rows)
            f.out[at] = (f.plus ? f.plus[at] + sum[0][r] : sum[0][r]) + more;
}

/* The same of two weights, gate and up, whose outputs become one. */
template <unsigned ROWS, bool NORMED>
static __global__ void __launch_bounds__(MAX_THREADS, ROWS == 1 ? 2 : 0)
    block_gated(const struct factor_pair both, int bend,
                const struct factor_rows a)
{
    let_later_begin();
    const struct factor &gate = both.of[0], &up = both.of[1];
    const size_t outputs = blockDim.x / WARP;
    size_t j = blockIdx.x * outputs + warp_of_thread();
    size_t first = blockIdx.y * size_t{ROWS};
    unsigned rows =
        static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    float sum[2][ROWS];
    multiply_blocks<2, ROWS, NORMED>(sum, a, both.of, j, first, rows);
    if (j >= gate.n)
        return;
    const float more = gate.bias ? gate.bias[j] : 0;
    const float rest = up.bias ? up.bias[j] : 0;
    size_t at = first * gate.n + j;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++, at += gate.n)
        if (!lane_of_thread() && r < rows)
            gate.out[at] =
                bend_value(sum[0][r] + more, bend) * (sum[1][r] + rest);
}

/* ---- Launches ---- */

/* Warps that share the k of `count` pairs: as many as the processors hold, as long as
 * each lane has a piece.  Of the weight alone, so that products come out the same
 * whatever is launched beside. */
static unsigned share_of(size_t count, size_t k)
{
    const size_t warps =
        cuda_processors() * size_t{STAGING_BLOCKS<1>} * (THREADS / WARP);
    unsigned share = 1;
    while (share < MAX_SHARE && count * share * 2 <= warps &&
           k / PIECE / WARP >= share * 2)
        share *= 2;
    return share;
}

/* Threads of a block that is to round its rows: the more, the fewer times that is
 * done, as long as there is a block for each processor. */
static unsigned rounding_threads(size_t outputs)
{
    unsigned threads = MAX_THREADS;
    while (threads > MIN_THREADS &&
           outputs / (threads / WARP) < cuda_processors())
        threads /= 2;
    return threads;
}

template <unsigned ROWS> static size_t rounding_room(size_t k)
{
    return sizeof(float) * ROWS * MAX_WARPS +
           rounded_bytes(ROWS, rounded_groups(k, ROUNDED_AT_ONCE<ROWS>));
}

/* How one launch does its products: `outputs`, of the blocks, by a block of `threads`. */
struct few_way {
    unsigned threads;
    size_t shared;
};

template <unsigned ROWS, bool BLOCKS>
static struct few_way way_of(size_t outputs, size_t k)
{
    if (BLOCKS)
        return {rounding_threads(outputs), rounding_room<ROWS>(k)};
    return {THREADS, staged_bytes<ROWS>(k)};
}

/* Says how rows are multiplied by the product's weight. */
static struct factor factor_of(const struct kernel_product &p)
{
    struct factor f = {};
    f.out = p.out;
    f.w = p.w->device;
    f.bias = p.bias;
    f.plus = p.plus;
    f.n = p.w->n;
    f.type = p.w->type;
    f.share = 1;
    return f;
}

static struct factor_rows rows_of(const struct kernel_rows &a, size_t m,
                                  size_t k)
{
    return {a.x, a.norm, a.eps, m, k};
}

/* Goes on behind the rows that one launch took. */
static void skip_rows(struct factor *f, size_t rows)
{
    f->out += rows * f->n;
    f->plus += f->plus ? rows * f->n : 0;
}

template <unsigned ROWS, bool BLOCKS>
static int few_by(struct kernel_run *run, struct factors factors, size_t count,
                  const struct factor_rows &all)
{
    constexpr size_t max = CUDA_MAX_ROWS * ROWS;
    void (*const kernel)(struct factors, struct factor_rows) =
        BLOCKS     ? all.norm ? block_rows<ROWS, true> : block_rows<ROWS, false>
            : all.norm ? few_rows<ROWS, true>
                   : few_rows<ROWS, false>;
    size_t blocks = 0, outputs = 0;
    int code = KERNEL_OK;
    for (size_t i = 0; i < count; i++)
        outputs += factors.of[i].n;
    const struct few_way way = way_of<ROWS, BLOCKS>(outputs, all.k);
    for (size_t i = 0; i < count; i++) {
        struct factor *f = &factors.of[i];
        const size_t units = BLOCKS ? f->n : cuda_ceil(f->n, 2);
        f->share = BLOCKS ? 1 : share_of(units, all.k);
        blocks += cuda_ceil(units, way.threads / WARP / f->share);
        if (blocks > CUDA_MAX_BLOCKS)
            return KERNEL_UNSUPPORTED;
        f->blocks = static_cast<unsigned>(blocks);
    }
    for (size_t at = 0; !code && at < all.m; at += max) {
        struct factor_rows a = all;
        a.m = all.m - at < max ? all.m - at : max;
        a.x += at * all.k;
        code = cuda_launch(
            run, kernel,
            {blocks, cuda_ceil(a.m, ROWS), 1, way.threads, way.shared, true},
            factors, a);
        for (size_t i = 0; i < count; i++)
            skip_rows(&factors.of[i], a.m);
    }
    return code;
}

template <unsigned ROWS, bool BLOCKS>
static int gated_by(struct kernel_run *run, const struct kernel_gate *gate,
                    const struct factor_rows &a)
{
    void (*const kernel)(struct factor_pair, int, struct factor_rows) =
        BLOCKS   ? a.norm ? block_gated<ROWS, true> : block_gated<ROWS, false>
          : a.norm ? few_gated<ROWS, true>
                 : few_gated<ROWS, false>;
    struct factor_pair both = {{factor_of(gate->gate), factor_of(gate->up)}};
    const size_t n = both.of[0].n;
    const unsigned share = BLOCKS ? 1 : share_of(n, a.k);
    const struct few_way way = way_of<ROWS, BLOCKS>(n, a.k);
    both.of[0].share = share;
    return cuda_launch(run, kernel,
                       {cuda_ceil(n, way.threads / WARP / share),
                        cuda_ceil(a.m, ROWS), 1, way.threads, way.shared, true},
                       both, static_cast<int>(gate->bend), a);
}

/* One launch, but where some weights are in blocks and others not. */
int cuda_matmuls_few(struct kernel_run *run,
                     const struct kernel_product *products, size_t count,
                     const struct kernel_rows *rows, size_t m)
{
    const struct factor_rows a = rows_of(*rows, m, products[0].w->k);
    struct factors of[2] = {};
    size_t counts[2] = {};
    int code = KERNEL_OK;
    for (size_t i = 0; i < count; i++) {
        const bool blocks = are_blocks(products[i].w->type);
        of[blocks].of[counts[blocks]++] = factor_of(products[i]);
    }
    if (counts[0])
        code = m == 1 ? few_by<1, false>(run, of[0], counts[0], a)
                      : few_by<4, false>(run, of[0], counts[0], a);
    if (counts[1] && !code)
        code = m == 1 ? few_by<1, true>(run, of[1], counts[1], a)
                      : few_by<4, true>(run, of[1], counts[1], a);
    return code;
}

int cuda_gated_few(struct kernel_run *run, const struct kernel_gate *gate,
                   const struct kernel_rows *rows, size_t m)
{
    const struct factor_rows a = rows_of(*rows, m, gate->gate.w->k);
    const bool blocks = are_blocks(gate->gate.w->type);
    if (blocks != are_blocks(gate->up.w->type))
        return KERNEL_UNSUPPORTED;
    if (blocks)
        return m == 1 ? gated_by<1, true>(run, gate, a)
                      : gated_by<4, true>(run, gate, a);
    return m == 1 ? gated_by<1, false>(run, gate, a)
                  : gated_by<4, false>(run, gate, a);
}
