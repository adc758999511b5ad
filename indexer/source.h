/* A manual's files as they are read: which, by their names, and how. */
#ifndef INDEXER_SOURCE_H
#define INDEXER_SOURCE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "indexer/parser.h"

/* The names that are read, for messages. */
#define SOURCE_NAMES ".html, .htm, .xhtml, DocBook .xml, .tex, also .gz"

/* Is a file of that name read?  An .xml file only if source_is_docbook. */
bool source_is_named(const char *path);

/* False: an .xml file (or one that cannot be opened) that is not DocBook. */
bool source_is_wanted(const char *path);

enum parser_format source_format(const char *path);
/* Is it read only where a LaTeX document includes it? */
bool source_is_part(const char *path);
bool source_is_packed(const char *path); /* a .gz file */

/* The file's bytes as they are on disk, all of one moment.  ERR_LIMIT: too
 * large; ERR_IO: also when it never stops changing. */
int source_read(const char *path, struct buf *ret_bytes, struct err *err);

/* Replaces the bytes of a .gz file by those they decompress to.  ERR_FORMAT;
 * ERR_LIMIT: more than PARSER_MOST_BYTES. */
int source_unpack(const char *path, struct buf *bytes, struct err *err);

/* Bytes [from, to) of the file, decompressed. */
int source_read_span(const char *path, uint64_t from, uint64_t to,
                     struct buf *ret_bytes, struct err *err);

#endif
