/* The text of one block as it is being read: white space folded (or exact, in
 * code), lines and cells separated, and the place in the file from its first
 * to its last character. */
#ifndef INDEXER_PARSE_OUTLINE_WRITER_H
#define INDEXER_PARSE_OUTLINE_WRITER_H

#include <stdint.h>

#include "indexer/parse/html/dom/dom.h"
#include "tree/tree.h"

/* The separator before the next text, should there be any. */
struct separator {
    bool line;  /* a new line, unless the block begins here */
    bool comma; /* ", ", unless the block begins here */
    unsigned tabs;
    unsigned indent;
    char marker[16]; /* "- ", "12. " */
};

struct writer {
    const struct dom *dom;
    struct buf text;
    bool open;  /* there is text */
    bool exact; /* white space as written */
    bool space; /* white space waits for the next word */
    struct separator next;
    struct span span;
    uint64_t written; /* bytes of text so far, of all blocks */
};

void writer_text(struct writer *writer, const struct dom_text *text);

/* Text that stands in an attribute of the element at `span`. */
void writer_literal(struct writer *writer, struct slice text, struct span span);

/* Does the next text stand in a line with the last one, be it behind white space? */
bool writer_in_line(const struct writer *writer);

/* Does the next text stand directly behind the last one, in the same word? */
bool writer_goes_on(const struct writer *writer);

/* A sign that the file has not got, behind what separates the next text; text must
 * follow, or have come before. */
void writer_sign(struct writer *writer, const char *sign);

/* The next text is another word; in exact text, in another line. */
void writer_space(struct writer *writer);

/* <br>: a line's end in exact text, else as writer_space. */
void writer_break(struct writer *writer);

/* The next text begins a line. */
void writer_line(struct writer *writer, unsigned indent, const char *marker);

/* Text and place of the block, which is then closed; false when there is no
 * text.  The text is the writer's until something is written. */
bool writer_take(struct writer *writer, struct slice *ret_text,
                 struct span *ret_span);

#endif
