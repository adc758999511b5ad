#include "indexer/parse/dom.h"

#include "base/text.h"
#include "indexer/parse/build.h"
#include "indexer/parse/skeleton.h"

struct level {
    const GumboVector *children;
    unsigned next;
};

struct copying {
    struct build build;
    struct skeleton *skeleton;
    struct level levels[MOST_DEPTH + 1];
};

static void *allocate(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void release(void *arena, void *pointer)
{
    (void)arena;
    (void)pointer;
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

static bool add_element(struct copying *c, const GumboElement *from)
{
    struct build *build = &c->build;
    if (!build_open(build, name_of(c, from), (int)from->tag,
                    from->tag_namespace != GUMBO_NAMESPACE_HTML,
                    span_of(c, from->original_tag)))
        return false;
    for (unsigned i = 0; i < from->attributes.length; i++) {
        const GumboAttribute *attribute = from->attributes.data[i];
        build_attribute(build, attribute->name, slice_of(attribute->value));
    }
    c->levels[build->depth] = (struct level){&from->children, 0};
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

static int copy_tree(struct copying *c, const GumboNode *root, struct err *err)
{
    add_element(c, &root->v.element);
    while (c->build.depth) {
        struct level *level = &c->levels[c->build.depth];
        if (level->next == level->children->length) {
            build_close(&c->build);
            continue;
        }
        const GumboNode *child = level->children->data[level->next++];
        switch (child->type) {
        case GUMBO_NODE_ELEMENT:
        case GUMBO_NODE_TEMPLATE:
            if (!add_element(c, &child->v.element))
                return err_set(err, ERR_LIMIT, "nests deeper than %d elements",
                               MOST_DEPTH);
            break;
        case GUMBO_NODE_TEXT:
        case GUMBO_NODE_WHITESPACE:
        case GUMBO_NODE_CDATA: add_text(c, child); break;
        default: break;
        }
    }
    return 0;
}

int dom_parse(const struct source *source, struct dom *ret, struct err *err)
{
    struct skeleton skeleton;
    int rc = skeleton_make(source, &skeleton, err);
    if (rc)
        return rc;
    /* Gumbo's tree is left to the arena: its own way to free it recurses. */
    struct arena scratch = {0};
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = &scratch;
    const GumboOutput *output = gumbo_parse_with_options(
        &options, skeleton.text.data ? skeleton.text.data : "",
        skeleton.text.size);

    struct copying *copying = mem_alloc(sizeof *copying);
    build_init(&copying->build, source);
    copying->skeleton = &skeleton;
    rc = copy_tree(copying, output->root, err);
    if (rc)
        dom_free(&copying->build.dom);
    else
        *ret = copying->build.dom;
    free(copying);
    arena_free(&scratch);
    skeleton_free(&skeleton);
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
