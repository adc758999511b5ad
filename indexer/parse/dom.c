#include "indexer/parse/dom.h"

#include <libxml/parserInternals.h>

#include "base/text.h"
#include "indexer/parse/skeleton.h"

/* Formatting that is closed late nests deeper than its tags tell. */
enum { MOST_DEPTH = 2500 };

/* The attributes that anybody here looks at. */
static const char *const attributes[] = {
    "accesskey", "alt",      "aria-hidden", "class",      "colspan", "content",
    "display",   "encoding", "href",        "http-equiv", "id",      "hidden",
    "name",      "rel",      "role",        "rowspan",    "src",     "start",
    "style",     "summary",  "type"};

struct level {
    const GumboVector *children;
    unsigned next;
    xmlNode *node;
};

struct copying {
    struct dom *dom;
    struct skeleton *skeleton;
    size_t depth;
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

static xmlNode *add_node(struct copying *c, xmlElementType type)
{
    xmlNode *parent = c->levels[c->depth].node;
    xmlNode *node = arena_alloc(&c->dom->arena, sizeof *node);
    node->type = type;
    node->doc = c->dom->doc;
    node->parent = parent;
    node->prev = parent->last;
    if (parent->last)
        parent->last->next = node;
    else
        parent->children = node;
    parent->last = node;
    return node;
}

/* Tells every ancestor; stops where it is known, so this is linear in all. */
static void tell(xmlNode *parent, unsigned what)
{
    for (; parent && dom_is_element(parent); parent = parent->parent) {
        struct dom_element *element = parent->_private;
        if ((element->holds & what) == what)
            return;
        element->holds |= what;
    }
}

/* ---- Elements ---- */

static unsigned held_as(int tag)
{
    switch (tag) {
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6: return DOM_HOLDS_HEADING;
    case GUMBO_TAG_TABLE: return DOM_HOLDS_TABLE;
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_LISTING:
    case GUMBO_TAG_XMP: return DOM_HOLDS_CODE;
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL: return DOM_HOLDS_LIST;
    case GUMBO_TAG_P: return DOM_HOLDS_PARAGRAPH;
    case GUMBO_TAG_IMG: return DOM_HOLDS_IMAGE;
    case GUMBO_TAG_INPUT: return DOM_HOLDS_INPUT;
    default: return 0;
    }
}

static const xmlChar *text_of(const char *text)
{
    return (const xmlChar *)text;
}

static xmlChar *without_controls(struct copying *c, const char *text)
{
    char *copy = arena_copy(&c->dom->arena, text, strlen(text)), *to = copy;
    for (const char *at = copy; *at; at++)
        if (!lexer_is_control(*at))
            *to++ = *at;
    *to = '\0';
    return (xmlChar *)copy;
}

static void add_attribute(struct copying *c, xmlNode *node, const char *name,
                          const char *value)
{
    struct arena *arena = &c->dom->arena;
    xmlAttr *attribute = arena_alloc(arena, sizeof *attribute);
    xmlNode *text = arena_alloc(arena, sizeof *text);
    attribute->type = XML_ATTRIBUTE_NODE;
    attribute->name = text_of(name);
    attribute->parent = node;
    attribute->doc = c->dom->doc;
    attribute->children = attribute->last = text;
    attribute->next = node->properties;
    if (node->properties)
        node->properties->prev = attribute;
    node->properties = attribute;
    text->type = XML_TEXT_NODE;
    text->name = xmlStringText;
    text->parent = (xmlNode *)attribute;
    text->doc = c->dom->doc;
    text->content = without_controls(c, value);
}

static void copy_attributes(struct copying *c, const GumboElement *from,
                            xmlNode *to)
{
    for (unsigned i = 0; i < from->attributes.length; i++) {
        const GumboAttribute *attribute = from->attributes.data[i];
        for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++)
            if (attribute->name[0] == attributes[k][0] &&
                !strcmp(attribute->name, attributes[k]))
                add_attribute(c, to, attributes[k], attribute->value);
    }
}

static const char *name_of(struct copying *c, const GumboElement *element)
{
    if (element->tag != GUMBO_TAG_UNKNOWN)
        return gumbo_normalized_tagname(element->tag);
    GumboStringPiece name = element->original_tag;
    gumbo_tag_from_original_text(&name);
    return arena_copy(&c->dom->arena, name.data, name.length);
}

static void add_element(struct copying *c, const GumboElement *from)
{
    const char *base = c->skeleton->text.data;
    xmlNode *node = add_node(c, XML_ELEMENT_NODE);
    struct dom_element *element = arena_alloc(&c->dom->arena, sizeof *element);
    node->name = text_of(name_of(c, from));
    node->_private = element;
    element->tag = (int)from->tag;
    element->foreign = from->tag_namespace != GUMBO_NAMESPACE_HTML;
    if (from->original_tag.length) {
        size_t at = (size_t)(from->original_tag.data - base);
        element->from = (uint32_t)skeleton_source(c->skeleton, at);
        element->to = (uint32_t)skeleton_source(c->skeleton,
                                                at + from->original_tag.length);
    }
    copy_attributes(c, from, node);
    unsigned what = held_as(element->tag);
    if (what)
        tell(node->parent, what);
    struct level *level = &c->levels[++c->depth];
    *level = (struct level){&from->children, 0, node};
}

/* ---- Text ---- */

static bool only_space(struct slice text)
{
    for (size_t at = 0, step; at < text.size; at += step) {
        step = text_space(text.data, text.size, at);
        if (!step)
            return false;
    }
    return true;
}

/* Decodes the file's bytes; the tree builder saw one letter. */
static char *read_text(struct copying *c, struct dom_text *text)
{
    const struct source *source = &c->dom->source;
    size_t from = text->from, to = text->to;
    size_t plain = lexer_plain(source, from, to, text->mode);
    text->plain = plain == to - from;
    struct buf buf = {0};
    struct slice decoded = {source->data + from, plain};
    if (!text->plain) {
        lexer_text(source, from, to, text->mode, &buf);
        decoded = buf_slice(&buf);
    }
    char *copy = arena_copy(&c->dom->arena, decoded.data, decoded.size);
    text->text = (struct slice){copy, decoded.size};
    buf_free(&buf);
    return copy;
}

static void add_text(struct copying *c, const GumboText *from)
{
    if (!from->original_text.data)
        return;
    xmlNode *parent = c->levels[c->depth].node;
    xmlNode *node = add_node(c, XML_TEXT_NODE);
    struct dom_text *text = arena_alloc(&c->dom->arena, sizeof *text);
    size_t at = (size_t)(from->original_text.data - c->skeleton->text.data);
    size_t end = at + from->original_text.length;
    text->from = (uint32_t)skeleton_source(c->skeleton, at);
    text->to = (uint32_t)skeleton_source(c->skeleton, end);
    if (!dom_element(parent)->foreign)
        text->mode = lexer_text_mode(slice_of((const char *)parent->name));
    node->name = xmlStringText;
    node->content = (xmlChar *)read_text(c, text);
    node->_private = text;
    if (!only_space(text->text))
        tell(parent, DOM_HOLDS_TEXT);
}

/* ---- The whole ---- */

static int copy_tree(struct copying *c, const GumboNode *root, struct err *err)
{
    add_element(c, &root->v.element);
    while (c->depth) {
        struct level *level = &c->levels[c->depth];
        if (level->next == level->children->length) {
            c->depth--;
            continue;
        }
        const GumboNode *child = level->children->data[level->next++];
        switch (child->type) {
        case GUMBO_NODE_ELEMENT:
        case GUMBO_NODE_TEMPLATE:
            if (c->depth == MOST_DEPTH)
                return err_set(err, ERR_LIMIT, "nests deeper than %d elements",
                               MOST_DEPTH);
            add_element(c, &child->v.element);
            break;
        case GUMBO_NODE_TEXT:
        case GUMBO_NODE_WHITESPACE:
        case GUMBO_NODE_CDATA: add_text(c, &child->v.text); break;
        default: break;
        }
    }
    return 0;
}

static xmlDoc *new_document(struct arena *arena)
{
    xmlDoc *doc = arena_alloc(arena, sizeof *doc);
    doc->type = XML_HTML_DOCUMENT_NODE;
    doc->doc = doc;
    return doc;
}

int dom_parse(const struct source *source, struct dom *ret, struct err *err)
{
    struct skeleton skeleton;
    int rc = skeleton_make(source, &skeleton, err);
    if (rc)
        return rc;
    /* Gumbo's tree is left to the arena: its own way to free it recurses. */
    struct arena scratch = {0};
    struct dom dom = {.source = *source};
    dom.doc = new_document(&dom.arena);
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = &scratch;
    const GumboOutput *output = gumbo_parse_with_options(
        &options, skeleton.text.data ? skeleton.text.data : "",
        skeleton.text.size);

    struct copying *copying = mem_alloc(sizeof *copying);
    copying->dom = &dom;
    copying->skeleton = &skeleton;
    copying->levels[0].node = (xmlNode *)dom.doc;
    rc = copy_tree(copying, output->root, err);
    free(copying);
    arena_free(&scratch);
    skeleton_free(&skeleton);
    if (rc)
        arena_free(&dom.arena);
    else
        *ret = dom;
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
        if (text->mode == TEXT_MARKUP &&
            lexer_markup(source, at, text->to, &markup)) {
            at = markup.to;
            continue;
        }
        lexer_character(source, at, text->to, text->mode, &character);
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
