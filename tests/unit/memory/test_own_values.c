#include "tests/unit/support/unit.h"

#include "memory/lexical/lexical.h"
#include "memory/lexical/own_values.h"

static void values_are_told_from_names(void **state)
{
    (void)state;
    static const char *const values[] = {"/mnt/backup/repo",
                                         "~/notes/a.tex",
                                         "./build/main.o",
                                         "../up/one.c",
                                         "c:\\users\\bob",
                                         "http://localhost:8080/admin",
                                         "bob@example.com",
                                         "ups1@localhost",
                                         "mail.example.org",
                                         "a.b.net",
                                         "gw.plant.local:502",
                                         "named[812",
                                         "192.168.1.17",
                                         "198.51.100.7#51324",
                                         "2024-03-04",
                                         "10:11:12",
                                         "2024-03-04t10:11:12.5z",
                                         "5.7.1"};
    static const char *const names[] = {"/etc",
                                        "/etc/",
                                        "~/notes/",
                                        "./configure",
                                        "read/write",
                                        "pg_hba.conf",
                                        "std::vector",
                                        "django.db.utils",
                                        "--all",
                                        "@media",
                                        "c++",
                                        "system.net",
                                        "a[i]",
                                        "x->next",
                                        "main.tex",
                                        "create/acquire",
                                        "example.comparisons",
                                        "systemd-boot",
                                        "utf-8",
                                        "[812"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!is_own_value(values[i]))
            fail_msg("%s is a value", values[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_own_value(names[i]))
            fail_msg("%s is a name", names[i]);
}

/* Manuals have these in examples, and "/etc/passwd" and "127.0.0.1" because they are
 * about them. */
static void examples_are_about_nothing(void **state)
{
    (void)state;
    assert_true(is_example_value("example.com/a/in"));
    assert_true(is_example_value("www.example.net"));
    assert_true(is_example_value("ups1@localhost"));
    assert_true(is_example_value("192.0.2.1:80"));
    assert_true(is_example_value("172.16.0.1"));
    assert_true(is_example_value("172.31.255.254:5432"));
    assert_false(is_example_value("172.32.0.1"));
    assert_false(is_example_value("172.1.16.1"));
    assert_false(is_example_value("user@.service")); /* systemd's */
    assert_false(is_example_value("\\@ifnextchar"));
    assert_false(is_own_value("\\if@twocolumn"));
    assert_false(is_example_value("counterexample.com"));
    assert_false(is_example_value("127.0.0.1"));
    assert_false(is_example_value("10.4.1"));
    assert_false(is_example_value("/etc/passwd"));
}

static void what_a_value_is_called_tells(void **state)
{
    (void)state;
    static const struct {
        const char *value, *word;
        bool tells;
    } cases[] = {{"/mnt/backup/lock.exclusive", "lock", true},
                 {"/mnt/backup/lock.exclusive", "backup", false},
                 {"http://localhost:8080/admin", "admin", true},
                 {"http://localhost:8080", "localhost", false},
                 {"/mnt/backup/repo/", "repo", true},
                 {"/mnt/backup/repo/", "backup", false},
                 {"http://localhost:8080/admin/", "admin", true},
                 {"http://localhost:8080/", "localhost", false},
                 {"c:\\users\\bob\\", "bob", true},
                 {"named[812", "named", true},
                 {"named[812", "812", false},
                 {"c:\\users\\bob", "bob", true},
                 {"c:\\users\\bob", "users", false},
                 {"bob@example.com", "bob", false},
                 {"192.168.1.17", "192", false},
                 {"bob@example.com", "email", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (own_value_tells(cases[i].value, cases[i].word) != cases[i].tells)
            fail_msg("%s of %s", cases[i].word, cases[i].value);
}

static void amounts_are_told_from_codes(void **state)
{
    (void)state;
    static const char *const amounts[] = {"812", "1x6", "512mb",
                                          "30s", "0ms", "0x7f2c"};
    static const char *const words[] = {"42p01", "2fa", "x6",
                                        "3d",    "2x",  "op1"};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!is_quantity(amounts[i]))
            fail_msg("%s is an amount", amounts[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_quantity(words[i]))
            fail_msg("%s is a word", words[i]);
}

static double weight_of(const struct query *query, const char *term)
{
    int t = query_find(query, slice_of(term));
    assert_true(t >= 0);
    return query->terms[t].weight;
}

static void a_word_that_also_stands_by_itself_counts(void **state)
{
    (void)state;
    struct query query;
    query_parse("cannot lock /srv/backup/repo after a backup", &query);
    for (size_t t = 0; t < query.count; t++)
        query.terms[t].nodes = query.terms[t].whole ? 0 : 9;
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "backup") >= 1);
    assert_true(weight_of(&query, "srv") < 0.5);
    query_free(&query);
}

/* "backup" and "repo" of a path that no manual has would lead to any section that
 * mounts a backup. */
static void words_of_a_value_count_less(void **state)
{
    (void)state;
    struct query query;
    query_parse("cannot lock /srv/backup/lock.exclusive for bob@example.com",
                &query);
    for (size_t t = 0; t < query.count; t++)
        query.terms[t].nodes = query.terms[t].whole ? 0 : 9;
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "exclus") >= 1);
    assert_true(weight_of(&query, "srv") < 0.5);
    assert_true(weight_of(&query, "backup") < 0.5);
    assert_true(weight_of(&query, "bob") < 0.5);
    query_free(&query);
}

static void paths_of_drives_count_so(void **state)
{
    (void)state;
    struct query query;
    query_parse("cannot lock C:\\srv\\backup\\lock.exclusive", &query);
    for (size_t t = 0; t < query.count; t++)
        query.terms[t].nodes = query.terms[t].whole ? 0 : 9;
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "exclus") >= 1);
    assert_true(weight_of(&query, "backup") < 0.5);
    query_free(&query);
}

static void an_example_counts_less_though_it_is_known(void **state)
{
    (void)state;
    struct query query;
    query_parse("ups1@localhost /etc/passwd", &query);
    for (size_t t = 0; t < query.count; t++)
        query.terms[t].nodes = 2;
    query_weigh(&query, 1000, 200);
    assert_true(weight_of(&query, "=ups1@localhost") < 0.5);
    assert_true(weight_of(&query, "=/etc/passwd") >= 1);
    query_free(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_told_from_names),
        cmocka_unit_test(examples_are_about_nothing),
        cmocka_unit_test(what_a_value_is_called_tells),
        cmocka_unit_test(amounts_are_told_from_codes),
        cmocka_unit_test(words_of_a_value_count_less),
        cmocka_unit_test(paths_of_drives_count_so),
        cmocka_unit_test(a_word_that_also_stands_by_itself_counts),
        cmocka_unit_test(an_example_counts_less_though_it_is_known)};
    return cmocka_run_group_tests_name("own values", tests, NULL, NULL);
}
