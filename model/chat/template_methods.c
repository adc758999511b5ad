/* Methods of Python's strings, dicts and lists.  Those without a function exist
 * in Python and are refused by name when they are called. */
#include "model/chat/template_run_internal.h"
#include "model/chat/template_strings_internal.h"

static struct value taken(struct run *run, struct buf *text)
{
    return value_string(run_take(run, text));
}

/* ---- Stripping, cases, replacing ---- */

static struct value strip(struct run *run, struct value subject,
                          struct value set, bool left, bool right)
{
    struct slice text = subject.string;
    bool given = set.kind != VALUE_ABSENT && set.kind != VALUE_NONE;
    struct slice characters =
        given ? argument_text(run, set, "") : slice_of("");
    run_charge_pairs(run, text, characters);
    if (run->failed)
        return value_none();
    if (given)
        return value_string(string_strip_set(text, characters, left, right));
    if (left)
        text = string_strip_left(text);
    return value_string(right ? string_strip_right(text) : text);
}

static struct value method_strip(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    return strip(run, subject, arguments[0], true, true);
}

static struct value method_lstrip(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    return strip(run, subject, arguments[0], true, false);
}

static struct value method_rstrip(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    return strip(run, subject, arguments[0], false, true);
}

static struct value method_upper(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_put_case(run, &text, subject.string, STRING_UPPER);
    return taken(run, &text);
}

static struct value method_lower(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_put_case(run, &text, subject.string, STRING_LOWER);
    return taken(run, &text);
}

static struct value method_title(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_title(run, &text, subject.string);
    return taken(run, &text);
}

static struct value method_capitalize(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    struct buf text = {0};
    (void)arguments;
    string_capitalize(run, &text, subject.string);
    return taken(run, &text);
}

static struct value method_replace(struct run *run, struct value subject,
                                   const struct value *arguments)
{
    struct buf text = {0};
    string_replace(run, &text, subject.string,
                   argument_text(run, arguments[0], ""),
                   argument_text(run, arguments[1], ""),
                   argument_integer(run, arguments[2], -1));
    return taken(run, &text);
}

static struct value method_removeprefix(struct run *run, struct value subject,
                                        const struct value *arguments)
{
    struct slice text = subject.string;
    struct slice prefix = argument_text(run, arguments[0], "");
    run_charge(run, prefix.size / 64);
    if (slice_starts(text, prefix))
        text = (struct slice){text.data + prefix.size, text.size - prefix.size};
    return value_string(text);
}

static struct value method_removesuffix(struct run *run, struct value subject,
                                        const struct value *arguments)
{
    struct slice text = subject.string;
    struct slice suffix = argument_text(run, arguments[0], "");
    run_charge(run, suffix.size / 64);
    if (string_ends(text, suffix))
        text.size -= suffix.size;
    return value_string(text);
}

/* ---- Looking ---- */

/* startswith, endswith: of one text or of any in a tuple. */
static struct value has_end(struct run *run, struct slice text,
                            struct value ends,
                            bool (*has)(struct slice text, struct slice end))
{
    bool several = ends.kind == VALUE_TUPLE, found = false;
    size_t count = several ? ends.list->count : 1;
    for (size_t i = 0; i < count && !found && !run->failed; i++) {
        struct slice end =
            argument_text(run, several ? ends.list->items[i] : ends, "");
        run_charge(run, 1 + end.size / 64);
        found = has(text, end);
    }
    return value_boolean(found);
}

static struct value method_startswith(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    return has_end(run, subject.string, arguments[0], slice_starts);
}

static struct value method_endswith(struct run *run, struct value subject,
                                    const struct value *arguments)
{
    return has_end(run, subject.string, arguments[0], string_ends);
}

/* A place in bytes as one in characters, -1 for none. */
static struct value place(struct slice text, size_t at)
{
    if (at == SIZE_MAX)
        return value_integer(-1);
    return value_integer((int64_t)string_length((struct slice){text.data, at}));
}

static struct value method_find(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct slice needle = argument_text(run, arguments[0], "");
    run_charge(run, subject.string.size / 64);
    return place(subject.string, string_find(subject.string, needle));
}

static struct value method_rfind(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct slice needle = argument_text(run, arguments[0], "");
    run_charge_pairs(run, subject.string, needle);
    return run->failed ? value_none()
                       : place(subject.string,
                               string_find_last(subject.string, needle));
}

static struct value method_index(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct value at = method_find(run, subject, arguments);
    return at.integer < 0 ? run_fail(run, ERR_FORMAT, "index finds nothing")
                          : at;
}

static struct value method_count(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    struct slice rest = subject.string;
    struct slice needle = argument_text(run, arguments[0], "");
    int64_t count = 0;
    run_charge(run, rest.size / 16);
    if (!needle.size)
        return value_integer((int64_t)string_length(rest) + 1);
    for (size_t at; (at = string_find(rest, needle)) != SIZE_MAX; count++) {
        rest.data += at + needle.size;
        rest.size -= at + needle.size;
    }
    return value_integer(count);
}

/* ---- Parts ---- */

static void add_part(struct run *run, struct list *list, const char *from,
                     size_t size)
{
    list_add(run, list, value_string((struct slice){from, size}));
}

/* At white space, of which none is in the parts. */
static struct list *split_blanks(struct run *run, struct slice text,
                                 int64_t most)
{
    struct list *list = list_new(run);
    run_charge_pairs(run, text, slice_of(""));
    for (text = string_strip_left(text); text.size && most != 0 && !run->failed;
         text = string_strip_left(text), most--) {
        size_t end = 0;
        struct slice rest = text;
        while (rest.size && string_strip_left(rest).size == rest.size) {
            end += string_step(text, end);
            rest = (struct slice){text.data + end, text.size - end};
        }
        add_part(run, list, text.data, end);
        text = rest;
    }
    if (text.size)
        add_part(run, list, text.data, text.size);
    return list;
}

static struct list *split_at(struct run *run, struct slice text,
                             struct slice between, int64_t most)
{
    struct list *list = list_new(run);
    size_t at;
    for (; most != 0 && !run->failed &&
           (at = string_find(text, between)) != SIZE_MAX;
         most--) {
        add_part(run, list, text.data, at);
        text.data += at + between.size;
        text.size -= at + between.size;
    }
    add_part(run, list, text.data, text.size);
    return list;
}

/* From the right, the parts in the order of the text. */
static struct list *split_at_last(struct run *run, struct slice text,
                                  struct slice between, int64_t most)
{
    struct list *list = list_new(run);
    size_t at;
    for (; most != 0 && !run->failed &&
           (at = string_find_last(text, between)) != SIZE_MAX;
         most--) {
        add_part(run, list, text.data + at + between.size,
                 text.size - at - between.size);
        text.size = at;
    }
    add_part(run, list, text.data, text.size);
    for (size_t i = 0, j = list->count; i + 1 < j--; i++) {
        struct value item = list->items[i];
        list->items[i] = list->items[j];
        list->items[j] = item;
    }
    return list;
}

static struct value split(struct run *run, struct value subject,
                          const struct value *arguments, bool from_right)
{
    int64_t most = argument_integer(run, arguments[1], -1);
    bool blanks =
        arguments[0].kind == VALUE_ABSENT || arguments[0].kind == VALUE_NONE;
    if (blanks && from_right && most >= 0)
        return run_refuse(run, "rsplit at so many blanks");
    if (blanks)
        return value_list(VALUE_LIST, split_blanks(run, subject.string, most));
    struct slice between = argument_text(run, arguments[0], "");
    if (!between.size)
        return run_fail(run, ERR_FORMAT, "a string is split at nothing");
    run_charge_pairs(run, subject.string, from_right ? between : slice_of(""));
    if (run->failed)
        return value_none();
    return value_list(VALUE_LIST,
                      from_right
                          ? split_at_last(run, subject.string, between, most)
                          : split_at(run, subject.string, between, most));
}

static struct value method_split(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    return split(run, subject, arguments, false);
}

static struct value method_rsplit(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    return split(run, subject, arguments, true);
}

static struct value method_splitlines(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    struct list *list = list_new(run);
    struct slice text = subject.string;
    bool keeps = value_truth(arguments[0]);
    run_charge_pairs(run, text, slice_of(""));
    while (text.size && !run->failed) {
        size_t next, size = string_line(text, &next);
        add_part(run, list, text.data, keeps ? next : size);
        text = (struct slice){text.data + next, text.size - next};
    }
    return value_list(VALUE_LIST, list);
}

static struct value method_join(struct run *run, struct value subject,
                                const struct value *arguments)
{
    struct list *parts = value_iterate(run, arguments[0]);
    struct buf text = {0};
    for (size_t i = 0; i < parts->count && !run->failed; i++) {
        run_charge(run, 1);
        if (i)
            run_put(run, &text, subject.string);
        run_put(run, &text, argument_text(run, parts->items[i], ""));
    }
    return taken(run, &text);
}

/* ---- Dicts and lists ---- */

struct list *dict_items(struct run *run, const struct dict *dict)
{
    struct list *items = list_new(run);
    for (size_t i = 0; i < dict->count && !run->failed; i++) {
        struct list *item = list_new(run);
        list_add(run, item, dict->pairs[i].key);
        list_add(run, item, dict->pairs[i].value);
        list_add(run, items, value_list(VALUE_TUPLE, item));
    }
    return items;
}

static struct value method_items(struct run *run, struct value subject,
                                 const struct value *arguments)
{
    (void)arguments;
    return value_list(VALUE_VIEW, dict_items(run, subject.dict));
}

static struct value method_keys(struct run *run, struct value subject,
                                const struct value *arguments)
{
    (void)arguments;
    return value_list(VALUE_VIEW, value_iterate(run, subject));
}

static struct value method_values(struct run *run, struct value subject,
                                  const struct value *arguments)
{
    struct list *values = list_new(run);
    (void)arguments;
    for (size_t i = 0; i < subject.dict->count && !run->failed; i++)
        list_add(run, values, subject.dict->pairs[i].value);
    return value_list(VALUE_VIEW, values);
}

static struct value method_get(struct run *run, struct value subject,
                               const struct value *arguments)
{
    struct value *found = dict_find(run, subject.dict, arguments[0]);
    if (found)
        return *found;
    return arguments[1].kind == VALUE_ABSENT ? value_none() : arguments[1];
}

static struct value method_list_index(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    for (size_t i = 0; i < subject.list->count && !run->failed; i++)
        if (value_equal(run, subject.list->items[i], arguments[0]))
            return value_integer((int64_t)i);
    return run_fail(run, ERR_FORMAT, "index finds nothing");
}

static struct value method_list_count(struct run *run, struct value subject,
                                      const struct value *arguments)
{
    int64_t count = 0;
    for (size_t i = 0; i < subject.list->count && !run->failed; i++)
        count += value_equal(run, subject.list->items[i], arguments[0]);
    return value_integer(count);
}

#define REFUSED(NAME)                                                          \
    {                                                                          \
        NAME, NULL, 0,                                                         \
        {                                                                      \
            NULL                                                               \
        }                                                                      \
    }
#define END                                                                    \
    {                                                                          \
        NULL, NULL, 0,                                                         \
        {                                                                      \
            NULL                                                               \
        }                                                                      \
    }

const struct builtin string_methods[] = {
    {"capitalize", method_capitalize, 0, {NULL}},
    {"count", method_count, 1, {"*"}},
    {"endswith", method_endswith, 1, {"*"}},
    {"find", method_find, 1, {"*"}},
    {"index", method_index, 1, {"*"}},
    {"join", method_join, 1, {"*"}},
    {"lower", method_lower, 0, {NULL}},
    {"lstrip", method_lstrip, 0, {"*"}},
    {"removeprefix", method_removeprefix, 1, {"*"}},
    {"removesuffix", method_removesuffix, 1, {"*"}},
    {"replace", method_replace, 2, {"*", "*", "*"}},
    {"rfind", method_rfind, 1, {"*"}},
    {"rsplit", method_rsplit, 0, {"sep", "maxsplit"}},
    {"rstrip", method_rstrip, 0, {"*"}},
    {"split", method_split, 0, {"sep", "maxsplit"}},
    {"splitlines", method_splitlines, 0, {"keepends"}},
    {"startswith", method_startswith, 1, {"*"}},
    {"strip", method_strip, 0, {"*"}},
    {"title", method_title, 0, {NULL}},
    {"upper", method_upper, 0, {NULL}},
    REFUSED("casefold"),
    REFUSED("center"),
    REFUSED("encode"),
    REFUSED("expandtabs"),
    REFUSED("format"),
    REFUSED("format_map"),
    REFUSED("isalnum"),
    REFUSED("isalpha"),
    REFUSED("isascii"),
    REFUSED("isdecimal"),
    REFUSED("isdigit"),
    REFUSED("isidentifier"),
    REFUSED("islower"),
    REFUSED("isnumeric"),
    REFUSED("isprintable"),
    REFUSED("isspace"),
    REFUSED("istitle"),
    REFUSED("isupper"),
    REFUSED("ljust"),
    REFUSED("maketrans"),
    REFUSED("partition"),
    REFUSED("rindex"),
    REFUSED("rjust"),
    REFUSED("rpartition"),
    REFUSED("swapcase"),
    REFUSED("translate"),
    REFUSED("zfill"),
    END,
};

const struct builtin dict_methods[] = {
    {"get", method_get, 1, {"*", "*"}},
    {"items", method_items, 0, {NULL}},
    {"keys", method_keys, 0, {NULL}},
    {"values", method_values, 0, {NULL}},
    REFUSED("copy"),
    REFUSED("fromkeys"),
    END,
};

const struct builtin list_methods[] = {
    {"count", method_list_count, 1, {"*"}},
    {"index", method_list_index, 1, {"*"}},
    REFUSED("copy"),
    END,
};
