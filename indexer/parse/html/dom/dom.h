/* A page as a tree of libxml2's nodes, built from what gumbo makes of its
 * skeleton.  All of it lies in one arena: walk it, read it, do not free or
 * change its nodes.
 *
 * Elements keep the attributes that readers here ask for (the table in dom.c);
 * element->_private is a struct dom_element, text->_private a
 * struct dom_text.  Comments are left out. */
#ifndef INDEXER_PARSE_HTML_DOM_DOM_H
#define INDEXER_PARSE_HTML_DOM_DOM_H

#include <gumbo.h>
#include <libxml/tree.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "indexer/parse/text/lexer.h"

/* What an element holds, however deep. */
enum dom_holds {
    DOM_HOLDS_TEXT = 1, /* more than white space */
    DOM_HOLDS_HEADING = 2,
    DOM_HOLDS_TABLE = 4,
    DOM_HOLDS_CODE = 8,  /* <pre> */
    DOM_HOLDS_LIST = 16, /* <ul>, <ol>, <dl> */
    DOM_HOLDS_IMAGE = 32,
    DOM_HOLDS_INPUT = 64,
    DOM_HOLDS_PARAGRAPH = 128
};

/* A line of a PDF file: the first of a paragraph, or one that goes on. */
enum dom_line { DOM_LINE_NONE, DOM_LINE_FIRST, DOM_LINE_ON };

struct dom_element {
    int tag;      /* GumboTag */
    bool foreign; /* within <svg> or <math> */
    bool open;    /* no end tag closes it */
    bool hidden;  /* as a sheet or DocBook has it, not an attribute */
    int heading;  /* its level, as a PDF file's outline has it; 0: none */
    enum dom_line line;
    unsigned holds;    /* enum dom_holds */
    uint32_t from, to; /* its start tag in the file; 0, 0: it has none */
};

struct dom_text {
    struct slice text; /* markup left out, references decoded */
    uint32_t from, to; /* where it stands in the file */
    enum text_mode mode;
    bool plain; /* the file has it byte for byte */
};

struct dom {
    xmlDoc *doc;
    struct arena arena;
    struct source source;
    bool styled; /* there is a <style> */
    bool based;  /* there is a <base> */
};

int dom_parse(const struct source *source, struct dom *ret, struct err *err);
void dom_free(struct dom *dom);

static inline const struct dom_element *dom_element(const xmlNode *node)
{
    return node->_private;
}
static inline const struct dom_text *dom_text(const xmlNode *node)
{
    return node->_private;
}
static inline bool dom_is_element(const xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE;
}
static inline int dom_tag(const xmlNode *node) /* GUMBO_TAG_LAST: a text */
{
    return dom_is_element(node) ? dom_element(node)->tag : GUMBO_TAG_LAST;
}
static inline bool dom_holds(const xmlNode *node, unsigned what)
{
    return dom_is_element(node) && (dom_element(node)->holds & what) != 0;
}
static inline bool dom_is_cell(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_TD || dom_tag(node) == GUMBO_TAG_TH;
}

/* NULL: it has none of that name. */
const char *dom_attribute(const xmlNode *element, const char *name);
bool dom_has_id(const xmlNode *element, const char *id);
/* Has the first element in it that id? */
bool dom_begins_with_id(const xmlNode *element, const char *id);

/* Returns where in the file the bytes [from, to) of a text stand. */
void dom_place(const struct dom *dom, const struct dom_text *text, size_t from,
               size_t to, uint64_t *ret_from, uint64_t *ret_to);

/* The first element of that tag below `node`, in document order, or NULL. */
const xmlNode *dom_find(const xmlNode *node, int tag);

/* The node after `node` in document order, below `top`; with `skip`, not one
 * within it.  NULL: no more. */
const xmlNode *dom_next(const xmlNode *node, const xmlNode *top, bool skip);

/* The first element among a node and its siblings behind it; the last among those before
 * an element.  NULL: there is none. */
const xmlNode *dom_element_from(const xmlNode *node);
const xmlNode *dom_element_before(const xmlNode *element);

#endif
