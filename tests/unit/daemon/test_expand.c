/* Expansion: a model's list as words, and two lists of hits as one. */
#include "tests/unit/support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/verbs/expand.h"

static void check_read(const char *written, const char *wanted)
{
    struct buf words = {0};
    expand_read(slice_of(written), true, &words);
    assert_string_equal(words.data ? words.data : "", wanted);
    buf_free(&words);
}

static void a_list_is_words_each_once(void **state)
{
    (void)state;
    check_read(" `pg_cancel_backend`, \"SIGINT\", Backend, backend, PID.",
               "pg_cancel_backend SIGINT Backend PID");
    check_read("git reset --soft, HEAD~1", "git reset --soft HEAD~1");
    check_read("", "");
    check_read(" , ,, ` `", "");
}

/* A tab alone would be an empty question, and what is behind a NUL is not searched for. */
static void a_word_begins_and_ends_with_signs(void **state)
{
    struct buf words = {0};
    (void)state;
    check_read("\t, \r", "");
    check_read(" \tone, two\r\n", "one two");
    expand_read((struct slice){"\0, a\0b, c", 9}, true, &words);
    assert_string_equal(words.data, "a b c");
    assert_int_equal(words.size, 5);
    buf_free(&words);
}

static void a_list_without_end_is_cut(void **state)
{
    struct buf list = {0}, words = {0};
    (void)state;
    for (int i = 0; i < 100; i++)
        buf_printf(&list, "w%d, ", i);
    expand_read(buf_slice(&list), true, &words);
    assert_string_equal(words.data, "w0 w1 w2 w3 w4 w5 w6 w7");
    buf_clear(&words);
    buf_clear(&list);
    for (int i = 0; i < 100; i++)
        buf_put_text(&list, "long");
    buf_put_text(&list, ", short");
    expand_read(buf_slice(&list), true, &words);
    assert_string_equal(words.data, "short");
    buf_free(&list);
    buf_free(&words);
}

/* 32 tokens end where they end: half a name finds nothing, or something else. */
static void a_name_that_breaks_off_is_none(void **state)
{
    struct buf words = {0};
    (void)state;
    expand_read(slice_of("pg_stat_activity, pg_termi"), false, &words);
    assert_string_equal(words.data, "pg_stat_activity");
    buf_clear(&words);
    expand_read(slice_of("one that is all there is"), false, &words);
    assert_string_equal(words.data, "one that is all there is");
    buf_clear(&words);
    expand_read(slice_of(""), false, &words);
    assert_int_equal(words.size, 0);
    buf_free(&words);
}

/* A result with these nodes, its scores falling from `best` by tenths. */
static struct route_result hits_of(const uint32_t *nodes, size_t count,
                                   double best)
{
    struct route_result result = {
        .hits = mem_alloc((count + 1) * sizeof *result.hits), .count = count};
    for (size_t i = 0; i < count; i++)
        result.hits[i] = (struct route_hit){.node = nodes[i],
                                            .score = best - 0.1 * (double)i,
                                            .coverage = 0.5,
                                            .block = TREE_NONE};
    return result;
}

static void check_nodes(const struct route_result *result,
                        const uint32_t *nodes, size_t count)
{
    assert_int_equal(result->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(result->hits[i].node, nodes[i]);
}

static void fuse(const uint32_t *first, size_t first_count,
                 const uint32_t *second, size_t second_count, size_t max,
                 struct route_result *ret)
{
    struct route_result also = hits_of(second, second_count, 7);
    *ret = hits_of(first, first_count, 3);
    expand_fuse(ret, &also, max);
    route_result_free(&also);
}

/* 1/3, 1/4 + 1/6, 1/5, and 1/8 of one that the words alone found. */
static void what_both_found_rises(void **state)
{
    struct route_result result;
    (void)state;
    fuse((const uint32_t[]){1, 2, 3}, 3, (const uint32_t[]){2, 9}, 2, 10,
         &result);
    check_nodes(&result, (const uint32_t[]){2, 1, 3, 9}, 4);
    assert_true(result.hits[0].score == 3 && result.hits[3].score > 0);
    for (size_t i = 1; i < result.count; i++)
        assert_true(result.hits[i].score <= result.hits[i - 1].score);
    assert_true(result.hits[0].coverage == 0.5);
    assert_true(result.hits[3].coverage == 0);
    route_result_free(&result);
}

static void no_more_than_wanted_are_kept(void **state)
{
    struct route_result result;
    (void)state;
    fuse((const uint32_t[]){1, 2, 3}, 3, (const uint32_t[]){4, 5}, 2, 2,
         &result);
    check_nodes(&result, (const uint32_t[]){1, 2}, 2);
    route_result_free(&result);
    fuse(NULL, 0, (const uint32_t[]){4, 5}, 2, 8, &result);
    check_nodes(&result, (const uint32_t[]){4, 5}, 2);
    route_result_free(&result);
    fuse((const uint32_t[]){1}, 1, NULL, 0, 8, &result);
    check_nodes(&result, (const uint32_t[]){1}, 1);
    route_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_words_each_once),
        cmocka_unit_test(a_word_begins_and_ends_with_signs),
        cmocka_unit_test(a_list_without_end_is_cut),
        cmocka_unit_test(a_name_that_breaks_off_is_none),
        cmocka_unit_test(what_both_found_rises),
        cmocka_unit_test(no_more_than_wanted_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
