#include "tests/unit/support/unit.h"

#include <string.h>

#include "daemon/grep/grep_pattern.h"
#include "daemon/grep/grep_text.h"

static struct grep_pattern *compiled(const char *source, bool ignore_case)
{
    struct grep_pattern *pattern;
    assert_int_equal(
        grep_pattern_compile(slice_of(source), ignore_case, &pattern, NULL), 0);
    return pattern;
}

/* Its first match as "from-to", "-" where there is none, "!" where it gave up. */
static void assert_match(const char *source, const char *text,
                         const char *expected)
{
    struct grep_pattern *pattern = compiled(source, false);
    size_t start, end;
    char told[64] = "-";
    enum grep_found found =
        grep_pattern_next(pattern, slice_of(text), 0, &start, &end);
    if (found == GREP_FOUND)
        snprintf(told, sizeof told, "%zu-%zu", start, end);
    else if (found == GREP_GIVEN_UP)
        snprintf(told, sizeof told, "!");
    assert_string_equal(told, expected);
    grep_pattern_free(pattern);
}

static void expressions_match(void **state)
{
    (void)state;
    assert_match("serializ\\w+", "a serialization", "2-15");
    assert_match("--[a-z-]+", "use --force-with-lease", "4-22");
    assert_match("^b", "a\nb", "2-3");
    assert_match("a.b", "a\nb", "-");
    assert_match("a\\s+b", "a\n b", "0-4");
    assert_match("\\bge",
                 "\xC3\xBC"
                 "ge ge",
                 "5-7");
    assert_match("x*", "abc", "-"); /* what is empty is not shown */
    assert_match("x*", "abxx", "2-4");
    assert_match("a\\Kb", "ab", "1-2");
}

static void case_counts_unless_told(void **state)
{
    (void)state;
    size_t start, end;
    struct grep_pattern *pattern = compiled("\xC3\xA4"
                                            "b",
                                            true);
    assert_int_equal(grep_pattern_next(pattern,
                                       slice_of("\xC3\x84"
                                                "B"),
                                       0, &start, &end),
                     GREP_FOUND);
    assert_int_equal(end, 3);
    grep_pattern_free(pattern);
    assert_match("ab", "AB", "-");
}

static void what_is_no_utf8_does_no_harm(void **state)
{
    (void)state;
    assert_match("b",
                 "\xFF\xC3"
                 "b",
                 "2-3");
    assert_match(".b",
                 "\xFF"
                 "b",
                 "-");
}

static void bad_patterns_are_told_with_their_place(void **state)
{
    static const struct {
        const char *source;
        int64_t position;
    } bad[] = {{"a(b", 3}, {"[z", 2}, {"a{2,1}", 5}, {"\\C", 2}, {"*", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct grep_pattern *pattern = NULL;
        struct err err = {.position = -1};
        assert_int_equal(grep_pattern_compile(slice_of(bad[i].source), false,
                                              &pattern, &err),
                         ERR_USAGE);
        assert_null(pattern);
        assert_int_equal(err.position, bad[i].position);
    }
}

static void patterns_are_bounded(void **state)
{
    (void)state;
    struct grep_pattern *pattern = NULL;
    char *longest = calloc(4098, 1);
    memset(longest, 'a', 4097);
    assert_int_equal(
        grep_pattern_compile(slice_of(longest), false, &pattern, NULL),
        ERR_LIMIT);
    longest[4096] = '\0';
    assert_int_equal(
        grep_pattern_compile(slice_of(longest), false, &pattern, NULL), 0);
    grep_pattern_free(pattern);
    memset(longest, '(', 65);
    longest[65] = '\0';
    assert_int_equal(
        grep_pattern_compile(slice_of(longest), false, &pattern, NULL),
        ERR_USAGE);
    free(longest);
}

/* Without limits each would take longer than the universe has. */
static void catastrophes_are_given_up(void **state)
{
    static const char *const patterns[] = {"(a+)+$", "(a|aa)+$", "(a*)*c",
                                           "^(?:(?=(a+))a+)+$"};
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        assert_match(patterns[i],
                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
                     i == 2 ? "-" : "!");
}

/* Deep recursion is bounded, by the stack of the compiled code or by the heap. */
static void recursion_is_bounded(void **state)
{
    (void)state;
    size_t size = 3000000, start, end;
    char *text = malloc(size);
    memset(text, '(', size);
    struct grep_pattern *pattern = compiled("\\((?R)*\\)", false);
    assert_int_not_equal(
        grep_pattern_next(pattern, (struct slice){text, size}, 0, &start, &end),
        GREP_FOUND);
    grep_pattern_free(pattern);
    free(text);
}

/* Soft hyphens are passed over, ligatures are their letters, and what is found is told
 * in bytes of the text as it stands. */
static void words_are_matched_as_they_are_read(void **state)
{
    (void)state;
    struct grep_text read = {0};
    assert_false(grep_text_read(&read, slice_of("plain \xC3\xBC\n")));
    assert_true(grep_text_read(&read, slice_of("a\n de\xC2\xADli\xC2\xADver "
                                               "o\xEF\xAC\x83"
                                               "ce\xC2\xAD")));
    assert_string_equal(read.bytes.data, "a\n deliver office");
    assert_int_equal(read.from[3], 3); /* "deliver" */
    assert_int_equal(read.to[9], 14);
    assert_int_equal(read.from[13], 16); /* the second letter of "ffi" */
    assert_int_equal(read.to[13], 19);
    assert_int_equal(read.to[16], 21);
    assert_true(grep_text_read(&read, slice_of("\xEF\xBB\xBF")));
    assert_int_equal(read.bytes.size, 0);
    grep_text_free(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_match),
        cmocka_unit_test(case_counts_unless_told),
        cmocka_unit_test(what_is_no_utf8_does_no_harm),
        cmocka_unit_test(bad_patterns_are_told_with_their_place),
        cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(catastrophes_are_given_up),
        cmocka_unit_test(recursion_is_bounded),
        cmocka_unit_test(words_are_matched_as_they_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
