#include "kernels/blocks.h"

#include <stdint.h>
#include <string.h>

#include "kernels/half.h"
#include "kernels/kernels.h"

enum { SMALL = 32, LARGE = 256, HALF = 16, NIBBLES = LARGE / 2 };

static float half_at(const unsigned char *at)
{
    return half_value((uint16_t)(at[0] | at[1] << 8));
}

static int nibble(const unsigned char *nibbles, size_t i)
{
    return i < HALF ? nibbles[i] & 15 : nibbles[i - HALF] >> 4;
}

/* Bit i of little-endian bytes. */
static int bit(const unsigned char *bits, size_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

/* ---- Blocks of 32 ---- */

static void decode_q4_0(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] = half_at(block) * (float)(nibble(block + 2, i) - 8);
}

static void decode_q4_1(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] =
            half_at(block) * (float)nibble(block + 4, i) + half_at(block + 2);
}

static void decode_q5_0(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] = half_at(block) *
                 (float)((nibble(block + 6, i) | bit(block + 2, i) << 4) - 16);
}

static void decode_q5_1(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] = half_at(block) *
                     (float)(nibble(block + 8, i) | bit(block + 4, i) << 4) +
                 half_at(block + 2);
}

static void decode_q8_0(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] = half_at(block) * (float)(signed char)block[2 + i];
}

const int8_t blocks_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

static void decode_iq4_nl(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < SMALL; i++)
        out[i] = half_at(block) * (float)blocks_iq4[nibble(block + 2, i)];
}

/* ---- Blocks of 256 ---- */

/* Pair j of four of a byte: weight 32 j + l of a half of 128 is in byte l. */
static int pair_at(const unsigned char *pairs, size_t i)
{
    size_t half = i / NIBBLES, j = i % NIBBLES / SMALL, l = i % SMALL;
    return pairs[half * SMALL + l] >> 2 * j & 3;
}

static void decode_q2_k(const unsigned char *block, float *out)
{
    float d = half_at(block + 80), m = half_at(block + 82);
    for (size_t i = 0; i < LARGE; i++) {
        int part = block[i / HALF];
        out[i] = d * (float)(part & 15) * (float)pair_at(block + 16, i) -
                 m * (float)(part >> 4);
    }
}

/* The scale of 16 weights, which the 12 bytes have in 6 bits: the low four in
 * the nibbles of the first eight, the high two in pairs of the others. */
static int scale_q3_k(const unsigned char *packed, size_t i)
{
    int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    int high = packed[8 + i % 4] >> 2 * (i / 4) & 3;
    return (low | high << 4) - 32;
}

/* Bit i / 32 of byte i % 32 is the third one. */
static void decode_q3_k(const unsigned char *block, float *out)
{
    float d = half_at(block + 108);
    for (size_t i = 0; i < LARGE; i++) {
        int third = block[i % SMALL] >> i / SMALL & 1;
        int q = (pair_at(block + 32, i) | third << 2) - 4;
        out[i] = d * (float)scale_q3_k(block + 96, i / HALF) * (float)q;
    }
}

/* Of the scales two bits each are in the first two bytes, four in the others. */
static void decode_iq4_xs(const unsigned char *block, float *out)
{
    for (size_t i = 0; i < LARGE / SMALL; i++) {
        int low = block[4 + i / 2] >> i % 2 * 4 & 15;
        int high = block[2 + i / 4] >> i % 4 * 2 & 3;
        float by = half_at(block) * (float)((low | high << 4) - 32);
        for (size_t l = 0; l < SMALL; l++)
            *out++ = by * (float)blocks_iq4[nibble(block + 8 + i * HALF, l)];
    }
}

/* The scale and the offset of part i of eight.  Of 12 bytes the first four have
 * the scales of parts 0 to 3, the next four their offsets, six bits each; above
 * these are the highest two bits of those of parts 4 to 7, whose other four are
 * in the last four bytes, scales low and offsets high. */
static void part_of(const unsigned char *packed, size_t i, int *scale,
                    int *offset)
{
    if (i < 4) {
        *scale = packed[i] & 63;
        *offset = packed[i + 4] & 63;
        return;
    }
    *scale = (packed[i + 4] & 15) | packed[i - 4] >> 6 << 4;
    *offset = packed[i + 4] >> 4 | packed[i] >> 6 << 4;
}

/* Parts 2j and 2j + 1 are the low and the high nibbles of 32 bytes; `fifth`:
 * bit i of byte l is weight l of part i's; NULL: there are none. */
static void decode_parts(const unsigned char *block, const unsigned char *fifth,
                         const unsigned char *nibbles, float *out)
{
    for (size_t i = 0; i < LARGE / SMALL; i++) {
        int scale, offset;
        part_of(block + 4, i, &scale, &offset);
        float by = half_at(block) * (float)scale;
        float less = half_at(block + 2) * (float)offset;
        for (size_t l = 0; l < SMALL; l++) {
            int q = nibbles[i / 2 * SMALL + l] >> (i % 2 * 4) & 15;
            if (fifth)
                q |= (fifth[l] >> i & 1) << 4;
            *out++ = by * (float)q - less;
        }
    }
}

static void decode_q4_k(const unsigned char *block, float *out)
{
    decode_parts(block, NULL, block + 16, out);
}

static void decode_q5_k(const unsigned char *block, float *out)
{
    decode_parts(block, block + 16, block + 16 + SMALL, out);
}

/* Two halves of 128: weight 32 j + l of one has its low bits in byte
 * 32 (j % 2) + l, the high nibble where j > 1, and its high ones in pair j of
 * byte l. */
static void decode_q6_k(const unsigned char *block, float *out)
{
    const unsigned char *scales = block + NIBBLES + NIBBLES / 2;
    float d = half_at(scales + LARGE / HALF);
    for (size_t i = 0; i < LARGE; i++) {
        size_t half = i / NIBBLES, j = i % NIBBLES / SMALL, l = i % SMALL;
        int low = block[half * 64 + j % 2 * SMALL + l] >> (j > 1 ? 4 : 0) & 15;
        int high = block[NIBBLES + half * SMALL + l] >> 2 * j & 3;
        out[i] = d * (float)(signed char)scales[i / HALF] *
                 (float)((low | high << 4) - 32);
    }
}

/* ---- All ---- */

static const struct block_kind kinds[KERNEL_ALL_TYPES] = {
    [KERNEL_Q4_0] = {"q4_0", SMALL, 18, decode_q4_0},
    [KERNEL_Q4_1] = {"q4_1", SMALL, 20, decode_q4_1},
    [KERNEL_Q5_0] = {"q5_0", SMALL, 22, decode_q5_0},
    [KERNEL_Q5_1] = {"q5_1", SMALL, 24, decode_q5_1},
    [KERNEL_Q8_0] = {"q8_0", SMALL, 34, decode_q8_0},
    [KERNEL_IQ4_NL] = {"iq4_nl", SMALL, 18, decode_iq4_nl},
    [KERNEL_Q2_K] = {"q2_k", LARGE, 84, decode_q2_k},
    [KERNEL_Q3_K] = {"q3_k", LARGE, 110, decode_q3_k},
    [KERNEL_IQ4_XS] = {"iq4_xs", LARGE, 136, decode_iq4_xs},
    [KERNEL_Q4_K] = {"q4_k", LARGE, 144, decode_q4_k},
    [KERNEL_Q5_K] = {"q5_k", LARGE, 176, decode_q5_k},
    [KERNEL_Q6_K] = {"q6_k", LARGE, 210, decode_q6_k},
};

const struct block_kind *block_kind(int type)
{
    return &kinds[type];
}

void blocks_decode(int type, const void *blocks, size_t count, float *out)
{
    const struct block_kind *kind = &kinds[type];
    const unsigned char *at = blocks;
    for (size_t i = 0; i < count; i += kind->values, at += kind->bytes)
        kind->decode(at, out + i);
}

size_t kernel_row_bytes(int type, size_t k)
{
    if (!kernel_is_blocks(type))
        return k * kernel_type_size(type);
    return k / kinds[type].values * kinds[type].bytes;
}
