/* Stands in for cmocka where there are no packages: the few things of it that
 * the tests of the kernels use.  A failure ends its test, not the program. */
#ifndef TESTS_CUDA_SHIM_PACKAGES_CMOCKA_H
#define TESTS_CUDA_SHIM_PACKAGES_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*body)(void **state);
};
#define cmocka_unit_test(body)                                                 \
    {                                                                          \
#body, body                                                            \
    }

static jmp_buf bare_end; /* 1: failed, 2: skipped */

__attribute__((format(printf, 3, 4), noreturn, unused)) static void bare_fail(
    const char *file, int line, const char *format, ...)
{
    va_list arguments;
    printf("%s:%d: ", file, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    longjmp(bare_end, 1);
}

#define fail_msg(...) bare_fail(__FILE__, __LINE__, __VA_ARGS__)
#define skip()        longjmp(bare_end, 2)
#define assert_true(claim)                                                     \
    do {                                                                       \
        if (!(claim))                                                          \
            fail_msg("not true: %s", #claim);                                  \
    } while (0)
#define assert_false(claim)      assert_true(!(claim))
#define assert_null(pointer)     assert_true(!(pointer))
#define assert_non_null(pointer) assert_true(pointer)
#define assert_int_equal(a, b)                                                 \
    do {                                                                       \
        long long bare_a = (long long)(a), bare_b = (long long)(b);            \
        if (bare_a != bare_b)                                                  \
            fail_msg("%s is %lld, not %lld", #a, bare_a, bare_b);              \
    } while (0)
#define assert_in_range(a, min, max)                                           \
    do {                                                                       \
        unsigned long long bare_a = (unsigned long long)(a);                   \
        if (bare_a < (unsigned long long)(min) ||                              \
            bare_a > (unsigned long long)(max))                                \
            fail_msg("%s is %llu", #a, bare_a);                                \
    } while (0)
#define assert_string_equal(a, b)        assert_int_equal(strcmp(a, b), 0)
#define assert_memory_equal(a, b, n)     assert_int_equal(memcmp(a, b, n), 0)
#define assert_memory_not_equal(a, b, n) assert_true(memcmp(a, b, n) != 0)

static inline int bare_run(const struct CMUnitTest *tests, size_t count,
                           int (*set_up)(void **), int (*tear_down)(void **))
{
    void *state = NULL;
    volatile int failed = 0;
    if (set_up && set_up(&state))
        return 1;
    for (volatile size_t i = 0; i < count; i++) {
        int end = setjmp(bare_end);
        if (!end)
            tests[i].body(&state);
        printf("[  %s ] %s\n",
               end == 1 ? "FAILED "
               : end    ? "SKIPPED"
                        : "     OK",
               tests[i].name);
        fflush(stdout);
        failed += end == 1;
    }
    if (tear_down)
        tear_down(&state);
    return failed;
}
#define cmocka_run_group_tests(tests, set_up, tear_down)                       \
    bare_run(tests, sizeof(tests) / sizeof(tests)[0], set_up, tear_down)

#endif
