/* The engine: a thread for questions, which owns the model and opens it when it
 * is first needed, and a nicer one that indexes with the same weights, each with
 * its own threads to share the work.  So a question waits for no indexing, and
 * on busy cores it goes first.
 *
 * A model that cannot be opened or fails is an error (ERR_MODEL) for those who
 * ask, not for the daemon: search goes on by words.  It is tried again when
 * its folder has changed, at most every some seconds.  When the folder of an
 * open model has changed, what it holds now takes its place (engine_reload).
 *
 * The model runs on a device where there is one that it fits, else on the CPU.
 * When the device fails, what is under way there fails with it, and the same
 * model on the CPU takes the place of that one, until the daemon ends. */
#ifndef DAEMON_ENGINE_ENGINE_H
#define DAEMON_ENGINE_ENGINE_H

#include <stdatomic.h>

#include "memory/embeddings/embedder.h"
#include "model/encode/hmt.h"

struct copying;
struct engine;

struct engine_options {
    const char *folder; /* of the model; NULL or "": none */
    bool exact; /* long texts are read with `exact` attention (model.h), where
                   the model may */
    const char *device_name; /* as it was asked for: "auto", "cuda:1"; lives as
                                long as the engine; NULL: "cpu" */
    /* NULL: there is none, and why.  Called when a model is opened. */
    const struct kernels *(*find_device)(const char **ret_reason);
    bool device_only; /* a model that the device cannot take is an error, and
                         not for the CPU */
};

/* Starts the threads; the model is opened by whoever needs it first. */
int engine_start(const struct engine_options *options, struct engine **ret,
                 struct err *err);
/* Ends the work under way at its next token or layer, and refuses more with
 * ERR_CANCELLED; returns at once. */
void engine_cancel(struct engine *engine);
/* engine_cancel, once nobody calls any more, then frees all.  False when a
 * thread is still busy at `deadline_ms`: then nothing may be freed.  NULL:
 * true. */
bool engine_stop(struct engine *engine, int64_t deadline_ms);

/* For one who looks from time to time, and holds nothing: where the folder of an
 * open model has changed since it was opened, but not since the last look, opens
 * what it holds now, which takes the model's place once nobody holds that.  One
 * that cannot be opened takes nobody's, and is tried again when the folder has
 * changed once more, or, where memory was short, after some seconds.  How often
 * the model was exchanged. */
uint64_t engine_reload(struct engine *engine);

/* Opens the model of another folder ("": none), which takes the place of the one
 * in use once nobody holds that.  A model that cannot be opened takes nobody's,
 * and is the caller's error alone. */
int engine_use(struct engine *engine, const char *folder, struct err *err);
/* Waits at most `max_ms` for what is to take the model's place to do so. */
void engine_swap_pending(struct engine *engine, int64_t max_ms);
/* For one who holds the model: whether that is all another one waits for. */
bool engine_is_awaited(struct engine *engine);

/* False: there is no model, and none is to be opened. */
bool engine_has_model(struct engine *engine);

/* Asks for the model to be opened, and waits for that at most `max_ms`.  True:
 * it is open. */
bool engine_ready(struct engine *engine, int64_t max_ms);

/* While somebody holds the model it is not exchanged: what is asked of it, and
 * its strings, belong together.  Where its device is lost, one who comes waits up
 * to two seconds for another to take its place.  All that follows is for those who
 * hold it, once. */
void engine_ref(struct engine *engine);
void engine_unref(struct engine *engine);

/* What the model is; strings live as long as it is held. */
struct engine_state {
    const char *folder;
    bool open;
    bool changed;             /* its folder, since it was opened or tried */
    struct err err;           /* why it, or what its folder holds by now, could
                                 not be opened; code 0: none */
    struct model_facts facts; /* when open */
    const char *device_name;  /* engine_options */
    bool device_there;        /* it was found, and answers */
    bool device_failed;       /* it was found, and has failed */
    struct kernel_device device;
    char device_note[256]; /* why the model is not on the device; "": it is, or
                              is not to be, or not open */
};
void engine_state(struct engine *engine, struct engine_state *ret);

/* The model for memory's questions.  `indexing` is for who holds an open model:
 * that work goes after all else; `cancel` (NULL: never) ends it.  Lives in *ret, which the caller
 * keeps as long as it is used. */
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

/* An answer after `prompt`.  `piece` is called on the engine thread with text
 * as soon as whole characters are there that begin no stop text, and must not
 * call the engine; false ends the answer.  Answers that are asked for at the
 * same time are written side by side, and between tokens the thread embeds other
 * questions. */
struct engine_prompt {
    const int32_t *before; /* [before_count] ids, read before the text */
    size_t before_count;
    struct slice text;
    const struct hmt *hmt; /* the prompt is read behind what this remembers, and
                              nothing else; NULL: it is all there is */
    bool alone;            /* no beginning that was read before is used */
    size_t max;            /* tokens */
    struct sampling sampling;
    struct copying *copying; /* of an answer that can only copy (extractive.h),
                                at its start; NULL: any may be written */
    const struct slice *stops; /* [stop_count] texts that end it and are no
                                  part of it, none empty */
    size_t stop_count;
    const atomic_bool *cancel;
    bool (*piece)(void *context, struct slice text);
    void *context;
};

struct engine_answer {
    struct buf text; /* freed by the caller */
    size_t prompt_tokens, tokens;
    size_t reused_tokens;  /* of the prompt, that were read before */
    const char *attention; /* as session_attention's */
    bool ended;            /* by a stop, not for length */
    double mean_log;       /* mean natural logarithm of its tokens' chances */
    double first_ms;       /* until the first token was chosen, also a stop */
    double total_ms;
};

int engine_generate(struct engine *engine, const struct engine_prompt *prompt,
                    struct engine_answer *ret, struct err *err);

/* What HMT remembers of a text (model/encode/hmt.h), read in pieces between which other
 * work is done; closed by the caller.  `cancel`: NULL: never. */
int engine_read(struct engine *engine, const int32_t *ids, size_t count,
                const atomic_bool *cancel, struct hmt **ret, struct err *err);

/* Appends the ids of a manual's text; what a tokenizer takes for a special token
 * is left out. */
int engine_tokens(struct engine *engine, struct slice text, struct ids *ids,
                  struct err *err);

/* Tokens of a text; thread-safe once the model is open. */
int engine_count(struct engine *engine, struct slice text, size_t *ret,
                 struct err *err);
/* Most positions, prompt and answer together; 0: no open model. */
size_t engine_context(struct engine *engine);

#endif
