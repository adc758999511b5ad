#include "indexer/parse/html/dom/xhtml.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "base/text.h"
#include "indexer/parse/html/dom/dom_build.h"
#include "indexer/parse/html/dom/docbook.h"
#include "indexer/parse/html/dom/styles.h"

enum {
    MAX_DOCTYPE = 1 << 16, /* bytes of a document type declaration */
    MAX_NESTED = 250       /* elements; libxml2's own limit is a little more */
};

static const char xhtml_space[] = "http://www.w3.org/1999/xhtml";
static const char svg_space[] = "http://www.w3.org/2000/svg";
static const char math_space[] = "http://www.w3.org/1998/Math/MathML";

struct reading {
    struct build build;
    struct docbook docbook;
    xmlParserCtxt *parser;
    size_t at;   /* after the tag that was read last */
    bool closed; /* it was both start and end */
    bool is_docbook;
    xmlEntity entity; /* the one asked for last */
    struct err err;   /* the first */
};

/* ---- Memory ---- */

static void *allocate(size_t size)
{
    return mem_alloc(size);
}

static void *resize(void *old, size_t size)
{
    return mem_resize(old, size, 1);
}

void xhtml_load(void)
{
    xmlMemSetup(free, allocate, resize, mem_strdup);
    xmlInitParser();
}

/* ---- What is too much before anybody looks at it ---- */

static int fail_at(struct err *err, int code, size_t at, const char *message)
{
    err_set(err, code, "%s", message);
    if (err)
        err->position = (int64_t)at;
    return code;
}

/* libxml2 compares each attribute of an element with all others, and declared
 * ones go to each element. */
static int check_size(const struct source *source, struct err *err)
{
    struct markup markup;
    size_t depth = 0;
    for (size_t at = 0; at < source->size;) {
        const char *next = memchr(source->data + at, '<', source->size - at);
        if (!next)
            return 0;
        at = (size_t)(next - source->data);
        if (!lexer_markup(source, at, source->size, &markup))
            return 0;
        if (markup.surplus)
            return fail_at(err, ERR_LIMIT, at,
                           "an element has more than 256 attributes");
        if (markup.to - at > MAX_DOCTYPE && next[1] == '!' && next[2] == 'D')
            return fail_at(err, ERR_LIMIT, at,
                           "its document type declaration is larger than "
                           "64 KiB");
        depth += markup.kind == MARKUP_OPEN && !markup.closed;
        depth -= markup.kind == MARKUP_CLOSE && depth;
        if (depth > MAX_NESTED)
            return fail_at(err, ERR_LIMIT, at,
                           "nests deeper than 250 elements");
        at = markup.to;
    }
    return 0;
}

/* ---- Events ---- */

static void stop(struct reading *r, int code, const char *message)
{
    if (!r->err.code)
        fail_at(&r->err, code, r->at, message);
    xmlStopParser(r->parser);
}

/* The next tag of the file, which is the one that libxml2 has read. */
static bool next_tag(struct reading *r, struct markup *tag)
{
    const struct source *source = &r->build.dom.source;
    size_t text = r->at;
    do {
        const char *next =
            memchr(source->data + r->at, '<', source->size - r->at);
        if (!next || !lexer_markup(source, (size_t)(next - source->data),
                                   source->size, tag)) {
            stop(r, ERR_FORMAT, "not well-formed XML");
            return false;
        }
        r->at = tag->to;
    } while (tag->kind == MARKUP_OTHER);
    if (r->build.depth && tag->from > text)
        build_text(&r->build, (struct span){text, tag->from}, false);
    return true;
}

static bool is_space(const xmlChar *space, const char *wanted)
{
    return space && !strcmp((const char *)space, wanted);
}

struct shape {
    const char *name; /* NULL: the element's own */
    const char *class;
    int tag;
    bool foreign;
    bool hidden;
};

/* Names of XML are of one case. */
static int tag_of(const char *name)
{
    GumboTag tag = gumbo_tag_enum(name);
    bool same = tag != GUMBO_TAG_UNKNOWN &&
                !strcmp(gumbo_normalized_tagname(tag), name);
    return same ? (int)tag : GUMBO_TAG_UNKNOWN;
}

static struct shape shape_of(struct reading *r, const char *name,
                             const xmlChar *space)
{
    struct shape shape = {.tag = GUMBO_TAG_UNKNOWN, .foreign = true};
    bool math = is_space(space, math_space), svg = is_space(space, svg_space);
    if (r->is_docbook && !math && !svg) {
        struct docbook_element element = docbook_open(&r->docbook, name);
        shape = (struct shape){.tag = element.tag,
                               .class = element.class,
                               .hidden = element.hidden};
    } else {
        bool html = !space || is_space(space, xhtml_space);
        if (r->is_docbook)
            docbook_open(&r->docbook, "");
        shape.foreign = !html;
        if (html || math || svg)
            shape.tag = tag_of(name);
    }
    if (shape.tag != GUMBO_TAG_UNKNOWN)
        shape.name = gumbo_normalized_tagname((GumboTag)shape.tag);
    return shape;
}

/* libxml2 leaves references in values as they are. */
static void add_attribute(struct reading *r, const char *name, const char *from,
                          const char *to)
{
    struct source value = {.data = from,
                           .size = (size_t)(to - from),
                           .declared = r->build.dom.source.declared};
    struct buf text = {0};
    lexer_text(&value, 0, value.size, TEXT_REFERENCES, &text);
    if (r->is_docbook)
        docbook_attribute(&r->build, name, buf_slice(&text));
    else
        build_attribute(&r->build, name, buf_slice(&text));
    buf_free(&text);
}

/* "Title" of Sandcastle's and Flare's contents is Eclipse's "label", "Link" its "href";
 * HTML's "title" is not read. */
static void add_attributes(struct reading *r, int count,
                           const xmlChar **attributes)
{
    for (int i = 0; i < count; i++, attributes += 5) {
        const char *name = (const char *)attributes[0];
        bool prefixed = attributes[1] != NULL;
        if (!prefixed || !strcmp(name, "id") || !strcmp(name, "href"))
            add_attribute(r,
                          !strcmp(name, "Title")  ? "label"
                          : !strcmp(name, "Link") ? "href"
                                                  : name,
                          (const char *)attributes[3],
                          (const char *)attributes[4]);
    }
}

/* The contents of JavaHelp's, Eclipse's and Flare's help and of an EPUB, and the names of
 * the first's pages. */
static bool is_of_help(const char *name)
{
    return !strcmp(name, "toc") || !strcmp(name, "map") ||
           !strcmp(name, "ncx") || !strcmp(name, "HelpTOC") ||
           !strcmp(name, "CatapultToc");
}

static void on_start(void *context, const xmlChar *local, const xmlChar *prefix,
                     const xmlChar *space, int spaces, const xmlChar **declared,
                     int count, int defaulted, const xmlChar **attributes)
{
    (void)prefix;
    (void)spaces;
    (void)declared;
    (void)defaulted;
    struct reading *r = context;
    const char *name = (const char *)local;
    struct markup tag;
    if (r->err.code || !next_tag(r, &tag))
        return;
    if (!r->build.depth) {
        r->is_docbook = docbook_is_root(name, (const char *)space);
        if (!r->is_docbook && strcmp(name, "html") && !is_of_help(name)) {
            stop(r, ERR_FORMAT, "neither XHTML nor DocBook");
            return;
        }
    }
    struct shape shape = shape_of(r, name, space);
    struct arena *arena = &r->build.dom.arena;
    if (!shape.name)
        shape.name = arena_copy(arena, name, strlen(name));
    if (!build_open(&r->build, shape.name, shape.tag, shape.foreign,
                    (struct span){tag.from, tag.to})) {
        stop(r, ERR_LIMIT, "nests too deep");
        return;
    }
    add_attributes(r, count, attributes);
    if (shape.class)
        build_attribute(&r->build, "class", slice_of(shape.class));
    if (shape.hidden)
        build_hide(r->build.open[r->build.depth]);
    r->closed = tag.closed;
}

static void on_end(void *context, const xmlChar *local, const xmlChar *prefix,
                   const xmlChar *space)
{
    (void)local;
    (void)prefix;
    (void)space;
    struct reading *r = context;
    struct markup tag;
    if (r->err.code || (!r->closed && !next_tag(r, &tag)))
        return;
    r->closed = false;
    build_close(&r->build);
    if (r->is_docbook)
        docbook_close(&r->docbook);
}

/* The only entity there is; its last use may have left it a text. */
static xmlEntity *entity_of(struct reading *r, const xmlChar *name,
                            xmlEntityType type)
{
    xmlFree(r->entity.orig);
    r->entity =
        (xmlEntity){.type = XML_ENTITY_DECL, .name = name, .etype = type};
    return &r->entity;
}

/* Nothing is declared, looked up or expanded: in text every entity is said to
 * be one that is built in, in values one that nobody knows more of.  What they
 * read is for the lexer to say. */
static xmlEntity *on_entity(void *context, const xmlChar *name)
{
    static xmlChar text[] = "x";
    struct reading *r = context;
    if (r->parser->instate == XML_PARSER_ATTRIBUTE_VALUE)
        return entity_of(r, name, XML_INTERNAL_GENERAL_ENTITY);
    xmlEntity *entity = entity_of(r, name, XML_INTERNAL_PREDEFINED_ENTITY);
    entity->content = text;
    entity->length = sizeof text - 1;
    return entity;
}

/* Those of declarations are said to be in files, which are not read. */
static xmlEntity *on_parameter(void *context, const xmlChar *name)
{
    return entity_of(context, name, XML_EXTERNAL_PARAMETER_ENTITY);
}

static void on_error(void *context, xmlError *error)
{
    struct reading *r = context;
    if (r->err.code || error->level < XML_ERR_FATAL || !error->message)
        return;
    int size = (int)strcspn(error->message, "\n");
    err_set(&r->err, ERR_FORMAT, "not well-formed XML: line %d: %.*s",
            error->line, size < 200 ? size : 200, error->message);
    long at = xmlByteConsumed(r->parser);
    r->err.position = at < 0 ? -1 : at;
}

/* ---- The whole ---- */

static int parse(struct reading *r, struct err *err)
{
    const struct source *source = &r->build.dom.source;
    r->parser = xmlCreateMemoryParserCtxt(source->data, (int)source->size);
    if (!r->parser)
        return err_set(err, ERR_FORMAT, "not well-formed XML: it is empty");
    *r->parser->sax = (xmlSAXHandler){.initialized = XML_SAX2_MAGIC,
                                      .startElementNs = on_start,
                                      .endElementNs = on_end,
                                      .getEntity = on_entity,
                                      .getParameterEntity = on_parameter,
                                      .serror = on_error};
    r->parser->userData = r;
    xmlCtxtUseOptions(r->parser, XML_PARSE_NONET | XML_PARSE_IGNORE_ENC);
    xmlParseDocument(r->parser);
    if (!r->parser->wellFormed && !r->err.code)
        fail_at(&r->err, ERR_FORMAT, r->at, "not well-formed XML");
    xmlFreeDoc(r->parser->myDoc); /* where declarations ended up */
    xmlFreeParserCtxt(r->parser);
    xmlFree(r->entity.orig);
    if (r->err.code && err)
        *err = r->err;
    return r->err.code;
}

int xhtml_parse(const struct source *source, struct dom *ret, struct err *err)
{
    int rc = check_size(source, err);
    if (rc)
        return rc;
    struct reading *reading = mem_alloc(sizeof *reading);
    build_init(&reading->build, source);
    reading->err.position = -1;
    rc = parse(reading, err);
    if (rc)
        dom_free(&reading->build.dom);
    else
        *ret = reading->build.dom;
    free(reading);
    if (!rc)
        styles_hide(ret);
    return rc;
}
