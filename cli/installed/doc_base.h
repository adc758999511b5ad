/* Debian's registry of documents, doc-base: a file each below /usr/share/doc-base,
 * written by the packages that bring them. */
#ifndef CLI_INSTALLED_DOC_BASE_H
#define CLI_INSTALLED_DOC_BASE_H

#include <stddef.h>
#include <stdint.h>

struct doc_base_manual {
    char *name, *title;
    char *folder; /* of its first page, without links */
    size_t files; /* HTML files below the folder, */
    uint64_t bytes;
};

struct doc_base {
    struct doc_base_manual *manuals; /* [count], by name; one a folder */
    size_t count, capacity;
};

/* Where it is: $LECTERN_DOC_BASE, or else /usr/share/doc-base. */
const char *doc_base_folder(void);

/* Reads the HTML documents that are registered in `folder` and are there.  A record
 * that cannot be read is left out; no registry has no manuals. */
void doc_base_read(const char *folder, struct doc_base *doc_base);
void doc_base_free(struct doc_base *doc_base);

#endif
