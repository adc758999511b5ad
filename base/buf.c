#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

void buf_reserve(struct buf *buf, size_t extra)
{
    MEM_RESERVE(buf->data, &buf->capacity, buf->size + extra + 1);
}

void buf_put(struct buf *buf, const void *bytes, size_t size)
{
    buf_reserve(buf, size);
    if (size)
        memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void buf_put_text(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text));
}

void buf_put_slice(struct buf *buf, struct slice slice)
{
    buf_put(buf, slice.data, slice.size);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size > 0) {
        buf_reserve(buf, (size_t)size);
        vsnprintf(buf->data + buf->size, (size_t)size + 1, format, again);
        buf->size += (size_t)size;
    }
    va_end(again);
}

void buf_put_varint(struct buf *buf, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;
    do {
        bytes[size++] =
            (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
    buf_put(buf, bytes, size);
}

void buf_put_signed(struct buf *buf, int64_t value)
{
    uint64_t bits = (uint64_t)value << 1;
    buf_put_varint(buf, value < 0 ? ~bits : bits);
}

void buf_put_string(struct buf *buf, struct slice text)
{
    buf_put_varint(buf, text.size);
    buf_put_slice(buf, text);
}

uint64_t read_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->failed || reader->at == reader->size)
            break;
        uint64_t byte = reader->data[reader->at++];
        uint64_t part = (byte & 127) << shift;
        if (part >> shift != (byte & 127))
            break;
        value |= part;
        if (!(byte & 128))
            return value;
    }
    reader->failed = true;
    return 0;
}

uint32_t read_u32(struct reader *reader)
{
    uint64_t value = read_varint(reader);
    if (value > UINT32_MAX) {
        reader->failed = true;
        return 0;
    }
    return (uint32_t)value;
}

int64_t read_signed(struct reader *reader)
{
    uint64_t bits = read_varint(reader);
    return bits & 1 ? (int64_t) ~(bits >> 1) : (int64_t)(bits >> 1);
}

const void *read_bytes(struct reader *reader, size_t size)
{
    if (reader->failed || size > reader->size - reader->at) {
        reader->failed = true;
        return NULL;
    }
    const void *bytes = reader->data + reader->at;
    reader->at += size;
    return bytes;
}

struct slice read_string(struct reader *reader)
{
    uint64_t size = read_varint(reader);
    const char *data = read_bytes(reader, size);
    return data ? (struct slice){data, size} : (struct slice){"", 0};
}

size_t read_count(struct reader *reader, size_t each)
{
    uint64_t count = read_varint(reader);
    if (reader->failed || count > (reader->size - reader->at) / each) {
        reader->failed = true;
        return 0;
    }
    return count;
}
