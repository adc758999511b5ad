/* The ids of words that have been met, so that texts are cut into tokens without the
 * tokenizer: most of a text's words are among the commonest, whose ids it finds anew each
 * time.  Only for a model whose tokens are those of words alone (embedder_facts.words).
 * Any thread, without locks. */
#ifndef MEMORY_EMBEDDINGS_WORD_IDS_H
#define MEMORY_EMBEDDINGS_WORD_IDS_H

#include "memory/embeddings/embedder.h"

struct word_ids;

/* Takes 8 MB; keeps words that came last, of at most eleven ids below 65,536: the others
 * are tokenized each time. */
struct word_ids *word_ids_new(void);
void word_ids_free(struct word_ids *words); /* NULL: ok */

/* Appends the ids of `text`, those that the model's `tokenize` gives; its errors. */
int word_ids_add(struct word_ids *words, const struct embedder *model,
                 struct slice text, struct embed_ids *ids, struct err *err);

#endif
