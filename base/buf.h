/* Bytes: a slice that is read, a buffer that grows, and the two directions of
 * our binary encodings: buf_put_* appends, `struct reader` takes with checks.
 *
 * Integers are little-endian base-128 varints (7 bits a byte, low first);
 * signed ones are zig-zag coded; a string is its length and its bytes. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that somebody else owns; not NUL-terminated unless said. */
struct slice {
    const char *data;
    size_t size;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}
static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}
static inline bool slice_starts(struct slice a, struct slice prefix)
{
    return a.size >= prefix.size &&
           (!prefix.size || !memcmp(a.data, prefix.data, prefix.size));
}

static inline bool slice_ends(struct slice a, struct slice suffix)
{
    return a.size >= suffix.size &&
           (!suffix.size ||
            !memcmp(a.data + a.size - suffix.size, suffix.data, suffix.size));
}

/* By bytes, a slice before those it begins: LMDB's order of keys. */
static inline int slice_compare(struct slice a, struct slice b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static inline bool slice_is(struct slice a, const char *text)
{
    return slice_equal(a, slice_of(text));
}

struct buf {
    char *data; /* size bytes and a NUL, once anything was put */
    size_t size;
    size_t capacity;
};

void buf_free(struct buf *buf);  /* and empties it for reuse */
void buf_clear(struct buf *buf); /* keeps the memory */
void buf_reserve(struct buf *buf, size_t extra);
void buf_put(struct buf *buf, const void *bytes, size_t size);
static inline void buf_put_byte(struct buf *buf, int byte)
{
    if (buf->capacity - buf->size < 2)
        buf_reserve(buf, 1);
    buf->data[buf->size++] = (char)byte;
    buf->data[buf->size] = '\0';
}
void buf_put_text(struct buf *buf, const char *text);
void buf_put_slice(struct buf *buf, struct slice slice);
void buf_printf(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buf_put_varint(struct buf *buf, uint64_t value);
void buf_put_signed(struct buf *buf, int64_t value);
void buf_put_string(struct buf *buf, struct slice text);
static inline struct slice buf_slice(const struct buf *buf)
{
    return (struct slice){buf->data ? buf->data : "", buf->size};
}

/* Takes values from untrusted bytes.  The first value that is cut off or too
 * long sets `failed`; from then on everything taken is zero or empty, so a
 * decoder may check once at the end of a record. */
struct reader {
    const unsigned char *data;
    size_t size;
    size_t at;
    bool failed;
};

static inline struct reader reader_of(const void *data, size_t size)
{
    return (struct reader){data, size, 0, false};
}
uint64_t read_varint(struct reader *reader);
uint32_t read_u32(struct reader *reader); /* fails above UINT32_MAX */
int64_t read_signed(struct reader *reader);
struct slice read_string(struct reader *reader);
const void *read_bytes(struct reader *reader, size_t size);
/* A count of things that take at least `each` bytes: fails when the rest of
 * the input cannot hold them, so that a decoder may allocate by it. */
size_t read_count(struct reader *reader, size_t each);

#endif
