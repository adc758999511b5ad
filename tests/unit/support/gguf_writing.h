/* GGUF files for tests, written part by part. */
#ifndef TESTS_UNIT_SUPPORT_GGUF_WRITING_H
#define TESTS_UNIT_SUPPORT_GGUF_WRITING_H

#include "base/buf.h"
#include "base/gguf.h"

static inline void gguf_put_number(struct buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        buf_put_byte(buf, (int)(value >> (8 * i) & 255));
}

static inline void gguf_put_text(struct buf *buf, const char *text)
{
    gguf_put_number(buf, strlen(text), 8);
    buf_put_text(buf, text);
}

static inline void gguf_put_head(struct buf *buf, unsigned version,
                                 uint64_t tensors, uint64_t values)
{
    buf_put_text(buf, "GGUF");
    gguf_put_number(buf, version, 4);
    gguf_put_number(buf, tensors, 8);
    gguf_put_number(buf, values, 8);
}

static inline void gguf_put_key(struct buf *buf, const char *key, uint64_t type)
{
    gguf_put_text(buf, key);
    gguf_put_number(buf, type, 4);
}

static inline void gguf_put_tensor(struct buf *buf, const char *name,
                                   uint64_t columns, uint64_t rows,
                                   uint64_t type, uint64_t offset)
{
    gguf_put_text(buf, name);
    gguf_put_number(buf, rows ? 2 : 1, 4);
    gguf_put_number(buf, columns, 8);
    if (rows)
        gguf_put_number(buf, rows, 8);
    gguf_put_number(buf, type, 4);
    gguf_put_number(buf, offset, 8);
}

static inline void gguf_put_data(struct buf *buf, size_t size)
{
    while (buf->size % 32)
        buf_put_byte(buf, 0);
    for (size_t i = 0; i < size; i++)
        buf_put_byte(buf, (int)(i & 127));
}

#endif
