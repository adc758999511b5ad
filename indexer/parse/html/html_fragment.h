/* The text of a part of an HTML file, wherever it begins and ends. */
#ifndef INDEXER_PARSE_HTML_HTML_FRAGMENT_H
#define INDEXER_PARSE_HTML_HTML_FRAGMENT_H

#include "base/buf.h"

/* Appends the text with markup removed, references decoded and white space
 * folded, and for each of its bytes the place it comes from (of white space that before
 * a tag in it): the reply that indexer/wire.h describes.  `format` (enum parser_format)
 * and `encoding` are those of the whole file.  `head`: of XML, what the file begins
 * with, for the entities that it declares; else empty. */
void fragment_text(struct slice head, struct slice bytes, int format,
                   int encoding, struct buf *out);

#endif
