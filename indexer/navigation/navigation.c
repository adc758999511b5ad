#include "indexer/navigation/navigation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "indexer/navigation/navigation_internal.h"
#include "indexer/repeated.h"
#include "indexer/source.h"

/* ---- What is left out ---- */

static const char *const summary_names[] = {"package-summary", NULL};

/* Of "index.html" and "Index.html" in one folder the second is another. */
static bool is_index(const struct navigation *p, uint32_t piece)
{
    static const char *const names[] = {"index", NULL};
    const char *path = p->pieces[piece].path, *name = navigation_name(path);
    if (!navigation_is_named(path, names) ||
        navigation_page(p, piece)->role == PAGE_INDEX)
        return false;
    if (!strncmp(name, "index", 5))
        return true;
    struct buf plain = {0};
    buf_put(&plain, path, (size_t)(name - path));
    buf_put_text(&plain, "index");
    buf_put_text(&plain, name + 5);
    bool alone = assemble_find(p->pieces, p->count, plain.data) == TREE_NONE;
    buf_free(&plain);
    return alone;
}

/* "index-files/index-1.html"; a folder may be called so for what it is about. */
static bool is_letter_of_index(const char *path)
{
    static const char file[] = "index-files/index-";
    const char *at = strstr(path, file);
    return at && (at == path || at[-1] == '/') &&
           isdigit((unsigned char)at[sizeof file - 1]);
}

/* What javadoc makes besides the pages of packages and classes. */
static bool is_besides(const char *path)
{
    static const char *const names[] = {
        "allclasses",        "allclasses-frame",
        "allclasses-index",  "allclasses-noframe",
        "allpackages-index", "help-doc",
        "index-all",         "overview-frame",
        "overview-tree",     "overview-summary",
        "package-frame",     "package-tree",
        "package-use",       NULL};
    return navigation_is_named(path, names) || strstr(path, "class-use/") ||
           is_letter_of_index(path) || strstr(path, "src-html/");
}

static bool begins_with(const char *name, const char *const *starts)
{
    while (*starts && strncmp(name, *starts, strlen(*starts)))
        starts++;
    return *starts != NULL;
}

/* The frames in which WebWorks shows its pages: "wwhelp/wwhimpl/js/html/panelini.htm". */
static bool is_webworks_frame(const char *path)
{
    static const char *const folders[] = {"wwhelp/wwhimpl/", "wwhdata/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = strstr(path, folders[i]);
        if (at && (at == path || at[-1] == '/'))
            return true;
    }
    return false;
}

/* What WebWorks shows in windows of their own stands on a page, too.  They are called as
 * their files; a chapter may be of windows that pop up. */
static bool is_webworks_window(const struct piece *piece)
{
    static const char folder[] = "popups/";
    const char *path = piece->path, *name = navigation_name(path);
    size_t size = sizeof folder - 1, before = (size_t)(name - path);
    return before >= size && !memcmp(name - size, folder, size) &&
           (before == size || name[-(ptrdiff_t)size - 1] == '/') &&
           slice_is(piece->skeleton->nodes[0].title, name);
}

/* RoboHelp's frames, and what they show to browsers without scripts: "whgdata/whlstt0.htm",
 * "whd_tabs.htm".  Its pages are called by whoever wrote them. */
static const char *const robohelp_names[] = {"whproj", "whnjs", NULL};

static bool is_robohelp_frame(const char *path)
{
    static const char *const names[] = {"whcsh", "whd",    "whf",  "whg",
                                        "whi",   "whl",    "whn",  "whp",
                                        "wht",   "whskin", "whst", NULL};
    return begins_with(navigation_name(path), names);
}

/* What Help & Manual shows windows in. */
static bool is_manual_window(const char *path)
{
    static const char *const names[] = {
        "_hmXpopup.", "_hmXtopic.", "_hm_print_window.", "_hmpermalink.", NULL};
    return begins_with(navigation_name(path), names);
}

/* The edges of printed pages, beside a page of Word's: "pump_files/header.htm" and
 * "pump.htm".  They have no heading. */
static bool is_word_edge(const struct navigation *p, const struct piece *piece)
{
    static const char *const edges[] = {"_files/header.htm",
                                        "_files/plchdr.htm"};
    const char *path = piece->path;
    struct buf page = {0};
    bool found = false;
    if (piece->skeleton->count > 1 || piece->skeleton->nodes[0].level)
        return false;
    for (size_t i = 0; i < sizeof edges / sizeof *edges && !found; i++) {
        size_t size = strlen(path), own = strlen(edges[i]);
        if (size <= own || strcmp(path + size - own, edges[i]))
            continue;
        buf_put(&page, path, size - own);
        buf_put_text(&page, ".htm");
        found = assemble_find(p->pieces, p->count, page.data) != TREE_NONE;
        buf_put_text(&page, "l");
        found |= assemble_find(p->pieces, p->count, page.data) != TREE_NONE;
    }
    buf_free(&page);
    return found;
}

static bool ends_in(struct slice name, const char *ending)
{
    size_t size = strlen(ending);
    return name.size > size &&
           !strncasecmp(name.data + name.size - size, ending, size);
}

/* The contents and the index of help, which are no pages of it: "toc.hhc" and "index.hhk"
 * of an HTML Help file, unpacked, "map.jhm" of JavaHelp, "toc.xml" of that and Eclipse,
 * "WebTOC.xml" of Sandcastle, "helptoc.xml" of MATLAB, "toc.ncx" of an EPUB, "contents.js"
 * of LibreOffice, "hmcontent.js" of Help & Manual and other scripts. */
static bool is_help_contents(const struct navigation *p, uint32_t piece)
{
    static const char *const endings[] = {".hhc", ".hhk", ".jhm", ".ncx"};
    struct slice name = source_unpacked_path(p->pieces[piece].path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(name, endings[i]))
            return true;
    return source_format(p->pieces[piece].path) == PARSER_SCRIPT ||
           ((ends_in(name, ".xml") || ends_in(name, ".js")) &&
            navigation_page(p, piece)->contents == CONTENTS_WHOLE);
}

struct content_key {
    struct hash128 hash;
    bool index;
    uint32_t piece;
};

static int by_content(const void *a, const void *b)
{
    const struct content_key *x = a, *y = b;
    if (x->hash.high != y->hash.high)
        return x->hash.high < y->hash.high ? -1 : 1;
    if (x->hash.low != y->hash.low)
        return x->hash.low < y->hash.low ? -1 : 1;
    if (x->index != y->index)
        return x->index ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

/* Equal contents of two helps are each of its own. */
static void find_equals(struct navigation *p)
{
    struct content_key *keys = mem_alloc(p->count * sizeof *keys);
    for (uint32_t i = 0; i < p->count; i++)
        keys[i] = (struct content_key){p->pieces[i].content, is_index(p, i), i};
    if (p->count)
        qsort(keys, p->count, sizeof *keys, by_content);
    for (uint32_t i = 0; i < p->count; i++) {
        struct hash128 hash = keys[i].hash;
        bool same = i && (hash.low || hash.high) &&
                    hash_equal(hash, keys[i - 1].hash) &&
                    !is_help_contents(p, keys[i].piece);
        p->places[keys[i].piece].same =
            same ? p->places[keys[i - 1].piece].same : keys[i].piece;
    }
    free(keys);
}

static bool includes(const struct navigation *p, uint32_t piece, uint32_t other)
{
    const struct tree *summary = p->pieces[piece].skeleton;
    for (uint32_t f = 1; f < summary->file_count; f++)
        if (slice_is(summary->files[f], p->pieces[other].path))
            return true;
    return false;
}

/* What a document includes stands in it; of two that include each other, the
 * first by path is the document. */
static void leave_out_included(struct navigation *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tree *summary = p->pieces[i].skeleton;
        for (uint32_t f = 1; f < summary->file_count; f++) {
            uint32_t other =
                assemble_find(p->pieces, p->count, summary->files[f].data);
            if (other != TREE_NONE && other != i &&
                (other > i || !includes(p, other, i)))
                p->places[other].excluded = EXCLUDED_PART;
        }
    }
}

/* Doxygen's listing of a file ("mem_8h_source.html"): what is documented of it has
 * pages of its own. */
static bool is_listing(const char *path)
{
    static const char ending[] = "_source.";
    const char *name = navigation_name(path), *escaped = strstr(name, "_8");
    const char *end = escaped ? strstr(escaped, ending) : NULL;
    return end && !strncmp(end + sizeof ending - 1, "htm", 3);
}

/* What Doxygen says of a folder of which its author says nothing: what is in it. */
static bool is_folder(const struct piece *piece)
{
    const struct tree *summary = piece->skeleton;
    const char *name = navigation_name(piece->path);
    if (strncmp(name, "dir_", 4) ||
        strspn(name + 4, "0123456789abcdef") != 32 || summary->nodes[0].words)
        return false;
    for (uint32_t i = 1; i < summary->count; i++)
        if (!slice_is(summary->nodes[i].anchor, "subdirs") &&
            !slice_is(summary->nodes[i].anchor, "files"))
            return false;
    return true;
}

/* What Oxygen's program opens a page for a name by.  A chapter of that name, of nothing but
 * its contents, has a heading. */
static bool is_helper(const struct piece *piece)
{
    static const char *const names[] = {"cshelp", "context-help", NULL};
    const struct tree *summary = piece->skeleton;
    return navigation_is_named(piece->path, names) && summary->count == 1 &&
           !summary->nodes[0].words && !summary->nodes[0].level;
}

/* What Doxygen writes for programs that follow all links. */
static bool is_for_crawlers(const char *path)
{
    static const char *const names[] = {"doxygen_crawl", NULL};
    return navigation_is_named(path, names);
}

/* Doxygen's list of all names of a kind ("globals_enum.html"), which is nothing but links,
 * without a heading. */
static bool is_list_of_names(const struct piece *piece)
{
    enum { KIND = 4 }; /* letters */
    static const char *const starts[] = {"functions_", "globals_",
                                         "namespacemembers_"};
    static const char *const kinds[] = {"defs", "enum", "eval", "evnt", "func",
                                        "prop", "rela", "type", "vars", NULL};
    const struct tree *summary = piece->skeleton;
    const char *name = navigation_name(piece->path), *kind = NULL;
    for (size_t i = 0; i < sizeof starts / sizeof *starts && !kind; i++)
        if (!strncmp(name, starts[i], strlen(starts[i])))
            kind = name + strlen(starts[i]);
    return kind && begins_with(kind, kinds) &&
           (kind[KIND] == '.' || kind[KIND] == '_') && summary->count == 1 &&
           !summary->nodes[0].words && !summary->nodes[0].level;
}

/* Is the page called as another is, with `mark` behind its name?  `starts` (NULL: any) are
 * how its own begins.  GAPDoc writes each page once more for MathJax: "chap2_mj.html". */
static bool is_besides_another(const struct navigation *p, uint32_t piece,
                               const char *const *starts, const char *mark)
{
    const char *path = p->pieces[piece].path;
    if (starts && !begins_with(navigation_name(path), starts))
        return false;
    const char *dot = strstr(navigation_name(path), ".htm");
    size_t size = dot ? (size_t)(dot - path) : 0, own = strlen(mark);
    if (size <= own || memcmp(path + size - own, mark, own))
        return false;
    struct buf other = {0};
    buf_put(&other, path, size - own);
    buf_put_text(&other, dot);
    bool found = assemble_find(p->pieces, p->count, other.data) != TREE_NONE;
    buf_free(&other);
    return found;
}

/* Is it "List of All Members for QSize"? */
static bool is_titled_members(const struct navigation *p, uint32_t piece)
{
    struct slice title = p->pieces[piece].skeleton->nodes[0].title;
    return slice_starts(title, slice_of("List of All Members"));
}

/* Doxygen's list of a class's members, inherited ones as well: "class_a-members.html",
 * which would be taken for contents, and each class for a part of its list; QDoc's is
 * "a-members.html". */
static bool is_list_of_members(const struct navigation *p, uint32_t piece)
{
    static const char *const kinds[] = {"class",     "struct",   "union",
                                        "interface", "protocol", "category",
                                        "exception", "service",  "singleton",
                                        "namespace", "enum",     NULL};
    return (navigation_page(p, piece)->contents == CONTENTS_BELOW &&
            is_besides_another(p, piece, kinds, "-members")) ||
           (is_titled_members(p, piece) &&
            is_besides_another(p, piece, NULL, "-members"));
}

static void look_at(struct navigation *p)
{
    static const char *const chapters[] = {"chap", NULL};
    bool javadoc = false, robohelp = false, webworks = false;
    for (uint32_t i = 0; i < p->count; i++) {
        javadoc |= navigation_is_named(p->pieces[i].path, summary_names);
        robohelp |= navigation_is_named(p->pieces[i].path, robohelp_names);
        webworks |= is_webworks_frame(p->pieces[i].path);
    }
    find_equals(p);
    bool *subtrees = mem_alloc(p->count * sizeof *subtrees);
    repeated_subtrees(p->pieces, p->count, subtrees);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct piece *piece = &p->pieces[i];
        const char *path = piece->path;
        /* A document that includes others is no page with them once more. */
        subtrees[i] &= p->pieces[i].skeleton->file_count <= 1;
        int role = navigation_page(p, i)->role;
        p->places[i].excluded =
            role == PAGE_REDIRECT                       ? EXCLUDED_REDIRECT
            : role == PAGE_SEARCH                       ? EXCLUDED_SEARCH
            : role == PAGE_PART                         ? EXCLUDED_PART
            : role == PAGE_MADE                         ? EXCLUDED_LISTS
            : is_listing(path)                          ? EXCLUDED_LISTS
            : is_for_crawlers(path) || is_folder(piece) ? EXCLUDED_LISTS
            : is_list_of_names(piece)                   ? EXCLUDED_LISTS
            : is_webworks_frame(path)                   ? EXCLUDED_MENU
            : is_manual_window(path)                    ? EXCLUDED_MENU
            : is_word_edge(p, piece)                    ? EXCLUDED_MENU
            : is_helper(piece)                          ? EXCLUDED_MENU
            : is_help_contents(p, i)                    ? EXCLUDED_MENU
            : robohelp && is_robohelp_frame(path)       ? EXCLUDED_MENU
            : webworks && is_webworks_window(piece)     ? EXCLUDED_LISTS
            : javadoc && is_besides(path)               ? EXCLUDED_LISTS
            : is_besides_another(p, i, chapters, "_mj") ? EXCLUDED_VARIANT
            : is_list_of_members(p, i)                  ? EXCLUDED_LISTS
            : subtrees[i]                               ? EXCLUDED_WHOLE
            : p->places[i].same != i                    ? EXCLUDED_SAME
                                                        : EXCLUDED_NOT;
        p->pages[i] = (struct page_place){
            .is_index = is_index(p, i) ||
                        (javadoc && navigation_is_named(path, summary_names)),
            .distance = NOT_PLACED,
            .listed = UINT64_MAX,
            .offer = {.lister = TREE_NONE, .group = TREE_NONE}};
    }
    navigation_read_maps(p);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct page *page = navigation_page(p, i);
        p->pages[i].next = navigation_follow(p, i, page->next);
        p->targets[i] = mem_alloc(page->link_count * sizeof **p->targets);
        for (uint32_t k = 0; k < page->link_count; k++)
            p->targets[i][k] = navigation_look_up(p, i, page->links[k].url);
    }
    free(subtrees);
    leave_out_included(p);
    navigation_leave_out_variants(p);
}

/* ---- Parents ---- */

/* Is the page in a list that its generator made? */
static bool is_listed_surely(const struct navigation *p, uint32_t page)
{
    uint32_t lister = p->pages[page].offer.lister;
    int kind = lister == TREE_NONE ? CONTENTS_NONE
                                   : navigation_page(p, lister)->contents;
    return kind == CONTENTS_BELOW || kind == CONTENTS_WHOLE ||
           kind == CONTENTS_FRAMESET;
}

/* Help's list that another has in the place of an entry stands below what that entry does. */
static uint32_t parent_in_list(const struct navigation *p,
                               const struct offer *offer)
{
    enum { MAX_LISTS = 16 };
    uint32_t parent = offer->parent;
    for (int i = 0; i < MAX_LISTS && parent == TREE_NONE; i++) {
        uint32_t list = offer->lister;
        offer = &p->pages[list].offer;
        if (offer->lister == TREE_NONE || !is_help_contents(p, list))
            break;
        parent = offer->parent;
    }
    return parent;
}

static uint32_t choose_parent(const struct navigation *p, uint32_t page)
{
    const struct offer *offer = &p->pages[page].offer;
    uint32_t parent = navigation_follow(p, page, navigation_page(p, page)->up);
    if (p->pages[page].by_name &&
        (navigation_page(p, page)->trail || parent == TREE_NONE))
        return p->pages[page].named;
    if (navigation_page(p, page)->trail && parent != TREE_NONE &&
        (p->pages[parent].through || p->places[parent].excluded ||
         is_listed_surely(p, page)))
        parent = TREE_NONE;
    if ((parent == TREE_NONE || parent == page) && offer->lister != TREE_NONE)
        parent = parent_in_list(p, offer);
    if (parent == TREE_NONE || parent == page ||
        (p->places[parent].excluded && !p->pages[parent].through))
        parent = navigation_folder_index(p, page);
    return parent;
}

/* Cuts a circle of parents where it is first met: that page becomes a child of
 * the root. */
static void cut_circles(struct navigation *p)
{
    uint32_t *mark = mem_alloc(p->total * sizeof *mark);
    for (uint32_t i = 0; i < p->total; i++) {
        uint32_t page = i;
        while (page != TREE_NONE && !mark[page]) {
            mark[page] = i + 1;
            page = p->places[page].parent;
        }
        if (page != TREE_NONE && mark[page] == i + 1)
            p->places[page].parent = TREE_NONE;
    }
    free(mark);
}

/* The pages of a menu stand where it does, and in its place among others. */
static void open_menus(struct navigation *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        struct page_place *page = &p->pages[i];
        if (page->offer.lister == TREE_NONE)
            continue;
        int kind = navigation_page(p, page->offer.lister)->contents;
        page->listed = (uint64_t)page->offer.at << 20;
        page->surely = kind == CONTENTS_WHOLE ||
                       (kind == CONTENTS_BELOW &&
                        page->offer.parent == p->places[i].parent);
    }
    for (uint32_t i = 0; i < p->count; i++) {
        struct place *place = &p->places[i];
        while (place->parent < p->count && p->pages[place->parent].through) {
            const struct page_place *menu = &p->pages[place->parent];
            uint64_t own = p->pages[i].listed >> 20;
            if (menu->listed != UINT64_MAX && own < 1 << 20)
                p->pages[i].listed = menu->listed + own;
            place->parent = p->places[place->parent].parent;
        }
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (p->pages[i].through)
            p->places[i].excluded = EXCLUDED_MENU;
}

/* A heading in a list is one of pages that stand where the list has them. */
static void find_groups(struct navigation *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct offer *offer = &p->pages[i].offer;
        bool there = offer->lister != TREE_NONE &&
                     offer->parent == offer->lister &&
                     p->places[i].parent == offer->parent;
        p->places[i].group = there ? offer->group : (uint32_t)TREE_NONE;
    }
}

static void find_parents(struct navigation *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->places[i].parent = choose_parent(p, i);
    navigation_nest_by_number(p);
    cut_circles(p);
    open_menus(p);
    find_groups(p);
}

/* ---- All of it ---- */

uint32_t place_pages(const struct piece *pieces, uint32_t count,
                     struct place **ret_places, uint32_t *ret_total)
{
    struct navigation p = {
        .pieces = pieces, .count = count, .total = count, .capacity = count};
    p.places = mem_alloc(count * sizeof *p.places);
    p.pages = mem_alloc(count * sizeof *p.pages);
    p.targets = mem_alloc(count * sizeof *p.targets);
    look_at(&p);
    navigation_measure_ways(&p);
    navigation_read_lists(&p);
    navigation_read_names(&p);
    find_parents(&p);
    navigation_read_in_order(&p);
    uint32_t first = navigation_link_children(&p);
    for (uint32_t i = 0; i < count; i++)
        free(p.targets[i]);
    free(p.targets);
    free(p.maps.entries);
    free(p.pages);
    *ret_places = p.places;
    *ret_total = p.total;
    return first;
}
