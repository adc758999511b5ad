/* half_sums (cpu_blocks_body.h) of vectors of eight, after part_sums(ret, u, a, count), the
 * first four sums of each part being of its first half. */

/* The sums of the four of each of x[0], x[2], x[4], x[6]. */
BLOCKS_INLINE __m256i every_other(const __m256i *x)
{
    const ints a = (ints)x[0], b = (ints)x[2], c = (ints)x[4], d = (ints)x[6];
    const ints one = low_two(a, b) + high_two(a, b),
               two = low_two(c, d) + high_two(c, d);
    return (__m256i)(low_pairs(one, two) + high_pairs(one, two));
}

BLOCKS_INLINE void half_sums(__m256i ret[2], const __m256i u[GROUP],
                             const struct rounded *a, size_t count)
{
    __m256i x[GROUP] = {0};
    part_sums(x, u, a, count);
    ret[0] = every_other(x);
    ret[1] = every_other(x + 1);
}
