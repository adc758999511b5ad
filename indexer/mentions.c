#include "indexer/mentions.h"

#include <ctype.h>
#include <string.h>

enum { MAX_NAME = 200, MAX_ARGUMENTS = 3 };

/* \input, \DocInput, \tikzinput, \include, \subimport, \subfile, \segment, \activity
 * and \practice; not \includegraphics. */
static bool is_including(struct slice command)
{
    static const char *const marks[] = {
        "nput", "nclude", "mport", "ubfile", "activity", "practice", "segment"};
    if (command.size < 5 || memmem(command.data, command.size, "graphic", 7))
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(command.data, command.size, marks[i], strlen(marks[i])))
            return true;
    return false;
}

static bool is_in_comment(struct slice text, size_t at)
{
    const char *line = memrchr(text.data, '\n', at);
    line = line ? line : text.data;
    return memchr(line, '%', (size_t)(text.data + at - line));
}

/* Without folders and white space; none that a macro would make. */
static void put_name(struct slice name, struct buf *ret)
{
    const char *slash = memrchr(name.data, '/', name.size);
    if (slash) {
        name.size -= (size_t)(slash + 1 - name.data);
        name.data = slash + 1;
    }
    while (name.size && isspace((unsigned char)name.data[0]))
        name.data++, name.size--;
    while (name.size && isspace((unsigned char)name.data[name.size - 1]))
        name.size--;
    if (!name.size || memchr(name.data, '\\', name.size) ||
        memchr(name.data, '#', name.size) || memchr(name.data, '\n', name.size))
        return;
    buf_put_slice(ret, name);
    buf_put_byte(ret, '\n');
}

/* Up to one of `ends`, which is passed; empty: there is none near. */
static struct slice take_until(struct slice text, const char *ends, size_t *at)
{
    size_t from = *at, to = from;
    while (to < text.size && to - from < MAX_NAME &&
           !strchr(ends, text.data[to]))
        to++;
    if (to == text.size || to - from == MAX_NAME)
        return (struct slice){"", 0};
    *at = to + 1;
    return (struct slice){text.data + from, to - from};
}

/* \input{name}, \import{folder}{name}, \olimport[folder]{name}, \input name */
static size_t take_names(struct slice text, size_t at, struct buf *ret)
{
    at += at < text.size && text.data[at] == '*';
    if (at < text.size && text.data[at] == ' ') {
        at++;
        if (at < text.size && text.data[at] != '{') {
            put_name(take_until(text, " \n}\\%", &at), ret);
            return at;
        }
    }
    for (int i = 0; i < MAX_ARGUMENTS && at < text.size; i++) {
        char open = text.data[at];
        if (open != '{' && open != '[')
            break;
        at++;
        struct slice name = take_until(text, open == '{' ? "}" : "]", &at);
        if (open == '{')
            put_name(name, ret);
    }
    return at;
}

void mentions_find(struct slice text, struct buf *ret_names)
{
    for (size_t at = 0; at < text.size;) {
        const char *slash = memchr(text.data + at, '\\', text.size - at);
        if (!slash)
            return;
        size_t from = (size_t)(slash - text.data) + 1;
        at = from;
        while (at < text.size && (unsigned)((text.data[at] | 32) - 'a') < 26)
            at++;
        if (at == from)
            at += at < text.size; /* \\, \% */
        else if (is_including((struct slice){text.data + from, at - from}) &&
                 !is_in_comment(text, from))
            at = take_names(text, at, ret_names);
    }
}

void mentions_mark(const struct scan *scan, struct slice names, size_t self,
                   bool *ret)
{
    struct buf end = {0};
    bool was = ret[self];
    while (names.size) {
        const char *line = memchr(names.data, '\n', names.size);
        size_t size = line ? (size_t)(line - names.data) : names.size;
        buf_clear(&end);
        buf_put(&end, names.data, size);
        scan_mark_named(scan, buf_slice(&end), ret);
        buf_put_text(&end, ".tex");
        scan_mark_named(scan, buf_slice(&end), ret);
        size += line != NULL;
        names.data += size;
        names.size -= size;
    }
    ret[self] = was;
    buf_free(&end);
}
