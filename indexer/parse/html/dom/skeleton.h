/* The skeleton of a page: its markup as written, but for attributes that nobody
 * reads, each run of text between two tags shrunk to one letter (or one space),
 * XHTML's <a/> written out as <a></a>, all in UTF-8.  The tree builder looks at
 * text a character at a time and asks no more than whether it is white space:
 * given the skeleton it builds the same tree in half the time, and the text is
 * read from the source.  A map leads from places of the skeleton back to the
 * file. */
#ifndef INDEXER_PARSE_HTML_DOM_SKELETON_H
#define INDEXER_PARSE_HTML_DOM_SKELETON_H

#include <stdint.h>

#include "base/err.h"
#include "indexer/parse/text/lexer.h"

/* From here to the next piece, places move along with the source's. */
struct piece {
    uint32_t at;     /* in the skeleton */
    uint32_t source; /* in the file */
};

struct skeleton {
    struct buf text;
    struct piece *pieces;
    size_t count, capacity;
    size_t recent; /* piece that was found last */
};

/* ERR_LIMIT: nests too deep. */
int skeleton_make(const struct source *source, struct skeleton *ret,
                  struct err *err);
void skeleton_free(struct skeleton *skeleton);

/* The place in the file that `at` stands for. */
size_t skeleton_source(struct skeleton *skeleton, size_t at);

#endif
