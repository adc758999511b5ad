#include "daemon/answer/calls.h"

#include <ctype.h>
#include <string.h>

#include "daemon/answer/unit_text.h"

enum { LONGEST = 4000 /* bytes of a signature */ };

/* "rinse" of "rinse() [1/2]", "operator()" of "operator()()". */
static struct slice name_in_title(struct slice title)
{
    static const char call[] = "operator()";
    const size_t least = sizeof call - 1;
    if (title.size >= least && !memcmp(title.data, call, least))
        return (struct slice){title.data, least};
    const char *bracket =
        title.size ? memchr(title.data, '(', title.size) : NULL;
    if (bracket)
        title.size = (size_t)(bracket - title.data);
    while (title.size && title.data[title.size - 1] == ' ')
        title.size--;
    return title;
}

/* Behind the brackets that open at `at`; NULL: none do, or they stay open. */
static const char *behind_brackets(const char *at, const char *end)
{
    size_t open = 0;
    while (at < end && *at == ' ')
        at++;
    if (at == end || *at != '(')
        return NULL;
    for (; at < end; at++) {
        open += *at == '(';
        open -= *at == ')';
        if (!open)
            return at + 1;
    }
    return NULL;
}

static bool is_qualifier(struct slice word)
{
    static const char *const words[] = {
        "const",   "noexcept",  "override", "final",   "volatile", "=",
        "0",       "default",   "delete",   "&",       "&&",       "inline",
        "static",  "constexpr", "explicit", "virtual", "pure",     "protected",
        "private", "nodiscard", "inherited"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_is(word, words[i]))
            return true;
    return false;
}

static bool are_qualifiers(const char *at, const char *end)
{
    while (at < end) {
        const char *from = at;
        while (at < end && *at != ' ')
            at++;
        struct slice word = {from, (size_t)(at - from)};
        if (word.size && !is_qualifier(word))
            return false;
        at += at < end;
    }
    return true;
}

/* No part of a longer name: "rinse" in "rinse_t". */
static bool begins_here(struct slice text, const char *at)
{
    return at == text.data ||
           (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
}

/* Its name and its arguments, behind which no sentence goes on. */
static bool is_signature(struct slice text, struct slice name)
{
    const char *end = text.data + text.size, *at = text.data, *behind;
    while ((at = memmem(at, (size_t)(end - at), name.data, name.size))) {
        behind =
            begins_here(text, at) ? behind_brackets(at + name.size, end) : NULL;
        if (behind && are_qualifiers(behind, end))
            return true;
        at += name.size;
    }
    return false;
}

bool call_is_macro(const struct node *entry, struct slice text)
{
    static const char define[] = "#define ";
    struct slice name = name_in_title(entry->title);
    if (!slice_starts(text, slice_of(define)))
        return false;
    text.data += sizeof define - 1;
    text.size -= sizeof define - 1;
    return name.size && slice_starts(text, name);
}

bool call_is_template(struct slice text)
{
    static const char template[] = "template";
    size_t at = sizeof template - 1;
    if (text.size <= at || memcmp(text.data, template, at) != 0)
        return false;
    at += text.data[at] == ' ';
    return at < text.size && text.data[at] == '<' &&
           text.data[text.size - 1] == '>';
}

bool call_is_shown(const struct node *entry, const struct block *block)
{
    struct slice name = name_in_title(entry->title);
    if (block->kind == BLOCK_CODE)
        return !unit_is_prose(block->text);
    return entry->entry && name.size && block->text.size &&
           block->text.size <= LONGEST &&
           (block->kind == BLOCK_PARAGRAPH ||
            block->kind == BLOCK_DEFINITION) &&
           (call_is_template(block->text) ||
            call_is_macro(entry, block->text) ||
            is_signature(block->text, name));
}
