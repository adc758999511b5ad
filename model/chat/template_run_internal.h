/* A run of a template: its budgets, its scopes, and who may do what.
 *
 * The first failure is kept and sets `failed`; from then on whatever is asked
 * gives none or nothing, and every loop ends.  So one check at the end of a run
 * is enough. */
#ifndef MODEL_CHAT_TEMPLATE_RUN_INTERNAL_H
#define MODEL_CHAT_TEMPLATE_RUN_INTERNAL_H

#include "base/mem.h"
#include "model/chat/chat_template.h"
#include "model/chat/template_syntax_internal.h"

enum {
    MAX_TEMPLATE_BYTES = 1 << 20,
    MAX_STEPS =
        10 * 1000 * 1000,       /* evaluations, items, or 64 bytes of a text */
    MAX_TEXT_BYTES = 16 << 20,  /* of the output and of each string */
    MAX_VALUE_BYTES = 64 << 20, /* of all values together */
    MAX_RUN_DEPTH = 400,        /* of evaluations and of values */
    MAX_RANGE = 100000          /* as Jinja2's sandbox */
};

struct binding {
    struct slice name;
    struct value value;
    struct binding *next;
};

/* Made for a template, a loop's turn, a macro's call, a block.  A macro keeps
 * the one that it was defined in, so scopes live as long as the run. */
struct scope {
    struct binding *bindings;
    struct scope *parent;
};

struct macro {
    const struct node *node;
    struct scope *scope;
};

/* A loop under way.  Items are filtered one by one, as late as possible: the
 * filter may look at what the body sets. */
struct loop {
    const struct node *node;
    struct scope *scope; /* around the loop */
    struct list *source;
    size_t scanned;        /* of source */
    struct list *accepted; /* those that passed the filter */
    size_t index;          /* of the current one in `accepted` */
};

struct argument {
    struct slice name; /* data NULL: by position */
    struct value value;
};

struct run {
    struct arena arena;
    struct err *err;
    bool failed;
    unsigned line;
    unsigned depth;
    size_t steps;
    struct buf *out; /* where text goes now */
    struct scope *scope;
    struct value captured; /* what a block's filters are applied to */
    const struct chat_input *input;
};

/* Of no use to the caller but to return. */
struct value run_fail(struct run *run, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "X is not supported" */
struct value run_refuse(struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void run_charge(struct run *run, size_t steps);
/* For what passes over a text and, at each of its bytes, over another one. */
void run_charge_pairs(struct run *run, struct slice text, struct slice other);
/* One level deeper, one step further; false when there is none left.  Each call
 * needs its run_leave. */
bool run_enter(struct run *run);
void run_leave(struct run *run);

/* Zeroed, until the run ends. */
void *run_alloc(struct run *run, size_t size);
/* Appends within the budget. */
void run_put(struct run *run, struct buf *out, struct slice text);
/* The run's copy of what was built, which is freed. */
struct slice run_take(struct run *run, struct buf *text);

struct scope *run_scope(struct run *run, struct scope *parent);
void run_set(struct run *run, struct slice name, struct value value);
struct value run_get(struct run *run, struct slice name); /* or undefined */

/* ---- Statements and expressions ---- */

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE };
enum flow execute_all(struct run *run, const struct node *statements);
void assign(struct run *run, const struct node *target, struct value value);
struct value evaluate(struct run *run, const struct node *node);
/* A NODE_CALL, with a call block's body as one more argument, `caller`. */
struct value evaluate_call(struct run *run, const struct node *call,
                           struct value caller);
struct value operate(struct run *run, struct slice operator, struct value left,
                     struct value right);
struct value slice_value(struct run *run, struct value value,
                         const struct value bounds[3]);

/* value.name and value[key] */
struct value get_attribute(struct run *run, struct value value,
                           struct slice name);
struct value get_item(struct run *run, struct value value, struct value key);
/* "a.b.0" as filters take it */
struct value get_path(struct run *run, struct value value, struct value path);

bool loop_reaches(struct run *run, struct loop *loop, size_t index);
struct value loop_attribute(struct run *run, struct loop *loop,
                            struct slice name);

/* `what`: "filter", "test", for messages. */
struct value call_builtin(struct run *run, const char *what,
                          const struct builtin *builtin, struct value subject,
                          const struct argument *arguments, size_t count);
struct value call_macro(struct run *run, const struct macro *macro,
                        const struct argument *arguments, size_t count);

/* ---- What is built in ---- */

extern const struct builtin template_filters[], template_list_filters[],
    template_tests[], template_functions[], string_methods[], dict_methods[],
    list_methods[];

/* NULL when there is none; the filters include those of lists. */
const struct builtin *builtin_find(const struct builtin *table,
                                   struct slice name);

/* An argument as a text, or as an integer; `absent` when it was not given.
 * Fails the run for another kind. */
struct slice argument_text(struct run *run, struct value argument,
                           const char *absent);
int64_t argument_integer(struct run *run, struct value argument,
                         int64_t absent);

#endif
