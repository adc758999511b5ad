/* Memory of the tree builder: taken in the order of the page, and given back in
 * about the same order while its tree is copied, so that never more than one
 * of the two trees is there whole.
 *
 * It lies in chunks, each aligned to its size, that count what is in use:
 *
 *   | chunk | 16 bytes, or more, of the first | ... of the second | ...
 *
 * A chunk goes back to the system with the last of its pieces. */
#ifndef INDEXER_PARSE_HTML_DOM_SCRATCH_H
#define INDEXER_PARSE_HTML_DOM_SCRATCH_H

#include <stddef.h>

struct scratch {
    struct scratch_chunk *all, *now;
};

void *scratch_take(struct scratch *scratch, size_t size);
void scratch_give(struct scratch *scratch, void *piece); /* NULL: nothing */
void scratch_free(struct scratch *scratch);

#endif
