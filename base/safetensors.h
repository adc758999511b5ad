/* safetensors: named arrays in a file.
 *
 *     u64  n            little-endian, size of the header, at most 16 MiB
 *     n    header       JSON: {"__metadata__": {key: text, ...},
 *                       name: {"dtype": "F32", "shape": [2, 3],
 *                              "data_offsets": [from, to]}, ...}
 *     ...  data         the arrays without gap or overlap; offsets count from
 *                       here, and the last one ends with the file
 *
 * The reader believes nothing: types are known ones, shape times size is the
 * length (in checked arithmetic), the arrays cover the data exactly, and no
 * name or metadata key occurs twice.  A header may have at most 2^20 commas and
 * opening brackets (about 130,000 matrices): as a tree each of these costs some
 * 100 bytes.  The format itself allows 100 MB.  Data is little-endian, row-major and
 * nowhere aligned: copy a value out with memcpy, or check the pointer. */
#ifndef BASE_SAFETENSORS_H
#define BASE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    SAFETENSORS_MAX_HEADER = 16 << 20,
    SAFETENSORS_MAX_VALUES = 1 << 20, /* commas and opening brackets */
    TENSOR_MAX_RANK = 8
};

enum tensor_type {
    TENSOR_F32,
    TENSOR_F16,
    TENSOR_BF16,
    TENSOR_I32,
    TENSOR_OTHER, /* a known type that nothing here reads: I64, U8, ... */
    TENSOR_I8,
    TENSOR_Q4_0, /* this and those below: blocks, of GGUF files only */
    TENSOR_Q4_1,
    TENSOR_Q5_0,
    TENSOR_Q5_1,
    TENSOR_Q8_0,
    TENSOR_IQ4_NL,
    TENSOR_Q2_K,
    TENSOR_Q3_K,
    TENSOR_Q4_K,
    TENSOR_Q5_K,
    TENSOR_Q6_K,
    TENSOR_IQ4_XS
};

struct tensor {
    struct slice name;               /* followed by a NUL, when it was read */
    int type;                        /* enum tensor_type */
    int rank;                        /* 0: one value */
    uint64_t shape[TENSOR_MAX_RANK]; /* outermost first; may hold a 0 */
    const void *data;
    size_t bytes;
};

struct safetensors;

/* weight_bytes.h says what may become of the file while it is open. */
int safetensors_open(const char *path, struct safetensors **ret,
                     struct err *err);
/* The same over bytes that stay where they are until safetensors_close. */
int safetensors_over(struct slice bytes, struct safetensors **ret,
                     struct err *err);
void safetensors_close(struct safetensors *file); /* NULL: ok */
/* Lets go of its memory (weight_bytes_let_go). */
void safetensors_let_go(const struct safetensors *file);

/* In the order of their data. */
size_t safetensors_count(const struct safetensors *file);
const struct tensor *safetensors_at(const struct safetensors *file, size_t i);
/* NULL when there is none. */
const struct tensor *safetensors_find(const struct safetensors *file,
                                      const char *name);
/* The metadata's text under `key`, NULL when there is none. */
const char *safetensors_meta(const struct safetensors *file, const char *key);

/* Bytes of one value; 0 for TENSOR_OTHER, and for blocks. */
size_t tensor_type_size(int type);
/* Values in all: the product of the shape. */
size_t tensor_values(const struct tensor *tensor);

/* Writes a file beside `path` and renames it into place.  `meta` holds pairs of
 * key and text and ends with a pair whose key is NULL; NULL: none.  ERR_USAGE
 * when a tensor's bytes are not its shape times the size of its type, or when
 * two have one name. */
int safetensors_write(const char *path, const struct tensor *tensors,
                      size_t count, const char *const (*meta)[2],
                      struct err *err);

#endif
