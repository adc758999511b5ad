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

/* `title: "Pumps"`; empty: another line, or what a program puts there. */
static struct slice title_in(struct slice line)
{
    static const char key[] = "title:";
    static const struct slice none = {"", 0};
    if (!slice_starts(line, slice_of(key)))
        return none;
    struct slice value = without_space(
        (struct slice){line.data + sizeof key - 1, line.size - sizeof key + 1});
    char quote = value.size > 1 ? value.data[0] : '\0';
    if ((quote == '"' || quote == '\'') && value.data[value.size - 1] == quote)
        value = (struct slice){value.data + 1, value.size - 2};
    return memmem(value.data, value.size, "{{", 2) ? none : value;
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
    static const struct front_matter none = {0};
    struct front_matter found = {0};
    size_t at, next;
    bool keys = false;
    if (!slice_is(line_at(text, 0, &at), fence))
        return none;
    for (; at < text.size && at < MAX_SIZE; at = next) {
        struct slice line = line_at(text, at, &next);
        if (slice_is(line, fence)) {
            found.size = next;
            return keys ? found : none;
        }
        keys |= is_key(line);
        name(&found, text, title_in(line));
    }
    return none;
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
    if (!rest.size || rest.data[0] != '"')
        return found;
    struct slice title = {rest.data + 1, rest.size - 1};
    const char *close = memchr(title.data, '"', title.size);
    title.size = close ? (size_t)(close - title.data) : 0;
    if (!memchr(title.data, '\\', title.size))
        name(&found, text, title);
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
