/* The walk over a page in document order: text to the writer, blocks and
 * headings to the outline.  html_walk.c goes from element to element,
 * html_blocks.c knows the kinds of blocks, html_tables.c, figures.c, html_math.c,
 * manpages.c and footnotes.c the larger of them, html_entries.c reference entries. */
#ifndef INDEXER_PARSE_HTML_HTML_INTERNAL_H
#define INDEXER_PARSE_HTML_HTML_INTERNAL_H

#include "indexer/parse/outline/outline.h"
#include "indexer/parse/html/labels.h"
#include "indexer/parse/html/numbers.h"
#include "indexer/parse/html/page.h"
#include "indexer/parse/html/rules.h"
#include "indexer/parse/outline/writer.h"

enum { IN_TITLE = BLOCK_KINDS }; /* besides the kinds of blocks */

enum { GRID_MAX = 64 }; /* columns whose spans are followed */

/* Where we are in a table. */
struct grid {
    unsigned column;            /* of the next cell */
    unsigned tabs;              /* so far in this row */
    unsigned spanned[GRID_MAX]; /* rows below that a cell still covers */
};

/* What kind of block text is for at the moment, and where in it we are. */
struct context {
    int kind;
    struct slice info;
    unsigned depth; /* list: how many lists are around this one */
    unsigned
        ordinal; /* list: one more than the next item's number; 0: bullets */
    struct grid *grid;        /* table: its columns */
    bool pairs;               /* definition: a row of two cells is a term and
                                 its meaning */
    bool termed;              /* definition: a term was last */
    bool meaning;             /* definition: this is not the term */
    bool named;               /* definition: a term of this block has words */
    bool labelled;            /* note: its label is behind us */
    const xmlNode *footnotes; /* note: the element that holds them, or NULL */
};

/* An image in prose: its words stand in no text, so they are a figure after the
 * block they are in. */
struct walk_image {
    struct slice text;
    struct span span;
    bool button;
};

struct walk {
    struct dom *dom;
    struct outline *outline;
    struct page_facts *facts;
    struct writer writer;
    struct labels labels; /* above what is an entry each */
    const xmlNode *read;  /* the siblings up to this one were read with the
                             label above them; NULL: none was */
    struct context in;
    const xmlNode *counted; /* holds groff's terms that were counted, up to the
                                 next heading; NULL: none were */
    bool looked_up;         /* they are an entry each */
    bool titled;            /* Texinfo: by the manual's title */
    unsigned entries;       /* reference entries around, in lists or boxes */
    struct walk_image *images; /* [image_count] of the block being read */
    size_t image_count, image_capacity;
    struct numbers numbers; /* of headings */
    struct {
        bool on; /* the code that is being read is a page of its own: ruled.c */
        bool awaits; /* a title: a rule was last */
    } ruled;
    const xmlNode *end; /* where the title ends that is being read; NULL: where
                           its element does */
    bool ended;
};

/* Reads the whole page, and counts what page_facts wants counted. */
void walk_page(struct dom *dom, struct outline *outline,
               struct page_facts *facts);

/* ---- Between html_walk.c and the others ---- */

void walk_children(struct walk *walk, const xmlNode *node);
void walk_node(struct walk *walk, const xmlNode *node);

/* Takes the element's own anchors. */
void walk_anchors(struct walk *walk, const xmlNode *element);

/* Reads the element as a title, as if it were a block; its anchors go to the
 * next heading.  False: it has no text. */
bool walk_title(struct walk *walk, const xmlNode *element,
                struct slice *ret_title, struct span *ret_span);

/* Ends the block that is being read. */
void walk_flush(struct walk *walk);

/* A block begins or ends here: in a paragraph its end, in a cell a space. */
void walk_boundary(struct walk *walk);

/* Is this the label of the note that is being read?  It tells its kind where
 * the element does not. */
bool walk_note_label(struct walk *walk, struct slice text);

/* Does white space come before the next text, which follows `element`? */
bool walk_space_follows(const struct walk *walk, const xmlNode *element);

/* The children as blocks of their own, of context `inner`. */
void walk_within(struct walk *walk, const xmlNode *node, struct context inner);

/* Blocks in titles, cells and code do not stand for themselves. */
static inline bool walk_is_flat(const struct walk *walk)
{
    return walk->in.kind == IN_TITLE || walk->in.kind == BLOCK_TABLE ||
           walk->in.kind == BLOCK_CODE;
}

/* Text that runs on, with no lines of its own. */
static inline bool walk_is_prose(const struct walk *walk)
{
    return walk->in.kind == BLOCK_PARAGRAPH || walk->in.kind == BLOCK_NOTE ||
           walk->in.kind == BLOCK_QUOTE;
}

static inline struct span walk_tag_span(const xmlNode *element)
{
    return (struct span){dom_element(element)->from, dom_element(element)->to};
}

/* What an element reads, white space folded, up to about `most` bytes; the
 * caller frees it. */
struct buf walk_words(const xmlNode *element, size_t max);

/* A term and what it means; false: this is no list of them. */
bool blocks_term(struct walk *walk, const xmlNode *term);
bool blocks_meaning(struct walk *walk, const xmlNode *meaning);

/* Does a <pre> hold a text that rules part, with sections of its own? */
bool ruled_is(const xmlNode *pre);
/* A text right in it. */
void ruled_text(struct walk *walk, const xmlNode *node);

/* False: not a kind of block. */
bool blocks_element(struct walk *walk, const xmlNode *element,
                    const struct rule *rule);

/* The images of a block that has text, or has none, become figures. */
void figures_flush(struct walk *walk, bool text);
bool figures_element(struct walk *walk, const xmlNode *element,
                     const struct rule *rule);

/* Reads an element that is a footnote or holds some, anchors and all.  False:
 * not here. */
bool footnotes_read(struct walk *walk, const xmlNode *element);
/* Before the content of an element in footnotes: it may begin one. */
void footnotes_enter(struct walk *walk, const xmlNode *element, enum part part);
/* Is what was read a note's mark alone, "[1]", which its text follows? */
bool footnotes_is_mark(const struct walk *walk);
/* A heading that a tool prints above them. */
bool footnotes_is_label(const struct walk *walk, const xmlNode *element,
                        enum part part);

/* False: no formula. */
bool math_element(struct walk *walk, const xmlNode *element,
                  const struct rule *rule);

/* False: not here. */
bool tables_table(struct walk *walk, const xmlNode *table);
bool tables_row(struct walk *walk, const xmlNode *row);
bool tables_cell(struct walk *walk, const xmlNode *cell);

/* What groff's pages say by indentation alone.  False: nothing of that begins here. */
bool manpages_element(struct walk *walk, const xmlNode *element);
/* A section begins. */
void manpages_heading(struct walk *walk, const xmlNode *heading);

/* Keeps the text of an element that is not read, if anybody asks for it. */
void boilerplate_keep(struct walk *walk, const xmlNode *element,
                      const char *why);

/* False: it holds no reference entries, or not here. */
bool entries_list(struct walk *walk, const xmlNode *list);
bool entries_box(struct walk *walk, const xmlNode *box);
/* False: the element is not a label above an entry, or not here. */
bool entries_label(struct walk *walk, const xmlNode *element);
/* An entry called as `name` reads: what `cell` holds, or NULL, then the nodes from `from`
 * up to `end`. */
void entries_named(struct walk *walk, const xmlNode *name, const xmlNode *cell,
                   const xmlNode *from, const xmlNode *end);
bool entries_table(struct walk *walk, const xmlNode *table);
bool entries_items(struct walk *walk, const xmlNode *list);

#endif
