/* Scripts that are written without spaces between words. */
#ifndef MEMORY_LEXICAL_SCRIPT_H
#define MEMORY_LEXICAL_SCRIPT_H

#include <stdint.h>

enum script {
    SCRIPT_SPACED,
    SCRIPT_CJK,      /* Han, Hiragana, Katakana, Bopomofo, Hangul */
    SCRIPT_CJK_SIGN, /* their punctuation: no text goes on through it */
};

/* No character of the last two has a smaller first byte in UTF-8. */
enum { CJK_MIN_BYTE = 0xE1 };

enum script script_of(uint32_t code_point);

#endif
