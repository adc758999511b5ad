/* The engine runs the model.
 *
 * One thread answers questions; it owns the model and opens it when it is first
 * needed.  A second thread of lower priority (nice) encodes memories with the same
 * weights.  Each has worker threads of its own, so a question never waits for
 * indexing.
 *
 * A model that cannot be opened, or fails, is an error (ERR_MODEL) of the calls that
 * need it; the daemon goes on and searches by words.  The model is opened again when
 * its folder has changed (engine_reload).
 *
 * The model runs on the configured device if it fits there, else on the CPU.  When
 * the device fails, the calls under way fail, and the CPU takes over until the
 * daemon ends. */
#ifndef DAEMON_ENGINE_ENGINE_H
#define DAEMON_ENGINE_ENGINE_H

#include <stdatomic.h>

#include "daemon/engine/engine_prefixes.h"
#include "memory/embeddings/embedder.h"
#include "model/encode/hmt.h"

struct copying;
struct engine;

struct engine_options {
    const char *folder; /* of the model; NULL or "": none */
    bool exact; /* read long texts with `exact` attention (model.h), if the
                   model can: */
    /* so; the first 14,336 tokens of prompts are read in full all the same (`read`) */
    struct session_exact how;
    bool keys_int8; /* keep keys and values in eight bits, if the model can
                       (model.h) */
    bool int8;      /* multiply in eight bits what writes nothing (model.h) */
    size_t exact_from; /* where prompt and answer have so many tokens; 0: 4096,
                          below which choosing costs more than it saves */
    const char *device_name; /* as configured: "auto", "cuda:1"; outlives the
                                engine; NULL: "cpu" */
    /* Returns the device's operations, or NULL and the reason; called when a
     * model is opened. */
    const struct kernels *(*find_device)(const char **ret_reason);
    bool device_only;    /* fail if the device cannot take the model, instead of
                         using the CPU */
    size_t prompt_bytes; /* of prompts' beginnings that are remembered; 0: 512
                            MiB */
    struct prompt_files *prompt_files; /* where they outlive the engine, which
                                          outlives it; NULL: nowhere */
    bool prompts_rounded;       /* they have keys and values of eight bits */
    uint64_t filed_parameters;  /* of models whose prompts go there, at least */
    struct section_check check; /* of sections that prompts were made of; any
                                   thread; stands NULL: they do not change */
};

/* Starts the threads.  The model is opened by the first call that needs it.
 * ERR_INTERNAL: no thread could be started. */
int engine_start(const struct engine_options *options, struct engine **ret,
                 struct err *err);
/* Cancels the work under way, at its next token or layer, and makes later calls
 * return ERR_CANCELLED.  Does not wait. */
void engine_cancel(struct engine *engine);
/* Cancels, joins the threads and frees the engine (NULL: does nothing); no call may
 * be under way.  Returns false, and frees nothing, if a thread is still busy at
 * `deadline_ms`. */
bool engine_stop(struct engine *engine, int64_t deadline_ms);

/* Reloads the model if its folder has changed since it was opened and has not
 * changed since the last call: to be called from time to time, without a reference.
 * The new model replaces the old one when the last reference to that is gone.  A
 * model that cannot be opened replaces nothing, and is tried again after the next
 * change, or, if memory was short, after some seconds.  Returns how often the model
 * was replaced so far. */
uint64_t engine_reload(struct engine *engine);

/* Opens the model of another folder ("": none) and lets it replace the one in use
 * when the last reference to that is gone.  A model that cannot be opened replaces
 * nothing: ERR_MODEL. */
int engine_use(struct engine *engine, const char *folder, struct err *err);
/* Returns the folder that is to be in use: that of the pending model, or the one in use;
 * "": none.  The caller frees it. */
char *engine_newest_folder(struct engine *engine);
/* Waits at most `max_ms` until the pending model has replaced the one in use. */
void engine_swap_pending(struct engine *engine, int64_t max_ms);
/* Tells a holder of a reference whether a pending model waits for it alone. */
bool engine_is_awaited(struct engine *engine);

/* Tells whether there is a model, or one to be opened. */
bool engine_has_model(struct engine *engine);

/* Has the model opened, waits for that at most `max_ms`, and tells whether it is. */
bool engine_ready(struct engine *engine, int64_t max_ms);

/* Takes and releases a reference.  A model that is referenced is not replaced, so
 * the answers of several calls belong together.  If its device has failed,
 * engine_ref waits up to two seconds for the replacement.  The functions below need
 * one reference. */
void engine_ref(struct engine *engine);
void engine_unref(struct engine *engine);

/* Describes the model; the strings live as long as the reference. */
struct engine_state {
    const char *folder;
    bool open;
    bool changed;             /* its folder, since it was opened or tried */
    struct err err;           /* why it, or its folder's new content, could not
                                 be opened; code 0: no error */
    struct model_facts facts; /* when open */
    const char *device_name;  /* of engine_options */
    bool device_there;        /* the device was found and answers */
    bool device_failed;       /* the device was found and has failed */
    struct kernel_device device;
    char device_note[256]; /* why the model is not on the device; "": it is, or
                              was not meant to be, or is not open */
};
void engine_state(struct engine *engine, struct engine_state *ret);

/* Has what prompts' beginnings were made of looked at again: those with a section that
 * does not stand are dropped, soon, by the engine's thread.  Any thread. */
void engine_sections_changed(struct engine *engine);
/* Describes what is remembered of prompts. */
struct engine_prompts {
    size_t count, bytes, max_bytes; /* of sessions */
    struct prefixes_counts counts;
};
void engine_prompts(struct engine *engine, struct engine_prompts *ret);

/* Makes the embedder that memory encodes with.  `indexing`: its work goes after all
 * other work, and needs a reference to an open model; `cancel` (NULL: never) ends it.
 * The caller keeps *ret as long as the embedder is used. */
struct engine_embedder {
    struct embedder embedder;
    struct engine *engine;
    bool indexing;
    const atomic_bool *cancel;
    double speed;   /* tokens a second, measured; 0: not yet */
    size_t encoded; /* texts so far, the question's not */
};
void engine_embedder(struct engine *engine, bool indexing,
                     const atomic_bool *cancel, struct engine_embedder *ret);

/* Generates a text after a prompt.  `piece` is called on the engine thread as soon as
 * there are whole characters that begin no stop sequence; it must not call the engine,
 * and ends the text by returning false.  Texts asked for at the same time are decoded
 * as one batch; between tokens the thread embeds other questions. */
struct engine_prompt {
    const int32_t *before; /* [before_count] ids, read before the text */
    size_t before_count;
    struct slice text;
    /* A conversation, in the model's chat template, instead of the text; 0: none. */
    const struct chat_message *messages; /* [message_count] */
    size_t message_count;
    const struct hmt
        *hmt;   /* memory that the prompt is read behind; NULL: none */
    bool alone; /* reuse no KV cache of an earlier prompt */
    /* What it was made of, where its beginning may be kept in files: sections, and
     * the bytes at its end (of the text, or of the last message) that are the
     * asker's, which are not.  NULL: it may not. */
    const struct prompt_section *sections; /* [section_count] */
    size_t section_count, asked;
    size_t max; /* tokens to write */
    struct sampling sampling;
    struct copying *copying;   /* constrains decoding to sentences of the prompt
                                (extractive.h); NULL: no constraint */
    const struct slice *stops; /* [stop_count] stop sequences, none empty */
    size_t stop_count;
    const atomic_bool *cancel;
    bool (*piece)(void *context, struct slice text);
    void *context;
};

struct engine_answer {
    struct buf text; /* the caller frees it */
    size_t prompt_tokens, tokens;
    size_t reused_tokens; /* of the prompt, from the KV cache of earlier ones */
    const char *attention; /* as session_attention's */
    bool ended;            /* by a stop, not by length */
    bool truncated;        /* at the most tokens that it could have */
    double mean_log;       /* mean log-probability of its tokens, natural */
    double first_ms;       /* until the first token was sampled */
    double total_ms;
};

int engine_generate(struct engine *engine, const struct engine_prompt *prompt,
                    struct engine_answer *ret, struct err *err);

/* Reads a text with HMT (model/encode/hmt.h), in segments between which other work is
 * done, and returns its memory, which the caller closes.  `cancel`: NULL: never. */
int engine_read(struct engine *engine, const int32_t *ids, size_t count,
                const atomic_bool *cancel, struct hmt **ret, struct err *err);

/* Scores passages by the engine's reranker, the first ones first: ret [count] are
 * logits, of *ret_count of them, those that were begun within `budget_ms` once the model
 * was open.  `cancel`: NULL: never.  ERR_MODEL: a score is no number. */
int engine_score(struct engine *engine, struct slice question,
                 const struct slice *passages, size_t count, int64_t budget_ms,
                 const atomic_bool *cancel, float *ret, size_t *ret_count,
                 struct err *err);

/* Tokenizes text of a manual and appends its ids, without those of special tokens. */
int engine_tokens(struct engine *engine, struct slice text, struct ids *ids,
                  struct err *err);

/* Counts the tokens of a text; any thread, once the model is open. */
int engine_count(struct engine *engine, struct slice text, size_t *ret,
                 struct err *err);
/* Returns the context length: positions of prompt and answer together; 0: no model
 * is open. */
size_t engine_context(struct engine *engine);

#endif
