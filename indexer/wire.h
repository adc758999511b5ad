/* The protocol between the daemon and lectern-parse, over a socket pair.
 *
 * A request is a header and `size` bytes, a reply likewise; one request is
 * under way at a time.  Both ends are of the same build on the same machine,
 * so the headers travel as they lie in memory; the daemon still checks every
 * field and every byte of a reply.
 *
 *   WIRE_PARSE   request: an HTML file    reply: an encoded tree
 *   WIRE_BOILERPLATE request: an HTML file    reply: an encoded tree
 *   WIRE_TEXT    request: part of a file  reply: as wire_text_size says
 *   WIRE_INPUT   request: a file that another one includes, see below
 *   a failure    status < 0, position     reply: the message
 *
 * While it parses LaTeX, the child may ask for files: a reply with the status
 * WIRE_ASKS, of the names by which the document calls one, a line each.  It is
 * answered by WIRE_INPUT with the same number: the file's path, a NUL and its
 * bytes; format 0: there is none, with the reason in place of the path.  The
 * child opens no file itself.
 *
 * The tree of a file of LaTeX or XML comes after a string (base/buf.h): what is wrong in
 * the document, a line each. */
#ifndef INDEXER_WIRE_H
#define INDEXER_WIRE_H

#include <stdint.h>

#include "tree/tree.h"

/* Largest file that is read. */
enum { PARSER_MAX_BYTES = 64 << 20 };

/* How a file is read: indexer/source.h tells by its name. */
enum parser_format {
    PARSER_HTML,
    PARSER_XML, /* XHTML or DocBook, well-formed */
    PARSER_LATEX,
    PARSER_DOCSET,   /* a docset's table of symbols */
    PARSER_KEYWORDS, /* the index of an HTML Help file */
    PARSER_SCRIPT,   /* contents of help that stand in a script, as data */
    PARSER_FORMATS
};

/* Where in the bytes a character of the text comes from. */
struct text_place {
    uint32_t from, to;
};

enum { WIRE_FD = 3 }; /* the child's end */

enum wire_kind {
    WIRE_PARSE = 1,
    WIRE_TEXT = 2,
    WIRE_BOILERPLATE = 3,
    WIRE_INPUT = 4
};

enum { WIRE_ASKS = 1, WIRE_MAX_NAMES = 8192 /* bytes */ };

struct wire_request {
    uint64_t number;   /* of the request; its reply has the same */
    uint64_t kind;     /* enum wire_kind */
    uint64_t format;   /* enum parser_format */
    uint64_t encoding; /* WIRE_TEXT: of the whole file, enum encoding */
    uint64_t head; /* WIRE_TEXT: bytes before the part, which the file begins
                          with: what it declares */
    uint64_t size;
};

struct wire_reply {
    uint64_t number;
    int64_t status;   /* enum err_code */
    int64_t position; /* of a failure, -1: none */
    uint64_t size;
};

/* How the child ends when it is not by a signal. */
enum wire_exit {
    WIRE_EXIT_MEMORY = 80, /* needed more memory than it was given */
    WIRE_EXIT_JAIL = 81    /* could not lock itself in; nothing was read */
};

/* Limits that the child keeps to and the daemon enforces, for `size` bytes, those of
 * the file and of the files handed over.  A heading takes more than four bytes of a
 * file, and any item some; the bytes of all text are those of the reply. */
enum { WIRE_MAX_GROWTH = 16, WIRE_MIN_REPLY = 1 << 20 };
static inline uint64_t wire_max_reply(uint64_t size)
{
    return WIRE_MIN_REPLY + WIRE_MAX_GROWTH * size;
}
static inline struct tree_limits wire_tree_limits(size_t size)
{
    return (struct tree_limits){2 + size / 4, 8 + size};
}

/* A text reply: n as 64 bits, n bytes of text, n struct text_place. */
static inline uint64_t wire_text_size(uint64_t n)
{
    return 8 + n + 8 * n;
}

#endif
