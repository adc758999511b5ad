/* Added tokens: matched as a whole, wherever they stand, before the rest of
 * the text is tokenised.  Leftmost first, of those that start together the
 * longest. */
#ifndef MODEL_TOKENIZER_ADDED_H
#define MODEL_TOKENIZER_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct added_token {
    struct slice text; /* belongs to the set */
    int32_t id;
    bool single_word; /* not within a word */
    bool left_strip;  /* takes the white space before it */
    bool right_strip; /* and after it */
};

struct added_set {
    struct added_token *tokens; /* sorted by first byte, then longest first */
    size_t count, capacity;
    uint32_t
        first[257]; /* tokens starting with byte b: [first[b], first[b+1]) */
};

/* Copies the text, which must not be empty; then added_seal, then added_split. */
void added_put(struct added_set *set, struct added_token token);
void added_seal(struct added_set *set);
void added_free(struct added_set *set);

/* Calls part(context, id, text) for each token found (its id; text is empty)
 * and each text between (id -1), in order; stops at the first result that is
 * not 0 and returns it. */
int added_split(const struct added_set *set, struct slice text,
                int (*part)(void *context, int32_t id, struct slice text),
                void *context);

#endif
