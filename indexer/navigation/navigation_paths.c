#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"
#include "indexer/navigation/navigation_internal.h"
#include "indexer/source.h"

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

/* A path from the folder of a help, in which, or in a folder of which, the script lies that
 * has its contents: in the nearest that has it. */
static uint32_t find_in_help(const struct navigation *p, uint32_t from,
                             struct slice url)
{
    enum { MAX_FOLDERS = 4 };
    const char *contents = p->pieces[from].path;
    size_t folder = (size_t)(navigation_name(contents) - contents);
    uint32_t found = TREE_NONE;
    struct buf path = {0}, anchor = {0};
    url = (struct slice){url.data + 1, url.size - 1};
    for (int i = 0; i < MAX_FOLDERS; i++) {
        buf_clear(&path);
        if (url_resolve((struct slice){contents, folder}, url, &path, &anchor))
            found = find_served(p, &path);
        if (found != TREE_NONE || !folder)
            break;
        folder--;
        while (folder && contents[folder - 1] != '/')
            folder--;
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
        found = source_format(p->pieces[from].path) == PARSER_SCRIPT
                    ? find_in_help(p, from, url)
                    : find_in_site(p, from, url);
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

/* A book without a page: "4|/Use.htm", a line's end, its title. */
static struct map_entry entry_of(const struct navigation *p, uint32_t map,
                                 const struct page_link *link)
{
    const char *end = memchr(link->title.data, '\n', link->title.size);
    size_t size = end ? (size_t)(end - link->title.data) : link->title.size;
    struct map_entry entry = {
        .name = {link->title.data, size}, .page = TREE_NONE, .map = map};
    if (end)
        entry.book = (struct slice){end + 1, link->title.size - size - 1};
    else
        entry.page = navigation_follow(p, map, link->url);
    return entry;
}

void navigation_read_maps(struct navigation *p)
{
    struct maps maps = {0};
    size_t capacity = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct page *page = navigation_page(p, i);
        for (uint32_t k = 0;
             page->contents == CONTENTS_MAP && k < page->link_count; k++) {
            struct map_entry entry = entry_of(p, i, &page->links[k]);
            if (entry.page == TREE_NONE && !entry.book.size)
                continue;
            MEM_RESERVE(maps.entries, &capacity, maps.count + 1);
            maps.entries[maps.count++] = entry;
        }
    }
    if (maps.count)
        qsort(maps.entries, maps.count, sizeof *maps.entries, by_name);
    p->maps = maps;
}

/* How near a map is to contents: in another folder, beside them, or called as they are as
 * well ("Tocs/Use.js" and "Tocs/Use_Chunk0.js"). */
static int nearness(const struct navigation *p, uint32_t map, const char *path)
{
    const char *own = p->pieces[map].path, *name = navigation_name(path);
    size_t folder = (size_t)(name - path), size = strcspn(name, ".");
    if ((size_t)(navigation_name(own) - own) != folder ||
        strncmp(own, path, folder) != 0)
        return 0;
    own += folder;
    return strncmp(own, name, size) || own[size] != '_' ? 1 : 2;
}

/* Help in several languages has a map for each, with the same names: the page below the
 * folder of the contents, or what the nearest map names, or else the first. */
static const struct map_entry *find_named(const struct navigation *p,
                                          uint32_t from, struct slice name)
{
    enum { MAX_SAME = 64 };
    const struct maps *maps = &p->maps;
    const char *path = p->pieces[from].path;
    size_t folder = (size_t)(navigation_name(path) - path);
    struct map_entry key = {.name = name};
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_name(&maps->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct map_entry *found = NULL;
    int best = 0;
    for (size_t i = low; i < maps->count && i < low + MAX_SAME; i++) {
        const struct map_entry *entry = &maps->entries[i];
        if (!slice_equal(entry->name, name))
            break;
        if (entry->page != TREE_NONE &&
            !strncmp(p->pieces[entry->page].path, path, folder))
            return entry;
        int near = nearness(p, entry->map, path);
        if (!found || near > best) {
            found = entry;
            best = near;
        }
    }
    return found;
}

static bool is_name(struct slice url)
{
    return url.size && url.data[0] == '#';
}

static struct map_entry look_up(const struct navigation *p, uint32_t from,
                                struct slice url)
{
    static const struct map_entry none = {.book = {"", 0}, .page = TREE_NONE};
    const struct map_entry *entry =
        find_named(p, from, (struct slice){url.data + 1, url.size - 1});
    return entry ? *entry : none;
}

uint32_t navigation_look_up(const struct navigation *p, uint32_t from,
                            struct slice url)
{
    return is_name(url) ? look_up(p, from, url).page
                        : navigation_follow(p, from, url);
}

struct slice navigation_book_of(const struct navigation *p, uint32_t from,
                                struct slice url)
{
    return is_name(url) ? look_up(p, from, url).book : (struct slice){"", 0};
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
