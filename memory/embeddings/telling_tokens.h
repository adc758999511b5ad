/* Which tokens say something of what a text is about: not signs alone, and not the stop
 * words of English that a token is by itself.  They are nearly half of a manual's tokens, and
 * what is found by late interaction without them is the same (docs/log/people.md). */
#ifndef MEMORY_EMBEDDINGS_TELLING_TOKENS_H
#define MEMORY_EMBEDDINGS_TELLING_TOKENS_H

#include "memory/embeddings/embedder.h"

/* What is known of the tokens of an embedder's vocabulary, asked for once each. */
struct telling_tokens {
    const struct embedder *embedder;
    signed char
        *known; /* [capacity] 1: it tells, -1: it does not, 0: not asked yet */
    size_t capacity;
};

/* A token that cannot be spelt counts as telling. */
bool token_tells(struct telling_tokens *tokens, int32_t id);
void telling_tokens_free(struct telling_tokens *tokens);

#endif
