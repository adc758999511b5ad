#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"
#include "indexer/navigation/navigation_internal.h"

static uint32_t find_piece(const struct navigation *p, const struct buf *path)
{
    return assemble_find(p->pieces, p->count, buf_slice(path).data);
}

/* What a server has for a path: the page, that page without its ending, or the index
 * page of a folder. */
static uint32_t find_served(const struct navigation *p, struct buf *path)
{
    static const char *const endings[] = {".html", "/index.html"};
    uint32_t found = find_piece(p, path);
    size_t size = path->size;
    bool folder = !size || path->data[size - 1] == '/';
    if (found == TREE_NONE && folder) {
        buf_put_text(path, "index.html");
        found = find_piece(p, path);
    }
    bool bare = !folder && !strchr(navigation_name(path->data), '.');
    for (size_t i = 0; i < 2 && found == TREE_NONE && bare; i++) {
        path->size = size;
        buf_put_text(path, endings[i]);
        found = find_piece(p, path);
    }
    if (found == TREE_NONE) {
        path->size = size;
        path->data[size] = '\0';
    }
    return found;
}

/* A path from the root of a site, "/guide/use": the root is the manual's folder or one
 * above the page, and the site may stand below a name of its own ("/tool/guide/use"). */
static uint32_t find_in_site(const struct navigation *p, uint32_t from,
                             struct slice url)
{
    enum { MAX_NAMES = 3, MAX_FOLDERS = 4 };
    const char *page = p->pieces[from].path;
    uint32_t found = TREE_NONE;
    struct buf path = {0}, anchor = {0};
    for (int i = 0; i < MAX_NAMES && url.size && found == TREE_NONE; i++) {
        url.data++;
        url.size--;
        size_t folder = 0;
        for (int k = 0; k < MAX_FOLDERS && found == TREE_NONE; k++) {
            buf_clear(&path);
            if (!url_resolve((struct slice){page, folder}, url, &path, &anchor))
                break;
            if (path.size > folder || !url.size)
                found = find_served(p, &path);
            const char *next = strchr(page + folder, '/');
            if (!next)
                break;
            folder = (size_t)(next - page) + 1;
        }
        const char *slash = memchr(url.data, '/', url.size);
        url = slash
                  ? (struct slice){slash, url.size - (size_t)(slash - url.data)}
                  : (struct slice){"", 0};
    }
    buf_free(&path);
    buf_free(&anchor);
    return found;
}

uint32_t navigation_follow(const struct navigation *p, uint32_t from,
                           struct slice url)
{
    struct buf path = {0}, anchor = {0};
    uint32_t found = TREE_NONE;
    if (url.size > 1 && url.data[0] == '/' && url.data[1] != '/')
        found = find_in_site(p, from, url);
    else if (url.size &&
             url_resolve(slice_of(p->pieces[from].path), url, &path, &anchor))
        found = find_served(p, &path);
    if (found == TREE_NONE && path.size) {
        url_other_packing(&path);
        found = find_piece(p, &path);
    }
    buf_free(&path);
    buf_free(&anchor);
    return found == TREE_NONE ? found : p->places[found].same;
}

/* ---- Names ---- */

static int by_name(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int order = slice_compare(x->name, y->name);
    return order ? order : x->page < y->page ? -1 : x->page > y->page;
}

struct maps navigation_read_maps(const struct navigation *p)
{
    struct maps maps = {0};
    size_t capacity = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct page *page = navigation_page(p, i);
        for (uint32_t k = 0;
             page->contents == CONTENTS_MAP && k < page->link_count; k++) {
            uint32_t to = navigation_follow(p, i, page->links[k].url);
            if (to == TREE_NONE)
                continue;
            MEM_RESERVE(maps.entries, &capacity, maps.count + 1);
            maps.entries[maps.count++] =
                (struct map_entry){page->links[k].title, to, i};
        }
    }
    if (maps.count)
        qsort(maps.entries, maps.count, sizeof *maps.entries, by_name);
    return maps;
}

static bool is_beside(const struct navigation *p, uint32_t piece,
                      const char *path)
{
    const char *own = p->pieces[piece].path;
    size_t folder = (size_t)(navigation_name(path) - path);
    return (size_t)(navigation_name(own) - own) == folder &&
           !strncmp(own, path, folder);
}

/* Help in several languages has a map for each, with the same names: the page below the
 * folder of the contents, or what a map in that folder names, or else the first. */
uint32_t navigation_look_up(const struct navigation *p, const struct maps *maps,
                            uint32_t from, struct slice url)
{
    enum { MAX_SAME = 64 };
    if (!url.size || url.data[0] != '#')
        return navigation_follow(p, from, url);
    const char *path = p->pieces[from].path;
    size_t folder = (size_t)(navigation_name(path) - path);
    struct map_entry key = {{url.data + 1, url.size - 1}, 0, 0};
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_name(&maps->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = TREE_NONE;
    bool beside = false;
    for (size_t i = low; i < maps->count && i < low + MAX_SAME; i++) {
        const struct map_entry *entry = &maps->entries[i];
        if (!slice_equal(entry->name, key.name))
            break;
        if (!strncmp(p->pieces[entry->page].path, path, folder))
            return entry->page;
        bool near = is_beside(p, entry->map, path);
        if (found == TREE_NONE || (near && !beside))
            found = entry->page;
        beside |= near;
    }
    return found;
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

/* With capitals it may be an alphabetical index. */
static bool heads(const struct navigation *p, uint32_t page, const char *name)
{
    return !p->places[page].excluded &&
           (p->pages[page].is_index || *name != 'I');
}

uint32_t navigation_folder_index(const struct navigation *p, uint32_t page)
{
    static const char *const names[] = {"index.html", "package-summary.html",
                                        "index.htm",  "index.xhtml",
                                        "Index.html", "Index.htm",
                                        "INDEX.HTML", "INDEX.HTM"};
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
                (found != TREE_NONE && !heads(p, found, names[i])))
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
