/* How each type of blocks (blocks.h) is read: eight parts of a row at a time, as
 * unsigned bytes and vectors of scales.  Included by cpu_blocks_body.h, which
 * defines INLINE with its instruction set. */

/* 256 weights, scale (u - bias) + offset in the order of cpu_blocks.h: one vector of
 * scales and offsets, or, by halves, two. */
struct group {
    __m256i u[GROUP];
    __m256 scale[2], offset[2];
};

/* Whether each half of a part has its own scale; */
INLINE bool by_halves(int type)
{
    return type == KERNEL_Q2_K || type == KERNEL_Q3_K || type == KERNEL_Q6_K;
}

/* whether there are offsets; */
INLINE bool with_offsets(int type)
{
    return type == KERNEL_Q4_1 || type == KERNEL_Q5_1 || type == KERNEL_Q2_K ||
           type == KERNEL_Q4_K || type == KERNEL_Q5_K;
}

/* and the bias, where there are none. */
INLINE int bias_of(int type)
{
    switch (type) {
    case KERNEL_Q3_K: return 4;
    case KERNEL_Q4_0: return 8;
    case KERNEL_Q5_0: return 16;
    case KERNEL_Q6_K: return 32;
    default: return 128; /* signed bytes */
    }
}

/* Bytes of a block, and parts in it. */
INLINE size_t block_bytes(int type)
{
    switch (type) {
    case KERNEL_Q4_0:
    case KERNEL_IQ4_NL: return 18;
    case KERNEL_Q4_1: return 20;
    case KERNEL_Q5_0: return 22;
    case KERNEL_Q5_1: return 24;
    case KERNEL_Q8_0: return 34;
    case KERNEL_Q2_K: return 84;
    case KERNEL_Q3_K: return 110;
    case KERNEL_IQ4_XS: return 136;
    case KERNEL_Q4_K: return 144;
    case KERNEL_Q5_K: return 176;
    default: return 210; /* Q6_K */
    }
}

INLINE size_t block_parts(int type)
{
    return type < KERNEL_Q2_K ? 1 : GROUP;
}

INLINE float half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return _cvtsh_ss(half);
}

INLINE uint32_t word_at(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

INLINE __m256i bytes_at(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

INLINE __m128i few_at(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

INLINE __m256i low_bits(__m256i x, char mask)
{
    return _mm256_and_si256(x, _mm256_set1_epi8(mask));
}

/* 16 bytes as 32 nibbles: the low ones, then the high ones. */
INLINE __m256i nibbles_at(const unsigned char *at)
{
    __m128i x = few_at(at);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(x),
                                           _mm_srli_epi16(x, 4), 1);
    return low_bits(both, 15);
}

/* Bit i of four bytes as 16 in byte i. */
INLINE __m256i fifths_at(const unsigned char *at)
{
    __m256i spread = _mm256_shuffle_epi8(
        _mm256_set1_epi32((int)word_at(at)),
        _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2,
                         2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i mask = _mm256_set1_epi64x((long long)0x8040201008040201);
    return low_bits(_mm256_cmpeq_epi8(_mm256_and_si256(spread, mask), mask),
                    16);
}

/* Signed bytes and 128. */
INLINE __m256i biased(__m256i x)
{
    return _mm256_xor_si256(x, _mm256_set1_epi8((char)0x80));
}

/* 16 bytes of nibbles as the numbers of blocks_iq4, and 128. */
INLINE __m256i iq4_at(const unsigned char *at)
{
    __m256i table = biased(_mm256_broadcastsi128_si256(few_at(blocks_iq4)));
    return _mm256_shuffle_epi8(table, nibbles_at(at));
}

/* ---- Scales ---- */

/* Eight small integers times d. */
INLINE __m256 unsigned_scales(__m128i bytes, float d)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)) * _mm256_set1_ps(d);
}

INLINE __m256 signed_scales(__m128i bytes, float d)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)) * _mm256_set1_ps(d);
}

/* Bytes of parts in a group's order; and of halves, one after the other. */
INLINE __m128i parts_order(__m128i bytes)
{
    return _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10,
                                                 12, 14, 9, 11, 13, 15));
}

INLINE __m128i halves_order(__m128i bytes)
{
    return _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6,
                                                 10, 14, 3, 7, 11, 15));
}

INLINE __m128i second_eight(__m128i x)
{
    return _mm_unpackhi_epi64(x, x);
}

INLINE int16_t two_bytes_at(const unsigned char *at)
{
    int16_t two;
    memcpy(&two, at, sizeof two);
    return two;
}

typedef int16_t words __attribute__((vector_size(16)));

/* Halves `apart` bytes from one another, of so many parts; count is a constant, but
 * for some groups at the end of a row. */
INLINE __m256 halves_at(const unsigned char *at, size_t apart, size_t count)
{
    words half = {0};
#define PUT(part)                                                              \
    if ((part) < count)                                                        \
    half[(part) % 2 * 4 + (part) / 2 /* part_lane */] =                        \
        two_bytes_at(at + (part)*apart)
    PUT(0);
    PUT(1);
    PUT(2);
    PUT(3);
    PUT(4);
    PUT(5);
    PUT(6);
    PUT(7);
#undef PUT
    return _mm256_cvtph_ps((__m128i)half);
}

/* Six bits each of eight scales, then of offsets (blocks.c has it in words), of a
 * block that begins with two halves. */
INLINE __m128i scales_k(const unsigned char *block)
{
    const int four = 0x0F0F0F0F, six = 0x3F3F3F3F, two = 0x30303030;
    const __m128i x = few_at(block),
                  low = _mm_shuffle_epi32(x, _MM_SHUFFLE(3, 2, 3, 1)),
                  high = _mm_srli_epi32(
                      _mm_shuffle_epi32(x, _MM_SHUFFLE(2, 0, 1, 0)), 2);
    const __m128i bits =
        _mm_and_si128(_mm_srlv_epi32(low, _mm_setr_epi32(0, 0, 0, 4)),
                      _mm_setr_epi32(six, four, six, four));
    return parts_order(_mm_or_si128(
        bits, _mm_and_si128(high, _mm_setr_epi32(0, two, 0, two))));
}

INLINE __m128i scales_q3_k(const unsigned char *packed)
{
    const uint32_t two = 0x03030303, high = word_at(packed + 8);
    __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)packed);
    low = _mm_unpacklo_epi64(low, _mm_srli_epi16(low, 4));
    low = _mm_and_si128(low, _mm_set1_epi8(15));
    __m128i bits =
        _mm_setr_epi32((int)(high & two), (int)(high >> 2 & two),
                       (int)(high >> 4 & two), (int)(high >> 6 & two));
    bits = _mm_or_si128(low, _mm_slli_epi16(bits, 4));
    return halves_order(_mm_sub_epi8(bits, _mm_set1_epi8(32)));
}

/* Bits 0 and 1 of each nibble of 16 bits. */
INLINE uint32_t pairs_of(uint32_t x)
{
    return (x & 3) | (x & 0x30) << 4 | (x & 0x300) << 8 | (x & 0x3000) << 12;
}

INLINE __m128i scales_iq4_xs(const unsigned char *block)
{
    const uint32_t four = 0x0F0F0F0F, low = word_at(block + 4),
                   high = word_at(block) >> 16;
    __m128i bits = _mm_setr_epi32(
        (int)((low & four) | pairs_of(high) << 4),
        (int)((low >> 4 & four) | pairs_of(high >> 2) << 4), 0, 0);
    return _mm_sub_epi8(bits, _mm_set1_epi8(32));
}

/* ---- Parts ---- */

INLINE __m256i part_small(const unsigned char *w, int type)
{
    switch (type) {
    case KERNEL_Q4_0: return nibbles_at(w + 2);
    case KERNEL_IQ4_NL: return iq4_at(w + 2);
    case KERNEL_Q4_1: return nibbles_at(w + 4);
    case KERNEL_Q5_0:
        return _mm256_or_si256(nibbles_at(w + 6), fifths_at(w + 2));
    case KERNEL_Q5_1:
        return _mm256_or_si256(nibbles_at(w + 8), fifths_at(w + 4));
    default: return biased(bytes_at(w + 2));
    }
}

/* Pair j % 4 of the 32 bytes of a half of 128. */
INLINE __m256i pairs_at(const unsigned char *pairs, size_t j)
{
    return low_bits(
        _mm256_srli_epi16(bytes_at(pairs + j / 4 * PART), (int)(2 * (j % 4))),
        3);
}

INLINE __m256i part_q3_k(const unsigned char *w, size_t j)
{
    __m256i third = low_bits(_mm256_srli_epi16(bytes_at(w), (int)j), 1);
    return _mm256_or_si256(pairs_at(w + 32, j), _mm256_slli_epi16(third, 2));
}

INLINE __m256i part_q6_k(const unsigned char *w, size_t j)
{
    __m256i low = bytes_at(w + j / 4 * 64 + j % 2 * 32);
    low = low_bits(j % 4 > 1 ? _mm256_srli_epi16(low, 4) : low, 15);
    return _mm256_or_si256(low, _mm256_slli_epi16(pairs_at(w + 128, j), 4));
}

/* Part j of 128 bytes of nibbles; `fifth`: bit j of the 32 bytes before them. */
INLINE __m256i part_k(const unsigned char *nibbles, bool fifth, size_t j)
{
    __m256i u = bytes_at(nibbles + j / 2 * PART);
    u = low_bits(j % 2 ? _mm256_srli_epi16(u, 4) : u, 15);
    if (!fifth)
        return u;
    __m256i bits = _mm256_srli_epi16(bytes_at(nibbles - PART), (int)j);
    return _mm256_or_si256(u, _mm256_slli_epi16(low_bits(bits, 1), 4));
}

INLINE __m256i part_large(const unsigned char *w, int type, size_t j)
{
    switch (type) {
    case KERNEL_Q2_K: return pairs_at(w + 16, j);
    case KERNEL_Q3_K: return part_q3_k(w, j);
    case KERNEL_Q6_K: return part_q6_k(w, j);
    case KERNEL_IQ4_XS: return iq4_at(w + 8 + 16 * j);
    case KERNEL_Q5_K: return part_k(w + 48, true, j);
    default: return part_k(w + 16, false, j);
    }
}

/* ---- Groups ---- */

INLINE void scale_halves(struct group *ret, __m128i scales, float d)
{
    ret->scale[0] = signed_scales(scales, d);
    ret->scale[1] = signed_scales(second_eight(scales), d);
}

INLINE void scale_large(struct group *ret, const unsigned char *w, int type)
{
    switch (type) {
    case KERNEL_Q2_K: {
        const __m128i both = halves_order(few_at(w));
        const __m128i low = _mm_and_si128(both, _mm_set1_epi8(15)),
                      high = _mm_and_si128(_mm_srli_epi16(both, 4),
                                           _mm_set1_epi8(15));
        scale_halves(ret, low, half_at(w + 80));
        ret->offset[0] = unsigned_scales(high, -half_at(w + 82));
        ret->offset[1] = unsigned_scales(second_eight(high), -half_at(w + 82));
        break;
    }
    case KERNEL_Q3_K:
        scale_halves(ret, scales_q3_k(w + 96), half_at(w + 108));
        break;
    case KERNEL_Q6_K:
        scale_halves(ret, halves_order(few_at(w + 192)), half_at(w + 208));
        break;
    case KERNEL_IQ4_XS:
        ret->scale[0] = signed_scales(scales_iq4_xs(w), half_at(w));
        break;
    default: {
        const __m128i scales = scales_k(w);
        ret->scale[0] = unsigned_scales(scales, half_at(w));
        ret->offset[0] = unsigned_scales(second_eight(scales), -half_at(w + 2));
    }
    }
}

/* `count` parts from w on, the others being 0; type is a constant where it is
 * inlined. */
INLINE struct group group_at(const unsigned char *w, int type, size_t count)
{
    struct group ret = {0};
    if (type >= KERNEL_Q2_K) {
        scale_large(&ret, w, type);
        UNROLL
        for (size_t i = 0; i < GROUP; i++)
            ret.u[i] = part_large(w, type, i);
        return ret;
    }
    const size_t bytes = block_bytes(type);
    ret.scale[0] = halves_at(w, bytes, count);
    if (with_offsets(type))
        ret.offset[0] = halves_at(w + 2, bytes, count);
    UNROLL
    for (size_t i = 0; i < GROUP; i++)
        if (i < count)
            ret.u[i] = part_small(w + i * bytes, type);
    return ret;
}
