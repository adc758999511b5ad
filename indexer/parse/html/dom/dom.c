#include "indexer/parse/html/dom/dom.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/dom/dom_build.h"
#include "indexer/parse/html/dom/links.h"
#include "indexer/parse/html/dom/scratch.h"
#include "indexer/parse/html/dom/skeleton.h"
#include "indexer/parse/html/dom/pdf_lines.h"
#include "indexer/parse/html/dom/pdf_outline.h"
#include "indexer/parse/html/dom/styles.h"

struct level {
    GumboNode *node;
    unsigned next;      /* of its children */
    unsigned panel_end; /* 0, or: a <nav> of node's children before this one */
};

struct copying {
    struct build build;
    struct skeleton *skeleton;
    struct scratch scratch; /* gumbo's tree, until it is copied */
    struct level levels[MAX_DEPTH + 1];
};

static void *allocate(void *scratch, size_t size)
{
    return scratch_take(scratch, size);
}

static void release(void *scratch, void *pointer)
{
    scratch_give(scratch, pointer);
}

/* The place in the source of a piece of the skeleton. */
static struct span span_of(struct copying *c, GumboStringPiece piece)
{
    if (!piece.length)
        return (struct span){0, 0};
    size_t at = (size_t)(piece.data - c->skeleton->text.data);
    size_t from = skeleton_source(c->skeleton, at);
    return (struct span){from, skeleton_source(c->skeleton, at + piece.length)};
}

static const char *name_of(struct copying *c, const GumboElement *element)
{
    if (element->tag != GUMBO_TAG_UNKNOWN)
        return gumbo_normalized_tagname(element->tag);
    GumboStringPiece name = element->original_tag;
    gumbo_tag_from_original_text(&name);
    return arena_copy(&c->build.dom.arena, name.data, name.length);
}

static bool add_element(struct copying *c, GumboNode *node)
{
    struct build *build = &c->build;
    const GumboElement *from = &node->v.element;
    if (!build_open(build, name_of(c, from), (int)from->tag,
                    from->tag_namespace != GUMBO_NAMESPACE_HTML,
                    span_of(c, from->original_tag)))
        return false;
    for (unsigned i = 0; i < from->attributes.length; i++) {
        const GumboAttribute *attribute = from->attributes.data[i];
        build_attribute(build, attribute->name, slice_of(attribute->value));
    }
    build_is_open(build, !from->original_end_tag.length);
    c->levels[build->depth] = (struct level){.node = node};
    return true;
}

/* What the tree builder took for white space may stand for more: text that
 * has no place there, which it left out. */
static void add_text(struct copying *c, const GumboNode *from)
{
    GumboStringPiece text = from->v.text.original_text;
    if (text.data)
        build_text(&c->build, span_of(c, text),
                   from->type == GUMBO_NODE_WHITESPACE);
}

static void give_element(struct copying *c, GumboNode *node)
{
    struct scratch *scratch = &c->scratch;
    GumboElement *element = &node->v.element;
    for (unsigned i = 0; i < element->attributes.length; i++) {
        GumboAttribute *attribute = element->attributes.data[i];
        scratch_give(scratch, (void *)(uintptr_t)attribute->name);
        scratch_give(scratch, (void *)(uintptr_t)attribute->value);
        scratch_give(scratch, attribute);
    }
    scratch_give(scratch, element->attributes.data);
    scratch_give(scratch, element->children.data);
    scratch_give(scratch, node);
}

static void give_text(struct copying *c, GumboNode *node)
{
    scratch_give(&c->scratch, (void *)(uintptr_t)node->v.text.text);
    scratch_give(&c->scratch, node);
}

/* ---- LaTeX2HTML's navigation, which stands between two comments ---- */

enum { MAX_PANEL = 200 }; /* nodes between them */

static bool is_comment(const GumboNode *node, const char *text)
{
    return node->type == GUMBO_NODE_COMMENT && !strcmp(node->v.text.text, text);
}

/* The place of the comment that ends what the one at `from` begins; 0: there is none
 * among the parent's children. */
static unsigned panel_end(const GumboVector *children, unsigned from)
{
    const GumboNode *const *all = (const GumboNode *const *)children->data;
    unsigned at = from + 1;
    if (!is_comment(all[from], "Navigation Panel"))
        return 0;
    unsigned end = children->length - from > MAX_PANEL ? from + MAX_PANEL
                                                       : children->length;
    while (at < end && !is_comment(all[at], "End of Navigation Panel"))
        at++;
    return at < end ? at : 0;
}

/* What stands between becomes a <nav>. */
static bool open_panel(struct copying *c, const struct level *in, unsigned end)
{
    struct build *build = &c->build;
    const struct level panel = {in->node, in->next, end};
    if (!build_open(build, "nav", GUMBO_TAG_NAV, false, (struct span){0, 0}))
        return false;
    c->levels[build->depth] = panel;
    return true;
}

static void close_panel(struct copying *c)
{
    unsigned end = c->levels[c->build.depth].panel_end;
    build_close(&c->build);
    c->levels[c->build.depth].next = end;
}

/* Gives each node back once it is copied. */
static int copy_tree(struct copying *c, GumboNode *root, struct err *err)
{
    add_element(c, root);
    while (c->build.depth) {
        struct level *level = &c->levels[c->build.depth];
        GumboVector *children = &level->node->v.element.children;
        if (level->panel_end && level->next == level->panel_end) {
            close_panel(c);
            continue;
        }
        if (level->next == children->length) {
            give_element(c, level->node);
            build_close(&c->build);
            continue;
        }
        unsigned end = panel_end(children, level->next);
        GumboNode *child = children->data[level->next++];
        if (end && !open_panel(c, level, end))
            return err_set(err, ERR_LIMIT, "nests deeper than %d elements",
                           MAX_DEPTH);
        switch (child->type) {
        case GUMBO_NODE_ELEMENT:
        case GUMBO_NODE_TEMPLATE:
            if (!add_element(c, child))
                return err_set(err, ERR_LIMIT, "nests deeper than %d elements",
                               MAX_DEPTH);
            break;
        case GUMBO_NODE_TEXT:
        case GUMBO_NODE_WHITESPACE:
        case GUMBO_NODE_CDATA:
            add_text(c, child);
            give_text(c, child);
            break;
        default: give_text(c, child);
        }
    }
    return 0;
}

/* Gumbo's own way to free its tree recurses. */
static GumboNode *read_tree(struct copying *c)
{
    const struct buf *text = &c->skeleton->text;
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = &c->scratch;
    return gumbo_parse_with_options(&options, text->data ? text->data : "",
                                    text->size)
        ->root;
}

int dom_parse(const struct source *source, struct dom *ret, struct err *err)
{
    struct skeleton skeleton;
    int rc = skeleton_make(source, &skeleton, err);
    if (rc)
        return rc;
    struct copying *copying = mem_alloc(sizeof *copying);
    copying->skeleton = &skeleton;
    build_init(&copying->build, source);
    rc = copy_tree(copying, read_tree(copying), err);
    if (rc)
        dom_free(&copying->build.dom);
    else
        *ret = copying->build.dom;
    scratch_free(&copying->scratch);
    free(copying);
    skeleton_free(&skeleton);
    if (!rc) {
        links_rebase(ret);
        styles_hide(ret);
        pdf_outline_mark(ret);
        pdf_lines_mark(ret);
    }
    return rc;
}

void dom_free(struct dom *dom)
{
    arena_free(&dom->arena);
}

/* ---- Reading ---- */

const char *dom_attribute(const xmlNode *element, const char *name)
{
    for (const xmlAttr *a = element->properties; a; a = a->next)
        if (!strcmp((const char *)a->name, name))
            return (const char *)a->children->content;
    return NULL;
}

bool dom_has_id(const xmlNode *element, const char *id)
{
    const char *own = dom_attribute(element, "id");
    return own && !strcmp(own, id);
}

bool dom_begins_with_id(const xmlNode *element, const char *id)
{
    const xmlNode *first = dom_element_from(element->children);
    return first && dom_has_id(first, id);
}

/* What a section of raw text reads; 0: it is no such section, or empty. */
static size_t cdata_size(const struct dom *dom, const struct markup *markup,
                         enum text_mode mode)
{
    struct slice raw;
    if (!lexer_cdata(&dom->source, markup, mode, &raw))
        return 0;
    struct buf text = {0};
    lexer_raw(&dom->source, raw, &text);
    size_t size = text.size;
    buf_free(&text);
    return size;
}

/* A section of raw text is one place: outside of it, it would be markup. */
void dom_place(const struct dom *dom, const struct dom_text *text, size_t from,
               size_t to, uint64_t *ret_from, uint64_t *ret_to)
{
    if (text->plain) {
        *ret_from = text->from + from;
        *ret_to = text->from + to;
        return;
    }
    const struct source *source = &dom->source;
    struct markup markup;
    struct character character;
    size_t at = text->from, decoded = 0;
    bool begun = false;
    *ret_from = *ret_to = text->from;
    while (at < text->to && decoded < to) {
        if (lexer_text_markup(source, at, text->to, text->mode, &markup)) {
            size_t size = cdata_size(dom, &markup, text->mode);
            if (!size) {
                at = markup.to;
                continue;
            }
            character = (struct character){.size = size, .to = markup.to};
        } else {
            lexer_character(source, at, text->to, text->mode, &character);
        }
        decoded += character.size;
        if (!begun && decoded > from) {
            *ret_from = at;
            begun = true;
        }
        *ret_to = at = character.to;
    }
}

const xmlNode *dom_next(const xmlNode *node, const xmlNode *top, bool skip)
{
    if (!skip && dom_is_element(node) && node->children)
        return node->children;
    while (node != top && !node->next)
        node = node->parent;
    return node == top ? NULL : node->next;
}

const xmlNode *dom_find(const xmlNode *node, int tag)
{
    for (const xmlNode *at = dom_next(node, node, false); at;
         at = dom_next(at, node, false))
        if (dom_tag(at) == tag)
            return at;
    return NULL;
}

const xmlNode *dom_element_from(const xmlNode *node)
{
    while (node && !dom_is_element(node))
        node = node->next;
    return node;
}

const xmlNode *dom_element_before(const xmlNode *element)
{
    const xmlNode *before = element->prev;
    while (before && !dom_is_element(before))
        before = before->prev;
    return before;
}
