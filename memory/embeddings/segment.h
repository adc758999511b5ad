/* Segments: a node's text cut into pieces of at most L tokens (H2MT eq. 1).
 *
 * The text of a node is its title, a newline, and its blocks separated by an
 * empty line; a node without blocks is its title alone.  It is cut at block
 * boundaries first, at ends of lines and sentences next, inside a sentence only
 * when that alone is longer than L; never inside a line of code or a row of a
 * table: one that is longer is a segment by itself, of which the encoder reads
 * the first L tokens.  The title stands in the first segment alone. */
#ifndef MEMORY_EMBEDDINGS_SEGMENT_H
#define MEMORY_EMBEDDINGS_SEGMENT_H

#include "memory/embeddings/embedder.h"
#include "tree/tree.h"

struct segment {
    uint32_t from, to; /* bytes of the node's text */
    uint32_t tokens;
    struct hash128 text; /* of these bytes */
};

struct segments {
    struct segment *items; /* [count], at least 1 */
    size_t count;
};

/* Appends the text of a node (of a file's tree). */
void segment_text(const struct node *node, struct buf *ret);

/* Cuts `node` into segments of at most `max` tokens.  `words`: as in embedder_facts;
 * fewer texts are tokenized for the same segments.  Free with segments_free. */
int segment_node(const struct node *node, size_t max, bool words,
                 const struct embedder *embedder, struct segments *ret,
                 struct err *err);
void segments_free(struct segments *segments);

/* As kept in the store. */
void segments_encode(const struct segments *segments, struct buf *ret);
int segments_decode(struct slice bytes, struct segments *ret, struct err *err);

#endif
