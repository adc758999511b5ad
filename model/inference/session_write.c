/* What a session writes: its logits, and the tokens that are chosen by them. */
#include <math.h>

#include "model/inference/session_internal.h"

int session_sampling(struct session *s, const struct sampling *how,
                     struct err *err)
{
    s->listed = false; /* it is of a temperature */
    return sampler_set(&s->sampler, how, s->model->config.vocabulary, err);
}

/* Both come here once for each token, if at all. */
static int fetch_logits(struct session *s, struct err *err)
{
    struct model *m = s->model;
    int code = s->here ? 0
                       : m->kernels->download(
                             &m->run, s->host_logits, s->logits,
                             m->config.vocabulary * sizeof *s->host_logits);
    s->here = !code;
    return forward_error(code, err);
}

static int fetch_top_k(struct session *s, struct err *err)
{
    struct model *m = s->model;
    int code = s->listed ? 0
                         : m->kernels->top_k(&m->run, &s->top_k, s->logits,
                                             m->config.vocabulary,
                                             sampler_beta(&s->sampler));
    s->listed = !code;
    return forward_error(code, err);
}

const float *session_logits(struct session *session)
{
    return session->fresh && !fetch_logits(session, NULL) ? session->host_logits
                                                          : NULL;
}

/* They are all NaN (or -infinity). */
static bool are_no_numbers(const struct session *s)
{
    return !(s->top_k.logit[0] > -INFINITY);
}

int32_t session_top_k(struct session *s)
{
    return s->fresh && !fetch_top_k(s, NULL) && !are_no_numbers(s)
               ? s->top_k.id[0]
               : -1;
}

static float logit_of(const struct session *s, int32_t id)
{
    size_t i = 0;
    while (!s->here && s->top_k.id[i] != id)
        i++;
    return s->here ? s->host_logits[id] : s->top_k.logit[i];
}

int session_choose(struct session *s, int32_t *ret_id, double *ret_logprob,
                   struct err *err)
{
    if (!s->fresh)
        return err_set(err, ERR_USAGE, "nothing was read to go on from");
    size_t begins = s->begin != NULL;
    int code = fetch_top_k(s, err);
    if (code)
        return code;
    if (are_no_numbers(s))
        return err_set(err, ERR_FORMAT,
                       "the model's logits are not numbers: its weights are "
                       "damaged, or too large for the arithmetic");
    int32_t id = sampler_choose_top_k(&s->sampler, &s->top_k);
    if (id == SAMPLER_ALL) {
        code = fetch_logits(s, err);
        if (code)
            return code;
        id = sampler_choose(&s->sampler, s->host_logits, s->ids + begins,
                            s->length - begins);
    }
    if (id >= 0)
        *ret_logprob = sample_logprob(&s->top_k, logit_of(s, id));
    *ret_id = id;
    return 0;
}

static bool is_among(const int32_t *ids, size_t count, int32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

bool model_is_eos(const struct model *model, int32_t id)
{
    return is_among(model->config.eos_ids, model->config.eos_count, id);
}

int session_generate(struct session *s, const struct generate_options *options,
                     generate_token *token, void *context, size_t *ret_count,
                     struct err *err)
{
    *ret_count = 0;
    int code = session_sampling(s, &options->sampling, err);
    if (!code)
        code = session_reserve(s, options->max, err);
    while (!code && *ret_count < options->max) {
        int32_t id;
        double logprob;
        code = session_choose(s, &id, &logprob, err);
        if (code || id < 0)
            break;
        if (options->eos_ids
                ? is_among(options->eos_ids, options->eos_count, id)
                : model_is_eos(s->model, id))
            break;
        ++*ret_count;
        if (!token(context, id, logprob) ||
            s->length == s->model->config.context)
            break;
        code = session_prefill(s, &id, 1, options->cancel, NULL, err);
    }
    return code;
}
