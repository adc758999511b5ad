/* What a PDF file's outline says of its lines, and which of these stand on most pages:
 * between the files that read what pdftohtml and pdf2htmlEX wrote. */
#ifndef INDEXER_PARSE_HTML_DOM_PDF_INTERNAL_H
#define INDEXER_PARSE_HTML_DOM_PDF_INTERNAL_H

#include "indexer/parse/html/dom/dom.h"

enum { PDF_MAX_LEVEL = 6 };

struct item {
    struct slice title; /* folded */
    uint32_t page;
    int level;
};

struct pdf {
    struct dom *dom;
    struct item *items; /* [count], as they are printed */
    size_t count, capacity;
    size_t next;   /* the first that was not found yet */
    bool found;    /* one was */
    uint32_t page; /* that is being read */
    struct buf raw, folded;
};

/* The links of an outline. */
void pdf_read_items(struct pdf *pdf, const xmlNode *list);
void pdf_free(struct pdf *pdf);

/* What the element reads, folded, valid until the next; empty: too much. */
struct slice pdf_words(struct pdf *pdf, const xmlNode *element);

/* A page begins; the lines of each are marked in turn. */
void pdf_enter_page(struct pdf *pdf, uint32_t page);

/* Makes the line a heading, if the outline has it on this page. */
void pdf_mark_line(struct pdf *pdf, const xmlNode *line);

/* A line at the edge of a page, on which, and what it reads but for digits. */
struct edge {
    const xmlNode *line;
    struct slice text;
    size_t page; /* from 1 */
};

struct edges {
    struct edge *lines; /* [count] */
    size_t count, capacity, pages;
};

/* Page by page; a line that has no words, or too many, is none. */
void pdf_add_edge(struct pdf *pdf, struct edges *edges, size_t page,
                  const xmlNode *line);

/* Hides what stands on more than half of the pages, of headings all but the first; frees
 * the edges. */
void pdf_hide_edges(struct edges *edges);

#endif
