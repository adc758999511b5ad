/* The jailed parser, seen from the daemon: bytes of a manual's file in, tree
 * out.  Each `struct parser` is one `lectern-parse` process (seccomp, landlock,
 * limits on memory and time), started on first use and replaced when it dies.
 * One thread at a time may use a parser. */
#ifndef INDEXER_PARSER_H
#define INDEXER_PARSER_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "indexer/wire.h"
#include "tree/tree.h"

struct parser;

struct parser_options {
    const char *program;       /* path of lectern-parse */
    uint64_t max_memory;       /* bytes of address space; 0: 2 GiB */
    uint32_t max_seconds;      /* for one file; 0: 60 */
    const atomic_bool *cancel; /* polled while waiting; NULL: never */
};

/* Part of the name under which a parsed tree is stored: raised whenever the
 * same bytes may give another tree. */
enum { PARSER_VERSION = 47 };

struct parser *parser_new(const struct parser_options *options);
void parser_free(struct parser *parser); /* ends the process */

/* The files that a LaTeX document includes, for who parses it.  `names`: the
 * paths it is looked for under, one a line, as the document writes them.  False:
 * there is none, or it may not be read; a reason may be in `ret_path`.  Else
 * the path by which the tree is to know it, and its bytes, which stay until the
 * file is parsed. */
struct parser_inputs {
    void *context;
    bool (*open)(void *context, struct slice names, struct slice *ret_bytes,
                 struct buf *ret_path); /* NULL: it includes none */
    struct buf *reports; /* what is wrong in it, a line each; NULL: not asked */
};

enum { PARSER_HEAD = 68 << 10 };

/* Parses a file's bytes (the slice must stay valid meanwhile).  `inputs` NULL:
 * it can include nothing.  The tree's first file is the one parsed, the others
 * those it includes.
 * ERR_FORMAT: not of that format; ERR_LIMIT: too deep, too large, too slow;
 * ERR_CRASH: the parser died on it; ERR_CANCELLED; ERR_IO, ERR_INTERNAL: no parser could be
 * started, which is not the file's fault. */
int parser_parse(struct parser *parser, struct slice bytes,
                 enum parser_format format, const struct parser_inputs *inputs,
                 struct tree **ret_tree, struct err *err);

/* The same nodes, but their blocks are the texts that parser_parse leaves out:
 * `info` says why ("navigation", "hidden", "label"...). */
int parser_boilerplate(struct parser *parser, struct slice bytes,
                       enum parser_format format, struct tree **ret_tree,
                       struct err *err);

/* The text that a span of a file reads: markup removed, entities decoded, white
 * space folded.  `encoding` is the whole file's, which its tree tells
 * (tree->page.encoding).  `head`: of a file of XML the first PARSER_HEAD bytes, or all
 * before the span, in which entities may be declared; else empty.  ret_places has the place of each byte of ret_text:
 * an array of struct text_place in a buffer. */
int parser_text(struct parser *parser, struct slice head, struct slice bytes,
                enum parser_format format, enum encoding encoding,
                struct buf *ret_text, struct buf *ret_places, struct err *err);

#endif
