/* Which option a title names, and which a question asks about. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "daemon/answer/card.h"

enum { MIN_NAME = 3, MAX_WORDS = 64, MAX_NAME = 80 };

struct words {
    struct slice items[MAX_WORDS];
    size_t count;
};

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || strchr("_-.:$/+", c) != NULL ||
           (unsigned char)c >= 128;
}

/* The words of a text, without the marks around them. */
static void split(struct slice text, struct words *words)
{
    for (size_t at = 0; at < text.size && words->count < MAX_WORDS;) {
        size_t from = at;
        while (at < text.size && is_of_word(text.data[at]))
            at++;
        size_t end = at;
        while (end > from && strchr(".:/", text.data[end - 1]))
            end--;
        if (end > from)
            words->items[words->count++] =
                (struct slice){text.data + from, end - from};
        at += at == from;
    }
}

static bool same_char(char a, char b)
{
    bool joins = strchr("_- ", a) && strchr("_- ", b);
    return joins || tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Options of one letter are told apart by its case. */
static bool same_word(struct slice a, struct slice b)
{
    if (a.size != b.size)
        return false;
    if (a.size == 2 && a.data[0] == '-')
        return slice_equal(a, b);
    for (size_t i = 0; i < a.size; i++)
        if (!same_char(a.data[i], b.data[i]))
            return false;
    return true;
}

static bool has_word(const struct words *words, const char *const *list)
{
    for (; *list; list++)
        for (size_t i = 0; i < words->count; i++)
            if (words->items[i].size == strlen(*list) &&
                !strncasecmp(words->items[i].data, *list, strlen(*list)))
                return true;
    return false;
}

/* ---- Titles ---- */

/* "(integer)", "(floating point)": the type of a setting; no arguments. */
static bool is_type(struct slice brackets)
{
    for (size_t i = 1; i + 1 < brackets.size; i++)
        if (!islower((unsigned char)brackets.data[i]) &&
            brackets.data[i] != ' ')
            return false;
    return brackets.size > 4 && brackets.data[brackets.size - 1] == ')';
}

/* What calls it, before arguments; empty: it is called as a function. */
static struct slice name_in(struct slice title)
{
    size_t end = 0;
    if (title.size > 3 && title.data[0] == '%')
        return (struct slice){0};
    while (end < title.size && !strchr("<[({=|", title.data[end]))
        end++;
    if (end < title.size && title.data[end] == '(' &&
        !is_type((struct slice){title.data + end, title.size - end}))
        return (struct slice){0};
    while (end && strchr(" :", title.data[end - 1]))
        end--;
    return (struct slice){title.data, end};
}

/* Whether a name is no word of the language but made for a program. */
enum making {
    MADE_NOT,
    MADE_BY_CAPITALS, /* HISTSIZE, SelectType: nobody writes it otherwise */
    MADE_BY_SIGNS     /* max_wal_size, --verify-data, $ModDir */
};

static enum making making_of(struct slice name)
{
    enum making making = MADE_NOT;
    for (size_t i = 0; i < name.size; i++) {
        if (strchr("_-.$0123456789", name.data[i]))
            return MADE_BY_SIGNS;
        if (isupper((unsigned char)name.data[i]) && i)
            making = MADE_BY_CAPITALS;
    }
    return making;
}

/* Where the words of `name` stand in the question, one after another; their number, 0:
 * they do not.  A name in one word may be asked for in several. */
static size_t find_name(const struct words *question, struct slice name,
                        size_t *ret_at)
{
    for (size_t at = 0; at < question->count; at++)
        for (size_t n = 1; n <= 5 && at + n <= question->count; n++) {
            struct slice last = question->items[at + n - 1];
            struct slice run = {
                question->items[at].data,
                (size_t)(last.data + last.size - question->items[at].data)};
            if (run.size <= MAX_NAME && same_word(run, name)) {
                *ret_at = at;
                return n;
            }
        }
    return 0;
}

/* ---- Questions ---- */

/* Two things are set side by side. */
static const char *const comparing[] = {
    "vs", "versus", "difference", "compare", "between", "differ", NULL};
/* A word of the language is meant as an option's name. */
static const char *const naming[] = {
    "option",   "options", "setting", "parameter",  "directive",
    "variable", "keyword", "default", "flag",       "defaults",
    "value",    "values",  "meaning", "parameters", NULL};

/* Does the question name something else that was made for a program? */
static bool names_another(const struct words *question, size_t from,
                          size_t count)
{
    for (size_t i = 0; i < question->count; i++) {
        struct slice word = question->items[i];
        bool other = i < from || i >= from + count;
        if (other && word.size > MIN_NAME &&
            (memchr(word.data, '_', word.size) ||
             memchr(word.data, '.', word.size) || word.data[0] == '$' ||
             (word.data[0] == '-' && word.data[1] == '-')))
            return true;
    }
    return false;
}

/* A word of the language, as "server", may be in a question that is about something
 * else, unless it is called an option there or stands first and alone: "retries: ...". */
static bool is_meant(const struct words *question, struct slice name, size_t at,
                     size_t count)
{
    struct slice first = question->items[at];
    if (making_of(name) == MADE_BY_SIGNS || question->count == count)
        return true;
    if (making_of(name) == MADE_BY_CAPITALS)
        return !memcmp(first.data, name.data, name.size);
    return count > 1 || has_word(question, naming) ||
           (!at && first.data[first.size] == ':');
}

static bool is_named(const struct words *question, struct slice name)
{
    size_t at = 0, count = 0;
    if (name.size >= MIN_NAME || (name.size && name.data[0] == '-'))
        count = find_name(question, name, &at);
    return count && is_meant(question, name, at, count) &&
           !names_another(question, at, count);
}

/* The next of the names that a title lists: "-a, --all". */
static struct slice next_name(struct slice title, size_t *at)
{
    size_t from = *at, depth = 0;
    size_t end = from;
    for (; end < title.size; end++) {
        char c = title.data[end];
        depth += strchr("<[({", c) != NULL;
        depth -= depth && strchr(">])}", c) ? 1 : 0;
        if (c == ',' && !depth && end + 1 < title.size &&
            title.data[end + 1] == ' ')
            break;
    }
    *at = end + 2;
    return name_in((struct slice){title.data + from, end - from});
}

bool card_is_asked(const char *question, const struct node *outlined)
{
    struct words words = {0};
    split(slice_of(question), &words);
    if (has_word(&words, comparing))
        return false;
    for (size_t at = 0; at < outlined->title.size;) {
        struct slice name = next_name(outlined->title, &at);
        if (name.size && (outlined->entry || making_of(name)) &&
            is_named(&words, name))
            return true;
    }
    return false;
}

bool card_same_name(struct slice title, struct slice other)
{
    size_t a = 0, b = 0;
    struct slice one = next_name(title, &a), two = next_name(other, &b);
    return one.size && same_word(one, two);
}
