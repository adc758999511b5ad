/* What sessions keep on the device: keys and values in bf16 where the weights are
 * not f32. */
#include "tests/unit/support/devices.h"

#include "kernels/ref/ref.h"
#include "model/inference/forward.h"

enum { COUNT = 90, MAX_TENSORS = 64 };

/* ---- Models ---- */

/* Of each kind of attention; `f32`: weights of the golden one, which are copied in
 * bf16. */
static const struct {
    const char *kind;
    bool f32;
} models[] = {{"untied", false},    {"mistral", false},    {"llama3", false},
              {"hils-qwen", true},  {"hils-shared", true}, {"star-qwen", true},
              {"hici-causal", true}};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

/* The golden model, its matrices in bf16, in `folder`. */
static void write_in_bf16(const char *kind)
{
    char path[200];
    struct buf config = {0};
    struct safetensors *file = NULL;
    struct tensor tensors[2 * MAX_TENSORS];
    void *halves[2 * MAX_TENSORS] = {NULL};
    snprintf(path, sizeof path, MODELS "%s/config.json", kind);
    assert_int_equal(file_read(path, 1 << 20, &config, NULL), 0);
    write_text("config.json", config.data);
    buf_free(&config);
    snprintf(path, sizeof path, MODELS "%s/model.safetensors", kind);
    assert_int_equal(safetensors_open(path, &file, NULL), 0);
    size_t count = safetensors_count(file);
    assert_true(count <= 2 * MAX_TENSORS);
    for (size_t i = 0; i < count; i++) {
        struct tensor *t = &tensors[i];
        *t = *safetensors_at(file, i);
        if (t->rank != 2 || t->type != TENSOR_F32 ||
            !strstr(t->name.data, ".weight"))
            continue;
        size_t values = tensor_values(t);
        uint16_t *to = halves[i] = mem_alloc(values * sizeof *to);
        for (size_t j = 0; j < values; j++) {
            float value;
            memcpy(&value, (const char *)t->data + j * sizeof value,
                   sizeof value);
            to[j] = ref_to_bf16(value);
        }
        t->type = TENSOR_BF16;
        t->data = to;
        t->bytes = values * sizeof *to;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    for (size_t i = 0; i < count; i++)
        free(halves[i]);
    safetensors_close(file);
}

/* Model i on a table; `exact`: sessions may be. */
static struct model *open_model(size_t i, const struct kernels *table,
                                bool exact)
{
    char path[200];
    snprintf(path, sizeof path, MODELS "%s", models[i].kind);
    if (models[i].f32)
        write_in_bf16(models[i].kind);
    return open_at(models[i].f32 ? own_folder : path, table, exact, false);
}

/* ---- A reference that rounds ---- */

static int put_rounded(struct kernel_run *run, float *const *pages, size_t at,
                       size_t slots, int type, const float *x, size_t first,
                       size_t rows, size_t hkv, size_t d)
{
    size_t count = rows * hkv * d;
    float *rounded = mem_alloc((count + 1) * sizeof *rounded);
    for (size_t i = 0; i < count; i++)
        rounded[i] = ref_from_bf16(ref_to_bf16(x[i]));
    int code = kernels_ref()->kv_write(run, pages, at, slots, type, rounded,
                                       first, rows, hkv, d);
    free(rounded);
    return code;
}

static int heads_rounded(struct kernel_run *run,
                         const struct kernel_heads *heads, size_t count,
                         const float *angles,
                         const struct kernel_places *places, size_t place_count,
                         size_t slots, int type, size_t m, size_t d)
{
    struct kernels table = *kernels_ref();
    table.kv_write = put_rounded;
    return ref_heads(&table, run, heads, count, angles, places, place_count,
                     slots, type, m, d);
}

/* Of chunks [first, first + chunks). */
static void round_summaries(const struct kernel_summaries *summaries,
                            size_t first, size_t chunks, size_t count)
{
    for (size_t c = first; c < first + chunks; c++)
        for (size_t i = 0; i < count; i++) {
            float *at = summaries->keys[c] + summaries->key_at + i;
            *at = ref_from_bf16(ref_to_bf16(*at));
        }
}

static int proxies_rounded(struct kernel_run *run,
                           const struct kernel_summaries *summaries,
                           const struct kernel_proxies *proxies, size_t first,
                           size_t chunks, size_t hq, size_t d)
{
    int code = kernels_ref()->chunk_proxies(run, summaries, proxies, first,
                                            chunks, hq, d);
    round_summaries(summaries, first, chunks, hq * d);
    return code;
}

static int summary_rounded(struct kernel_run *run,
                           const struct kernel_summaries *summaries,
                           const struct kernel_pages *pages, size_t first,
                           size_t chunks, size_t chunk, size_t hq, size_t hkv,
                           size_t d)
{
    int code = kernels_ref()->chunk_summary(run, summaries, pages, first,
                                            chunks, chunk, hq, hkv, d);
    round_summaries(summaries, first, chunks, hq * d);
    return code;
}

/* The oracle, f32 pages of numbers that bf16 holds. */
static struct kernels rounding_table(void)
{
    struct kernels table = *kernels_ref();
    table.heads = heads_rounded;
    table.chunk_proxies = proxies_rounded;
    table.chunk_summary = summary_rounded;
    return table;
}

/* At least `share` of the tokens are near: a difference of 1e-7 that falls to the
 * other side of a rounding is one of 2^-8, and may choose another chunk. */
static void check_max(const char *kind, const float *got, const float *want,
                      size_t vocabulary, double bound, double share)
{
    size_t near = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double top = 0, worst = 0;
        for (size_t l = i * vocabulary; l < (i + 1) * vocabulary; l++) {
            double difference = fabs((double)got[l] - (double)want[l]);
            if (!(difference <= worst))
                worst = difference;
            top = fmax(top, fabs((double)want[l]));
        }
        near += worst <= bound * top;
    }
    if (!((double)near >= share * COUNT))
        fail_msg("%s: %zu of %d tokens are near", kind, near, COUNT);
}

/* One at a time tokens are read by products whose activations are f32: nine in ten
 * are within 1e-3, as all are in f32, of a reference with rounded keys and values,
 * and all within 1e-2; within 3e-2, as for bf16 weights, of the plain one.  (A number
 * that falls to the other side of its rounding is 2^-8 off: a reference whose keys
 * and values are 1e-6 off before they are rounded is up to 4.5e-3 off.  A device sums
 * in an order of its own.)  With HiLS, nine in ten of the tokens are within 1e-2, and
 * eight in ten within 3e-2. */
static void rounded_keys_give_the_logits(void **state)
{
    (void)state;
    const struct kernels rounding = rounding_table();
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 3);
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        struct model *model = open_model(i, &rounding, false);
        size_t values = COUNT * model_facts(model)->vocabulary;
        float *rounded = read_steps(model, ids, 0, COUNT);
        model_close(model);
        model = open_model(i, kernels_ref(), false);
        float *plain = read_steps(model, ids, 0, COUNT);
        model_close(model);
        for (int t = 0; t < TABLES; t++) {
            const struct kernels *table = device_table(t);
            if (!table)
                continue;
            model = open_model(i, table, false);
            float *got = read_steps(model, ids, 0, COUNT);
            if (strncmp(models[i].kind, "hils", 4) == 0) {
                check_max(models[i].kind, got, rounded, values / COUNT, 1e-2,
                          0.9);
                check_max(models[i].kind, got, plain, values / COUNT, 3e-2,
                          0.8);
            } else {
                check_near(models[i].kind, got, rounded, values, 1e-2);
                check_max(models[i].kind, got, rounded, values / COUNT, 1e-3,
                          t ? 0 : 0.9);
                check_near(models[i].kind, got, plain, values, 3e-2);
            }
            model_close(model);
            free(got);
        }
        free(rounded);
        free(plain);
    }
}

/* ---- Bytes ---- */

static size_t asked_for;
static const struct kernels *counted;

static void *count_bytes(struct kernel_run *run, size_t bytes)
{
    asked_for += bytes;
    return counted->allocate(run, bytes);
}

/* Bytes that a session takes from the table for `count` tokens. */
static size_t taken(const struct kernels *table, size_t i, size_t count,
                    size_t *ret_said, uint64_t *ret_token, size_t *ret_biases)
{
    struct kernels counting = *table;
    counted = table;
    counting.allocate = count_bytes;
    struct model *model = open_model(i, &counting, false);
    struct session *session = open_session(model);
    assert_string_equal(model_facts(model)->key_type,
                        table->bf16_pages ? "bf16" : "f32");
    asked_for = 0;
    assert_int_equal(session_reserve(session, count, NULL), 0);
    *ret_said = session_bytes(session);
    *ret_token = model_facts(model)->token_bytes;
    *ret_biases = 0; /* of the chunks' summaries */
    for (size_t l = 0; l < model->config.layers; l++)
        if (model->config.attention.kind == ATTENTION_HILS &&
            cache_has_summaries(model, l))
            *ret_biases += *ret_said / cache_page_bytes(model) *
                           model->config.heads * sizeof(float);
    session_close(session);
    model_close(model);
    return asked_for;
}

/* The pool's bytes, those that are asked for and those that are said: half of f32
 * and, in models made for HiLS, half of the summaries' biases. */
static void half_the_bytes_are_taken(void **state)
{
    (void)state;
    enum { TOKENS = 60, ROOM = 512 }; /* room: tables and landmarks */
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t i = 0; table && i < MODEL_COUNT; i++) {
            size_t said, whole_said, biases;
            uint64_t token, whole_token;
            size_t got = taken(table, i, TOKENS, &said, &token, &biases);
            size_t whole = taken(kernels_cpu(), i, TOKENS, &whole_said,
                                 &whole_token, &biases);
            bool hils = strncmp(models[i].kind, "hils", 4) == 0;
            if (got < said || got > said + ROOM || whole < whole_said)
                fail_msg("%s: %zu bytes, said %zu", models[i].kind, got, said);
            assert_true(hils == (biases > 0));
            if (said * 2 != whole_said + biases)
                fail_msg("%s: %zu bytes, in f32 %zu", models[i].kind, said,
                         whole_said);
            if (hils ? token >= whole_token : token * 2 != whole_token)
                fail_msg("%s: a token's bytes", models[i].kind);
        }
    }
}

/* The keys of a model's first page after a prompt, of one layer, as floats. */
static float *keys_of(struct model *model, const int32_t *ids, size_t layer,
                      size_t *ret_count)
{
    struct cache cache = {.length = 0};
    struct forward_part part = {.ids = ids, .count = 64, .cache = &cache};
    const struct model_config *c = &model->config;
    size_t count = 64 * c->key_heads * c->head;
    size_t bytes = cache_page_bytes(model);
    char *page = mem_alloc(bytes);
    float *keys = mem_alloc(count * sizeof *keys);
    assert_int_equal(cache_reserve(model, &cache, 64, NULL), 0);
    assert_int_equal(forward(model, &part, 1, c->layers, NULL, NULL), 0);
    assert_int_equal(model->kernels->download(&model->run, page,
                                              cache.pages[0]->memory, bytes),
                     0);
    const char *from = page + model->pages.at[layer] * sizeof(float);
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        if (model->pages.type == KERNEL_F32) {
            memcpy(&keys[i], from + i * sizeof keys[i], sizeof keys[i]);
            continue;
        }
        memcpy(&half, from + i * sizeof half, sizeof half);
        keys[i] = ref_from_bf16(half);
    }
    cache_free(model, &cache);
    free(page);
    *ret_count = count;
    return keys;
}

static void pages_hold_the_keys(void **state)
{
    (void)state;
    int32_t ids[64];
    fill_ids(ids, 64, 60, 5);
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t i = 0; table && i < 3; i++) {
            struct model *mine = open_model(i, table, false);
            struct model *plain = open_model(i, kernels_ref(), false);
            assert_int_equal(mine->pages.type, KERNEL_BF16);
            assert_int_equal(plain->pages.type, KERNEL_F32);
            for (size_t layer = 0; layer < 2; layer++) {
                size_t count;
                float *got = keys_of(mine, ids, layer, &count);
                float *want = keys_of(plain, ids, layer, &count);
                check_near("keys", got, want, count, 3e-2);
                free(got);
                free(want);
            }
            model_close(mine);
            model_close(plain);
        }
    }
}

/* f32 weights keep f32, on any table; the processor keeps f32. */
static void whole_weights_keep_whole_keys(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        if (!table)
            continue;
        struct model *model = open_at(MODELS "qwen2", table, false, false);
        assert_string_equal(model_facts(model)->key_type, "f32");
        assert_int_equal(model->pages.type, KERNEL_F32);
        model_close(model);
    }
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model =
            open_at(MODELS "untied", backend(b), false, false);
        assert_string_equal(model_facts(model)->key_type, "f32");
        model_close(model);
    }
}

/* ---- Sessions ---- */

/* A prompt of n + 1 tokens is one of n and a step; a fork in the middle of a page
 * that reads on is as one that read all, and takes nothing from the other. */
static void check_forks(struct model *model, const char *kind, double bound)
{
    enum { AT = 70, END = 76 };
    int32_t ids[END], others[END - AT];
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *whole = open_session(model), *first = open_session(model);
    struct session *fork = NULL;
    fill_ids(ids, END, 60, 11);
    fill_ids(others, END - AT, 60, 12);
    feed(first, ids, AT);
    assert_int_equal(session_fork(first, AT, &fork, NULL), 0);
    for (size_t i = 0; i < END - AT; i++)
        feed(first, others + i, 1);
    feed(fork, ids + AT, 1);
    feed(whole, ids, AT + 1);
    check_near(kind, session_logits(fork), session_logits(whole), vocabulary,
               bound);
    for (size_t i = AT + 1; i < END; i++) {
        feed(fork, ids + i, 1);
        feed(whole, ids + i, 1);
    }
    check_near(kind, session_logits(fork), session_logits(whole), vocabulary,
               bound);
    session_close(first);
    session_close(whole);
    session_close(fork);
}

/* With f16 weights products are in f32 however many rows there are. */
static void a_step_is_a_longer_prompt(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t i = 0; table && i < MODEL_COUNT; i++) {
            if (!strncmp(models[i].kind, "hici", 4))
                continue; /* which reads its first text as a whole */
            struct model *model = open_model(i, table, false);
            bool f16 = strcmp(model_facts(model)->type, "f16") == 0;
            check_forks(model, models[i].kind, f16 ? 1e-3 : 3e-2);
            model_close(model);
        }
    }
}

/* Summaries of rounded keys, and their room in the pages.  The shares of a prompt's
 * rows may be rounded to bf16, of those that choose from and those that see all in
 * other tiles. */
static void exact_sessions_read_as_full_ones(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        size_t compared = 0;
        for (size_t i = 0; table && i < 3; i++) {
            struct model *model = open_model(i, table, true);
            if (model_facts(model)->exact) { /* else no layer sees all */
                check_exact(model, 1e-2);
                compared++;
            }
            model_close(model);
        }
        assert_true(!table || compared > 0);
    }
}

/* ---- What is refused ---- */

static void other_pages_are_refused(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        struct kernel_run run = {.step = NULL};
        const int32_t none = 0;
        struct kernel_pages pages = {.slots = 4, .type = KERNEL_F16};
        struct kernel_summaries summaries = {.key_at = 0};
        struct kernel_hils z = {.m = 1,
                                .n = 4,
                                .hq = 1,
                                .hkv = 1,
                                .d = 4,
                                .chunk = 2,
                                .window = 2,
                                .top_k = 1};
        if (!table)
            continue;
        assert_int_equal(
            table->kv_write(&run, NULL, 0, 4, KERNEL_F16, NULL, 0, 1, 1, 4),
            KERNEL_UNSUPPORTED);
        assert_int_equal(
            table->attention(&run, NULL, NULL, &pages, 1, 4, 1, 1, 4, 0),
            KERNEL_UNSUPPORTED);
        /* nor summaries of another type than theirs */
        for (int type = KERNEL_F32; type <= KERNEL_F16; type++) {
            pages.type = type;
            summaries.type =
                type == KERNEL_F32 ? KERNEL_BF16 : type - KERNEL_BF16;
            assert_int_equal(table->chunk_summary(&run, &summaries, &pages, 0,
                                                  1, 2, 1, 1, 4),
                             KERNEL_UNSUPPORTED);
            assert_int_equal(table->hils_choose(&run, NULL, NULL, NULL, &pages,
                                                &summaries, &none, NULL, &z),
                             KERNEL_UNSUPPORTED);
            assert_int_equal(table->hils_attention(&run, NULL, NULL, NULL,
                                                   &pages, &summaries, &none,
                                                   NULL, &none, &z),
                             KERNEL_UNSUPPORTED);
        }
        summaries.type = KERNEL_F16;
        assert_int_equal(
            table->chunk_proxies(&run, &summaries, NULL, 0, 1, 1, 4),
            KERNEL_UNSUPPORTED);
        assert_int_equal(table->star_attention(&run, NULL, NULL, &pages, NULL,
                                               1, 4, 1, 1, 4, 2, 1),
                         KERNEL_UNSUPPORTED);
    }
    for (size_t b = 0; b < BACKENDS; b++) {
        struct kernel_run run = {.step = NULL};
        assert_false(backend(b)->bf16_pages);
        assert_int_equal(backend(b)->kv_write(&run, NULL, 0, 4, KERNEL_BF16,
                                              NULL, 0, 1, 1, 4),
                         KERNEL_UNSUPPORTED);
    }
}

static int begin(void **state)
{
    make_folder(state);
    return make_pool(state);
}

static int end(void **state)
{
    remove_folder(state);
    return end_pool(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_keys_give_the_logits),
        cmocka_unit_test(half_the_bytes_are_taken),
        cmocka_unit_test(pages_hold_the_keys),
        cmocka_unit_test(whole_weights_keep_whole_keys),
        cmocka_unit_test(a_step_is_a_longer_prompt),
        cmocka_unit_test(exact_sessions_read_as_full_ones),
        cmocka_unit_test(other_pages_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
