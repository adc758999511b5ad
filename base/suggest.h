/* "Did you mean ...?": the known word nearest to a mistyped one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

struct nearest {
    const char *word;  /* what was typed */
    const char *found; /* the nearest word yet, NULL: none is near */
    size_t distance;
};

struct nearest suggest_nearest(const char *word);
void nearest_try(struct nearest *nearest, const char *known);

/* "; did you mean 'X'?" or "": for the end of a message.  Valid until the
 * next call. */
const char *suggest_hint(const struct nearest *nearest);

#endif
