/* Weights of int8 and f16 as they are held: small models, written with their
 * matrices in these types, beside the same ones with every number written out in
 * f32. */
#include "tests/unit/support/models.h"

#include "base/buf.h"
#include "kernels/half.h"

enum { MAX_TENSORS = 160, IDS = 40 };

/* The tensors of a model with its matrices in another type, and what they are
 * in f32. */
struct written {
    struct tensor narrow[2 * MAX_TENSORS], wide[MAX_TENSORS];
    size_t narrow_count, wide_count, matrices;
    void *made[4 * MAX_TENSORS];
    size_t made_count;
};

static void *made(struct written *w, size_t bytes)
{
    assert_true(w->made_count < sizeof w->made / sizeof w->made[0]);
    return w->made[w->made_count++] = mem_alloc(bytes);
}

/* Matrices that are multiplied by, or whose rows are taken. */
static bool is_matrix(const struct tensor *t)
{
    const char *name = t->name.data;
    return t->rank == 2 && strstr(name, ".weight") &&
           !strstr(name, "position_embeddings") && !strstr(name, "token_type");
}

static void value_of(const struct tensor *t, size_t i, float *ret)
{
    uint16_t half;
    if (t->type == TENSOR_F32) {
        memcpy(ret, (const char *)t->data + i * sizeof *ret, sizeof *ret);
        return;
    }
    memcpy(&half, (const char *)t->data + i * sizeof half, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    if (t->type == TENSOR_F16)
        *ret = half_value(half);
    else
        memcpy(ret, &bits, sizeof bits);
}

/* One row to the nearest of 127 steps to either side. */
static float quantise_row(const struct tensor *t, size_t row, size_t k,
                          int8_t *to)
{
    float max = 0, x;
    for (size_t i = 0; i < k; i++) {
        value_of(t, row * k + i, &x);
        max = fmaxf(max, fabsf(x));
    }
    float scale = max > 0 ? max / 127 : 1;
    for (size_t i = 0; i < k; i++) {
        value_of(t, row * k + i, &x);
        to[i] = (int8_t)lrintf(x / scale);
    }
    return scale;
}

static void add_int8(struct written *w, const struct tensor *t)
{
    size_t n = t->shape[0], k = t->shape[1];
    int8_t *bytes = made(w, n * k);
    float *scale = made(w, n * sizeof *scale);
    float *wide = made(w, n * k * sizeof *wide);
    char *name = made(w, t->name.size + sizeof "_scale");
    for (size_t i = 0; i < n; i++) {
        scale[i] = quantise_row(t, i, k, bytes + i * k);
        for (size_t j = 0; j < k; j++)
            wide[i * k + j] = scale[i] * (float)bytes[i * k + j];
    }
    memcpy(name, t->name.data, t->name.size);
    memcpy(name + t->name.size, "_scale", sizeof "_scale");
    w->narrow[w->narrow_count++] =
        (struct tensor){t->name, TENSOR_I8, 2, {n, k}, bytes, n * k};
    w->narrow[w->narrow_count++] = (struct tensor){
        slice_of(name), TENSOR_F32, 1, {n}, scale, n * sizeof *scale};
    w->wide[w->wide_count++] = (struct tensor){
        t->name, TENSOR_F32, 2, {n, k}, wide, n * k * sizeof *wide};
}

static void add_f16(struct written *w, const struct tensor *t)
{
    size_t count = tensor_values(t);
    uint16_t *halves = made(w, count * sizeof *halves);
    float *wide = made(w, count * sizeof *wide), x;
    for (size_t i = 0; i < count; i++) {
        value_of(t, i, &x);
        halves[i] = half_of(x);
        wide[i] = half_value(halves[i]);
    }
    struct tensor narrow = *t, as_f32 = *t;
    narrow.type = TENSOR_F16;
    narrow.data = halves;
    narrow.bytes = count * sizeof *halves;
    as_f32.type = TENSOR_F32;
    as_f32.data = wide;
    as_f32.bytes = count * sizeof *wide;
    w->narrow[w->narrow_count++] = narrow;
    w->wide[w->wide_count++] = as_f32;
}

static void add_file(struct written *w, const struct safetensors *file,
                     int type)
{
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor *t = safetensors_at(file, i);
        assert_true(w->wide_count < MAX_TENSORS);
        w->matrices += is_matrix(t);
        if (!is_matrix(t))
            w->narrow[w->narrow_count++] = w->wide[w->wide_count++] = *t;
        else if (type == TENSOR_I8)
            add_int8(w, t);
        else
            add_f16(w, t);
    }
}

static void write_as(const char *name, const struct tensor *tensors,
                     size_t count)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s/model.safetensors", own_folder, name);
    assert_int_equal(safetensors_write(path, tensors, count, NULL, NULL), 0);
}

/* folder/narrow and folder/wide, of a golden model of one file or two. */
static void write_both(const char *kind, int type)
{
    struct written *w = mem_alloc(sizeof *w);
    struct safetensors *files[2] = {NULL};
    char text[1200];
    snprintf(text, sizeof text,
             "for d in narrow wide; do rm -rf '%s'/$d; "
             "cp -r " MODELS "%s '%s'/$d; rm '%s'/$d/*safetensors*; done",
             own_folder, kind, own_folder, own_folder);
    assert_int_equal(system(text), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, MODELS "%s/model-0000%d-of-00002.%s", kind,
                 i + 1, "safetensors");
        if (access(text, R_OK) && i == 0)
            snprintf(text, sizeof text, MODELS "%s/model.safetensors", kind);
        else if (access(text, R_OK))
            break;
        assert_int_equal(safetensors_open(text, &files[i], NULL), 0);
        add_file(w, files[i], type);
    }
    assert_true(w->matrices > 1);
    write_as("narrow", w->narrow, w->narrow_count);
    write_as("wide", w->wide, w->wide_count);
    for (size_t i = 0; i < w->made_count; i++)
        free(w->made[i]);
    safetensors_close(files[0]);
    safetensors_close(files[1]);
    free(w);
}

static void clear_folder(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'/*", own_folder);
    assert_int_equal(system(command), 0);
}

/* What the model says of some tokens: logits of 24 read at once and 16 one by
 * one, or the embedding; to be freed. */
static float *said(const char *name, const struct kernels *kernels,
                   const char *type, size_t *ret_count,
                   uint64_t *ret_parameters)
{
    char path[400];
    int32_t ids[IDS];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", own_folder, name);
    struct model *model = open_at(path, kernels, false, true);
    const struct model_facts *facts = model_facts(model);
    assert_string_equal(facts->type, type);
    *ret_parameters = facts->parameters;
    fill_ids(ids, IDS, facts->vocabulary, 7);
    *ret_count = facts->writes ? IDS * facts->vocabulary : facts->width;
    float *out = mem_alloc(*ret_count * sizeof *out);
    if (facts->writes) {
        session_close(read_all(model, ids, IDS, IDS - 24, out));
    } else {
        struct embed_input input = {.ids = ids, .count = IDS};
        if (model_embed(model, &input, 1, NULL, out, &err))
            fail_msg("%s", err.message);
    }
    model_close(model);
    return out;
}

/* The oracle reads the very numbers.  The processor multiplies int8 by integers
 * and what is summed up by the scale, so that it rounds elsewhere: with AVX-512,
 * unoptimised, by up to 2.3e-6 of the largest logit. */
static void check_kind(const char *kind, int type)
{
    static const char *const names[] = {
        [TENSOR_F16] = "f16", [TENSOR_I8] = "int8"};
    write_both(kind, type);
    for (size_t b = 0; b < BACKENDS; b++) {
        size_t count, as_many;
        uint64_t parameters, as_wide;
        float *narrow =
            said("narrow", backend(b), names[type], &count, &parameters);
        float *wide = said("wide", backend(b), "f32", &as_many, &as_wide);
        assert_int_equal(count, as_many);
        assert_int_equal(parameters, as_wide);
        if (b == 0)
            assert_memory_equal(narrow, wide, count * sizeof *wide);
        check_near(kind, narrow, wide, count, 5e-6);
        free(narrow);
        free(wide);
    }
}

static const char *const others[] = {"bert",        "embedder",  "hils-olmo",
                                     "hils-shared", "star-qwen", "hici-causal"};
enum { OTHERS = sizeof others / sizeof others[0] };

static void check_kinds(int type)
{
    for (size_t k = 0; k < DECODERS; k++)
        check_kind(decoders[k], type);
    for (size_t k = 0; k < OTHERS; k++)
        check_kind(others[k], type);
    clear_folder();
}

static void int8_is_its_numbers(void **state)
{
    (void)state;
    check_kinds(TENSOR_I8);
}

static void f16_is_its_numbers(void **state)
{
    (void)state;
    check_kinds(TENSOR_F16);
}

/* ---- What is refused ---- */

enum { NO_SCALE, SHORT_SCALE, HALF_SCALE, SCALE_OF_FLOATS, INT8_NORM };

static void write_wrong(int how)
{
    struct written *w = mem_alloc(sizeof *w);
    struct safetensors *file = NULL;
    assert_int_equal(
        safetensors_open(MODELS "memory/model.safetensors", &file, NULL), 0);
    add_file(w, file, TENSOR_I8);
    size_t count = 0;
    for (size_t i = 0; i < w->narrow_count; i++) {
        struct tensor t = w->narrow[i];
        bool scale = slice_is(t.name, "embed_tokens.weight_scale");
        if (scale && how == NO_SCALE)
            continue;
        if (scale && how == SHORT_SCALE)
            t.shape[0]--, t.bytes -= sizeof(float);
        if (scale && how == HALF_SCALE)
            t.type = TENSOR_F16, t.bytes /= 2;
        if (slice_is(t.name, "embed_tokens.weight") && how == SCALE_OF_FLOATS)
            t = w->wide[0],
            assert_true(slice_is(t.name, "embed_tokens.weight"));
        if (slice_is(t.name, "norm.weight") && how == INT8_NORM)
            t.type = TENSOR_I8, t.bytes = t.shape[0];
        w->narrow[count++] = t;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"),
                                       w->narrow, count, NULL, NULL),
                     0);
    safetensors_close(file);
    for (size_t i = 0; i < w->made_count; i++)
        free(w->made[i]);
    free(w);
}

static void wrong_scales_are_named(void **state)
{
    (void)state;
    static const char *const says[] = {
        [NO_SCALE] = "missing embed_tokens.weight_scale",
        [SHORT_SCALE] = "misshapen embed_tokens.weight_scale [607] (not [608])",
        [HALF_SCALE] = "not of f32 embed_tokens.weight_scale",
        [SCALE_OF_FLOATS] = "not known embed_tokens.weight_scale",
        [INT8_NORM] = "of another type norm.weight",
    };
    for (int how = NO_SCALE; how <= INT8_NORM; how++) {
        write_wrong(how);
        REFUSED(ERR_FORMAT, says[how]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(int8_is_its_numbers, make_model_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(f16_is_its_numbers, make_model_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(wrong_scales_are_named,
                                        make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
