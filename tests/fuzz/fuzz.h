/* What fuzz targets share.  Each is one LLVMFuzzerTestOneInput: driven by
 * libFuzzer (`make fuzz`), or by replay.c over the files of its corpus. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tree/tree.h"

/* Stays in every build. */
#define CHECK(truth)                                                           \
    do {                                                                       \
        if (!(truth)) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth);        \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* Bytes as choices; when they have run out, always the first. */
struct choices {
    const uint8_t *data;
    size_t size, at;
};

static inline uint32_t choose(struct choices *choices, uint32_t limit)
{
    uint32_t value = 0;
    for (uint32_t most = 1; most < limit; most = most << 8 ? most << 8 : limit)
        value =
            value << 8 |
            (choices->at < choices->size ? choices->data[choices->at++] : 0);
    return limit ? value % limit : 0;
}

/* A tree comes out the same when it is encoded and decoded again. */
static inline void check_coding(const struct tree *tree)
{
    struct tree *again = NULL;
    struct buf encoded = {0}, twice = {0};
    tree_encode(tree, &encoded);
    CHECK(!tree_decode(encoded.data, encoded.size, &again, NULL));
    CHECK(again->count == tree->count);
    tree_encode(again, &twice);
    CHECK(slice_equal(buf_slice(&encoded), buf_slice(&twice)));
    buf_free(&encoded);
    buf_free(&twice);
    tree_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
