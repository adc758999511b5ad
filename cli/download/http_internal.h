/* What the files about HTTP share: a handle of libcurl's, and what became of it. */
#ifndef CLI_DOWNLOAD_HTTP_INTERNAL_H
#define CLI_DOWNLOAD_HTTP_INTERNAL_H

#include <curl/curl.h>

#include "cli/download/http.h"

/* A handle for that address, which puts into `reason` why it fails; end it with
 * curl_easy_cleanup. */
CURL *http_open(const struct http *http, const char *url,
                char reason[CURL_ERROR_SIZE]);

/* The status of the answer; 0: none came. */
long http_status(CURL *curl);

/* ERR_IO, with the address and why. */
int http_fail(CURL *curl, const char *reason, CURLcode result, const char *url,
              struct err *err);

/* Whether what failed may go well when it is tried again. */
bool http_passes(CURL *curl, CURLcode result);

#endif
