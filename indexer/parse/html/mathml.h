/* Formulas in MathML that carry no TeX along: read as one line, "2^31", "(a+b)/c",
 * "x_1", "√2".  Signs and brackets that are drawn do not stand in the file, which has
 * tags in their place (daemon/answer/quote.h). */
#ifndef INDEXER_PARSE_HTML_MATHML_H
#define INDEXER_PARSE_HTML_MATHML_H

#include "indexer/parse/outline/writer.h"

void mathml_read(struct writer *writer, const xmlNode *formula);

#endif
