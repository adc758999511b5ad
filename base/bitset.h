/* Sets of small numbers, a bit each; memory is the caller's, and zero at first. */
#ifndef BASE_BITSET_H
#define BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words for the numbers up to `count`, itself too. */
static inline size_t bitset_words(uint32_t count)
{
    return count / 64 + 1;
}

static inline bool bitset_has(const uint64_t *set, uint32_t number)
{
    return set[number / 64] >> number % 64 & 1;
}

static inline void bitset_add(uint64_t *set, uint32_t number)
{
    set[number / 64] |= (uint64_t)1 << number % 64;
}

/* All of [from, end), which is not empty. */
static inline void bitset_add_range(uint64_t *set, uint32_t from, uint32_t end)
{
    uint32_t last = (end - 1) / 64;
    uint64_t bits = ~(uint64_t)0 << from % 64;
    for (uint32_t word = from / 64; word < last; word++) {
        set[word] |= bits;
        bits = ~(uint64_t)0;
    }
    set[last] |= bits & ~(uint64_t)0 >> (63 - (end - 1) % 64);
}

/* The first that is `from`, below 64 times `words`, or greater; UINT32_MAX: there is
 * none. */
static inline uint32_t bitset_next(const uint64_t *set, size_t words,
                                   uint32_t from)
{
    size_t word = from / 64;
    uint64_t bits = set[word] & ~(uint64_t)0 << from % 64;
    while (!bits && ++word < words)
        bits = set[word];
    return bits ? (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits)
                : UINT32_MAX;
}

#endif
