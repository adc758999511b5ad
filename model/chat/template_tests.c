/* What may stand after `is`. */
#include "model/chat/template_run_internal.h"

#define TEST(NAME, CONDITION)                                                  \
    static struct value NAME(struct run *run, struct value subject,            \
                             const struct value *arguments) {                  \
        (void)run;                                                             \
        (void)subject;                                                         \
        (void)arguments;                                                       \
        return value_boolean(CONDITION);                                       \
    }

static bool has_remainder(struct run *run, struct value number, int64_t divisor,
                          int64_t remainder)
{
    struct value rest =
        operate(run, slice_of("%"), number, value_integer(divisor));
    return value_equal(run, rest, value_integer(remainder));
}

static bool divides(struct run *run, struct value number, struct value divisor)
{
    return value_equal(run, operate(run, slice_of("%"), number, divisor),
                       value_integer(0));
}

/* Identity, where a template can know it. */
static bool is_same(struct run *run, struct value a, struct value b)
{
    if (a.kind == b.kind && a.kind >= VALUE_INTEGER)
        run_refuse(run, "sameas of %s", value_type(a));
    return a.kind == b.kind && value_equal(run, a, b);
}

static bool is_iterable(struct value value)
{
    return value_has_items(value) || value.kind == VALUE_UNDEFINED ||
           value.kind == VALUE_STRING || value.kind == VALUE_DICT ||
           value.kind == VALUE_LOOP;
}

static bool is_sequence(struct value value)
{
    return value_is_indexed(value) || value.kind == VALUE_UNDEFINED ||
           value.kind == VALUE_STRING || value.kind == VALUE_DICT;
}

TEST(test_boolean, subject.kind == VALUE_BOOLEAN)
TEST(test_callable,
     subject.kind >= VALUE_LOOP || subject.kind == VALUE_UNDEFINED)
TEST(test_defined, subject.kind != VALUE_UNDEFINED)
TEST(test_divisibleby, divides(run, subject, arguments[0]))
TEST(test_eq, value_equal(run, subject, arguments[0]))
TEST(test_even, has_remainder(run, subject, 2, 0))
TEST(test_false, subject.kind == VALUE_BOOLEAN && !subject.boolean)
TEST(test_float, subject.kind == VALUE_FLOAT)
TEST(test_ge, value_order(run, subject, arguments[0]) >= 0)
TEST(test_gt, value_order(run, subject, arguments[0]) > 0)
TEST(test_in, value_contains(run, arguments[0], subject))
TEST(test_integer, subject.kind == VALUE_INTEGER)
TEST(test_iterable, is_iterable(subject))
TEST(test_le, value_order(run, subject, arguments[0]) <= 0)
TEST(test_lt, value_order(run, subject, arguments[0]) < 0)
TEST(test_mapping, subject.kind == VALUE_DICT)
TEST(test_ne, !value_equal(run, subject, arguments[0]))
TEST(test_none, subject.kind == VALUE_NONE)
TEST(test_number, value_is_number(subject))
TEST(test_odd, has_remainder(run, subject, 2, 1))
TEST(test_sameas, is_same(run, subject, arguments[0]))
TEST(test_sequence, is_sequence(subject))
TEST(test_string, subject.kind == VALUE_STRING)
TEST(test_true, subject.kind == VALUE_BOOLEAN && subject.boolean)
TEST(test_undefined, subject.kind == VALUE_UNDEFINED)

const struct builtin template_tests[] = {
    {"boolean", test_boolean, 0, {NULL}},
    {"callable", test_callable, 0, {NULL}},
    {"defined", test_defined, 0, {NULL}},
    {"divisibleby", test_divisibleby, 1, {"num"}},
    {"eq", test_eq, 1, {"*"}},
    {"equalto", test_eq, 1, {"*"}},
    {"==", test_eq, 1, {"*"}},
    {"even", test_even, 0, {NULL}},
    {"false", test_false, 0, {NULL}},
    {"float", test_float, 0, {NULL}},
    {"ge", test_ge, 1, {"*"}},
    {">=", test_ge, 1, {"*"}},
    {"gt", test_gt, 1, {"*"}},
    {"greaterthan", test_gt, 1, {"*"}},
    {">", test_gt, 1, {"*"}},
    {"in", test_in, 1, {"seq"}},
    {"integer", test_integer, 0, {NULL}},
    {"iterable", test_iterable, 0, {NULL}},
    {"le", test_le, 1, {"*"}},
    {"<=", test_le, 1, {"*"}},
    {"lt", test_lt, 1, {"*"}},
    {"lessthan", test_lt, 1, {"*"}},
    {"<", test_lt, 1, {"*"}},
    {"mapping", test_mapping, 0, {NULL}},
    {"ne", test_ne, 1, {"*"}},
    {"!=", test_ne, 1, {"*"}},
    {"none", test_none, 0, {NULL}},
    {"number", test_number, 0, {NULL}},
    {"odd", test_odd, 0, {NULL}},
    {"sameas", test_sameas, 1, {"other"}},
    {"sequence", test_sequence, 0, {NULL}},
    {"string", test_string, 0, {NULL}},
    {"true", test_true, 0, {NULL}},
    {"undefined", test_undefined, 0, {NULL}},
    {NULL, NULL, 0, {NULL}},
};
