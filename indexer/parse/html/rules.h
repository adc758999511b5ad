/* Rules for what an element of a page is to a reader, by the elements of HTML and by the
 * class names of the tools that manuals are made with (DocBook, Sphinx,
 * Texinfo, Doxygen, mdBook, Asciidoctor...). */
#ifndef INDEXER_PARSE_HTML_RULES_H
#define INDEXER_PARSE_HTML_RULES_H

#include "indexer/parse/html/dom/dom.h"

enum part {
    PART_INLINE,
    PART_SKIP, /* chrome, code, what is hidden */
    PART_BLOCK,
    PART_SECTION, /* its first heading is that of a section */
    PART_HEADING,
    PART_CODE,
    PART_LIST,
    PART_ITEM,
    PART_TABLE,
    PART_ROW,
    PART_CELL,
    PART_CAPTION,
    PART_QUOTE,
    PART_NOTE,
    PART_FOOTNOTES, /* one, or several */
    PART_TERMS,     /* <dl> */
    PART_TERM,
    PART_MEANING,
    PART_FIGURE,
    PART_IMAGE,
    PART_AREA, /* of an image map */
    PART_MATH, /* displayed: text in TeX */
    PART_MATHML,
    PART_TEX, /* <script type="math/tex"> */
    PART_DRAWING,
    PART_LINE,     /* of a PDF file, which may go on with the one before */
    PART_NOFRAMES, /* what a page of frames is without them */
    PART_BREAK
};

struct rule {
    enum part part;
    bool strict;      /* a section whose headings are all below its first */
    bool index;       /* a piece of an alphabetical index */
    const char *info; /* the kind of a note */
    const char *why;  /* PART_SKIP: a word or two for people */
};

static inline void rules_skip(struct rule *rule, const char *why)
{
    rule->part = PART_SKIP;
    rule->why = why;
}

struct rule rules_of(const xmlNode *element);

/* Is an element of the tag a list, be it of terms? */
bool rules_is_list(int tag);

/* Is it a heading of gi-docgen's: the parts of a name, with a sign between them that is
 * drawn?  The <title> has it whole, and its last link leads to what holds it. */
bool rules_is_name_in_parts(const xmlNode *heading);

/* Is it left out in the midst of text that goes on behind it, as who reads a part of the
 * file leaves it out? */
bool rules_are_passed(const struct source *source, const xmlNode *element);

/* Level of a heading, 0 to 6: of its tag, or of its class where that says more. */
int rules_level(const xmlNode *heading);

#endif
