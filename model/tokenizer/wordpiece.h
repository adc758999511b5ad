/* WordPiece: a word becomes the longest token that it begins with, then the
 * longest that goes on, and so on; unknown as a whole when that fails. */
#ifndef MODEL_TOKENIZER_WORDPIECE_H
#define MODEL_TOKENIZER_WORDPIECE_H

#include "model/tokenizer/bpe.h"

struct wordpiece {
    const struct vocabulary *vocabulary;
    int32_t unknown;
    size_t max; /* characters; a longer word is unknown */
};

void wordpiece_encode(const struct wordpiece *wordpiece, struct slice word,
                      struct ids *ids);

#endif
