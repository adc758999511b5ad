/* The model: real, and slow. */
#include "model/model.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

static unsigned calls;

void model_begin(void)
{
    calls = 0;
}

unsigned model_calls(void)
{
    return calls;
}

int __real_model_embed(struct model *model, const struct embed_input *inputs,
                       size_t count, const struct cancel *cancel, float *ret,
                       struct err *err);
int __wrap_model_embed(struct model *model, const struct embed_input *inputs,
                       size_t count, const struct cancel *cancel, float *ret,
                       struct err *err);
int __wrap_model_embed(struct model *model, const struct embed_input *inputs,
                       size_t count, const struct cancel *cancel, float *ret,
                       struct err *err)
{
    calls++;
    outside_call();
    if (world.model_slowness)
        fibre_sleep((int64_t)chance_below((uint64_t)world.model_slowness));
    if (chance_in(world.model_failures))
        return err_set(err, ERR_MODEL, "the model has failed");
    return __real_model_embed(model, inputs, count, cancel, ret, err);
}
