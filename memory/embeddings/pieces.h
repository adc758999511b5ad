/* The tokens of a model without layers, its pieces: each has one vector, wherever it stands.
 * Those of all are kept at hand, in a byte a value (Nib's take 7 MB), so that a question is
 * compared with texts piece by piece without the model. */
#ifndef MEMORY_EMBEDDINGS_PIECES_H
#define MEMORY_EMBEDDINGS_PIECES_H

#include "memory/embeddings/embedder.h"

struct pieces;

/* What the vectors of a model may take: those of 500,000 tokens, 256 wide. */
extern const size_t pieces_max_bytes;

/* Reads the vectors of all tokens of a model that has facts.bag, and must outlive them.
 * The embedder's errors; ERR_LIMIT: they would take more than pieces_max_bytes. */
int pieces_new(const struct embedder *model, struct pieces **ret,
               struct err *err);
struct pieces *pieces_keep(struct pieces *pieces);
void pieces_unref(struct pieces *pieces); /* NULL: ok */

/* Of the model whose vectors they are. */
struct hash128 pieces_model(const struct pieces *pieces);

/* Appends the ids of a text, as the model's `tokenize`, whose errors it has.  Any
 * thread. */
int pieces_cut(struct pieces *pieces, struct slice text, struct embed_ids *ids,
               struct err *err);

/* Of the piece's vector before it was made 1: how much the piece tells. */
float pieces_length(const struct pieces *pieces, int32_t id);

/* ret [count, asked_count]: the cosine of each of `ids` with each of `asked`, at least
 * 0. */
void pieces_near(const struct pieces *pieces, const int32_t *asked,
                 size_t asked_count, const int32_t *ids, size_t count,
                 float *ret);

#endif
