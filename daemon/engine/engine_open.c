/* The engine's model: opening it, and exchanging it for what its folder has come
 * to hold. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine/engine_internal.h"

enum { RETRY_MS = 5000 /* least time between two tries to open a model */ };

/* ---- Opening, on the thread of questions ---- */

static void fail_open(struct engine *engine, const char *what,
                      const struct err *cause)
{
    struct err err = {.position = -1};
    bool named = !cause->path[0] || strstr(cause->message, cause->path);
    err_set(&err, ERR_MODEL, "%s: %s%s%s", what, named ? "" : cause->path,
            named ? "" : ": ", cause->message);
    err_at(&err, cause->path[0] ? cause->path : engine->folder);
    err.position = cause->position;
    pthread_mutex_lock(&engine->lock);
    bool news = strcmp(err.message, engine->err.message) != 0;
    engine->err = err;
    engine->may_pass = cause->code == ERR_LIMIT || cause->code == ERR_IO;
    engine->failed_ms = clock_ms();
    pthread_mutex_unlock(&engine->lock);
    if (news)
        log_warn("%s", err.message);
}

static int open_folder(struct engine *engine, const char *folder,
                       struct device_note *note, struct model **ret,
                       struct err *err)
{
    struct model *model;
    int code = engine->pools[QUESTIONS]
                   ? 0
                   : pool_new(0, &engine->pools[QUESTIONS], err);
    if (code)
        return code;
    struct pool *pool = engine->pools[QUESTIONS];
    struct model_options options = {
        .exact = engine->exact,
        .keys_int8 = engine->keys_int8,
        .int8 = engine->int8,
        .pool = {pool, pool_parallel_for, pool_threads(pool)}};
    code = engine_place(engine, folder, &options, note, &model, err);
    if (code)
        return code;
    if (model_tokenizer(model)) {
        *ret = model;
        return 0;
    }
    model_close(model);
    struct buf path = {0};
    file_join(&path, folder, "tokenizer.json");
    err_set(err, ERR_IO, "there is no %s", path.data);
    err_at(err, path.data);
    buf_free(&path);
    return ERR_IO;
}

void engine_open(struct engine *engine)
{
    struct model *model = NULL;
    struct device_note note;
    struct err err = {.position = -1};
    double start = clock_seconds();
    struct folder_look look = folder_look(engine->folder);
    if (engine->err.code &&
        (clock_ms() - engine->tried_ms < RETRY_MS ||
         (folder_same(look, engine->look) && !engine->may_pass)))
        return;
    if (open_folder(engine, engine->folder, &note, &model, &err))
        fail_open(engine, "the model cannot be used", &err);
    pthread_mutex_lock(&engine->lock);
    engine->tried_ms = clock_ms();
    engine->look = look;
    engine->model = model;
    if (model) {
        engine->err = (struct err){.position = -1};
        engine->note = note;
    }
    pthread_mutex_unlock(&engine->lock);
    if (model)
        log_info("model %s: %llu parameters, %s on %s%s%s%s, opened in "
                 "%.0f ms",
                 engine->folder,
                 (unsigned long long)model_facts(model)->parameters,
                 model_facts(model)->type, model_facts(model)->backend,
                 note.text[0] ? " (" : "", note.text, note.text[0] ? ")" : "",
                 (clock_seconds() - start) * 1000);
}

/* ---- Another one in its place ---- */

void engine_take_pending(struct engine *engine)
{
    struct model *old = engine->model, *sharing = engine->sharing;
    char *old_folder = engine->folder;
    if (!engine->next_due || engine->holders || engine->under_way)
        return;
    engine->sharing = NULL;
    engine->model = engine->next;
    engine->note = engine->next_note;
    engine->folder = engine->next_folder;
    engine->look = engine->next_look;
    engine->next = NULL;
    engine->next_folder = NULL;
    engine->next_due = false;
    engine->err = (struct err){.position = -1};
    engine->exchanges++;
    pthread_cond_broadcast(&engine->ended);
    pthread_mutex_unlock(&engine->lock);
    prefixes_clear(&engine->prefixes);
    model_close(sharing);
    model_close(old);
    free(old_folder);
    if (engine->folder)
        log_info("model %s: what its folder holds now is in use, on %s",
                 engine->folder, model_facts(engine->model)->backend);
    else
        log_info("no model is in use any more");
    pthread_mutex_lock(&engine->lock);
}

/* With the lock.  Returns the one that was to come and is not used. */
static struct model *put_next(struct engine *engine, struct model *next,
                              const struct device_note *note,
                              const char *folder, struct folder_look look)
{
    struct model *unused = engine->next;
    char *copy = folder ? mem_strdup(folder) : NULL;
    free(engine->next_folder);
    engine->next = next;
    engine->next_note = *note;
    engine->next_folder = copy;
    engine->next_look = look;
    engine->next_due = true;
    engine_take_pending(engine);
    return unused;
}

/* The folder of the model that is in use, or is to be. */
static const char *newest_folder(const struct engine *engine)
{
    return engine->next_due ? engine->next_folder : engine->folder;
}

static int open_next(struct engine_task *task, struct model *model,
                     struct err *err)
{
    struct engine *engine = task->engine;
    const char *folder = newest_folder(engine);
    struct model *next = NULL, *unused = NULL;
    struct device_note note;
    (void)model;
    if (!folder)
        return 0;
    struct folder_look look = folder_look(folder);
    int code = open_folder(engine, folder, &note, &next, err);
    if (code)
        fail_open(engine,
                  "the model has changed, and the one before stays in use",
                  err);
    pthread_mutex_lock(&engine->lock);
    if (code)
        engine->refused = look;
    else
        unused = put_next(engine, next, &note, folder, look);
    pthread_mutex_unlock(&engine->lock);
    model_close(unused);
    return code;
}

static int open_other(struct engine_task *task, struct model *model,
                      struct err *err)
{
    struct engine *engine = task->engine;
    const char *folder = task->context;
    struct model *next = NULL;
    struct device_note note = {.text = ""};
    struct folder_look look = {0};
    (void)model;
    if (folder)
        look = folder_look(folder);
    int code = folder ? open_folder(engine, folder, &note, &next, err) : 0;
    if (code)
        return code;
    pthread_mutex_lock(&engine->lock);
    struct model *unused = put_next(engine, next, &note, folder, look);
    pthread_mutex_unlock(&engine->lock);
    model_close(unused);
    return 0;
}

void engine_leave_device(struct engine *engine)
{
    struct model *model = NULL, *unused = NULL;
    struct device_note note;
    struct err err = {.position = -1};
    const char *why = engine->model ? model_device_failed(engine->model) : NULL;
    bool first = !engine->left_ms;
    if (!why || engine->next_due || atomic_load(&engine->stopping) ||
        (!first && clock_ms() - engine->left_ms < RETRY_MS))
        return;
    engine->left_ms = clock_ms();
    pthread_mutex_unlock(&engine->lock);
    if (first)
        log_error("the GPU has failed (%s): the CPU takes over until the "
                  "daemon is restarted",
                  why);
    struct folder_look look = folder_look(engine->folder);
    if (open_folder(engine, engine->folder, &note, &model, &err))
        fail_open(engine, "the GPU has failed, and the CPU cannot take over",
                  &err);
    pthread_mutex_lock(&engine->lock);
    if (model)
        unused = put_next(engine, model, &note, engine->folder, look);
    pthread_mutex_unlock(&engine->lock);
    model_close(unused);
    pthread_mutex_lock(&engine->lock);
}

int engine_use(struct engine *engine, const char *folder, struct err *err)
{
    char *copy = folder[0] ? mem_strdup(folder) : NULL;
    struct engine_task task = {
        .run = open_other, .context = copy, .bare = true};
    int code = engine_do(engine, &task, err);
    free(copy);
    return code;
}

char *engine_newest_folder(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    const char *folder = newest_folder(engine);
    char *copy = mem_strdup(folder ? folder : "");
    pthread_mutex_unlock(&engine->lock);
    return copy;
}

void engine_swap_pending(struct engine *engine, int64_t max_ms)
{
    int64_t until = clock_ms() + max_ms;
    pthread_mutex_lock(&engine->lock);
    while (engine->next_due && !atomic_load(&engine->stopping) &&
           clock_ms() < until)
        engine_wait(engine, until);
    pthread_mutex_unlock(&engine->lock);
}

bool engine_is_awaited(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool awaited = engine->next_due && engine->holders == 1;
    pthread_mutex_unlock(&engine->lock);
    return awaited;
}

/* With the lock: what was tried already, unless memory was short or a file could not
 * be read, which may have passed. */
static bool is_refused(const struct engine *engine, struct folder_look look)
{
    return folder_same(look, engine->refused) &&
           !(engine->may_pass && clock_ms() - engine->failed_ms >= RETRY_MS);
}

/* Changed, but not still changing; and not what was tried already. */
static bool is_due(struct engine *engine)
{
    char *folder = engine_newest_folder(engine);
    struct folder_look look = {0};
    bool any = folder[0];
    if (any)
        look = folder_look(folder);
    free(folder);
    if (!any)
        return false;
    pthread_mutex_lock(&engine->lock);
    const struct folder_look *newest =
        engine->next_due ? &engine->next_look : &engine->look;
    bool due = (engine->next_due || engine->model) &&
               !folder_same(look, *newest) && folder_same(look, engine->seen) &&
               !is_refused(engine, look);
    engine->seen = look;
    pthread_mutex_unlock(&engine->lock);
    return due;
}

uint64_t engine_reload(struct engine *engine)
{
    struct engine_task task = {.run = open_next};
    if (engine_has_model(engine) && is_due(engine))
        engine_do(engine, &task, NULL);
    pthread_mutex_lock(&engine->lock);
    uint64_t exchanges = engine->exchanges;
    pthread_mutex_unlock(&engine->lock);
    return exchanges;
}

/* ---- What others see of it ---- */

static int do_nothing(struct engine_task *task, struct model *model,
                      struct err *err)
{
    (void)task;
    (void)model;
    (void)err;
    return 0;
}

static struct model *opened(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct model *model = engine->model;
    pthread_mutex_unlock(&engine->lock);
    return model;
}

int engine_model(struct engine *engine, const atomic_bool *cancel,
                 const struct model **ret, struct err *err)
{
    struct engine_task task = {.run = do_nothing, .cancel = cancel};
    int code = opened(engine) ? 0 : engine_do(engine, &task, err);
    if (!code)
        *ret = opened(engine);
    return code;
}

bool engine_has_model(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool has = engine->folder;
    pthread_mutex_unlock(&engine->lock);
    return has;
}

bool engine_ready(struct engine *engine, int64_t max_ms)
{
    int64_t until = clock_ms() + max_ms;
    if (!engine_has_model(engine))
        return false;
    pthread_mutex_lock(&engine->lock);
    if (!engine->model && !atomic_load(&engine->stopping)) {
        engine->wanted = true;
        pthread_cond_signal(&engine->more[QUESTIONS]);
    }
    while (engine->wanted && !engine->model && clock_ms() < until)
        engine_wait(engine, until);
    bool open = engine->model;
    pthread_mutex_unlock(&engine->lock);
    return open;
}

size_t engine_context(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    size_t context = engine->model ? model_facts(engine->model)->context : 0;
    pthread_mutex_unlock(&engine->lock);
    return context;
}

void engine_state(struct engine *engine, struct engine_state *ret)
{
    pthread_mutex_lock(&engine->lock);
    *ret = (struct engine_state){.folder = engine->folder, .err.position = -1};
    pthread_mutex_unlock(&engine->lock);
    engine_device_state(engine, ret);
    if (!ret->folder)
        return;
    struct folder_look look = folder_look(ret->folder);
    pthread_mutex_lock(&engine->lock);
    ret->open = engine->model;
    ret->err = engine->err;
    if (engine->model) {
        ret->facts = *model_facts(engine->model);
        memcpy(ret->device_note, engine->note.text, sizeof ret->device_note);
    }
    ret->changed =
        (engine->model || engine->err.code) && !folder_same(look, engine->look);
    pthread_mutex_unlock(&engine->lock);
}
