/* Rerankers, against transformers (tests/experiments/model/make_rerankers.py). */
#include "tests/unit/support/models.h"

#include "base/json.h"

enum { MOST = 8 };

static const struct {
    const char *pairs, *path;
} rerankers[] = {
    {MODELS "bert-rerank/pairs.json", MODELS "bert-rerank"},
    {MODELS "bert-rerank/pairs.json", "tests/golden/gguf/bert-rerank.gguf"},
    {MODELS "roberta-rerank/pairs.json", MODELS "roberta-rerank"},
    {MODELS "modernbert-rerank/pairs.json", MODELS "modernbert-rerank"},
    {MODELS "qwen3-rerank/pairs.json", MODELS "qwen3-rerank"},
    {MODELS "qwen3-rerank/pairs.json", "tests/golden/gguf/qwen3-rerank.gguf"},
};

struct pairs {
    struct score_input inputs[MOST];
    float scores[MOST];
    cJSON *json;
    size_t count;
};

static struct pairs read_pairs(const char *path)
{
    struct pairs pairs = {0};
    struct buf text = {0};
    const cJSON *item, *id;
    assert_int_equal(file_read(path, 1 << 20, &text, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&text), &pairs.json, NULL), 0);
    cJSON_ArrayForEach (item, pairs.json) {
        struct score_input *input = &pairs.inputs[pairs.count];
        assert_true(pairs.count < MOST);
        cJSON_ArrayForEach (id, cJSON_GetObjectItem(item, "ids"))
            ids_put(&input->ids, id->valueint);
        input->second = (size_t)json_get_int(item, "second", 0);
        pairs.scores[pairs.count++] =
            (float)json_get_double(item, "score", NAN);
    }
    buf_free(&text);
    return pairs;
}

static void free_pairs(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        ids_free(&pairs->inputs[i].ids);
    cJSON_Delete(pairs->json);
}

static struct model *open_reranker(size_t i, size_t b)
{
    struct err err = {0};
    struct model *model = NULL;
    if (try_open(rerankers[i].path, backend(b), &model, &err))
        fail_msg("%s: %s", rerankers[i].path, err.message);
    return model;
}

/* All in one pass, and each alone. */
static void scores_as_the_reference(void **state)
{
    float got[MOST], alone;
    (void)state;
    for (size_t i = 0; i < sizeof rerankers / sizeof rerankers[0]; i++)
        for (size_t b = 0; b < BACKENDS; b++) {
            struct pairs pairs = read_pairs(rerankers[i].pairs);
            struct model *model = open_reranker(i, b);
            assert_true(model_facts(model)->scores);
            assert_false(model_facts(model)->embeds);
            assert_false(model_facts(model)->writes);
            assert_int_equal(
                model_score(model, pairs.inputs, pairs.count, NULL, got, NULL),
                0);
            check_near(rerankers[i].path, got, pairs.scores, pairs.count, 1e-4);
            for (size_t p = 0; p < pairs.count; p++) {
                assert_int_equal(
                    model_score(model, &pairs.inputs[p], 1, NULL, &alone, NULL),
                    0);
                check_near("alone", &alone, &got[p], 1, 1e-5);
            }
            model_close(model);
            free_pairs(&pairs);
        }
}

/* As the texts are joined there; what is too long is cut. */
static void pairs_as_the_reference(void **state)
{
    struct pairs pairs = read_pairs(rerankers[0].pairs);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct model *model = open_reranker(i, 1);
        size_t context = model_facts(model)->context, p = 0;
        const cJSON *item;
        cJSON_ArrayForEach (item, pairs.json) {
            const struct score_input *wanted = &pairs.inputs[p++];
            struct score_input got;
            assert_int_equal(
                model_pair(model, slice_of(json_get_text(item, "question", "")),
                           slice_of(json_get_text(item, "passage", "")), &got,
                           NULL),
                0);
            assert_int_equal(got.second, wanted->second);
            assert_int_equal(got.ids.count, wanted->ids.count < context
                                                ? wanted->ids.count
                                                : context);
            assert_memory_equal(got.ids.items, wanted->ids.items,
                                (got.ids.count - 1) * sizeof *got.ids.items);
            ids_free(&got.ids);
        }
        char text[4001];
        struct score_input got;
        memset(text, 'a', 4000);
        for (size_t at = 1; at < 4000; at += 2)
            text[at] = ' ';
        text[4000] = '\0';
        assert_int_equal(
            model_pair(model, slice_of(text), slice_of(text), &got, NULL), 0);
        assert_int_equal(got.ids.count, context);
        assert_int_equal(got.second, context / 2 + 2);
        ids_free(&got.ids);
        model_close(model);
    }
    free_pairs(&pairs);
}

static size_t occurrences(const struct ids *ids, int32_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < ids->count; i++)
        count += ids->items[i] == id;
    return count;
}

/* A decoder's: the frame with both texts in it, which cannot end their parts of it;
 * of what is too long the frame's end stays. */
static void frames_as_the_reference(void **state)
{
    enum { FIRST = 4, END = 261 /* <|im_end|> */, LONG = 4000 };
    char text[LONG + 1];
    (void)state;
    memset(text, 'a', LONG);
    text[LONG] = '\0';
    for (size_t i = FIRST; i < FIRST + 2; i++) {
        struct pairs pairs = read_pairs(rerankers[i].pairs);
        struct model *model = open_reranker(i, 1);
        struct score_input got;
        size_t p = 0;
        const cJSON *item;
        cJSON_ArrayForEach (item, pairs.json) {
            const struct ids *wanted = &pairs.inputs[p++].ids;
            assert_int_equal(
                model_pair(model, slice_of(json_get_text(item, "question", "")),
                           slice_of(json_get_text(item, "passage", "")), &got,
                           NULL),
                0);
            assert_int_equal(got.ids.count, wanted->count);
            assert_memory_equal(got.ids.items, wanted->items,
                                wanted->count * sizeof *wanted->items);
            ids_free(&got.ids);
        }
        assert_int_equal(model_pair(model, slice_of("a"),
                                    slice_of("b<|im_end|>c<|im_start|>"), &got,
                                    NULL),
                         0);
        assert_int_equal(occurrences(&got.ids, END), 1);
        ids_free(&got.ids);
        assert_int_equal(
            model_pair(model, slice_of(text), slice_of(text), &got, NULL), 0);
        assert_int_equal(got.ids.count, model_facts(model)->context);
        assert_int_equal(occurrences(&got.ids, END), 1);
        assert_int_equal(got.second, got.ids.count / 2);
        ids_free(&got.ids);
        model_close(model);
        free_pairs(&pairs);
    }
}

static void decoders_need_a_frame(void **state)
{
    (void)state;
    save_edited("qwen3-rerank", "s/{document}/{text}/");
    REFUSED(ERR_FORMAT, "{query} and then {document}");
    save_edited("qwen3-rerank", "s/ForCausalLM/ForSequenceClassification/; "
                                "s/rerank_prompt/other/");
    REFUSED(ERR_FORMAT, "rerank_prompt");
    save_edited("qwen3-rerank", "s/\"rerank_prompt\"/\"rerank_words\": "
                                "[\"yes\"], &/");
    REFUSED(ERR_FORMAT, "rerank_words");
    save_edited("qwen3-rerank", "");
    assert_int_equal(unlink(in_folder("tokenizer.json")), 0);
    REFUSED(ERR_FORMAT, "needs a tokenizer");
}

static void others_do_not_score(void **state)
{
    struct pairs pairs = read_pairs(rerankers[0].pairs);
    struct model *model = open_kind("bert", kernels_cpu());
    struct err err = {0};
    float got[MOST];
    (void)state;
    assert_false(model_facts(model)->scores);
    assert_int_equal(
        model_score(model, pairs.inputs, pairs.count, NULL, got, &err),
        ERR_USAGE);
    model_close(model);
    model = open_reranker(0, 1);
    pairs.inputs[0].ids.items[0] = 4000;
    assert_int_equal(
        model_score(model, pairs.inputs, pairs.count, NULL, got, &err),
        ERR_USAGE);
    const struct embed_input input = {.ids = pairs.inputs[1].ids.items,
                                      .count = 2};
    assert_int_equal(model_embed(model, &input, 1, NULL, got, &err), ERR_USAGE);
    assert_non_null(strstr(err.message, "reranker"));
    model_close(model);
    free_pairs(&pairs);
    save_edited("bert-rerank",
                "s/\"0\": \"LABEL_0\"/\"0\": \"a\", \"1\": \"b\"/");
    REFUSED(ERR_FORMAT, "classifier of 2 labels");
    save_edited("modernbert-rerank", "s/\"mean\"/\"max\"/");
    REFUSED(ERR_FORMAT, "classifier_pooling \"max\"");
    save_edited("modernbert-rerank", "s/_activation\": \"gelu\"/_activation\": "
                                     "\"relu\"/");
    REFUSED(ERR_FORMAT, "\"relu\" is not supported");
    save_with("modernbert-rerank", "\"mlp_bias\": true");
    REFUSED(ERR_FORMAT, "\"mlp_bias\"");
}

static int make_all(void **state)
{
    int code = make_pool(state);
    return code ? code : make_model_folder(state);
}

static int end_all(void **state)
{
    remove_folder(state);
    return end_pool(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_as_the_reference),
        cmocka_unit_test(pairs_as_the_reference),
        cmocka_unit_test(frames_as_the_reference),
        cmocka_unit_test(decoders_need_a_frame),
        cmocka_unit_test(others_do_not_score),
    };
    return cmocka_run_group_tests(tests, make_all, end_all);
}
