#include "memory/lexical/option_letters.h"

#include <string.h>

#include "base/text.h"

/* A text in capitals alone, of so many words, is not written with an eye to case. */
enum { MIN_SHOUTED = 2 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char other_case(char letter)
{
    return (char)(letter ^ ('a' ^ 'A'));
}

/* Has a sign, or nothing, before the option at `at`? */
static bool begins(struct slice text, size_t at)
{
    static const char signs[] = " \t\r\n([{,|/\"'`";
    size_t step;
    if (!at)
        return true;
    if ((unsigned char)text.data[at - 1] < 0x80)
        return memchr(signs, text.data[at - 1], sizeof signs - 1);
    return !text_is_letter(text_decode(text.data, text.size,
                                       text_begin(text.data, at - 1), &step));
}

/* Does no name go on at `at`? */
static bool ends(struct slice text, size_t at)
{
    size_t step;
    if (at >= text.size)
        return true;
    uint32_t c = text_decode(text.data, text.size, at, &step);
    return !text_is_letter(c) && !text_is_digit(c) && c != '-' && c != '_';
}

/* The letter of an option that begins at text[at]; 0: none does. */
static char option_at(struct slice text, size_t at)
{
    bool is = at + 1 < text.size && text.data[at] == '-' &&
              is_letter(text.data[at + 1]) && begins(text, at) &&
              ends(text, at + 2);
    return is ? text.data[at + 1] : 0;
}

/* The letter of the first option at or behind *at, which is moved behind it; 0: none. */
static char next_option(struct slice text, size_t *at)
{
    while (*at < text.size) {
        const char *dash = memchr(text.data + *at, '-', text.size - *at);
        if (!dash)
            break;
        *at = (size_t)(dash - text.data) + 1;
        char letter = option_at(text, *at - 1);
        if (letter)
            return letter;
    }
    return 0;
}

/* In capitals alone, as "HOW DO I USE PUMP -C". */
static bool is_shouted(struct slice text)
{
    size_t words = 0;
    for (size_t at = 0; at < text.size; at++) {
        char c = text.data[at];
        bool first = at == 0 || text.data[at - 1] == ' ';
        if ((c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80)
            return false;
        words += first && is_letter(c);
    }
    return words >= MIN_SHOUTED;
}

static bool has(const struct option_letters *options, char letter)
{
    return memchr(options->letters, letter, options->count);
}

struct option_letters option_letters_of(struct slice question)
{
    struct option_letters named = {0}, found = {0};
    size_t at = 0;
    for (char letter; (letter = next_option(question, &at));)
        if (named.count < sizeof named.letters && !has(&named, letter))
            named.letters[named.count++] = letter;
    for (size_t i = 0; i < named.count && !is_shouted(question); i++)
        if (!has(&named, other_case(named.letters[i])))
            found.letters[found.count++] = named.letters[i];
    return found;
}

enum option_letter option_letter_in(struct slice text, char letter)
{
    enum option_letter found = OPTION_LETTER_NONE;
    size_t at = 0;
    for (char own; (own = next_option(text, &at));) {
        if (own == letter)
            return OPTION_LETTER_SAME;
        if (own == other_case(letter))
            found = OPTION_LETTER_OTHER;
    }
    return found;
}
