#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"
#include "indexer/navigation/navigation_internal.h"

uint32_t navigation_follow(const struct navigation *p, uint32_t from,
                           struct slice url)
{
    struct buf path = {0}, anchor = {0};
    uint32_t found = TREE_NONE;
    if (url.size &&
        url_resolve(slice_of(p->pieces[from].path), url, &path, &anchor))
        found = assemble_find(p->pieces, p->count, path.data);
    if (found == TREE_NONE && path.size) {
        url_other_packing(&path);
        found = assemble_find(p->pieces, p->count, path.data);
    }
    buf_free(&path);
    buf_free(&anchor);
    return found == TREE_NONE ? found : p->places[found].same;
}

const char *navigation_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool navigation_is_named(const char *path, const char *const *names)
{
    const char *name = navigation_name(path);
    size_t size = strcspn(name, ".");
    for (; *names; names++)
        if (strlen(*names) == size && !strncasecmp(name, *names, size))
            return true;
    return false;
}

bool navigation_is_deeper(const char *path, const char *above)
{
    size_t folder = (size_t)(navigation_name(above) - above);
    return !strncmp(path, above, folder) && strchr(path + folder, '/');
}

uint32_t navigation_folder_index(const struct navigation *p, uint32_t page)
{
    static const char *const names[] = {"index.html", "package-summary.html",
                                        "index.htm", "index.xhtml"};
    const char *path = p->pieces[page].path;
    size_t size = (size_t)(navigation_name(path) - path);
    bool own_folder = p->pages[page].is_index;
    struct buf name = {0};
    uint32_t found = TREE_NONE;
    for (;;) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !own_folder &&
                           found == TREE_NONE;
             i++) {
            buf_clear(&name);
            buf_put(&name, path, size);
            buf_put_text(&name, names[i]);
            found = assemble_find(p->pieces, p->count, name.data);
            if (found == page ||
                (found != TREE_NONE && p->places[found].excluded))
                found = TREE_NONE;
        }
        own_folder = false;
        if (found != TREE_NONE || !size)
            break;
        size--;
        while (size && path[size - 1] != '/')
            size--;
    }
    buf_free(&name);
    return found;
}
