/* The headings of a PDF file that pdftohtml wrote as lines. */
#ifndef INDEXER_PARSE_HTML_DOM_PDF_OUTLINE_H
#define INDEXER_PARSE_HTML_DOM_PDF_OUTLINE_H

#include "indexer/parse/html/dom/dom.h"

/* Gives "heading" to the lines that the outline at the page's end names and leads to, each
 * on the printed page that it has there, and hides the outline, which says no more, and
 * what stands at the edge of most printed pages. */
void pdf_outline_mark(struct dom *dom);

#endif
