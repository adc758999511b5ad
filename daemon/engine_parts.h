/* What the engine's own files share: work handed to its thread. */
#ifndef DAEMON_ENGINE_PARTS_H
#define DAEMON_ENGINE_PARTS_H

#include "daemon/engine.h"

/* One piece of work.  It lies with the caller, who waits for its end; the
 * fields from `engine` on are the engine's. */
struct engine_task {
    int (*run)(struct engine_task *task, struct model *model, struct err *err);
    void *context;
    bool indexing;             /* after all questions */
    bool brief;                /* may be done between the tokens of an answer */
    const atomic_bool *cancel; /* NULL: never */

    struct engine *engine;
    struct engine_task *next;
    int stage, code;
    struct err err;
};

/* Opens the model if need be, runs the task on the engine's thread and waits
 * for its end.  What fails is ERR_MODEL, but for ERR_LIMIT and ERR_CANCELLED. */
int engine_do(struct engine *engine, struct engine_task *task, struct err *err);

/* For `run`: asked by the model while it works. */
struct cancel engine_cancel_of(struct engine_task *task);
/* For `run`, on the engine's thread: does the brief questions that wait. */
void engine_between(struct engine *engine);

/* Opens the model if need be; from then on it stays open, and its facts and
 * its tokenizer may be read by any thread.  For all else there is engine_do. */
int engine_model(struct engine *engine, const atomic_bool *cancel,
                 const struct model **ret, struct err *err);

/* What the tokenizer adds around a text. */
struct engine_wrapping {
    struct ids ids; /* with some text in between */
    size_t before;  /* ids[0 ... before) */
    size_t after;   /* the last ones */
};
int engine_wrapping(const struct tokenizer *tokenizer,
                    struct engine_wrapping *ret, struct err *err);
void engine_wrapping_free(struct engine_wrapping *wrapping);

#endif
