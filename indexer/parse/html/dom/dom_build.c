#include "indexer/parse/html/dom/dom_build.h"

#include <ctype.h>
#include <libxml/parserInternals.h>

#include "base/text.h"

/* The attributes that anybody here looks at, by their first letters. */
static const char *const attributes['z' - 'a' + 1][8] = {
    ['a' - 'a'] = {"accesskey", "alt", "alttext", "aria-current", "aria-hidden",
                   "aria-label"},
    ['c' - 'a'] = {"class", "colspan", "content"},
    ['d' - 'a'] = {"display", "data-bs-toggle", "data-toggle",
                   "data-mc-toc-path", "data-mc-path-to-help-system",
                   "data-mc-runtime-file-type", "data-ice"},
    ['e' - 'a'] = {"encoding"},
    ['h' - 'a'] = {"href", "http-equiv", "hidden"},
    ['i' - 'a'] = {"id"},
    ['l' - 'a'] = {"label"},
    ['m' - 'a'] = {"media", "madcap:tocpath", "madcap:pathtohelpsystem",
                   "madcap:targetname", "madcap:runtimefiletype"},
    ['n' - 'a'] = {"name"},
    ['o' - 'a'] = {"onclick"},
    ['r' - 'a'] = {"rel", "role", "rowspan"},
    ['s' - 'a'] = {"src", "start", "style"},
    ['t' - 'a'] = {"target", "text", "toc", "topic", "type"},
    ['u' - 'a'] = {"url"},
    ['v' - 'a'] = {"value"},
    ['w' - 'a'] = {"width"}};

const char *build_reads(struct slice name)
{
    char letter = name.size ? (char)(name.data[0] | 32) : '\0';
    if (letter < 'a' || letter > 'z')
        return NULL;
    const char *const *read = attributes[letter - 'a'];
    while (*read && !lexer_name_is(name, *read))
        read++;
    return *read;
}

void build_init(struct build *build, const struct source *source)
{
    struct dom *dom = &build->dom;
    *dom = (struct dom){.source = *source};
    build->depth = 0;
    dom->doc = arena_alloc(&dom->arena, sizeof *dom->doc);
    dom->doc->type = XML_HTML_DOCUMENT_NODE;
    dom->doc->doc = dom->doc;
    build->open[0] = (xmlNode *)dom->doc;
}

static xmlNode *add_node(struct build *build, xmlElementType type)
{
    xmlNode *parent = build->open[build->depth];
    xmlNode *node = arena_alloc(&build->dom.arena, sizeof *node);
    node->type = type;
    node->doc = build->dom.doc;
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

bool build_open(struct build *build, const char *name, int tag, bool foreign,
                struct span span)
{
    if (build->depth == MAX_DEPTH)
        return false;
    struct arena *arena = &build->dom.arena;
    xmlNode *node = add_node(build, XML_ELEMENT_NODE);
    struct dom_element *element = arena_alloc(arena, sizeof *element);
    node->name = (const xmlChar *)name;
    node->_private = element;
    element->tag = tag;
    element->foreign = foreign;
    element->from = (uint32_t)span.from;
    element->to = (uint32_t)span.to;
    build->dom.styled |= tag == GUMBO_TAG_STYLE && !foreign;
    build->dom.based |= tag == GUMBO_TAG_BASE && !foreign;
    unsigned what = held_as(tag);
    if (what)
        tell(node->parent, what);
    build->open[++build->depth] = node;
    return true;
}

void build_is_open(struct build *build, bool open)
{
    struct dom_element *element = build->open[build->depth]->_private;
    element->open = open;
}

/* Gumbo counts the digits of &#x42eeeeeeeeee; in an int, which overflows, and
 * writes what is left of it. */
static struct slice in_utf8(struct slice text, struct buf *repaired)
{
    if (text_is_utf8(text.data, text.size))
        return text;
    text_put_utf8(repaired, text, SIZE_MAX);
    return (struct slice){repaired->data, repaired->size};
}

static xmlChar *without_controls(struct arena *arena, struct slice text)
{
    char *copy = arena_copy(arena, text.data, text.size), *to = copy;
    for (const char *at = copy; *at; at++)
        if (!lexer_is_control(*at))
            *to++ = *at;
    *to = '\0';
    return (xmlChar *)copy;
}

static void add_attribute(struct dom *dom, xmlNode *node, const char *name,
                          struct slice value)
{
    struct arena *arena = &dom->arena;
    xmlAttr *attribute = arena_alloc(arena, sizeof *attribute);
    xmlNode *text = arena_alloc(arena, sizeof *text);
    attribute->type = XML_ATTRIBUTE_NODE;
    attribute->name = (const xmlChar *)name;
    attribute->parent = node;
    attribute->doc = dom->doc;
    attribute->children = attribute->last = text;
    attribute->next = node->properties;
    if (node->properties)
        node->properties->prev = attribute;
    node->properties = attribute;
    text->type = XML_TEXT_NODE;
    text->name = xmlStringText;
    text->parent = (xmlNode *)attribute;
    text->doc = dom->doc;
    struct buf repaired = {0};
    text->content = without_controls(arena, in_utf8(value, &repaired));
    buf_free(&repaired);
}

/* DocBook's DSSSL writes its classes in capitals: "NAVHEADER". */
static bool is_in_capitals(struct slice words)
{
    size_t capitals = 0;
    for (size_t i = 0; i < words.size; i++) {
        if (words.data[i] >= 'a' && words.data[i] <= 'z')
            return false;
        capitals += words.data[i] >= 'A' && words.data[i] <= 'Z';
    }
    return capitals > 2;
}

void build_attribute(struct build *build, const char *name, struct slice value)
{
    const char *read = build_reads(slice_of(name));
    struct buf small = {0};
    if (read && !strcmp(read, "class") && is_in_capitals(value)) {
        for (size_t i = 0; i < value.size; i++)
            buf_put_byte(&small, (char)tolower((unsigned char)value.data[i]));
        value = buf_slice(&small);
    }
    if (read)
        add_attribute(&build->dom, build->open[build->depth], read, value);
    buf_free(&small);
}

void build_hide(const xmlNode *element)
{
    struct dom_element *facts = element->_private;
    facts->hidden = true;
}

void build_close(struct build *build)
{
    build->depth--;
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

static void keep_space(struct buf *text)
{
    size_t kept = 0;
    for (size_t at = 0; at < text->size; at++)
        if (strchr(" \n\t\f", text->data[at]))
            text->data[kept++] = text->data[at];
    text->size = kept;
}

/* Decodes the source's bytes; who builds the tree need not have read them. */
static char *read_text(struct build *build, struct dom_text *text, bool space)
{
    const struct source *source = &build->dom.source;
    size_t from = text->from, to = text->to;
    size_t plain = lexer_plain(source, from, to, text->mode);
    bool space_alone =
        !space || only_space((struct slice){source->data + from, plain});
    text->plain = plain == to - from && space_alone;
    struct buf buf = {0};
    struct slice decoded = {source->data + from, plain};
    if (!text->plain) {
        lexer_text(source, from, to, text->mode, &buf);
        if (space)
            keep_space(&buf);
        decoded = buf_slice(&buf);
    }
    char *copy = arena_copy(&build->dom.arena, decoded.data, decoded.size);
    text->text = (struct slice){copy, decoded.size};
    buf_free(&buf);
    return copy;
}

static enum text_mode mode_in(const struct build *build, const xmlNode *parent)
{
    const struct dom_element *element = dom_element(parent);
    if (build->dom.source.xml)
        return TEXT_MARKUP;
    if (!element->foreign)
        return lexer_text_mode(slice_of((const char *)parent->name));
    switch (element->tag) {
    case GUMBO_TAG_MI:
    case GUMBO_TAG_MO:
    case GUMBO_TAG_MN:
    case GUMBO_TAG_MS:
    case GUMBO_TAG_MTEXT:
    case GUMBO_TAG_FOREIGNOBJECT:
    case GUMBO_TAG_DESC:
    case GUMBO_TAG_TITLE: return TEXT_EMBEDDED;
    default: return TEXT_FOREIGN;
    }
}

void build_text(struct build *build, struct span span, bool space)
{
    xmlNode *parent = build->open[build->depth];
    xmlNode *node = add_node(build, XML_TEXT_NODE);
    struct dom_text *text = arena_alloc(&build->dom.arena, sizeof *text);
    text->from = (uint32_t)span.from;
    text->to = (uint32_t)span.to;
    text->mode = mode_in(build, parent);
    node->name = xmlStringText;
    node->content =
        (xmlChar *)read_text(build, text, space && text->mode == TEXT_MARKUP);
    node->_private = text;
    if (!only_space(text->text))
        tell(parent, DOM_HOLDS_TEXT);
}
