#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/inference/session_internal.h"

enum { LOGIT_ROWS = 32 };

enum { EXACT_TOP_K = 32, EXACT_WINDOW = 512 };

/* Of those that are read at last, so many times as many are looked at by their keys:
 * with twice as many heavy ones are missed (docs/log/engine.md). */
enum { RERANK_TIMES = 3 };

int session_room(struct session *s, size_t count, struct err *err)
{
    MEM_RESERVE(s->ids, &s->id_capacity, count);
    return cache_reserve(s->model, &s->cache, cache_slots(&s->cache, count),
                         err);
}

static size_t inserted_in(const struct model *m)
{
    const struct attention_config *attention = &m->config.attention;
    return attention->kind == ATTENTION_HILS   ? attention->hils.chunk
           : attention->kind == ATTENTION_STAR ? attention->star.chunk
                                               : 0;
}

int session_open(struct model *model, struct session **ret, struct err *err)
{
    if (!model->config.writes)
        return err_set(err, ERR_USAGE,
                       "the model has no head: it embeds, but does not write");
    struct session *session = mem_alloc(sizeof *session);
    session->model = model;
    session->cache.hils = forward_hils_use(model);
    session->cache.inserted = inserted_in(model);
    session->sampler.count = model->config.vocabulary;
    session->host_logits =
        calloc(model->config.vocabulary, sizeof *session->host_logits);
    session->logits = model->kernels->allocate(
        &model->run, model->config.vocabulary * sizeof *session->logits);
    if (!session->logits || !session->host_logits) {
        session_close(session);
        return err_set(err, ERR_LIMIT, "no memory left for the model");
    }
    *ret = session;
    return 0;
}

int session_open_exact(struct model *model, const struct session_exact *exact,
                       struct session **ret, struct err *err)
{
    if (!model->facts.exact)
        return err_set(err, ERR_USAGE,
                       "the model was not opened for `exact` attention, or "
                       "none of its layers sees all");
    int code = session_open(model, ret, err);
    if (code)
        return code;
    session_exact_change(*ret, exact);
    return 0;
}

struct session_exact session_exact_of(size_t tokens)
{
    size_t window = tokens / 2 < EXACT_WINDOW ? tokens / 2 : EXACT_WINDOW;
    size_t top_k = (tokens - window) / CACHE_PAGE;
    return (struct session_exact){.window = window ? window : 1,
                                  .top_k = top_k ? top_k : 1};
}

static size_t looks_of(const struct model *m, int rerank, size_t top_k)
{
    if (!m->kernels->reranks)
        return 0;
    return rerank == SESSION_BY_KEYS    ? SIZE_MAX
           : rerank == SESSION_RERANKED ? RERANK_TIMES * top_k
                                        : 0;
}

void session_exact_change(struct session *session,
                          const struct session_exact *exact)
{
    size_t top_k = exact->top_k ? exact->top_k : EXACT_TOP_K;
    bool usual = !exact->window && !exact->all;
    top_k = forward_hils_max(session->model, top_k, CACHE_PAGE);
    session->cache.hils = (struct hils_use){
        .chunk = CACHE_PAGE,
        .window = usual ? EXACT_WINDOW : exact->window,
        .top_k = top_k,
        .looks = looks_of(session->model, exact->rerank, top_k),
        .full = exact->full,
        .read = exact->read,
        .all = exact->all,
        .exact = true};
}

const char *session_attention(const struct session *session)
{
    return session->cache.hils.exact
               ? "exact"
               : attention_name(session->model->config.attention.kind);
}

void session_close(struct session *session)
{
    if (!session)
        return;
    cache_free(session->model, &session->cache);
    sampler_free(&session->sampler);
    free(session->ids);
    free(session->begin);
    free(session->host_logits);
    session->model->kernels->release(&session->model->run, session->logits);
    free(session);
}

size_t session_length(const struct session *session)
{
    return session->length;
}

const int32_t *session_ids(const struct session *session)
{
    return session->ids;
}

/* How many of the first `length` tokens the cache can do with. */
static size_t cached_of(const struct session *s, size_t length)
{
    if (length < s->text && !s->model->config.attention.hici.causal)
        length = 0;
    return length < s->kept ? length : s->kept;
}

static void keep_first(struct session *s, size_t kept)
{
    s->kept = kept;
    cache_rewind(s->model, &s->cache, cache_slots(&s->cache, kept));
}

void session_rewind(struct session *session, size_t length)
{
    if (length >= session->length)
        return;
    session->length = length;
    session->fresh = false;
    keep_first(session, cached_of(session, length));
    if (length < session->text)
        session->text = length;
    if (!length) {
        free(session->begin);
        session->begin = NULL;
    }
}

/* What a session that has read nothing reads at first is a text. */
static bool is_text(const struct session *s)
{
    return !s->length && s->model->config.attention.kind == ATTENTION_HICI;
}

static int check(const struct session *session, const int32_t *ids,
                 size_t count, struct err *err)
{
    const struct model_config *c = &session->model->config;
    if (count > c->context - session->length)
        return err_set(err, ERR_LIMIT,
                       "%zu tokens after %zu are more than the model's %zu",
                       count, session->length, c->context);
    if (is_text(session) && count > forward_max_whole(session->model))
        return err_set(err, ERR_LIMIT,
                       "%zu tokens are more than the %zu that HiCI attention "
                       "reads as a whole in a GiB of memory",
                       count, forward_max_whole(session->model));
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocabulary)
            return err_set(err, ERR_USAGE,
                           "the id %d is not in the model's vocabulary of %zu",
                           (int)ids[i], c->vocabulary);
    return 0;
}

/* Read together with what comes next. */
int session_soft_prefix(struct session *s, const float *vector, struct err *err)
{
    size_t width = s->model->config.width;
    int kind = s->model->config.attention.kind;
    if (s->length || kind == ATTENTION_STAR || kind == ATTENTION_HICI)
        return err_set(err, ERR_USAGE,
                       "a vector stands before all tokens, and in no model "
                       "of STAR or HiCI attention");
    int code = session_room(s, 1, err);
    if (code)
        return code;
    s->begin = mem_alloc(width * sizeof *s->begin);
    memcpy(s->begin, vector, width * sizeof *s->begin);
    s->ids[s->length++] = -1;
    return 0;
}

int session_put(struct session *s, const int32_t *ids, size_t count,
                struct err *err)
{
    if (s->model->config.attention.kind == ATTENTION_HICI)
        return err_set(err, ERR_USAGE,
                       "a model of HiCI attention reads its first text as a "
                       "whole");
    int code = check(s, ids, count, err);
    if (!code)
        code = session_room(s, s->length + count, err);
    if (code || !count)
        return code;
    memcpy(s->ids + s->length, ids, count * sizeof *ids);
    s->length += count;
    s->fresh = false;
    return 0;
}

static int copy_logits(const struct session *from, struct session *to,
                       struct err *err)
{
    struct model *m = from->model;
    return forward_error(
        m->kernels->copy(&m->run, to->logits, from->logits,
                         m->config.vocabulary * sizeof *to->logits),
        err);
}

int session_fork(struct session *from, size_t length, struct session **ret,
                 struct err *err)
{
    struct session *to;
    if (length > from->length)
        return err_set(err, ERR_USAGE, "%zu tokens of a session of %zu", length,
                       from->length);
    int code = session_open(from->model, &to, err);
    if (code)
        return code;
    bool whole = length == from->length;
    to->kept = whole ? from->kept : cached_of(from, length);
    to->length = length;
    to->text = length < from->text ? length : from->text;
    to->cache.hils = from->cache.hils;
    code = cache_fork(from->model, &from->cache,
                      cache_slots(&from->cache, to->kept), &to->cache, err);
    if (code) {
        session_close(to);
        return code;
    }
    MEM_RESERVE(to->ids, &to->id_capacity, length + 1);
    if (length)
        memcpy(to->ids, from->ids, length * sizeof *to->ids);
    if (length && from->begin) {
        size_t bytes = from->model->config.width * sizeof *to->begin;
        to->begin = memcpy(mem_alloc(bytes), from->begin, bytes);
    }
    to->fresh = from->fresh && whole;
    if (to->fresh)
        code = copy_logits(from, to, err);
    if (code)
        session_close(to);
    else
        *ret = to;
    return code;
}

int session_reserve(struct session *session, size_t count, struct err *err)
{
    size_t length = session->length;
    size_t room = session->model->config.context - length;
    return session_room(session, length + (count < room ? count : room), err);
}

size_t session_bytes(const struct session *session)
{
    return session->cache.count * cache_page_bytes(session->model);
}

/* The logits of the pass's rows [from, from + rows). */
static int take_logits(struct model *m, size_t from, size_t rows, float *ret,
                       struct err *err)
{
    int code = forward_logits(m, from, rows, err);
    return code ? code : forward_take_logits(m, 0, rows, ret, err);
}

static void begin_text(struct session *s, size_t count)
{
    if (is_text(s))
        s->text = count;
}

/* Tokens of the next pass, to have read `length`. */
static size_t pass_of(const struct session *s, size_t length)
{
    size_t left = length - s->kept;
    if (s->text && !s->kept)
        return s->text;
    return forward_next(s->model, &s->cache, left);
}

/* The row, in a pass that goes on from the cache, of the token `ahead` of the
 * first. */
static size_t row_of(const struct session *s, size_t ahead)
{
    size_t token = s->kept + ahead;
    return cache_slots(&s->cache, token) - s->cache.length;
}

/* Those of the pass's row become the session's. */
static int keep_logits(struct session *s, size_t row, struct err *err)
{
    int code = forward_logits(s->model, row, 1, err);
    return code ? code : forward_keep_logits(s->model, 0, s->logits, err);
}

/* Those of a row that is here already. */
static int put_logits(struct session *s, const float *host, struct err *err)
{
    struct model *m = s->model;
    return forward_error(
        m->kernels->upload(&m->run, s->logits, host,
                           m->config.vocabulary * sizeof *host),
        err);
}

static void have_logits(struct session *s)
{
    s->fresh = true;
    s->here = s->listed = false;
}

/* The logits of `rows` tokens from the token `ahead` of the pass's first; rows
 * of landmarks are left out. */
static int logits_of(struct session *s, size_t ahead, size_t rows, float *ret,
                     struct err *err)
{
    size_t vocabulary = s->model->config.vocabulary;
    int code = 0;
    for (size_t i = 0, some; i < rows && !code; i += some) {
        size_t row = row_of(s, ahead + i);
        for (some = 1; some < LOGIT_ROWS && i + some < rows &&
                       row_of(s, ahead + i + some) == row + some;)
            some++;
        code = take_logits(s->model, row, some, ret + i * vocabulary, err);
    }
    return code;
}

/* What a pass reads: the tokens from `kept` on, of which there are `count`. */
static struct forward_part part_of(struct session *s, size_t count)
{
    size_t slots = cache_slots(&s->cache, s->kept + count);
    size_t begins = s->begin && !s->kept;
    return (struct forward_part){.ids = s->ids + s->kept + begins,
                                 .count = count - begins,
                                 .inserted = slots - s->cache.length - count,
                                 .host_before = begins ? s->begin : NULL,
                                 .cache = &s->cache};
}

static void have_kept(struct session *s, size_t count)
{
    s->kept += count;
    s->cache.length = cache_slots(&s->cache, s->kept);
}

/* Reads the tokens from `kept` on, up to `length` of them, that are in `ids`;
 * ret_logits: of those from `from` on. */
static int read_up_to(struct session *s, size_t from, size_t length,
                      const struct cancel *cancel, float *ret_logits,
                      struct err *err)
{
    struct model *m = s->model;
    size_t vocabulary = m->config.vocabulary;
    int code = 0;
    while (s->kept < length && !code) {
        size_t count = pass_of(s, length), skip;
        struct forward_part part = part_of(s, count);
        bool last = s->kept + count == length;
        skip = from > s->kept ? from - s->kept : 0;
        skip = skip < count ? skip : count;
        code = forward(m, &part, 1, m->config.layers, cancel, err);
        if (!code && ret_logits && skip < count)
            code = logits_of(s, skip, count - skip,
                             ret_logits + (s->kept + skip - from) * vocabulary,
                             err);
        if (!code && last && !ret_logits)
            code = keep_logits(s, row_of(s, count - 1), err);
        if (!code)
            have_kept(s, count);
    }
    if (!code && ret_logits)
        code =
            put_logits(s, ret_logits + (length - 1 - from) * vocabulary, err);
    return code;
}

int session_prefill(struct session *s, const int32_t *ids, size_t count,
                    const struct cancel *cancel, float *ret_logits,
                    struct err *err)
{
    size_t before = s->length, kept = s->kept;
    int code = check(s, ids, count, err);
    if (code || !count)
        return code;
    code = session_room(s, before + count, err);
    if (code)
        return code;
    memcpy(s->ids + before, ids, count * sizeof *ids);
    begin_text(s, count);
    code = read_up_to(s, before, before + count, cancel, ret_logits, err);
    if (code) {
        keep_first(s, cached_of(s, kept));
        return code;
    }
    s->length = before + count;
    have_logits(s);
    return 0;
}

/* Reads again what must be. */
static int catch_up(struct session *s, const struct cancel *cancel,
                    struct err *err)
{
    bool fresh = s->fresh;
    if (s->kept == s->length)
        return 0;
    s->fresh = false;
    int code = session_room(s, s->length, err);
    if (!code)
        code = read_up_to(s, s->length, s->length, cancel, NULL, err);
    if (!code && fresh)
        have_logits(s);
    return code;
}

/* Room for the session's next token, and what a pass reads for it. */
static int prepare_step(struct session *s, int32_t id,
                        const struct cancel *cancel, struct forward_part *ret,
                        struct err *err)
{
    int code = check(s, &id, 1, err);
    if (!code)
        code = catch_up(s, cancel, err);
    if (!code)
        code = session_room(s, s->length + 1, err);
    if (code)
        return code;
    s->ids[s->length] = id;
    begin_text(s, 1);
    *ret = part_of(s, 1);
    return 0;
}

/* Each session's logits: of the first row of its part, without the landmark
 * that may follow. */
static int keep_all_logits(struct session *const *sessions,
                           const struct forward_part *parts, size_t count,
                           size_t rows, struct err *err)
{
    struct model *m = sessions[0]->model;
    bool together = rows == count; /* no landmarks in between */
    int code = together ? forward_logits(m, 0, count, err) : 0;
    for (size_t i = 0, row = 0; i < count && !code; i++) {
        sessions[i]->fresh = false;
        code = together ? forward_keep_logits(m, i, sessions[i]->logits, err)
                        : keep_logits(sessions[i], row, err);
        row += forward_rows(&parts[i]);
    }
    return code;
}

int session_decode_batch(struct session *const *sessions, const int32_t *ids,
                         size_t count, const struct cancel *cancel,
                         struct err *err)
{
    struct forward_part parts[SESSIONS_MAX];
    size_t rows = 0;
    int code = 0;
    if (!count)
        return 0;
    if (count > SESSIONS_MAX)
        return err_set(err, ERR_USAGE, "%zu sessions are more than %d", count,
                       SESSIONS_MAX);
    for (size_t i = 0; i < count && !code; i++) {
        code = prepare_step(sessions[i], ids[i], cancel, &parts[i], err);
        rows += code ? 0 : forward_rows(&parts[i]);
    }
    struct model *m = sessions[0]->model;
    if (!code)
        code = forward(m, parts, count, m->config.layers, cancel, err);
    if (!code)
        code = keep_all_logits(sessions, parts, count, rows, err);
    for (size_t i = 0; i < count && !code; i++) {
        have_kept(sessions[i], 1);
        sessions[i]->length++;
        have_logits(sessions[i]);
    }
    return code;
}
