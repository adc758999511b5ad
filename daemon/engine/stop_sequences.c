#include "daemon/engine/stop_sequences.h"

#include <string.h>

/* Whether what `text` has from `at` on is `stop`, as far as either goes. */
static bool agrees(struct slice text, size_t at, struct slice stop)
{
    size_t count = text.size - at < stop.size ? text.size - at : stop.size;
    return !memcmp(text.data + at, stop.data, count);
}

size_t stop_sequences_look(const struct stop_sequences *stops,
                           struct slice text, size_t shown, bool *ret_found)
{
    *ret_found = false;
    /* The first place that agrees decides, once the text is long enough. */
    size_t held = text.size;
    for (size_t at = shown; at < text.size; at++)
        for (size_t i = 0; i < stops->count; i++) {
            if (!agrees(text, at, stops->items[i]))
                continue;
            if (text.size - at >= stops->items[i].size) {
                *ret_found = true;
                return at;
            }
            held = at < held ? at : held;
        }
    return held;
}
