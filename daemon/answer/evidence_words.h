/* What a word of a sentence is to its evidence: which must stand there, which turn the
 * meaning round. */
#ifndef DAEMON_ANSWER_EVIDENCE_WORDS_H
#define DAEMON_ANSWER_EVIDENCE_WORDS_H

#include "memory/lexical/analyze.h"

enum evidence_class {
    TERM_WORD,
    TERM_STRICT, /* a number, a name, an option: it must stand there */
    TERM_POLAR,  /* it turns a meaning round: it must stand there */
    TERM_NOT     /* a negation */
};

/* Its enum evidence_class. */
int evidence_class(const struct term_at *at);

/* Whether it tells only what kind of thing is named ("the option -j"). */
bool evidence_is_kind(struct slice word);

/* The stem of what says the opposite of a stem ("true", "fals"); NULL: none. */
const char *evidence_opposite(struct slice stem);

bool evidence_has_digit(struct slice word);

/* Whether it has no letter. */
bool evidence_is_number(struct slice word);

#endif
