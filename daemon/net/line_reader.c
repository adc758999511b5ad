#include "daemon/net/line_reader.h"

/* The given-out part goes only when it is most of the buffer, so that many
 * short lines in one read cost no more than one long one. */
static void compact(struct line_reader *line_reader)
{
    if (line_reader->taken == line_reader->bytes.size) {
        buf_clear(&line_reader->bytes);
    } else if (line_reader->taken > line_reader->bytes.size / 2) {
        line_reader->bytes.size -= line_reader->taken;
        memmove(line_reader->bytes.data,
                line_reader->bytes.data + line_reader->taken,
                line_reader->bytes.size);
    } else {
        return;
    }
    line_reader->searched -= line_reader->taken;
    line_reader->taken = 0;
}

void line_reader_put(struct line_reader *line_reader, const char *bytes,
                     size_t size)
{
    compact(line_reader);
    buf_put(&line_reader->bytes, bytes, size);
}

static bool is_blank(struct slice line)
{
    for (size_t i = 0; i < line.size; i++)
        if (!strchr(" \t\r", line.data[i]))
            return false;
    return true;
}

static int too_long(size_t max, struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "a request may have %zu bytes; this one has more", max);
}

int line_reader_next(struct line_reader *line_reader, size_t max,
                     struct slice *ret_line, struct err *err)
{
    const struct buf *bytes = &line_reader->bytes;
    while (line_reader->searched < bytes->size) {
        const char *from = bytes->data + line_reader->searched;
        const char *end =
            memchr(from, '\n', bytes->size - line_reader->searched);
        line_reader->searched = end ? (size_t)(end - bytes->data) : bytes->size;
        struct slice line = {bytes->data + line_reader->taken,
                             line_reader->searched - line_reader->taken};
        if (line.size > max)
            return too_long(max, err);
        if (!end)
            return 0;
        line_reader->taken = ++line_reader->searched;
        if (!is_blank(line)) {
            line_reader->blank = 0;
            *ret_line = line;
            return 1;
        }
        line_reader->blank += line.size + 1;
        if (line_reader->blank > max)
            return too_long(max, err);
    }
    return 0;
}

size_t line_reader_rest(const struct line_reader *line_reader)
{
    return line_reader->bytes.size - line_reader->taken;
}

void line_reader_free(struct line_reader *line_reader)
{
    buf_free(&line_reader->bytes);
    *line_reader = (struct line_reader){0};
}
