#include "memory/lexical/parts.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { MIN_WORDS = 2 };

static const char *const question_words[] = {
    "are",  "can",  "did",   "do",    "does", "how", "is",   "should",
    "what", "when", "where", "which", "who",  "why", "will", "would"};

static size_t skip_space(struct slice text, size_t at)
{
    while (at < text.size && isspace((unsigned char)text.data[at]))
        at++;
    return at;
}

static size_t word_end(struct slice text, size_t at)
{
    while (at < text.size && !isspace((unsigned char)text.data[at]))
        at++;
    return at;
}

static bool is_word(struct slice text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return word_end(text, at) - at == size &&
           !strncasecmp(text.data + at, word, size);
}

static bool is_question_word(struct slice text, size_t at)
{
    size_t count = sizeof question_words / sizeof *question_words, i = 0;
    while (i < count && !is_word(text, at, question_words[i]))
        i++;
    return i < count;
}

/* No more are read than tell. */
static bool has_words(struct slice text)
{
    size_t words = 0;
    for (size_t at = skip_space(text, 0); at < text.size && words < MIN_WORDS;
         at = skip_space(text, word_end(text, at)))
        words++;
    return words == MIN_WORDS;
}

/* Does a part begin with the word at `at`, behind the word that ends at `end`? */
static bool begins_part(struct slice text, size_t end, size_t at)
{
    if (end && strchr("?;", text.data[end - 1]))
        return true;
    if (!is_word(text, at, "and"))
        return false;
    size_t next = skip_space(text, word_end(text, at));
    return next < text.size && is_question_word(text, next);
}

size_t question_parts(struct slice text, struct slice ret[QUESTION_MAX_PARTS])
{
    size_t count = 0, from = skip_space(text, 0), end = 0;
    for (size_t at = from; at < text.size; at = skip_space(text, end)) {
        struct slice before = {text.data + from, end > from ? end - from : 0};
        struct slice rest = {text.data + at, text.size - at};
        if (count + 1 < QUESTION_MAX_PARTS && begins_part(text, end, at) &&
            has_words(before) && has_words(rest)) {
            ret[count++] = before;
            from = at;
        }
        end = word_end(text, at);
    }
    ret[count++] = (struct slice){text.data + from, text.size - from};
    return count;
}
