/* The sentences of a block, as they may be quoted: each within its line, cell or
 * item. */
#ifndef MEMORY_LEXICAL_SENTENCES_H
#define MEMORY_LEXICAL_SENTENCES_H

#include "tree/tree.h"

/* The line (of a table: cell) of the block's text that begins at *at, which moves
 * behind its end; maybe empty.  The text is done when *at is its size, or more. */
struct slice sentences_line(const struct block *block, size_t *at);

/* The line without what is no part of it: of a list, or a definition, the mark
 * of its item. */
struct slice sentences_unmarked(const struct block *block, struct slice line);

/* The text from *at to the next blank line, or, when that is far, a line's end; *at
 * moves behind the blank lines. */
struct slice sentences_piece(struct slice text, size_t *at);

/* End of the sentence that starts at `from`: after a full stop, question or
 * exclamation mark that white space and no small letter follows. */
size_t sentence_end(struct slice line, size_t from);

/* Returns where the sentence after the one that ends at `end` starts; the line's
 * size: there is none. */
size_t sentence_next(struct slice line, size_t end);

#endif
