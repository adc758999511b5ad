/* Units within a block's text: the paragraph, item, definition with its term, row, or
 * piece of code around a passage, and what texts lead on from one block to the next. */
#ifndef DAEMON_ANSWER_UNIT_TEXT_H
#define DAEMON_ANSWER_UNIT_TEXT_H

#include "memory/routing/passage.h"

enum {
    UNIT_PROSE = 900, /* bytes of a paragraph that is quoted whole */
    UNIT_CODE = 1500  /* bytes of a piece of code */
};

struct unit {
    uint32_t block; /* index in the node's content */
    struct slice text;
    unsigned cut; /* enum passage_cut */
};

/* Returns the unit of a block's text that holds `size` bytes from `at` on: the
 * paragraph, item, definition with its term, or piece of code; of a long one the
 * sentences, or the statement, around it.  Of no bytes it may be empty.  `block` is not
 * set. */
struct unit unit_within(const struct block *block, size_t at, size_t size);

/* Returns as much of a block from its beginning on as fits: whole, or so many lines,
 * or sentences. */
struct unit unit_beginning(const struct block *block);

/* Returns the rows of a table that are headers; the text is empty where none are. */
struct unit unit_head(const struct block *table);

/* Whether it ends as a sentence does, closed brackets and quotes apart; of other
 * scripts it is not told: true. */
bool unit_ends_sentence(struct slice text);

/* Whether it begins as the middle of a sentence does. */
bool unit_goes_on(struct slice text);

/* Whether it says, in English and without a colon, that what it tells of stands below it:
 * in its last sentence ("as follows."), or, of a table, in any ("The following fields are
 * known.  All are bytes."). */
bool unit_announces(struct slice text, int kind);

/* A list, or terms with what they mean: each line of it is one. */
bool unit_is_items(const struct block *block);

/* Whether preformatted text is sentences, as where a whole page is preformatted. */
bool unit_is_prose(struct slice text);

#endif
