/* Vectors of texts (H2MT 2.2). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "model/inference/forward.h"

/* ---- Inputs and passes ---- */

enum { MAX_PARTS = 256 };

/* Some inputs' share of a pass. */
struct pass {
    struct forward_part parts[MAX_PARTS];
    struct cache caches[MAX_PARTS]; /* of the parts that read with landmarks */
    size_t count;
};

/* Positions: those of its tokens and of the soft ones. */
static size_t tokens_of(const struct embed_input *input)
{
    return input->count + (input->soft ? 2 : 0);
}

static int check_input(const struct model *m, const struct embed_input *input,
                       struct err *err)
{
    size_t tokens = tokens_of(input);
    if (!tokens)
        return err_set(err, ERR_USAGE, "nothing to embed");
    if (tokens > m->config.max)
        return err_set(err, ERR_LIMIT,
                       "%zu tokens are more than the model's %zu", tokens,
                       m->config.max);
    if (input->soft && m->config.architecture->encoder)
        return err_set(err, ERR_USAGE, "an encoder takes no soft token");
    if (m->facts.scores)
        return err_set(err, ERR_USAGE,
                       "a reranker compares texts, but does not embed");
    if (!m->facts.embeds)
        return err_set(err, ERR_USAGE,
                       "a model with %s attention writes, but does not embed",
                       m->facts.attention);
    for (size_t i = 0; i < input->count; i++)
        if (input->ids[i] < 0 || (size_t)input->ids[i] >= m->config.vocabulary)
            return err_set(err, ERR_USAGE,
                           "the id %d is not in the model's vocabulary of %zu",
                           (int)input->ids[i], m->config.vocabulary);
    return 0;
}

/* All that an input's last token sees: a landmark behind it is of no use. */
static size_t slots_of(const struct cache *cache, size_t tokens)
{
    return cache_slots(cache, tokens - 1) + 1;
}

/* Of those that make memories. */
static bool all_layers_choose(const struct model *m)
{
    bool all = true;
    for (size_t i = 0; i < m->config.memory_layers; i++)
        all = all && hils_layer(&m->config.attention, i);
    return all;
}

/* Whether a text is so short that a model made for HiLS reads it as any decoder
 * would: no token has anything before its window, so that there is nothing to
 * choose, and no layer sees a landmark. */
static bool is_plain(const struct model *m, const struct cache *cache,
                     size_t tokens)
{
    const struct hils_config *h = &m->config.attention.hils;
    size_t slots = slots_of(cache, tokens), others = h->window_of_others;
    if (h->softmax1 || slots > h->window + h->chunk - 1)
        return false;
    return slots == tokens || all_layers_choose(m) ||
           (h->hide_landmarks && (!others || slots <= others));
}

/* How it is read at once; `cache` is used for it if it has to be. */
static struct forward_part part_of(const struct model *m,
                                   const struct embed_input *input,
                                   struct cache *cache)
{
    size_t tokens = tokens_of(input);
    struct forward_part part = {.ids = input->ids,
                                .count = input->count,
                                .host_before = input->soft,
                                .host_after = input->soft};
    *cache = (struct cache){0};
    if (m->config.attention.kind != ATTENTION_HILS)
        return part;
    cache->hils = forward_hils_use(m);
    cache->inserted = cache->hils.chunk;
    if (is_plain(m, cache, tokens))
        return part;
    part.inserted = slots_of(cache, tokens) - tokens;
    part.cache = cache;
    return part;
}

/* As many inputs as fit one pass; none when the first one does not.  An
 * encoder's input is never cut: alone it fits. */
static void fill_pass(const struct model *m, const struct embed_input *inputs,
                      size_t count, struct pass *ret)
{
    size_t rows = 0, max = forward_max_texts(m);
    ret->count = 0;
    while (ret->count < count && ret->count < MAX_PARTS) {
        size_t i = ret->count;
        ret->parts[i] = part_of(m, &inputs[i], &ret->caches[i]);
        rows += forward_rows(&ret->parts[i]);
        if (rows > max && (i || !m->config.architecture->encoder))
            break;
        ret->count++;
    }
}

/* ---- What a pass adds to an input's vector ---- */

struct share {
    const struct forward_part *part;
    size_t row;       /* of the pass, where the part begins */
    size_t tokens;    /* of the whole input */
    bool soft;        /* it stands between soft tokens */
    bool first, last; /* the part begins it, ends it */
};

/* Rows from `from` on until the next landmark. */
static size_t run_of_tokens(const struct forward_part *part, size_t from)
{
    size_t rows = forward_rows(part), some = 0;
    while (from + some < rows &&
           !(part->cache &&
             cache_is_inserted(part->cache, part->cache->length + from + some)))
        some++;
    return some;
}

/* The sum over the part's tokens, by the input's: landmarks are none. */
static int add_mean(struct model *m, const struct share *share, float *ret,
                    struct err *err)
{
    size_t rows = forward_rows(share->part), width = m->config.width;
    float *mean = mem_alloc(width * sizeof *mean);
    int code = 0;
    for (size_t i = 0, some; i < rows && !code; i += some + 1) {
        some = run_of_tokens(share->part, i);
        if (some)
            code = forward_mean(m, share->row + i, some, mean, err);
        for (size_t j = 0; j < width && some; j++)
            ret[j] += mean[j] * ((float)some / (float)share->tokens);
    }
    free(mean);
    return code;
}

/* ---- What a pass says of an input's tokens ---- */

/* The states of `some` rows from `row` on, which are those of ids [at, at + some). */
static int take_run(struct model *m, const struct embed_input *input,
                    size_t row, size_t at, size_t some, struct err *err)
{
    size_t width = m->config.width, end = input->first + input->tokens;
    size_t from = at > input->first ? at : input->first;
    size_t to = at + some < end ? at + some : end;
    if (from >= to)
        return 0;
    float *out = input->ret_tokens + (from - input->first) * width;
    int code = forward_run_states(m, row + from - at, to - from, out, err);
    for (size_t i = 0; i < to - from && !code; i++) {
        double length = vector_unit(out + i * width, width);
        if (input->ret_lengths)
            input->ret_lengths[from - input->first + i] = (float)length;
    }
    return code;
}

/* Of the part that begins at `row` of the pass.  To be asked before its vector is,
 * which may be made where the states are. */
static int take_tokens(struct model *m, const struct embed_input *input,
                       const struct forward_part *part, size_t row,
                       struct err *err)
{
    size_t begin = part->host_before ? 1 : 0;
    size_t end = forward_rows(part) - (part->host_after ? 1 : 0);
    size_t at = (size_t)(part->ids - input->ids);
    int code = 0;
    for (size_t i = begin, some; i < end && !code; i += some + 1) {
        some = run_of_tokens(part, i);
        some = some < end - i ? some : end - i;
        code = take_run(m, input, row + i, at, some, err);
        at += some;
    }
    return code;
}

static int take_all_tokens(struct model *m, const struct embed_input *inputs,
                           const struct pass *pass, struct err *err)
{
    int code = 0;
    for (size_t i = 0, row = 0; i < pass->count && !code; i++) {
        if (inputs[i].ret_tokens)
            code = take_tokens(m, &inputs[i], &pass->parts[i], row, err);
        row += forward_rows(&pass->parts[i]);
    }
    return code;
}

/* ---- What follows the pooling ---- */

static void multiply(const float *matrix, size_t rows, size_t columns,
                     const float *in, float *out)
{
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < columns; j++)
            sum += (double)matrix[i * columns + j] * (double)in[j];
        out[i] = (float)sum;
    }
}

/* Through the two matrices behind the pooling, where a model has them. */
static void through_dense(const struct model *m, float *vector)
{
    const struct model_weights *w = &m->weights;
    if (!w->host_dense[0] || !w->host_dense[1])
        return;
    float *wide = mem_alloc(w->dense_width * sizeof *wide);
    multiply(w->host_dense[0], w->dense_width, m->config.width, vector, wide);
    multiply(w->host_dense[1], m->config.width, w->dense_width, wide, vector);
    free(wide);
}

static void finish(const struct model *m, float *ret)
{
    through_dense(m, ret);
    if (m->pooling.unit)
        vector_unit(ret, m->config.width);
}

static int pooling_of(const struct model *m, bool soft)
{
    return soft ? (int)POOLING_LAST : (int)m->pooling.kind;
}

static int add_share(struct model *m, const struct share *share, float *ret,
                     struct err *err)
{
    int kind = pooling_of(m, share->soft), code = 0;
    size_t end = share->row + forward_rows(share->part);
    if (kind == POOLING_MEAN)
        code = add_mean(m, share, ret, err);
    else if (kind == POOLING_FIRST && share->first)
        code = forward_state(m, share->row, ret, err);
    else if (kind == POOLING_LAST && share->last)
        code = forward_state(m, end - 1, ret, err);
    if (!code && share->last && !share->soft)
        finish(m, ret);
    return code;
}

/* ---- Inputs side by side, and one that is too long for that ---- */

static int pool_each(struct model *m, const struct pass *pass, float *ret,
                     struct err *err)
{
    int code = 0;
    for (size_t i = 0, row = 0; i < pass->count && !code; i++) {
        const struct forward_part *part = &pass->parts[i];
        size_t rows = forward_rows(part);
        struct share all = {.part = part,
                            .row = row,
                            .tokens = rows - part->inserted,
                            .soft = part->host_after != NULL,
                            .first = true,
                            .last = true};
        code = add_share(m, &all, ret + i * m->config.width, err);
        row += rows;
    }
    return code;
}

/* Whether all inputs' vectors are made alike, and of rows that lie together. */
static bool are_alike(const struct model *m, const struct pass *pass)
{
    bool alike = true, soft = pass->parts[0].host_after;
    for (size_t i = 0; i < pass->count; i++)
        alike =
            alike && soft == (pass->parts[i].host_after != NULL) &&
            !(pass->parts[i].inserted && pooling_of(m, soft) == POOLING_MEAN);
    return alike;
}

/* The vectors of all come from the device at once. */
static int pool_together(struct model *m, const struct pass *pass, float *ret,
                         struct err *err)
{
    size_t starts[MAX_PARTS + 1] = {0}, rows[MAX_PARTS];
    bool soft = pass->parts[0].host_after;
    int kind = pooling_of(m, soft);
    for (size_t i = 0; i < pass->count; i++) {
        starts[i + 1] = starts[i] + forward_rows(&pass->parts[i]);
        rows[i] = kind == POOLING_FIRST ? starts[i] : starts[i + 1] - 1;
    }
    int code = kind == POOLING_MEAN
                   ? forward_means(m, starts, pass->count, ret, err)
                   : forward_states(m, rows, pass->count, ret, err);
    for (size_t i = 0; i < pass->count && !code && !soft; i++)
        finish(m, ret + i * m->config.width);
    return code;
}

static int embed_pass(struct model *m, const struct embed_input *inputs,
                      struct pass *pass, const struct cancel *cancel,
                      float *ret, struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < pass->count && !code; i++)
        if (pass->parts[i].cache)
            code = cache_reserve(m, pass->parts[i].cache,
                                 forward_rows(&pass->parts[i]), err);
    if (!code)
        code = forward(m, pass->parts, pass->count, m->config.memory_layers,
                       cancel, err);
    if (!code)
        code = take_all_tokens(m, inputs, pass, err);
    if (!code)
        code =
            (are_alike(m, pass) ? pool_together : pool_each)(m, pass, ret, err);
    for (size_t i = 0; i < pass->count; i++)
        if (pass->parts[i].cache)
            cache_free(m, pass->parts[i].cache);
    return code;
}

/* Tokens of an input, soft ones and all, from `from` on. */
static struct forward_part piece_of(const struct embed_input *input,
                                    struct cache *cache, size_t from,
                                    size_t count)
{
    size_t soft = input->soft ? 1 : 0, tokens = tokens_of(input);
    size_t end = from + count, own = from < soft ? 0 : from - soft;
    size_t own_end = end - soft < input->count ? end - soft : input->count;
    size_t slots =
        end < tokens ? cache_slots(cache, end) : slots_of(cache, tokens);
    return (struct forward_part){.ids = input->ids + own,
                                 .count = own_end - own,
                                 .inserted = slots - cache->length - count,
                                 .host_before = from ? NULL : input->soft,
                                 .host_after =
                                     end < tokens ? NULL : input->soft,
                                 .cache = cache};
}

/* Of `left` tokens those of the next pass; on a processor it has, with what is inserted,
 * no more rows than it may. */
static size_t next_tokens(const struct model *m, const struct cache *cache,
                          size_t left)
{
    size_t max = FORWARD_MAX_ROWS;
    if (forward_is_wide(m))
        return forward_next(m, cache, left);
    if (cache->inserted)
        max -= max / cache->inserted + 1;
    return left < max ? left : max;
}

static int embed_long(struct model *m, const struct embed_input *input,
                      const struct cancel *cancel, float *ret, struct err *err)
{
    struct cache cache;
    size_t tokens = tokens_of(input), some;
    struct forward_part part = part_of(m, input, &cache);
    int code = cache_reserve(m, &cache, slots_of(&cache, tokens), err);
    for (size_t from = 0; from < tokens && !code; from += some) {
        size_t left = tokens - from;
        some = next_tokens(m, &cache, left);
        part = piece_of(input, &cache, from, some);
        struct share share = {.part = &part,
                              .tokens = tokens,
                              .soft = input->soft != NULL,
                              .first = !from,
                              .last = some == left};
        code = forward(m, &part, 1, m->config.memory_layers, cancel, err);
        if (!code && input->ret_tokens)
            code = take_tokens(m, input, &part, 0, err);
        if (!code)
            code = add_share(m, &share, ret, err);
        cache.length += forward_rows(&part);
    }
    cache_free(m, &cache);
    return code;
}

int model_embed(struct model *m, const struct embed_input *inputs, size_t count,
                const struct cancel *cancel, float *ret, struct err *err)
{
    struct pass pass;
    size_t width = m->config.width;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = check_input(m, &inputs[i], err);
    if (!code)
        memset(ret, 0, count * width * sizeof *ret);
    for (size_t from = 0; from < count && !code;) {
        fill_pass(m, inputs + from, count - from, &pass);
        if (pass.count)
            code = embed_pass(m, inputs + from, &pass, cancel,
                              ret + from * width, err);
        else
            code =
                embed_long(m, &inputs[from], cancel, ret + from * width, err);
        from += pass.count ? pass.count : 1;
    }
    return code;
}
