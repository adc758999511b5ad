/* What fuzz targets share.  Each is one LLVMFuzzerTestOneInput: driven by
 * libFuzzer (`make fuzz`), or by replay.c over the files of its corpus. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Stays in every build. */
#define CHECK(truth)                                                           \
    do {                                                                       \
        if (!(truth)) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth);        \
            abort();                                                           \
        }                                                                      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
