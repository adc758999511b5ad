/* A template's text as tokens, and as a tree. */
#ifndef MODEL_CHAT_TEMPLATE_SYNTAX_INTERNAL_H
#define MODEL_CHAT_TEMPLATE_SYNTAX_INTERNAL_H

#include "base/err.h"
#include "base/mem.h"
#include "model/chat/template_values_internal.h"

enum token_kind {
    TOKEN_DATA,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_OUTPUT_BEGIN,
    TOKEN_OUTPUT_END,
    TOKEN_NAME,
    TOKEN_STRING, /* text: what it stands for */
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_OPERATOR,
    TOKEN_END
};

struct token {
    enum token_kind kind;
    unsigned line;
    struct slice text;
};

struct tokens {
    struct token *items; /* the last is a TOKEN_END */
    size_t count;
    size_t capacity;
};

/* Tokens of `source`, their texts in `arena`.  The caller frees ret_tokens->items;
 * on failure there is nothing to free. */
int template_lex(struct slice source, struct arena *arena,
                 struct tokens *ret_tokens, struct err *err);

enum node_kind {
    /* statements */
    NODE_TEXT,      /* text */
    NODE_OUTPUT,    /* left: expression */
    NODE_IF,        /* left: test or NULL; items: body; other: next branch */
    NODE_FOR,       /* left: target; right: what; third: filter; items; other */
    NODE_SET,       /* left: target; right: value */
    NODE_SET_BLOCK, /* left: target; right: filters or NULL; items: body */
    NODE_MACRO,     /* text: name; left: parameters; items: body */
    NODE_CALL_BLOCK,   /* left: call; right: the macro that is its caller() */
    NODE_FILTER_BLOCK, /* right: filters; items: body */
    NODE_WITH,         /* left: parameters; items: body */
    NODE_SCOPE,        /* items: body */
    NODE_BREAK,
    NODE_CONTINUE,
    /* parts of the above and below */
    NODE_BODY,      /* items */
    NODE_PARAMETER, /* text: name; right: default or NULL */
    NODE_PAIR,      /* left: key; right: value */
    NODE_KEYWORD,   /* text: name; right: value */
    NODE_OPERAND,   /* text: comparison; right: with what */
    NODE_CAPTURED,  /* what a block's filters are applied to */
    /* expressions */
    NODE_CONSTANT,            /* constant */
    NODE_NAME,                /* text */
    NODE_NAMESPACE_ATTRIBUTE, /* a target: text.attribute (left: NODE_NAME) */
    NODE_LIST,                /* items */
    NODE_TUPLE,               /* items */
    NODE_DICT,                /* items: pairs */
    NODE_ATTRIBUTE,           /* left; text */
    NODE_ITEM,                /* left; right: index */
    NODE_SLICE,      /* left; items: from, to, step, each a constant none
                                 where it is not written */
    NODE_CALL,       /* left; items: arguments */
    NODE_FILTER,     /* left; text; items: arguments */
    NODE_TEST,       /* left; text; items: arguments */
    NODE_NOT,        /* left */
    NODE_AND,        /* left, right */
    NODE_OR,         /* left, right */
    NODE_UNARY,      /* text: + or -; left */
    NODE_BINARY,     /* left; text: operator; right */
    NODE_CONCAT,     /* items */
    NODE_COMPARE,    /* left; items: operands */
    NODE_CONDITIONAL /* left: test; right: value; other: else or NULL */
};

struct node {
    enum node_kind kind;
    unsigned line;
    struct slice text;
    const struct builtin *builtin; /* of a filter or test */
    bool names_caller;             /* of a macro: its body does */
    struct value constant;
    struct node *left, *right, *third, *other;
    struct node *items; /* the first of a list */
    struct node *next;  /* in the list that this is in */
};

/* Reads tokens: one look ahead decides everything. */
struct parser {
    const struct token *token; /* the one to be read */
    struct arena *arena;
    struct err *err;
    bool failed; /* from then on the token is the last, the nodes are NULL */
    unsigned depth;
    unsigned loops;  /* that we are in, for break and continue */
    unsigned macros; /* that we are in, for their special names */
    size_t callers;  /* how often `caller` was named */
};

/* The tree's statements, in `arena`; NULL for an empty template. */
int template_parse(const struct tokens *tokens, struct arena *arena,
                   struct node **ret_statements, struct err *err);

/* Of both parsers. */
struct node *parser_node(struct parser *parser, enum node_kind kind);
void parser_fail(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void parser_refuse(struct parser *parser, const char *what);
bool parser_is(const struct parser *parser, enum token_kind kind,
               const char *text);
bool parser_skip(struct parser *parser, enum token_kind kind, const char *text);
void parser_expect(struct parser *parser, enum token_kind kind,
                   const char *text);
struct slice parser_name(struct parser *parser);
bool parser_enter(struct parser *parser); /* one level deeper, if it may */
void parser_leave(struct parser *parser);

/* An expression; several with commas make a tuple. */
struct node *parse_expression(struct parser *parser);
struct node *parse_tuple(struct parser *parser);
/* Without an `if` at its end. */
struct node *parse_tuple_unconditional(struct parser *parser);
struct node *parse_target(struct parser *parser);
/* Filters of a block, on NODE_CAPTURED; `inline_first`: the first has no bar. */
struct node *parse_block_filters(struct parser *parser, bool inline_first);

#endif
