/* What changes files on a server: WebDAV's PUT, MOVE, DELETE. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/download/http_internal.h"

struct sending {
    int fd;
    uint64_t at, size;
    void (*progress)(uint64_t done, uint64_t total);
};

static size_t give(char *room, size_t one, size_t size, void *user)
{
    struct sending *sending = user;
    ssize_t some;
    (void)one;
    do
        some = pread(sending->fd, room, size, (off_t)sending->at);
    while (some < 0 && errno == EINTR);
    if (some < 0)
        return CURL_READFUNC_ABORT;
    sending->at += (uint64_t)some;
    return (size_t)some;
}

/* A server may ask for all of it again. */
static int go_to(void *user, curl_off_t offset, int origin)
{
    struct sending *sending = user;
    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    sending->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static int take_progress(void *user, curl_off_t total, curl_off_t now,
                         curl_off_t up_total, curl_off_t up_now)
{
    struct sending *sending = user;
    (void)total;
    (void)now;
    (void)up_total;
    if (sending->progress && up_now > 0)
        sending->progress((uint64_t)up_now, sending->size);
    return 0;
}

static size_t drop(char *data, size_t one, size_t size, void *user)
{
    (void)data;
    (void)one;
    (void)user;
    return size;
}

/* The answer is its status alone. */
static int ask(CURL *curl, const char *reason, const char *url,
               bool *ret_may_pass, struct err *err)
{
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    CURLcode result = curl_easy_perform(curl);
    *ret_may_pass = result && (http_passes(curl, result) ||
                               result == CURLE_COULDNT_CONNECT);
    return result ? http_fail(curl, reason, result, url, err) : 0;
}

int http_put(const struct http *http, const char *url, int fd,
             void (*progress)(uint64_t done, uint64_t total),
             bool *ret_may_pass, struct err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct stat st;
    *ret_may_pass = false;
    if (fstat(fd, &st) < 0)
        return err_errno(err, ERR_IO, "cannot read what goes to %s", url);
    struct sending sending = {
        .fd = fd, .size = (uint64_t)st.st_size, .progress = progress};
    CURL *curl = http_open(http, url, reason);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)st.st_size);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(curl, CURLOPT_READDATA, &sending);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, go_to);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &sending);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, take_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &sending);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    int code = ask(curl, reason, url, ret_may_pass, err);
    curl_easy_cleanup(curl);
    return code;
}

/* Only the path of the new address: the server may know itself by another name. */
static void put_destination(const char *to, struct buf *ret)
{
    CURLU *address = curl_url();
    char *path = NULL;
    if (!curl_url_set(address, CURLUPART_URL, to, 0))
        curl_url_get(address, CURLUPART_PATH, &path, 0);
    buf_printf(ret, "Destination: %s", path ? path : "/");
    curl_free(path);
    curl_url_cleanup(address);
}

int http_move(const struct http *http, const char *url, const char *to,
              bool *ret_may_pass, struct err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct buf destination = {0};
    put_destination(to, &destination);
    struct curl_slist *headers = curl_slist_append(NULL, destination.data);
    CURL *curl = http_open(http, url, reason);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "MOVE");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    int code = ask(curl, reason, url, ret_may_pass, err);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    buf_free(&destination);
    return code;
}

int http_delete(const struct http *http, const char *url, struct err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    bool may_pass;
    CURL *curl = http_open(http, url, reason);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    int code = ask(curl, reason, url, &may_pass, err);
    if (code && http_status(curl) == 404)
        code = 0;
    curl_easy_cleanup(curl);
    return code;
}
