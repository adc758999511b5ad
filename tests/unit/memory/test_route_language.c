/* Questions in another language than English. */
#include "memory/lexical/question_language.h"
#include "tests/unit/support/route_fixtures.h"

/* The subject is said alike in both languages; the English manual says it more. */
static const struct section german[] = {
    {TREE_NONE, "Handbuch", "", NONE, NONE},
    {0, "Pumpe", "die pumpe wird nicht warm oder sie werden ventile", NONE,
     NONE},
    {0, "Ventile", "die ventile werden nicht dicht und die pumpe wird laut",
     NONE, NONE},
};
static const struct section english[] = {
    {TREE_NONE, "Manual", "", NONE, NONE},
    {0, "Pumpe", "the pumpe and this pumpe are with ventile", NONE, NONE},
    {0, "Ventile", "the ventile and ventile are with pumpe and pumpe", NONE,
     NONE},
};

static void open_shelf(struct house *house)
{
    open_house(house);
    add_manual(house, "deutsch", german, COUNT(german));
    add_manual(house, "english", english, COUNT(english));
    open_snapshot(house);
}

static struct route_result ask(struct house *house, const char *text)
{
    struct route_request request = request_of(text, ROUTE_AUTO);
    return routed(house, &request);
}

static const char *first_manual(struct house *house, const char *text)
{
    struct route_result result = ask(house, text);
    const char *name = result.hits[0].view->manual.name;
    route_result_free(&result);
    return name;
}

static void a_manual_in_the_questions_language_comes_first(void **state)
{
    (void)state;
    struct house house;
    open_shelf(&house);
    assert_string_equal(first_manual(&house, "pumpe ventile"), "english");
    assert_string_equal(first_manual(&house, "the pumpe and its ventile"),
                        "english");
    assert_string_equal(
        first_manual(&house, "warum gibt es zu der pumpe keine ventile"),
        "deutsch");
    close_house(&house);
}

/* What all gain would lift the weaker beside the best, of which more were quoted. */
static void alone_a_manual_gains_nothing(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    add_manual(&house, "deutsch", german, COUNT(german));
    open_snapshot(&house);
    struct route_result plain = ask(&house, "which ventile dicht laut");
    struct route_result result = ask(&house, "warum ventile nicht dicht laut");
    assert_true(plain.count > 1 && result.count == plain.count);
    for (size_t i = 0; i < plain.count; i++)
        assert_float_equal(result.hits[i].score, plain.hits[i].score, 1e-9);
    route_result_free(&plain);
    route_result_free(&result);
    close_house(&house);
}

/* What a question in English lacks tells more than what another one does. */
static void another_language_is_refused_later(void **state)
{
    (void)state;
    struct house house;
    open_shelf(&house);
    struct route_result result =
        ask(&house, "warum werden die ventile der pumpe warm");
    assert_float_equal(result.confidence,
                       confidence_from(result.features, false), 1e-9);
    assert_true(result.confidence > confidence_from(result.features, true));
    route_result_free(&result);
    result = ask(&house, "why do the ventile of a pumpe leak");
    assert_float_equal(result.confidence,
                       confidence_from(result.features, true), 1e-9);
    route_result_free(&result);
    close_house(&house);
}

/* Keywords are in the language of all manuals asked, unless they have a word of
 * English's. */
static void keywords_are_in_the_manuals_language(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool english;
    } cases[] = {{"pumpe zeppelin", false}, {"which pumpe zeppelin", true}};
    struct house house;
    open_house(&house);
    add_manual(&house, "deutsch", german, COUNT(german));
    open_snapshot(&house);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct route_result result = ask(&house, cases[i].text);
        assert_float_equal(result.confidence,
                           confidence_from(result.features, cases[i].english),
                           1e-9);
        route_result_free(&result);
    }
    close_house(&house);
}

static const struct section japanese[] = {
    {TREE_NONE, "手引き", "", NONE, NONE},
    {0, "ポンプ", "ポンプを設定します。弁です。", NONE, NONE},
};

static void characters_tell_a_language_too(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool english;
    } cases[] = {{"ポンプの弁", false},
                 {"设定", false},
                 {"pump 弁", true},
                 {"why is it called ポンプ", true}};
    struct house house;
    open_house(&house);
    add_manual(&house, "nihongo", japanese, COUNT(japanese));
    add_manual(&house, "english", english, COUNT(english));
    open_snapshot(&house);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct route_result result = ask(&house, cases[i].text);
        assert_true(result.count || i == 1);
        if (result.count)
            assert_float_equal(
                result.confidence,
                confidence_from(result.features, cases[i].english), 1e-9);
        route_result_free(&result);
    }
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manual_in_the_questions_language_comes_first),
        cmocka_unit_test(alone_a_manual_gains_nothing),
        cmocka_unit_test(another_language_is_refused_later),
        cmocka_unit_test(keywords_are_in_the_manuals_language),
        cmocka_unit_test(characters_tell_a_language_too),
    };
    return cmocka_run_group_tests_name("route in other languages", tests, NULL,
                                       NULL);
}
