#include "indexer/parse/outline/exponents.h"

#include <string.h>

enum {
    MAX_DIGITS = 4,
    MAX_UNIT = 3 /* letters: "mm", "kHz"; behind a longer word it is a mark */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Bytes of a sign: '-', '+', U+2212 or U+2013. */
static size_t sign_size(struct slice text)
{
    if (slice_starts(text, slice_of("-")) || slice_starts(text, slice_of("+")))
        return 1;
    return slice_starts(text, slice_of("\u2212")) ||
                   slice_starts(text, slice_of("\u2013"))
               ? strlen("\u2212")
               : 0;
}

static bool is_number(struct slice text)
{
    size_t at = sign_size(text), digits = text.size - at;
    if (!digits || digits > MAX_DIGITS)
        return false;
    while (at < text.size && is_digit(text.data[at]))
        at++;
    return at == text.size;
}

/* Letters that the text ends with, or more than a unit has. */
static size_t last_letters(struct slice text)
{
    size_t count = 0;
    while (count < text.size && count <= MAX_UNIT &&
           is_letter(text.data[text.size - 1 - count]))
        count++;
    return count;
}

/* Does what stands directly before the sign take an exponent, a number or a letter? */
static bool takes(struct slice before, bool number)
{
    char last = before.data[before.size - 1];
    if (is_digit(last) || last == ')' || last == ']')
        return true;
    size_t letters = last_letters(before);
    bool alone =
        letters == before.size ||
        !((unsigned char)before.data[before.size - letters - 1] & 0x80);
    return letters && alone && letters <= (number ? MAX_UNIT : 1);
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool exponents_follow(const struct writer *w, struct slice raised, char next)
{
    bool number = is_number(raised);
    bool letter =
        raised.size == 1 && is_letter(raised.data[0]) && !is_letter(next);
    if ((!number && !letter) || !writer_goes_on(w))
        return false;
    bool name = is_capital(w->text.data[w->text.size - 1]) && is_capital(next);
    return !name && takes(buf_slice(&w->text), number);
}

void exponents_begin(struct writer *w)
{
    writer_sign(w, "^");
}
