/* The match of a question with sections, piece by piece. */
#include <math.h>

#include "memory/embeddings/pieces.h"
#include "tests/unit/support/route_fixtures.h"

/* A model of four words: each has a vector, and a length of it. */
enum { OTHER, VALVE, LEAK, DRIP };
static const char *const words[] = {"", "valve", "leak", "drip"};
static const float vectors[][WIDTH] = {
    {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0.8F, 0.6F, 0}};
static const float lengths[] = {0.1F, 1, 3, 1};

static int facts(void *context, struct embedder_facts *ret, struct err *err)
{
    (void)context;
    (void)err;
    *ret = (struct embedder_facts){
        .width = WIDTH, .context = 2, .tokens = 4, .embeds = true, .bag = true};
    return 0;
}

static int tokenize(void *context, struct slice text, struct embed_ids *ids,
                    struct err *err)
{
    (void)err;
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        while (at < text.size && !strchr(" \n", text.data[at]))
            at++;
        struct slice word = {text.data + from, at++ - from};
        if (!word.size)
            continue;
        MEM_RESERVE(ids->ids, &ids->capacity, ids->count + 1);
        ids->ids[ids->count] = OTHER;
        for (int32_t id = VALVE; id <= DRIP; id++)
            if (slice_is(word, words[id]))
                ids->ids[ids->count] = id;
        ids->count++;
    }
    return *(int *)context;
}

static int embed(void *context, const struct embed_text *texts, size_t count,
                 float *ret, struct err *err)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].count > 2)
            return err_set(err, ERR_LIMIT, "longer than the context");
        for (size_t t = 0; t < texts[i].count; t++) {
            int32_t id = texts[i].ids[t];
            memcpy(texts[i].ret_tokens + t * WIDTH, vectors[id],
                   sizeof vectors[id]);
            texts[i].ret_lengths[t] = lengths[id];
        }
    }
    memset(ret, 0, count * WIDTH * sizeof *ret);
    return 0;
}

/* It fails where *fails is not 0. */
static struct embedder model_that(int *fails)
{
    return (struct embedder){
        .context = fails, .facts = facts, .tokenize = tokenize, .embed = embed};
}

#define APART                                                                  \
    "so it is said here of that which one sees in it and in all of them who "  \
    "are there too or not and of what they do or have done so far with it as " \
    "ever it was"

static const struct section plant[] = {
    {TREE_NONE, "Plant", "", NONE, NONE},
    {0, "One", "valve valve valve valve and more", NONE, NONE},
    {0, "Two", "valve " APART " " APART " drip", NONE, NONE},
    {0, "Three", "valve of a drip and " APART, NONE, NONE},
    {0, "drip", "valve " APART, NONE, NONE},
};

static void assert_match(const struct route_result *result, const char *title,
                         double expected)
{
    const struct route_hit *hit = hit_of(result, title);
    assert_true(fabs(hit->pieces.score - expected) < 1e-6);
}

/* Not in other modes, with weights of one's own, or while a question is being typed. */
static void assert_not_compared(struct house *house,
                                const struct route_request *request,
                                const struct route_result *without)
{
    for (int i = 0; i < 3; i++) {
        struct route_request other = *request;
        if (i == 0)
            other.mode = ROUTE_LEXICAL;
        other.weights = i == 1 ? &without->weights : NULL;
        other.typing = i == 2;
        struct route_result result = routed(house, &other);
        assert_true(result.count > 1);
        assert_int_equal(result.hits[0].pieces.rank, 0);
        route_result_free(&result);
    }
}

/* "Leak" weighs three times what "valve" does, and more as three of the sections have
 * "valve", and none more of "leak" than "drip", which is near it by .8: where both stand in
 * one window, or one of them in the title.  A later window loses .01 for each before. */
static void the_nearest_pieces_decide(void **state)
{
    (void)state;
    struct house house;
    int fails = 0;
    const struct embedder model = model_that(&fails);
    open_house(&house);
    put_texts(&house, add_manual(&house, "plant", plant, COUNT(plant)), plant,
              COUNT(plant));
    open_snapshot(&house);
    struct route_request request = request_of("valve leak", ROUTE_AUTO);
    struct route_result without = routed(&house, &request);
    assert_string_equal(title_of(without.hits[0].view, without.hits[0].node),
                        "One");
    assert_int_equal(pieces_new(&model, &request.pieces, NULL), 0);
    struct route_result with = routed(&house, &request);
    double valve = 0.25 * (1.15 - 3.0 / 4), leak = 0.75 * (1.15 - 2.4 / 4);
    double all = valve + leak;
    assert_match(&with, "One", valve / all);
    assert_match(&with, "Two", leak / all * 0.8 - 3 * 0.01);
    assert_match(&with, "Three", (valve + leak * 0.8) / all);
    assert_match(&with, "drip", (valve + leak * 0.8) / all);
    assert_int_equal(with.count, without.count);
    assert_int_equal(with.hits[0].pieces.rank, 1);
    assert_true(hit_of(&with, "Three") < with.hits + 2);
    assert_true(hit_of(&with, "drip") < with.hits + 2);
    for (size_t i = 0; i < with.count; i++)
        assert_true(with.hits[i].score >= without.hits[i].score &&
                    with.hits[i].score <= without.hits[i].score);
    route_result_free(&with);
    /* Pieces of the question before count .3 of its own: four that all sections have. */
    static const char *const before[] = {"what of the plant"};
    struct route_context context = {
        .questions = before, .question_count = 1, .names = true};
    request.context = &context;
    with = routed(&house, &request);
    double other = 0.25 * 0.3 * 4 * 0.1 * (1.15 - 1);
    valve = 0.25 * (1.15 - 3.0 / 5), leak = 0.75 * (1.15 - 2.4 / 5);
    assert_int_equal(with.count, without.count + 1); /* the plant itself */
    assert_match(&with, "One", (valve + other) / (valve + leak + other));
    route_result_free(&with);
    request.context = NULL;
    assert_not_compared(&house, &request, &without);
    fails = ERR_MODEL; /* the order is that of before */
    with = routed(&house, &request);
    assert_int_equal(with.hits[0].node, without.hits[0].node);
    assert_int_equal(with.hits[0].pieces.rank, 0);
    route_result_free(&with);
    route_result_free(&without);
    pieces_unref(request.pieces);
    close_house(&house);
}

/* Five pieces in a row and more, of half the question's weight. */
static void what_is_pasted_counts_besides(void **state)
{
    static const struct section sections[] = {
        {TREE_NONE, "Plant", "", NONE, NONE},
        {0, "Much",
         "leak valve leak drip valve leak valve drip leak drip valve", NONE,
         NONE},
        {0, "Four", "of it valve drip leak valve or leak", NONE, NONE},
        {0, "Pasted", "it said valve drip leak valve leak and then " APART,
         NONE, NONE},
        {0, "Light", APART " drip valve", NONE, NONE},
    };
    static const struct {
        const char *question, *pasted; /* NULL: none is */
        const char *before;            /* which it follows up; NULL: none */
    } cases[] = {
        {"valve drip leak valve leak", "Pasted", NULL},
        {"valve drip leak valve leak leak", "Pasted", NULL},
        {"leak valve leak valve drip", NULL, NULL},
        /* Seven light words in a row. */
        {"which one sees in it and in valve leak", NULL, NULL},
        /* Of a question before, not of one that goes on with it. */
        {"valve drip", NULL, "leak valve leak"},
        {"drip", "Pasted", "valve drip leak valve leak"},
    };
    (void)state;
    struct house house;
    int fails = 0;
    const struct embedder model = model_that(&fails);
    open_house(&house);
    put_texts(&house, add_manual(&house, "plant", sections, COUNT(sections)),
              sections, COUNT(sections));
    open_snapshot(&house);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct route_request request =
            request_of(cases[i].question, ROUTE_AUTO);
        struct route_context context = {.questions = &cases[i].before,
                                        .question_count = 1};
        request.context = cases[i].before ? &context : NULL;
        assert_int_equal(pieces_new(&model, &request.pieces, NULL), 0);
        struct route_result result = routed(&house, &request);
        assert_true(result.count > 1);
        assert_true(!cases[i].pasted ||
                    hit_of(&result, cases[i].pasted) == result.hits);
        for (size_t k = 0; k < result.count; k++)
            assert_int_equal(result.hits[k].pieces.score > 1.01,
                             cases[i].pasted && !k);
        route_result_free(&result);
        pieces_unref(request.pieces);
    }
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_pieces_decide),
        cmocka_unit_test(what_is_pasted_counts_besides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
