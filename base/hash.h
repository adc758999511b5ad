/* Content hashes (XXH3): equal content, equal hash.  The 128-bit one names
 * content; it is not for adversaries: a collision made on purpose mixes two
 * texts up, no more.  The 64-bit one collides at will and only speeds a look-up
 * that then compares. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t low;
    uint64_t high;
};

struct hash128 hash_bytes(const void *bytes, size_t size);
uint64_t hash_bytes64(const void *bytes, size_t size);
uint64_t hash_seeded64(const void *bytes, size_t size, uint64_t seed);

static inline bool hash_equal(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

/* For qsort and bsearch, of struct hash128. */
static inline int hash_compare(const void *a, const void *b)
{
    const struct hash128 *x = a, *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* 16 bytes, most significant first: the form in keys and encodings. */
void hash_write(struct hash128 hash, unsigned char bytes[16]);
struct hash128 hash_read(const unsigned char bytes[16]);

#endif
