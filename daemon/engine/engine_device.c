/* Whether a model runs on the device or on the CPU, and why. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "daemon/engine/engine_internal.h"

enum {
    SHARERS = 2,        /* the threads of questions and of indexing */
    MAX_SESSION = 8192, /* tokens for which there must be room */
    MORE = 256 << 20    /* bytes, for what operations work in */
};

/* Memory of the device that the model asks for, so that a question can be read
 * and answered.  The device holds f16 and int8 weights as f32. */
static uint64_t needed_by(const struct model_facts *facts)
{
    uint64_t tokens =
        facts->context < MAX_SESSION ? facts->context : MAX_SESSION;
    return facts->wide_bytes + SHARERS * facts->work_bytes +
           (facts->writes ? tokens * facts->token_bytes : 0) + MORE;
}

/* False: it is lost, which the note says. */
static bool works(const struct kernels *device, struct device_note *note)
{
    const char *why = device->lost();
    if (why)
        snprintf(note->text, sizeof note->text, "the GPU has failed: %s", why);
    return !why;
}

/* NULL: the CPU, and why. */
static const struct kernels *find(struct engine *engine,
                                  struct device_note *note)
{
    const char *reason = NULL;
    const struct kernels *device = NULL;
    if (engine->find_device)
        device = engine->find_device(&reason);
    pthread_mutex_lock(&engine->lock);
    engine->device = device;
    pthread_mutex_unlock(&engine->lock);
    if (device && !works(device, note))
        return NULL;
    if (!device && reason)
        snprintf(note->text, sizeof note->text, "%s", reason);
    return device;
}

/* The model's sizes, without its weights. */
static int look_for_room(const struct kernels *device, const char *folder,
                         const struct model_options *options, struct err *err)
{
    struct model_options look = *options;
    struct model *model;
    struct kernel_device facts;
    look.kernels = device;
    look.check = true;
    look.no_tokenizer = true;
    int code = model_open(folder, &look, &model, err);
    if (code)
        return code;
    double needed = (double)needed_by(model_facts(model)) / 1e9;
    model_close(model);
    if (!device->device(&facts))
        return err_set(err, ERR_MODEL, "the GPU does not answer");
    if (needed <= (double)facts.free / 1e9)
        return 0;
    return err_set(err, ERR_LIMIT,
                   "the model needs %.1f GB of the GPU's memory, which has "
                   "%.1f of %.1f GB free",
                   needed, (double)facts.free / 1e9, (double)facts.total / 1e9);
}

int engine_place(struct engine *engine, const char *folder,
                 struct model_options *options, struct device_note *note,
                 struct model **ret, struct err *err)
{
    struct err why = {.position = -1};
    note->text[0] = '\0';
    const struct kernels *device = find(engine, note);
    if (device) {
        int code = look_for_room(device, folder, options, &why);
        options->kernels = device;
        if (!code)
            code = model_open(folder, options, ret, &why);
        if (!code)
            return 0;
        bool refused = works(device, note);
        if (refused && engine->device_only) {
            if (err)
                *err = why;
            return code;
        }
        if (refused)
            snprintf(note->text, sizeof note->text, "%.*s",
                     (int)sizeof note->text - 1, why.message);
    }
    options->kernels = kernels_cpu();
    return model_open(folder, options, ret, err);
}

void engine_device_state(struct engine *engine, struct engine_state *ret)
{
    pthread_mutex_lock(&engine->lock);
    const struct kernels *device = engine->device;
    pthread_mutex_unlock(&engine->lock);
    ret->device_name = engine->device_name;
    ret->device_failed = device && device->lost();
    ret->device_there = device && device->device(&ret->device);
}
