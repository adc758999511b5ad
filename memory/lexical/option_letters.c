#include "memory/lexical/option_letters.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The letter of an option that begins at text[at]; 0: none does. */
static char option_at(struct slice text, size_t at)
{
    const char *data = text.data;
    if (at + 1 >= text.size || data[at] != '-' || !is_letter(data[at + 1]))
        return 0;
    bool begins = !at || strchr(" \t\n([{,|/\"'`", data[at - 1]) ||
                  (unsigned char)data[at - 1] >= 128;
    char behind = at + 2 < text.size ? data[at + 2] : ' ';
    bool ends = !is_letter(behind) && !strchr("-_0123456789", behind);
    return begins && ends ? data[at + 1] : 0;
}

struct option_letters option_letters_of(struct slice question)
{
    struct option_letters found = {0};
    for (size_t at = 0; at < question.size; at++) {
        char letter = option_at(question, at);
        if (letter && found.count < OPTION_LETTERS_MAX &&
            option_letter_in(question, (char)(letter ^ ('a' ^ 'A'))) !=
                OPTION_LETTER_SAME)
            found.letters[found.count++] = letter;
    }
    return found;
}

enum option_letter option_letter_in(struct slice text, char letter)
{
    enum option_letter found = OPTION_LETTER_NONE;
    for (size_t at = 0; at < text.size; at++) {
        const char *dash = memchr(text.data + at, '-', text.size - at);
        if (!dash)
            break;
        at = (size_t)(dash - text.data);
        char own = option_at(text, at);
        if (own == letter)
            return OPTION_LETTER_SAME;
        if (own && (own ^ letter) == ('a' ^ 'A'))
            found = OPTION_LETTER_OTHER;
    }
    return found;
}

enum option_letter option_letters_in(struct slice text,
                                     const struct option_letters *options)
{
    enum option_letter found = OPTION_LETTER_NONE;
    for (size_t i = 0; i < options->count; i++) {
        enum option_letter one = option_letter_in(text, options->letters[i]);
        found = one > found ? one : found;
    }
    return found;
}
