/* What the tests of models share: the golden ones, those written into a folder
 * of the test's own, and comparing. */
#ifndef TESTS_UNIT_SUPPORT_MODELS_H
#define TESTS_UNIT_SUPPORT_MODELS_H

#include "tests/unit/support/folder.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/safetensors.h"
#include "model/model.h"

/* Small models, and what PyTorch says of them (tests/experiments/model): these three
 * with tokenizers, and each of the families. */
#define MODELS "tests/golden/models/"
static const char *const kinds[] = {"tied", "untied", "memory"};
static const char *const decoders[] = {"tied",    "untied", "memory",
                                       "llama2",  "llama3", "qwen2",
                                       "mistral", "olmo2",  "olmo3"};
static const char *const embedders[] = {"bert", "xlm-roberta", "embedder",
                                        "modernbert"};
enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    DECODERS = sizeof decoders / sizeof decoders[0],
    EMBEDDERS = sizeof embedders / sizeof embedders[0],
    MAX_IDS = 64
};

static struct pool *pool;

static inline int make_pool(void **state)
{
    (void)state;
    return pool_new(2, &pool, NULL);
}

static inline int end_pool(void **state)
{
    (void)state;
    pool_free(pool);
    return 0;
}

static inline const struct kernels *backend(size_t i)
{
    return i ? kernels_cpu() : kernels_ref();
}
enum { BACKENDS = 2 };

static inline int try_open(const char *folder, const struct kernels *kernels,
                           struct model **ret, struct err *err)
{
    struct model_options options = {
        .kernels = kernels,
        .pool = {pool, pool_parallel_for, pool_threads(pool)},
    };
    return model_open(folder, &options, ret, err);
}

static inline struct model *open_kind(const char *kind,
                                      const struct kernels *kernels)
{
    char path[128];
    struct err err = {0};
    struct model *model = NULL;
    snprintf(path, sizeof path, MODELS "%s", kind);
    if (try_open(path, kernels, &model, &err))
        fail_msg("%s: %s", path, err.message);
    return model;
}

static inline struct model *open_at(const char *path,
                                    const struct kernels *kernels, bool exact,
                                    bool threads)
{
    struct model_options options = {
        .kernels = kernels, .exact = exact, .no_tokenizer = true};
    struct err err = {0};
    struct model *model = NULL;
    if (threads)
        options.pool =
            (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    if (model_open(path, &options, &model, &err))
        fail_msg("%s: %s", path, err.message);
    return model;
}

/* `exact`: it may choose what it reads; int8: its keys and values have eight bits. */
static inline struct model *open_keeping(const char *kind,
                                         const struct kernels *kernels,
                                         bool exact, bool int8)
{
    char path[128];
    struct model *model = NULL;
    struct err err = {.position = -1};
    const struct model_options options = {.kernels = kernels,
                                          .exact = exact,
                                          .no_tokenizer = true,
                                          .keys_int8 = int8};
    snprintf(path, sizeof path, MODELS "%s", kind);
    if (model_open(path, &options, &model, &err))
        fail_msg("%s: %s", path, err.message);
    return model;
}

static inline struct session *open_session(struct model *model)
{
    struct session *session = NULL;
    assert_int_equal(session_open(model, &session, NULL), 0);
    return session;
}

/* Tokens by chance, the same for the same seed. */
static inline void fill_ids(int32_t *ids, size_t count, size_t vocabulary,
                            uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
}

static inline void feed(struct session *session, const int32_t *ids,
                        size_t count)
{
    struct err err = {0};
    if (session_prefill(session, ids, count, NULL, NULL, &err))
        fail_msg("%s", err.message);
}

/* What a reference says of the model, `name`.safetensors beside it. */
static inline struct safetensors *open_beside(const char *kind,
                                              const char *name)
{
    char path[128];
    struct err err = {0};
    struct safetensors *file = NULL;
    snprintf(path, sizeof path, MODELS "%s/%s.safetensors", kind, name);
    if (safetensors_open(path, &file, &err))
        fail_msg("%s: %s", path, err.message);
    return file;
}

static inline struct safetensors *open_golden(const char *kind)
{
    return open_beside(kind, "golden");
}

/* A copy of a golden's tensor, to be freed. */
static inline void *golden(const struct safetensors *file, const char *name)
{
    const struct tensor *tensor = safetensors_find(file, name);
    assert_non_null(tensor);
    return memcpy(mem_alloc(tensor->bytes), tensor->data, tensor->bytes);
}

/* The largest difference by the largest value; written so that NaN fails. */
static inline void check_near(const char *what, const float *got,
                              const float *want, size_t count, double bound)
{
    double top = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)got[i] - (double)want[i]);
        if (!(difference <= worst))
            worst = difference;
        top = fmax(top, fabs((double)want[i]));
    }
    if (!(worst <= bound * top))
        fail_msg("%s: off by %g of %g", what, worst, top);
}

/* ---- A folder of the test's own ---- */

static inline int make_model_folder(void **state)
{
    char command[600];
    make_folder(state);
    snprintf(command, sizeof command, "cp " MODELS "memory/*.json '%s'",
             own_folder);
    return system(command);
}

/* The golden model in it, its config.json as the script of sed leaves it. */
static inline void save_edited(const char *kind, const char *script)
{
    char command[1200];
    int size =
        snprintf(command, sizeof command,
                 "cp " MODELS "%s/model.safetensors '%s' && sed '%s' " MODELS
                 "%s/config.json > '%s/config.json'",
                 kind, own_folder, script, kind, own_folder);
    assert_in_range(size, 1, sizeof command - 1);
    assert_int_equal(system(command), 0);
}

/* The same with `member` as the config's first. */
static inline void save_with(const char *kind, const char *member)
{
    char script[200];
    int size = snprintf(script, sizeof script, "1s/{/{%s,/", member);
    assert_in_range(size, 1, sizeof script - 1);
    save_edited(kind, script);
}

/* The same without all layers but the first. */
static inline void save_first_layer(const char *kind)
{
    struct safetensors *file = open_beside(kind, "model");
    struct tensor tensors[64];
    size_t count = 0;
    save_with(kind, "\"num_hidden_layers\": 1, \"layer_types\": null");
    assert_true(safetensors_count(file) <= 64);
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        const char *layer = strstr(tensor->name.data, "layer");
        if (!layer || layer[strcspn(layer, ".") + 1] == '0')
            tensors[count++] = *tensor;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    safetensors_close(file);
}

static inline void write_text(const char *name, const char *text)
{
    assert_int_equal(file_write(in_folder(name), slice_of(text), NULL), 0);
}

/* The folder opens with an error that says all of `says` (NULL: the end). */
static inline void check_refused(int code, const char *const *says)
{
    struct model *model = NULL;
    struct err err = {0};
    int got = try_open(own_folder, kernels_ref(), &model, &err);
    if (got != code)
        fail_msg("%d, not %d: %s", got, code, err.message);
    assert_null(model);
    assert_true(err.path[0] != '\0');
    for (; *says; says++)
        if (!strstr(err.message, *says) && !strstr(err.path, *says))
            fail_msg("\"%s\" is not in: %s: %s", *says, err.path, err.message);
}
#define REFUSED(code, ...)                                                     \
    check_refused(code, (const char *const[]){__VA_ARGS__, NULL})

enum change { DROP, RENAME, RESHAPE, RETYPE };

/* Writes the model's weights with tensors changed: as pairs of name and what
 * is done to it. */
struct edit {
    const char *name;
    enum change change;
};

static inline void write_weights(const struct edit *edits, size_t edit_count)
{
    struct safetensors *file = NULL;
    struct tensor tensors[64];
    size_t count = 0;
    assert_int_equal(
        safetensors_open(MODELS "memory/model.safetensors", &file, NULL), 0);
    assert_true(safetensors_count(file) <= 64);
    for (size_t i = 0; i < safetensors_count(file); i++) {
        struct tensor tensor = *safetensors_at(file, i);
        bool drop = false;
        for (size_t e = 0; e < edit_count; e++) {
            if (!slice_is(tensor.name, edits[e].name))
                continue;
            drop = edits[e].change == DROP;
            if (edits[e].change == RENAME)
                tensor.name = slice_of("layers.0.surprise");
            if (edits[e].change == RESHAPE) {
                tensor.rank = 2;
                tensor.shape[1] = tensor_values(&tensor);
                tensor.shape[0] = 1;
            }
            if (edits[e].change == RETYPE)
                tensor.type = TENSOR_I32;
        }
        if (!drop)
            tensors[count++] = tensor;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    safetensors_close(file);
}

struct answer {
    int32_t ids[MAX_IDS];
    size_t count, max;
};

static inline bool take_token(void *context, int32_t id, double logprob)
{
    struct answer *answer = context;
    assert_true(logprob <= 0);
    answer->ids[answer->count++] = id;
    return answer->count < answer->max;
}

/* A session that has read these, the last `decode` one at a time; `ret`: the
 * logits of all positions. */
static inline struct session *read_all(struct model *model, const int32_t *ids,
                                       size_t count, size_t decode, float *ret)
{
    size_t vocabulary = model_facts(model)->vocabulary, from = count - decode;
    struct session *session = open_session(model);
    assert_int_equal(session_prefill(session, ids, from, NULL, ret, NULL), 0);
    for (size_t i = from; i < count; i++)
        assert_int_equal(session_prefill(session, ids + i, 1, NULL,
                                         ret + i * vocabulary, NULL),
                         0);
    return session;
}

static inline void check_logits(struct model *model, const int32_t *ids,
                                size_t count, size_t decode, const float *want,
                                double bound)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    float *got = mem_alloc(count * vocabulary * sizeof *got);
    struct session *session = read_all(model, ids, count, decode, got);
    check_near(model_facts(model)->backend, got, want, count * vocabulary,
               bound);
    assert_int_equal(session_length(session), count);
    assert_memory_equal(session_logits(session), got + (count - 1) * vocabulary,
                        vocabulary * sizeof *got);
    session_close(session);
    free(got);
}

/* A model's logits are its golden ones by both tables of kernels, with so many
 * tokens read one at a time. */
static inline void check_golden(const char *kind, const size_t *decodes,
                                size_t ways)
{
    struct safetensors *file = open_golden(kind);
    size_t count = tensor_values(safetensors_find(file, "ids"));
    int32_t *ids = golden(file, "ids");
    float *logits = golden(file, "logits");
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_kind(kind, backend(b));
        assert_int_equal(tensor_values(safetensors_find(file, "logits")),
                         count * model_facts(model)->vocabulary);
        for (size_t w = 0; w < ways; w++)
            check_logits(model, ids, count, decodes[w], logits, 1e-4);
        model_close(model);
    }
    free(ids);
    free(logits);
    safetensors_close(file);
}

/* The same logits after n + 1 tokens read by `whole`, and n and one by `step`;
 * closes both. */
static inline void check_boundary(const char *kind, const struct model *model,
                                  struct session *whole, struct session *step,
                                  const int32_t *ids, size_t n)
{
    char what[64];
    snprintf(what, sizeof what, "%s, %zu and one", kind, n);
    feed(whole, ids, n + 1);
    feed(step, ids, n);
    feed(step, ids + n, 1);
    check_near(what, session_logits(step), session_logits(whole),
               model_facts(model)->vocabulary, 1e-5);
    session_close(whole);
    session_close(step);
}

#endif
