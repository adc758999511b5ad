#include "daemon/grep/grep_text.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

static bool reads_otherwise(struct slice text)
{
    size_t at = 0, step;
    while ((at += text_ascii_run(text.data, text.size, at)) < text.size) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        if (text_is_invisible(c) || text_ligature(c))
            return true;
        at += step;
    }
    return false;
}

static void put(struct grep_text *read, struct slice bytes, size_t from,
                size_t to)
{
    size_t count = read->bytes.size + bytes.size;
    MEM_RESERVE(read->from, &read->from_capacity, count);
    MEM_RESERVE(read->to, &read->to_capacity, count);
    for (size_t i = read->bytes.size; i < count; i++) {
        read->from[i] = (uint32_t)from;
        read->to[i] = (uint32_t)to;
    }
    buf_put_slice(&read->bytes, bytes);
}

bool grep_text_read(struct grep_text *read, struct slice text)
{
    if (text.size > UINT32_MAX || !reads_otherwise(text))
        return false;
    buf_clear(&read->bytes);
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t c = text_decode(text.data, text.size, at, &step);
        const char *letters = text_ligature(c);
        if (!text_is_invisible(c))
            put(read,
                letters ? slice_of(letters)
                        : (struct slice){text.data + at, step},
                at, at + step);
    }
    return true;
}

void grep_text_free(struct grep_text *read)
{
    buf_free(&read->bytes);
    free(read->from);
    free(read->to);
    *read = (struct grep_text){0};
}
