/* Texts that end an answer, found while it is written: across the tokens that
 * they come in, and before anybody saw a part of them. */
#ifndef DAEMON_ENGINE_STOP_SEQUENCES_H
#define DAEMON_ENGINE_STOP_SEQUENCES_H

#include "base/buf.h"

struct stop_sequences {
    const struct slice *items; /* [count], none empty */
    size_t count;
};

/* Returns how many bytes of `text` may be shown when the first `shown` were
 * and the text may go on: all before the first stop, and *ret_found; without
 * one all but an end that may begin one. */
size_t stop_sequences_look(const struct stop_sequences *stops,
                           struct slice text, size_t shown, bool *ret_found);

#endif
