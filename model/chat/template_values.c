/* What values are to each other: truth, equality, order, membership. */
#include "model/chat/template_values_internal.h"

#include <math.h>

#include "model/chat/template_run_internal.h"
#include "model/chat/template_strings_internal.h"

const char *value_type(struct value value)
{
    static const char *const names[] = {
        [VALUE_ABSENT] = "nothing",      [VALUE_UNDEFINED] = "undefined",
        [VALUE_NONE] = "none",           [VALUE_BOOLEAN] = "a boolean",
        [VALUE_INTEGER] = "an integer",  [VALUE_FLOAT] = "a float",
        [VALUE_STRING] = "a string",     [VALUE_LIST] = "a list",
        [VALUE_TUPLE] = "a tuple",       [VALUE_RANGE] = "a range",
        [VALUE_VIEW] = "a dict's view",  [VALUE_ITERATOR] = "an iterator",
        [VALUE_DICT] = "a dict",         [VALUE_NAMESPACE] = "a namespace",
        [VALUE_LOOP] = "a loop",         [VALUE_MACRO] = "a macro",
        [VALUE_FUNCTION] = "a function", [VALUE_METHOD] = "a method"};
    return names[value.kind];
}

double value_as_float(struct value number)
{
    return number.kind == VALUE_FLOAT ? number.number
                                      : (double)value_as_integer(number);
}

bool value_truth(struct value value)
{
    switch (value.kind) {
    case VALUE_ABSENT:
    case VALUE_UNDEFINED:
    case VALUE_NONE: return false;
    case VALUE_BOOLEAN: return value.boolean;
    case VALUE_INTEGER: return value.integer != 0;
    case VALUE_FLOAT: return value.number != 0;
    case VALUE_STRING: return value.string.size > 0;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_RANGE:
    case VALUE_VIEW: return value.list->count > 0;
    case VALUE_DICT: return value.dict->count > 0;
    default: return true;
    }
}

/* ---- Equality and order ---- */

static bool equal_lists(struct run *run, const struct list *a,
                        const struct list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!value_equal(run, a->items[i], b->items[i]))
            return false;
    return true;
}

static bool equal_dicts(struct run *run, const struct dict *a,
                        const struct dict *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count && !run->failed; i++) {
        struct value *other = dict_find(run, b, a->pairs[i].key);
        if (!other || !value_equal(run, a->pairs[i].value, *other))
            return false;
    }
    return true;
}

static bool equal_numbers(struct value a, struct value b)
{
    if (value_is_integer(a) && value_is_integer(b))
        return value_as_integer(a) == value_as_integer(b);
    return value_as_float(a) == value_as_float(b);
}

static bool equal_alike(struct run *run, struct value a, struct value b)
{
    switch (a.kind) {
    case VALUE_STRING:
        run_charge(run, a.string.size / 64);
        return slice_equal(a.string, b.string);
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_RANGE: return equal_lists(run, a.list, b.list);
    case VALUE_DICT: return equal_dicts(run, a.dict, b.dict);
    case VALUE_VIEW:
    case VALUE_ITERATOR: return a.list == b.list;
    case VALUE_NAMESPACE: return a.dict == b.dict;
    case VALUE_LOOP: return a.loop == b.loop;
    case VALUE_MACRO: return a.macro == b.macro;
    case VALUE_FUNCTION: return a.builtin == b.builtin;
    case VALUE_METHOD: return a.method == b.method;
    default: return true;
    }
}

bool value_equal(struct run *run, struct value a, struct value b)
{
    bool equal = false;
    run_charge(run, 1);
    if (value_is_number(a) && value_is_number(b))
        return equal_numbers(a, b);
    if (a.kind != b.kind)
        return false;
    if (run_enter(run))
        equal = equal_alike(run, a, b);
    run_leave(run);
    return equal && !run->failed;
}

static int order_numbers(struct value a, struct value b)
{
    if (value_is_integer(a) && value_is_integer(b)) {
        int64_t x = value_as_integer(a), y = value_as_integer(b);
        return x < y ? -1 : x > y;
    }
    double x = value_as_float(a), y = value_as_float(b);
    return x < y ? -1 : x > y;
}

static int order_strings(struct run *run, struct slice a, struct slice b)
{
    run_charge(run, (a.size < b.size ? a.size : b.size) / 64);
    return slice_compare(a, b);
}

static int order_lists(struct run *run, const struct list *a,
                       const struct list *b)
{
    size_t shared = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < shared && !run->failed; i++)
        if (!value_equal(run, a->items[i], b->items[i]))
            return value_order(run, a->items[i], b->items[i]);
    return a->count < b->count ? -1 : a->count > b->count;
}

int value_order(struct run *run, struct value a, struct value b)
{
    int order = 0;
    if (!run_enter(run))
        order = 0;
    else if (value_is_number(a) && value_is_number(b))
        order = order_numbers(a, b);
    else if (a.kind == VALUE_STRING && b.kind == VALUE_STRING)
        order = order_strings(run, a.string, b.string);
    else if (a.kind == b.kind &&
             (a.kind == VALUE_LIST || a.kind == VALUE_TUPLE))
        order = order_lists(run, a.list, b.list);
    else
        run_fail(run, ERR_FORMAT, "%s and %s have no order", value_type(a),
                 value_type(b));
    run_leave(run);
    return order;
}

/* ---- Lengths, items, members ---- */

size_t value_length(struct run *run, struct value value)
{
    switch (value.kind) {
    case VALUE_UNDEFINED: return 0;
    case VALUE_STRING:
        run_charge(run, value.string.size / 64);
        return string_length(value.string);
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_RANGE:
    case VALUE_VIEW: return value.list->count;
    case VALUE_DICT: return value.dict->count;
    default:
        run_fail(run, ERR_FORMAT, "%s has no length", value_type(value));
        return 0;
    }
}

static struct list *characters(struct run *run, struct slice text)
{
    struct list *list = list_new(run);
    for (size_t at = 0, size; at < text.size && !run->failed; at += size) {
        size = string_step(text, at);
        list_add(run, list, value_string((struct slice){text.data + at, size}));
    }
    return list;
}

/* What is left of an iterator, which is then empty. */
static struct list *take_all(struct run *run, struct list *iterator)
{
    struct list *list = list_new(run);
    while (iterator->at < iterator->count && !run->failed)
        list_add(run, list, iterator->items[iterator->at++]);
    return list;
}

struct list *value_iterate(struct run *run, struct value value)
{
    if (value.kind == VALUE_STRING)
        return characters(run, value.string);
    if (value.kind == VALUE_ITERATOR)
        return take_all(run, value.list);
    if (value_has_items(value))
        return value.list;
    struct list *list = list_new(run);
    if (value.kind == VALUE_DICT)
        for (size_t i = 0; i < value.dict->count && !run->failed; i++)
            list_add(run, list, value.dict->pairs[i].key);
    else if (value.kind != VALUE_UNDEFINED)
        run_fail(run, ERR_FORMAT, "%s has no items", value_type(value));
    return list;
}

bool value_contains(struct run *run, struct value haystack, struct value needle)
{
    if (haystack.kind == VALUE_STRING) {
        run_charge(run, haystack.string.size / 64);
        return string_find(haystack.string, argument_text(run, needle, "")) !=
               SIZE_MAX;
    }
    if (haystack.kind == VALUE_DICT)
        return dict_find(run, haystack.dict, needle);
    struct list *list = value_iterate(run, haystack);
    for (size_t i = 0; i < list->count && !run->failed; i++)
        if (value_equal(run, list->items[i], needle))
            return true;
    return false;
}

/* ---- Lists and dicts ---- */

struct list *list_new(struct run *run)
{
    return run_alloc(run, sizeof(struct list));
}

/* Twice the memory, a copy of what was in the old. */
static void *grow(struct run *run, const void *items, size_t count,
                  size_t *capacity, size_t size)
{
    *capacity = *capacity ? *capacity * 2 : 4;
    void *grown = run_alloc(run, *capacity * size);
    if (count)
        memcpy(grown, items, count * size);
    return grown;
}

void list_add(struct run *run, struct list *list, struct value item)
{
    run_charge(run, 1);
    if (run->failed)
        return;
    if (list->count == list->capacity)
        list->items = grow(run, list->items, list->count, &list->capacity,
                           sizeof *list->items);
    list->items[list->count++] = item;
}

static bool are_keys(struct run *run, const struct list *list)
{
    run_charge(run, list->count);
    for (size_t i = 0; i < list->count && !run->failed; i++)
        if (!value_is_key(run, list->items[i]))
            return false;
    return true;
}

bool value_is_key(struct run *run, struct value value)
{
    bool is_key = value.kind != VALUE_LIST && value.kind != VALUE_DICT;
    if (value.kind != VALUE_TUPLE)
        return is_key;
    if (run_enter(run))
        is_key = are_keys(run, value.list);
    run_leave(run);
    return is_key;
}

struct dict *dict_new(struct run *run)
{
    return run_alloc(run, sizeof(struct dict));
}

struct value *dict_find(struct run *run, const struct dict *dict,
                        struct value key)
{
    if (!value_is_key(run, key))
        run_fail(run, ERR_FORMAT, "%s is no key of a dict", value_type(key));
    for (size_t i = 0; i < dict->count && !run->failed; i++)
        if (value_equal(run, dict->pairs[i].key, key))
            return &dict->pairs[i].value;
    return NULL;
}

void dict_put(struct run *run, struct dict *dict, struct value key,
              struct value value)
{
    struct value *found = dict_find(run, dict, key);
    if (found)
        *found = value;
    if (found || run->failed)
        return;
    if (dict->count == dict->capacity)
        dict->pairs = grow(run, dict->pairs, dict->count, &dict->capacity,
                           sizeof *dict->pairs);
    dict->pairs[dict->count++] = (struct pair){key, value};
}
