#include "tests/unit/support/unit.h"

#include <string.h>

#include "daemon/answer/evidence_reader.h"

static struct block blocks[] = {
    {.kind = BLOCK_PARAGRAPH,
     .text =
         {"Each borg create makes a new archive. The --exclude option skips "
          "paths that match a pattern; it can be given more than once.",
          0}},
    {.kind = BLOCK_CODE,
     .text = {"borg create --exclude '/home/*/.cache' /path/to/repo::now /home",
              0}},
    {.kind = BLOCK_PARAGRAPH,
     .text = {"The default of max_connections is typically 100 connections. "
              "This parameter can only be set at server start. "
              "The server does not start with a value below 16.",
              0}},
    {.kind = BLOCK_LIST,
     .text = {"- checkpoint_timeout is enabled after recovery.\n"
              "- full_page_writes must stay on unless the file system "
              "prevents partial writes.",
              0}},
};
static struct cite_source sources[] = {
    {.blocks = blocks, .count = 2},
    {.blocks = blocks + 2,
     .count = 2,
     .title = {"max_connections (integer)", 25}},
};

static int measure(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        blocks[i].text.size = strlen(blocks[i].text.data);
    return 0;
}

static bool stands(const char *question, const char *sentence, bool code,
                   struct evidence *ret)
{
    struct evidence_index *index =
        evidence_index_new(sources, 2, slice_of(question));
    bool found = evidence_find(index, slice_of(sentence), code, ret);
    evidence_index_free(index);
    return found;
}

static void what_is_said_in_other_words_stands(void **state)
{
    (void)state;
    static const char *const sentences[] = {
        "You can skip paths by a pattern with the `--exclude` option.",
        "By default max_connections is 100.",
        "max_connections is a parameter that is set only at server start.",
        "A value below 16 does not let the server start.",
        "checkpoint_timeout is enabled after recovery.",
        "Unless the file system prevents partial writes, full_page_writes must "
        "stay on.",
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct evidence evidence;
        if (!stands("How?", sentences[i], false, &evidence))
            fail_msg("%s", sentences[i]);
    }
}

static void what_was_changed_does_not_stand(void **state)
{
    (void)state;
    static const char *const sentences[] = {
        "You can skip paths by a pattern with the `--include` option.",
        "By default max_connections is 1000.",
        "The default of min_connections is typically 100 connections.",
        "This parameter cannot be set at server start.",
        "A value below 16 lets the server start.",
        "checkpoint_timeout is disabled after recovery.",
        "checkpoint_timeout is enabled before recovery.",
        "After recovery full_page_writes is enabled.",
        "The typical default of connections can be set with a value below 16.",
        "Apple trees are pruned in late winter.",
        "The weather prevents partial clouds.",
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct evidence evidence;
        if (stands("How?", sentences[i], false, &evidence))
            fail_msg("%s", sentences[i]);
    }
}

static void words_of_the_question_are_no_evidence(void **state)
{
    (void)state;
    struct evidence evidence;
    assert_false(stands("Can a checkpoint skip the recovery of a pattern?",
                        "Yes, a checkpoint can skip the recovery of a pattern.",
                        false, &evidence));
    assert_false(
        stands("How do I use \"shared archives\"?",
               "The `shared archives` skip paths that match a pattern.", false,
               &evidence));
    assert_true(stands("How do I use shared archives?",
                       "The shared archives skip paths that match a pattern.",
                       false, &evidence));
    assert_true(stands("What is max_connections for in lectern?",
                       "The default of max_connections is typically 100.",
                       false, &evidence));
}

static void evidence_is_what_one_would_cut_out(void **state)
{
    (void)state;
    struct evidence evidence;
    assert_true(stands("", "checkpoint_timeout is enabled after recovery.",
                       false, &evidence));
    assert_int_equal(evidence.source, 1);
    assert_ptr_equal(evidence.block, &blocks[3]);
    assert_true(slice_is(evidence.place,
                         "checkpoint_timeout is enabled after recovery."));
    assert_true(stands("", "borg create --exclude '/home/*/.cache' REPO /home",
                       true, &evidence));
    assert_true(slice_equal(evidence.place, blocks[1].text));
    assert_false(stands("", "borg create --include '/home/*/.cache' /home",
                        true, &evidence));
}

/* ---- The reader ---- */

static void check_cut(const char *text, bool whole, const char *expected,
                      size_t dropped)
{
    for (size_t piece = 1; piece < 40; piece += 6) {
        struct evidence_reader reader = {
            .index = evidence_index_new(sources, 2, slice_of("How? 7"))};
        struct buf out = {0};
        for (size_t at = 0, size = strlen(text); at < size; at += piece)
            evidence_read(&reader,
                          (struct slice){text + at,
                                         size - at < piece ? size - at : piece},
                          &out);
        evidence_read_end(&reader, whole, &out);
        buf_put(&out, "", 1);
        assert_string_equal(out.data, expected);
        assert_int_equal(reader.dropped, dropped);
        buf_free(&out);
        evidence_index_free(reader.index);
        evidence_reader_free(&reader);
    }
}

static void check_read(const char *text, const char *expected, size_t dropped)
{
    check_cut(text, true, expected, dropped);
}

#define TRUE_1 "By default max_connections is 100."
#define TRUE_2 "You can skip paths by a pattern with the `--exclude` option."
#define FALSE  "By default max_connections is 1000."

static void sentences_without_evidence_are_dropped(void **state)
{
    (void)state;
    check_read(TRUE_1, TRUE_1 " [1]", 0);
    check_read(FALSE, "", 1);
    check_read(TRUE_1 " " FALSE " " TRUE_2, TRUE_1 " [1] " TRUE_2 " [2]", 1);
    check_read(FALSE "\n\n" TRUE_1 "\n" TRUE_1 "\n" TRUE_2 "\n",
               TRUE_1 " [1]\n" TRUE_2 " [2]", 1);
    check_read("", "", 0);
}

static void what_was_cut_off_is_not_shown(void **state)
{
    (void)state;
    check_cut(TRUE_1 " By default max_connections is 100 conn", false,
              TRUE_1 " [1]", 0);
    check_cut(TRUE_1 " " TRUE_2, false, TRUE_1 " [1] " TRUE_2 " [2]", 0);
    check_cut(TRUE_1 "\n```\nborg create --exclude '/home/*/.cache'\n", false,
              TRUE_1 " [1]", 0);
}

static void marks_of_the_model_are_not_shown(void **state)
{
    (void)state;
    check_read("By default **max_connections** is 100 [3][12].", TRUE_1 " [1]",
               0);
    check_read("- " TRUE_1 "\n- " FALSE "\n2. " TRUE_2,
               "- " TRUE_1 " [1]\n2. " TRUE_2 " [2]", 1);
}

static void what_leads_in_stays_with_what_follows(void **state)
{
    (void)state;
    check_read("Here is how:\n" TRUE_1, "Here is how:\n" TRUE_1 " [1]", 0);
    check_read("Here is how:\n" FALSE, "", 1);
    check_read("You can run this:\n\n```sh\nborg create --exclude "
               "'/home/*/.cache' /path/to/repo::now /home\n```\n" FALSE,
               "You can run this:\nborg create --exclude '/home/*/.cache' "
               "/path/to/repo::now /home [1]",
               1);
    check_read(
        "You can run this:\n```\nrm -rf --no-preserve-root /\n```\n" TRUE_1,
        TRUE_1 " [1]", 1);
    check_read("```\nrm -rf --no-preserve-root /\n", "", 1);
    check_read("Prune apple trees in late winter:\n" TRUE_1, TRUE_1 " [1]", 1);
    check_read("max_connections (integer)\n" TRUE_1 "\n2.", TRUE_1 " [1]", 0);
    check_read("Yes. How? " TRUE_1, TRUE_1 " [1]", 0);
    check_read("So you get 7:\n" TRUE_1, TRUE_1 " [1]", 0);
    check_read("No, there is no way. " TRUE_1, TRUE_1 " [1]", 1);
}

static void what_points_back_goes_with_what_it_points_to(void **state)
{
    (void)state;
    check_read(FALSE " This parameter can only be set at server start.", "", 2);
    check_read(TRUE_1 " This parameter can only be set at server start.",
               TRUE_1 " [1] This parameter can only be set at server start. "
                      "[1]",
               0);
    check_read(FALSE " " TRUE_2 " It skips paths that match a pattern.",
               TRUE_2 " [1] It skips paths that match a pattern. [1]", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_in_other_words_stands),
        cmocka_unit_test(what_was_changed_does_not_stand),
        cmocka_unit_test(words_of_the_question_are_no_evidence),
        cmocka_unit_test(evidence_is_what_one_would_cut_out),
        cmocka_unit_test(sentences_without_evidence_are_dropped),
        cmocka_unit_test(what_was_cut_off_is_not_shown),
        cmocka_unit_test(marks_of_the_model_are_not_shown),
        cmocka_unit_test(what_leads_in_stays_with_what_follows),
        cmocka_unit_test(what_points_back_goes_with_what_it_points_to),
    };
    return cmocka_run_group_tests(tests, measure, NULL);
}
