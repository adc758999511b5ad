/* A language model that runs: a decoder or an encoder of one of the families in
 * architectures.h, from a folder as Hugging Face has it (config.json,
 * model.safetensors, tokenizer.json; for embedding models pooling.h's), on the
 * backend it is given.
 *
 * Nothing of tensors shows here: vectors of `width` floats and logits of
 * `vocabulary` floats, in the caller's memory.
 *
 * Weights of up to 256 MiB a file are read when the model is opened; larger ones
 * stay mapped (safetensors.h says what that asks for).
 *
 * A model and all its sessions belong to one thread at a time: they share what
 * they work in.  The tokenizer is the exception (tokenizer.h). */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/tokenizer.h"

struct model;
struct session;

struct model_options {
    const struct kernels *kernels; /* must outlive the model */
    struct kernel_pool pool;       /* zero: all in the calling thread */
    void *stream;                  /* of the device; NULL: its default */
    bool no_tokenizer;             /* do not read tokenizer.json */
};

/* Asked once a layer; true stops the work with ERR_CANCELLED.  A session is
 * then as it was before the call, but for tokens already generated. */
struct cancel {
    bool (*asked)(void *context);
    void *context;
};

/* The errors name the file concerned.  ERR_IO: a file is missing (tokenizer.json
 * may be); ERR_FORMAT: a file is not as it should be, or of a kind that is not
 * supported; ERR_LIMIT: no memory for what the model's size asks for. */
int model_open(const char *folder, const struct model_options *options,
               struct model **ret, struct err *err);
void model_close(struct model *model); /* NULL: ok; its sessions first */

struct model_facts {
    const char *name;    /* the folder's */
    const char *backend; /* "ref", "cpu", "cuda" */
    const char *family;  /* "qwen3", "bert", ... */
    const char *type;    /* of the weights: "f32", "bf16", "f16" */
    size_t width;        /* D */
    size_t layers;
    size_t vocabulary;
    size_t context;   /* most positions */
    size_t key_width; /* p: of keys */
    uint64_t parameters;
    bool writes;                /* has logits; an encoder has none */
    const char *pooling;        /* of a text without soft tokens: "last", ... */
    const char *query_prefix;   /* what a question begins with; NULL: nothing */
    const char *passage_prefix; /* and what a passage begins with */
    bool soft_tokens;           /* mem and mem0: made for memories */
    bool recall;                /* and the projections of recall */
    bool pool;                  /* and those of pooling */
    struct hash128 fingerprint; /* of all that a memory depends on: weights,
                                   config, tokenizer, pooling */
    const int32_t *stops;       /* [stop_count] ids that end an answer */
    size_t stop_count;
    struct answering answering;
};
const struct model_facts *model_facts(const struct model *model);
/* NULL: the folder has none. */
const struct tokenizer *model_tokenizer(const struct model *model);

/* ---- Memories (H2MT 2.2) ---- */

/* The soft tokens, [width]; NULL when the model has none. */
const float *model_mem(const struct model *model);
const float *model_mem0(const struct model *model);

struct embed_input {
    const int32_t *ids; /* [count] */
    size_t count;
    const float *soft; /* [width] the soft token t; NULL: none */
};

/* ret [count, width]: for each input the hidden state after the last norm at
 * the last position of [t; ids; t]; without a soft token that of ids, pooled as
 * the model was made for, of length 1 where it was made for that.  The ids are
 * all there is: prefixes and special tokens are the caller's.
 * ERR_LIMIT when an input is longer than the context; ERR_USAGE for a soft
 * token with an encoder. */
int model_embed(struct model *model, const struct embed_input *inputs,
                size_t count, const struct cancel *cancel, float *ret,
                struct err *err);

/* ret [width]: what `query` [width] recalls of `memories` [count, width].
 * ERR_USAGE when the model has no projections for it. */
int model_recall(struct model *model, const float *query, const float *memories,
                 size_t count, float *ret, struct err *err);

/* ret [count, key_width]: vectors [count, width] by the recall projection of
 * memories, Wk, or of queries, Wq; without projections as they are. */
int model_keys(struct model *model, const float *vectors, size_t count,
               bool query, float *ret, struct err *err);

/* Makes `vector` [width] of length 1; one of zeros stays one. */
void model_unit(float *vector, size_t width);

enum pool_policy { POOL_MEAN, POOL_ATTENTION };

/* ret [width]: `children` [count, width] as one.  POOL_ATTENTION without
 * trained projections scores by cosines. */
int model_pool(struct model *model, int policy, const float *children,
               size_t count, float *ret, struct err *err);

/* ---- Text ---- */

/* ERR_USAGE when the model writes nothing. */
int session_open(struct model *model, struct session **ret, struct err *err);
void session_close(struct session *session); /* NULL: ok */

/* Tokens it has read. */
size_t session_length(const struct session *session);
/* Forgets all from position `length` on, if it has read so many. */
void session_truncate(struct session *session, size_t length);

/* Reads tokens.  ret_logits [count, vocabulary], one row a token; NULL: only
 * the last row, which session_logits has then.  ERR_USAGE for an id that is
 * none, ERR_LIMIT beyond the context. */
int session_feed(struct session *session, const int32_t *ids, size_t count,
                 const struct cancel *cancel, float *ret_logits,
                 struct err *err);
/* [vocabulary] of the token read last; NULL when nothing was read, or when
 * what was is forgotten. */
const float *session_logits(const struct session *session);

struct generate_options {
    size_t most;          /* tokens */
    double temperature;   /* 0: the likeliest token */
    uint64_t seed;        /* the same seed, the same answer */
    const int32_t *stops; /* [stop_count]; NULL: the model's */
    size_t stop_count;
    const struct cancel *cancel;
};

/* `log_chance`: ln of the token's chance at temperature 1. */
typedef bool generate_token(void *context, int32_t id, double log_chance);

/* Chooses a token after what was read, hands it to `token`, reads it, and so
 * on until a stop (which is neither handed over nor read), `most`, the end of
 * the context, or a false from `token`.  *ret_count: tokens handed over, also
 * on failure. */
int session_generate(struct session *session,
                     const struct generate_options *options,
                     generate_token *token, void *context, size_t *ret_count,
                     struct err *err);

#endif
