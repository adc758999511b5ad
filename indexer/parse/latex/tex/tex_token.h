/* Tokens, and lists of them.
 *
 * A token knows where it comes from: a file and a range of its text.  One that
 * stands in the body of a macro has the place where the macro was called, and
 * is marked as made; an argument's tokens keep their own places. */
#ifndef INDEXER_PARSE_LATEX_TEX_TEX_TOKEN_H
#define INDEXER_PARSE_LATEX_TEX_TEX_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The category codes of TeX (The TeXbook, chapter 7), and our own beyond 15. */
enum category {
    CAT_ESCAPE,
    CAT_BEGIN,
    CAT_END,
    CAT_MATH,
    CAT_ALIGN,
    CAT_LINE_END,
    CAT_PARAMETER,
    CAT_SUPER,
    CAT_SUB,
    CAT_IGNORED,
    CAT_SPACE,
    CAT_LETTER,
    CAT_OTHER,
    CAT_ACTIVE,
    CAT_COMMENT,
    CAT_INVALID,
    CAT_NAME,  /* a control sequence or active character; value: its symbol */
    CAT_MATCH, /* in a macro: parameter number `value`, 1..9 */
    CAT_STOP,  /* ends a list that is expanded by itself */
    CAT_NONE   /* the end of all input */
};

enum {
    TOKEN_MADE = 1,
    TOKEN_FROZEN = 2, /* \noexpand */
    TOKEN_NAMED = 4   /* by \csname: \relax, if it is nothing else */
};

struct token {
    uint32_t value; /* code point, or index of a symbol */
    uint8_t cat;    /* enum category */
    uint8_t flags;
    uint16_t file;     /* index of the file */
    uint32_t from, to; /* in the file's text */
};

struct tokens {
    struct token *items; /* [count] */
    size_t count, capacity;
};

void tokens_add(struct tokens *tokens, struct token token);
void tokens_add_all(struct tokens *tokens, const struct token *items,
                    size_t count);
/* The group in braces, which are of `call`'s place. */
void tokens_add_group(struct tokens *tokens, const struct tokens *group,
                      struct token call);
void tokens_free(struct tokens *tokens);

static inline bool token_is(struct token token, int cat, uint32_t value)
{
    return token.cat == cat && token.value == value;
}
static inline bool token_same(struct token a, struct token b)
{
    return a.cat == b.cat && a.value == b.value;
}

#endif
