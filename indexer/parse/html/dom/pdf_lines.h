/* The headings and paragraphs of a PDF file that pdf2htmlEX wrote as lines. */
#ifndef INDEXER_PARSE_HTML_DOM_PDF_LINES_H
#define INDEXER_PARSE_HTML_DOM_PDF_LINES_H

#include "indexer/parse/html/dom/dom.h"

/* Gives "heading" to the lines that the outline names, or, where there is none, to those
 * that are set larger than most; gives "line" to the others, as they go on with those above;
 * hides the outline, what stands at the edge of most pages, and printed contents. */
void pdf_lines_mark(struct dom *dom);

#endif
