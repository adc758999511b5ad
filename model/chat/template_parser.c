/* Statements, and what both parsers share. */
#include "model/chat/template_syntax_internal.h"

#include <stdarg.h>

enum { MAX_NESTING = 100 };

struct node *parser_node(struct parser *parser, enum node_kind kind)
{
    struct node *node = arena_alloc(parser->arena, sizeof *node);
    node->kind = kind;
    node->line = parser->token->line;
    return node;
}

static void parser_stop(struct parser *parser, int code, const char *message)
{
    if (!parser->failed)
        err_set(parser->err, code, "chat template, line %u: %s",
                parser->token->line, message);
    parser->failed = true;
    while (parser->token->kind != TOKEN_END)
        parser->token++;
}

void parser_fail(struct parser *parser, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    parser_stop(parser, ERR_FORMAT, message);
}

void parser_refuse(struct parser *parser, const char *what)
{
    char message[256];
    snprintf(message, sizeof message, "%s is not supported", what);
    parser_stop(parser, ERR_MODEL, message);
}

bool parser_is(const struct parser *parser, enum token_kind kind,
               const char *text)
{
    return parser->token->kind == kind &&
           (!text || slice_is(parser->token->text, text));
}

bool parser_skip(struct parser *parser, enum token_kind kind, const char *text)
{
    if (parser->token->kind == TOKEN_END || !parser_is(parser, kind, text))
        return false;
    parser->token++;
    return true;
}

void parser_expect(struct parser *parser, enum token_kind kind,
                   const char *text)
{
    struct slice found = parser->token->text;
    if (!parser_skip(parser, kind, text))
        parser_fail(parser, "%s is expected, not %.*s", text ? text : "a name",
                    (int)(found.size < 60 ? found.size : 60), found.data);
}

struct slice parser_name(struct parser *parser)
{
    struct slice name = parser->token->text;
    parser_expect(parser, TOKEN_NAME, NULL);
    return name;
}

bool parser_enter(struct parser *parser)
{
    if (++parser->depth > MAX_NESTING)
        parser_stop(parser, ERR_LIMIT, "nested too deeply");
    return !parser->failed;
}

void parser_leave(struct parser *parser)
{
    parser->depth--;
}

/* ---- Statements ---- */

static struct node *parse_statement(struct parser *parser);

static bool at_word(const struct parser *parser, const char *const *words)
{
    for (; *words; words++)
        if (parser_is(parser, TOKEN_NAME, *words))
            return true;
    return false;
}

/* One piece of a body; NULL at a tag of one of `ends`, which is then the next
 * token, or at the end of the template. */
static struct node *parse_piece(struct parser *parser, const char *const *ends)
{
    struct node *node;
    if (parser_is(parser, TOKEN_DATA, NULL)) {
        node = parser_node(parser, NODE_TEXT);
        node->text = parser->token->text;
        parser->token++;
    } else if (parser_skip(parser, TOKEN_OUTPUT_BEGIN, NULL)) {
        node = parser_node(parser, NODE_OUTPUT);
        node->left = parse_tuple(parser);
        parser_expect(parser, TOKEN_OUTPUT_END, "}}");
    } else if (parser_skip(parser, TOKEN_BLOCK_BEGIN, NULL)) {
        if (at_word(parser, ends))
            return NULL;
        node = parse_statement(parser);
        parser_expect(parser, TOKEN_BLOCK_END, "%}");
    } else {
        return NULL;
    }
    return node;
}

static struct node *parse_pieces(struct parser *parser, const char *const *ends)
{
    struct node *first = NULL, **last = &first;
    if (parser_enter(parser))
        while (!parser->failed && (*last = parse_piece(parser, ends)))
            last = &(*last)->next;
    parser_leave(parser);
    return first;
}

/* What stands between this tag's end and a tag of one of `ends`. */
static struct node *parse_body(struct parser *parser, const char *const *ends)
{
    parser_skip(parser, TOKEN_OPERATOR, ":");
    parser_expect(parser, TOKEN_BLOCK_END, "%}");
    struct node *body = parse_pieces(parser, ends);
    if (!parser->failed && parser_is(parser, TOKEN_END, NULL))
        parser_fail(parser, "%s is missing", ends[0]);
    return body;
}

static struct node *parse_body_to(struct parser *parser, const char *end)
{
    struct node *body = parse_body(parser, (const char *[]){end, NULL});
    parser_expect(parser, TOKEN_NAME, end);
    return body;
}

/* The body of what runs as a function of its own. */
static struct node *parse_function_body(struct parser *parser, const char *end)
{
    unsigned loops = parser->loops;
    parser->loops = 0;
    parser->macros++;
    struct node *body = parse_body_to(parser, end);
    parser->macros--;
    parser->loops = loops;
    return body;
}

static struct node *parse_if(struct parser *parser)
{
    static const char *const ends[] = {"endif", "elif", "else", NULL};
    struct node *first = parser_node(parser, NODE_IF), *branch = first;
    branch->left = parse_tuple_unconditional(parser);
    branch->items = parse_body(parser, ends);
    while (parser_skip(parser, TOKEN_NAME, "elif")) {
        branch = branch->other = parser_node(parser, NODE_IF);
        branch->left = parse_tuple_unconditional(parser);
        branch->items = parse_body(parser, ends);
    }
    if (parser_skip(parser, TOKEN_NAME, "else")) {
        branch->other = parser_node(parser, NODE_IF);
        branch->other->items =
            parse_body(parser, (const char *[]){"endif", NULL});
    }
    parser_expect(parser, TOKEN_NAME, "endif");
    return first;
}

static struct node *parse_for(struct parser *parser)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    struct node *node = parser_node(parser, NODE_FOR);
    node->left = parse_target(parser);
    parser_expect(parser, TOKEN_NAME, "in");
    node->right = parse_tuple_unconditional(parser);
    if (parser_skip(parser, TOKEN_NAME, "if"))
        node->third = parse_expression(parser);
    if (parser_is(parser, TOKEN_NAME, "recursive"))
        parser_refuse(parser, "a recursive loop");
    parser->loops++;
    node->items = parse_body(parser, ends);
    parser->loops--;
    if (parser_skip(parser, TOKEN_NAME, "else")) {
        node->other = parser_node(parser, NODE_BODY);
        node->other->items = parse_body_to(parser, "endfor");
    } else {
        parser_expect(parser, TOKEN_NAME, "endfor");
    }
    return node;
}

static struct node *parse_set(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_SET);
    node->left = parse_target(parser);
    if (parser_skip(parser, TOKEN_OPERATOR, "=")) {
        node->right = parse_tuple(parser);
    } else {
        node->kind = NODE_SET_BLOCK;
        node->right = parse_block_filters(parser, false);
        node->items = parse_body_to(parser, "endset");
    }
    return node;
}

static struct node *parse_parameter(struct parser *parser)
{
    struct node *parameter = parser_node(parser, NODE_PARAMETER);
    parameter->text = parser_name(parser);
    if (parser_skip(parser, TOKEN_OPERATOR, "="))
        parameter->right = parse_expression(parser);
    return parameter;
}

static struct node *parse_signature(struct parser *parser)
{
    struct node *first = NULL, **last = &first;
    bool defaults = false;
    parser_expect(parser, TOKEN_OPERATOR, "(");
    while (!parser->failed && !parser_is(parser, TOKEN_OPERATOR, ")")) {
        if (first)
            parser_expect(parser, TOKEN_OPERATOR, ",");
        *last = parse_parameter(parser);
        if (defaults && !(*last)->right)
            parser_fail(parser, "a parameter without default follows one with");
        defaults = (*last)->right;
        last = &(*last)->next;
    }
    parser_expect(parser, TOKEN_OPERATOR, ")");
    return first;
}

static struct node *parse_macro(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_MACRO);
    node->text = parser_name(parser);
    node->left = parse_signature(parser);
    size_t callers = parser->callers;
    node->items = parse_function_body(parser, "endmacro");
    node->names_caller = parser->callers > callers;
    return node;
}

static struct node *parse_call_block(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_CALL_BLOCK);
    node->right = parser_node(parser, NODE_MACRO);
    node->right->text = slice_of("caller");
    if (parser_is(parser, TOKEN_OPERATOR, "("))
        node->right->left = parse_signature(parser);
    node->left = parse_expression(parser);
    if (!parser->failed && node->left->kind != NODE_CALL)
        parser_fail(parser, "a call block calls nothing");
    node->right->items = parse_function_body(parser, "endcall");
    return node;
}

static struct node *parse_filter_block(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_FILTER_BLOCK);
    node->right = parse_block_filters(parser, true);
    node->items = parse_body_to(parser, "endfilter");
    return node;
}

static struct node *parse_with(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_WITH), **last = &node->left;
    while (!parser->failed && !parser_is(parser, TOKEN_BLOCK_END, NULL)) {
        if (node->left)
            parser_expect(parser, TOKEN_OPERATOR, ",");
        *last = parse_parameter(parser);
        if (!(*last)->right)
            parser_fail(parser, "a variable of `with` has no value");
        last = &(*last)->next;
    }
    node->items = parse_body_to(parser, "endwith");
    return node;
}

static struct node *parse_generation(struct parser *parser)
{
    struct node *node = parser_node(parser, NODE_SCOPE);
    node->items = parse_function_body(parser, "endgeneration");
    return node;
}

static struct node *parse_loop_control(struct parser *parser,
                                       enum node_kind kind)
{
    if (!parser->loops)
        parser_fail(parser, "%s stands outside of a loop",
                    kind == NODE_BREAK ? "break" : "continue");
    return parser_node(parser, kind);
}

static struct node *parse_break(struct parser *parser)
{
    return parse_loop_control(parser, NODE_BREAK);
}

static struct node *parse_continue(struct parser *parser)
{
    return parse_loop_control(parser, NODE_CONTINUE);
}

static struct node *parse_statement(struct parser *parser)
{
    static const struct {
        const char *word;
        struct node *(*parse)(struct parser *parser);
    } statements[] = {
        {"if", parse_if},           {"for", parse_for},
        {"set", parse_set},         {"macro", parse_macro},
        {"call", parse_call_block}, {"filter", parse_filter_block},
        {"with", parse_with},       {"generation", parse_generation},
        {"break", parse_break},     {"continue", parse_continue},
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (parser_skip(parser, TOKEN_NAME, statements[i].word))
            return statements[i].parse(parser);
    char what[80];
    struct slice word = parser->token->text;
    snprintf(what, sizeof what, "the statement '%.*s'",
             (int)(word.size < 40 ? word.size : 40), word.data);
    parser_refuse(parser, what);
    return NULL;
}

int template_parse(const struct tokens *tokens, struct arena *arena,
                   struct node **ret_statements, struct err *err)
{
    struct err own = {0};
    struct parser parser = {
        .token = tokens->items, .arena = arena, .err = err ? err : &own};
    struct node *statements = parse_pieces(&parser, (const char *[]){NULL});
    if (parser.failed)
        return parser.err->code;
    *ret_statements = statements;
    return 0;
}
