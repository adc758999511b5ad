/* Evidence for what a model wrote, located afterwards.
 *
 * A sentence stands when a place of the passages holds it: its numbers, names and
 * options, its words that turn a meaning round ("not", "only", "disable"), and most
 * of its other words.  Words of the question need no evidence, and are none.
 *
 * This is a comparison of words, not of meanings: it notices a changed number, name,
 * option or negation, and what the passages say nothing of; it does not notice true
 * words put together wrongly. */
#ifndef DAEMON_ANSWER_EVIDENCE_H
#define DAEMON_ANSWER_EVIDENCE_H

#include "daemon/answer/cite.h"

struct evidence_index;

/* Reads the sources, which must outlive the index, and the question. */
struct evidence_index *evidence_index_new(const struct cite_source *sources,
                                          size_t count, struct slice question);
void evidence_index_free(struct evidence_index *index); /* NULL: ok */

struct evidence {
    size_t source;
    const struct block *block;
    struct slice place; /* of the block's text: what a person would cut out */
};

/* Finds the place that holds a sentence, or, if `code`, a piece of code. */
bool evidence_find(struct evidence_index *index, struct slice sentence,
                   bool code, struct evidence *ret);

/* Tells whether a text claims anything: it has a word that the question has not and
 * that is no common one, or a number. */
bool evidence_is_claim(struct evidence_index *index, struct slice text);

#endif
