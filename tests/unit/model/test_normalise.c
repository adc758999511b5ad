/* Normal forms of what is mostly combining marks. */
#include "tests/unit/support/unit.h"

#include <string.h>
#include <utf8proc.h>

#include "base/text.h"
#include "model/tokenizer/normalise.h"

static const int forms[] = {
    UTF8PROC_STABLE | UTF8PROC_COMPOSE, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
enum { FORMS = sizeof forms / sizeof forms[0] };

static struct buf normalised(int form, struct slice text)
{
    struct normaliser n = {.count = 0};
    struct normal_step *step;
    struct buf made = {0};
    assert_int_equal(normaliser_add(&n, NORMAL_FORM, &step, NULL), 0);
    step->form = form;
    buf_put_slice(&made, text);
    assert_int_equal(normaliser_run(&n, &made, NULL, NULL), 0);
    normaliser_free(&n);
    return made;
}

static void marks_are_put_in_order_as_utf8proc_does(void **state)
{
    (void)state;
    /* Marks of several classes, what becomes some (U+0344, U+0F73, U+FF9E), and what
     * takes some or parts them. */
    static const uint32_t characters[] = {
        0x301, 0x316,  0x334, 0x344,  0x345,  0xF73,  0xF71, 0x3099,
        0x340, 0xFF9E, 0x5B0, 0x1DC0, 0x327,  0x323,  0x35C, 0x308,
        0x30B, 0x1EAD, 'a',   0xE9,   0xAC00, 0x11A8, 0x30C};
    enum { COUNT = sizeof characters / sizeof characters[0] };
    uint64_t random = 5;
    for (int i = 0; i < 400; i++) {
        struct buf text = {0};
        uint32_t of = i % 4 ? 16 : COUNT; /* mostly nothing but marks */
        buf_put_text(&text, i % 2 ? "a" : "");
        for (uint32_t n = unit_below(&random, 400) + 1; n > 0; n--)
            text_encode(&text, characters[unit_below(&random, of)]);
        for (int f = 0; f < FORMS; f++) {
            utf8proc_uint8_t *want;
            utf8proc_ssize_t size =
                utf8proc_map((const utf8proc_uint8_t *)text.data,
                             (utf8proc_ssize_t)text.size, &want,
                             (utf8proc_option_t)forms[f]);
            struct buf got = normalised(forms[f], buf_slice(&text));
            assert_int_equal(got.size, size);
            assert_memory_equal(got.data, want, got.size);
            buf_free(&got);
            free(want);
        }
        buf_free(&text);
    }
}

/* Of 40,000 in the wrong order utf8proc takes five seconds, of half as many a quarter
 * of that. */
static void a_long_run_of_marks_takes_no_longer_than_it_is(void **state)
{
    (void)state;
    enum { EACH = 15000, MAX_SECONDS = 2 };
    struct buf text = {0};
    buf_put_text(&text, "a");
    for (int i = 0; i < 2 * EACH; i++)
        text_encode(&text, i < EACH ? 0x301 : 0x316);
    double start = unit_seconds();
    for (int f = 0; f < FORMS; f++) {
        struct buf made = normalised(forms[f], buf_slice(&text));
        assert_true(made.size > 2 * EACH);
        buf_free(&made);
    }
    assert_true(unit_seconds() - start < MAX_SECONDS);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_put_in_order_as_utf8proc_does),
        cmocka_unit_test(a_long_run_of_marks_takes_no_longer_than_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
