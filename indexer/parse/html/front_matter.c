#include "indexer/parse/html/front_matter.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SIZE = 1 << 14 };

static const char fence[] = "---";

/* The line from `at` on, without its end; *ret_next: where the next begins. */
static struct slice line_at(struct slice text, size_t at, size_t *ret_next)
{
    const char *from = text.data + at;
    const char *end = memchr(from, '\n', text.size - at);
    size_t size = end ? (size_t)(end - from) : text.size - at;
    *ret_next = at + size + (end != NULL);
    if (size && from[size - 1] == '\r')
        size--;
    return (struct slice){from, size};
}

static struct slice without_space(struct slice text)
{
    while (text.size && isspace((unsigned char)text.data[text.size - 1]))
        text.size--;
    while (text.size && isspace((unsigned char)text.data[0])) {
        text.data++;
        text.size--;
    }
    return text;
}

static bool is_key(struct slice line)
{
    size_t at = 0;
    while (at < line.size && (isalnum((unsigned char)line.data[at]) ||
                              line.data[at] == '_' || line.data[at] == '-'))
        at++;
    return at && at < line.size && line.data[at] == ':';
}

static const struct slice none = {"", 0};

/* What stands in quotes; *ret_rest: what behind them.  Empty: nothing, or something that
 * is written otherwise than it reads, with a backslash. */
static struct slice quoted(struct slice value, struct slice *ret_rest)
{
    const char *from = value.data + 1;
    const char *close = memchr(from, value.data[0], value.size - 1);
    size_t size = close ? (size_t)(close - from) : 0;
    *ret_rest = close ? (struct slice){close + 1, value.size - size - 2} : none;
    return memchr(from, '\\', size) ? none : (struct slice){from, size};
}

/* `title: "Pumps" # or so`; empty: another line, what a program puts there, or a text of
 * several lines. */
static struct slice title_in(struct slice line)
{
    static const char key[] = "title:";
    if (!slice_starts(line, slice_of(key)))
        return none;
    struct slice value = without_space(
        (struct slice){line.data + sizeof key - 1, line.size - sizeof key + 1});
    if (!value.size || memchr("#>|", value.data[0], 3) ||
        memmem(value.data, value.size, "{{", 2))
        return none;
    if (value.data[0] == '"' || value.data[0] == '\'') {
        struct slice rest, title = quoted(value, &rest);
        rest = without_space(rest);
        return rest.size && rest.data[0] != '#' ? none : title;
    }
    const char *comment = memmem(value.data, value.size, " #", 2);
    if (comment)
        value.size = (size_t)(comment - value.data);
    return without_space(value);
}

static void name(struct front_matter *found, struct slice text,
                 struct slice title)
{
    size_t from = (size_t)(title.data - text.data);
    if (!title.size || found->name.size)
        return;
    found->name = title;
    found->title = (struct span){from, from + title.size};
}

static struct front_matter read_yaml(struct slice text)
{
    struct front_matter found = {0};
    size_t at, next;
    bool keys = false;
    if (!slice_is(line_at(text, 0, &at), fence))
        return found;
    for (; at < text.size && at < MAX_SIZE; at = next) {
        struct slice line = line_at(text, at, &next);
        if (slice_is(line, fence)) {
            found.size = next;
            return keys ? found : (struct front_matter){0};
        }
        keys |= is_key(line);
        name(&found, text, title_in(line));
    }
    return (struct front_matter){0};
}

/* <!--{ "Title": "Pumps", ... }--> */
static struct front_matter read_json(struct slice text)
{
    static const char key[] = "\"Title\":";
    struct front_matter found = {0};
    const char *end = memmem(text.data, text.size, "}-->", 4);
    const char *at =
        end ? memmem(text.data, (size_t)(end - text.data), key, sizeof key - 1)
            : NULL;
    if (!at)
        return found;
    at += sizeof key - 1;
    struct slice rest = without_space((struct slice){at, (size_t)(end - at)});
    if (rest.size && rest.data[0] == '"')
        name(&found, text, quoted(rest, &rest));
    return found;
}

struct front_matter front_matter_read(struct slice text)
{
    struct slice head = {text.data,
                         text.size < MAX_SIZE ? text.size : MAX_SIZE};
    if (slice_starts(head, slice_of("<!--{")))
        return read_json(head);
    return read_yaml(head);
}
