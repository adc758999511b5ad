/* Answers that can only copy.
 *
 *     answer      = " Not in these passages." | span { span }
 *     span        = " " TEXT " [N]"
 *
 * TEXT is, byte for byte, what stands in one line of a passage, cell or item, from
 * where a sentence begins to where one ends (of a short piece of code: from the
 * beginning of a line to the end of that or a later one), and N is the passage's
 * number.  Each of these sentences begins where the passage says that they may.
 * The first " " of a span may be missing, and no two begin at the same place.
 *
 * It goes by bytes, so that tokens may be cut in any way, also within
 * characters.  It holds all places that what was written may be at: where two
 * sentences begin alike, both, until they differ.
 *
 * A sentence of more than 480 bytes is not begun: it would be cut.  Texts without
 * words are no claims, so no span begins with one; lines with what
 * looks like a citation ("see [1]") would be read as having one, and are left
 * out. */
#ifndef DAEMON_ANSWER_EXTRACTIVE_H
#define DAEMON_ANSWER_EXTRACTIVE_H

#include "tree/tree.h"

/* Sentences of which a part lies from byte `from` of block `first` to byte `to`
 * of block `last` may begin. */
struct copying_passage {
    const struct block *blocks;
    size_t first, last, from, to;
};

struct copying;

/* Passage i is numbered i + 1.  The texts are not needed afterwards. */
struct copying *copying_open(const struct copying_passage *passages,
                             size_t count);
void copying_close(struct copying *copying); /* NULL: ok */

/* Whether the answer may go on with these bytes; never with none.  Nothing
 * from here on allocates. */
bool copying_allows(struct copying *copying, struct slice bytes);

/* Whether with these bytes the answer becomes the abstention, where it might have
 * become a span. */
bool copying_abstains(struct copying *copying, struct slice bytes);

/* How many bytes there is but one way on for, within a sentence. */
size_t copying_certain(const struct copying *copying);

/* They are written.  What is not allowed is none of the answer. */
void copying_take(struct copying *copying, struct slice bytes);

/* Whether the answer is whole as it is. */
bool copying_may_end(const struct copying *copying);

#endif
