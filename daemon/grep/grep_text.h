/* A text as it is read: without soft hyphens and the like, ligatures as the letters
 * that they draw, and where in the text each byte comes from. */
#ifndef DAEMON_GREP_GREP_TEXT_H
#define DAEMON_GREP_GREP_TEXT_H

#include <stdint.h>

#include "base/buf.h"

struct grep_text { /* begins as zeros, and may be read into again */
    struct buf bytes;
    uint32_t *from, *to; /* [bytes.size] the characters in the text */
    size_t from_capacity, to_capacity;
};

/* False: the text reads as it stands, and nothing was done. */
bool grep_text_read(struct grep_text *read, struct slice text);
void grep_text_free(struct grep_text *read);

#endif
