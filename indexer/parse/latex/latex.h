/* LaTeX: a document and the files that it includes become a sealed tree. */
#ifndef INDEXER_PARSE_LATEX_LATEX_H
#define INDEXER_PARSE_LATEX_LATEX_H

#include "tree/tree.h"

/* Reads the files that a document includes. */
struct latex_reader {
    void *context;
    /* `names`: paths as written, one a line, in the order of preference.
     * Appends the bytes of the first that is there to a new buffer, and its
     * path as the tree is to have it to another.  False: none is, or it may
     * not be read; `ret_path` then holds the reason. */
    bool (*open)(void *context, struct slice names, struct buf *ret_bytes,
                 struct buf *ret_path);
};

/* `bytes` are those of the main file.  ERR_FORMAT: not text; ERR_LIMIT.
 * `ret_reports`: what is wrong in it, a line each. */
int latex_parse(struct slice bytes, const struct latex_reader *reader,
                struct tree **ret_tree, struct buf *ret_reports,
                struct err *err);

/* Appends the words that are typed in a part of a file, and the places that they
 * come from, as fragment_text does for HTML. */
void latex_text(struct slice bytes, int encoding, struct buf *out);

#endif
