#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/inference/forward.h"
#include "model/weights/gguf_config.h"

enum { MAX_CONFIG = 1 << 20 };

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
        code = file_read(path.data, MAX_CONFIG, ret, err);
    if (code && err)
        err_at(err, path.data);
    buf_free(&path);
    return code;
}

static void err_in(struct err *err, const char *folder, const char *name)
{
    struct buf path = {0};
    file_join(&path, folder, name);
    err_at(err, path.data);
    buf_free(&path);
}

/* What an encoder was not made for it does not read. */
static int open_pooling(struct model *m, const char *folder,
                        struct slice config, struct err *err)
{
    struct model_config *c = &m->config;
    bool encoder = c->architecture->encoder;
    int code = m->gguf
                   ? pooling_of_gguf(m->gguf, c->architecture, &m->pooling, err)
               : c->architecture->bag
                   ? pooling_of_bag(config, &m->pooling, err)
                   : pooling_from(folder, config, encoder, &m->pooling, err);
    c->writes = c->writes && !m->pooling.only;
    if (!code && encoder && m->pooling.max && m->pooling.max < c->context)
        c->max = m->pooling.max;
    return code;
}

static int open_gguf(struct model *m, const char *path, struct err *err)
{
    int code = gguf_open(path, &m->gguf, err);
    if (!code)
        code = gguf_config_from(m->gguf, &m->config, err);
    if (!code)
        code = open_pooling(m, path, (struct slice){"", 0}, err);
    return code;
}

static int open_config(struct model *m, const char *folder, struct err *err)
{
    struct buf config = {0}, generation = {0};
    int code = read_file(folder, "config.json", false, &config, err);
    if (!code)
        code =
            read_file(folder, "generation_config.json", true, &generation, err);
    if (!code)
        code = model_config_from(buf_slice(&config), buf_slice(&generation),
                                 &m->config, err);
    if (!code)
        code = open_pooling(m, folder, buf_slice(&config), err);
    if (code && err)
        err_in(err, folder, "config.json");
    buf_free(&config);
    buf_free(&generation);
    return code;
}

static int check_tokenizer(const struct model *m, struct err *err)
{
    if (tokenizer_count(m->tokenizer) > m->config.vocabulary)
        return err_set(err, ERR_FORMAT,
                       "the tokenizer has ids up to %zu, the model only %zu "
                       "rows",
                       tokenizer_count(m->tokenizer) - 1, m->config.vocabulary);
    if (m->pooling.lower && !tokenizer_lowercases(m->tokenizer))
        return err_set(err, ERR_FORMAT,
                       "the tokenizer leaves capital letters, and "
                       "sentence_bert_config.json's \"do_lower_case\" is not "
                       "supported then");
    return 0;
}

/* STAR's summary tokens take positions too: fewer are left for tokens. */
static void leave_positions(struct model_config *c)
{
    size_t chunk = c->attention.star.chunk;
    if (c->attention.kind != ATTENTION_STAR)
        return;
    size_t rest = c->context % chunk;
    c->context = c->context / chunk * (chunk - 1) +
                 (rest < chunk - 1 ? rest : chunk - 2);
    c->max = c->context;
}

static int open_tokenizer(struct model *m, const char *folder, struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int code = 0;
    if (m->gguf) {
        code = tokenizer_of_gguf(m->gguf, &m->tokenizer, err);
        if (!code)
            m->chat = chat_of_gguf(m->gguf, m->tokenizer);
        return code ? code : check_tokenizer(m, err);
    }
    file_join(&path, folder, "tokenizer.json");
    if (m->config.architecture->bag || stat(path.data, &st) == 0) {
        code = tokenizer_open(path.data, &m->tokenizer, err);
        if (!code && m->config.architecture->bag) {
            tokenizer_leave_bare(m->tokenizer);
            m->config.vocabulary = tokenizer_count(m->tokenizer);
        }
        if (!code && (code = check_tokenizer(m, err)) && err)
            err_at(err, path.data);
        if (!code)
            m->chat = chat_of_folder(folder);
    }
    buf_free(&path);
    return code;
}

/* A reranker's two words as ids. */
static int find_words(struct model *m, struct err *err)
{
    struct scoring_config *s = &m->config.scoring;
    if (!m->tokenizer)
        return err_set(err, ERR_FORMAT,
                       "a reranker that answers \"%.60s\" needs a tokenizer",
                       s->words[0]);
    for (size_t i = 0; i < 2; i++) {
        s->word_ids[i] = tokenizer_find(m->tokenizer, slice_of(s->words[i]));
        if (s->word_ids[i] < 0)
            return err_set(err, ERR_FORMAT,
                           "\"rerank_words\": the tokenizer has no token "
                           "\"%.60s\"",
                           s->words[i]);
    }
    return 0;
}

static void set_frequencies(struct model *m)
{
    const struct model_config *c = &m->config;
    for (size_t i = 0; i < 2; i++) {
        m->frequencies[i] = mem_alloc(c->head * sizeof *m->frequencies[i]);
        if (c->architecture->positions == POSITIONS_ROTARY)
            rotary_frequencies(&c->rotary[i], c->head, m->frequencies[i]);
        for (size_t p = 0; m->weights.host_rotary && p < c->head / 2; p++)
            m->frequencies[i][p] /= (double)m->weights.host_rotary[p];
    }
}

static struct hash128 fingerprint(const struct model *m)
{
    unsigned char bytes[4][16] = {{0}};
    struct hash128 pooling = pooling_hash(&m->pooling), none = {0};
    hash_write(m->weights.hash, bytes[0]);
    hash_write(m->config.hash, bytes[1]);
    if (m->tokenizer)
        hash_write(tokenizer_hash(m->tokenizer), bytes[2]);
    hash_write(pooling, bytes[3]);
    return hash_bytes(bytes, hash_equal(pooling, none) ? 3 * sizeof bytes[0]
                                                       : sizeof bytes);
}

/* The folder's own name, whatever slashes follow it, or the file's. */
static char *name_of(const char *folder)
{
    size_t end = strlen(folder), from;
    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (from = end; from > 0 && folder[from - 1] != '/';)
        from--;
    return mem_strndup(folder + from, end - from);
}

/* Opened for it, and some layer sees all. */
static bool may_be_exact(const struct model *m)
{
    bool some = false;
    for (size_t i = 0; m->pages.at && i < m->config.layers; i++)
        some = some || cache_has_summaries(m, i);
    return some && m->config.writes &&
           m->config.attention.kind == ATTENTION_FULL;
}

/* What goes with its attention.  Of a chunk of HiLS's the landmark and the
 * summaries are its tokens' to pay. */
static void set_attention_facts(struct model *m)
{
    const struct attention_config *a = &m->config.attention;
    struct model_facts *facts = &m->facts;
    facts->scores = m->config.scores;
    if (forward_is_wide(m))
        facts->pass_tokens = forward_max_texts(m);
    facts->embeds = !facts->scores &&
                    (a->kind == ATTENTION_FULL || a->kind == ATTENTION_HILS);
    if (a->kind == ATTENTION_HILS) {
        size_t tokens = a->hils.chunk - 1;
        facts->chunk = a->hils.chunk;
        facts->chosen = a->hils.top_k;
        facts->window = a->hils.window;
        facts->token_bytes = (cache_page_bytes(m) + tokens - 1) / tokens;
    } else if (a->kind == ATTENTION_STAR) {
        facts->chunk = a->star.chunk;
        facts->chosen = a->star.top_k;
    } else if (a->kind == ATTENTION_HICI) {
        facts->chunk = a->hici.segment;
    }
}

static const char *key_type(int type)
{
    return type == KERNEL_INT8 ? "int8" : type == KERNEL_BF16 ? "bf16" : "f32";
}

static void set_facts(struct model *m, const char *folder)
{
    const struct model_config *c = &m->config;
    const struct model_weights *w = &m->weights;
    m->name = name_of(folder);
    m->facts = (struct model_facts){
        .name = m->name,
        .backend = m->kernels->name,
        .family = c->architecture->type,
        .type = w->type,
        .width = c->width,
        .layers = c->layers,
        .memory_layers = c->memory_layers,
        .vocabulary = c->vocabulary,
        .context = c->max,
        .key_width = w->recalls ? w->recall.p : c->width,
        .parameters = w->parameters,
        .writes = c->writes,
        .bag = c->architecture->bag,
        .chats = c->writes && m->chat && !chat_refused(m->chat),
        .chat_refused = m->chat ? chat_refused(m->chat) : NULL,
        .attention = attention_name(c->attention.kind),
        .exact = may_be_exact(m),
        .whole = c->attention.kind == ATTENTION_HICI,
        .weight_bytes = w->bytes,
        .wide_bytes = w->wide_bytes,
        .work_bytes = forward_work_bytes(c),
        .key_type = key_type(m->pages.type),
        .token_bytes = 2 * kernel_page_row_bytes(m->pages.type, c->head) *
                       c->layers * c->key_heads,
        .pooling = pooling_name(m->pooling.kind),
        .query_prefix = m->pooling.query,
        .passage_prefix = m->pooling.passage,
        .soft_tokens = w->soft_tokens,
        .recall = w->recalls,
        .pool = w->pools,
        .fingerprint = fingerprint(m),
        .eos_ids = c->eos_ids,
        .eos_count = c->eos_count,
        .answering = c->answering,
    };
    set_attention_facts(m);
}

int model_open(const char *path, const struct model_options *options,
               struct model **ret, struct err *err)
{
    struct model *m = mem_alloc(sizeof *m);
    m->kernels = options->kernels;
    m->run = (struct kernel_run){.pool = options->pool};
    int code = gguf_is_path(path) ? open_gguf(m, path, err)
                                  : open_config(m, path, err);
    if (!code)
        leave_positions(&m->config);
    if (!code && (!options->no_tokenizer || m->config.architecture->bag))
        code = open_tokenizer(m, path, err); /* a bag has as many rows */
    if (!code && m->config.scoring.kind == SCORE_WORDS)
        code = find_words(m, err);
    if (!code)
        code = model_weights_open(path, m->gguf, &m->config, m->kernels,
                                  &m->run, options->check, &m->weights, err);
    if (code && err)
        err_at(err, path);
    if (!code) {
        page_pool_lay_out(m, options->exact, options->keys_int8);
        set_frequencies(m);
        set_facts(m, path);
        m->run.int8 = options->int8 && !m->facts.writes;
        *ret = m;
    } else {
        model_close(m);
    }
    return code;
}

struct model *model_share(const struct model *of, struct kernel_pool pool)
{
    struct model *m = mem_alloc(sizeof *m);
    *m = (struct model){
        .shared = true,
        .kernels = of->kernels,
        .run = {.pool = pool, .background = true, .int8 = of->run.int8},
        .config = of->config,
        .pooling = of->pooling,
        .weights = of->weights,
        .tokenizer = of->tokenizer,
        .chat = of->chat,
        .frequencies = {of->frequencies[0], of->frequencies[1]},
        .facts = of->facts,
        .name = of->name};
    page_pool_lay_out(m, of->facts.exact, of->pages.type == KERNEL_INT8);
    return m;
}

void model_close(struct model *m)
{
    if (!m)
        return;
    workspace_free(m);
    page_pool_free(m);
    keys_free(m);
    if (!m->shared && m->weights.kernels)
        model_weights_close(&m->weights, &m->config, &m->run);
    m->kernels->run_end(&m->run);
    if (m->shared) {
        free(m);
        return;
    }
    gguf_close(m->gguf);
    model_config_free(&m->config);
    tokenizer_close(m->tokenizer);
    chat_close(m->chat);
    pooling_free(&m->pooling);
    free(m->frequencies[0]);
    free(m->frequencies[1]);
    free(m->name);
    free(m);
}

const struct model_facts *model_facts(const struct model *model)
{
    return &model->facts;
}

const char *model_device_failed(const struct model *model)
{
    return model->kernels->lost();
}

const struct chat *model_chat(const struct model *model)
{
    return model->chat;
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

int model_pool_groups(struct model *m, int policy, const float *children,
                      const size_t *start, size_t groups, float *ret,
                      struct err *err)
{
    const struct projections *p = &m->weights.pool;
    size_t width = m->config.width, count = groups ? start[groups] : 0;
    float *rows = NULL, *out = NULL, *weight = NULL;
    for (size_t g = 0; g < groups; g++)
        if (start[g] >= start[g + 1])
            return err_set(err, ERR_USAGE, "no children to pool");
    if (policy != POOL_MEAN && policy != POOL_ATTENTION)
        return err_set(err, ERR_USAGE, "no such policy of pooling: %d", policy);
    if (!groups)
        return 0;
    int code = to_device(m, &rows, children, count * width);
    if (!code)
        code = to_device(m, &out, NULL, groups * width);
    if (!code && policy == POOL_ATTENTION)
        code = to_device(m, &weight, NULL, count);
    if (!code)
        code = policy == POOL_MEAN
                   ? m->kernels->pool_means(&m->run, out, rows, start, groups,
                                            width)
                   : m->kernels->pool_attentions(&m->run, out, weight, rows,
                                                 p->wq, p->wk, COSINE_TAU,
                                                 start, groups, width, p->p);
    if (!code)
        code = m->kernels->download(&m->run, ret, out,
                                    groups * width * sizeof *ret);
    m->kernels->release(&m->run, rows);
    m->kernels->release(&m->run, out);
    m->kernels->release(&m->run, weight);
    return forward_error(code, err);
}

int model_pool(struct model *m, int policy, const float *children, size_t count,
               float *ret, struct err *err)
{
    const size_t start[] = {0, count};
    return model_pool_groups(m, policy, children, start, 1, ret, err);
}
