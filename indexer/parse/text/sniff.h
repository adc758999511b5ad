/* Is it text at all, and in which encoding. */
#ifndef INDEXER_PARSE_TEXT_SNIFF_H
#define INDEXER_PARSE_TEXT_SNIFF_H

#include "base/err.h"
#include "indexer/parse/text/lexer.h"
#include "indexer/parse/text/transcode.h"

/* The file's text; `bytes` must outlive it.  ERR_FORMAT: not text, or not in an
 * encoding that is read; ERR_LIMIT: too large. */
int sniff_file(struct slice bytes, struct transcoded *ret_file,
               int *ret_encoding, struct err *err);

/* The same of a LaTeX file, whose encoding is what its bytes are, or else what
 * the package inputenc is told. */
int sniff_latex(struct slice bytes, struct transcoded *ret_file,
                int *ret_encoding, struct err *err);

/* Does HTML call itself XHTML?  Then <a/> is a whole element. */
bool sniff_is_xhtml(struct slice text);

#endif
