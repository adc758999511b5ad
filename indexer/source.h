/* A manual's files as they are read: which, by their names, and how. */
#ifndef INDEXER_SOURCE_H
#define INDEXER_SOURCE_H

#include <stdbool.h>
#include <sys/stat.h>

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
/* Is it code, which is read only beside LaTeX documents?  It is a part, too. */
bool source_is_code(const char *path);
bool source_is_gzipped(const char *path); /* a .gz file */
/* The path without ".gz". */
struct slice source_unpacked_path(const char *path);

/* A manual's folder.  A manual may come from a stranger: a link in it that leads
 * out of the folder is followed only where somebody has asked for that, or where
 * both the folder and what the link leads to were installed with the system
 * (source_is_installed).  To a folder that holds the manual's own it never is. */
struct source_root {
    const char *path;   /* absolute */
    bool all_links;     /* links are followed wherever they lead */
    const char *except; /* a folder that no scan goes into; NULL: none */
};

/* Why a file is not read. */
#define SOURCE_NOT_FOLLOWED                                                    \
    "a link out of the manual's folder is not followed (lectern add "          \
    "--follow-links, if you trust it)"

/* Tells whether what lies at `real` belongs to root, below /usr, and everybody may
 * read it. */
bool source_is_installed(const char *real, const struct stat *st);

/* Whether what failed with that errno failed because the machine has run out of
 * descriptors or memory, whatever file it was; and whether it may be there all the
 * same. */
bool source_is_shortage(int number);
bool source_may_be_there(int number);

/* Whether what lies at `real`, a path without links, may be read. */
bool source_is_within(const struct source_root *root, const char *real);

/* The file's bytes as they are on disk, all of one moment.  `path` is absolute;
 * root NULL: it may lie anywhere.  ERR_LIMIT: too large; ERR_IO: also when it
 * never stops changing, or is not within the root. */
int source_read(const struct source_root *root, const char *path,
                struct buf *ret_bytes, struct err *err);

/* The same, with the stat of what was read: by the time that it was opened, another
 * file may have stood at the path than before and after. */
int source_read_stat(const struct source_root *root, const char *path,
                     struct buf *ret_bytes, struct stat *ret_stat,
                     struct err *err);

/* Replaces the bytes of a .gz file by those they decompress to.  ERR_FORMAT;
 * ERR_LIMIT: more than PARSER_MAX_BYTES. */
int source_unpack(const char *path, struct buf *bytes, struct err *err);

/* Bytes [from, to) of the file, decompressed. */
int source_read_span(const struct source_root *root, const char *path,
                     uint64_t from, uint64_t to, struct buf *ret_bytes,
                     struct err *err);

#endif
