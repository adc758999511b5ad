#include "indexer/assemble.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/aliases.h"
#include "indexer/navigation/navigation.h"
#include "indexer/repeated.h"

/* Is what the node says mostly links, and not only to other places than the manual's? */
static bool is_menu(const struct node *node)
{
    size_t text = 0, linked = 0;
    bool within = false;
    for (uint32_t b = 0; b < node->block_count; b++)
        text += node->blocks[b].text.size;
    for (uint32_t i = 0; i < node->ref_count; i++) {
        const struct ref *ref = &node->refs[i];
        if (slice_equal(ref->text, node->title))
            continue; /* it is the title's */
        linked += ref->text.size;
        within |= ref->url.size && !memchr(ref->url.data, ':', ref->url.size);
    }
    return within && 2 * linked >= text;
}

struct tree *assemble_skeleton(const struct tree *tree)
{
    struct tree *summary = tree_new(true);
    summary->page =
        (struct page){.role = tree->page.role,
                      .title = tree_copy_text(summary, tree->page.title),
                      .up = tree_copy_text(summary, tree->page.up),
                      .trail = tree->page.trail,
                      .above = tree_copy_text(summary, tree->page.above),
                      .home = tree_copy_text(summary, tree->page.home),
                      .prev = tree_copy_text(summary, tree->page.prev),
                      .next = tree_copy_text(summary, tree->page.next),
                      .contents = tree->page.contents,
                      .link_count = tree->page.link_count};
    summary->page.links =
        tree_copy_links(summary, tree->page.links, tree->page.link_count);
    for (uint32_t i = 0; i < summary->page.link_count; i++) {
        struct page_link *link = &summary->page.links[i];
        link->url = tree_copy_text(summary, link->url);
        link->title = tree_copy_text(summary, link->title);
    }
    summary->page.aliases =
        tree_copy_aliases(summary, tree->page.aliases, tree->page.alias_count);
    summary->page.alias_count = tree->page.alias_count;
    for (uint32_t f = 0; f < tree->file_count; f++)
        tree_add_file(summary, tree->files[f]);
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        tree_add_node(summary, node->parent, node->level, node->title,
                      node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            tree_add_anchor(summary, n, node->anchors[i]);
        for (uint32_t i = 0; i < node->origin_count; i++)
            tree_add_origin(summary, n, node->origins[i]);
        summary->nodes[n].entry = node->entry;
        summary->nodes[n].own = node->own;
        summary->nodes[n].words = node->block_count > 0;
        summary->nodes[n].menu = is_menu(node);
        summary->nodes[n].text_count = node->block_count;
        summary->nodes[n].texts =
            arena_alloc(&summary->arena, node->block_count * sizeof(uint64_t));
        for (uint32_t b = 0; b < node->block_count; b++)
            summary->nodes[n].texts[b] = repeated_block_hash(&node->blocks[b]);
    }
    tree_seal(summary, NULL);
    return summary;
}

uint32_t assemble_find(const struct piece *pieces, uint32_t count,
                       const char *path)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(path, pieces[middle].path);
        if (!order)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return TREE_NONE;
}

/* ---- Putting them together ---- */

struct assembly {
    const struct piece *pieces;
    uint32_t count;
    struct place *places; /* [total] */
    uint32_t total;
    struct tree *outline;
    struct repeated blocks, titles, banners, books;
};

/* What stands on most pages is no content of one, but for what has a name there. */
static void drop_repeated(struct assembly *assembly, struct node *made)
{
    const struct tree *summary = assembly->pieces[made->source_tree].skeleton;
    const struct node *node = &summary->nodes[made->source_node];
    struct tree *outline = assembly->outline;
    uint32_t count = 0;
    for (uint32_t t = 0; t < node->text_count; t++)
        count += repeated_has(&assembly->blocks, node->texts[t]);
    if (!count || repeated_is_kept(&assembly->blocks, summary,
                                   made->source_tree, made->source_node))
        return;
    made->boilerplate =
        arena_alloc(&outline->arena, count * sizeof *made->boilerplate);
    for (uint32_t t = 0; t < node->text_count; t++)
        if (repeated_has(&assembly->blocks, node->texts[t]))
            made->boilerplate[made->dropped_count++] = t;
    made->words = node->text_count > count;
    made->own = tree_hash_kept(node->own, made->boilerplate, count);
}

/* What a page prints of its contents is called so, and no page. */
static bool is_contents(const struct node *node)
{
    static const char *const names[] = {"contents", "table of contents"};
    struct buf title = {0};
    text_fold_compare(&title, node->title);
    bool is = slice_is(buf_slice(&title), names[0]) ||
              slice_is(buf_slice(&title), names[1]);
    buf_free(&title);
    return is;
}

/* Does the page's <title> begin with the name of the entry, as Pygame's modules' do? */
static bool is_said(const struct tree *summary, struct slice entry)
{
    struct slice said = summary->page.title;
    return entry.size && slice_starts(said, entry) &&
           (said.size == entry.size || said.data[entry.size] == ' ');
}

/* The node that heads the page: not a banner above its only section, nor above several of
 * which the first, with the banner, is what the <title> says.  Where other pages stand
 * below it, only one that most pages have is none of its own. */
static uint32_t head_of(const struct assembly *assembly, uint32_t page)
{
    const struct tree *summary = assembly->pieces[page].skeleton;
    const struct node *top = &summary->nodes[0];
    if (summary->count < 2 || is_contents(&summary->nodes[1]) ||
        (summary->nodes[1].entry &&
         !is_said(summary, summary->nodes[1].title)) ||
        !repeated_is_all(&assembly->blocks, top))
        return 0;
    uint64_t hash = repeated_hash(top->title);
    bool only = summary->nodes[1].end == summary->count;
    bool said =
        repeated_has(&assembly->banners, hash) &&
        repeated_is_banner(summary, top->title, summary->nodes[1].title);
    bool banner = said || (only && repeated_has(&assembly->books, hash));
    return (banner && assembly->places[page].child == TREE_NONE) ||
           ((only || said) && repeated_has(&assembly->titles, hash));
}

/* The file of the outline that is file `file` of the page's tree. */
static uint32_t file_of(const struct assembly *assembly, uint32_t page,
                        uint32_t file)
{
    const struct tree *summary = assembly->pieces[page].skeleton;
    return file ? assemble_find(assembly->pieces, assembly->count,
                                summary->files[file].data)
                : page;
}

static void copy_places(struct assembly *assembly, uint32_t page,
                        const struct node *node, uint32_t index)
{
    struct tree *outline = assembly->outline;
    for (uint32_t i = 0; i < node->anchor_count; i++)
        tree_add_anchor(outline, index, node->anchors[i]);
    for (uint32_t i = 0; i < node->origin_count; i++) {
        uint32_t file = file_of(assembly, page, node->origins[i].file);
        if (file != TREE_NONE)
            tree_add_origin(outline, index,
                            (struct origin){file, node->origins[i].span});
    }
}

/* Copies a page's nodes below `parent`; returns the index of its root. */
static uint32_t add_page(struct assembly *assembly, uint32_t page,
                         uint32_t parent)
{
    struct tree *outline = assembly->outline;
    const struct tree *summary = assembly->pieces[page].skeleton;
    uint32_t first = outline->count, head = head_of(assembly, page);
    for (uint32_t n = head; n < summary->count; n++) {
        const struct node *node = &summary->nodes[n];
        struct slice title = node->title;
        if (n == head && !title.size)
            title = slice_of(assembly->pieces[page].path);
        uint32_t above = node->parent > head ? node->parent - head : 0;
        uint32_t index =
            tree_add_node(outline, n > head ? first + above : parent,
                          node->level, title, node->anchor);
        copy_places(assembly, page, node, index);
        struct node *made = &outline->nodes[index];
        made->entry = node->entry && n > head;
        made->own = node->own;
        made->words = node->words;
        made->source_tree = page;
        made->source_node = n;
        drop_repeated(assembly, made);
    }
    if (head && summary->nodes[0].anchor.size)
        tree_add_anchor(outline, first, summary->nodes[0].anchor);
    for (uint32_t i = 0; head && i < summary->nodes[0].anchor_count; i++)
        tree_add_anchor(outline, first, summary->nodes[0].anchors[i]);
    return first;
}

static uint32_t add_heading(struct tree *outline, struct slice title,
                            uint32_t parent)
{
    uint32_t index =
        tree_add_node(outline, parent, 0, title, (struct slice){"", 0});
    outline->nodes[index].own = hash_bytes(title.data, title.size);
    return index;
}

/* A heading that a page of contents sorts others under. */
static uint32_t add_group(struct assembly *assembly, const struct place *place,
                          uint32_t parent)
{
    const struct page *page = &assembly->pieces[place->parent].skeleton->page;
    return add_heading(assembly->outline, page->links[place->group].title,
                       parent);
}

/* Depth first over the places, by parent links alone: no recursion. */
static void add_pages(struct assembly *assembly, uint32_t first_top)
{
    uint32_t *roots = mem_alloc(assembly->total * sizeof *roots);
    uint32_t *groups = mem_alloc(assembly->total * sizeof *groups);
    uint32_t page = first_top, before = TREE_NONE;
    while (page != TREE_NONE) {
        const struct place *place = &assembly->places[page];
        uint32_t above = place->parent == TREE_NONE ? 0 : roots[place->parent];
        bool goes_on = before != TREE_NONE &&
                       assembly->places[before].parent == place->parent &&
                       assembly->places[before].group == place->group;
        if (place->group != TREE_NONE) {
            groups[page] =
                goes_on ? groups[before] : add_group(assembly, place, above);
            above = groups[page];
        }
        roots[page] = page < assembly->count
                          ? add_page(assembly, page, above)
                          : add_heading(assembly->outline, place->title, above);
        before = TREE_NONE;
        if (place->child != TREE_NONE) {
            page = place->child;
            continue;
        }
        while (page != TREE_NONE && assembly->places[page].sibling == TREE_NONE)
            page = assembly->places[page].parent;
        before = page;
        if (page != TREE_NONE)
            page = assembly->places[page].sibling;
    }
    free(roots);
    free(groups);
}

/* The other places of a page that several files hold. */
static void add_equals(struct assembly *assembly)
{
    struct tree *outline = assembly->outline;
    uint32_t *roots = mem_alloc(assembly->count * sizeof *roots);
    for (uint32_t n = outline->count; n-- > 1;)
        if (outline->nodes[n].source_tree != TREE_NONE)
            roots[outline->nodes[n].source_tree] = n;
    for (uint32_t i = 0; i < assembly->count; i++) {
        uint32_t same = assembly->places[i].same;
        const struct tree *summary = assembly->pieces[i].skeleton;
        if (same != i && roots[same] && summary->nodes[0].origin_count)
            tree_add_origin(
                outline, roots[same],
                (struct origin){i, summary->nodes[0].origins[0].span});
    }
    free(roots);
}

static void add_files(struct assembly *assembly)
{
    struct tree *outline = assembly->outline;
    outline->excluded = arena_alloc(&outline->arena, assembly->count);
    for (uint32_t i = 0; i < assembly->count; i++) {
        tree_add_file(outline, slice_of(assembly->pieces[i].path));
        outline->excluded[i] = (uint8_t)assembly->places[i].excluded;
    }
}

int assemble(const char *manual, const struct piece *pieces, uint32_t count,
             bool aliases, struct tree **ret_outline, struct err *err)
{
    struct assembly assembly = {
        .pieces = pieces, .count = count, .outline = tree_new(true)};
    uint32_t first =
        place_pages(pieces, count, &assembly.places, &assembly.total);
    repeated_blocks(pieces, assembly.places, count, &assembly.blocks);
    repeated_titles(pieces, assembly.places, count, &assembly.titles);
    repeated_banners(pieces, assembly.places, count, &assembly.banners);
    repeated_books(pieces, assembly.places, count, &assembly.books);
    add_files(&assembly);
    tree_add_node(assembly.outline, TREE_NONE, 0, slice_of(manual),
                  (struct slice){"", 0});
    assembly.outline->nodes[0].own = hash_bytes(manual, strlen(manual));
    add_pages(&assembly, first);
    add_equals(&assembly);
    free(assembly.places);
    repeated_free(&assembly.blocks);
    repeated_free(&assembly.titles);
    repeated_free(&assembly.banners);
    repeated_free(&assembly.books);
    int code = tree_seal(assembly.outline, err);
    if (code) {
        tree_free(assembly.outline);
        return code;
    }
    if (aliases)
        aliases_give(assembly.outline, pieces, count);
    *ret_outline = assembly.outline;
    return 0;
}
