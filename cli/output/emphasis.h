/* Emphasis on a terminal that takes colours: the words of the question, in
 * bold, and places, which are links (OSC 8) to what `lectern open` opens. */
#ifndef CLI_OUTPUT_EMPHASIS_H
#define CLI_OUTPUT_EMPHASIS_H

#include "cli/cli.h"

/* Appends `text` with the words that begin with one of the stems in the result's
 * "terms" in bold. */
void emphasis_put_words(const struct cli *cli, struct buf *out,
                        const char *text, const cJSON *result);

/* Ends bold that was begun since `start` in `out` and is cut off. */
void emphasis_end(struct buf *out, size_t start);

/* Appends the place of a hit, a citation or a section ("file#anchor") as a link. */
void emphasis_put_place(struct cli *cli, struct buf *out, const cJSON *object);

#endif
