/* How well passages answer a question, by a model that reads both at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/chat/chat.h"
#include "model/inference/forward.h"

enum {
    MAX_PAIRS = 256, /* of a pass */
    MAX_DECODER_IDS =
        4096 /* of a pair that a decoder reads, whose context may be
                              far longer than anybody waits for */
};

/* ---- Pairs ---- */

static void put_some(struct ids *to, const int32_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ids_put(to, from[i]);
}

/* [begin, question, end, (end,) passage, end]; of `question` the first is what a
 * text begins with and the last what it ends with. */
static void join(const struct model *m, const struct ids *question,
                 const struct ids *passage, struct score_input *ret)
{
    size_t ends = m->config.architecture->double_separator ? 2 : 1;
    size_t max = m->config.max, own = question->count - 2;
    int32_t end = question->items[question->count - 1];
    put_some(&ret->ids, question->items, 1);
    put_some(&ret->ids, question->items + 1, own < max / 2 ? own : max / 2);
    for (size_t i = 0; i < ends; i++)
        ids_put(&ret->ids, end);
    ret->second = ret->ids.count;
    size_t left = max > ret->second + 1 ? max - ret->second - 1 : 0;
    put_some(&ret->ids, passage->items,
             passage->count < left ? passage->count : left);
    ids_put(&ret->ids, end);
}

static void cut(struct ids *ids, size_t count)
{
    if (ids->count > count)
        ids->count = count;
}

/* The frame with both in their places; special tokens that they spell out are left
 * out. */
static int fill_prompt(const struct model *m, struct slice question,
                       struct slice passage, struct score_input *ret,
                       struct err *err)
{
    static const char query[] = "{query}", document[] = "{document}";
    const char *frame = m->config.scoring.prompt;
    const char *first = strstr(frame, query);
    const char *between = first + sizeof query - 1;
    const char *second = strstr(between, document);
    const char *behind = second + sizeof document - 1;
    size_t max =
        m->config.max < MAX_DECODER_IDS ? m->config.max : MAX_DECODER_IDS;
    struct ids tail = {0};
    int code = tokenizer_encode_on(m->tokenizer, slice_of(behind), &tail, err);
    if (!code)
        code = chat_encode_piece(m->tokenizer,
                                 (struct slice){frame, (size_t)(first - frame)},
                                 question, &ret->ids, err);
    cut(&ret->ids, max / 2);
    ret->second = ret->ids.count;
    if (!code)
        code = chat_encode_piece(
            m->tokenizer, (struct slice){between, (size_t)(second - between)},
            passage, &ret->ids, err);
    cut(&ret->ids, tail.count < max ? max - tail.count : 0);
    put_some(&ret->ids, tail.items, tail.count);
    ids_free(&tail);
    if (code)
        ids_free(&ret->ids);
    return code;
}

int model_pair(const struct model *m, struct slice question,
               struct slice passage, struct score_input *ret, struct err *err)
{
    struct ids one = {0}, two = {0};
    *ret = (struct score_input){0};
    if (!m->tokenizer)
        return err_set(err, ERR_USAGE, "the model has no tokenizer");
    if (m->config.scoring.prompt)
        return fill_prompt(m, question, passage, ret, err);
    int code = tokenizer_encode(m->tokenizer, question, true, &one, err);
    if (!code && one.count < 2)
        code = err_set(err, ERR_FORMAT,
                       "the tokenizer does not say what parts two texts");
    if (!code)
        code = tokenizer_encode(m->tokenizer, passage, false, &two, err);
    if (!code)
        join(m, &one, &two, ret);
    ids_free(&one);
    ids_free(&two);
    return code;
}

/* ---- Scores ---- */

static double gelu(double x)
{
    return x * 0.5 * erfc(-x * sqrt(0.5));
}

/* LayerNorm, in place; bias NULL: none. */
static void normalise(const struct scoring *s, double *x, size_t width,
                      double eps)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < width; i++)
        mean += x[i] / (double)width;
    for (size_t i = 0; i < width; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)width;
    for (size_t i = 0; i < width; i++)
        x[i] = (x[i] - mean) / sqrt(square + eps) * (double)s->host_norm[i] +
               (s->host_norm_bias ? (double)s->host_norm_bias[i] : 0);
}

/* out . state */
static float score_of_last(const struct model *m, const float *state)
{
    double score = 0;
    for (size_t i = 0; i < m->config.width; i++)
        score += (double)m->weights.scoring.host_out[i] * (double)state[i];
    return (float)score;
}

/* out . f(dense . state + bias) + bias, where f is tanh, or gelu and a norm. */
static float score_of(const struct model *m, const float *state)
{
    const struct scoring *s = &m->weights.scoring;
    size_t width = m->config.width;
    double *inner = mem_alloc(width * sizeof *inner);
    double score = (double)s->host_out_bias[0];
    for (size_t i = 0; i < width; i++) {
        double sum = s->host_dense_bias ? (double)s->host_dense_bias[i] : 0;
        for (size_t j = 0; j < width; j++)
            sum += (double)s->host_dense[i * width + j] * (double)state[j];
        inner[i] = s->host_norm ? gelu(sum) : tanh(sum);
    }
    if (s->host_norm)
        normalise(s, inner, width, (double)m->config.eps);
    for (size_t i = 0; i < width; i++)
        score += (double)s->host_out[i] * inner[i];
    free(inner);
    return (float)score;
}

static int check_input(const struct model *m, const struct score_input *input,
                       struct err *err)
{
    if (!input->ids.count)
        return err_set(err, ERR_USAGE, "nothing to score");
    if (input->ids.count > m->config.max)
        return err_set(err, ERR_LIMIT,
                       "%zu tokens are more than the model's %zu",
                       input->ids.count, m->config.max);
    for (size_t i = 0; i < input->ids.count; i++)
        if (input->ids.items[i] < 0 ||
            (size_t)input->ids.items[i] >= m->config.vocabulary)
            return err_set(err, ERR_USAGE,
                           "the id %d is not in the model's vocabulary of %zu",
                           (int)input->ids.items[i], m->config.vocabulary);
    return 0;
}

/* As many as fit a pass, one at least. */
static size_t fill(const struct model *m, const struct score_input *inputs,
                   size_t count, struct forward_part parts[MAX_PAIRS])
{
    size_t rows = 0, i = 0, max = forward_max_texts(m);
    for (; i < count && i < MAX_PAIRS; i++) {
        rows += inputs[i].ids.count;
        if (i && rows > max)
            break;
        parts[i] = (struct forward_part){.ids = inputs[i].ids.items,
                                         .count = inputs[i].ids.count,
                                         .second = inputs[i].second};
    }
    return i;
}

/* What pairs are scored by, of all of a pass: [count, D]. */
static int take_states(struct model *m, const struct forward_part *parts,
                       size_t count, float *ret, struct err *err)
{
    const struct scoring_config *s = &m->config.scoring;
    size_t starts[MAX_PAIRS + 1] = {0}, rows[MAX_PAIRS];
    for (size_t i = 0; i < count; i++) {
        starts[i + 1] = starts[i] + forward_rows(&parts[i]);
        rows[i] = s->kind == SCORE_HEAD ? starts[i] : starts[i + 1] - 1;
    }
    return s->kind == SCORE_HEAD && s->mean
               ? forward_means(m, starts, count, ret, err)
               : forward_states(m, rows, count, ret, err);
}

static int score_pass(struct model *m, const struct forward_part *parts,
                      size_t count, const struct cancel *cancel, float *ret,
                      struct err *err)
{
    size_t width = m->config.width;
    float *states = mem_alloc(count * width * sizeof *states);
    int code = forward(m, parts, count, m->config.layers, cancel, err);
    if (!code)
        code = take_states(m, parts, count, states, err);
    for (size_t i = 0; i < count && !code; i++) {
        const float *state = states + i * width;
        ret[i] = m->config.scoring.kind == SCORE_HEAD ? score_of(m, state)
                                                      : score_of_last(m, state);
    }
    free(states);
    return code;
}

int model_score(struct model *m, const struct score_input *inputs, size_t count,
                const struct cancel *cancel, float *ret, struct err *err)
{
    struct forward_part parts[MAX_PAIRS];
    int code = 0;
    if (!m->facts.scores)
        return err_set(err, ERR_USAGE, "the model is no reranker");
    for (size_t i = 0; i < count && !code; i++)
        code = check_input(m, &inputs[i], err);
    for (size_t from = 0, some; from < count && !code; from += some) {
        some = fill(m, inputs + from, count - from, parts);
        code = score_pass(m, parts, some, cancel, ret + from, err);
    }
    return code;
}
