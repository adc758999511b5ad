/* Arithmetic and slices, as Python has them. */
#include <math.h>

#include "base/text.h"
#include "model/chat/template_run_internal.h"
#include "model/chat/template_strings_internal.h"

static struct value fail_operands(struct run *run, struct slice operator,
                                  struct value left, struct value right)
{
    struct value culprit = left.kind == VALUE_UNDEFINED ? left : right;
    if (culprit.kind == VALUE_UNDEFINED)
        return run_fail(
            run, ERR_FORMAT, "'%.*s' is undefined",
            (int)(culprit.string.size < 100 ? culprit.string.size : 100),
            culprit.string.data);
    return run_fail(run, ERR_FORMAT, "%s %.*s %s is not possible",
                    value_type(left), (int)operator.size, operator.data,
                    value_type(right));
}

/* ---- Numbers ---- */

static struct value fail_size(struct run *run)
{
    return run_refuse(run, "an integer beyond 64 bits");
}

static struct value divide_integers(struct run *run, int64_t a, int64_t b,
                                    bool remainder)
{
    if (!b)
        return run_fail(run, ERR_FORMAT, "a division by zero");
    if (b == -1)
        return remainder        ? value_integer(0)
               : a == INT64_MIN ? fail_size(run)
                                : value_integer(-a);
    int64_t rest = a % b, quotient = a / b;
    if (rest && (rest < 0) != (b < 0)) {
        rest += b;
        quotient--;
    }
    return value_integer(remainder ? rest : quotient);
}

static struct value raise_integer(struct run *run, int64_t base, int64_t power)
{
    int64_t result = 1;
    if (power < 0)
        return base ? value_float(pow((double)base, (double)power))
                    : run_fail(run, ERR_FORMAT, "a division by zero");
    if (base == 0 || base == 1 || base == -1)
        return value_integer(
            power == 0 || (base == -1 && power % 2 == 0) ? 1 : base);
    for (; power > 0; power--)
        if (__builtin_mul_overflow(result, base, &result))
            return fail_size(run);
    return value_integer(result);
}

static struct value operate_integers(struct run *run, struct slice operator,
                                     int64_t a, int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    if (slice_is(operator, "//") || slice_is(operator, "%"))
        return divide_integers(run, a, b, operator.size == 1);
    if (slice_is(operator, "**"))
        return raise_integer(run, a, b);
    if (slice_is(operator, "+"))
        overflow = __builtin_add_overflow(a, b, &result);
    else if (slice_is(operator, "-"))
        overflow = __builtin_sub_overflow(a, b, &result);
    else
        overflow = __builtin_mul_overflow(a, b, &result);
    return overflow ? fail_size(run) : value_integer(result);
}

static double float_remainder(double a, double b)
{
    double rest = fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0))
        rest += b;
    return rest != 0 ? rest : copysign(0, b);
}

static double float_floor(double a, double b)
{
    double quotient = (a - float_remainder(a, b)) / b;
    double whole = floor(quotient);
    if (quotient == 0)
        return copysign(0, a / b);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static struct value operate_floats(struct run *run, struct slice operator,
                                   double a, double b)
{
    bool divides = operator.data[0] == '/' || slice_is(operator, "%");
    if (divides && b == 0)
        return run_fail(run, ERR_FORMAT, "a division by zero");
    if (slice_is(operator, "+"))
        return value_float(a + b);
    if (slice_is(operator, "-"))
        return value_float(a - b);
    if (slice_is(operator, "*"))
        return value_float(a * b);
    if (slice_is(operator, "/"))
        return value_float(a / b);
    if (slice_is(operator, "%"))
        return value_float(float_remainder(a, b));
    if (slice_is(operator, "//"))
        return value_float(float_floor(a, b));
    double power = pow(a, b);
    if ((isnan(power) && !isnan(a) && !isnan(b)) ||
        (isinf(power) && isfinite(a) && isfinite(b)))
        return run_refuse(run, "such a power");
    return value_float(power);
}

/* ---- Strings and lists ---- */

static struct value add_strings(struct run *run, struct slice a, struct slice b)
{
    struct buf text = {0};
    run_put(run, &text, a);
    run_put(run, &text, b);
    return value_string(run_take(run, &text));
}

static struct value repeat_string(struct run *run, struct slice string,
                                  int64_t times)
{
    struct buf text = {0};
    for (; times > 0 && string.size && !run->failed; times--) {
        run_charge(run, 1);
        run_put(run, &text, string);
    }
    return value_string(run_take(run, &text));
}

static void add_items(struct run *run, struct list *list,
                      const struct list *items)
{
    for (size_t i = 0; i < items->count && !run->failed; i++)
        list_add(run, list, items->items[i]);
}

static struct value add_lists(struct run *run, struct value a, struct value b)
{
    struct list *list = list_new(run);
    add_items(run, list, a.list);
    add_items(run, list, b.list);
    return value_list(a.kind, list);
}

static struct value repeat_list(struct run *run, struct value value,
                                int64_t times)
{
    struct list *list = list_new(run);
    for (; times > 0 && value.list->count && !run->failed; times--)
        add_items(run, list, value.list);
    return value_list(value.kind, list);
}

static bool is_listed(struct value value)
{
    return value.kind == VALUE_LIST || value.kind == VALUE_TUPLE;
}

static struct value repeat(struct run *run, struct value value, int64_t times)
{
    return is_listed(value) ? repeat_list(run, value, times)
                            : repeat_string(run, value.string, times);
}

struct value operate(struct run *run, struct slice operator, struct value left,
                     struct value right)
{
    bool adds = slice_is(operator, "+"), multiplies = slice_is(operator, "*");
    bool left_repeats = left.kind == VALUE_STRING || is_listed(left);
    bool right_repeats = right.kind == VALUE_STRING || is_listed(right);
    if (run->failed)
        return value_none();
    if (left.safe || right.safe)
        return run_refuse(run, "calculating with a safe string");
    if (value_is_integer(left) && value_is_integer(right) &&
        !slice_is(operator, "/"))
        return operate_integers(run, operator, value_as_integer(left),
                                value_as_integer(right));
    if (value_is_number(left) && value_is_number(right))
        return operate_floats(run, operator, value_as_float(left),
                              value_as_float(right));
    if (adds && left.kind == VALUE_STRING && right.kind == VALUE_STRING)
        return add_strings(run, left.string, right.string);
    if (adds && is_listed(left) && left.kind == right.kind)
        return add_lists(run, left, right);
    if (multiplies && left_repeats && value_is_integer(right))
        return repeat(run, left, value_as_integer(right));
    if (multiplies && right_repeats && value_is_integer(left))
        return repeat(run, right, value_as_integer(left));
    if (slice_is(operator, "%") && left.kind == VALUE_STRING)
        return run_refuse(run, "formatting a string by %%");
    return fail_operands(run, operator, left, right);
}

/* ---- Slices ---- */

/* A bound of a slice within [low, high], `absent` where it is none. */
static int64_t slice_bound(struct value bound, int64_t length, int64_t low,
                           int64_t high, int64_t absent)
{
    if (bound.kind == VALUE_NONE)
        return absent;
    int64_t at = value_as_integer(bound);
    if (at < 0)
        at = at < -length ? low : at + length;
    return at < low ? low : at > high ? high : at;
}

/* The characters of a string, each as a string. */
static struct list *sliced_items(struct run *run, struct value value)
{
    return value.kind == VALUE_STRING ? value_iterate(run, value) : value.list;
}

static struct value slice_result(struct run *run, struct value value,
                                 struct list *kept)
{
    struct buf text = {0};
    if (value.kind != VALUE_STRING)
        return value_list(value.kind, kept);
    for (size_t i = 0; i < kept->count; i++)
        run_put(run, &text, kept->items[i].string);
    value.string = run_take(run, &text);
    return value;
}

/* What is between two characters of a string, without a copy. */
static struct value substring(struct value value, int64_t from, int64_t to)
{
    size_t begin = string_offset(value.string, (size_t)from);
    size_t end = to > from ? string_offset(value.string, (size_t)to) : begin;
    value.string = (struct slice){value.string.data + begin, end - begin};
    return value;
}

static bool can_slice(struct value value, const struct value bounds[3])
{
    bool can = value.kind == VALUE_STRING || value_is_indexed(value);
    for (size_t i = 0; i < 3; i++)
        can &= bounds[i].kind == VALUE_NONE || value_is_integer(bounds[i]);
    return can;
}

struct value slice_value(struct run *run, struct value value,
                         const struct value bounds[3])
{
    if (!can_slice(value, bounds))
        return run_fail(run, ERR_FORMAT, "%s cannot be sliced so",
                        value_type(value));
    int64_t length = (int64_t)value_length(run, value), step = 1;
    if (bounds[2].kind != VALUE_NONE)
        step = value_as_integer(bounds[2]);
    if (!step)
        return run_fail(run, ERR_FORMAT, "the step of a slice is zero");
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
    int64_t from =
        slice_bound(bounds[0], length, low, high, step < 0 ? high : low);
    int64_t to =
        slice_bound(bounds[1], length, low, high, step < 0 ? low : high);
    if (run->failed)
        return value_none();
    if (value.kind == VALUE_STRING && step == 1)
        return substring(value, from, to);
    struct list *items = sliced_items(run, value), *kept = list_new(run);
    while (step < 0 ? from > to : from < to) {
        if (run->failed)
            return value_none();
        list_add(run, kept, items->items[from]);
        if (__builtin_add_overflow(from, step, &from))
            break;
    }
    return slice_result(run, value, kept);
}
