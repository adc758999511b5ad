#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

struct hash128 hash_bytes(const void *bytes, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(size ? bytes : "", size);
    return (struct hash128){h.low64, h.high64};
}

uint64_t hash_bytes64(const void *bytes, size_t size)
{
    return XXH3_64bits(size ? bytes : "", size);
}

uint64_t hash_seeded64(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(size ? bytes : "", size, seed);
}

void hash_write(struct hash128 hash, unsigned char bytes[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(
        &canonical, (XXH128_hash_t){.low64 = hash.low, .high64 = hash.high});
    memcpy(bytes, canonical.digest, 16);
}

struct hash128 hash_read(const unsigned char bytes[16])
{
    XXH128_canonical_t canonical;
    memcpy(canonical.digest, bytes, 16);
    XXH128_hash_t h = XXH128_hashFromCanonical(&canonical);
    return (struct hash128){h.low64, h.high64};
}
