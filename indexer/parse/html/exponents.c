#include "indexer/parse/html/exponents.h"

#include <string.h>

#include "base/text.h"

enum {
    MAX_DIGITS = 4,
    MAX_UNIT = 3,  /* letters: "mm", "kHz"; a longer word has a mark */
    MAX_ABOVE = 3, /* elements from it up to a link */
    MAX_WITHIN = 8 /* nodes in it */
};

static bool is_link(const xmlNode *node)
{
    return dom_is_element(node) && dom_tag(node) == GUMBO_TAG_A;
}

static bool is_in_link(const xmlNode *sup)
{
    const xmlNode *up = sup->parent;
    for (int i = 0; i < MAX_ABOVE && up && dom_is_element(up); i++) {
        if (is_link(up))
            return true;
        up = up->parent;
    }
    return false;
}

/* The one text in it; NULL: none, more, or a link. */
static const struct dom_text *only_text(const xmlNode *sup)
{
    const struct dom_text *only = NULL;
    size_t steps = MAX_WITHIN;
    for (const xmlNode *at = dom_next(sup, sup, false); at;
         at = dom_next(at, sup, false)) {
        if (!steps-- || is_link(at))
            return NULL;
        if (dom_is_element(at) || text_is_blank(dom_text(at)->text))
            continue;
        if (only)
            return NULL;
        only = dom_text(at);
    }
    return only;
}

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

/* Letters that the text ends with. */
static size_t last_letters(struct slice text)
{
    size_t count = 0;
    while (count < text.size && is_letter(text.data[text.size - 1 - count]))
        count++;
    return count;
}

/* What directly before the sign stands takes an exponent, a letter or a number. */
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

/* LaTeX's name is written with a raised letter in it. */
static bool goes_on_in_letters(const xmlNode *sup)
{
    const xmlNode *next = sup->next;
    while (next && dom_is_element(next))
        next = next->children;
    struct slice text = next ? dom_text(next)->text : (struct slice){"", 0};
    return text.size && is_letter(text.data[0]);
}

bool exponents_follow(const struct writer *w, const xmlNode *sup)
{
    const struct dom_text *text = only_text(sup);
    if (!text || !writer_goes_on(w) || is_in_link(sup))
        return false;
    struct slice above = text->text;
    bool number = is_number(above);
    bool letter =
        above.size == 1 && is_letter(above.data[0]) && !goes_on_in_letters(sup);
    return (number || letter) && takes(buf_slice(&w->text), number);
}
