#include "memory/lexical/script.h"

#include <stddef.h>

struct range {
    uint32_t first, last;
    enum script script;
};

enum script script_of(uint32_t c)
{
    static const struct range ranges[] = {
        {0x1100, 0x11FF, SCRIPT_CJK}, /* Hangul Jamo */
        {0x2E80, 0x2FDF, SCRIPT_CJK}, /* radicals */
        {0x3001, 0x3004, SCRIPT_CJK_SIGN},
        {0x3005, 0x3007, SCRIPT_CJK}, /* iteration, zero */
        {0x3008, 0x3020, SCRIPT_CJK_SIGN},
        {0x3021, 0x3029, SCRIPT_CJK}, /* Hangzhou numerals */
        {0x302A, 0x3040, SCRIPT_CJK_SIGN},
        {0x3041, 0x309F, SCRIPT_CJK}, /* Hiragana */
        {0x30A0, 0x30A0, SCRIPT_CJK_SIGN},
        {0x30A1, 0x30FA, SCRIPT_CJK}, /* Katakana */
        {0x30FB, 0x30FB, SCRIPT_CJK_SIGN},
        {0x30FC, 0x31BF, SCRIPT_CJK}, /* and Bopomofo, Jamo */
        {0x31F0, 0x31FF, SCRIPT_CJK}, /* Katakana extensions */
        {0x3400, 0x4DBF, SCRIPT_CJK}, /* Han */
        {0x4E00, 0x9FFF, SCRIPT_CJK},
        {0xA960, 0xA97F, SCRIPT_CJK},      /* Jamo */
        {0xAC00, 0xD7FF, SCRIPT_CJK},      /* Hangul */
        {0xF900, 0xFAFF, SCRIPT_CJK},      /* Han */
        {0xFF01, 0xFF0F, SCRIPT_CJK_SIGN}, /* wide signs */
        {0xFF1A, 0xFF20, SCRIPT_CJK_SIGN},
        {0xFF3B, 0xFF3E, SCRIPT_CJK_SIGN},
        {0xFF5B, 0xFF65, SCRIPT_CJK_SIGN},
        {0xFF66, 0xFFDC, SCRIPT_CJK},    /* half width */
        {0x1B000, 0x1B16F, SCRIPT_CJK},  /* kana */
        {0x20000, 0x323AF, SCRIPT_CJK}}; /* Han */
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c <= ranges[i].last)
            return c >= ranges[i].first ? ranges[i].script : SCRIPT_SPACED;
    return SCRIPT_SPACED;
}
