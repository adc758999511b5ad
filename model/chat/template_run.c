/* Budgets, memory and variables of a run. */
#include "model/chat/template_run_internal.h"

#include <stdarg.h>

static void fail(struct run *run, int code, const char *message)
{
    if (!run->failed)
        err_set(run->err, code, "chat template, line %u: %s", run->line,
                message);
    run->failed = true;
}

struct value run_fail(struct run *run, int code, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fail(run, code, message);
    return value_none();
}

struct value run_refuse(struct run *run, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return run_fail(run, ERR_MODEL, "%s is not supported", message);
}

void run_charge(struct run *run, size_t steps)
{
    if (steps > MAX_STEPS - run->steps)
        run_fail(run, ERR_LIMIT, "it does not end within %d steps", MAX_STEPS);
    else
        run->steps += steps;
}

/* Neither text has more than MAX_TEXT_BYTES. */
void run_charge_pairs(struct run *run, struct slice text, struct slice other)
{
    run_charge(run, (text.size * 4 + text.size * other.size) / 64);
}

bool run_enter(struct run *run)
{
    run_charge(run, 1);
    if (++run->depth > MAX_RUN_DEPTH)
        run_fail(run, ERR_LIMIT, "nested or called too deeply");
    return !run->failed;
}

void run_leave(struct run *run)
{
    run->depth--;
}

void *run_alloc(struct run *run, size_t size)
{
    if (run->arena.used + size > MAX_VALUE_BYTES)
        run_fail(run, ERR_LIMIT, "its values take more than %d MiB",
                 MAX_VALUE_BYTES >> 20);
    return arena_alloc(&run->arena, size);
}

void run_put(struct run *run, struct buf *out, struct slice text)
{
    run_charge(run, text.size / 64);
    if (text.size > MAX_TEXT_BYTES - out->size)
        run_fail(run, ERR_LIMIT, "a text grows beyond %d MiB",
                 MAX_TEXT_BYTES >> 20);
    if (!run->failed)
        buf_put_slice(out, text);
}

struct slice run_take(struct run *run, struct buf *text)
{
    char *copy = run_alloc(run, text->size + 1);
    struct slice taken = {copy, text->size};
    if (text->size)
        memcpy(copy, text->data, text->size);
    buf_free(text);
    return taken;
}

/* ---- Variables ---- */

struct scope *run_scope(struct run *run, struct scope *parent)
{
    struct scope *scope = run_alloc(run, sizeof *scope);
    scope->parent = parent;
    return scope;
}

static struct binding *find_in(struct run *run, const struct scope *scope,
                               struct slice name)
{
    size_t passed = 0;
    struct binding *binding = scope->bindings;
    while (binding && !slice_equal(binding->name, name)) {
        binding = binding->next;
        passed++;
    }
    run_charge(run, passed / 16);
    return binding;
}

void run_set(struct run *run, struct slice name, struct value value)
{
    struct binding *binding = find_in(run, run->scope, name);
    if (!binding) {
        binding = run_alloc(run, sizeof *binding);
        binding->name = name;
        binding->next = run->scope->bindings;
        run->scope->bindings = binding;
    }
    binding->value = value;
}

struct value run_get(struct run *run, struct slice name)
{
    for (struct scope *scope = run->scope; scope; scope = scope->parent) {
        struct binding *binding = find_in(run, scope, name);
        if (binding)
            return binding->value;
    }
    return value_undefined(name);
}

/* ---- What is built in ---- */

const struct builtin *builtin_find(const struct builtin *table,
                                   struct slice name)
{
    for (const struct builtin *one = table; one->name; one++)
        if (slice_is(name, one->name))
            return one;
    return table == template_filters ? builtin_find(template_list_filters, name)
                                     : NULL;
}

struct slice argument_text(struct run *run, struct value argument,
                           const char *absent)
{
    if (argument.kind == VALUE_ABSENT)
        return slice_of(absent);
    if (argument.kind != VALUE_STRING)
        run_fail(run, ERR_FORMAT, "a string is expected, not %s",
                 value_type(argument));
    return argument.kind == VALUE_STRING ? argument.string : slice_of("");
}

int64_t argument_integer(struct run *run, struct value argument, int64_t absent)
{
    if (argument.kind == VALUE_ABSENT)
        return absent;
    if (value_is_integer(argument))
        return value_as_integer(argument);
    run_fail(run, ERR_FORMAT, "an integer is expected, not %s",
             value_type(argument));
    return absent;
}

/* Where the argument called `name` goes; MAX_PARAMETERS: nowhere. */
static size_t parameter_named(const struct builtin *builtin, struct slice name)
{
    size_t at = 0;
    while (at < MAX_PARAMETERS && (!builtin->parameters[at] ||
                                   !slice_is(name, builtin->parameters[at])))
        at++;
    return at;
}

static void bind_argument(struct run *run, const struct builtin *builtin,
                          const struct argument *argument, size_t position,
                          struct value *bound)
{
    bool named = argument->name.data;
    bool rest = builtin->parameters[0] && !strcmp(builtin->parameters[0], "**");
    size_t at = named ? parameter_named(builtin, argument->name)
                      : position + (rest ? 1 : 0);
    if (named && rest)
        dict_put(run, bound[0].dict, value_string(argument->name),
                 argument->value);
    else if (at >= MAX_PARAMETERS || !builtin->parameters[at] ||
             bound[at].kind != VALUE_ABSENT)
        run_fail(run, ERR_FORMAT, "'%s' takes no such argument", builtin->name);
    else
        bound[at] = argument->value;
}

struct value call_builtin(struct run *run, const char *what,
                          const struct builtin *builtin, struct value subject,
                          const struct argument *arguments, size_t count)
{
    struct value bound[MAX_PARAMETERS] = {0};
    if (!builtin->call)
        return run_refuse(run, "the %s '%s'", what, builtin->name);
    if (builtin->parameters[0] && !strcmp(builtin->parameters[0], "**"))
        bound[0] = value_dict(dict_new(run));
    for (size_t i = 0; i < count && !run->failed; i++)
        bind_argument(run, builtin, &arguments[i], i, bound);
    for (size_t i = 0; i < builtin->required; i++)
        if (bound[i].kind == VALUE_ABSENT)
            run_fail(run, ERR_FORMAT, "the %s '%s' lacks an argument", what,
                     builtin->name);
    if (run->failed)
        return value_none();
    struct value result = builtin->call(run, subject, bound);
    if (subject.safe && result.kind == VALUE_STRING)
        result.safe = true;
    return result;
}
