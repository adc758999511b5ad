/* Which LaTeX files others name as what they include, found by a look at their
 * text alone.  It is a guess, by which a file is parsed later or, where a document
 * has turned out to include it, not at all. */
#ifndef INDEXER_MENTIONS_H
#define INDEXER_MENTIONS_H

#include "base/buf.h"
#include "indexer/scan.h"

/* Appends the names that commands as \input, \include, \subfile, \import (any whose
 * name has one of these in it) are given in the text, a line each, without folders;
 * none in comments, none made by macros. */
void mentions_find(struct slice text, struct buf *ret_names);

/* Sets ret[i] of each file of the scan, but `self`, that one of these names may
 * mean: by its own name, in whichever folder. */
void mentions_mark(const struct scan *scan, struct slice names, size_t self,
                   bool *ret);

#endif
