#include "indexer/parse/html/html.h"

#include "indexer/parse/html/index_entries.h"
#include "indexer/parse/html/contents.h"
#include "indexer/parse/outline/outline.h"
#include "indexer/parse/html/front_matter.h"
#include "indexer/parse/html/page.h"
#include "indexer/parse/text/declared.h"
#include "indexer/parse/text/sniff.h"
#include "indexer/parse/html/html_internal.h"
#include "indexer/parse/html/dom/xhtml.h"
#include "indexer/wire.h"

/* Why nothing of the page is content; NULL: it is. */
static const char *why_not(int role, const struct page_facts *facts,
                           const struct outline *outline)
{
    switch (role) {
    case PAGE_INDEX: return "index";
    case PAGE_REDIRECT: return "redirect";
    case PAGE_SEARCH: return "search page";
    default: break;
    }
    bool map = facts->areas && !facts->text && !outline->count;
    return map ? "navigation" : NULL;
}

/* Does a script write the page?  It shows no text, picture or other page without; nor is
 * it there to send one elsewhere. */
static bool is_program(const struct dom *dom, const struct page_facts *facts,
                       const struct outline *outline)
{
    static const char sends[] = "location";
    const xmlNode *top =
        dom_element_from(((const xmlNode *)dom->doc)->children);
    return top && !facts->text && !facts->areas && !outline->count &&
           dom_find(top, GUMBO_TAG_SCRIPT) &&
           !dom_find(top, GUMBO_TAG_FRAMESET) &&
           !dom_find(top, GUMBO_TAG_IFRAME) && !dom_find(top, GUMBO_TAG_IMG) &&
           !memmem(dom->source.data, dom->source.size, sends, sizeof sends - 1);
}

static enum outline_part part_of(struct outline *outline, const char *why)
{
    if (why && outline->keeps_dropped)
        outline_drop_content(outline, why);
    if (outline->keeps_dropped)
        return OUTLINE_BOILERPLATE;
    return why ? OUTLINE_BARE : OUTLINE_CONTENT;
}

/* "# Pumps", near the beginning of a page in Markdown that Sphinx could not read; NULL:
 * there is none. */
static const struct outline_block *find_hash(const struct outline *outline)
{
    enum { MAX_LOOK = 3, MAX_HEADING = 200 };
    for (size_t i = 0; i < outline->block_count && i < MAX_LOOK; i++) {
        const struct outline_block *block = &outline->blocks[i];
        if (block->node == TREE_NONE && block->kind == BLOCK_PARAGRAPH &&
            block->text.size <= MAX_HEADING &&
            slice_starts(block->text, slice_of("# ")))
            return block;
    }
    return NULL;
}

/* What Sphinx calls a page without a heading. */
static void untitle(const struct outline *outline, struct page_facts *facts)
{
    static const char none[] = "<no title> — ", mark[] = "# ";
    if (!slice_starts(facts->title, slice_of(none)))
        return;
    const struct outline_block *block = find_hash(outline);
    struct slice text = block ? block->text : facts->title;
    size_t size = block ? sizeof mark - 1 : sizeof none - 1;
    facts->title = (struct slice){text.data + size, text.size - size};
    if (block)
        facts->span = block->span;
}

static int make_tree(struct dom *dom, const struct front_matter *front,
                     int format, bool boilerplate, struct tree **ret_tree,
                     struct buf *ret_reports, struct err *err)
{
    struct page_facts facts;
    struct outline outline;
    page_read(dom, &facts);
    facts.keywords = format == PARSER_KEYWORDS;
    outline_init(&outline);
    outline.keeps_dropped = boilerplate;
    walk_page(dom, &outline, &facts);
    untitle(&outline, &facts);
    outline.titled = facts.titled && facts.title.size;
    if (!facts.title.size && front->name.size) {
        facts.title = front->name;
        facts.span = front->title;
    }

    struct tree *tree = tree_new(false);
    int role = page_role(&facts);
    if (ret_reports && role == PAGE_CONTENT && format == PARSER_HTML &&
        is_program(dom, &facts, &outline))
        buf_put_text(ret_reports,
                     "there is no text in it: a script writes what it shows\n");
    enum outline_part part = part_of(&outline, why_not(role, &facts, &outline));
    outline_emit(&outline, facts.title, facts.span, part, tree);
    tree->page.role = role;
    tree->page.title = tree_copy_text(tree, facts.title);
    tree->page.up = tree_copy_text(tree, facts.up);
    tree->page.trail = facts.trail;
    tree->page.above = tree_copy_text(tree, facts.above);
    tree->page.home = tree_copy_text(tree, facts.home);
    tree->page.prev = tree_copy_text(tree, facts.prev);
    tree->page.next = tree_copy_text(tree, facts.next);
    contents_read(dom, &facts, tree);
    aliases_read(dom, &facts, tree);
    outline_free(&outline);
    int rc = tree_seal(tree, err);
    if (rc)
        tree_free(tree);
    else
        *ret_tree = tree;
    return rc;
}

/* ---- From places in the text to places in the file ---- */

static void move(const struct transcoded *file, struct span *span)
{
    *span = transcode_span(file, span->from, span->to);
}

static void move_all(const struct transcoded *file, struct tree *tree)
{
    if (!file->count && !file->begin)
        return;
    for (uint32_t n = 0; n < tree->count; n++) {
        struct node *node = &tree->nodes[n];
        for (uint32_t i = 0; i < node->origin_count; i++)
            move(file, &node->origins[i].span);
        for (uint32_t i = 0; i < node->block_count; i++)
            move(file, &node->blocks[i].origin.span);
    }
}

/* ---- The whole ---- */

static int make_dom_tree(const struct source *source,
                         const struct front_matter *front, int format,
                         bool boilerplate, struct tree **ret_tree,
                         struct buf *ret_reports, struct err *err)
{
    struct dom dom;
    int rc = source->xml ? xhtml_parse(source, &dom, err)
                         : dom_parse(source, &dom, err);
    if (rc)
        return rc;
    rc =
        make_tree(&dom, front, format, boilerplate, ret_tree, ret_reports, err);
    dom_free(&dom);
    return rc;
}

/* Entities repeat their text, so that a small file might be read as a large one. */
static int read_declared(struct declared *declared, struct slice text,
                         struct err *err)
{
    enum { MIN = 1 << 18, GROWTH = 4 };
    declared_read(declared, text);
    if (!declared->count ||
        declared_count(declared, text) <= MIN + GROWTH * text.size)
        return 0;
    return err_set(err, ERR_LIMIT,
                   "its entities are read as more than %d times what it has",
                   GROWTH);
}

static int parse_text(struct slice text, int format, bool boilerplate,
                      struct tree **ret_tree, struct buf *ret_reports,
                      struct err *err)
{
    bool xml = format == PARSER_XML;
    struct declared declared = {0};
    struct source source = {.data = text.data,
                            .size = text.size,
                            .xml = xml,
                            .xhtml = !xml && sniff_is_xhtml(text),
                            .declared = xml ? &declared : NULL};
    struct front_matter front = {0};
    struct buf page = {0};
    if (!xml)
        front = front_matter_read(text);
    if (front.size) {
        buf_put_slice(&page, text);
        memset(page.data, ' ', front.size);
        source.data = page.data;
    }
    int rc = xml ? read_declared(&declared, text, err) : 0;
    if (!rc)
        rc = make_dom_tree(&source, &front, format, boilerplate, ret_tree,
                           ret_reports, err);
    buf_free(&page);
    if (!rc && ret_reports)
        buf_put_slice(ret_reports, buf_slice(&declared.reports));
    declared_free(&declared);
    return rc;
}

static int parse_bytes(struct slice bytes, int format, bool boilerplate,
                       struct tree **ret_tree, struct buf *ret_reports,
                       struct err *err)
{
    struct transcoded file;
    int encoding;
    int rc = sniff_file(bytes, &file, &encoding, err);
    if (rc)
        return rc;
    rc = parse_text(file.text, format, boilerplate, ret_tree, ret_reports, err);
    if (!rc) {
        (*ret_tree)->page.encoding = encoding;
        move_all(&file, *ret_tree);
    } else if (err && err->position >= 0) {
        size_t at = (size_t)err->position;
        err->position = (int64_t)transcode_span(&file, at, at).from;
    }
    transcode_free(&file);
    return rc;
}

int html_parse(struct slice bytes, int format, struct tree **ret_tree,
               struct buf *ret_reports, struct err *err)
{
    return parse_bytes(bytes, format, false, ret_tree, ret_reports, err);
}

int html_boilerplate(struct slice bytes, int format, struct tree **ret_tree,
                     struct err *err)
{
    return parse_bytes(bytes, format, true, ret_tree, NULL, err);
}
