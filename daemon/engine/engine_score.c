/* Passages that a reranker looks at (engine.h). */
#include <math.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/engine/engine_internal.h"

enum { PIECE = 4 /* pairs between which other work has its turn */ };

struct scored {
    struct score_input inputs[PIECE];
    size_t count;
    float *ret;
};

static int run(struct engine_task *task, struct model *model, struct err *err)
{
    struct scored *scored = task->context;
    struct cancel cancel = engine_cancel_of(task);
    return model_score(model, scored->inputs, scored->count, &cancel,
                       scored->ret, err);
}

static int score_piece(struct engine *engine, const struct model *model,
                       struct slice question, const struct slice *passages,
                       size_t count, const atomic_bool *cancel, float *ret,
                       struct err *err)
{
    struct scored scored = {.ret = ret};
    struct engine_task task = {
        .run = run, .context = &scored, .cancel = cancel};
    int code = 0;
    for (; scored.count < count && !code; scored.count++)
        code = model_pair(model, question, passages[scored.count],
                          &scored.inputs[scored.count], err);
    if (!code)
        code = engine_do(engine, &task, err);
    for (size_t i = 0; i < scored.count; i++)
        ids_free(&scored.inputs[i].ids);
    return code;
}

static bool are_numbers(const float *scores, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(scores[i]))
            return false;
    return true;
}

int engine_score(struct engine *engine, struct slice question,
                 const struct slice *passages, size_t count, int64_t budget_ms,
                 const atomic_bool *cancel, float *ret, size_t *ret_count,
                 struct err *err)
{
    const struct model *model;
    int code = engine_model(engine, cancel, &model, err);
    int64_t until_ms = clock_ms() + budget_ms;
    *ret_count = 0;
    for (size_t from = 0, some; from < count && !code; from += some) {
        if (clock_ms() >= until_ms)
            break;
        some = count - from < PIECE ? count - from : PIECE;
        code = score_piece(engine, model, question, passages + from, some,
                           cancel, ret + from, err);
        *ret_count += code ? 0 : some;
    }
    if (!code && !are_numbers(ret, *ret_count))
        code = err_set(err, ERR_MODEL, "what the model says is no number");
    return code;
}
