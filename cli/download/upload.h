/* A file to an address, whole or not at all. */
#ifndef CLI_DOWNLOAD_UPLOAD_H
#define CLI_DOWNLOAD_UPLOAD_H

#include <stdint.h>

#include "base/err.h"

/* Puts the file to `url`.part, and gives that the address `url`; tries again what may
 * pass.  The server must allow PUT and MOVE.  ERR_IO. */
int upload(const char *path, const char *url,
           void (*progress)(uint64_t done, uint64_t total), struct err *err);

/* Removes what is at `url`, and what an upload left beside it; nothing there is no
 * error.  The server must allow DELETE.  ERR_IO. */
int upload_remove(const char *url, struct err *err);

#endif
