/* The Python package index as pip is configured to reach it: PIP_INDEX_URL, PIP_CERT,
 * PIP_PROXY, PIP_CONFIG_FILE, and pip.conf ([global] and [download]: index-url, cert,
 * proxy). */
#ifndef CLI_DOWNLOAD_PIP_INDEX_H
#define CLI_DOWNLOAD_PIP_INDEX_H

#include "base/buf.h"
#include "base/err.h"

struct pip_index {
    char *url, *cert, *proxy; /* the latter two: NULL: none is set */
};

void pip_index_find(struct pip_index *ret);
void pip_index_free(struct pip_index *index);

/* What to ask an index for: the simple API as JSON, else as HTML. */
extern const char pip_index_accept[];

/* Appends the address, perhaps a relative one, that a page of the simple API, JSON or
 * HTML, has for a file.  ERR_NOT_FOUND; ERR_FORMAT. */
int pip_index_file(struct slice page, const char *file, struct buf *ret,
                   struct err *err);

#endif
