/* The entities that a document of XML declares itself, in the internal subset of its
 * document type declaration: what a reference to one reads.
 *
 * Markup in a value is left out, its text is read.  Nothing outside of the document
 * is read or fetched: an entity that names a file reads as nothing, one that refers
 * to itself, or grows too long, as it is written.  Both are reported. */
#ifndef INDEXER_PARSE_TEXT_DECLARED_H
#define INDEXER_PARSE_TEXT_DECLARED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"

struct declared_entity {
    struct slice name;
    struct slice
        value; /* as written between the quotes, or the name of a file */
    struct slice text; /* what it reads, once it is resolved */
    unsigned char state;
    bool external, parameter;
    bool used;
};

struct declared {                     /* begins as zeros */
    struct declared_entity *entities; /* [count], by kind and name */
    size_t count, capacity;
    size_t size; /* bytes of all texts, and of what parameters declare */
    struct arena arena;
    struct buf reports; /* a line each */
};

/* Reads the declarations of the text that a file begins with, which is copied. */
void declared_read(struct declared *declared, struct slice text);
void declared_free(struct declared *declared);

/* What the reference at the beginning of `text` ("&name;") reads, and its size.
 * False: it is none to an entity that is declared and can be read. */
bool declared_find(const struct declared *declared, struct slice text,
                   struct slice *ret_text, size_t *ret_used);

/* Counts the bytes that all references in `text` read, and reports those to files. */
size_t declared_count(struct declared *declared, struct slice text);

#endif
