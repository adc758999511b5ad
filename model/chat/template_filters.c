/* Filters of single values. */
#include <errno.h>
#include <math.h>

#include "base/text.h"
#include "model/chat/template_run_internal.h"
#include "model/chat/template_strings_internal.h"

static struct value taken(struct run *run, struct buf *text)
{
    return value_string(run_take(run, text));
}

/* ---- Strings ---- */

static struct value filter_string(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    (void)arguments;
    return value_string(value_to_string(run, subject));
}

/* Markup is a string that escapes what is added to it: that is refused. */
static struct value filter_safe(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct value text = filter_string(run, subject, arguments);
    text.safe = true;
    return text;
}

static struct value filter_trim(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct slice text = value_to_string(run, subject);
    bool given =
        arguments[0].kind != VALUE_ABSENT && arguments[0].kind != VALUE_NONE;
    struct slice set =
        given ? argument_text(run, arguments[0], "") : slice_of("");
    run_charge_pairs(run, text, set);
    if (run->failed)
        return value_none();
    return value_string(given ? string_strip_set(text, set, true, true)
                              : string_strip(text));
}

static struct value filter_upper(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_put_case(run, &text, value_to_string(run, subject), STRING_UPPER);
    return taken(run, &text);
}

static struct value filter_lower(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_put_case(run, &text, value_to_string(run, subject), STRING_LOWER);
    return taken(run, &text);
}

static struct value filter_capitalize(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_capitalize(run, &text, value_to_string(run, subject));
    return taken(run, &text);
}

/* Where the word that begins at `at` ends; words are parted by white space,
 * hyphens and opening brackets, not by what str.title() takes. */
static size_t word_end(struct slice text, size_t at)
{
    for (size_t size; at < text.size; at += size) {
        uint32_t code = text_decode(text.data, text.size, at, &size);
        if (strchr("-({[<", text.data[at]) || string_is_space(code))
            break;
    }
    return at;
}

static struct value filter_title(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct slice text = value_to_string(run, subject);
    struct buf titled = {0};
    (void)arguments;
    for (size_t at = 0; at < text.size && !run->failed;) {
        size_t step = string_step(text, at), end = word_end(text, at);
        if (end < at + step)
            end = at + step;
        string_put_case(run, &titled, (struct slice){text.data + at, step},
                        STRING_UPPER);
        string_put_case(run, &titled,
                        (struct slice){text.data + at + step, end - at - step},
                        STRING_LOWER);
        at = end;
    }
    return taken(run, &titled);
}

static struct value filter_replace(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    struct buf text = {0};
    struct value count = arguments[2];
    if (count.kind == VALUE_NONE)
        count.kind = VALUE_ABSENT;
    string_replace(run, &text, value_to_string(run, subject),
                   value_to_string(run, arguments[0]),
                   value_to_string(run, arguments[1]),
                   argument_integer(run, count, -1));
    return taken(run, &text);
}

static struct slice indention(struct run *run, struct value width)
{
    struct buf text = {0};
    if (width.kind == VALUE_STRING)
        return width.string;
    int64_t count = argument_integer(run, width, 4);
    for (; count > 0 && !run->failed; count--)
        run_put(run, &text, slice_of(" "));
    return run_take(run, &text);
}

static struct value filter_indent(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    struct slice margin = indention(run, arguments[0]);
    bool first = value_truth(arguments[1]), blank = value_truth(arguments[2]);
    struct slice text = argument_text(run, subject, "");
    struct buf indented = {0};
    bool more = true;
    for (size_t line = 0; more && !run->failed; line++) {
        size_t next, size = string_line(text, &next);
        more = next < text.size || (next > size && next == text.size);
        if (line)
            run_put(run, &indented, slice_of("\n"));
        if (line ? size || blank : first)
            run_put(run, &indented, margin);
        run_put(run, &indented, (struct slice){text.data, size});
        text = (struct slice){text.data + next, text.size - next};
    }
    return taken(run, &indented);
}

static struct value filter_tojson(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    struct buf text = {0};
    struct value indent = arguments[1];
    if (value_truth(arguments[0]) || value_truth(arguments[2]) ||
        value_truth(arguments[3]))
        return run_refuse(run, "tojson with more than an indent");
    if (indent.kind == VALUE_NONE)
        indent.kind = VALUE_ABSENT;
    int64_t width = argument_integer(run, indent, -1);
    if (indent.kind != VALUE_ABSENT && width < 0)
        width = 0;
    value_print_json(run, &text, subject, (int)(width > 1024 ? 1024 : width));
    return taken(run, &text);
}

/* ---- Numbers ---- */

/* A whole decimal number, with white space around. */
static bool parse_integer(struct slice text, int64_t *ret_integer)
{
    char digits[24], *end;
    text = string_strip(text);
    if (!text.size || text.size >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    errno = 0;
    *ret_integer = strtoll(digits, &end, 10);
    return !errno && end == digits + text.size;
}

static bool parse_float(struct slice text, double *ret_number)
{
    char digits[64], *end;
    text = string_strip(text);
    if (!text.size || text.size >= sizeof digits ||
        memchr(text.data, 'x', text.size) || memchr(text.data, 'X', text.size))
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    *ret_number = strtod(digits, &end);
    return end == digits + text.size;
}

static struct value truncate(struct run *run, double number)
{
    if (!(fabs(number) < 9e18))
        return run_refuse(run, "so large an integer");
    return value_integer((int64_t)number);
}

static struct value filter_int(struct run *run, struct value subject,
                               const struct value *arguments)
{
    int64_t integer;
    double number;
    if (subject.kind == VALUE_UNDEFINED)
        return get_attribute(run, subject, slice_of("int"));
    if (argument_integer(run, arguments[1], 10) != 10)
        return run_refuse(run, "int of another base than 10");
    if (subject.kind == VALUE_STRING)
        run_charge_pairs(run, subject.string, slice_of(""));
    if (value_is_integer(subject))
        return value_integer(value_as_integer(subject));
    if (subject.kind == VALUE_FLOAT)
        return truncate(run, subject.number);
    if (subject.kind == VALUE_STRING && parse_integer(subject.string, &integer))
        return value_integer(integer);
    if (subject.kind == VALUE_STRING && parse_float(subject.string, &number))
        return truncate(run, number);
    return arguments[0].kind == VALUE_ABSENT ? value_integer(0) : arguments[0];
}

static struct value filter_float(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    double number;
    if (subject.kind == VALUE_UNDEFINED)
        return get_attribute(run, subject, slice_of("float"));
    if (value_is_number(subject))
        return value_float(value_as_float(subject));
    if (subject.kind == VALUE_STRING)
        run_charge_pairs(run, subject.string, slice_of(""));
    if (subject.kind == VALUE_STRING && parse_float(subject.string, &number))
        return value_float(number);
    return arguments[0].kind == VALUE_ABSENT ? value_float(0) : arguments[0];
}

static struct value filter_abs(struct run *run, struct value subject,
                               const struct value *arguments)
{
    (void)arguments;
    if (!value_is_number(subject))
        return run_fail(run, ERR_FORMAT, "%s has no absolute value",
                        value_type(subject));
    if (subject.kind == VALUE_FLOAT)
        return value_float(fabs(subject.number));
    int64_t integer = value_as_integer(subject);
    return integer < 0 ? operate(run, slice_of("-"), value_integer(0),
                                 value_integer(integer))
                       : value_integer(integer);
}

/* ---- Any value ---- */

static struct value filter_default(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    (void)run;
    bool missing = subject.kind == VALUE_UNDEFINED ||
                   (value_truth(arguments[1]) && !value_truth(subject));
    if (!missing)
        return subject;
    return arguments[0].kind == VALUE_ABSENT ? value_string(slice_of(""))
                                             : arguments[0];
}

static struct value filter_length(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    (void)arguments;
    return value_integer((int64_t)value_length(run, subject));
}

const struct builtin template_filters[] = {
    {"abs", filter_abs, 0, {NULL}},
    {"capitalize", filter_capitalize, 0, {NULL}},
    {"count", filter_length, 0, {NULL}},
    {"d", filter_default, 0, {"default_value", "boolean"}},
    {"default", filter_default, 0, {"default_value", "boolean"}},
    {"float", filter_float, 0, {"default"}},
    {"indent", filter_indent, 0, {"width", "first", "blank"}},
    {"int", filter_int, 0, {"default", "base"}},
    {"length", filter_length, 0, {NULL}},
    {"lower", filter_lower, 0, {NULL}},
    {"replace", filter_replace, 2, {"old", "new", "count"}},
    {"safe", filter_safe, 0, {NULL}},
    {"string", filter_string, 0, {NULL}},
    {"title", filter_title, 0, {NULL}},
    {"tojson",
     filter_tojson,
     0,
     {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"trim", filter_trim, 0, {"chars"}},
    {"upper", filter_upper, 0, {NULL}},
    {NULL, NULL, 0, {NULL}},
};
