/* Evidence for what a model wrote, located afterwards.
 *
 * A sentence stands when a place of the passages, a sentence and the ones beside it,
 * holds it: its numbers, names and options, its words that turn a meaning round
 * ("not", "only", "disable"), and most of its other words, neighbours among them as
 * neighbours there: true words put together anew say what no one wrote.  Words of the
 * question are no evidence, and need none but where they name something or are quoted:
 * an option that is asked for stands near, or in the section's title.
 *
 * This is a comparison of words, not of meanings. */
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

/* Counts the words of a text that claim something: which the question has not and that
 * are no common ones, a number or name for more than one, and negations. */
size_t evidence_claims(struct evidence_index *index, struct slice text);

/* The share of the question's words, by weight, that a text has; 1: the question has
 * none. */
double evidence_asked(struct evidence_index *index, struct slice text);

#endif
