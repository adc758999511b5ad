#include "tests/unit/support/unit.h"

#include <string.h>

#include "memory/lexical/operators.h"

/* Manuals that have the option -exec. */
static bool has_exec(void *context, struct slice term, struct slice written)
{
    (void)context;
    return slice_is(term, "=-exec") && slice_is(written, "-exec");
}

/* The operators as `+phrase`, `-"phrase"` and `-word`, then what is searched. */
static void assert_read(const char *query, const char *expected)
{
    struct query_operators operators;
    struct buf told = {0};
    operators_read(query, has_exec, NULL, &operators);
    for (size_t i = 0; i < operators.count; i++) {
        const struct query_operator *one = &operators.items[i];
        buf_printf(&told, one->exact ? "%c\"%s\" " : "%c%s ",
                   one->exclude ? '-' : '+', one->text);
    }
    buf_printf(&told, "| %s", operators.words);
    assert_string_equal(told.data, expected);
    buf_free(&told);
    operators_free(&operators);
}

static void quotes_make_phrases(void **state)
{
    (void)state;
    assert_read("plain words", "| plain words");
    assert_read("\"partial index\"", "+\"partial index\" | partial index");
    assert_read("create \"partial index\", now",
                "+\"partial index\" | create partial index , now");
    assert_read("\xE2\x80\x9Cpartial index\xE2\x80\x9D size",
                "+\"partial index\" | partial index size");
    assert_read("\"upsert\"", "+\"upsert\" | upsert");
    assert_read("\"upsert\" -\"on conflict\"",
                "+\"upsert\" -\"on conflict\" | upsert");
    assert_read("\"\"", "| \"\"");
}

static void pasted_quotes_are_words(void **state)
{
    static const char *const pasted[] = {
        "no entry for host \"10.1.2.3\", user \"app\", database \"prod\"",
        "relation \"users\" does not exist",
        "difference between \"$@\" and \"$*\"",
        "a 7\" or 9\" display",
        "set x=\"a b\" somewhere",
        "an open \"quotation mark",
    };
    (void)state;
    for (size_t i = 0; i < sizeof pasted / sizeof *pasted; i++) {
        struct query_operators operators;
        operators_read(pasted[i], NULL, NULL, &operators);
        assert_int_equal(operators.count, 0);
        assert_string_equal(operators.words, pasted[i]);
        operators_free(&operators);
    }
}

/* The end of a quotation is not sought all through the query for each that begins. */
static void open_quotes_cost_little(void **state)
{
    enum { QUOTES = 1 << 16 };
    (void)state;
    struct query_operators operators;
    struct buf text = {0};
    for (int i = 0; i < QUOTES; i++)
        buf_put_text(&text, "\xE2\x80\x9C"
                            "a ");
    double start = unit_seconds();
    operators_read(text.data, NULL, NULL, &operators);
    assert_true(unit_seconds() - start < 20);
    assert_int_equal(operators.count, 0);
    operators_free(&operators);
    buf_free(&text);
}

static void dashes_exclude_words(void **state)
{
    (void)state;
    assert_read("lock -table", "-table | lock");
    assert_read("lock -pg_locks modes", "-pg_locks | lock modes");
    assert_read("how do I lock it -\"advisory lock\"",
                "-\"advisory lock\" | how do I lock it");
}

static void words_that_join_exclude_no_less(void **state)
{
    (void)state;
    assert_read("table of contents in a pdf -latex",
                "-latex | table of contents in a pdf");
}

static void options_are_searched(void **state)
{
    static const char *const asked[] = {
        "what does -C do",
        "grep -v",
        "find -exec",
        "git commit --amend",
        "-table",
        "foo - bar",
        "a-b",
        "gcc -O2 -std=c17",
        "how do I use java -version",
        "tar -xf",
        "-1 -10",
    };
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct query_operators operators;
        operators_read(asked[i], has_exec, NULL, &operators);
        assert_int_equal(operators.count, 0);
        assert_string_equal(operators.words, asked[i]);
        operators_free(&operators);
    }
}

static void sentences_are_told_from_keywords(void **state)
{
    static const struct {
        const char *query;
        bool is;
    } cases[] = {
        {"how is a \"partial index\" made", true},
        {"keep \"no such name\" answers in the cache for a minute", true},
        {"httpd[31]: \"GET / HTTP/1.1\" 503", true},
        {"create \"partial index\" on a table", false},
        {"\"at least a minute of the cache\"", false},
        {"\"partial index\" unique", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct query_operators operators;
        operators_read(cases[i].query, NULL, NULL, &operators);
        assert_int_equal(operators.joined, cases[i].is);
        assert_int_equal(operators.count, 1);
        operators_free(&operators);
    }
}

static void only_so_many_are_kept(void **state)
{
    (void)state;
    struct query_operators operators;
    operators_read("x -aaa -bbb -ccc -ddd -eee -fff -ggg -hhh -iii", NULL, NULL,
                   &operators);
    assert_int_equal(operators.count, OPERATORS_MAX);
    assert_string_equal(operators.words, "x -iii");
    operators_free(&operators);
}

static bool holds(const char *text, const char *phrase)
{
    struct buf in = {0}, of = {0};
    phrase_fold(&in, slice_of(text));
    phrase_fold(&of, slice_of(phrase));
    bool is = phrase_is_in(buf_slice(&of), buf_slice(&in));
    buf_free(&in);
    buf_free(&of);
    return is;
}

static void phrases_stand_as_they_are(void **state)
{
    (void)state;
    assert_true(holds("A  Partial\n\tIndex, here", "partial index"));
    assert_true(holds("can\xE2\x80\x99t be", "can't be"));
    assert_true(holds("a zero\xE2\x80\x8Bwidth", "zerowidth"));
    assert_true(holds("impartial index; partial index", "partial index"));
    assert_true(holds("std::vector<int>", "vector<int>"));
    assert_true(holds("\xE6\x95\xB0\xE6\x8D\xAE\xE5\xBA\x93",
                      "\xE6\x8D\xAE\xE5\xBA\x93"));
    assert_false(holds("partial, index", "partial index"));
    assert_false(holds("partial indexes", "partial index"));
    assert_false(holds("impartial index", "partial index"));
    assert_false(holds("index partial", "partial index"));
    assert_false(holds("", "x"));
    assert_false(holds("x", ""));
}

static bool count(void *context, struct slice term, struct slice written)
{
    size_t *asked = context;
    (void)term;
    (void)written;
    return ++*asked;
}

/* To ask may mean to read sections. */
static void only_so_many_options_are_asked_for(void **state)
{
    struct query_operators operators;
    struct buf query = {0};
    size_t asked = 0;
    (void)state;
    buf_put_text(&query, "find");
    for (int i = 0; i < 1000; i++)
        buf_put_text(&query, " -exec");
    operators_read(query.data, count, &asked, &operators);
    assert_int_equal(asked, OPERATORS_MAX_ASKED);
    assert_int_equal(operators.count, 0);
    assert_string_equal(operators.words, query.data);
    operators_free(&operators);
    buf_free(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_make_phrases),
        cmocka_unit_test(pasted_quotes_are_words),
        cmocka_unit_test(open_quotes_cost_little),
        cmocka_unit_test(dashes_exclude_words),
        cmocka_unit_test(options_are_searched),
        cmocka_unit_test(sentences_are_told_from_keywords),
        cmocka_unit_test(words_that_join_exclude_no_less),
        cmocka_unit_test(only_so_many_are_kept),
        cmocka_unit_test(only_so_many_options_are_asked_for),
        cmocka_unit_test(phrases_stand_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
