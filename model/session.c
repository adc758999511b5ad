#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/forward.h"
#include "model/sample.h"

enum { LOGIT_ROWS = 32 };

/* `logits` are those of the token at length - 1 when `fresh`. */
struct session {
    struct model *model;
    struct cache cache;
    float *logits; /* [vocabulary] */
    bool fresh;
};

int session_open(struct model *model, struct session **ret, struct err *err)
{
    if (!model->config.writes)
        return err_set(err, ERR_USAGE,
                       "the model has no head: it embeds, but does not write");
    struct session *session = mem_alloc(sizeof *session);
    session->model = model;
    session->logits = calloc(model->config.vocabulary, sizeof *session->logits);
    if (!session->logits) {
        session_close(session);
        return err_set(err, ERR_LIMIT, "no memory left for the model");
    }
    *ret = session;
    return 0;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    cache_free(session->model, &session->cache);
    free(session->logits);
    free(session);
}

size_t session_length(const struct session *session)
{
    return session->cache.length;
}

void session_truncate(struct session *session, size_t length)
{
    if (length >= session->cache.length)
        return;
    session->cache.length = length;
    session->fresh = false;
}

const float *session_logits(const struct session *session)
{
    return session->fresh ? session->logits : NULL;
}

static int check(const struct session *session, const int32_t *ids,
                 size_t count, struct err *err)
{
    const struct model_config *c = &session->model->config;
    if (count > c->context - session->cache.length)
        return err_set(err, ERR_LIMIT,
                       "%zu tokens after %zu are more than the model's %zu",
                       count, session->cache.length, c->context);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocabulary)
            return err_set(err, ERR_USAGE,
                           "the id %d is not in the model's vocabulary of %zu",
                           (int)ids[i], c->vocabulary);
    return 0;
}

static int logits_of(struct session *s, size_t rows, float *ret,
                     struct err *err)
{
    size_t vocabulary = s->model->config.vocabulary;
    int code = 0;
    for (size_t from = 0; ret && from < rows && !code; from += LOGIT_ROWS) {
        size_t some = rows - from < LOGIT_ROWS ? rows - from : LOGIT_ROWS;
        code =
            forward_logits(s->model, from, some, ret + from * vocabulary, err);
    }
    return code;
}

static int feed_some(struct session *s, const int32_t *ids, size_t count,
                     const struct cancel *cancel, float *ret, bool last,
                     struct err *err)
{
    struct forward_part part = {.ids = ids, .count = count, .cache = &s->cache};
    size_t vocabulary = s->model->config.vocabulary;
    int code = cache_reserve(s->model, &s->cache, s->cache.length + count, err);
    if (!code)
        code = forward(s->model, &part, 1, cancel, err);
    if (!code)
        code = logits_of(s, count, ret, err);
    if (!code && last && ret)
        memcpy(s->logits, ret + (count - 1) * vocabulary,
               vocabulary * sizeof *ret);
    else if (!code && last)
        code = forward_logits(s->model, count - 1, 1, s->logits, err);
    if (!code)
        s->cache.length += count;
    return code;
}

int session_feed(struct session *s, const int32_t *ids, size_t count,
                 const struct cancel *cancel, float *ret_logits,
                 struct err *err)
{
    size_t before = s->cache.length, vocabulary = s->model->config.vocabulary;
    int code = check(s, ids, count, err);
    if (code || !count)
        return code;
    for (size_t from = 0, some; from < count && !code; from += some) {
        some = count - from;
        if (some > FORWARD_MOST_ROWS)
            some = FORWARD_MOST_ROWS;
        code = feed_some(s, ids + from, some, cancel,
                         ret_logits ? ret_logits + from * vocabulary : NULL,
                         from + some == count, err);
    }
    if (code)
        s->cache.length = before;
    else
        s->fresh = true;
    return code;
}

static bool is_stop(const struct session *s,
                    const struct generate_options *options, int32_t id)
{
    const int32_t *stops = options->stops;
    size_t count = options->stop_count;
    if (!stops) {
        stops = s->model->config.stops;
        count = s->model->config.stop_count;
    }
    for (size_t i = 0; i < count; i++)
        if (stops[i] == id)
            return true;
    return false;
}

int session_generate(struct session *s, const struct generate_options *options,
                     generate_token *token, void *context, size_t *ret_count,
                     struct err *err)
{
    uint64_t state = options->seed;
    *ret_count = 0;
    if (!s->fresh)
        return err_set(err, ERR_USAGE, "nothing was read to go on from");
    while (*ret_count < options->most) {
        int32_t id = sample_draw(s->logits, s->model->config.vocabulary,
                                 options->temperature, &state);
        if (id < 0)
            return err_set(err, ERR_FORMAT,
                           "the model's logits are not numbers: its weights "
                           "are damaged, or too large for the arithmetic");
        if (is_stop(s, options, id))
            return 0;
        ++*ret_count;
        double log_chance =
            sample_log_chance(s->logits, s->model->config.vocabulary, id);
        if (!token(context, id, log_chance) ||
            s->cache.length == s->model->config.context)
            return 0;
        int code = session_feed(s, &id, 1, options->cancel, NULL, err);
        if (code)
            return code;
    }
    return 0;
}
