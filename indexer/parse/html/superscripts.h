/* Which <sup> is an exponent (indexer/parse/outline/exponents.h). */
#ifndef INDEXER_PARSE_HTML_SUPERSCRIPTS_H
#define INDEXER_PARSE_HTML_SUPERSCRIPTS_H

#include "indexer/parse/outline/writer.h"

/* 5<sup>1</sup>/<sub>2</sub>: another number behind the one before it. */
bool superscripts_are_fraction(const struct writer *writer, const xmlNode *sup);

/* Of what was written last; not where it is linked, as the marks of footnotes are. */
bool superscripts_raise(const struct writer *writer, const xmlNode *sup);

#endif
