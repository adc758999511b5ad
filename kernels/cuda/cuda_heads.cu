/* Heads on their way to attention: norms, rotary positions, and keys and values in
 * their slots. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"

#include <cstring>

constexpr unsigned THREADS = 256;

/* ---- Angles: a block for each row ---- */

/* What comes from the host goes with the launch where it is little, as in a
 * decode step: a copy would wait for what was asked for before. */
struct turns {
    static constexpr size_t MAX_ROWS = 64, MAX_PAIRS = 128;
    const int32_t *position; /* nullptr: few_positions */
    const double *frequency; /* nullptr: few_frequencies */
    int32_t few_positions[MAX_ROWS];
    double few_frequencies[MAX_PAIRS];
};

/* Of pair j of the block's row.  In double: in f32 the angles of late positions are
 * wrong. */
static __device__ inline void angle_of(const struct turns &by, size_t j,
                                       float *ret_cosine, float *ret_sine)
{
    int32_t position =
        by.position ? by.position[blockIdx.x] : by.few_positions[blockIdx.x];
    double sine, cosine;
    sincos(position * (by.frequency ? by.frequency[j] : by.few_frequencies[j]),
           &sine, &cosine);
    *ret_cosine = static_cast<float>(cosine);
    *ret_sine = static_cast<float>(sine);
}

static __global__ void __launch_bounds__(THREADS)
    make_angles(float *out, const struct turns by, size_t d)
{
    size_t half = d / 2;
    out += blockIdx.x * d;
    for (size_t j = threadIdx.x; j < half; j += THREADS)
        angle_of(by, j, &out[j], &out[half + j]);
}

static int angles(struct kernel_run *run, float *out,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t d)
{
    struct turns by = {};
    cuda_workspace positions(run), frequencies(run);
    size_t half = d / 2;
    if (!m || !half)
        return KERNEL_OK;
    by.position = cuda_step_ints(run, CUDA_POSITION, host_position, m);
    if (!by.position && m <= turns::MAX_ROWS)
        memcpy(by.few_positions, host_position, m * sizeof *host_position);
    else if (!by.position &&
             !(by.position = positions.take_copy(host_position, m)))
        return KERNEL_NO_MEMORY;
    if (half <= turns::MAX_PAIRS)
        memcpy(by.few_frequencies, host_frequency,
               half * sizeof *host_frequency);
    else if (!(by.frequency = frequencies.take_copy(host_frequency, half)))
        return KERNEL_NO_MEMORY;
    return cuda_launch(run, make_angles, {m, 1, 1, THREADS}, out, by, d);
}

/* ---- Slots ---- */

static __device__ inline void put_number(float *to, float x)
{
    *to = x;
}
static __device__ inline void put_number(uint16_t *to, float x)
{
    *to = to_bf16(x);
}

/* A block for each slot. */
template <typename Number>
static __global__ void __launch_bounds__(THREADS)
    put_slots(float *const *pages, size_t at, size_t slots, const float *x,
              size_t first, size_t hkv, size_t d)
{
    size_t slot = first + blockIdx.x, within = slot % slots;
    auto *to = reinterpret_cast<Number *>(pages[slot / slots] + at);
    for (size_t i = threadIdx.x; i < hkv * d; i += THREADS)
        put_number(to + (i / d * slots + within) * d + i % d,
                   x[blockIdx.x * hkv * d + i]);
}

static int kv_write(struct kernel_run *run, float *const *pages, size_t at,
                    size_t slots, int type, const float *x, size_t first,
                    size_t rows, size_t hkv, size_t d)
{
    if (type != KERNEL_F32 && type != KERNEL_BF16)
        return KERNEL_UNSUPPORTED;
    return cuda_launch(
        run, type == KERNEL_F32 ? put_slots<float> : put_slots<uint16_t>,
        {rows, 1, 1, THREADS}, pages, at, slots, x, first, hkv, d);
}

/* ---- All of it: a warp for each head of a row ---- */

constexpr unsigned HEADS = 4; /* of a block */
constexpr size_t MAX_PLACES = 16;

struct heads_args {
    struct kernel_heads of[KERNEL_MAX_HEADS];
    unsigned ends[KERNEL_MAX_HEADS]; /* heads of a row up to this matrix's last */
    unsigned count;
    struct kernel_places places[MAX_PLACES];
    const uint32_t *firsts; /* [place_count]; nullptr: places have them */
    size_t place_count, slots, m, d;
    const float *angles;
};

/* Where the row's head is kept; nullptr: nowhere. */
template <typename Number>
static __device__ inline Number *
place_of(const struct heads_args &a, const struct kernel_heads &z, size_t row,
         size_t head)
{
    size_t i = 0;
    if (!z.kept)
        return nullptr;
    while (i < a.place_count && row >= a.places[i].rows)
        row -= a.places[i++].rows;
    if (i == a.place_count || !a.places[i].pages)
        return nullptr;
    size_t first = a.firsts ? a.firsts[i] : a.places[i].first;
    size_t slot = first + row, within = slot % a.slots;
    return reinterpret_cast<Number *>(a.places[i].pages[slot / a.slots] +
                                      z.at) +
           (head * a.slots + within) * a.d;
}

/* What of a head is not turned. */
template <typename Number>
static __device__ inline void finish(float *x, Number *to, float value,
                                     size_t j)
{
    x[j] = value;
    if (to)
        put_number(to + j, value);
}

template <typename Number>
static __global__ void __launch_bounds__(HEADS *WARP)
    finish_heads(const struct heads_args a)
{
    let_later_begin();
    wait_for_earlier();
    size_t all = a.ends[a.count - 1], d = a.d;
    size_t unit = blockIdx.x * size_t{HEADS} + warp_of_thread();
    size_t row = unit / all, head = unit % all, which = 0;
    if (row >= a.m)
        return;
    while (head >= a.ends[which])
        which++;
    const struct kernel_heads z = a.of[which];
    head -= which ? a.ends[which - 1] : 0;
    float *x = z.x + (row * z.h + head) * d;
    auto *to = place_of<Number>(a, z, row, head);
    float square = 0, scale = 1;
    for (size_t j = lane_of_thread(); z.norm && j < d; j += WARP)
        square += x[j] * x[j];
    if (z.norm)
        scale = rsqrtf(warp_sum(square) / static_cast<float>(d) + z.eps);
    __syncwarp(); /* all lanes have read what is written now */
    const float *by = a.angles + row * d;
    size_t half = z.turned ? d / 2 : 0;
    for (size_t j = lane_of_thread(); j < half; j += WARP) {
        float first = x[j] * scale, second = x[j + half] * scale;
        float p = z.norm ? first * z.norm[j] : first;
        float q = z.norm ? second * z.norm[j + half] : second;
        float c = by[j], s = by[j + half];
        finish(x, to, (p * c - q * s) * z.factor, j);
        finish(x, to, (q * c + p * s) * z.factor, j + half);
    }
    for (size_t j = 2 * half + lane_of_thread(); j < d; j += WARP) {
        float value = z.norm ? x[j] * scale * z.norm[j] : x[j];
        finish(x, to, value * z.factor, j);
    }
}

/* As many places as one launch has room for; the rows that they are of. */
static size_t some_places(struct kernel_run *run, struct heads_args *a,
                          const struct kernel_places *places, size_t count,
                          size_t m)
{
    uint32_t firsts[MAX_PLACES] = {};
    size_t rows = 0, max = 0;
    a->place_count = count < MAX_PLACES ? count : MAX_PLACES;
    for (size_t i = 0; i < a->place_count; i++) {
        a->places[i] = places[i];
        firsts[i] = static_cast<uint32_t>(places[i].first);
        max = places[i].first > max ? places[i].first : max;
        rows += places[i].rows;
    }
    a->firsts = max > INT32_MAX ? nullptr
                                : cuda_step_words(run, CUDA_SLOT, firsts,
                                                  a->place_count);
    for (size_t i = 0; a->firsts && i < a->place_count; i++)
        a->places[i].first = 0;
    return a->place_count < count ? rows : m;
}

static int heads(struct kernel_run *run, const struct kernel_heads *of,
                 size_t count, const float *by,
                 const struct kernel_places *places, size_t place_count,
                 size_t slots, int type, size_t m, size_t d)
{
    struct heads_args a = {};
    int code = KERNEL_OK;
    if (count > KERNEL_MAX_HEADS || (type != KERNEL_F32 && type != KERNEL_BF16))
        return KERNEL_UNSUPPORTED;
    a.count = static_cast<unsigned>(count);
    a.slots = slots;
    a.d = d;
    a.angles = by;
    for (size_t i = 0, end = 0; i < count; i++) {
        a.of[i] = of[i];
        end += of[i].h;
        a.ends[i] = static_cast<unsigned>(end);
    }
    while (m && count && !code) {
        a.m = some_places(run, &a, places, place_count, m);
        code = cuda_launch(
            run, type == KERNEL_F32 ? finish_heads<float> : finish_heads<uint16_t>,
            {cuda_ceil(a.m * a.ends[count - 1], HEADS), 1, 1, HEADS * WARP, 0,
             true},
            a);
        m -= a.m;
        places += a.place_count;
        place_count -= a.place_count;
        a.angles += a.angles ? a.m * d : 0;
        for (size_t i = 0; i < count; i++)
            a.of[i].x += a.m * a.of[i].h * d;
    }
    return code;
}

static int rotary(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d)
{
    cuda_workspace room(run);
    if (!m || d < 2)
        return KERNEL_OK;
    float *by = room.take<float>(m, d);
    int code = by ? angles(run, by, host_position, host_frequency, m, d)
                  : KERNEL_NO_MEMORY;
    const struct kernel_heads all = {x, h, nullptr, 0, true, 1, false, 0};
    return code ? code
                : heads(run, &all, 1, by, nullptr, 0, 1, KERNEL_F32, m, d);
}

void cuda_fill_heads(struct kernels *table)
{
    table->kv_write = kv_write;
    table->rotary = rotary;
    table->angles = angles;
    table->heads = heads;
}
