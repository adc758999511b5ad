/* Expressions, each level of binding a function, the loosest first:
 *
 *   a if b else c · or · and · not · == != < <= > >= in · + - · ~ · * / // % · **
 *   · unary + - · .name [index] (arguments) · |filter, is test */
#include "model/chat/template_syntax_internal.h"

#include <errno.h>

#include "model/chat/template_run_internal.h"

static struct node *parse_or(struct parser *parser);
static struct node *parse_unary(struct parser *parser, bool with_filters);

static bool at_operator(const struct parser *parser, const char *text)
{
    return parser_is(parser, TOKEN_OPERATOR, text);
}

static struct node *pair_node(struct parser *parser, enum node_kind kind,
                              struct slice operator, struct node * left)
{
    struct node *node = parser_node(parser, kind);
    node->text = operator;
    node->left = left;
    return node;
}

/* ---- Literals ---- */

static struct node *constant(struct parser *parser, struct value value)
{
    struct node *node = parser_node(parser, NODE_CONSTANT);
    node->constant = value;
    return node;
}

static struct node *parse_strings(struct parser *parser)
{
    struct node *node = constant(parser, value_string(parser->token->text));
    struct buf text = {0};
    size_t count = 0;
    for (; parser_is(parser, TOKEN_STRING, NULL); parser->token++, count++)
        buf_put_slice(&text, parser->token->text);
    if (count > 1)
        node->constant.string = (struct slice){
            arena_copy(parser->arena, text.data, text.size), text.size};
    buf_free(&text);
    return node;
}

static struct node *parse_integer(struct parser *parser)
{
    struct slice digits = parser->token->text;
    errno = 0;
    long long integer = strtoll(digits.data, NULL, 10);
    if (errno)
        parser_refuse(parser, "an integer beyond 64 bits");
    struct node *node = constant(parser, value_integer(integer));
    if (digits.data[0] == '0' && integer)
        parser_fail(parser, "an integer begins with 0");
    parser_skip(parser, TOKEN_INTEGER, NULL);
    return node;
}

static struct node *parse_float(struct parser *parser)
{
    double number = strtod(parser->token->text.data, NULL);
    struct node *node = constant(parser, value_float(number));
    parser_skip(parser, TOKEN_FLOAT, NULL);
    return node;
}

static struct node *parse_name(struct parser *parser)
{
    static const struct {
        const char *name;
        struct value value;
    } words[] = {
        {"true", {.kind = VALUE_BOOLEAN, .boolean = true}},
        {"True", {.kind = VALUE_BOOLEAN, .boolean = true}},
        {"false", {.kind = VALUE_BOOLEAN}},
        {"False", {.kind = VALUE_BOOLEAN}},
        {"none", {.kind = VALUE_NONE}},
        {"None", {.kind = VALUE_NONE}},
    };
    struct node *node = parser_node(parser, NODE_NAME);
    node->text = parser_name(parser);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (slice_is(node->text, words[i].name)) {
            node->kind = NODE_CONSTANT;
            node->constant = words[i].value;
        }
    }
    parser->callers += slice_is(node->text, "caller");
    if (parser->macros && slice_is(node->text, "varargs"))
        parser_refuse(parser, "varargs in a macro");
    if (parser->macros && slice_is(node->text, "kwargs"))
        parser_refuse(parser, "kwargs in a macro");
    return node;
}

/* Items up to `close`, each by `parse`; a comma may stand after the last. */
static struct node *parse_items(struct parser *parser, const char *close,
                                struct node *(*parse)(struct parser *parser))
{
    struct node *first = NULL, **last = &first;
    while (!parser->failed && !at_operator(parser, close)) {
        if (first)
            parser_expect(parser, TOKEN_OPERATOR, ",");
        if (first && at_operator(parser, close))
            break;
        *last = parse(parser);
        if (*last)
            last = &(*last)->next;
    }
    parser_expect(parser, TOKEN_OPERATOR, close);
    return first;
}

static struct node *parse_pair(struct parser *parser)
{
    struct node *pair = parser_node(parser, NODE_PAIR);
    pair->left = parse_expression(parser);
    parser_expect(parser, TOKEN_OPERATOR, ":");
    pair->right = parse_expression(parser);
    return pair;
}

/* ( ... ): an expression, or a tuple when it has a comma or is empty. */
static struct node *parse_parenthesis(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_TUPLE);
    parser_expect(parser, TOKEN_OPERATOR, "(");
    if (!at_operator(parser, ")"))
        node = parse_tuple(parser);
    parser_expect(parser, TOKEN_OPERATOR, ")");
    return node;
}

static struct node *parse_primary(struct parser *parser)
{
    struct node *node = NULL;
    struct slice found = parser->token->text;
    if (parser_is(parser, TOKEN_NAME, NULL)) {
        node = parse_name(parser);
    } else if (parser_is(parser, TOKEN_STRING, NULL)) {
        node = parse_strings(parser);
    } else if (parser_is(parser, TOKEN_INTEGER, NULL)) {
        node = parse_integer(parser);
    } else if (parser_is(parser, TOKEN_FLOAT, NULL)) {
        node = parse_float(parser);
    } else if (at_operator(parser, "(")) {
        node = parse_parenthesis(parser);
    } else if (at_operator(parser, "[")) {
        node = parser_node(parser, NODE_LIST);
        parser_skip(parser, TOKEN_OPERATOR, "[");
        node->items = parse_items(parser, "]", parse_expression);
    } else if (at_operator(parser, "{")) {
        node = parser_node(parser, NODE_DICT);
        parser_skip(parser, TOKEN_OPERATOR, "{");
        node->items = parse_items(parser, "}", parse_pair);
    } else {
        parser_fail(parser, "an expression is expected, not %.*s",
                    (int)(found.size < 60 ? found.size : 60), found.data);
    }
    return node;
}

/* ---- Subscripts and calls ---- */

static struct node *parse_bound(struct parser *parser)
{
    if (at_operator(parser, ":") || at_operator(parser, "]"))
        return constant(parser, value_none());
    return parse_expression(parser);
}

/* [index] or [from:to:step] */
static struct node *parse_index(struct parser *parser, struct node *left)
{
    struct node *node = pair_node(parser, NODE_ITEM, (struct slice){0}, left);
    parser_expect(parser, TOKEN_OPERATOR, "[");
    if (at_operator(parser, "]"))
        parser_refuse(parser, "an empty index");
    struct node *from = parse_bound(parser);
    if (parser_skip(parser, TOKEN_OPERATOR, ":")) {
        node->kind = NODE_SLICE;
        struct node *to = parse_bound(parser);
        parser_skip(parser, TOKEN_OPERATOR, ":");
        struct node *step = parse_bound(parser);
        if (parser->failed)
            return NULL;
        node->items = from;
        from->next = to;
        to->next = step;
    } else {
        node->right = from;
    }
    if (at_operator(parser, ","))
        parser_refuse(parser, "an index of several parts");
    parser_expect(parser, TOKEN_OPERATOR, "]");
    return node;
}

static struct node *parse_attribute(struct parser *parser, struct node *left)
{
    struct node *node =
        pair_node(parser, NODE_ATTRIBUTE, (struct slice){0}, left);
    parser_expect(parser, TOKEN_OPERATOR, ".");
    if (parser_is(parser, TOKEN_INTEGER, NULL)) {
        node->kind = NODE_ITEM;
        node->right = parse_integer(parser);
    } else {
        node->text = parser_name(parser);
    }
    return node;
}

static struct node *parse_argument(struct parser *parser)
{
    if (at_operator(parser, "*") || at_operator(parser, "**"))
        parser_refuse(parser, "passing arguments by * or **");
    bool named = parser_is(parser, TOKEN_NAME, NULL) &&
                 parser->token[1].kind == TOKEN_OPERATOR &&
                 slice_is(parser->token[1].text, "=");
    if (!named)
        return parse_expression(parser);
    struct node *node = parser_node(parser, NODE_KEYWORD);
    node->text = parser_name(parser);
    parser_expect(parser, TOKEN_OPERATOR, "=");
    node->right = parse_expression(parser);
    return node;
}

static struct node *parse_arguments(struct parser *parser)
{
    parser_expect(parser, TOKEN_OPERATOR, "(");
    struct node *arguments = parse_items(parser, ")", parse_argument);
    for (struct node *one = arguments; one && one->next; one = one->next)
        if (one->kind == NODE_KEYWORD && one->next->kind != NODE_KEYWORD)
            parser_fail(parser, "an argument follows one by name");
    return arguments;
}

static struct node *parse_call(struct parser *parser, struct node *left)
{
    struct node *node = pair_node(parser, NODE_CALL, (struct slice){0}, left);
    node->items = parse_arguments(parser);
    return node;
}

static struct node *parse_postfix(struct parser *parser, struct node *node)
{
    while (!parser->failed) {
        if (at_operator(parser, "."))
            node = parse_attribute(parser, node);
        else if (at_operator(parser, "["))
            node = parse_index(parser, node);
        else if (at_operator(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

/* ---- Filters and tests ---- */

static const struct builtin *known(struct parser *parser, const char *what,
                                   const struct builtin *table,
                                   struct slice name)
{
    const struct builtin *builtin = builtin_find(table, name);
    if (!builtin && !parser->failed) {
        char text[80];
        snprintf(text, sizeof text, "the %s '%.*s'", what,
                 (int)(name.size < 40 ? name.size : 40), name.data);
        parser->token--; /* so that the error names its line */
        parser_refuse(parser, text);
    }
    return builtin;
}

/* `left` with the filter whose name is next. */
static struct node *parse_filter(struct parser *parser, struct node *left)
{
    struct node *node =
        pair_node(parser, NODE_FILTER, parser->token->text, left);
    node->builtin =
        known(parser, "filter", template_filters, parser_name(parser));
    if (at_operator(parser, "("))
        node->items = parse_arguments(parser);
    return node;
}

/* May the argument of a test stand here without parentheses? */
static bool at_test_argument(const struct parser *parser)
{
    static const char *const words[] = {"else", "or", "and", "is", NULL};
    if (parser_is(parser, TOKEN_NAME, NULL)) {
        for (size_t i = 0; words[i]; i++)
            if (parser_is(parser, TOKEN_NAME, words[i]))
                return false;
        return true;
    }
    return parser_is(parser, TOKEN_STRING, NULL) ||
           parser_is(parser, TOKEN_INTEGER, NULL) ||
           parser_is(parser, TOKEN_FLOAT, NULL) || at_operator(parser, "[") ||
           at_operator(parser, "{");
}

static struct node *parse_test(struct parser *parser, struct node *left)
{
    bool negated = parser_skip(parser, TOKEN_NAME, "not");
    struct node *node = pair_node(parser, NODE_TEST, parser->token->text, left);
    node->builtin = known(parser, "test", template_tests, parser_name(parser));
    if (at_operator(parser, "("))
        node->items = parse_arguments(parser);
    else if (at_test_argument(parser))
        node->items = parse_postfix(parser, parse_primary(parser));
    else if (parser_is(parser, TOKEN_NAME, "is"))
        parser_fail(parser, "tests by `is` cannot be chained");
    return negated ? pair_node(parser, NODE_NOT, (struct slice){0}, node)
                   : node;
}

static struct node *parse_filters_and_tests(struct parser *parser,
                                            struct node *node)
{
    while (!parser->failed) {
        if (parser_skip(parser, TOKEN_OPERATOR, "|"))
            node = parse_filter(parser, node);
        else if (parser_skip(parser, TOKEN_NAME, "is"))
            node = parse_test(parser, node);
        else if (at_operator(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

struct node *parse_block_filters(struct parser *parser, bool inline_first)
{
    struct node *node = NULL;
    if (inline_first)
        node = parse_filter(parser, parser_node(parser, NODE_CAPTURED));
    while (parser_skip(parser, TOKEN_OPERATOR, "|"))
        node = parse_filter(parser,
                            node ? node : parser_node(parser, NODE_CAPTURED));
    return node;
}

/* ---- Operators ---- */

static struct node *parse_signed(struct parser *parser)
{
    struct node *node =
        pair_node(parser, NODE_UNARY, parser->token->text, NULL);
    parser->token++;
    if (parser_enter(parser))
        node->left = parse_unary(parser, false);
    parser_leave(parser);
    return node;
}

static struct node *parse_unary(struct parser *parser, bool with_filters)
{
    bool is_signed = at_operator(parser, "-") || at_operator(parser, "+");
    struct node *node =
        is_signed ? parse_signed(parser) : parse_primary(parser);
    node = parse_postfix(parser, node);
    return with_filters ? parse_filters_and_tests(parser, node) : node;
}

static struct node *parse_filtered(struct parser *parser)
{
    return parse_unary(parser, true);
}

/* Operands by `parse` with any of `operators` between, from left to right. */
static struct node *parse_binary(struct parser *parser,
                                 const char *const *operators,
                                 struct node *(*parse)(struct parser *parser))
{
    struct node *left = parse(parser);
    for (size_t i = 0; operators[i];) {
        struct slice operator= parser->token->text;
        if (!parser_skip(parser, TOKEN_OPERATOR, operators[i])) {
            i++;
            continue;
        }
        left = pair_node(parser, NODE_BINARY, operator, left);
        left->right = parse(parser);
        i = 0;
    }
    return left;
}

static struct node *parse_power(struct parser *parser)
{
    return parse_binary(parser, (const char *[]){"**", NULL}, parse_filtered);
}

static struct node *parse_product(struct parser *parser)
{
    return parse_binary(parser, (const char *[]){"*", "/", "//", "%", NULL},
                        parse_power);
}

static struct node *parse_concatenation(struct parser *parser)
{
    struct node *first = parse_product(parser);
    if (!at_operator(parser, "~"))
        return first;
    struct node *node = parser_node(parser, NODE_CONCAT), *last = first;
    node->items = first;
    while (parser_skip(parser, TOKEN_OPERATOR, "~") && last)
        last = last->next = parse_product(parser);
    return node;
}

static struct node *parse_sum(struct parser *parser)
{
    return parse_binary(parser, (const char *[]){"+", "-", NULL},
                        parse_concatenation);
}

static bool skip_comparison(struct parser *parser, struct slice *ret_operator)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">=", NULL};
    *ret_operator = parser->token->text;
    for (size_t i = 0; signs[i]; i++)
        if (parser_skip(parser, TOKEN_OPERATOR, signs[i]))
            return true;
    if (parser_skip(parser, TOKEN_NAME, "in"))
        return true;
    if (!parser_is(parser, TOKEN_NAME, "not") ||
        parser->token[1].kind != TOKEN_NAME ||
        !slice_is(parser->token[1].text, "in"))
        return false;
    parser->token += 2;
    return true;
}

static struct node *parse_comparison(struct parser *parser)
{
    struct node *left = parse_sum(parser), *node = left, **last = NULL;
    struct slice operator;
    while (!parser->failed && skip_comparison(parser, &operator)) {
        if (!last) {
            node = pair_node(parser, NODE_COMPARE, (struct slice){0}, left);
            last = &node->items;
        }
        *last = pair_node(parser, NODE_OPERAND, operator, NULL);
        (*last)->right = parse_sum(parser);
        last = &(*last)->next;
    }
    return node;
}

static struct node *parse_not(struct parser *parser)
{
    if (!parser_skip(parser, TOKEN_NAME, "not"))
        return parse_comparison(parser);
    struct node *node = parser_node(parser, NODE_NOT);
    if (parser_enter(parser))
        node->left = parse_not(parser);
    parser_leave(parser);
    return node;
}

static struct node *parse_and(struct parser *parser)
{
    struct node *left = parse_not(parser);
    while (parser_skip(parser, TOKEN_NAME, "and")) {
        left = pair_node(parser, NODE_AND, (struct slice){0}, left);
        left->right = parse_not(parser);
    }
    return left;
}

static struct node *parse_or(struct parser *parser)
{
    struct node *left = parse_and(parser);
    while (parser_skip(parser, TOKEN_NAME, "or")) {
        left = pair_node(parser, NODE_OR, (struct slice){0}, left);
        left->right = parse_and(parser);
    }
    return left;
}

struct node *parse_expression(struct parser *parser)
{
    struct node *node = NULL;
    if (parser_enter(parser))
        node = parse_or(parser);
    while (!parser->failed && parser_skip(parser, TOKEN_NAME, "if")) {
        struct node *conditional = parser_node(parser, NODE_CONDITIONAL);
        conditional->right = node;
        conditional->left = parse_or(parser);
        if (parser_skip(parser, TOKEN_NAME, "else"))
            conditional->other = parse_expression(parser);
        node = conditional;
    }
    parser_leave(parser);
    return node;
}

/* ---- Tuples and targets ---- */

static bool at_tuple_end(const struct parser *parser)
{
    return parser_is(parser, TOKEN_OUTPUT_END, NULL) ||
           parser_is(parser, TOKEN_BLOCK_END, NULL) ||
           at_operator(parser, ")") || at_operator(parser, "=") ||
           parser_is(parser, TOKEN_NAME, "in");
}

static struct node *parse_tuple_of(struct parser *parser,
                                   struct node *(*parse)(struct parser *parser))
{
    struct node *first = parse(parser), *last = first;
    if (!at_operator(parser, ","))
        return first;
    struct node *tuple = parser_node(parser, NODE_TUPLE);
    tuple->items = first;
    while (last && parser_skip(parser, TOKEN_OPERATOR, ",") &&
           !at_tuple_end(parser))
        last = last->next = parse(parser);
    return tuple;
}

struct node *parse_tuple(struct parser *parser)
{
    return parse_tuple_of(parser, parse_expression);
}

struct node *parse_tuple_unconditional(struct parser *parser)
{
    return parse_tuple_of(parser, parse_or);
}

static struct node *parse_one_target(struct parser *parser)
{
    struct node *node = NULL;
    if (!parser_enter(parser)) {
        parser_leave(parser);
        return NULL;
    }
    if (parser_skip(parser, TOKEN_OPERATOR, "(")) {
        node = parse_tuple_of(parser, parse_one_target);
        parser_expect(parser, TOKEN_OPERATOR, ")");
    } else {
        node = parse_name(parser);
        if (!parser->failed && node->kind != NODE_NAME)
            parser_fail(parser, "a constant cannot be set");
        if (parser_skip(parser, TOKEN_OPERATOR, ".")) {
            node->kind = NODE_NAMESPACE_ATTRIBUTE;
            node->left = pair_node(parser, NODE_NAME, node->text, NULL);
            node->text = parser_name(parser);
        }
    }
    parser_leave(parser);
    return node;
}

struct node *parse_target(struct parser *parser)
{
    return parse_tuple_of(parser, parse_one_target);
}
