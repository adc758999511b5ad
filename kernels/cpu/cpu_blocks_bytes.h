/* What two instruction sets with VNNI have in common: activations as a high and a low
 * byte, which are multiplied with unsigned bytes.  After products(sums, u,
 * signed bytes), and what cpu_blocks_body.h asks for, ints, LANES and ROWS. */

/* Eight times four bytes. */
enum { SPLIT = 1 };

BLOCKS_INLINE void split(__m256i ret[SPLIT], __m256i u)
{
    ret[0] = u;
}

BLOCKS_INLINE void put_part(struct rounded *ret, size_t part,
                            const int32_t q[PART])
{
    int8_t(*to)[2][PART] = ret->q.bytes[part / 2];
    for (size_t i = 0; i < PART; i++)
        to[0][part % 2][i] = (int8_t)((q[i] + 128) >> 8);
    for (size_t i = 0; i < PART; i++)
        to[1][part % 2][i] = (int8_t)(q[i] & 255);
}

BLOCKS_INLINE ints four_of(const int8_t *at)
{
    int32_t four;
    memcpy(&four, at, sizeof four);
    return same_ints(four);
}

BLOCKS_INLINE void strip_sums(ints ret[ROWS][VECTORS],
                              const ints w[VECTORS][SPLIT * PART / 4],
                              const struct rounded *a, size_t apart,
                              size_t part, size_t from, size_t to, size_t m)
{
    ints high[ROWS][VECTORS];
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            ret[i][v] = high[i][v] = same_ints(0);
    }
    UNROLL
    for (size_t s = 2 * from; s < 2 * to; s++) {
        UNROLL
        for (size_t i = 0; i < m; i++) {
            const int8_t(*q)[2][PART] = a[i * apart].q.bytes[part / 2];
            const ints upper = four_of(q[0][part % 2] + 4 * s),
                       lower = four_of(q[1][part % 2] + 4 * s);
            UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                high[i][v] = products(high[i][v], w[v][s], upper);
                ret[i][v] = products(ret[i][v], w[v][s], lower);
            }
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            ret[i][v] += shift_left(high[i][v], 8);
    }
}
