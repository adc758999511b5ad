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
 * they work in.  The tokenizer is the exception (tokenizer.h); another thread
 * works with the same weights by model_share. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "kernels/kernels.h"
#include "model/weights/model_config.h"
#include "model/tokenizer/tokenizer.h"

struct model;
struct session;

struct model_options {
    const struct kernels *kernels; /* must outlive the model */
    struct kernel_pool pool;       /* zero: all in the calling thread */
    void *stream;                  /* of the device; NULL: its default */
    bool no_tokenizer;             /* do not read tokenizer.json */
    bool exact;                    /* sessions may be `exact`, if any layer of
                                      the model sees all */
    bool check;                    /* only look: no weights are taken, and
                                      nothing but its facts may be asked for */
};

/* Asked once a layer; true stops the work with ERR_CANCELLED.  A session is
 * then as it was before the call, but for tokens already generated. */
struct cancel {
    bool (*asked)(void *context);
    void *context;
};

/* `path`: the folder, or a GGUF file (FILE.gguf), which has all in one.  The
 * errors name the file concerned.  ERR_IO: a file is missing (tokenizer.json
 * may be); ERR_FORMAT: a file is not as it should be, or of a kind that is not
 * supported; ERR_LIMIT: no memory for what the model's size asks for. */
int model_open(const char *path, const struct model_options *options,
               struct model **ret, struct err *err);
/* Its sessions, and those it is shared with, first.  NULL: ok. */
void model_close(struct model *model);

/* The same model for another thread: only what it works in is its own.  `of` is
 * at work or not. */
struct model *model_share(const struct model *of, struct kernel_pool pool);

struct model_facts {
    const char *name;    /* the folder's, or the file's */
    const char *backend; /* "ref", "cpu", "cuda" */
    const char *family;  /* "qwen3", "bert", ... */
    const char *type;    /* of the embedding: "f32", "q4_k", ... */
    size_t width;        /* D */
    size_t layers;
    size_t memory_layers; /* the first so many make memories */
    size_t vocabulary;
    size_t context;   /* most positions */
    size_t key_width; /* p: of keys */
    uint64_t parameters;
    bool writes;                /* has logits; an encoder has none */
    bool embeds;                /* makes vectors of texts; with STAR and HiCI
                                   attention it does not */
    const char *attention;      /* "full", "hils", "star", "hici" */
    size_t chunk;               /* HiLS and STAR: slots of one; HiCI: tokens of
                                   a segment; else 0 */
    size_t chosen;              /* HiLS and STAR: chunks read besides those
                                   near; else 0 */
    size_t window;              /* HiLS: slots that are always read; else 0 */
    bool exact;                 /* sessions may be */
    bool whole;                 /* what a session reads first is one text, and
                                   must be fed at once (HiCI) */
    uint64_t weight_bytes;      /* of memory, as they are held; a backend may
                                   hold some a second time, as it likes them */
    uint64_t wide_bytes;        /* of memory where f16 and int8 become f32 */
    uint64_t work_bytes;        /* what the largest usual pass works in, for
                                   each thread that shares the model */
    const char *key_type;       /* of a session's keys and values */
    uint64_t token_bytes;       /* what a session takes for each position */
    const char *pooling;        /* of a text without soft tokens: "last", ... */
    const char *query_prefix;   /* what a question begins with; NULL: nothing */
    const char *passage_prefix; /* and what a passage begins with */
    bool soft_tokens;           /* mem and mem0: made for memories */
    bool recall;                /* and the projections of recall */
    bool pool;                  /* and those of pooling */
    struct hash128 fingerprint; /* of all that a memory depends on: weights,
                                   config, tokenizer, pooling; not of a check */
    const int32_t *eos_ids;     /* [eos_count] ids that end an answer */
    size_t eos_count;
    struct answering answering;
};
const struct model_facts *model_facts(const struct model *model);
/* Why the device that it is on is lost, and with it all that this model can do
 * but say what it is; NULL: it is not.  May be asked by any thread. */
const char *model_device_failed(const struct model *model);
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
 * A model made for HiLS reads an input as a session would, with its landmarks,
 * which no vector is made of; where they would change nothing, as in texts not
 * longer than its window, they are left out.
 * Where config.json has "lectern_memory_layers": n, the first n layers make the
 * vectors, and the last norm follows these; sessions run all layers.
 * ERR_LIMIT when an input is longer than the context; ERR_USAGE for a soft
 * token with an encoder, and for a model that does not embed. */
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

enum pool_policy { POOL_MEAN, POOL_ATTENTION };

/* ret [width]: `children` [count, width] as one.  POOL_ATTENTION without
 * trained projections scores by cosines. */
int model_pool(struct model *model, int policy, const float *children,
               size_t count, float *ret, struct err *err);

/* The same of many at once: ret [groups, width], group g the vectors [start[g],
 * start[g + 1]) of children [start[groups], width]; start[0] is 0. */
int model_pool_groups(struct model *model, int policy, const float *children,
                      const size_t *start, size_t groups, float *ret,
                      struct err *err);

/* ---- Text ----
 *
 * The keys and values that a session remembers are bf16 where the backend can
 * (cuda) and the weights are bf16, f16 or int8, else f32 (facts: key_type).  That
 * is a model's, from its opening: forks share them, and each token, read in a
 * prompt or alone, sees those before it and itself as they are remembered (but
 * for what HiCI attention reads as a whole, which sees its own in f32). */

/* ERR_USAGE when the model writes nothing. */
int session_open(struct model *model, struct session **ret, struct err *err);

/* HiLS's choice of what is read (Hierarchical Sparse Attention Done Right) for a
 * model that was not made for it: layers that see all read the last `window`
 * tokens and, of the chunks of 64 tokens before them, those `top_k` that weigh
 * most by their summaries; what is read has the weights of full attention.  With
 * `top_k` of all chunks that is what it is. */
struct session_exact {
    size_t top_k, window; /* 0: 32, 512 */
};
/* ERR_USAGE too when the model was not opened for that, or was made for HiLS
 * itself. */
int session_open_exact(struct model *model, const struct session_exact *exact,
                       struct session **ret, struct err *err);
/* "full", "exact", "hils", "star", "hici" */
const char *session_attention(const struct session *session);
void session_close(struct session *session); /* NULL: ok */

/* A vector [width], which is copied, stands in the place of the first token, as
 * a recalled memory does before a text (HMT): the length counts it, its id is
 * -1.  It goes when all is forgotten.  ERR_USAGE when something was read, and
 * for models with STAR or HiCI attention. */
int session_soft_prefix(struct session *session, const float *vector,
                        struct err *err);

/* Tokens it has read, and which: [length], until the next call for it. */
size_t session_length(const struct session *session);
const int32_t *session_ids(const struct session *session);
/* Forgets all from position `length` on, if it has read so many. */
void session_rewind(struct session *session, size_t length);
/* Another session that has read the first `length` tokens of this one, which
 * has read as many.  They share what they remember of these, but for the last
 * 64 at most: whoever reads on first has them copied. */
int session_fork(struct session *session, size_t length, struct session **ret,
                 struct err *err);
/* Takes the memory for `count` more tokens now (no more than the context has
 * room for): reading them one at a time then allocates nothing. */
int session_reserve(struct session *session, size_t count, struct err *err);
/* Of what it remembers, also where that is shared. */
size_t session_bytes(const struct session *session);

/* Reads tokens.  ret_logits [count, vocabulary], one row a token; NULL: only
 * the last row, which session_logits has then.  ERR_USAGE for an id that is
 * none, ERR_LIMIT beyond the context.
 *
 * A model with HiCI attention reads what a session is fed first as one text,
 * in one pass whatever its length (its memory is that of as many rows), all
 * later tokens by plain attention to everything before: n + 1 tokens are not
 * n and one more.  When a part of that text is forgotten, the text is what is
 * left of it: as published that is read again, `causal` it stays as it is. */
int session_prefill(struct session *session, const int32_t *ids, size_t count,
                    const struct cancel *cancel, float *ret_logits,
                    struct err *err);
/* [vocabulary] of the token read last; NULL when nothing was read, when what was
 * is forgotten, or when a device that has them does not answer. */
const float *session_logits(struct session *session);
/* The id of the largest; -1 also when they are no numbers. */
int32_t session_top_k(struct session *session);

/* Reads one token each: ids[i] goes to sessions[i], all in one pass.  They are of
 * one model, no two the same, at most SESSIONS_MAX.  As session_prefill of each,
 * but on an error, or when cancelled, none has read.  What a device fails at
 * after this has returned shows in what is asked of it next. */
enum { SESSIONS_MAX = 64 };
int session_decode_batch(struct session *const *sessions, const int32_t *ids,
                         size_t count, const struct cancel *cancel,
                         struct err *err);

/* Which tokens may be chosen next; asked for each of the vocabulary, but where
 * the likeliest is chosen, for few of them most times. */
struct token_filter {
    bool (*allows)(void *context, int32_t id); /* NULL: all may */
    void *context;
};

/* How a token is chosen; zeros: the likeliest.  In the order in which they
 * apply, as transformers has them. */
struct sampling {
    struct token_filter only; /* others are as if they were not there */
    double penalty;     /* what was read (prompt and answer) is that much less
                           likely: logits > 0 are divided by it, others
                           multiplied; 0, 1: none */
    double temperature; /* 0: the likeliest token */
    size_t top_k;       /* the likeliest so many; 0: all */
    double top_p;       /* the likeliest that together have this chance; 0, 1:
                           all */
    double min_p;       /* those with this share of the likeliest's chance */
    uint64_t seed;      /* the same seed, the same answer of one backend */
};

/* From now on session_choose goes by `how`; a new session by zeros.  ERR_USAGE
 * when it makes no sense. */
int session_sampling(struct session *session, const struct sampling *how,
                     struct err *err);
/* Chooses the token after those read.  *ret_logprob: ln of its chance at
 * temperature 1 among all tokens, whichever may be chosen: what a model would not
 * have written by itself has a small one.  *ret_id is -1 when none may be chosen.
 * ERR_USAGE when nothing was read, ERR_FORMAT when the logits are no numbers;
 * of a device, ERR_LIMIT without memory, ERR_INTERNAL when it failed. */
int session_choose(struct session *session, int32_t *ret_id,
                   double *ret_logprob, struct err *err);
/* Whether the id ends an answer of this model. */
bool model_is_eos(const struct model *model, int32_t id);

struct generate_options {
    size_t max; /* tokens */
    struct sampling sampling;
    const int32_t *eos_ids; /* [eos_count]; NULL: the model's */
    size_t eos_count;
    const struct cancel *cancel;
};

/* `logprob`: as session_choose's. */
typedef bool generate_token(void *context, int32_t id, double logprob);

/* Takes the memory that `most` tokens need, then chooses a token after what was
 * read, hands it to `token`, reads it, and so on until a stop (which is neither handed over nor read), `most`, the end of
 * the context, a false from `token`, or none that may be chosen.  *ret_count:
 * tokens handed over, also on failure. */
int session_generate(struct session *session,
                     const struct generate_options *options,
                     generate_token *token, void *context, size_t *ret_count,
                     struct err *err);

#endif
