/* SHA-256 (FIPS 180-4): what published files are known by. */
#ifndef CLI_DOWNLOAD_SHA256_H
#define CLI_DOWNLOAD_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_HEX = 65 /* bytes of a sum as text, with its NUL */ };

struct sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    unsigned char block[64];
};

void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t size);
/* Writes the sum in lower-case hexadecimal digits, with a NUL. */
void sha256_end(struct sha256 *sum, char ret[SHA256_HEX]);

#endif
