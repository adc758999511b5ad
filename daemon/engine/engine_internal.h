/* What the engine's own files share; engine.c says who may touch what. */
#ifndef DAEMON_ENGINE_ENGINE_INTERNAL_H
#define DAEMON_ENGINE_ENGINE_INTERNAL_H

#include <pthread.h>

#include "daemon/engine/engine.h"
#include "daemon/engine/engine_folder.h"
#include "daemon/engine/engine_prefixes.h"

enum { QUESTIONS, INDEXING, QUEUES };

/* Written at once: fewer than the rows from which on a product with bf16 weights
 * may round (kernels.h), so that company does not change an answer. */
enum { MAX_ANSWERS = 8 };

/* Why a model is not on the device (engine_state). */
struct device_note {
    char text[256];
};

struct engine {
    char *folder; /* NULL: no model; the thread of questions exchanges it */
    bool exact;   /* engine_options, as the next six */
    bool keys_int8, int8;
    size_t exact_from;
    bool device_only;
    const char *device_name;
    const struct kernels *(*find_device)(const char **ret_reason);
    pthread_t threads[QUEUES];
    pthread_mutex_t lock;
    pthread_cond_t more[QUEUES]; /* for the threads */
    pthread_cond_t ended; /* for those who wait: a task, or a try to open */
    struct engine_task *queues[QUEUES];
    bool wanted; /* the model is to be opened */
    atomic_bool stopping;
    size_t holders;

    struct model *model;
    struct device_note note; /* of `model` */
    int64_t left_ms; /* when the CPU last tried to take over; 0: never */
    const struct kernels *device; /* once it was found */
    struct err err;               /* why there is no model, or no newer one */
    struct folder_look look;      /* of the model, or of what is none */
    int64_t tried_ms;
    bool may_pass;     /* the error: memory was short, or a disk failed */
    int64_t failed_ms; /* when there was one */

    bool next_due;      /* these take the place of `model` and `folder`: */
    struct model *next; /* NULL: none */
    struct device_note next_note;
    char *next_folder;
    struct folder_look next_look;
    struct folder_look seen;    /* the last time that it was looked at */
    struct folder_look refused; /* of what could not take that place */
    uint64_t exchanges;

    struct model *sharing;      /* `model`, as the thread that indexes has it;
                                   NULL: not yet */
    struct pool *pools[QUEUES]; /* the threads' */
    /* the thread of questions': */
    struct generation *generations[MAX_ANSWERS]; /* [under_way] oldest first */
    size_t under_way;
    struct prefixes prefixes; /* of `model` */
    struct section_check check;
    bool look_again;               /* at the sections of prompts */
    struct engine_prompts prompts; /* as `prefixes` was last */
};

/* One piece of work, which is run, or an answer.  It lies with the caller, who
 * waits for its end; the fields from `engine` on are the engine's. */
struct engine_task {
    int (*run)(struct engine_task *task, struct model *model, struct err *err);
    void *context;
    struct generation *generation; /* then there is no `run` */
    bool indexing;                 /* for the thread that indexes; the caller
                                      holds an open model */
    bool bare;                     /* needs no model: `run` may get NULL */
    const atomic_bool *cancel;     /* NULL: never */

    struct engine *engine;
    struct engine_task *next;
    int stage, code;
    struct err err;
};

/* Opens the model if need be, runs the task on its thread and waits for its
 * end.  What fails is ERR_MODEL, but for ERR_LIMIT and ERR_CANCELLED. */
int engine_do(struct engine *engine, struct engine_task *task, struct err *err);

/* On the engine's thread: asked by the model while it works. */
struct cancel engine_cancel_of(struct engine_task *task);
/* On the engine's thread, without the lock: the answer is there, or failed with
 * what is in task->err; the task is then its caller's. */
void engine_end(struct engine_task *task, int code);

/* On the thread of questions, without the lock: what others see of `prefixes`. */
void engine_note_prompts(struct engine *engine);
/* The same: drops the beginnings whose sections have changed, if it is due; and
 * files a piece, if nothing else is to be done.  True: something was. */
bool engine_check_prompts(struct engine *engine);
bool engine_file_prompt(struct engine *engine);

/* Waits, with the lock, for something to end. */
void engine_wait(struct engine *engine, int64_t until_ms);

/* On the thread of questions, without the lock: tries to open the model, unless it
 * was in vain and nothing has changed.  With the lock: the next model takes its
 * place when nobody holds the one before. */
void engine_open(struct engine *engine);
void engine_take_pending(struct engine *engine);

/* On the thread of questions, with the lock: where the device of the model is
 * lost, the same model on the CPU is to take its place.  When it cannot be
 * opened, that is tried again after some seconds. */
void engine_leave_device(struct engine *engine);

/* Opens a model's folder on the device, or else on the CPU: then *note says
 * why (engine_device.c). */
int engine_place(struct engine *engine, const char *folder,
                 struct model_options *options, struct device_note *note,
                 struct model **ret, struct err *err);
/* Fills in what concerns the device. */
void engine_device_state(struct engine *engine, struct engine_state *ret);

/* Opens the model if need be.  While it is held its facts and its tokenizer may
 * be read by any thread.  For all else there is engine_do. */
int engine_model(struct engine *engine, const atomic_bool *cancel,
                 const struct model **ret, struct err *err);

/* What the tokenizer adds around a text, and the model's prefix for it. */
struct engine_wrapping {
    struct ids ids; /* with some text in between */
    size_t before;  /* ids[0 ... before) */
    size_t after;   /* the last ones */
};
int engine_wrapping(const struct tokenizer *tokenizer, const char *prefix,
                    struct engine_wrapping *ret, struct err *err);
void engine_wrapping_free(struct engine_wrapping *wrapping);

#endif
