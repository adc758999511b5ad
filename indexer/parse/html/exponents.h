/* Exponents: "2<sup>31</sup>" is read as "2^31", for "231" is another number.  The sign
 * alone does not stand in the file, where the tag says it (daemon/answer/quote.h). */
#ifndef INDEXER_PARSE_HTML_EXPONENTS_H
#define INDEXER_PARSE_HTML_EXPONENTS_H

#include "indexer/parse/outline/writer.h"

/* Is the <sup> an exponent of what was written last: a number or a letter, directly
 * behind a number, a unit, a letter or a bracket?  Not what is linked, as the marks of
 * footnotes are. */
bool exponents_follow(const struct writer *writer, const xmlNode *sup);

#endif
