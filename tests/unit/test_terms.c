#include "tests/unit/unit.h"

#include <string.h>

#include "memory/lexical.h"
#include "memory/terms.h"

static void note(void *context, const struct term_at *at)
{
    struct buf *out = context;
    if (out->size)
        buf_put_byte(out, ' ');
    buf_put_slice(out, at->term);
}

static void assert_terms(const char *text, const char *expected)
{
    struct term_maker *maker = term_maker_new();
    struct buf out = {0};
    buf_put_text(&out, "");
    terms_of(maker, slice_of(text), note, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    term_maker_free(maker);
}

static void words_become_stems(void **state)
{
    (void)state;
    assert_terms("Indexes, indexing; indexed.", "index index index");
    assert_terms("", "");
    assert_terms(" .,; ()", "");
    assert_terms("\xC3\x84pfel 42", "\xC3\xA4pfel 42");
}

static void identifiers_stay_whole_and_in_parts(void **state)
{
    (void)state;
    assert_terms("pg_stat_activity", "=pg_stat_activity pg stat activ");
    assert_terms("(SQLITE_BUSY)", "=sqlite_busy sqlite busi");
    assert_terms("--no-verify,", "=--no-verify no verifi");
    assert_terms("foo.bar()", "=foo.bar foo bar");
    assert_terms("a::b", "=a::b a b");
    assert_terms("findOrphans", "=findorphans findorphan find orphan");
    assert_terms("PostgreSQL GiST", "postgresql gist");
    assert_terms(".pgpass", "=.pgpass pgpass");
    assert_terms("role_\xE2\x80\x8B"
                 "name",
                 "=role_name role name");
    assert_terms("x :: y", "x =:: y");
}

static void long_terms_are_cut(void **state)
{
    (void)state;
    struct buf text = {0}, expected = {0};
    for (int i = 0; i < 300; i++)
        buf_put_text(&text, "\xC3\xA4");
    for (int i = 0; i < TERM_MOST / 2; i++)
        buf_put_text(&expected, "\xC3\xA4");
    assert_terms(text.data, expected.data);
    buf_free(&text);
    buf_free(&expected);
}

static void assert_query(const char *text, const char *expected)
{
    struct query query;
    struct buf out = {0};
    buf_put_text(&out, "");
    query_parse(text, &query);
    for (size_t i = 0; i < query.count; i++)
        buf_printf(&out, i ? " %s" : "%s", query.terms[i].term);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    query_free(&query);
}

static void questions_lose_their_stop_words(void **state)
{
    (void)state;
    assert_query("How do I create an index?", "creat index");
    assert_query("who is it", "who is it");
    assert_query("What does NOT IN do?", "not in");
    assert_query("set work_mem", "set =work_mem work mem");
    assert_query("", "");
}

static void stop_words_are_found(void **state)
{
    (void)state;
    assert_true(term_is_stop_word(slice_of("a")));
    assert_true(term_is_stop_word(slice_of("your")));
    assert_true(term_is_stop_word(slice_of("how")));
    assert_false(term_is_stop_word(slice_of("index")));
    assert_false(term_is_stop_word(slice_of("")));
    assert_false(term_is_stop_word(slice_of("yours")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_become_stems),
        cmocka_unit_test(identifiers_stay_whole_and_in_parts),
        cmocka_unit_test(long_terms_are_cut),
        cmocka_unit_test(questions_lose_their_stop_words),
        cmocka_unit_test(stop_words_are_found),
    };
    return cmocka_run_group_tests_name("terms", tests, NULL, NULL);
}
