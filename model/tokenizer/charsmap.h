/* SentencePiece's precompiled normalisation: a double array (darts-clone's) of
 * byte strings, each with the place of what replaces it. */
#ifndef MODEL_TOKENIZER_CHARSMAP_H
#define MODEL_TOKENIZER_CHARSMAP_H

#include "base/buf.h"
#include "base/err.h"

struct charsmap;

enum { CHARSMAP_MAX_TEXT = 256 /* bytes of a replacement; NFKC needs 33 */ };

/* `base64`: as tokenizer.json has it in "precompiled_charsmap".  ERR_LIMIT when
 * a replacement is longer than CHARSMAP_MAX_TEXT. */
int charsmap_from(struct slice base64, struct charsmap **ret, struct err *err);
/* The same of the bytes themselves. */
int charsmap_from_bytes(struct slice bytes, struct charsmap **ret,
                        struct err *err);
void charsmap_free(struct charsmap *map); /* NULL: ok */

/* Finds what replaces `text`; false: nothing does. */
bool charsmap_find(const struct charsmap *map, struct slice text,
                   struct slice *ret);

#endif
