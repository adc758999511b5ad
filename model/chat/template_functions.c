/* Functions that a template finds defined. */
#include "model/chat/template_run_internal.h"

static struct value function_range(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    (void)subject;
    bool one = arguments[1].kind == VALUE_ABSENT;
    int64_t from = one ? 0 : argument_integer(run, arguments[0], 0);
    int64_t to = argument_integer(run, arguments[one ? 0 : 1], 0);
    int64_t step = argument_integer(run, arguments[2], 1);
    struct list *list = list_new(run);
    if (!step)
        return run_fail(run, ERR_FORMAT, "the step of a range is zero");
    while ((step > 0 ? from < to : from > to) && !run->failed) {
        if (list->count == MAX_RANGE)
            return run_fail(run, ERR_LIMIT, "a range has more than %d items",
                            MAX_RANGE);
        list_add(run, list, value_integer(from));
        if (__builtin_add_overflow(from, step, &from))
            break;
    }
    return value_list(VALUE_RANGE, list);
}

/* dict(...): what the first argument has, then what was given by name. */
static struct value function_dict(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    struct dict *dict = dict_new(run);
    struct value parts[] = {arguments[1], arguments[0]};
    (void)subject;
    for (size_t i = 0; i < 2; i++) {
        if (parts[i].kind == VALUE_ABSENT)
            continue;
        if (parts[i].kind != VALUE_DICT)
            return run_refuse(run, "a dict of %s", value_type(parts[i]));
        for (size_t j = 0; j < parts[i].dict->count && !run->failed; j++)
            dict_put(run, dict, parts[i].dict->pairs[j].key,
                     parts[i].dict->pairs[j].value);
    }
    return value_dict(dict);
}

static struct value function_namespace(struct run *run, struct value subject,
                                       const struct value *arguments)
{
    struct value value = function_dict(run, subject, arguments);
    if (value.kind == VALUE_DICT)
        value.kind = VALUE_NAMESPACE;
    return value;
}

static struct value function_raise(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    struct slice text = value_to_string(run, arguments[0]);
    (void)subject;
    return run_fail(run, ERR_USAGE, "it refuses the conversation: %.*s",
                    (int)(text.size < 400 ? text.size : 400), text.data);
}

/* Does the C library print each conversion as Python does? */
static bool is_known_format(const char *format)
{
    for (; (format = strchr(format, '%')); format++) {
        format += format[1] == '-' ? 2 : 1;
        if (!*format || !strchr("aAbBdeHIjmMpSuUwWyYDFTR%", *format))
            return false;
    }
    return true;
}

static struct value function_strftime(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    char format[128], text[512];
    struct slice given = argument_text(run, arguments[0], "");
    (void)subject;
    if (given.size >= sizeof format)
        return run_fail(run, ERR_LIMIT, "the format of a date is too long");
    memcpy(format, given.data, given.size);
    format[given.size] = '\0';
    if (strlen(format) != given.size || !is_known_format(format))
        return run_refuse(run, "the format '%s' of a date", format);
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* it was checked above */
    size_t size = strftime(text, sizeof text, format, run->input->now);
    char *copy = run_alloc(run, size + 1);
    memcpy(copy, text, size);
    return value_string((struct slice){copy, size});
}

const struct builtin template_functions[] = {
    {"dict", function_dict, 0, {"**", "*"}},
    {"namespace", function_namespace, 0, {"**", "*"}},
    {"raise_exception", function_raise, 1, {"message"}},
    {"range", function_range, 1, {"*", "*", "*"}},
    {"strftime_now", function_strftime, 1, {"format"}},
    {"cycler", NULL, 0, {NULL}},
    {"joiner", NULL, 0, {NULL}},
    {"lipsum", NULL, 0, {NULL}},
    {NULL, NULL, 0, {NULL}},
};
