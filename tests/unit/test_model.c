#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/safetensors.h"
#include "model/model.h"
#include "model/sample.h"

/* Three small models, and what PyTorch says of them (tests/oracle/model). */
#define MODELS "tests/golden/models/"
static const char *const kinds[] = {"tied", "untied", "memory"};
enum { KINDS = sizeof kinds / sizeof kinds[0], MOST_IDS = 64 };

static struct pool *pool;

static int make_pool(void **state)
{
    (void)state;
    return pool_new(2, &pool, NULL);
}

static int end_pool(void **state)
{
    (void)state;
    pool_free(pool);
    return 0;
}

static const struct kernels *backend(size_t i)
{
    return i ? kernels_cpu() : kernels_ref();
}
enum { BACKENDS = 2 };

static int try_open(const char *folder, const struct kernels *kernels,
                    struct model **ret, struct err *err)
{
    struct model_options options = {
        .kernels = kernels,
        .pool = {pool, pool_parallel_for, pool_threads(pool)},
    };
    return model_open(folder, &options, ret, err);
}

static struct model *open_kind(const char *kind, const struct kernels *kernels)
{
    char path[128];
    struct err err = {0};
    struct model *model = NULL;
    snprintf(path, sizeof path, MODELS "%s", kind);
    if (try_open(path, kernels, &model, &err))
        fail_msg("%s: %s", path, err.message);
    return model;
}

static struct session *open_session(struct model *model)
{
    struct session *session = NULL;
    assert_int_equal(session_open(model, &session, NULL), 0);
    return session;
}

static struct safetensors *open_golden(const char *kind)
{
    char path[128];
    struct err err = {0};
    struct safetensors *file = NULL;
    snprintf(path, sizeof path, MODELS "%s/golden.safetensors", kind);
    if (safetensors_open(path, &file, &err))
        fail_msg("%s: %s", path, err.message);
    return file;
}

/* A copy of a golden's tensor, to be freed. */
static void *golden(const struct safetensors *file, const char *name)
{
    const struct tensor *tensor = safetensors_find(file, name);
    assert_non_null(tensor);
    return memcpy(mem_alloc(tensor->bytes), tensor->data, tensor->bytes);
}

/* The largest difference by the largest value; written so that NaN fails. */
static void check_near(const char *what, const float *got, const float *want,
                       size_t count, double bound)
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

/* ---- Against PyTorch ---- */

/* All positions, of which the last `decode` are read one at a time. */
static void check_logits(struct model *model, const int32_t *ids, size_t count,
                         size_t decode, const float *want)
{
    size_t vocabulary = model_facts(model)->vocabulary, from = count - decode;
    float *got = mem_alloc(count * vocabulary * sizeof *got);
    struct session *session = open_session(model);
    assert_int_equal(session_feed(session, ids, from, NULL, got, NULL), 0);
    for (size_t i = from; i < count; i++)
        assert_int_equal(
            session_feed(session, ids + i, 1, NULL, got + i * vocabulary, NULL),
            0);
    check_near(model_facts(model)->backend, got, want, count * vocabulary,
               1e-4);
    assert_int_equal(session_length(session), count);
    assert_memory_equal(session_logits(session), got + (count - 1) * vocabulary,
                        vocabulary * sizeof *got);
    session_close(session);
    free(got);
}

static void same_logits_as_the_reference(void **state)
{
    (void)state;
    static const size_t decodes[] = {0, 1, 32, 56};
    for (size_t k = 0; k < KINDS; k++) {
        struct safetensors *file = open_golden(kinds[k]);
        size_t count = tensor_values(safetensors_find(file, "ids"));
        int32_t *ids = golden(file, "ids");
        float *logits = golden(file, "logits");
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(kinds[k], backend(b));
            assert_int_equal(tensor_values(safetensors_find(file, "logits")),
                             count * model_facts(model)->vocabulary);
            for (size_t d = 0; d < sizeof decodes / sizeof decodes[0]; d++)
                check_logits(model, ids, count, decodes[d], logits);
            model_close(model);
        }
        free(ids);
        free(logits);
        safetensors_close(file);
    }
}

struct answer {
    int32_t ids[MOST_IDS];
    size_t count, most;
};

static bool take_token(void *context, int32_t id, double log_chance)
{
    struct answer *answer = context;
    assert_true(log_chance <= 0);
    answer->ids[answer->count++] = id;
    return answer->count < answer->most;
}

static void greedy_answer_as_the_reference(void **state)
{
    (void)state;
    static const int32_t none = -1;
    for (size_t k = 0; k < KINDS; k++) {
        struct safetensors *file = open_golden(kinds[k]);
        int32_t *ids = golden(file, "ids");
        struct model *model = open_kind(kinds[k], kernels_cpu());
        struct session *session = open_session(model);
        struct answer answer = {.most = MOST_IDS};
        struct generate_options options = {
            .most = 32, .stops = &none, .stop_count = 1};
        size_t made;
        assert_int_equal(session_feed(session, ids, 24, NULL, NULL, NULL), 0);
        assert_int_equal(session_generate(session, &options, take_token,
                                          &answer, &made, NULL),
                         0);
        assert_int_equal(made, 32);
        assert_int_equal(session_length(session), 24 + 32);
        assert_memory_equal(answer.ids, ids + 24, 32 * sizeof *ids);
        session_close(session);
        model_close(model);
        free(ids);
        safetensors_close(file);
    }
}

static void same_memories_as_the_reference(void **state)
{
    (void)state;
    struct safetensors *file = open_golden("memory");
    int32_t *ids = golden(file, "embed_ids");
    size_t count = tensor_values(safetensors_find(file, "embed_ids"));
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_kind("memory", backend(b));
        const struct model_facts *facts = model_facts(model);
        assert_true(facts->soft_tokens && facts->recall && facts->pool);
        const struct embed_input inputs[] = {
            {ids, count, model_mem(model)},
            {ids, count, model_mem0(model)},
            {ids, count, NULL},
            {ids, 0, model_mem(model)},
            {ids, count, model_mem(model)},
        };
        static const char *const names[] = {"embed_mem", "embed_mem0",
                                            "embed_plain"};
        enum { INPUTS = sizeof inputs / sizeof inputs[0] };
        float *got = mem_alloc(INPUTS * facts->width * sizeof *got);
        float *alone = mem_alloc(facts->width * sizeof *got);
        assert_int_equal(model_embed(model, inputs, INPUTS, NULL, got, NULL),
                         0);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            float *want = golden(file, names[i]);
            check_near(names[i], got + i * facts->width, want, facts->width,
                       1e-4);
            free(want);
        }
        for (size_t i = 0; i < INPUTS; i++) { /* in a batch or not */
            assert_int_equal(
                model_embed(model, &inputs[i], 1, NULL, alone, NULL), 0);
            check_near("alone", alone, got + i * facts->width, facts->width,
                       1e-5);
        }
        float *query = golden(file, "query"), *want = golden(file, "recalled");
        float *memories = golden(file, "memories");
        assert_int_equal(model_recall(model, query, memories, 7, alone, NULL),
                         0);
        check_near("recalled", alone, want, facts->width, 1e-4);
        assert_int_equal(model_recall(model, query, memories, 0, alone, NULL),
                         ERR_USAGE);
        assert_int_equal(model_pool(model, POOL_MEAN, memories, 7, alone, NULL),
                         0);
        assert_int_equal(model_pool(model, 7, memories, 7, got, NULL),
                         ERR_USAGE);
        float sum = 0;
        for (size_t i = 0; i < 7; i++)
            sum += memories[i * facts->width + 3];
        assert_true(fabsf(alone[3] - sum / 7) < 1e-5F);
        assert_int_equal(
            model_pool(model, POOL_ATTENTION, memories, 7, alone, NULL), 0);
        free(query);
        free(want);
        free(memories);
        free(got);
        free(alone);
        model_close(model);
    }
    free(ids);
    safetensors_close(file);
}

/* ---- Sessions ---- */

static void what_is_forgotten_does_not_matter(void **state)
{
    (void)state;
    struct model *model = open_kind("untied", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *a = open_session(model), *b = open_session(model);
    int32_t ids[200];
    uint64_t seed = 9;
    for (size_t i = 0; i < 200; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
    assert_null(session_logits(a));
    assert_int_equal(session_feed(a, ids, 200, NULL, NULL, NULL), 0);
    session_truncate(a, 300);
    assert_non_null(session_logits(a));
    session_truncate(a, 30);
    assert_null(session_logits(a));
    assert_int_equal(session_length(a), 30);
    assert_int_equal(session_feed(a, ids + 30, 40, NULL, NULL, NULL), 0);
    /* The other one is read in between, and grows page by page. */
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(session_feed(b, ids + i, 1, NULL, NULL, NULL), 0);
    check_near("truncated", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    session_close(a);
    session_close(b);
    model_close(model);
}

/* Longer than one pass, and than a page many times over. */
static void long_prompts_are_read_in_passes(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *a = open_session(model), *b = open_session(model);
    struct err err = {0};
    int32_t ids[513];
    uint64_t seed = 10;
    for (size_t i = 0; i < 513; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
    assert_int_equal(model_facts(model)->context, 512);
    assert_int_equal(session_feed(a, ids, 513, NULL, NULL, &err), ERR_LIMIT);
    assert_int_equal(session_feed(a, ids, 512, NULL, NULL, &err), 0);
    assert_int_equal(session_feed(b, ids, 500, NULL, NULL, &err), 0);
    assert_int_equal(session_feed(b, ids + 500, 12, NULL, NULL, &err), 0);
    check_near("passes", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    assert_int_equal(session_feed(a, ids, 1, NULL, NULL, &err), ERR_LIMIT);
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {.most = 9, .stops = ids};
    size_t made;
    assert_int_equal(
        session_generate(a, &options, take_token, &answer, &made, &err), 0);
    assert_int_equal(made, 1); /* the context is full */
    session_close(a);
    session_close(b);
    model_close(model);
}

static void wrong_ids_are_refused(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_ref());
    struct session *session = open_session(model);
    int32_t wrong[] = {1, (int32_t)model_facts(model)->vocabulary, -1};
    struct embed_input input = {wrong, 2, NULL}, none = {wrong, 0, NULL};
    float out[64];
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {.most = 1};
    size_t made;
    assert_true(model_facts(model)->width <= 64);
    assert_int_equal(session_feed(session, wrong, 2, NULL, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_feed(session, wrong + 2, 1, NULL, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_length(session), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, &answer, &made, NULL),
        ERR_USAGE);
    assert_int_equal(model_embed(model, &input, 1, NULL, out, NULL), ERR_USAGE);
    assert_int_equal(model_embed(model, &none, 1, NULL, out, NULL), ERR_USAGE);
    session_close(session);
    model_close(model);
}

static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

static void work_is_cancelled(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_cpu());
    struct session *session = open_session(model);
    static const int32_t ids[] = {5, 6, 7, 8}, none = -1;
    int left = 1;
    struct cancel cancel = {after_some, &left};
    struct err err = {0};
    float out[64];
    assert_int_equal(session_feed(session, ids, 4, &cancel, NULL, &err),
                     ERR_CANCELLED);
    assert_int_equal(session_length(session), 0);
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, &err), 0);
    left = 2 * 3 + 1; /* three tokens of two layers, and one layer more */
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {
        .most = 20, .stops = &none, .stop_count = 1, .cancel = &cancel};
    size_t made = 0;
    assert_int_equal(
        session_generate(session, &options, take_token, &answer, &made, &err),
        ERR_CANCELLED);
    assert_int_equal(made, 4);
    assert_int_equal(answer.count, 4);
    assert_int_equal(session_length(session), 4 + 3);
    left = 0;
    struct embed_input input = {ids, 4, model_mem(model)};
    assert_int_equal(model_embed(model, &input, 1, &cancel, out, &err),
                     ERR_CANCELLED);
    session_close(session);
    model_close(model);
}

static void answer_with(struct model *model, double temperature, uint64_t seed,
                        struct answer *answer)
{
    static const int32_t ids[] = {5, 6, 7, 8}, none = -1;
    struct session *session = open_session(model);
    struct generate_options options = {.most = 20,
                                       .temperature = temperature,
                                       .seed = seed,
                                       .stops = &none,
                                       .stop_count = 1};
    size_t made;
    *answer = (struct answer){.most = MOST_IDS};
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, answer, &made, NULL),
        0);
    assert_int_equal(made, 20);
    session_close(session);
}

static void seeds_decide(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    struct answer a, b;
    answer_with(model, 1.5, 1, &a);
    answer_with(model, 1.5, 1, &b);
    assert_memory_equal(a.ids, b.ids, 20 * sizeof *a.ids);
    answer_with(model, 1.5, 2, &b);
    assert_true(memcmp(a.ids, b.ids, 20 * sizeof *a.ids) != 0);
    answer_with(model, 0, 1, &a);
    answer_with(model, 0, 2, &b);
    assert_memory_equal(a.ids, b.ids, 20 * sizeof *a.ids);
    model_close(model);
}

static void answers_stop(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    struct answer whole, part = {.most = MOST_IDS};
    answer_with(model, 0, 0, &whole);
    static const int32_t ids[] = {5, 6, 7, 8};
    struct session *session = open_session(model);
    struct generate_options options = {
        .most = 20, .stops = &whole.ids[3], .stop_count = 1};
    size_t made, first = 0;
    while (whole.ids[first] != whole.ids[3])
        first++;
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, first);
    session_truncate(session, 0);
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    options.stop_count = 0;
    part = (struct answer){.most = 2}; /* the caller has enough */
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, 2);
    /* generation_config.json's */
    assert_int_equal(model_facts(model)->stop_count, 2);
    assert_int_equal(model_facts(model)->stops[0], 3);
    session_close(session);
    model_close(model);
}

static void draws_follow_the_odds(void **state)
{
    (void)state;
    const float logits[] = {0, logf(3), NAN, -INFINITY, logf(6)};
    const float none[] = {NAN, NAN};
    size_t counts[5] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++)
        counts[sample_draw(logits, 5, 1, &seed)]++;
    assert_int_equal(counts[2] + counts[3], 0);
    assert_true(labs((long)counts[0] - 2000) < 200);
    assert_true(labs((long)counts[1] - 6000) < 300);
    assert_int_equal(sample_greedy(logits, 5), 4);
    assert_int_equal(sample_draw(logits, 5, 0, &seed), 4);
    assert_int_equal(sample_draw(logits, 5, 1e-3, &seed), 4);
    assert_int_equal(sample_draw(none, 2, 1, &seed), -1);
}

/* ---- Facts ---- */

static void facts_are_told(void **state)
{
    (void)state;
    struct hash128 prints[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        struct model *model = open_kind(kinds[k], kernels_ref());
        const struct model_facts *facts = model_facts(model);
        assert_string_equal(facts->name, kinds[k]);
        assert_string_equal(facts->type, k == 1 ? "bf16" : "f32");
        assert_string_equal(facts->backend, "ref");
        assert_int_equal(facts->soft_tokens, k == 2);
        assert_int_equal(model_mem(model) != NULL, k == 2);
        assert_int_equal(facts->layers, k == 1 ? 3 : 2);
        assert_true(facts->parameters > 50000);
        assert_non_null(model_tokenizer(model));
        prints[k] = facts->fingerprint;
        float out[64];
        if (k != 2)
            assert_int_equal(model_recall(model, out, out, 1, out, NULL),
                             ERR_USAGE);
        model_close(model);
        model = open_kind(kinds[k], kernels_cpu());
        assert_true(hash_equal(model_facts(model)->fingerprint, prints[k]));
        model_close(model);
    }
    assert_false(hash_equal(prints[0], prints[1]));
}

static void answering_has_defaults(void **state)
{
    (void)state;
    struct model_config c = {0};
#define DECODER(context, more)                                                 \
    slice_of(                                                                  \
        "{\"model_type\":\"qwen3\",\"vocab_size\":9,\"hidden_size\":4,"        \
        "\"intermediate_size\":4,\"num_hidden_layers\":1,"                     \
        "\"num_attention_heads\":1,\"max_position_embeddings\":" context more  \
        "}")
    const struct slice none = {"", 0};
    assert_int_equal(model_config_from(DECODER("32768", ""), none, &c, NULL),
                     0);
    assert_int_equal(c.answering.prompt_tokens, 4096);
    assert_int_equal(c.answering.passages, 8);
    assert_int_equal(c.answering.passage_tokens, 512);
    assert_true(c.answering.threshold == (double)-INFINITY);
    model_config_free(&c);
    assert_int_equal(model_config_from(DECODER("512", ""), none, &c, NULL), 0);
    struct hash128 hash = c.hash;
    assert_int_equal(c.answering.prompt_tokens, 256);
    assert_int_equal(c.answering.passage_tokens, 86);
    model_config_free(&c);
    assert_int_equal(
        model_config_from(
            DECODER("512", ",\"lectern\":{\"answer_threshold\":1}"), none, &c,
            NULL),
        0);
    assert_true(hash_equal(c.hash, hash));
    model_config_free(&c);
    assert_int_equal(
        model_config_from(DECODER("1024",
                                  ",\"lectern\":{\"prompt_tokens\":448,"
                                  "\"passages\":3,\"passage_tokens\":130,"
                                  "\"answer_threshold\":-1.5}"),
                          none, &c, NULL),
        0);
    assert_int_equal(c.answering.prompt_tokens, 448);
    assert_int_equal(c.answering.passages, 3);
    assert_int_equal(c.answering.passage_tokens, 130);
    assert_true(c.answering.threshold == -1.5);
    assert_false(hash_equal(c.hash, hash));
    model_config_free(&c);
}

/* ---- Folders that are not as they should be ---- */

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    char command[600];
    snprintf(folder, sizeof folder, "%s", unit_folder());
    snprintf(command, sizeof command, "cp " MODELS "memory/*.json '%s'",
             folder);
    return system(command);
}

static int end_folder(void **state)
{
    (void)state;
    unit_folder_remove(folder);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    assert_int_equal(file_write(in_folder(name), slice_of(text), NULL), 0);
}

/* The folder opens with an error that says all of `says` (NULL: the end). */
static void check_refused(int code, const char *const *says)
{
    struct model *model = NULL;
    struct err err = {0};
    int got = try_open(folder, kernels_ref(), &model, &err);
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

static void write_weights(const struct edit *edits, size_t edit_count)
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

static void wrong_weights_are_named(void **state)
{
    (void)state;
    static const struct edit all[] = {
        {"norm.weight", DROP},
        {"layers.1.mlp.up_proj.weight", DROP},
        {"layers.0.self_attn.q_norm.weight", RENAME},
        {"layers.0.mlp.down_proj.weight", RESHAPE},
        {"lectern.mem0", DROP},
        {"layers.1.input_layernorm.weight", RETYPE},
    };
    struct model *model = NULL;
    write_weights(NULL, 0);
    assert_int_equal(try_open(folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    write_weights(all, 1);
    REFUSED(ERR_FORMAT, "1 tensors", "missing norm.weight");
    write_weights(all, sizeof all / sizeof all[0]);
    REFUSED(ERR_FORMAT, "7 tensors", "missing norm.weight",
            "missing layers.1.mlp.up_proj.weight",
            "missing layers.0.self_attn.q_norm.weight",
            "not known layers.0.surprise",
            "misshapen layers.0.mlp.down_proj.weight [1, 3960]",
            "missing lectern.mem0",
            "of another type layers.1.input_layernorm.weight");
    static const struct edit one[] = {{"lectern.recall.wk", DROP}};
    write_weights(one, 1);
    REFUSED(ERR_FORMAT, "missing lectern.recall.wk");
}

static void weights_cut_off_are_refused(void **state)
{
    (void)state;
    struct buf bytes = {0};
    assert_int_equal(
        file_read(MODELS "memory/model.safetensors", 1 << 20, &bytes, NULL), 0);
    for (size_t size = 0; size < bytes.size; size = size * 3 + 1) {
        struct slice part = {bytes.data, size};
        assert_int_equal(file_write(in_folder("model.safetensors"), part, NULL),
                         0);
        REFUSED(ERR_FORMAT, "model.safetensors");
    }
    struct slice part = {bytes.data, bytes.size - 1};
    assert_int_equal(file_write(in_folder("model.safetensors"), part, NULL), 0);
    REFUSED(ERR_FORMAT, "model.safetensors");
    buf_free(&bytes);
    unlink(in_folder("model.safetensors"));
    REFUSED(ERR_IO, "model.safetensors");
}

static void wrong_indexes_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "{}", "{\"weight_map\":{\"a\":7}}",
        "{\"weight_map\":{\"a\":\"../model.safetensors\"}}"};
    write_weights(NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_text("model.safetensors.index.json", wrong[i]);
        REFUSED(ERR_FORMAT, "index.json");
    }
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"other.safetensors\"}}");
    REFUSED(ERR_IO, "other.safetensors");
}

/* Many names of tensors, of three files: each is opened once, in time. */
static void long_indexes_are_read(void **state)
{
    (void)state;
    struct buf text = {0};
    struct model *model = NULL;
    struct err err = {0};
    const struct tensor one = {
        .name = slice_of("rotary_emb.inv_freq"), .type = TENSOR_F32, .rank = 1};
    write_weights(NULL, 0);
    assert_int_equal(
        safetensors_write(in_folder("other.safetensors"), &one, 1, NULL, NULL),
        0);
    assert_int_equal(
        safetensors_write(in_folder("third.safetensors"), NULL, 0, NULL, NULL),
        0);
    buf_put_text(&text, "{\"weight_map\":{");
    for (int i = 0; i < 200000; i++)
        buf_printf(&text, "%s\"%d\":\"%s.safetensors\"", i ? "," : "", i,
                   i < 100000 ? "model"
                   : i % 2    ? "other"
                              : "third");
    buf_put_text(&text, "}}");
    write_text("model.safetensors.index.json", text.data);
    double start = clock_seconds();
    if (try_open(folder, kernels_ref(), &model, &err))
        fail_msg("%s: %s", err.path, err.message);
    assert_true(clock_seconds() - start < 10);
    model_close(model);
    buf_free(&text);
}

/* Memory is bounded in a child: what a model is too large for is an error. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { BOUNDED = 0 };
#else
enum { BOUNDED = 1 };
#endif

static int open_in_little_memory(size_t more)
{
    struct model *model = NULL;
    struct err err = {0};
    struct model_options options = {.kernels = kernels_ref()};
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 1;
    fclose(file);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}))
        return 2;
    int code = model_open(folder, &options, &model, &err);
    if (code == ERR_LIMIT && strstr(err.message, "embed_tokens"))
        return 0;
    fprintf(stderr, "%d %s\n", code, err.message);
    return 3;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    enum { ROWS = 1 << 19, WIDTH = 44, BYTES = ROWS * WIDTH * 2 };
    struct safetensors *file = NULL;
    struct tensor tensors[64];
    size_t count;
    if (!BOUNDED)
        skip();
    assert_int_equal(
        safetensors_open(MODELS "memory/model.safetensors", &file, NULL), 0);
    void *halves = mem_alloc(BYTES);
    for (count = 0; count < safetensors_count(file); count++) {
        tensors[count] = *safetensors_at(file, count);
        if (!slice_is(tensors[count].name, "embed_tokens.weight"))
            continue;
        tensors[count].type = TENSOR_F16;
        tensors[count].shape[0] = ROWS;
        tensors[count].data = halves;
        tensors[count].bytes = BYTES;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    free(halves);
    safetensors_close(file);
    write_text("config.json",
               "{\"model_type\":\"qwen3\",\"vocab_size\":524288,"
               "\"hidden_size\":44,\"intermediate_size\":90,"
               "\"num_hidden_layers\":2,\"num_attention_heads\":3,"
               "\"num_key_value_heads\":3,\"head_dim\":16,"
               "\"tie_word_embeddings\":true}");
    /* enough for the mapped file, but not for its copy as f32 */
    pid_t child = fork();
    if (!child)
        _exit(open_in_little_memory((size_t)BYTES * 3 / 2));
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void wrong_tokenizers_are_refused(void **state)
{
    (void)state;
    struct model *model = NULL;
    write_weights(NULL, 0);
    write_text("tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}");
    REFUSED(ERR_FORMAT, "tokenizer.json", "WordPiece");
    write_text("tokenizer.json",
               "{\"model\":{\"vocab\":{\"a\":70000},\"merges\":[]},"
               "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}");
    REFUSED(ERR_FORMAT, "tokenizer.json", "70000");
    unlink(in_folder("tokenizer.json"));
    assert_int_equal(try_open(folder, kernels_ref(), &model, NULL), 0);
    assert_null(model_tokenizer(model));
    model_close(model);
}

static void wrong_configs_are_refused(void **state)
{
    (void)state;
#define CONFIG(more)                                                           \
    "{\"model_type\":\"qwen3\",\"vocab_size\":608,\"hidden_size\":44,"         \
    "\"intermediate_size\":90,\"num_hidden_layers\":2,"                        \
    "\"num_attention_heads\":3,\"num_key_value_heads\":3,\"head_dim\":16,"     \
    "\"tie_word_embeddings\":true,\"rope_theta\":10000" more "}"
    static const struct {
        const char *config, *says;
    } cases[] = {
        {"", "JSON"},
        {"{}", "model_type"},
        {"{\"model_type\":\"llama\"}", "\"llama\" is not supported"},
        {"{\"model_type\":\"qwen3\"}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":-1}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":1.5}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":1e300}", "vocab_size"},
        {"{\"model_type\":7}", "\"model_type\" is not a text"},
        {CONFIG(",\"hidden_act\":\"gelu\""), "gelu"},
        {CONFIG(",\"hidden_act\":[]"), "\"hidden_act\" is not a text"},
        {CONFIG(",\"attention_bias\":1"),
         "\"attention_bias\" is not true or false"},
        {CONFIG(",\"rms_norm_eps\":\"1e-2\""),
         "\"rms_norm_eps\" is not a number"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":\"1000000\"}"),
         "\"rope_theta\" is not a number"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":7}"),
         "\"rope_type\" is not a text"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":\"default\"},"
                "\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}"),
         "yarn"},
        {CONFIG(",\"rope_scaling\":{\"rope_type\":\"default\",\"type\":"
                "\"mrope\"}"),
         "mrope"},
        {CONFIG(",\"rope_parameters\":{\"full_attention\":{\"rope_type\":"
                "\"default\"}}"),
         "full_attention"},
        {CONFIG(",\"rope_parameters\":[]"), "\"rope_parameters\" is not"},
        {CONFIG(",\"rope_scaling\":\"yarn\""), "\"rope_scaling\" is not"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":1e6},"
                "\"rope_scaling\":{\"rope_theta\":1e5}"),
         "that differ"},
        {CONFIG(",\"rope_parameters\":{\"partial_rotary_factor\":0.5}"),
         "partial_rotary_factor"},
        {CONFIG(",\"partial_rotary_factor\":\"0.5\""), "partial_rotary_factor"},
        {CONFIG(",\"use_sliding_window\":\"no\""),
         "\"use_sliding_window\" is not"},
        {CONFIG(",\"layer_types\":{\"a\":\"full_attention\",\"b\":"
                "\"full_attention\"}"),
         "\"layer_types\" is not a list"},
        {CONFIG(",\"eos_token_id\":[1,\"x\"]"), "\"eos_token_id\" is not"},
        {CONFIG(",\"eos_token_id\":1.5"), "\"eos_token_id\" is not"},
        {CONFIG(",\"attention_bias\":true"), "attention_bias"},
        {CONFIG(",\"quantization_config\":{}"), "quantised"},
        {CONFIG(",\"rope_scaling\":{\"rope_type\":\"yarn\"}"), "yarn"},
        {CONFIG(",\"rope_scaling\":{\"type\":\"linear\"}"), "linear"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":\"llama3\"}"), "llama3"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":-1}"), "rope_theta"},
        {CONFIG(",\"layer_types\":[\"full_attention\"]"), "layer_types"},
        {CONFIG(",\"layer_types\":[\"full_attention\",\"odd\"]"), "odd"},
        {CONFIG(",\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
         "sliding_window"},
        {CONFIG(",\"use_sliding_window\":true,\"sliding_window\":0"),
         "sliding_window"},
        {CONFIG(",\"lectern\":[]"), "\"lectern\" is not an object"},
        {CONFIG(",\"lectern\":{\"passages\":0}"), "\"passages\" is not"},
        {CONFIG(",\"lectern\":{\"answer_threshold\":\"low\"}"),
         "\"answer_threshold\" is not a number"},
    };
    struct model *model = NULL;
    write_weights(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("config.json", cases[i].config);
        REFUSED(ERR_FORMAT, "config.json", cases[i].says);
    }
    write_text("config.json",
               CONFIG(",\"rope_scaling\":null,\"torch_dtype\":\"float32\""));
    assert_int_equal(try_open(folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    write_text("config.json",
               CONFIG(",\"use_sliding_window\":true,\"max_window_layers\":0,"
                      "\"sliding_window\":null"));
    model = NULL;
    assert_int_equal(try_open(folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    unlink(in_folder("config.json"));
    REFUSED(ERR_IO, "config.json");
}

/* ---- Inputs longer than one pass ---- */

static void lengthen_context(void)
{
    struct buf config = {0};
    write_weights(NULL, 0);
    assert_int_equal(
        file_read(MODELS "memory/config.json", 1 << 16, &config, NULL), 0);
    char *number = strstr(config.data, "\"max_position_embeddings\": 512");
    assert_non_null(number);
    memcpy(strstr(number, "512"), "999", 3);
    assert_int_equal(
        file_write(in_folder("config.json"), buf_slice(&config), NULL), 0);
    buf_free(&config);
}

/* The head of this model is its embedding [vocabulary, width]: state times it
 * are the logits that a session has after the same tokens. */
static void check_state(struct model *model, const float *state,
                        const float *embedding, const int32_t *ids,
                        size_t count)
{
    size_t width = model_facts(model)->width;
    size_t vocabulary = model_facts(model)->vocabulary;
    float *logits = mem_alloc(vocabulary * sizeof *logits);
    struct session *session = open_session(model);
    assert_int_equal(session_feed(session, ids, count, NULL, NULL, NULL), 0);
    for (size_t t = 0; t < vocabulary; t++)
        for (size_t i = 0; i < width; i++)
            logits[t] += embedding[t * width + i] * state[i];
    check_near("state", logits, session_logits(session), vocabulary, 1e-4);
    session_close(session);
    free(logits);
}

/* A soft token that is some token's embedding does what that token does. */
static void long_inputs_are_embedded(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 508, 509, 510, 511, 512, 513, 900};
    struct safetensors *file = NULL;
    struct model *model = NULL;
    struct err err = {0};
    lengthen_context();
    assert_int_equal(
        safetensors_open(in_folder("model.safetensors"), &file, NULL), 0);
    float *embedding = golden(file, "embed_tokens.weight");
    if (try_open(folder, kernels_cpu(), &model, &err))
        fail_msg("%s", err.message);
    size_t width = model_facts(model)->width;
    int32_t ids[902];
    uint64_t seed = 11;
    for (size_t i = 0; i < 902; i++)
        ids[i] = (int32_t)unit_below(&seed,
                                     (uint32_t)model_facts(model)->vocabulary);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t count = counts[c];
        int32_t last = ids[count + 1];
        float out[2 * 64];
        ids[count + 1] = ids[0];
        const struct embed_input inputs[] = {
            {ids + 1, count, embedding + (size_t)ids[0] * width},
            {ids, count, NULL}};
        assert_int_equal(model_embed(model, inputs, 2, NULL, out, NULL), 0);
        check_state(model, out, embedding, ids, count + 2);
        check_state(model, out + width, embedding, ids, count);
        ids[count + 1] = last;
    }
    model_close(model);
    free(embedding);
    safetensors_close(file);
}

static void missing_folders_are_refused(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct err err = {0};
    assert_int_equal(
        try_open("/nonexistent/model", kernels_ref(), &model, &err), ERR_IO);
    assert_non_null(strstr(err.path, "/nonexistent/model"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_logits_as_the_reference),
        cmocka_unit_test(greedy_answer_as_the_reference),
        cmocka_unit_test(same_memories_as_the_reference),
        cmocka_unit_test(what_is_forgotten_does_not_matter),
        cmocka_unit_test(long_prompts_are_read_in_passes),
        cmocka_unit_test(wrong_ids_are_refused),
        cmocka_unit_test(work_is_cancelled),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(answers_stop),
        cmocka_unit_test(draws_follow_the_odds),
        cmocka_unit_test(facts_are_told),
        cmocka_unit_test(answering_has_defaults),
        cmocka_unit_test_setup_teardown(wrong_weights_are_named, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(weights_cut_off_are_refused,
                                        make_folder, end_folder),
        cmocka_unit_test_setup_teardown(wrong_indexes_are_refused, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(long_indexes_are_read, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(wrong_tokenizers_are_refused,
                                        make_folder, end_folder),
        cmocka_unit_test_setup_teardown(wrong_configs_are_refused, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(long_inputs_are_embedded, make_folder,
                                        end_folder),
        cmocka_unit_test(missing_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
