/* config.json (and generation_config.json) of a model of one of the families in
 * architectures.h. */
#ifndef MODEL_WEIGHTS_MODEL_CONFIG_H
#define MODEL_WEIGHTS_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/weights/architectures.h"
#include "model/inference/sparse_config.h"
#include "model/weights/rotary.h"

enum { CONFIG_MAX_EOS_IDS = 16, CONFIG_MAX_LAYERS = 1024 };

/* How the model was trained to answer: the object "lectern". */
struct answering {
    size_t prompt_tokens;  /* most in a prompt */
    size_t passages;       /* most in a prompt */
    size_t passage_tokens; /* most in one of them, with its title */
    double threshold;      /* least mean logarithm of the chances of an answer's
                         tokens; -INFINITY: none, above 0: no answer will do */
    bool
        copies; /* its answers about passages are spans of the passages, copied and cited, or
                    say that there is none: nothing else may be written */
};

/* What makes a reranker's score of what the last layer leaves. */
enum score_kind {
    SCORE_HEAD,   /* the family's head, over the first token or the mean */
    SCORE_LINEAR, /* one row of weights over the last token, as the others: */
    SCORE_LABELS, /* of two rows the one less the other */
    SCORE_WORDS   /* the same of the rows of two tokens, of what makes logits */
};

struct scoring_config {
    int kind;       /* enum score_kind */
    bool mean;      /* SCORE_HEAD: of all tokens, not the first; */
    bool bias;      /* its dense part has one */
    char *prompt;   /* of the others: the text that is read, with {query} and
                     then {document} in it; else NULL */
    bool reversed;  /* SCORE_LABELS: the second row is that of "yes" */
    char *words[2]; /* SCORE_WORDS: that for "yes" and that for "no", */
    int32_t word_ids[2]; /* found when the tokenizer is */
};

struct model_config {
    const struct architecture *architecture;
    const struct tensor_names *names; /* of its weights */
    size_t
        vocabulary; /* ids, and logits; the embedding may have more rows; of a
                          bag 0, until its tokenizer is open */
    size_t width;   /* D */
    size_t inner;   /* width of the feed-forward part */
    size_t layers;
    size_t memory_layers; /* the first so many make the vectors of texts, those
                             after them only write */
    size_t heads;         /* Hq, a multiple of key_heads */
    size_t key_heads;     /* Hkv */
    size_t head;          /* d, even where positions are rotary */
    size_t context;       /* positions it was trained for; of an open model with
                         STAR attention those of tokens alone */
    size_t max;           /* positions it is given: no more than `context` */
    size_t first;         /* learned positions: the row of the first one */
    size_t types; /* of tokens, where they have an embedding; all are 0 */
    float eps;
    struct rotary rotary[2]; /* config_rotary says of which layers */
    bool bias, inner_bias;   /* of all products of attention; of the others */
    bool qkv_bias;           /* of q, k and v */
    bool norm_bias;          /* of LayerNorms */
    bool writes;             /* has a head: logits */
    bool scores;             /* tells how well a passage answers a question, and
                                does nothing else */
    struct scoring_config scoring;
    bool tied;      /* the head is the embedding */
    size_t *window; /* [layers] keys a query sees, an encoder's those so
                                far before and behind it; 0: all, or what
                                `attention` says */
    struct attention_config attention;
    int32_t eos_ids[CONFIG_MAX_EOS_IDS]; /* ids that end an answer */
    size_t eos_count;
    struct answering answering;
    struct hash128 hash; /* of config.json, but for what is about answering */
};

/* Which of `rotary` turns a layer's queries and keys. */
static inline size_t config_rotary(const struct model_config *c, size_t layer)
{
    if (c->attention.kind == ATTENTION_HILS)
        return !hils_layer(&c->attention, layer);
    return c->window[layer] != 0;
}

/* `generation`: the text of generation_config.json, empty when there is none;
 * its stop ids replace those of config.json.  Ours: "lectern_memory_layers",
 * without which all layers make memories.  Everything that would change
 * what the model computes and is not supported is an ERR_FORMAT by name. */
int model_config_from(struct slice config, struct slice generation,
                      struct model_config *ret, struct err *err);
/* The same of what a GGUF file's metadata say (gguf_config.h). */
int model_config_of_gguf(struct slice config, struct model_config *ret,
                         struct err *err);
void model_config_free(struct model_config *config);

#endif
