/* Conversations. */
#include "tests/unit/support/unit.h"

#include <stdio.h>
#include <string.h>

#include "daemon/answer/conversation.h"

static void questions_that_stand_alone_are_told(void **state)
{
    (void)state;
    static const char *const follow[] = {"and for indexes?",
                                         "how do I turn it off?",
                                         "What about partial ones?",
                                         "Why?",
                                         "Can you explain that?",
                                         "How do I use it with VACUUM?",
                                         "does it need to be restarted?",
                                         "does it have to run as root?",
                                         "can httpd.conf include it?",
                                         "show me an example",
                                         "Is this safe?",
                                         "what is its default?",
                                         "does changing it need a restart?",
                                         "only one directory of it",
                                         "which parameters does it have",
                                         "what is the default?",
                                         "roll back to it"};
    static const char *const alone[] = {
        "What is a partial index?",
        "How much memory can a sort use before it writes to disk?",
        "work_mem",
        "Which planner settings turn off nested loops?",
        "What does VACUUM do, and when does it run?",
        "how do I compile a module and load it",
        "is it possible to rename a column",
        "how long does it take to rebuild an index",
        "cache pages of an old CMS for several days although it sends headers",
        "default fillfactor",
        ""};
    for (size_t i = 0; i < sizeof follow / sizeof follow[0]; i++)
        if (!conversation_follows(follow[i]))
            fail_msg("stands alone: %s", follow[i]);
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (conversation_follows(alone[i]))
            fail_msg("follows: %s", alone[i]);
}

static void subjects_are_told(void **state)
{
    (void)state;
    assert_true(conversation_names("and for indexes?"));
    assert_false(conversation_names("how do I turn it off?"));
    assert_true(conversation_names("does changing it need a restart?"));
    assert_true(conversation_points_back("does changing it need a restart?"));
    assert_false(conversation_points_back("and for indexes?"));
}

static void add(struct conversations *sessions, const char *name, int64_t now,
                const char *question, bool follows)
{
    struct conversation_turn turn = {
        .nodes = {7}, .node_count = 1, .follows = follows};
    conversation_turn_ask(&turn, question);
    conversations_add(sessions, name, now, &turn);
}

static void turns_are_kept_back_to_one_that_stands_alone(void **state)
{
    (void)state;
    struct conversations *sessions = conversations_new();
    struct conversation_past past;
    conversations_past(sessions, "a", 0, &past);
    assert_int_equal(past.count, 0);
    add(sessions, "a", 1, "one", false);
    add(sessions, "a", 2, "two", false);
    add(sessions, "a", 3, "three", true);
    add(sessions, "b", 4, "other", false);
    conversations_past(sessions, "a", 5, &past);
    assert_int_equal(past.asked, 3);
    assert_int_equal(past.count, 2);
    assert_string_equal(past.turns[0].question, "three");
    assert_string_equal(past.turns[1].question, "two");
    assert_int_equal(past.turns[1].nodes[0], 7);
    for (int i = 0; i < 10; i++)
        add(sessions, "a", 6, "more", true);
    conversations_past(sessions, "a", 7, &past);
    assert_int_equal(past.count, CONVERSATION_TURNS);
    assert_int_equal(past.asked, 13);
    conversations_free(sessions);
}

static void conversations_are_forgotten(void **state)
{
    (void)state;
    struct conversations *sessions = conversations_new();
    struct conversation_past past;
    add(sessions, "old", 0, "one", false);
    conversations_past(sessions, "old", CONVERSATION_MS, &past);
    assert_int_equal(past.count, 1);
    conversations_past(sessions, "old", CONVERSATION_MS + 1, &past);
    assert_int_equal(past.count, 0);
    for (int i = 0; i < CONVERSATIONS_MAX + 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        add(sessions, name, i, "one", false);
    }
    conversations_past(sessions, "s0", CONVERSATIONS_MAX + 1, &past);
    assert_int_equal(past.count, 0);
    conversations_past(sessions, "s1", CONVERSATIONS_MAX + 1, &past);
    assert_int_equal(past.count, 1);
    conversations_free(sessions);
}

static void long_questions_are_cut_between_characters(void **state)
{
    (void)state;
    char text[CONVERSATION_QUESTION + 10];
    struct conversation_turn turn;
    memset(text, 'x', sizeof text);
    memcpy(text + CONVERSATION_QUESTION - 1, "\xC3\xA9", 3);
    conversation_turn_ask(&turn, text);
    assert_int_equal(strlen(turn.question), CONVERSATION_QUESTION - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_that_stand_alone_are_told),
        cmocka_unit_test(subjects_are_told),
        cmocka_unit_test(turns_are_kept_back_to_one_that_stands_alone),
        cmocka_unit_test(conversations_are_forgotten),
        cmocka_unit_test(long_questions_are_cut_between_characters),
    };
    return cmocka_run_group_tests_name("conversation", tests, NULL, NULL);
}
