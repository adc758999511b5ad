/* GGUF: a model's metadata and weights in one file.
 *
 *     magic    "GGUF"
 *     u32      version, 2 or 3; all is little-endian
 *     u64      tensors
 *     u64      values of metadata
 *     ...      values: text key, u32 type, what it is of that type
 *     ...      tensors: text name, u32 dimensions, u64 each, the innermost
 *              first, u32 type, u64 offset into the data
 *     ...      padding up to a multiple of "general.alignment", 32 if absent
 *     ...      data: the tensors, each at a multiple of it
 *
 * A text is its u64 length and so many bytes; a list is the u32 type and the u64
 * count of what follows.
 *
 * A large model may be in several files, PREFIX-00001-of-0000N.gguf and so on: the
 * first has all values, each says "split.no", "split.count" and, in all,
 * "split.tensors.count".  Opening the first opens the others beside it.
 *
 * The reader believes nothing: counts are held against what is left of the file
 * before anything is allocated for them, lengths are those of type and shape (in
 * checked arithmetic), no two tensors overlap, and no key or name occurs twice.
 * Keys and names are of printable ASCII.  What is not read is refused by name:
 * versions, types, lists of lists; a part of a model whose other parts are not
 * there, or not its own. */
#ifndef BASE_GGUF_H
#define BASE_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/safetensors.h"

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_LIST,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64
};

/* A value, or a list of `count` of them. */
struct gguf_value {
    struct slice key;
    int type; /* enum gguf_type, of a list that of what is in it */
    bool list;
    uint64_t count; /* 1 where it is no list */
    struct slice bytes;
};

struct gguf;

/* weight_bytes.h says what may become of the file while it is open.  A split model
 * opens by its first file, with the tensors of all. */
int gguf_open(const char *path, struct gguf **ret, struct err *err);
/* The same over bytes that stay where they are until gguf_close; no part of
 * several. */
int gguf_over(struct slice bytes, struct gguf **ret, struct err *err);
void gguf_close(struct gguf *file); /* NULL: ok */
/* Lets go of its memory (weight_bytes_let_go). */
void gguf_let_go(const struct gguf *file);

/* Whether a path ends as that of such a file: ".gguf". */
bool gguf_is_path(const char *path);
/* As how many files a model is that has this path, by its name: of the first of
 * several so many, of any other 1.  Appends the path of file `i`, 0 is the first. */
size_t gguf_named_parts(const char *path);
void gguf_put_part(const char *path, size_t i, struct buf *ret);

/* In the order of the files, and in each of their data; a shape's outermost dimension is first. */
size_t gguf_count(const struct gguf *file);
const struct tensor *gguf_at(const struct gguf *file, size_t i);

/* NULL when there is none. */
const struct gguf_value *gguf_find(const struct gguf *file, const char *key);
/* All of them, in the file's order. */
size_t gguf_value_count(const struct gguf *file);
const struct gguf_value *gguf_value_at(const struct gguf *file, size_t i);

/* Item i of a value, 0 of one that is no list.  False: it is of another kind, or
 * there are not so many.  A number may be of any type of numbers. */
bool gguf_number(const struct gguf_value *value, uint64_t i, double *ret);
bool gguf_bool(const struct gguf_value *value, bool *ret);
bool gguf_text(const struct gguf_value *value, struct slice *ret);

/* The texts of a list, one after the other; zero-initialise `at`.  False: that
 * was the last, or it is not a list of texts. */
bool gguf_next_text(const struct gguf_value *value, size_t *at,
                    struct slice *ret);

#endif
