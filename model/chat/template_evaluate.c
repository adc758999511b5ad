/* Evaluates expressions. */
#include "model/chat/template_run_internal.h"

/* ---- Attributes and items ---- */

static const struct builtin *find_method(struct value value, struct slice name)
{
    if (value.kind == VALUE_STRING)
        return builtin_find(string_methods, name);
    if (value.kind == VALUE_DICT)
        return builtin_find(dict_methods, name);
    return value_is_indexed(value) ? builtin_find(list_methods, name) : NULL;
}

static struct value bind_method(struct run *run, struct value subject,
                                struct slice name)
{
    const struct builtin *builtin = find_method(subject, name);
    if (!builtin)
        return value_undefined(name);
    if (subject.safe)
        return run_refuse(run, "a method of a safe string");
    struct bound_method *method = run_alloc(run, sizeof *method);
    *method = (struct bound_method){subject, builtin};
    return (struct value){.kind = VALUE_METHOD, .method = method};
}

static struct value fail_undefined(struct run *run, struct value value)
{
    return run_fail(run, ERR_FORMAT, "'%.*s' is undefined",
                    (int)(value.string.size < 100 ? value.string.size : 100),
                    value.string.data);
}

struct value get_attribute(struct run *run, struct value value,
                           struct slice name)
{
    if (value.kind == VALUE_UNDEFINED)
        return fail_undefined(run, value);
    if (value.kind == VALUE_LOOP)
        return loop_attribute(run, value.loop, name);
    struct value method = bind_method(run, value, name);
    bool has_keys = value.kind == VALUE_DICT || value.kind == VALUE_NAMESPACE;
    if (method.kind == VALUE_METHOD || !has_keys)
        return method;
    struct value *found = dict_find(run, value.dict, value_string(name));
    return found ? *found : method;
}

static struct value item_at(struct run *run, struct value value, int64_t index)
{
    int64_t length = (int64_t)value_length(run, value);
    if (index < 0)
        index += length;
    if (run->failed || index < 0 || index >= length)
        return value_undefined(slice_of("an item"));
    struct value from = value_integer(index), to = value_integer(index + 1);
    if (value.kind == VALUE_STRING)
        return slice_value(run, value,
                           (struct value[]){from, to, value_none()});
    return value.list->items[index];
}

struct value get_item(struct run *run, struct value value, struct value key)
{
    if (value.kind == VALUE_UNDEFINED)
        return fail_undefined(run, value);
    if (value.kind == VALUE_DICT && value_is_key(run, key)) {
        struct value *found = dict_find(run, value.dict, key);
        if (found)
            return *found;
    }
    if (value_is_integer(key) &&
        (value.kind == VALUE_STRING || value_is_indexed(value)))
        return item_at(run, value, value_as_integer(key));
    if (key.kind == VALUE_STRING)
        return get_attribute(run, value, key.string);
    return value_undefined(slice_of("an item"));
}

static bool all_digits(struct slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at && at == text.size && at < 18;
}

struct value get_path(struct run *run, struct value value, struct value path)
{
    if (path.kind != VALUE_STRING)
        return get_item(run, value, path);
    struct slice rest = path.string;
    while (!run->failed) {
        const char *dot = rest.size ? memchr(rest.data, '.', rest.size) : NULL;
        struct slice part = {rest.data,
                             dot ? (size_t)(dot - rest.data) : rest.size};
        int64_t index = 0;
        run_charge(run, 1 + part.size / 64);
        for (size_t i = 0; i < part.size && all_digits(part); i++)
            index = index * 10 + (part.data[i] - '0');
        value = get_item(run, value,
                         all_digits(part) ? value_integer(index)
                                          : value_string(part));
        if (!dot)
            break;
        rest = (struct slice){dot + 1, rest.size - part.size - 1};
    }
    return value;
}

/* ---- Calls ---- */

/* What a call, a filter or a test is given. */
struct given {
    struct argument *arguments; /* with room for one more */
    size_t count;
};

static struct given collect_arguments(struct run *run, const struct node *nodes)
{
    size_t count = 0;
    for (const struct node *one = nodes; one; one = one->next)
        count++;
    struct given given = {run_alloc(run, (count + 1) * sizeof *given.arguments),
                          0};
    for (const struct node *one = nodes; one; one = one->next) {
        bool named = one->kind == NODE_KEYWORD;
        struct value value = evaluate(run, named ? one->right : one);
        given.arguments[given.count++] =
            (struct argument){named ? one->text : (struct slice){0}, value};
    }
    return given;
}

static struct value call_value(struct run *run, struct value callee,
                               const struct argument *arguments, size_t count)
{
    struct value nothing = {0};
    switch (callee.kind) {
    case VALUE_MACRO: return call_macro(run, callee.macro, arguments, count);
    case VALUE_METHOD:
        return call_builtin(run, "method", callee.method->builtin,
                            callee.method->subject, arguments, count);
    case VALUE_FUNCTION:
        return call_builtin(run, "function", callee.builtin, nothing, arguments,
                            count);
    case VALUE_UNDEFINED: return fail_undefined(run, callee);
    default:
        return run_fail(run, ERR_FORMAT, "%s cannot be called",
                        value_type(callee));
    }
}

struct value evaluate_call(struct run *run, const struct node *call,
                           struct value caller)
{
    struct value callee = evaluate(run, call->left);
    struct given given = collect_arguments(run, call->items);
    if (caller.kind != VALUE_ABSENT)
        given.arguments[given.count++] =
            (struct argument){slice_of("caller"), caller};
    return run->failed ? value_none()
                       : call_value(run, callee, given.arguments, given.count);
}

static struct value evaluate_builtin(struct run *run, const struct node *node)
{
    struct value subject = evaluate(run, node->left);
    struct given given = collect_arguments(run, node->items);
    if (run->failed)
        return value_none();
    return call_builtin(run, node->kind == NODE_FILTER ? "filter" : "test",
                        node->builtin, subject, given.arguments, given.count);
}

/* ---- Literals and operators ---- */

static struct value evaluate_list(struct run *run, const struct node *node)
{
    struct list *list = list_new(run);
    const struct node *item = node->items;
    for (; item && !run->failed; item = item->next)
        list_add(run, list, evaluate(run, item));
    return value_list(node->kind == NODE_LIST ? VALUE_LIST : VALUE_TUPLE, list);
}

static struct value evaluate_dict(struct run *run, const struct node *node)
{
    struct dict *dict = dict_new(run);
    const struct node *pair = node->items;
    for (; pair && !run->failed; pair = pair->next) {
        struct value key = evaluate(run, pair->left);
        dict_put(run, dict, key, evaluate(run, pair->right));
    }
    return value_dict(dict);
}

static struct value evaluate_concat(struct run *run, const struct node *node)
{
    struct buf text = {0};
    const struct node *part = node->items;
    for (; part && !run->failed; part = part->next)
        value_print(run, &text, evaluate(run, part));
    return value_string(run_take(run, &text));
}

static bool compare(struct run *run, struct slice operator, struct value left,
                    struct value right)
{
    if (slice_is(operator, "=="))
        return value_equal(run, left, right);
    if (slice_is(operator, "!="))
        return !value_equal(run, left, right);
    if (slice_is(operator, "in"))
        return value_contains(run, right, left);
    if (slice_is(operator, "not"))
        return !value_contains(run, right, left);
    int order = value_order(run, left, right);
    bool equal = operator.size == 2 && order == 0;
    return equal || (operator.data[0] == '<' ? order < 0 : order> 0);
}

static struct value evaluate_compare(struct run *run, const struct node *node)
{
    struct value left = evaluate(run, node->left);
    const struct node *operand = node->items;
    for (; operand && !run->failed; operand = operand->next) {
        struct value right = evaluate(run, operand->right);
        if (!compare(run, operand->text, left, right))
            return value_boolean(false);
        left = right;
    }
    return value_boolean(true);
}

static struct value evaluate_unary(struct run *run, const struct node *node)
{
    struct value value = evaluate(run, node->left);
    if (!value_is_number(value))
        return run_fail(run, ERR_FORMAT, "%s has no sign", value_type(value));
    struct value zero =
        value.kind == VALUE_FLOAT ? value_float(-0.0) : value_integer(0);
    if (slice_is(node->text, "-") && value.kind == VALUE_FLOAT)
        return value_float(-value.number);
    return operate(run, node->text, zero, value);
}

/* `and`, `or`: the operand that decides, as it is. */
static struct value evaluate_logic(struct run *run, const struct node *node)
{
    struct value left = evaluate(run, node->left);
    bool decided = value_truth(left) == (node->kind == NODE_OR);
    return decided ? left : evaluate(run, node->right);
}

static struct value evaluate_conditional(struct run *run,
                                         const struct node *node)
{
    if (value_truth(evaluate(run, node->left)))
        return evaluate(run, node->right);
    if (node->other)
        return evaluate(run, node->other);
    return value_undefined(slice_of("an expression without else"));
}

static struct value evaluate_binary(struct run *run, const struct node *node)
{
    struct value left = evaluate(run, node->left);
    return operate(run, node->text, left, evaluate(run, node->right));
}

static struct value evaluate_slice(struct run *run, const struct node *node)
{
    struct value value = evaluate(run, node->left), bounds[3];
    const struct node *bound = node->items;
    for (size_t i = 0; i < 3; i++, bound = bound->next)
        bounds[i] = evaluate(run, bound);
    return slice_value(run, value, bounds);
}

static struct value evaluate_item(struct run *run, const struct node *node)
{
    struct value value = evaluate(run, node->left);
    return get_item(run, value, evaluate(run, node->right));
}

static struct value dispatch(struct run *run, const struct node *node)
{
    switch (node->kind) {
    case NODE_CONSTANT: return node->constant;
    case NODE_CAPTURED: return run->captured;
    case NODE_NAME: return run_get(run, node->text);
    case NODE_LIST:
    case NODE_TUPLE: return evaluate_list(run, node);
    case NODE_DICT: return evaluate_dict(run, node);
    case NODE_ATTRIBUTE:
        return get_attribute(run, evaluate(run, node->left), node->text);
    case NODE_ITEM: return evaluate_item(run, node);
    case NODE_SLICE: return evaluate_slice(run, node);
    case NODE_CALL: return evaluate_call(run, node, (struct value){0});
    case NODE_FILTER:
    case NODE_TEST: return evaluate_builtin(run, node);
    case NODE_NOT:
        return value_boolean(!value_truth(evaluate(run, node->left)));
    case NODE_AND:
    case NODE_OR: return evaluate_logic(run, node);
    case NODE_UNARY: return evaluate_unary(run, node);
    case NODE_BINARY: return evaluate_binary(run, node);
    case NODE_CONCAT: return evaluate_concat(run, node);
    case NODE_COMPARE: return evaluate_compare(run, node);
    case NODE_CONDITIONAL: return evaluate_conditional(run, node);
    default: return run_fail(run, ERR_INTERNAL, "no expression");
    }
}

struct value evaluate(struct run *run, const struct node *node)
{
    struct value value = value_none();
    unsigned line = run->line;
    run->line = node->line;
    if (run_enter(run))
        value = dispatch(run, node);
    run_leave(run);
    run->line = line;
    return run->failed ? value_none() : value;
}
