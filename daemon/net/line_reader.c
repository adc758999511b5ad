#include "daemon/net/line_reader.h"

/* The given-out part goes only when it is most of the buffer, so that many
 * short lines in one read cost no more than one long one. */
static void compact(struct frames *frames)
{
    if (frames->taken == frames->bytes.size) {
        buf_clear(&frames->bytes);
    } else if (frames->taken > frames->bytes.size / 2) {
        frames->bytes.size -= frames->taken;
        memmove(frames->bytes.data, frames->bytes.data + frames->taken,
                frames->bytes.size);
    } else {
        return;
    }
    frames->searched -= frames->taken;
    frames->taken = 0;
}

void frames_put(struct frames *frames, const char *bytes, size_t size)
{
    compact(frames);
    buf_put(&frames->bytes, bytes, size);
}

static bool is_blank(struct slice line)
{
    for (size_t i = 0; i < line.size; i++)
        if (!strchr(" \t\r", line.data[i]))
            return false;
    return true;
}

static int too_long(size_t most, struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "a request may have %zu bytes; this one has more", most);
}

int frames_next(struct frames *frames, size_t most, struct slice *ret_line,
                struct err *err)
{
    const struct buf *bytes = &frames->bytes;
    while (frames->searched < bytes->size) {
        const char *from = bytes->data + frames->searched;
        const char *end = memchr(from, '\n', bytes->size - frames->searched);
        frames->searched = end ? (size_t)(end - bytes->data) : bytes->size;
        struct slice line = {bytes->data + frames->taken,
                             frames->searched - frames->taken};
        if (line.size > most)
            return too_long(most, err);
        if (!end)
            return 0;
        frames->taken = ++frames->searched;
        if (!is_blank(line)) {
            frames->blank = 0;
            *ret_line = line;
            return 1;
        }
        frames->blank += line.size + 1;
        if (frames->blank > most)
            return too_long(most, err);
    }
    return 0;
}

size_t frames_rest(const struct frames *frames)
{
    return frames->bytes.size - frames->taken;
}

void frames_free(struct frames *frames)
{
    buf_free(&frames->bytes);
    *frames = (struct frames){0};
}
