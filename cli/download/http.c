#include "cli/download/http_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/version.h"

enum {
    CONNECT_SECONDS = 30,
    STALL_SECONDS = 60, /* without a byte */
    MAX_REDIRECTS = 10,
    HTTP_PARTIAL = 206,
    HTTP_NO_RANGE = 416,
    HTTP_TOO_MANY = 429,
    HTTP_SERVER = 500
};

/* One request.  What a callback refuses is in `code` and `err`. */
struct transfer {
    CURL *curl;
    char reason[CURL_ERROR_SIZE];
    int code;
    struct err *err;
    /* a page: */
    struct buf *page;
    size_t limit;
    /* a file: */
    struct http_file *file;
    uint64_t from, at;   /* bytes it had, and has */
    int64_t range_start; /* that the server says; -1: it does not */
    bool begun;          /* the first bytes have come */
};

void http_start(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

long http_status(CURL *curl)
{
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* A secure address leads to no insecure one. */
CURL *http_open(const struct http *http, const char *url,
                char reason[CURL_ERROR_SIZE])
{
    CURL *c = curl_easy_init();
    bool secure = !strncasecmp(url, "https:", 6);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                     secure ? "https" : "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "lectern-get/" LECTERN_VERSION);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    if (http->cert)
        curl_easy_setopt(c, CURLOPT_CAINFO, http->cert);
    if (http->proxy)
        curl_easy_setopt(c, CURLOPT_PROXY, http->proxy);
    return c;
}

void http_put_shown(const char *url, struct buf *ret)
{
    CURLU *address = curl_url();
    char *shown = NULL;
    if (!curl_url_set(address, CURLUPART_URL, url, 0) &&
        !curl_url_set(address, CURLUPART_USER, NULL, 0) &&
        !curl_url_set(address, CURLUPART_PASSWORD, NULL, 0))
        curl_url_get(address, CURLUPART_URL, &shown, 0);
    const char *as_it_is = strchr(url, '@') ? "the address" : url;
    buf_put_text(ret, shown ? shown : as_it_is);
    curl_free(shown);
    curl_url_cleanup(address);
}

int http_fail(CURL *curl, const char *reason, CURLcode result, const char *url,
              struct err *err)
{
    struct buf shown = {0};
    bool is_missing =
        result == CURLE_HTTP_RETURNED_ERROR && http_status(curl) == 404;
    http_put_shown(url, &shown);
    int code = err_set(err, ERR_IO, "%s: %s", shown.data,
                       is_missing  ? "not found there (404)"
                       : reason[0] ? reason
                                   : curl_easy_strerror(result));
    buf_free(&shown);
    return code;
}

bool http_passes(CURL *curl, CURLcode result)
{
    long status = http_status(curl);
    if (result == CURLE_HTTP_RETURNED_ERROR)
        return status >= HTTP_SERVER || status == HTTP_TOO_MANY ||
               status == HTTP_NO_RANGE;
    return result == CURLE_PARTIAL_FILE || result == CURLE_RECV_ERROR ||
           result == CURLE_GOT_NOTHING || result == CURLE_OPERATION_TIMEDOUT ||
           result == CURLE_SEND_ERROR || result == CURLE_HTTP2_STREAM;
}

/* What a callback refused goes before what libcurl says of that. */
static int fail(struct transfer *t, CURLcode result, const char *url)
{
    return t->code ? t->code
                   : http_fail(t->curl, t->reason, result, url, t->err);
}

/* ---- Pages ---- */

static size_t take_page(char *data, size_t one, size_t size, void *user)
{
    struct transfer *t = user;
    (void)one;
    if (t->page->size + size > t->limit) {
        t->code = err_set(t->err, ERR_LIMIT,
                          "the answer has more than %zu "
                          "bytes",
                          t->limit);
        return 0;
    }
    buf_put(t->page, data, size);
    return size;
}

int http_read(const struct http *http, const char *url, const char *accept,
              size_t limit, struct buf *ret, struct buf *ret_url,
              struct err *err)
{
    struct transfer t = {.err = err, .page = ret, .limit = limit};
    struct buf line = {0};
    const char *came_from = url;
    buf_printf(&line, "Accept: %s", accept);
    struct curl_slist *headers = curl_slist_append(NULL, line.data);
    t.curl = http_open(http, url, t.reason);
    curl_easy_setopt(t.curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(t.curl, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(t.curl, CURLOPT_WRITEFUNCTION, take_page);
    curl_easy_setopt(t.curl, CURLOPT_WRITEDATA, &t);
    CURLcode result = curl_easy_perform(t.curl);
    int code = result ? fail(&t, result, url) : 0;
    curl_easy_getinfo(t.curl, CURLINFO_EFFECTIVE_URL, &came_from);
    if (!code)
        buf_put_text(ret_url, came_from);
    curl_slist_free_all(headers);
    curl_easy_cleanup(t.curl);
    buf_free(&line);
    return code;
}

int http_join(const char *base, const char *reference, struct buf *ret,
              struct err *err)
{
    CURLU *url = curl_url();
    struct buf shown = {0};
    char *joined = NULL;
    int code = 0;
    http_put_shown(base, &shown);
    if (curl_url_set(url, CURLUPART_URL, base, 0) ||
        curl_url_set(url, CURLUPART_URL, reference, 0) ||
        curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) ||
        curl_url_get(url, CURLUPART_URL, &joined, 0))
        code = err_set(err, ERR_FORMAT, "%s: no address: %.200s", shown.data,
                       reference);
    else
        buf_put_text(ret, joined);
    buf_free(&shown);
    curl_free(joined);
    curl_url_cleanup(url);
    return code;
}

/* ---- Files ---- */

/* Returns what stands after `name` in a header line, or NULL. */
static const char *header_value(const char *line, const char *name)
{
    size_t size = strlen(name);
    if (strncasecmp(line, name, size) != 0)
        return NULL;
    return line + size + strspn(line + size, " \t");
}

static void take_sum(struct http_file *file, const char *value)
{
    value += strspn(value, "\"");
    size_t digits = strspn(value, "0123456789abcdef");
    if (!file->sha256[0] && digits == SHA256_HEX - 1)
        memcpy(file->sha256, value, digits);
}

static size_t take_header(char *data, size_t one, size_t size, void *user)
{
    struct transfer *t = user;
    struct buf line = {0};
    const char *value;
    (void)one;
    buf_put(&line, data, size);
    if ((value = header_value(line.data, "X-Linked-ETag:")))
        take_sum(t->file, value);
    else if ((value = header_value(line.data, "Content-Range: bytes")))
        t->range_start = strtoll(value, NULL, 10);
    buf_free(&line);
    return size;
}

static int check_space(const struct http_file *file, uint64_t more,
                       struct err *err)
{
    struct statvfs disk;
    if (fstatvfs(file->fd, &disk) < 0)
        return 0;
    uint64_t available = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (more <= available)
        return 0;
    return err_set(err, ERR_IO,
                   "%s: %.0f MB more are needed on that disk, and %.0f MB are "
                   "free",
                   file->path, (double)more / 1e6, (double)available / 1e6);
}

/* Before the first bytes: where they belong, and whether there is room. */
static int begin(struct transfer *t)
{
    curl_off_t length = 0;
    struct http_file *file = t->file;
    bool partial = http_status(t->curl) == HTTP_PARTIAL;
    t->begun = true;
    if (partial && t->range_start != (int64_t)t->from)
        return err_set(t->err, ERR_FORMAT,
                       "%s: the server sends another part than was asked for",
                       file->path);
    if (!partial && t->from) {
        if (ftruncate(file->fd, 0) < 0)
            return err_errno(t->err, ERR_IO, "cannot shorten %s", file->path);
        t->from = t->at = 0;
    }
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length > 0 ? check_space(file, (uint64_t)length, t->err) : 0;
}

static int write_all(struct transfer *t, const char *data, size_t size)
{
    while (size) {
        ssize_t some = pwrite(t->file->fd, data, size, (off_t)t->at);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return err_errno(t->err, ERR_IO, "cannot write %s", t->file->path);
        data += some;
        size -= (size_t)some;
        t->at += (uint64_t)some;
    }
    return 0;
}

static size_t take_file(char *data, size_t one, size_t size, void *user)
{
    struct transfer *t = user;
    (void)one;
    if (!t->begun)
        t->code = begin(t);
    if (!t->code && t->file->max && t->at + size > t->file->max)
        t->code = err_set(t->err, ERR_FORMAT,
                          "the server sends more than the %llu bytes of that "
                          "file",
                          (unsigned long long)t->file->max);
    if (!t->code)
        t->code = write_all(t, data, size);
    return t->code ? 0 : size;
}

static int take_progress(void *user, curl_off_t total, curl_off_t now,
                         curl_off_t up_total, curl_off_t up_now)
{
    struct transfer *t = user;
    (void)now;
    (void)up_total;
    (void)up_now;
    if (t->begun && t->file->progress && total > 0)
        t->file->progress(t->at, t->from + (uint64_t)total);
    return 0;
}

int http_resume(const struct http *http, const char *url,
                struct http_file *file, struct err *err)
{
    struct transfer t = {.err = err, .file = file, .range_start = -1};
    struct buf range = {0};
    off_t size = lseek(file->fd, 0, SEEK_END);
    t.from = t.at = size > 0 ? (uint64_t)size : 0;
    file->may_pass = false;
    t.curl = http_open(http, url, t.reason);
    buf_printf(&range, "%llu-", (unsigned long long)t.from);
    if (t.from)
        curl_easy_setopt(t.curl, CURLOPT_RANGE, range.data);
    curl_easy_setopt(t.curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t.curl, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(t.curl, CURLOPT_WRITEFUNCTION, take_file);
    curl_easy_setopt(t.curl, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(t.curl, CURLOPT_XFERINFOFUNCTION, take_progress);
    curl_easy_setopt(t.curl, CURLOPT_XFERINFODATA, &t);
    curl_easy_setopt(t.curl, CURLOPT_NOPROGRESS, 0L);
    CURLcode result = curl_easy_perform(t.curl);
    int code = result ? fail(&t, result, url) : 0;
    file->may_pass = result && !t.code && http_passes(t.curl, result);
    if (file->may_pass && http_status(t.curl) == HTTP_NO_RANGE &&
        ftruncate(file->fd, 0) < 0) /* it has more than there is */
        file->may_pass = false;
    curl_easy_cleanup(t.curl);
    buf_free(&range);
    return code;
}
