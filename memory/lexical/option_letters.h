/* Options of one letter, which its case tells apart: "-c" and "-C".  Terms are in lower
 * case, so that both are found by either. */
#ifndef MEMORY_LEXICAL_OPTION_LETTERS_H
#define MEMORY_LEXICAL_OPTION_LETTERS_H

#include <stddef.h>

#include "base/buf.h"

enum { OPTION_LETTERS = 2 * 26 };

struct option_letters {
    char letters[OPTION_LETTERS]; /* [count], each once */
    size_t count;
};

/* Those that a question names, as they are written there; not those that it names in both
 * cases, and none of a question in capitals alone, which is written without an eye to
 * them. */
struct option_letters option_letters_of(struct slice question);

enum option_letter {
    OPTION_LETTER_NONE,  /* the text has the option in neither case */
    OPTION_LETTER_OTHER, /* in the other case alone */
    OPTION_LETTER_SAME
};

enum option_letter option_letter_in(struct slice text, char letter);

#endif
