#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/forward.h"

enum { MOST_CONFIG = 1 << 20 };

static const float COSINE_TAU = 20.0F;

/* ---- Opening ---- */

/* An absent file leaves `ret` empty when it is `optional`. */
static int read_file(const char *folder, const char *name, bool optional,
                     struct buf *ret, struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int code = 0;
    file_join(&path, folder, name);
    if (!optional || stat(path.data, &st) == 0)
        code = file_read(path.data, MOST_CONFIG, ret, err);
    if (code && err)
        err_at(err, path.data);
    buf_free(&path);
    return code;
}

static int open_config(struct model *m, const char *folder, struct err *err)
{
    struct buf config = {0}, generation = {0};
    int code = read_file(folder, "config.json", false, &config, err);
    if (!code)
        code =
            read_file(folder, "generation_config.json", true, &generation, err);
    if (!code) {
        code = model_config_from(buf_slice(&config), buf_slice(&generation),
                                 &m->config, err);
        struct buf path = {0};
        file_join(&path, folder, "config.json");
        if (code && err)
            err_at(err, path.data);
        buf_free(&path);
    }
    buf_free(&config);
    buf_free(&generation);
    return code;
}

static int open_tokenizer(struct model *m, const char *folder, struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int code = 0;
    file_join(&path, folder, "tokenizer.json");
    if (stat(path.data, &st) == 0) {
        code = tokenizer_open(path.data, &m->tokenizer, err);
        if (!code && tokenizer_count(m->tokenizer) > m->config.vocabulary) {
            code = err_set(err, ERR_FORMAT,
                           "the tokenizer has ids up to %zu, the model only "
                           "%zu rows",
                           tokenizer_count(m->tokenizer) - 1,
                           m->config.vocabulary);
            if (err)
                err_at(err, path.data);
        }
    }
    buf_free(&path);
    return code;
}

static void set_frequencies(struct model *m)
{
    size_t half = m->config.head / 2;
    m->frequencies = mem_alloc(half * sizeof *m->frequencies);
    for (size_t i = 0; i < half; i++)
        m->frequencies[i] = pow(m->config.theta, -(double)i / (double)half);
}

static struct hash128 fingerprint(const struct model *m)
{
    unsigned char bytes[3][16] = {{0}};
    hash_write(m->weights.hash, bytes[0]);
    hash_write(m->config.hash, bytes[1]);
    if (m->tokenizer)
        hash_write(tokenizer_hash(m->tokenizer), bytes[2]);
    return hash_bytes(bytes, sizeof bytes);
}

/* The folder's own name, whatever slashes follow it. */
static char *name_of(const char *folder)
{
    size_t end = strlen(folder), from;
    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (from = end; from > 0 && folder[from - 1] != '/';)
        from--;
    return mem_strndup(folder + from, end - from);
}

static void set_facts(struct model *m, const char *folder)
{
    const struct model_config *c = &m->config;
    const struct model_weights *w = &m->weights;
    m->name = name_of(folder);
    m->facts = (struct model_facts){
        .name = m->name,
        .backend = m->kernels->name,
        .type = w->type,
        .width = c->width,
        .layers = c->layers,
        .vocabulary = c->vocabulary,
        .context = c->context,
        .key_width = w->recall.wq ? w->recall.p : c->width,
        .parameters = w->parameters,
        .soft_tokens = w->host_mem != NULL,
        .recall = w->recall.wq != NULL,
        .pool = w->pool.wq != NULL,
        .fingerprint = fingerprint(m),
        .stops = c->stops,
        .stop_count = c->stop_count,
        .answering = c->answering,
    };
}

int model_open(const char *folder, const struct model_options *options,
               struct model **ret, struct err *err)
{
    struct model *m = mem_alloc(sizeof *m);
    m->kernels = options->kernels;
    m->run = (struct kernel_run){options->pool, options->stream};
    int code = open_config(m, folder, err);
    if (!code && !options->no_tokenizer)
        code = open_tokenizer(m, folder, err);
    if (!code)
        code = model_weights_open(folder, &m->config, m->kernels, &m->run,
                                  &m->weights, err);
    if (code && err)
        err_at(err, folder);
    if (!code) {
        set_frequencies(m);
        set_facts(m, folder);
        *ret = m;
    } else {
        model_close(m);
    }
    return code;
}

void model_close(struct model *m)
{
    if (!m)
        return;
    workspace_free(m);
    keys_free(m);
    if (m->weights.kernels)
        model_weights_close(&m->weights, &m->config, &m->run);
    model_config_free(&m->config);
    tokenizer_close(m->tokenizer);
    free(m->frequencies);
    free(m->name);
    free(m);
}

const struct model_facts *model_facts(const struct model *model)
{
    return &model->facts;
}

const struct tokenizer *model_tokenizer(const struct model *model)
{
    return model->tokenizer;
}

/* ---- Memories ---- */

const float *model_mem(const struct model *model)
{
    return model->weights.host_mem;
}

const float *model_mem0(const struct model *model)
{
    return model->weights.host_mem0;
}

static int check_input(const struct model *m, const struct embed_input *input,
                       struct err *err)
{
    size_t rows = input->count + (input->soft ? 2 : 0);
    if (!rows)
        return err_set(err, ERR_USAGE, "nothing to embed");
    if (rows > m->config.context)
        return err_set(err, ERR_LIMIT,
                       "%zu tokens are more than the model's %zu", rows,
                       m->config.context);
    for (size_t i = 0; i < input->count; i++)
        if (input->ids[i] < 0 || (size_t)input->ids[i] >= m->config.vocabulary)
            return err_set(err, ERR_USAGE,
                           "the id %d is not in the model's vocabulary of %zu",
                           (int)input->ids[i], m->config.vocabulary);
    return 0;
}

static struct forward_part part_of(const struct embed_input *input)
{
    return (struct forward_part){.ids = input->ids,
                                 .count = input->count,
                                 .host_before = input->soft,
                                 .host_after = input->soft};
}

/* As many inputs as fit one pass; 0 when the first one does not. */
static size_t take_parts(const struct embed_input *inputs, size_t count,
                         struct forward_part *parts, size_t most)
{
    size_t rows = 0, taken = 0;
    while (taken < count && taken < most) {
        struct forward_part part = part_of(&inputs[taken]);
        rows += forward_rows(&part);
        if (rows > FORWARD_MOST_ROWS)
            break;
        parts[taken++] = part;
    }
    return taken;
}

static int embed_parts(struct model *m, const struct forward_part *parts,
                       size_t count, const struct cancel *cancel, float *ret,
                       struct err *err)
{
    int code = forward(m, parts, count, cancel, err);
    for (size_t i = 0, row = 0; i < count && !code; i++) {
        row += forward_rows(&parts[i]);
        code = forward_state(m, row - 1, ret + i * m->config.width, err);
    }
    return code;
}

/* One input in several passes, by way of a cache. */
static int embed_long(struct model *m, const struct embed_input *input,
                      const struct cancel *cancel, float *ret, struct err *err)
{
    enum { STEP = FORWARD_MOST_ROWS - 2 };
    struct cache cache = {0};
    struct forward_part part = part_of(input);
    int code = cache_reserve(m, &cache, forward_rows(&part), err);
    for (size_t from = 0; from < input->count && !code; from += STEP) {
        size_t left = input->count - from;
        part = part_of(input);
        part.cache = &cache;
        part.ids += from;
        part.count = left < STEP ? left : STEP;
        if (from)
            part.host_before = NULL;
        if (left > STEP)
            part.host_after = NULL;
        code = forward(m, &part, 1, cancel, err);
        cache.length += forward_rows(&part);
    }
    if (!code)
        code = forward_state(m, forward_rows(&part) - 1, ret, err);
    cache_free(m, &cache);
    return code;
}

int model_embed(struct model *m, const struct embed_input *inputs, size_t count,
                const struct cancel *cancel, float *ret, struct err *err)
{
    struct forward_part parts[64];
    size_t width = m->config.width;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = check_input(m, &inputs[i], err);
    for (size_t from = 0; from < count && !code;) {
        size_t some = take_parts(inputs + from, count - from, parts,
                                 sizeof parts / sizeof parts[0]);
        if (some)
            code = embed_parts(m, parts, some, cancel, ret + from * width, err);
        else
            code =
                embed_long(m, &inputs[from], cancel, ret + from * width, err);
        from += some ? some : 1;
    }
    return code;
}

/* Vectors on the device for one operation: allocated, filled from the host
 * where there is something to fill them with. */
static int to_device(struct model *m, float **memory, const float *host,
                     size_t count)
{
    size_t bytes;
    if (!mem_mul(count, sizeof **memory, &bytes))
        return KERNEL_NO_MEMORY;
    *memory = m->kernels->allocate(&m->run, bytes);
    if (!*memory)
        return KERNEL_NO_MEMORY;
    return host ? m->kernels->upload(&m->run, *memory, host, bytes) : 0;
}

int model_recall(struct model *m, const float *query, const float *memories,
                 size_t count, float *ret, struct err *err)
{
    const struct projections *p = &m->weights.recall;
    size_t width = m->config.width;
    float *q = NULL, *rows = NULL, *out = NULL;
    if (!p->wq)
        return err_set(err, ERR_USAGE, "the model has no recall projections");
    if (!count)
        return err_set(err, ERR_USAGE, "no memories to recall from");
    int code = to_device(m, &q, query, width);
    if (!code)
        code = to_device(m, &rows, memories, count * width);
    if (!code)
        code = to_device(m, &out, NULL, width);
    if (!code)
        code = m->kernels->recall(&m->run, out, q, rows, p->wq, p->wk, count,
                                  width, p->p);
    if (!code)
        code = m->kernels->download(&m->run, ret, out, width * sizeof *ret);
    m->kernels->release(&m->run, q);
    m->kernels->release(&m->run, rows);
    m->kernels->release(&m->run, out);
    return forward_error(code, err);
}

int model_pool(struct model *m, int policy, const float *children, size_t count,
               float *ret, struct err *err)
{
    const struct projections *p = &m->weights.pool;
    size_t width = m->config.width;
    float *rows = NULL, *out = NULL, *weight = NULL;
    if (!count)
        return err_set(err, ERR_USAGE, "no children to pool");
    if (policy != POOL_MEAN && policy != POOL_ATTENTION)
        return err_set(err, ERR_USAGE, "no such policy of pooling: %d", policy);
    int code = to_device(m, &rows, children, count * width);
    if (!code)
        code = to_device(m, &out, NULL, width);
    if (!code)
        code = to_device(m, &weight, NULL, count);
    if (!code && policy == POOL_MEAN)
        code = m->kernels->pool_mean(&m->run, out, rows, count, width);
    else if (!code)
        code =
            m->kernels->pool_attention(&m->run, out, weight, rows, p->wq, p->wk,
                                       COSINE_TAU, count, width, p->p);
    if (!code)
        code = m->kernels->download(&m->run, ret, out, width * sizeof *ret);
    m->kernels->release(&m->run, rows);
    m->kernels->release(&m->run, out);
    m->kernels->release(&m->run, weight);
    return forward_error(code, err);
}
