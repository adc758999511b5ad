/* HTTP by libcurl: pages into memory, files onto the disk, from where they broke
 * off, and from there to a server. */
#ifndef CLI_DOWNLOAD_HTTP_H
#define CLI_DOWNLOAD_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/download/sha256.h"

struct http {
    const char *cert;  /* file of certificates to trust; NULL: the system's */
    const char *proxy; /* NULL: as the environment says */
};

/* Once in a process, before all others. */
void http_start(void);

/* Reads a page of at most `limit` bytes into `ret` (empty), and appends the address
 * that it came from in the end to `ret_url`.  ERR_IO with why; ERR_LIMIT. */
int http_read(const struct http *http, const char *url, const char *accept,
              size_t limit, struct buf *ret, struct buf *ret_url,
              struct err *err);

/* Appends `reference`, relative to `base`, as an absolute address. */
int http_join(const char *base, const char *reference, struct buf *ret,
              struct err *err);

/* Appends an address as messages have it: without the name and password in it; "the
 * address" for what is none and may have them. */
void http_put_shown(const char *url, struct buf *ret);

struct http_file {
    int fd;           /* open for reading and writing */
    const char *path; /* for messages */
    uint64_t max;     /* bytes that it may have; 0: any number */
    void (*progress)(uint64_t done, uint64_t total); /* bytes of the file */
    /* out: */
    char sha256[SHA256_HEX]; /* that the first address tells (X-Linked-ETag, as
                                Hugging Face does); "": it does not */
    bool may_pass;           /* the error: to be tried again from there */
};

/* Appends to the file what it lacks, or, where the server cannot begin there, all
 * of it again.  What came stays in it on failure.  ERR_IO, ERR_FORMAT (more than
 * `max`). */
int http_resume(const struct http *http, const char *url,
                struct http_file *file, struct err *err);

/* Puts all of an open file to the address (PUT).  *ret_may_pass: the error is one
 * that may pass.  ERR_IO. */
int http_put(const struct http *http, const char *url, int fd,
             void (*progress)(uint64_t done, uint64_t total),
             bool *ret_may_pass, struct err *err);

/* Gives what is there another address on that server, in place of what that had
 * (MOVE, RFC 4918), and removes it (DELETE). */
int http_move(const struct http *http, const char *url, const char *to,
              bool *ret_may_pass, struct err *err);
int http_delete(const struct http *http, const char *url, struct err *err);

#endif
