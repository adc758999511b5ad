/* Options of one letter, which its case tells apart: "-c" and "-C".  Terms are in lower
 * case, so that both are found by either. */
#ifndef MEMORY_LEXICAL_OPTION_LETTERS_H
#define MEMORY_LEXICAL_OPTION_LETTERS_H

#include <stddef.h>

#include "base/buf.h"

enum { OPTION_LETTERS_MAX = 8 };

/* That a question names, as they are written there; not those that it names in both
 * cases. */
struct option_letters {
    char letters[OPTION_LETTERS_MAX]; /* [count] */
    size_t count;
};

struct option_letters option_letters_of(struct slice question);

enum option_letter {
    OPTION_LETTER_NONE,  /* the text has the option in neither case */
    OPTION_LETTER_OTHER, /* in the other case alone */
    OPTION_LETTER_SAME
};

enum option_letter option_letter_in(struct slice text, char letter);

/* The same of several: the same of any, else the other of any. */
enum option_letter option_letters_in(struct slice text,
                                     const struct option_letters *options);

#endif
