/* Weights of blocks on their way to the device, and as bf16 there. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_blocks.h"

#include <cstring>

constexpr unsigned THREADS = 128;

/* Copies bytes [at, at + size) of each block; returns where they end. */
static unsigned char *gather_part(unsigned char *to, const unsigned char *blocks,
                                  size_t count, size_t step, size_t at,
                                  size_t size)
{
    for (size_t i = 0; i < count; i++, to += size)
        memcpy(to, blocks + i * step + at, size);
    return to;
}

/* The rest is what is before and behind both kinds of bits, or between them. */
static void sort_row(unsigned char *to, const unsigned char *blocks,
                     const struct block_parts &p, size_t count)
{
    const bool low_first = !p.high || p.low_at < p.high_at;
    const size_t begin = low_first ? p.low_at : p.high_at;
    const size_t end = begin + p.low + p.high;
    to = gather_part(to, blocks, count, p.bytes, p.low_at, p.low);
    to = gather_part(to, blocks, count, p.bytes, p.high_at, p.high);
    for (size_t i = 0; i < count; i++, blocks += p.bytes) {
        memcpy(to, blocks, begin);
        memcpy(to + begin, blocks + end, p.bytes - end);
        to += p.bytes - p.low - p.high;
    }
}

void cuda_blocks_sort(void *to, const void *host, int type, size_t n, size_t k)
{
    const struct block_parts p = parts_of_block(type);
    const size_t count = k / p.values, bytes = block_row_bytes(type, k);
    const auto *from = static_cast<const unsigned char *>(host);
    auto *row = static_cast<unsigned char *>(to);
    memset(to, 0, n * bytes);
    for (size_t i = 0; i < n; i++, row += bytes, from += count * p.bytes)
        sort_row(row, from, p, count);
}

static __global__ void __launch_bounds__(THREADS)
    decode_rows(uint16_t *out, const void *w, int type, size_t k)
{
    decode_block_row(out + blockIdx.x * k, w, type, blockIdx.x, k);
}

int cuda_blocks_decode(struct kernel_run *run, uint16_t *out,
                       const struct kernel_weight *w)
{
    return cuda_launch(run, decode_rows, {w->n, 1, 1, THREADS}, out,
                       static_cast<const void *>(w->device), w->type, w->k);
}
