/* Lines out of a stream of bytes. */
#ifndef DAEMON_NET_LINE_READER_H
#define DAEMON_NET_LINE_READER_H

#include "base/buf.h"
#include "base/err.h"

/* Zero-initialise it; free with line_reader_free. */
struct line_reader {
    struct buf bytes;
    size_t taken;    /* bytes of lines that were given out */
    size_t searched; /* up to here there is no end of a line */
    size_t blank; /* bytes of blank lines since the last that was given out */
};

void line_reader_put(struct line_reader *line_reader, const char *bytes,
                     size_t size);

/* 1 and a line without its end, valid until the next call on `frames`; 0: no
 * whole line yet; ERR_LIMIT: the line has more than `most` bytes, or those that
 * hold nothing but white space, which are left out, have more one after the
 * other. */
int line_reader_next(struct line_reader *line_reader, size_t max,
                     struct slice *ret_line, struct err *err);

/* Bytes of a line whose end has not come. */
size_t line_reader_rest(const struct line_reader *line_reader);

void line_reader_free(struct line_reader *line_reader);

#endif
