/* Late interaction (ColBERT; Khattab and Zaharia 2020, section 3.3): a question is held
 * against the vector of each token of a text, not against one of them all.
 *
 *   match(q, t) = 1/|q| sum over tokens i of q of max over tokens j of t of <q_i, t_j>
 *
 * A text's tokens are kept as codes of one bit a value: the vector is turned by a fixed
 * rotation, which spreads what it says evenly, and of each value the sign is kept
 * (RaBitQ; Gao and Long 2024, section 3.1).  A question's tokens are turned the same way and
 * kept in 4 bits a value.  What comes out is about .8 of the cosine, for all alike.
 *
 * The rotation is the same everywhere and needs no training: codes made on one machine
 * can be compared with questions asked on another. */
#ifndef MEMORY_VECTORS_TOKEN_CODES_H
#define MEMORY_VECTORS_TOKEN_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TOKEN_MAX_WIDTH = 4096,
    TOKEN_CODES_VERSION =
        1 /* changes with the codes, or with which tokens have one
                               (memory/embeddings/telling_tokens.h) */
};

/* Bytes of a token's code; `width` at most TOKEN_MAX_WIDTH. */
size_t token_code_size(size_t width);

/* Appends the codes of `vectors` [count, width], each of length 1. */
void token_codes_put(const float *vectors, size_t count, size_t width,
                     struct buf *ret);

struct token_query;

/* vectors [count, width], each of length 1; they are not kept. */
struct token_query *token_query_new(const float *vectors, size_t count,
                                    size_t width);
void token_query_free(struct token_query *query); /* NULL: ok */

/* How near the tokens of one text come, which may be kept in several pieces: begun by
 * token_match_start, best [count] of the query. */
void token_match_start(const struct token_query *query, float *best);
/* `codes`: of tokens, one after the other; what is left at the end is passed over. */
void token_match_add(const struct token_query *query, struct slice codes,
                     float *best);
/* match(q, t) of all that was added; less than -1: nothing was. */
double token_match_end(const struct token_query *query, const float *best);
size_t token_query_count(const struct token_query *query);

#endif
