/* Filters of what has items.  Those that Jinja2 runs as they are asked for their
 * next item run at once here; what they give is still passed through once. */
#include "model/chat/template_run_internal.h"
#include "model/chat/template_strings_internal.h"

static struct value iterator(struct list *list)
{
    return value_list(VALUE_ITERATOR, list);
}

static bool given(struct value argument)
{
    return argument.kind != VALUE_ABSENT && argument.kind != VALUE_NONE;
}

/* What an item is compared by: an attribute of it, strings in lower case. */
static struct value sort_key(struct run *run, struct value item,
                             struct value attribute, bool case_sensitive)
{
    struct value key = given(attribute) ? get_path(run, item, attribute) : item;
    struct buf text = {0};
    if (key.kind != VALUE_STRING || case_sensitive)
        return key;
    string_put_case(run, &text, key.string, STRING_LOWER);
    return value_string(run_take(run, &text));
}

/* ---- One item of many ---- */

static struct value filter_first(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    (void)arguments;
    if (subject.kind == VALUE_ITERATOR &&
        subject.list->at < subject.list->count)
        return subject.list->items[subject.list->at++];
    struct list *list = value_iterate(run, subject);
    return list->count ? list->items[0]
                       : value_undefined(slice_of("the first item"));
}

static struct value filter_last(struct run *run, struct value subject,
                                const struct value *arguments)
{
    (void)arguments;
    if (subject.kind == VALUE_ITERATOR)
        return run_fail(run, ERR_FORMAT, "an iterator has no last item");
    struct list *list = value_iterate(run, subject);
    return list->count ? list->items[list->count - 1]
                       : value_undefined(slice_of("the last item"));
}

static struct value extreme(struct run *run, struct value subject,
                            const struct value *arguments, int sign)
{
    struct list *list = value_iterate(run, subject);
    bool exact = value_truth(arguments[0]);
    size_t best = 0;
    for (size_t i = 1; i < list->count && !run->failed; i++) {
        struct value a = sort_key(run, list->items[i], arguments[1], exact);
        struct value b = sort_key(run, list->items[best], arguments[1], exact);
        if (value_order(run, a, b) * sign > 0)
            best = i;
    }
    return list->count ? list->items[best]
                       : value_undefined(slice_of("an item of nothing"));
}

static struct value filter_max(struct run *run, struct value subject,
                               const struct value *arguments)
{
    return extreme(run, subject, arguments, 1);
}

static struct value filter_min(struct run *run, struct value subject,
                               const struct value *arguments)
{
    return extreme(run, subject, arguments, -1);
}

static struct value filter_sum(struct run *run, struct value subject,
                               const struct value *arguments)
{
    struct list *list = value_iterate(run, subject);
    struct value sum = given(arguments[1]) ? arguments[1] : value_integer(0);
    for (size_t i = 0; i < list->count && !run->failed; i++) {
        run_charge(run, 1);
        sum = operate(run, slice_of("+"), sum,
                      given(arguments[0])
                          ? get_path(run, list->items[i], arguments[0])
                          : list->items[i]);
    }
    return sum;
}

static struct value filter_join(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct list *list = value_iterate(run, subject);
    struct slice between = arguments[0].kind == VALUE_ABSENT
                               ? slice_of("")
                               : value_to_string(run, arguments[0]);
    struct buf text = {0};
    for (size_t i = 0; i < list->count && !run->failed; i++) {
        run_charge(run, 1);
        if (i)
            run_put(run, &text, between);
        value_print(run, &text,
                    given(arguments[1])
                        ? get_path(run, list->items[i], arguments[1])
                        : list->items[i]);
    }
    return value_string(run_take(run, &text));
}

/* ---- Other orders ---- */

static struct list *copy_items(struct run *run, struct value value)
{
    struct list *items = value_iterate(run, value), *copy = list_new(run);
    for (size_t i = 0; i < items->count && !run->failed; i++)
        list_add(run, copy, items->items[i]);
    return copy;
}

static struct value filter_list(struct run *run, struct value subject,
                                const struct value *arguments)
{
    (void)arguments;
    return value_list(VALUE_LIST, copy_items(run, subject));
}

static struct value filter_reverse(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    struct value step[] = {value_none(), value_none(), value_integer(-1)};
    (void)arguments;
    if (subject.kind == VALUE_STRING)
        return slice_value(run, subject, step);
    struct value list = value_list(VALUE_LIST, copy_items(run, subject));
    struct value reversed = slice_value(run, list, step);
    return subject.kind == VALUE_ITERATOR || run->failed
               ? reversed
               : iterator(reversed.list);
}

struct keyed {
    struct value key;
    struct value item;
};

/* Merges the sorted halves of `from` into `to`; equal ones keep their order. */
static void merge(struct run *run, const struct keyed *from, struct keyed *to,
                  size_t middle, size_t count, int sign)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < count; i++) {
        bool takes_right =
            left == middle ||
            (right < count && !run->failed &&
             value_order(run, from[right].key, from[left].key) * sign < 0);
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

static void sort(struct run *run, struct keyed *items, struct keyed *scratch,
                 size_t count, int sign)
{
    size_t middle = count / 2;
    if (count < 2)
        return;
    sort(run, items, scratch, middle, sign);
    sort(run, items + middle, scratch, count - middle, sign);
    memcpy(scratch, items, count * sizeof *items);
    merge(run, scratch, items, middle, count, sign);
}

static struct list *sort_items(struct run *run, const struct list *items,
                               struct value attribute, bool exact, bool reverse)
{
    struct list *sorted = list_new(run);
    struct keyed *keyed =
        run_alloc(run, (items->count + 1) * 2 * sizeof *keyed);
    for (size_t i = 0; i < items->count && !run->failed; i++)
        keyed[i] = (struct keyed){
            sort_key(run, items->items[i], attribute, exact), items->items[i]};
    if (run->failed)
        return sorted;
    sort(run, keyed, keyed + items->count, items->count, reverse ? -1 : 1);
    for (size_t i = 0; i < items->count; i++)
        list_add(run, sorted, keyed[i].item);
    return sorted;
}

static struct value filter_sort(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct value by = arguments[2];
    if (by.kind == VALUE_STRING &&
        string_find(by.string, slice_of(",")) != SIZE_MAX)
        return run_refuse(run, "sorting by several attributes");
    return value_list(VALUE_LIST, sort_items(run, value_iterate(run, subject),
                                             by, value_truth(arguments[1]),
                                             value_truth(arguments[0])));
}

static struct value filter_unique(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    struct list *items = value_iterate(run, subject), *unique = list_new(run);
    struct dict *seen = dict_new(run);
    for (size_t i = 0; i < items->count && !run->failed; i++) {
        struct value key = sort_key(run, items->items[i], arguments[1],
                                    value_truth(arguments[0]));
        if (!dict_find(run, seen, key))
            list_add(run, unique, items->items[i]);
        dict_put(run, seen, key, value_none());
    }
    return iterator(unique);
}

/* ---- Dicts ---- */

static struct value filter_items(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    (void)arguments;
    if (subject.kind == VALUE_UNDEFINED)
        return iterator(list_new(run));
    if (subject.kind != VALUE_DICT)
        return run_fail(run, ERR_FORMAT, "%s is no mapping",
                        value_type(subject));
    return iterator(dict_items(run, subject.dict));
}

static struct value filter_dictsort(struct run *run, struct value subject,
                                    const struct value *arguments)
{
    if (subject.kind != VALUE_DICT)
        return run_fail(run, ERR_FORMAT, "%s is no dict", value_type(subject));
    struct slice by = argument_text(run, arguments[1], "key");
    if (!slice_is(by, "key") && !slice_is(by, "value"))
        return run_fail(run, ERR_FORMAT, "dictsort is by key or value");
    return value_list(VALUE_LIST,
                      sort_items(run, dict_items(run, subject.dict),
                                 value_integer(slice_is(by, "value")),
                                 value_truth(arguments[0]),
                                 value_truth(arguments[2])));
}

/* ---- Filters and tests of each item ---- */

/* The items to pass through: none of what is false, whatever it is. */
static struct list *items_of(struct run *run, struct value value)
{
    return value_truth(value) ? value_iterate(run, value) : list_new(run);
}

/* The arguments from `from` on that were given, as those of another. */
static size_t pass_on(const struct value *arguments, size_t from, size_t to,
                      struct argument passed[MAX_PARAMETERS])
{
    size_t count = 0;
    for (; from < to && arguments[from].kind != VALUE_ABSENT; from++)
        passed[count++] = (struct argument){{NULL, 0}, arguments[from]};
    return count;
}

static const struct builtin *find(struct run *run, const char *what,
                                  const struct builtin *table,
                                  struct value name)
{
    struct slice text = argument_text(run, name, "");
    const struct builtin *builtin = builtin_find(table, text);
    if (!builtin)
        run_refuse(run, "the %s '%.*s'", what,
                   (int)(text.size < 40 ? text.size : 40), text.data);
    return builtin;
}

static struct value map_attribute(struct run *run, struct value item,
                                  struct value attribute, struct value absent)
{
    struct value value = get_path(run, item, attribute);
    return value.kind == VALUE_UNDEFINED && given(absent) ? absent : value;
}

static struct value filter_map(struct run *run, struct value subject,
                               const struct value *arguments)
{
    struct list *items = items_of(run, subject), *mapped = list_new(run);
    struct argument passed[MAX_PARAMETERS];
    size_t count = pass_on(arguments, 1, 3, passed);
    bool by_attribute = given(arguments[3]);
    if (by_attribute == given(arguments[0]))
        return run_fail(run, ERR_FORMAT, "map takes a filter or attribute=");
    const struct builtin *filter =
        by_attribute ? NULL
                     : find(run, "filter", template_filters, arguments[0]);
    for (size_t i = 0; i < items->count && !run->failed; i++)
        list_add(run, mapped,
                 filter ? call_builtin(run, "filter", filter, items->items[i],
                                       passed, count)
                        : map_attribute(run, items->items[i], arguments[3],
                                        arguments[4]));
    return iterator(mapped);
}

/* Items that pass, or do not, the test named by the argument at `at`: truth when
 * there is none.  Before it may stand the attribute that is tested. */
static struct value choose(struct run *run, struct value subject,
                           const struct value *arguments, size_t at,
                           bool passes)
{
    struct list *items = items_of(run, subject), *chosen = list_new(run);
    struct argument passed[MAX_PARAMETERS];
    size_t count = pass_on(arguments, at + 1, MAX_PARAMETERS, passed);
    const struct builtin *test =
        arguments[at].kind == VALUE_ABSENT
            ? NULL
            : find(run, "test", template_tests, arguments[at]);
    for (size_t i = 0; i < items->count && !run->failed; i++) {
        struct value tested =
            at ? get_path(run, items->items[i], arguments[0]) : items->items[i];
        run_charge(run, 1);
        if (test)
            tested = call_builtin(run, "test", test, tested, passed, count);
        if (value_truth(tested) == passes)
            list_add(run, chosen, items->items[i]);
    }
    return iterator(chosen);
}

static struct value filter_select(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    return choose(run, subject, arguments, 0, true);
}

static struct value filter_reject(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    return choose(run, subject, arguments, 0, false);
}

static struct value filter_selectattr(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    return choose(run, subject, arguments, 1, true);
}

static struct value filter_rejectattr(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    return choose(run, subject, arguments, 1, false);
}

const struct builtin template_list_filters[] = {
    {"dictsort", filter_dictsort, 0, {"case_sensitive", "by", "reverse"}},
    {"first", filter_first, 0, {NULL}},
    {"items", filter_items, 0, {NULL}},
    {"join", filter_join, 0, {"d", "attribute"}},
    {"last", filter_last, 0, {NULL}},
    {"list", filter_list, 0, {NULL}},
    {"map", filter_map, 0, {"*", "*", "*", "attribute", "default"}},
    {"max", filter_max, 0, {"case_sensitive", "attribute"}},
    {"min", filter_min, 0, {"case_sensitive", "attribute"}},
    {"reject", filter_reject, 0, {"*", "*", "*"}},
    {"rejectattr", filter_rejectattr, 1, {"*", "*", "*", "*"}},
    {"reverse", filter_reverse, 0, {NULL}},
    {"select", filter_select, 0, {"*", "*", "*"}},
    {"selectattr", filter_selectattr, 1, {"*", "*", "*", "*"}},
    {"sort", filter_sort, 0, {"reverse", "case_sensitive", "attribute"}},
    {"sum", filter_sum, 0, {"attribute", "start"}},
    {"unique", filter_unique, 0, {"case_sensitive", "attribute"}},
    {NULL, NULL, 0, {NULL}},
};
