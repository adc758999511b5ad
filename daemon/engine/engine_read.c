/* Texts that are read to be remembered (engine.h). */
#include "base/mem.h"
#include "daemon/engine/engine_internal.h"

enum { SEGMENTS = 4 /* read before others have their turn */ };

struct reading {
    struct hmt *hmt; /* NULL: not yet */
    const int32_t *ids;
    size_t count;
};

static int run(struct engine_task *task, struct model *model, struct err *err)
{
    struct reading *reading = task->context;
    struct cancel cancel = engine_cancel_of(task);
    const struct hmt_options usual = {0};
    if (!reading->hmt)
        return hmt_open(model, &usual, &reading->hmt, err);
    size_t max = SEGMENTS * hmt_segment(reading->hmt);
    size_t some = reading->count < max ? reading->count : max;
    int code = hmt_read(reading->hmt, model, reading->ids, some, &cancel, err);
    if (!code) {
        reading->ids += some;
        reading->count -= some;
    }
    return code;
}

int engine_read(struct engine *engine, const int32_t *ids, size_t count,
                const atomic_bool *cancel, struct hmt **ret, struct err *err)
{
    struct reading reading = {.ids = ids, .count = count};
    struct engine_task task = {
        .run = run, .context = &reading, .cancel = cancel};
    int code = engine_do(engine, &task, err);
    while (!code && reading.count)
        code = engine_do(engine, &task, err);
    if (code)
        hmt_close(reading.hmt);
    else
        *ret = reading.hmt;
    return code;
}

int engine_tokens(struct engine *engine, struct slice text, struct ids *ids,
                  struct err *err)
{
    const struct model *model;
    size_t kept = ids->count;
    int code = engine_model(engine, NULL, &model, err);
    if (code)
        return code;
    const struct tokenizer *tokenizer = model_tokenizer(model);
    code = tokenizer_encode(tokenizer, text, false, ids, err);
    for (size_t i = kept; i < ids->count; i++)
        if (!tokenizer_is_special(tokenizer, ids->items[i]))
            ids->items[kept++] = ids->items[i];
    ids->count = kept;
    return code;
}
