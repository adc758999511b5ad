#include "tests/unit/support/unit.h"

#include "memory/embeddings/telling_tokens.h"

static const struct {
    const char *bytes;
    bool tells;
} spelt[] = {
    {" the", false},    {" The", false},
    {" is", false},     {"the", true}, /* the end of "lathe" */
    {".", false},       {" ->", false},
    {"", false},        {" x", true},
    {"42", true},       {"\xc3\xa9", true},
    {" --force", true}, {" thecharactersofaword", true},
};
enum { SPELT = sizeof spelt / sizeof spelt[0], UNKNOWN = 1000 };

static int spell(void *context, int32_t id, struct slice *ret, struct err *err)
{
    ++*(size_t *)context;
    if (id == UNKNOWN)
        return err_set(err, ERR_MODEL, "no model");
    *ret = slice_of(spelt[id].bytes);
    return 0;
}

static void signs_and_stop_words_tell_nothing(void **state)
{
    (void)state;
    size_t asked = 0;
    const struct embedder embedder = {.context = &asked, .spell = spell};
    struct telling_tokens tokens = {.embedder = &embedder};
    for (int twice = 0; twice < 2; twice++)
        for (int32_t id = 0; id < SPELT; id++)
            assert_int_equal(token_tells(&tokens, id), spelt[id].tells);
    assert_int_equal(asked, SPELT); /* each once */
    assert_true(token_tells(&tokens, UNKNOWN));
    assert_true(token_tells(&tokens, -1));
    assert_false(token_tells(&tokens, 0));
    telling_tokens_free(&tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_and_stop_words_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
