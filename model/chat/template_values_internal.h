/* The values of a template: Python's, as far as templates see them. */
#ifndef MODEL_CHAT_TEMPLATE_VALUES_INTERNAL_H
#define MODEL_CHAT_TEMPLATE_VALUES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct run;

enum value_kind {
    VALUE_ABSENT, /* an argument that was not given; never seen by a template */
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_RANGE,
    VALUE_VIEW,     /* of a dict's keys, values or items */
    VALUE_ITERATOR, /* passed through once: what map, select, reverse give */
    VALUE_DICT,
    VALUE_NAMESPACE,
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_FUNCTION,
    VALUE_METHOD
};

/* Everything that a value points to lives as long as the run. */
struct value {
    enum value_kind kind;
    bool safe; /* of a string: came through `safe`, so is Python's Markup */
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct slice string;               /* UTF-8; of undefined: its name */
        struct list *list;                 /* LIST to ITERATOR */
        struct dict *dict;                 /* DICT and NAMESPACE */
        struct loop *loop;                 /* LOOP */
        const struct macro *macro;         /* MACRO */
        const struct builtin *builtin;     /* FUNCTION */
        const struct bound_method *method; /* METHOD */
    };
};

struct list {
    struct value *items;
    size_t count;
    size_t capacity;
    size_t at; /* of an iterator: how many items were taken */
};

struct pair {
    struct value key;
    struct value value;
};

/* In the order of insertion. */
struct dict {
    struct pair *pairs;
    size_t count;
    size_t capacity;
};

struct bound_method {
    struct value subject;
    const struct builtin *builtin;
};

enum { MAX_PARAMETERS = 5 };

/* A filter, test, method or function in C.  `arguments` [MAX_PARAMETERS] are in
 * the order of `parameters`, VALUE_ABSENT where not given.  A parameter called
 * "*" is only given by position. */
struct builtin {
    const char *name; /* NULL ends a table */
    struct value (*call)(struct run *run, struct value subject,
                         const struct value *arguments);
    unsigned required; /* of the parameters */
    const char *parameters[MAX_PARAMETERS];
};

static inline struct value value_undefined(struct slice name)
{
    return (struct value){.kind = VALUE_UNDEFINED, .string = name};
}
static inline struct value value_none(void)
{
    return (struct value){.kind = VALUE_NONE};
}
static inline struct value value_boolean(bool boolean)
{
    return (struct value){.kind = VALUE_BOOLEAN, .boolean = boolean};
}
static inline struct value value_integer(int64_t integer)
{
    return (struct value){.kind = VALUE_INTEGER, .integer = integer};
}
static inline struct value value_float(double number)
{
    return (struct value){.kind = VALUE_FLOAT, .number = number};
}
static inline struct value value_string(struct slice string)
{
    return (struct value){.kind = VALUE_STRING, .string = string};
}
static inline struct value value_list(enum value_kind kind, struct list *list)
{
    return (struct value){.kind = kind, .list = list};
}
static inline struct value value_dict(struct dict *dict)
{
    return (struct value){.kind = VALUE_DICT, .dict = dict};
}

static inline bool value_has_items(struct value value)
{
    return value.kind >= VALUE_LIST && value.kind <= VALUE_ITERATOR;
}
/* Has length and indices: list, tuple or range. */
static inline bool value_is_indexed(struct value value)
{
    return value.kind >= VALUE_LIST && value.kind <= VALUE_RANGE;
}
static inline bool value_is_number(struct value value)
{
    return value.kind >= VALUE_BOOLEAN && value.kind <= VALUE_FLOAT;
}
/* Integers as Python has them: booleans are integers. */
static inline bool value_is_integer(struct value value)
{
    return value.kind == VALUE_BOOLEAN || value.kind == VALUE_INTEGER;
}
static inline int64_t value_as_integer(struct value value)
{
    return value.kind == VALUE_BOOLEAN ? value.boolean : value.integer;
}
double value_as_float(struct value number); /* of a number */

/* Python's name of the kind, as "str". */
const char *value_type(struct value value);

bool value_truth(struct value value);
bool value_equal(struct run *run, struct value a, struct value b);

/* Below, at or above 0.  Fails the run for kinds that have no order. */
int value_order(struct run *run, struct value a, struct value b);

/* len(); fails the run for what has none. */
size_t value_length(struct run *run, struct value value);

/* The items that a loop passes through, in a list of their own or the value's:
 * characters, keys, items.  Takes those of an iterator.  Fails the run for what
 * has none. */
struct list *value_iterate(struct run *run, struct value value);

/* `needle in haystack` */
bool value_contains(struct run *run, struct value haystack,
                    struct value needle);

/* May a dict have it as a key?  No list or dict, nor a tuple with one. */
bool value_is_key(struct run *run, struct value value);

struct list *list_new(struct run *run);
void list_add(struct run *run, struct list *list, struct value item);
struct dict *dict_new(struct run *run);
/* NULL when there is none. */
struct value *dict_find(struct run *run, const struct dict *dict,
                        struct value key);
void dict_put(struct run *run, struct dict *dict, struct value key,
              struct value value);

/* Tuples of key and value. */
struct list *dict_items(struct run *run, const struct dict *dict);

/* str(value) and repr(value), appended. */
void value_print(struct run *run, struct buf *out, struct value value);
void value_print_repr(struct run *run, struct buf *out, struct value value);
struct slice value_to_string(struct run *run, struct value value);

/* json.dumps: `indent` below 0 for one line. */
void value_print_json(struct run *run, struct buf *out, struct value value,
                      int indent);

/* Python's repr of a float; 32 bytes suffice. */
void format_float(char *text, size_t size, double number);

#endif
