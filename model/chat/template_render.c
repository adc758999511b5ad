/* Runs statements. */
#include "model/chat/template_run_internal.h"

static enum flow execute(struct run *run, const struct node *node);

enum flow execute_all(struct run *run, const struct node *statements)
{
    enum flow flow = FLOW_NEXT;
    for (const struct node *node = statements;
         node && flow == FLOW_NEXT && !run->failed; node = node->next)
        flow = execute(run, node);
    return flow;
}

static enum flow execute_in(struct run *run, struct scope *scope,
                            const struct node *statements)
{
    struct scope *outer = run->scope;
    run->scope = scope;
    enum flow flow = execute_all(run, statements);
    run->scope = outer;
    return flow;
}

static enum flow execute_inner(struct run *run, const struct node *statements)
{
    return execute_in(run, run_scope(run, run->scope), statements);
}

/* What statements write, as a string. */
static struct value capture(struct run *run, struct scope *scope,
                            const struct node *statements, enum flow *ret_flow)
{
    struct buf text = {0}, *out = run->out;
    run->out = &text;
    *ret_flow = execute_in(run, scope, statements);
    run->out = out;
    return value_string(run_take(run, &text));
}

/* ---- Assignments ---- */

static void assign_attribute(struct run *run, const struct node *target,
                             struct value value)
{
    struct value space = run_get(run, target->left->text);
    if (space.kind != VALUE_NAMESPACE)
        run_fail(run, ERR_FORMAT, "an attribute is set of %s, not a namespace",
                 value_type(space));
    else
        dict_put(run, space.dict, value_string(target->text), value);
}

static void assign_parts(struct run *run, const struct node *target,
                         struct value value)
{
    struct list *parts = value_iterate(run, value);
    const struct node *part = target->items;
    size_t i = 0;
    for (; part && i < parts->count; part = part->next)
        assign(run, part, parts->items[i++]);
    if (part || i < parts->count)
        run_fail(run, ERR_FORMAT,
                 "%zu values are set to another number of names", parts->count);
}

void assign(struct run *run, const struct node *target, struct value value)
{
    if (target->kind == NODE_NAME)
        run_set(run, target->text, value);
    else if (target->kind == NODE_TUPLE)
        assign_parts(run, target, value);
    else
        assign_attribute(run, target, value);
}

static struct value filter_captured(struct run *run, const struct node *filters,
                                    struct value text)
{
    struct value outer = run->captured;
    run->captured = text;
    struct value value = filters ? evaluate(run, filters) : text;
    run->captured = outer;
    return value;
}

static enum flow execute_set_block(struct run *run, const struct node *node)
{
    enum flow flow;
    struct value text =
        capture(run, run_scope(run, run->scope), node->items, &flow);
    if (flow == FLOW_NEXT)
        assign(run, node->left, filter_captured(run, node->right, text));
    return flow;
}

static enum flow execute_filter_block(struct run *run, const struct node *node)
{
    enum flow flow;
    struct value text =
        capture(run, run_scope(run, run->scope), node->items, &flow);
    if (flow != FLOW_NEXT)
        return flow;
    struct value filtered = filter_captured(run, node->right, text);
    run_put(run, run->out, argument_text(run, filtered, ""));
    return flow;
}

static enum flow execute_with(struct run *run, const struct node *node)
{
    struct scope *outer = run->scope, *inner = run_scope(run, outer);
    for (const struct node *one = node->left; one; one = one->next) {
        struct value value = evaluate(run, one->right);
        run->scope = inner;
        run_set(run, one->text, value);
        run->scope = outer;
    }
    return execute_in(run, inner, node->items);
}

/* ---- Macros ---- */

static void define_macro(struct run *run, const struct node *node)
{
    struct macro *macro = run_alloc(run, sizeof *macro);
    *macro = (struct macro){node, run->scope};
    run_set(run, node->text,
            (struct value){.kind = VALUE_MACRO, .macro = macro});
}

/* The argument for the parameter at `position`, NULL when it is not given. */
static const struct argument *find_argument(const struct argument *arguments,
                                            size_t count, size_t position,
                                            struct slice name)
{
    if (position < count && !arguments[position].name.data)
        return &arguments[position];
    for (size_t i = 0; i < count; i++)
        if (arguments[i].name.data && slice_equal(arguments[i].name, name))
            return &arguments[i];
    return NULL;
}

/* Sets the parameters in the scope of the call; a default may use those before. */
static void bind_parameters(struct run *run, const struct macro *macro,
                            const struct argument *arguments, size_t count)
{
    size_t position = 0, used = 0;
    const struct node *one = macro->node->left;
    for (; one && !run->failed; one = one->next, position++) {
        const struct argument *given =
            find_argument(arguments, count, position, one->text);
        used += given != NULL;
        run_set(run, one->text,
                given        ? given->value
                : one->right ? evaluate(run, one->right)
                             : value_undefined(one->text));
    }
    const struct argument *caller =
        find_argument(arguments, count, count, slice_of("caller"));
    if (caller && macro->node->names_caller) {
        run_set(run, slice_of("caller"), caller->value);
        used++;
    }
    if (used < count)
        run_fail(run, ERR_FORMAT, "the macro '%.*s' takes no such argument",
                 (int)macro->node->text.size, macro->node->text.data);
}

struct value call_macro(struct run *run, const struct macro *macro,
                        const struct argument *arguments, size_t count)
{
    enum flow flow;
    struct scope *outer = run->scope, *inner = run_scope(run, macro->scope);
    struct value text = value_none();
    run->scope = inner;
    bind_parameters(run, macro, arguments, count);
    if (!run->failed)
        text = capture(run, inner, macro->node->items, &flow);
    run->scope = outer;
    return text;
}

/* The call, with its body as one more argument. */
static void execute_call_block(struct run *run, const struct node *node)
{
    struct macro *macro = run_alloc(run, sizeof *macro);
    *macro = (struct macro){node->right, run->scope};
    struct value caller = {.kind = VALUE_MACRO, .macro = macro};
    value_print(run, run->out, evaluate_call(run, node->left, caller));
}

/* ---- Loops ---- */

static bool passes_filter(struct run *run, struct loop *loop, struct value item)
{
    struct scope *current = run->scope;
    if (!loop->node->third)
        return true;
    run->scope = run_scope(run, loop->scope);
    assign(run, loop->node->left, item);
    bool passes = value_truth(evaluate(run, loop->node->third));
    run->scope = current;
    return passes;
}

bool loop_reaches(struct run *run, struct loop *loop, size_t index)
{
    while (!run->failed && loop->accepted->count <= index &&
           loop->scanned < loop->source->count) {
        struct value item = loop->source->items[loop->scanned++];
        run_charge(run, 1);
        if (passes_filter(run, loop, item))
            list_add(run, loop->accepted, item);
    }
    return !run->failed && index < loop->accepted->count;
}

struct value loop_attribute(struct run *run, struct loop *loop,
                            struct slice name)
{
    int64_t index = (int64_t)loop->index;
    if (slice_is(name, "index0"))
        return value_integer(index);
    if (slice_is(name, "index"))
        return value_integer(index + 1);
    if (slice_is(name, "first"))
        return value_boolean(!index);
    if (slice_is(name, "last"))
        return value_boolean(!loop_reaches(run, loop, loop->index + 1));
    if (slice_is(name, "previtem"))
        return index ? loop->accepted->items[index - 1] : value_undefined(name);
    if (slice_is(name, "nextitem"))
        return loop_reaches(run, loop, loop->index + 1)
                   ? loop->accepted->items[index + 1]
                   : value_undefined(name);
    loop_reaches(run, loop, SIZE_MAX);
    int64_t length = (int64_t)loop->accepted->count;
    if (slice_is(name, "length"))
        return value_integer(length);
    if (slice_is(name, "revindex"))
        return value_integer(length - index);
    if (slice_is(name, "revindex0"))
        return value_integer(length - index - 1);
    return run_refuse(run, "loop.%.*s", (int)name.size, name.data);
}

static enum flow execute_turn(struct run *run, struct loop *loop)
{
    struct scope *outer = run->scope;
    run->scope = run_scope(run, outer);
    run_set(run, slice_of("loop"),
            (struct value){.kind = VALUE_LOOP, .loop = loop});
    assign(run, loop->node->left, loop->accepted->items[loop->index]);
    enum flow flow = execute_all(run, loop->node->items);
    run->scope = outer;
    return flow;
}

/* As in Jinja2, `else` runs when no turn got to its end. */
static enum flow execute_for(struct run *run, const struct node *node)
{
    struct loop *loop = run_alloc(run, sizeof *loop);
    enum flow flow = FLOW_NEXT;
    bool completed = false;
    *loop =
        (struct loop){.node = node,
                      .scope = run->scope,
                      .source = value_iterate(run, evaluate(run, node->right)),
                      .accepted = list_new(run)};
    for (; flow != FLOW_BREAK && loop_reaches(run, loop, loop->index);
         loop->index++) {
        flow = execute_turn(run, loop);
        completed |= flow == FLOW_NEXT;
    }
    if (!completed && node->other)
        return execute_inner(run, node->other->items);
    return FLOW_NEXT;
}

/* ---- One statement ---- */

static enum flow execute_if(struct run *run, const struct node *node)
{
    for (; node && !run->failed; node = node->other)
        if (!node->left || value_truth(evaluate(run, node->left)))
            return execute_all(run, node->items);
    return FLOW_NEXT;
}

static enum flow dispatch(struct run *run, const struct node *node)
{
    switch (node->kind) {
    case NODE_TEXT: run_put(run, run->out, node->text); return FLOW_NEXT;
    case NODE_OUTPUT:
        value_print(run, run->out, evaluate(run, node->left));
        return FLOW_NEXT;
    case NODE_IF: return execute_if(run, node);
    case NODE_FOR: return execute_for(run, node);
    case NODE_SET:
        assign(run, node->left, evaluate(run, node->right));
        return FLOW_NEXT;
    case NODE_SET_BLOCK: return execute_set_block(run, node);
    case NODE_MACRO: define_macro(run, node); return FLOW_NEXT;
    case NODE_CALL_BLOCK: execute_call_block(run, node); return FLOW_NEXT;
    case NODE_FILTER_BLOCK: return execute_filter_block(run, node);
    case NODE_WITH: return execute_with(run, node);
    case NODE_SCOPE: return execute_inner(run, node->items);
    case NODE_BREAK: return FLOW_BREAK;
    case NODE_CONTINUE: return FLOW_CONTINUE;
    default: run_fail(run, ERR_INTERNAL, "no statement"); return FLOW_NEXT;
    }
}

static enum flow execute(struct run *run, const struct node *node)
{
    enum flow flow = FLOW_NEXT;
    unsigned line = run->line;
    run->line = node->line;
    if (run_enter(run))
        flow = dispatch(run, node);
    run_leave(run);
    run->line = line;
    return flow;
}
