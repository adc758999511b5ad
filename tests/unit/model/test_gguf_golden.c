/* Small GGUF files of families that have no folders, and of tokenizers, against
 * the libraries that they come from (tests/experiments/model/make_gguf.py). */
#include "tests/unit/support/models.h"

#include "base/gguf.h"
#include "tests/cuda/emulated.h"
#include "base/json.h"
#include "model/tokenizer/tokenizer.h"

#define FILES "tests/golden/gguf/"

static const char *path_of(const char *name, const char *end)
{
    static char path[128];
    snprintf(path, sizeof path, FILES "%s.%s", name, end);
    return path;
}

static struct safetensors *open_said(const char *name)
{
    struct safetensors *file = NULL;
    assert_int_equal(
        safetensors_open(path_of(name, "safetensors"), &file, NULL), 0);
    return file;
}

/* ---- Embedding ---- */

enum { INPUTS = 4 };

struct inputs {
    struct embed_input inputs[INPUTS];
    int32_t *ids[INPUTS];
    float *wanted[INPUTS];
};

static void read_inputs(const char *name, struct inputs *ret)
{
    struct safetensors *file = open_said(name);
    char key[32];
    for (size_t i = 0; i < INPUTS; i++) {
        snprintf(key, sizeof key, "ids.%zu", i);
        ret->ids[i] = golden(file, key);
        ret->inputs[i] = (struct embed_input){
            .ids = ret->ids[i],
            .count = tensor_values(safetensors_find(file, key))};
        snprintf(key, sizeof key, "embedding.%zu", i);
        ret->wanted[i] = golden(file, key);
    }
    safetensors_close(file);
}

static void free_inputs(struct inputs *inputs)
{
    for (size_t i = 0; i < INPUTS; i++) {
        free(inputs->ids[i]);
        free(inputs->wanted[i]);
    }
}

/* The processor's tables, and the device's by emulation where that runs. */
enum { TABLES = BACKENDS + 1 };
static const struct kernels *table_of(size_t b)
{
    const char *reason;
    return b < BACKENDS ? backend(b) : kernels_emulated(&reason);
}

static void check_embedder(const char *name, size_t b, const char *pooling,
                           const char *query, const char *passage)
{
    struct inputs in;
    struct model *model =
        open_at(path_of(name, "gguf"), table_of(b), false, true);
    const struct model_facts *facts = model_facts(model);
    float *got = mem_alloc(INPUTS * facts->width * sizeof *got);
    read_inputs(name, &in);
    assert_string_equal(facts->pooling, pooling);
    assert_false(facts->writes);
    assert_true(facts->embeds);
    if (query)
        assert_non_null(strstr(facts->query_prefix, query));
    else
        assert_null(facts->query_prefix);
    if (passage)
        assert_string_equal(facts->passage_prefix, passage);
    else
        assert_null(facts->passage_prefix);
    assert_int_equal(model_embed(model, in.inputs, INPUTS, NULL, got, NULL), 0);
    for (size_t i = 0; i < INPUTS; i++)
        check_near(name, got + i * facts->width, in.wanted[i], facts->width,
                   1e-4);
    free(got);
    free_inputs(&in);
    model_close(model);
}

static void embeds_as_the_reference(void **state)
{
    (void)state;
    for (size_t b = 0; b < TABLES && table_of(b); b++) {
        check_embedder("bert", b, "first", NULL, NULL);
        check_embedder("nomic-bert", b, "mean",
                       "search_query: ", "search_document: ");
        check_embedder("qwen3", b, "last", "\nQuery:", NULL);
        check_embedder("gemma-embedding", b, "mean",
                       "task: search result | query: ", "title: none | text: ");
    }
}

/* A file whose pooling is that of a reranker, but does not say what it reads, and one
 * of a kind that is not known. */
static void other_poolings_are_refused(void **state)
{
    static const char key[] = "qwen3.pooling_type";
    struct model_options options = {.kernels = kernels_ref(),
                                    .no_tokenizer = true};
    struct model *model = NULL;
    struct buf file = {0};
    struct err err = {0};
    char path[300];
    (void)state;
    assert_int_equal(file_read(path_of("qwen3", "gguf"), 1 << 20, &file, NULL),
                     0);
    char *at = memmem(file.data, file.size, key, sizeof key - 1);
    assert_non_null(at);
    const char *own = unit_folder();
    snprintf(path, sizeof path, "%s/x.gguf", own);
    for (char kind = 4; kind < 6; kind++) {
        at[sizeof key - 1 + 4] = kind; /* behind its type */
        assert_int_equal(file_write(path, buf_slice(&file), NULL), 0);
        assert_int_equal(model_open(path, &options, &model, &err), ERR_FORMAT);
        assert_non_null(strstr(
            err.message, kind == 4 ? "tokenizer.chat_template.rerank" : key));
        assert_null(model);
    }
    unit_folder_remove(own);
    buf_free(&file);
}

/* ---- Writing ---- */

static void writes_as_the_reference(void **state)
{
    static const size_t decodes[] = {0, 1, 20};
    struct safetensors *file = open_said("gemma3");
    size_t count = tensor_values(safetensors_find(file, "ids"));
    int32_t *ids = golden(file, "ids");
    float *logits = golden(file, "logits");
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model =
            open_at(path_of("gemma3", "gguf"), backend(b), false, true);
        for (size_t w = 0; w < sizeof decodes / sizeof decodes[0]; w++)
            check_logits(model, ids, count, decodes[w], logits, 1e-4);
        model_close(model);
    }
    free(ids);
    free(logits);
    safetensors_close(file);
}

/* ---- Tokenizers ---- */

static struct tokenizer *open_tokenizer(const char *name)
{
    struct tokenizer *tokenizer = NULL;
    struct gguf *gguf = NULL;
    struct err err = {0};
    assert_int_equal(gguf_open(path_of(name, "gguf"), &gguf, NULL), 0);
    if (tokenizer_of_gguf(gguf, &tokenizer, &err))
        fail_msg("%s: %s", name, err.message);
    gguf_close(gguf);
    return tokenizer;
}

static void check_ids(const struct tokenizer *tokenizer, const cJSON *text)
{
    struct ids ids = {0};
    const cJSON *id;
    size_t i = 0;
    assert_int_equal(
        tokenizer_encode(tokenizer, slice_of(text->string), true, &ids, NULL),
        0);
    cJSON_ArrayForEach (id, text) {
        if (i >= ids.count || ids.items[i] != id->valueint)
            fail_msg("\"%s\": token %zu is %d, not %d", text->string, i,
                     i < ids.count ? ids.items[i] : -1, id->valueint);
        i++;
    }
    assert_int_equal(ids.count, i);
    ids_free(&ids);
}

static void same_ids_as_sentencepiece(void **state)
{
    static const char *const names[] = {"sentencepiece", "unigram"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tokenizer *tokenizer = open_tokenizer(names[i]);
        struct buf text = {0};
        cJSON *json;
        const cJSON *item;
        assert_int_equal(
            file_read(path_of(names[i], "json"), 1 << 20, &text, NULL), 0);
        assert_int_equal(json_parse(buf_slice(&text), &json, NULL), 0);
        cJSON_ArrayForEach (item, json)
            check_ids(tokenizer, item);
        cJSON_Delete(json);
        buf_free(&text);
        tokenizer_close(tokenizer);
    }
}

/* What is read is written again, bytes of rare characters too. */
static void text_comes_back(void **state)
{
    static const char text[] = " two  spaces\n\xE4\xB8\xAD\xF0\x9F\x98\x80 end";
    struct tokenizer *tokenizer = open_tokenizer("sentencepiece");
    struct ids ids = {0};
    struct buf back = {0};
    (void)state;
    tokenizer_encode(tokenizer, slice_of(text), true, &ids, NULL);
    tokenizer_decode(tokenizer, ids.items, ids.count, false, &back);
    assert_string_equal(back.data, text);
    ids_free(&ids);
    buf_free(&back);
    tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeds_as_the_reference),
        cmocka_unit_test(writes_as_the_reference),
        cmocka_unit_test(other_poolings_are_refused),
        cmocka_unit_test(same_ids_as_sentencepiece),
        cmocka_unit_test(text_comes_back),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
