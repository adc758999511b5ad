/* How a text becomes one vector, as a model's folder says it.
 *
 * Models for embedding come with the files of sentence-transformers:
 *
 *   modules.json                      which steps there are: Transformer,
 *                                     Pooling, Normalize; others are refused
 *   1_Pooling/config.json             (where modules.json says) the pooling:
 *                                     its absence is an error then
 *   sentence_bert_config.json         max_seq_length; do_lower_case
 *   config_sentence_transformers.json prompts: query; document or passage
 *
 * and over these goes what config.json's "lectern" has: "pooling" (mean, first,
 * last), "query_prefix", "passage_prefix".  E5 for one wants "query: " and
 * "passage: ", which none of its own files says. */
#ifndef MODEL_ENCODE_POOLING_H
#define MODEL_ENCODE_POOLING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/gguf.h"
#include "base/hash.h"
#include "model/weights/architectures.h"

enum pooling_kind { POOLING_LAST, POOLING_MEAN, POOLING_FIRST };

struct pooling {
    bool only;  /* the folder is made for embedding: nothing is written */
    int kind;   /* enum pooling_kind */
    bool unit;  /* the vector has length 1 */
    size_t max; /* tokens; 0: as many as the model takes */
    bool lower; /* texts in lower case, which is the tokenizer's to do */
    char *query, *passage; /* before each; NULL: nothing */
};

/* `config`: the text of config.json.  Without a word about it: the mean for an
 * encoder, else the last token. */
int pooling_from(const char *folder, struct slice config, bool encoder,
                 struct pooling *ret, struct err *err);
/* Of a bag (architectures.h), whose folder is for embedding alone: what
 * sentence-transformers' files would say of it, config.json's "normalize" does. */
int pooling_of_bag(struct slice config, struct pooling *ret, struct err *err);
/* The same of a GGUF file: its `pooling_type`, with which the file is made for
 * embedding, vectors of length 1 and the family's prefixes.  Without: as
 * above. */
int pooling_of_gguf(const struct gguf *gguf,
                    const struct architecture *architecture,
                    struct pooling *ret, struct err *err);
void pooling_free(struct pooling *pooling);

/* "mean" and the like. */
const char *pooling_name(int kind);

/* Hashes what a passage's vector depends on; zero for what a decoder does that no
 * file says anything about. */
struct hash128 pooling_hash(const struct pooling *pooling);

#endif
