#include "base/folder_name.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

/* A folder's name that says nothing: its parent's is taken. */
static bool is_plain_name(struct slice name)
{
    static const char *const plain[] = {"html",   "doc",   "docs", "htmldocs",
                                        "manual", "share", "en",   "www"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (name.size == strlen(plain[i]) &&
            !strncasecmp(name.data, plain[i], name.size))
            return true;
    return false;
}

static struct slice last_part(const char *root, size_t *end)
{
    while (*end > 1 && root[*end - 1] == '/')
        --*end;
    size_t from = *end;
    while (from > 0 && root[from - 1] != '/')
        from--;
    struct slice part = {root + from, *end - from};
    *end = from;
    return part;
}

/* "Pumps.docset" is Dash's form of the manual Pumps. */
static struct slice without_ending(struct slice name)
{
    static const char ending[] = ".docset";
    size_t size = sizeof ending - 1;
    if (name.size > size && !memcmp(name.data + name.size - size, ending, size))
        name.size -= size;
    return name;
}

char *folder_name(const char *path)
{
    size_t end = strlen(path);
    struct slice name = last_part(path, &end);
    while (is_plain_name(name) && end > 1) {
        struct slice above = last_part(path, &end);
        if (!above.size)
            break;
        name = above;
    }
    name = without_ending(name);
    return name.size ? mem_strndup(name.data, name.size) : mem_strdup("manual");
}
