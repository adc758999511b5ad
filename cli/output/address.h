/* Addresses of places in a manual, for browsers and editors. */
#ifndef CLI_OUTPUT_ADDRESS_H
#define CLI_OUTPUT_ADDRESS_H

#include <stdint.h>

#include "base/buf.h"

/* file:///path#anchor; without an anchor (NULL or "") a text fragment,
 * #:~:text=..., of the first words of `text`, if there are any. */
void address_put_url(struct buf *out, const char *file, const char *anchor,
                     const char *text);

/* Runs `command`, words separated by spaces, with `%s` in it replaced by
 * `argument`, or else `argument` as its last word; waits.  `before` (NULL:
 * none) is a word put before the argument.  Returns the exit status, 127 when
 * it could not be started. */
int address_run(const char *command, const char *before, const char *argument);

#endif
