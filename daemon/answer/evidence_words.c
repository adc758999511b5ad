#include "daemon/answer/evidence_words.h"

static bool is_one_of(const char *const *words, size_t count, struct slice word)
{
    for (size_t i = 0; i < count; i++)
        if (slice_is(word, words[i]))
            return true;
    return false;
}
#define IS_ONE_OF(words, word)                                                 \
    is_one_of(words, sizeof(words) / sizeof *(words), word)

/* "don't" is read as "don" and "t". */
static bool is_negation(struct slice word)
{
    static const char *const words[] = {
        "no",      "not",   "never", "cannot", "without", "none",
        "neither", "nor",   "aren",  "couldn", "didn",    "doesn",
        "don",     "hadn",  "hasn",  "haven",  "isn",     "shouldn",
        "wasn",    "weren", "won",   "wouldn", "unless"};
    return IS_ONE_OF(words, word);
}

static bool is_polar(struct slice word)
{
    static const char *const words[] = {
        "after",     "allow",     "allowed", "allows",   "always",   "before",
        "deny",      "denied",    "disable", "disabled", "disables", "enable",
        "enabled",   "enables",   "exclude", "excluded", "excludes", "false",
        "first",     "forbidden", "ignore",  "ignored",  "include",  "included",
        "includes",  "last",      "less",    "maximum",  "minimum",  "more",
        "mandatory", "must",      "off",     "only",     "optional", "require",
        "required",  "true"};
    return IS_ONE_OF(words, word);
}

const char *evidence_opposite(struct slice stem)
{
    static const char *const pairs[][2] = {
        {"true", "fals"},       {"enabl", "disabl"},  {"befor", "after"},
        {"first", "last"},      {"allow", "deni"},    {"more", "less"},
        {"maximum", "minimum"}, {"includ", "exclud"}, {"on", "off"},
        {"increas", "decreas"}, {"alway", "never"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t side = 0; side < 2; side++)
            if (slice_is(stem, pairs[i][side]))
                return pairs[i][!side];
    return NULL;
}

bool evidence_is_kind(struct slice word)
{
    static const char *const words[] = {
        "argument",  "command", "directive", "example", "feature",  "field",
        "function",  "keyword", "method",    "option",  "options",  "page",
        "parameter", "passage", "section",   "setting", "settings", "statement",
        "syntax",    "tool",    "type",      "value",   "values",   "variable"};
    return IS_ONE_OF(words, word);
}

bool evidence_has_digit(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] >= '0' && word.data[i] <= '9')
            return true;
    return false;
}

/* Words joined by hyphens, as in "up-to-date": not a name. */
static bool is_compound(struct slice word)
{
    for (size_t i = 0; i < word.size; i++) {
        bool letter = (word.data[i] | 32) >= 'a' && (word.data[i] | 32) <= 'z';
        if (!letter && (word.data[i] != '-' || !i))
            return false;
    }
    return true;
}

bool evidence_is_number(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if ((word.data[i] | 32) >= 'a' && (word.data[i] | 32) <= 'z')
            return false;
    return true;
}

int evidence_class(const struct term_at *at)
{
    if (is_negation(at->word))
        return TERM_NOT;
    if (is_polar(at->word))
        return TERM_POLAR;
    if (at->part)
        return TERM_WORD;
    if (evidence_has_digit(at->word) || at->capitals ||
        (at->whole && !is_compound(at->word)))
        return TERM_STRICT;
    return TERM_WORD;
}
