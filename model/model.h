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
#include "model/chat/chat.h"
#include "model/weights/model_config.h"
#include "model/tokenizer/tokenizer.h"

struct model;
struct session;

struct model_options {
    const struct kernels *kernels; /* must outlive the model */
    struct kernel_pool pool;       /* zero: all in the calling thread */
    bool no_tokenizer;             /* do not read tokenizer.json */
    bool exact;                    /* sessions may be `exact`, if any layer of
                                      the model sees all */
    bool keys_int8; /* sessions keep keys and values in eight bits,
                                      if the backend and the attention can */
    bool int8;      /* products in eight bits (kernel_run), if the
                                      backend can, of a model that writes
                                      nothing: encoders and rerankers */
    bool check;     /* only look: no weights are taken, and
                                      nothing but its facts may be asked for */
};

/* Asked once a layer: returning true stops the work with ERR_CANCELLED.  A session is
 * then as it was before the call, but for tokens already generated. */
struct cancel {
    bool (*asked)(void *context);
    void *context;
};

/* Opens a model from a folder, or from a GGUF file (FILE.gguf), which has all in one;
 * close it with model_close.  The
 * errors name the file concerned.  ERR_IO: a file is missing (tokenizer.json
 * may be); ERR_FORMAT: a file is not as it should be, or of a kind that is not
 * supported; ERR_LIMIT: no memory for what the model's size asks for. */
int model_open(const char *path, const struct model_options *options,
               struct model **ret, struct err *err);
/* Frees the model (NULL: nothing); its sessions and shares must be closed before. */
void model_close(struct model *model);

/* Shares the model with another thread: the weights are common, the scratch memory is
 * its own.  `of` may be at work, whose work goes first on a device, and waits for none
 * of the share's.  Close it with model_close. */
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
    bool writes;              /* has logits; an encoder has none */
    bool bag;                 /* has no layers: a token's vector is the same in
                                 every text */
    bool chats;               /* has a chat template that can be used */
    const char *chat_refused; /* why it has one that cannot; NULL: it has not */
    bool scores;              /* tells how well a passage answers a question; it
                                 does nothing else */
    bool embeds;              /* makes vectors of texts; with STAR and HiCI
                                   attention it does not */
    const char *attention;    /* "full", "hils", "star", "hici" */
    size_t chunk;             /* HiLS and STAR: slots of one; HiCI: tokens of
                                   a segment; else 0 */
    size_t chosen;            /* HiLS and STAR: chunks read besides those
                                   near; else 0 */
    size_t window;            /* HiLS: slots that are always read; else 0 */
    bool exact;               /* sessions may be */
    bool whole;               /* what a session reads first is one text, and
                                   must be fed at once (HiCI) */
    uint64_t weight_bytes;    /* of memory, as they are held; a backend may
                                   hold some a second time, as it likes them */
    uint64_t wide_bytes;      /* of memory where f16 and int8 are f32 */
    uint64_t work_bytes;      /* what the largest usual pass works in, for
                                   each thread that shares the model */
    size_t pass_tokens;       /* of a prompt, that a device reads at once; 0: it
                                 is read by the processor */
    const char *key_type;     /* of a session's keys and values */
    uint64_t token_bytes;     /* what a session takes for each position */
    const char *pooling;      /* of a text without soft tokens: "last", ... */
    const char *query_prefix; /* what a question begins with; NULL: nothing */
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
/* Describes the model; lives as long as it. */
const struct model_facts *model_facts(const struct model *model);
/* Returns why the model's device has failed, after which it can do nothing but
 * describe itself; NULL: it has not.  Any thread. */
const char *model_device_failed(const struct model *model);
/* Returns the model's tokenizer; NULL: it has none. */
const struct tokenizer *model_tokenizer(const struct model *model);
/* Returns the model's chat template; NULL: it has none. */
const struct chat *model_chat(const struct model *model);

/* ---- Memories (H2MT 2.2) ---- */

/* Return the soft tokens, [width]; NULL: the model has none. */
const float *model_mem(const struct model *model);
const float *model_mem0(const struct model *model);

struct embed_input {
    const int32_t *ids; /* [count] */
    size_t count;
    const float *soft;    /* [width] the soft token t; NULL: none */
    size_t first, tokens; /* of ids: [first, first + tokens) ... */
    float *ret_tokens; /* [tokens, width] of which this gets the state of each
                             behind the last norm, of length 1; NULL: not wanted */
    /* [tokens] and of this the length that each had, 0 where none was read; NULL: not
     * wanted, else ret_tokens is. */
    float *ret_lengths;
};

/* Embeds texts: ret [count, width] holds for each input the hidden state after the
 * last norm at the last position of [t; ids; t] (H2MT 2.2.1); without a soft token t
 * that of ids, pooled and normalised as the model was trained.  Prefixes and special
 * tokens are the caller's.
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

/* ---- Reranking ---- */

/* A question and a passage as one text, as a reranker was trained to read it. */
struct score_input {
    struct ids ids;
    size_t second; /* where the passage begins, or the frame before it */
};

/* Makes it, of what fits the model's context, a decoder's 4096 tokens at most: of the
 * question at most half, of the passage what is left; the caller frees the ids.  Any thread.  ERR_USAGE: the model
 * has no tokenizer; else as tokenizer_encode. */
int model_pair(const struct model *model, struct slice question,
               struct slice passage, struct score_input *ret, struct err *err);

/* Scores pairs: ret [count] are logits, the higher the better the passage answers
 * the question; alone or together they agree within 1e-5.  ERR_USAGE: the model is
 * no reranker (facts: scores), or an id is none; ERR_LIMIT: a pair is longer than the
 * context. */
int model_score(struct model *model, const struct score_input *inputs,
                size_t count, const struct cancel *cancel, float *ret,
                struct err *err);

/* Recalls: ret [width] is what `query` [width] recalls of `memories` [count, width].
 * ERR_USAGE when the model has no projections for it. */
int model_recall(struct model *model, const float *query, const float *memories,
                 size_t count, float *ret, struct err *err);

/* Projects vectors [count, width] to ret [count, key_width], by the recall projection of
 * memories, Wk, or of queries, Wq; without projections as they are. */
int model_keys(struct model *model, const float *vectors, size_t count,
               bool query, float *ret, struct err *err);

enum pool_policy { POOL_MEAN, POOL_ATTENTION };

/* Pools `children` [count, width] to ret [width].  POOL_ATTENTION without
 * trained projections scores by cosines. */
int model_pool(struct model *model, int policy, const float *children,
               size_t count, float *ret, struct err *err);

/* Pools many groups at once: ret [groups, width], group g being the vectors [start[g],
 * start[g + 1]) of children [start[groups], width]; start[0] is 0. */
int model_pool_groups(struct model *model, int policy, const float *children,
                      const size_t *start, size_t groups, float *ret,
                      struct err *err);

/* ---- Text ----
 *
 * The keys and values that a session remembers are bf16 where the backend can
 * (cuda) and the weights are bf16, f16 or int8, else f32; or of eight bits, where the
 * model was opened so (facts: key_type).  That
 * is a model's, from its opening: forks share them, and each token, read in a
 * prompt or alone, sees those before it and itself as they are remembered (but
 * for what HiCI attention reads as a whole, which sees its own in f32). */

/* Opens a session, which has read nothing.  ERR_USAGE: the model has no logits. */
int session_open(struct model *model, struct session **ret, struct err *err);

/* HiLS's choice of what is read (Hierarchical Sparse Attention Done Right) for a
 * model that was not made for it: layers that see all read the last `window`
 * tokens and, of the chunks of 64 tokens before them, those `top_k` that weigh
 * most by the means of each 8 neighbouring keys of theirs; what is read has the weights
 * of full attention.  With `top_k` of all chunks that is what it is. */
enum session_rerank {
    SESSION_BY_MEANS, /* chunks are chosen by these alone */
    SESSION_RERANKED, /* three times as many, of these by their keys */
    SESSION_BY_KEYS   /* by their keys: finds what means miss, and each token
                       reads all keys (of what is chosen the values alone) */
};
struct session_exact {
    size_t top_k, window; /* 0: 32, 512 */
    int rerank;  /* enum session_rerank; where the backend cannot: by means */
    size_t full; /* the first so many layers read all */
    size_t read; /* several tokens read at once read all while there are no more
                    than so many: as soon there, and nothing is lost; 0: none do */
    bool all;    /* all layers read the last `window` tokens (0: all), but
                             make the means by which others may choose */
};
/* Returns the choice that reads about so many tokens, 256 at least: a window of 512 of
 * them, or half, and chunks of 64. */
struct session_exact session_exact_of(size_t tokens);
/* Opens a session with that attention.  ERR_USAGE also: the model was not opened for
 * it, or is trained for HiLS itself. */
int session_open_exact(struct model *model, const struct session_exact *exact,
                       struct session **ret, struct err *err);
/* Has an `exact` session choose otherwise from now on.  Layers that read all before have
 * no means of what was read: `full` must not become less. */
void session_exact_change(struct session *session,
                          const struct session_exact *exact);
/* Returns "full", "exact", "hils", "star" or "hici". */
const char *session_attention(const struct session *session);
void session_close(struct session *session); /* NULL: ok */

/* Sets a soft prefix: a vector [width], which is copied, takes the place of the first
 * token, as a recalled memory does before a text (HMT).  The length counts it, its id
 * is -1, and rewinding to 0 removes it.  ERR_USAGE: something was read, or the model
 * has STAR or HiCI attention. */
int session_soft_prefix(struct session *session, const float *vector,
                        struct err *err);

/* Puts tokens behind those that were read, which are read together with what comes next:
 * the length counts them, and there are no logits until then.  ERR_USAGE: of a model
 * with HiCI attention. */
int session_put(struct session *session, const int32_t *ids, size_t count,
                struct err *err);

/* Return the number of tokens read, and their ids [length], valid until the next call
 * for the session. */
size_t session_length(const struct session *session);
const int32_t *session_ids(const struct session *session);
/* Rewinds to `length` tokens, if more were read. */
void session_rewind(struct session *session, size_t length);
/* Forks: returns another session that has read the first `length` tokens of this one,
 * which has read as many.  The two share pages of the KV cache; at most the last 64
 * tokens are copied by whichever reads on first. */
int session_fork(struct session *from, size_t length, struct session **ret,
                 struct err *err);
/* Allocates the KV cache of `count` more tokens, at most the context: decoding them then
 * allocates nothing. */
int session_reserve(struct session *session, size_t count, struct err *err);
/* Returns the bytes of the KV cache, shared pages included. */
size_t session_bytes(const struct session *session);

/* ---- Pages of keys and values that lie elsewhere ---- */

/* Returns the tokens of a page; 0: the session's pages cannot lie elsewhere, since its
 * model was made for other attention than full, or a vector stands before its tokens. */
size_t session_page_tokens(const struct session *session);
/* Returns the bytes of a page's keys and values, one layer's behind the other's. */
size_t session_page_bytes(const struct session *session);
/* Hashes what these bytes depend on besides the tokens up to the page's end: model,
 * program, backend, layout, choice. */
struct hash128 session_kind(const struct session *session);
/* Copies the pages of `count` tokens from the one at `from` on, both multiples of a
 * page, to ret [count / page, page bytes]. */
int session_export(struct session *session, size_t from, size_t count,
                   void *ret, struct err *err);
/* Appends tokens by their pages instead of reading them: what a session of the same
 * kind exported after the same tokens.  What chunks are chosen by is made of these keys.
 * The last logits are then not there.  ERR_USAGE:
 * no whole pages, or an id that is none. */
int session_import(struct session *session, const int32_t *ids, size_t count,
                   const void *pages, struct err *err);

/* Prefills: reads tokens.  ret_logits [count, vocabulary], one row a token; NULL: only
 * the last row, which session_logits returns.  ERR_USAGE for an id that is
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
/* Returns the logits [vocabulary] of the token read last; NULL: nothing was read, it was
 * rewound, or the device does not answer. */
const float *session_logits(struct session *session);
/* Returns the id of the largest logit; -1: as above, or they are not numbers. */
int32_t session_top_k(struct session *session);

/* Decodes a batch: sessions[i] reads ids[i], all in one pass.  The sessions are distinct,
 * of one model, and at most SESSIONS_MAX.  Like session_prefill of each, but on an
 * error, or when cancelled, none has read.  A failure of the device after the return
 * shows in the next call. */
enum { SESSIONS_MAX = 64 };
int session_decode_batch(struct session *const *sessions, const int32_t *ids,
                         size_t count, const struct cancel *cancel,
                         struct err *err);

/* Constrains the next token; asked for each token of the vocabulary, in greedy decoding
 * mostly for a few. */
struct token_filter {
    bool (*allows)(void *context, int32_t id); /* NULL: all may */
    void *context;
};

/* How a token is sampled, in the order in which it applies, as in transformers; zeros:
 * the most probable token. */
struct sampling {
    struct token_filter only; /* other tokens do not exist */
    double penalty;     /* of repetition: logits > 0 of tokens in prompt and
                           answer are divided by it, others multiplied; 0, 1:
                           none */
    double temperature; /* 0: the most probable token */
    size_t top_k;       /* only so many most probable tokens; 0: all */
    double top_p;       /* only the most probable with this total probability;
                           0, 1: all */
    double min_p;       /* only those with this share of the highest
                           probability */
    uint64_t seed;      /* the same seed, the same answer of one backend */
};

/* Sets how session_choose samples; a new session samples by zeros.  ERR_USAGE: a value
 * is out of range. */
int session_sampling(struct session *session, const struct sampling *how,
                     struct err *err);
/* Samples the token after those read.  *ret_logprob: its natural log-probability at
 * temperature 1 among all tokens, without constraint.  *ret_id is -1 if the constraint
 * allows none.  ERR_USAGE: nothing was read; ERR_FORMAT: the logits are not numbers; of a
 * device ERR_LIMIT without memory, ERR_INTERNAL when it failed. */
int session_choose(struct session *session, int32_t *ret_id,
                   double *ret_logprob, struct err *err);
/* Tells whether the id ends an answer of this model. */
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

/* Generates: reserves the KV cache of `max` tokens, then samples a token, hands it to
 * `token`, reads it, and so on until an eos id (which is neither handed over nor read),
 * `max` tokens, the end of the context, a false from `token`, or a constraint that allows
 * none.  *ret_count: tokens handed over, also on failure. */
int session_generate(struct session *session,
                     const struct generate_options *options,
                     generate_token *token, void *context, size_t *ret_count,
                     struct err *err);

#endif
