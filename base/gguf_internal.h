/* What gguf.c and gguf_split.c share. */
#ifndef BASE_GGUF_INTERNAL_H
#define BASE_GGUF_INTERNAL_H

#include "base/gguf.h"
#include "base/mem.h"

enum { GGUF_MAX_PARTS = 1024 };

struct gguf {
    struct slice bytes;               /* the file's; none: the caller's */
    struct gguf_value *values;        /* [value_count] */
    const struct gguf_value **by_key; /* [value_count] */
    struct tensor *tensors;           /* [count], by data */
    size_t value_count, count;
    size_t alignment;
    struct arena names;
    struct gguf **parts; /* [part_count] the other files of a split model */
    size_t part_count;
};

/* One file as it is, whether a part or not. */
int gguf_open_one(const char *path, struct gguf **ret, struct err *err);
/* No name twice. */
int gguf_check_names(const struct gguf *file, struct err *err);

/* ---- gguf_split.c ---- */

/* Files of the model that it is of, 1: it is all of it; ERR_FORMAT if that is no
 * number. */
int gguf_split_count(const struct gguf *file, size_t *ret, struct err *err);
/* Opens the other parts, beside `path`, and takes their tensors. */
int gguf_join(const char *path, size_t count, struct gguf *file,
              struct err *err);

#endif
