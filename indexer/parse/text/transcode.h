/* A file's bytes as UTF-8, and the way back: which byte of the file a place in
 * the text is. */
#ifndef INDEXER_PARSE_TEXT_TRANSCODE_H
#define INDEXER_PARSE_TEXT_TRANSCODE_H

#include <stdint.h>

#include "tree/tree.h"

/* From here to the next stride, `in` bytes of the file are `out` of the text. */
struct stride {
    uint32_t at;     /* in the text */
    uint32_t source; /* in the file */
    uint8_t in, out;
};

struct transcoded {
    struct slice text; /* UTF-8 throughout; the file's own bytes, or `made` */
    struct buf made;
    struct stride *strides; /* [count] */
    size_t count, capacity;
    size_t begin; /* of the text in the file, after a byte order mark */
};

/* `bytes` (below 1 GiB) must outlive the text. */
void transcode(struct slice bytes, size_t begin, int encoding,
               struct transcoded *ret);
void transcode_free(struct transcoded *transcoded);

/* The place in the file of the text's [from, to), of whole characters. */
struct span transcode_span(const struct transcoded *transcoded, size_t from,
                           size_t to);

#endif
