/* The regular expressions of tokenizers. */
#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/tokenizer/pattern.h"

/* All matches in the text, each in brackets. */
static void check_scan(const struct pattern *pattern, const char *regex,
                       const char *text, const char *want)
{
    struct err err = {0};
    struct buf found = {0};
    struct pattern_scan *scan = pattern_scan_new(pattern);
    size_t at = 0, start, end;
    while (at <= strlen(text) &&
           pattern_next(scan, slice_of(text), at, &start, &end, &err) == 1) {
        buf_printf(&found, "[%.*s]", (int)(end - start), text + start);
        at = end > start ? end : end + 1;
    }
    if (!slice_is(buf_slice(&found), want))
        fail_msg("%s in \"%s\": %s", regex, text, buf_slice(&found).data);
    buf_free(&found);
    pattern_scan_free(scan);
}

static struct pattern *compile(const char *regex)
{
    struct pattern *pattern = NULL;
    struct err err = {0};
    if (pattern_compile(slice_of(regex), false, &pattern, &err))
        fail_msg("%s: %s", regex, err.message);
    return pattern;
}

static void check_matches(const char *regex, const char *text, const char *want)
{
    struct pattern *pattern = compile(regex);
    check_scan(pattern, regex, text, want);
    pattern_free(pattern);
}

static void characters_match_alike_looked_up_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *regex, *text, *want;
    } cases[] = {
        {"\\s",
         "a b\n\xC2\xA0"
         "c\t",
         "[ ][\n][\xC2\xA0][\t]"},
        {"\\p{N}",
         "a1\xC2\xB2"
         "23b",
         "[1][\xC2\xB2][2][3]"},
        {"\\p{P}",
         "(a)\xE2\x80\x94"
         "b\xC3\xA9.",
         "[(][)][\xE2\x80\x94][.]"},
        {"\\s", "abc", ""},
        {"\\s", "\xC3\xA9", ""},
        {"\\s", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pattern *pattern = compile(cases[i].regex);
        check_scan(pattern, cases[i].regex, cases[i].text, cases[i].want);
        pattern_is_character(pattern);
        check_scan(pattern, cases[i].regex, cases[i].text, cases[i].want);
        pattern_free(pattern);
    }
}

/* U+13870 and U+10D40 came with Unicode 16. */
static void letters_of_later_unicode_are_letters(void **state)
{
    (void)state;
    static const struct {
        const char *regex, *text;
        size_t start, end;
    } cases[] = {
        {"\\p{L}+", ".a\xF0\x93\xA1\xB0z.", 1, 7},
        {"[^\\p{L}]+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"\\P{L}+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"\\p{^L}+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"[\\p{Lo}.]+", "a\xF0\x93\xA1\xB0.", 1, 6},
        {"\\p{N}", "a\xF0\x90\xB5\x80", 1, 5},
        {"\\p{Nd}",
         "\xF0\x93\xA1\xB0"
         "1",
         4, 5},
        {"\\w+", ".a\xF0\x90\xB5\x80.", 1, 6},
        {"[\\w.]+", "-\xF0\x93\xA1\xB0.", 1, 6},
        {"\\W+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"[\\W]+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"[b\\P{L}]+", "a\xF0\x93\xA1\xB0.b.", 5, 8},
        {"[^.\\P{L}]+", ".a\xF0\x93\xA1\xB0.", 1, 6},
        {"[^\\W]+", ".a\xF0\x93\xA1\xB0.", 1, 6},
        {"[^\\P{^L}]+", "a\xF0\x93\xA1\xB0..", 5, 7},
        {"\\d", "a\xF0\x90\xB5\x80", 1, 5},
        {"\\D", "\xF0\x90\xB5\x80.", 4, 5},
        {"[.\\D]", "\xF0\x90\xB5\x80.", 4, 5},
        {"a\\b", "a\xF0\x93\xA1\xB0 a.", 6, 7},
        {"a\\B", "a. a\xF0\x93\xA1\xB0", 3, 4},
        /* ideographs of Unicode 14, 15.1 and 15, and a letter of 16 */
        {"\\p{Han}+",
         "\xF0\x93\xA1\xB0\xE4\xB8\xAD\xF0\xAE\xAF\xB0\xF0\xB1\x8D\x90", 4, 15},
        {"\\P{Han}+", "\xF0\xAE\xAF\xB0..", 4, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pattern *pattern = NULL;
        struct err err = {0};
        size_t start, end;
        if (pattern_compile(slice_of(cases[i].regex), false, &pattern, &err))
            fail_msg("%s: %s", cases[i].regex, err.message);
        struct pattern_scan *scan = pattern_scan_new(pattern);
        assert_int_equal(
            pattern_next(scan, slice_of(cases[i].text), 0, &start, &end, &err),
            1);
        assert_int_equal(start, cases[i].start);
        assert_int_equal(end, cases[i].end);
        pattern_scan_free(scan);
        pattern_free(pattern);
    }
}

static void patterns_mean_what_they_did(void **state)
{
    (void)state;
    check_matches("\\s+", "a \xE1\xA0\x8E\xE3\x80\x80 b",
                  "[ ][\xE3\x80\x80 ]"); /* U+180E is none */
    check_matches("[^\\s]+", "a\xE1\xA0\x8E b", "[a\xE1\xA0\x8E][b]");
    check_matches("\\S+", "a\xE1\xA0\x8E b", "[a\xE1\xA0\x8E][b]");
    /* U+3001 is used with Han, but is not of it. */
    check_matches("\\p{Han}+", "\xE4\xB8\xAD\xE3\x80\x81\xE4\xB8\xAD",
                  "[\xE4\xB8\xAD][\xE4\xB8\xAD]");
    check_matches("\\p{^Han}+",
                  "a\xE4\xB8\xAD"
                  "b",
                  "[a][b]");
    check_matches("\\p{Letter}+|\\p{Nd}+", "ab12", "[ab][12]");
    check_matches("\\p{L}+", "a\xC3\xA9z", "[a\xC3\xA9z]");
    check_matches("\\w+", "a\xCC\x81_1-b", "[a\xCC\x81_1][b]");
    check_matches("\\w+", "a\xC2\xB2z", "[a\xC2\xB2z]");
    check_matches("\\W+", "\xC2\xB2.", "[.]");
    check_matches("[\\w]+", "a\xC2\xB2z", "[a][z]");
    check_matches("\\h+", "xfFg0", "[fF][0]");
    check_matches("^a", "a\na", "[a][a]"); /* at every line */
    check_matches("a{1,2}", "aaa", "[aa][a]");
    check_matches("[]a]+", "a]b", "[a]]");
    check_matches("[^\\S\n]+", "a \n\tb", "[ ][\t]");
    check_matches("[\\S\n]+", "a \n\tb", "[a][\n][b]");
    check_matches("[\\W^a]+", "ab^.b", "[a][^.]");
    check_matches("[^\\W^a]+", "ab^.b", "[b][b]");
    check_matches("[\\W\\P{Lu}-]{2}", "ABc-", "[c-]");
    check_matches("[-\\W]+", "a-b.", "[-][.]");
    check_matches("[\\-\\W]+", "a-b.", "[-][.]");
    check_matches("a\\b", "a\xC2\xB2 a\xC2\xB4", "[a]");
    check_matches("a\\B.", "a\xC2\xB2 a\xC2\xB4", "[a\xC2\xB2]");
    check_matches("(?<![\\W\\d])b", "ab.b1bb", "[b][b]");
}

static void patterns_that_differ_are_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "[a&&b]",      "[a[b]]",  "a{1,3}+", "(",   "[",
        "\\p{NoSuch}", "\\p{",    "\\",      "\\C", "a\\Cb",
        "[a\\W-z]",    "[a-\\W]", "[\\W"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct pattern *pattern = NULL;
        struct err err = {0};
        if (pattern_compile(slice_of(refused[i]), false, &pattern, &err) !=
            ERR_FORMAT)
            fail_msg("%s was taken", refused[i]);
    }
}

/* What they become is many times as large as they are. */
static void patterns_that_grow_are_refused(void **state)
{
    (void)state;
    enum { SIZE = 1 << 16 };
    static const struct {
        const char *start, *repeated;
    } cases[] = {
        {"", "\\b"}, {"", "\\w"}, {"[", "\\w"}, {"[", "\\W"}, {"[^", "\\W"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pattern *pattern = NULL;
        struct err err = {0};
        struct buf regex = {0};
        buf_put_text(&regex, cases[i].start);
        while (regex.size + 3 <= SIZE)
            buf_put_text(&regex, cases[i].repeated);
        buf_put_text(&regex, cases[i].start[0] ? "]" : "");
        if (pattern_compile(buf_slice(&regex), false, &pattern, &err) !=
            ERR_LIMIT)
            fail_msg("%s%s...: %s", cases[i].start, cases[i].repeated,
                     err.message);
        buf_free(&regex);
    }
}

/* The compiled code's stack does not hold this; the interpreter's does. */
static void deep_matches_fall_back(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    char *text = mem_alloc(SIZE);
    memset(text, '1', SIZE);
    struct pattern *pattern = NULL;
    struct err err = {0};
    size_t start, end;
    assert_int_equal(pattern_compile(slice_of("\\d{1,3}(?=(?:\\d{3})*\\b)"),
                                     false, &pattern, &err),
                     0);
    struct pattern_scan *scan = pattern_scan_new(pattern);
    int found =
        pattern_next(scan, (struct slice){text, SIZE}, 0, &start, &end, &err);
    assert_true(found == 1 || found == ERR_LIMIT);
    if (found == 1)
        assert_int_equal(end, SIZE % 3);
    pattern_scan_free(scan);
    pattern_free(pattern);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_later_unicode_are_letters),
        cmocka_unit_test(patterns_mean_what_they_did),
        cmocka_unit_test(patterns_that_differ_are_refused),
        cmocka_unit_test(patterns_that_grow_are_refused),
        cmocka_unit_test(deep_matches_fall_back),
        cmocka_unit_test(characters_match_alike_looked_up_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
