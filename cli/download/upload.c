#include "cli/download/upload.h"

#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/download/http.h"

enum { TRIES = 5, FIRST_PAUSE_MS = 250 };

static void wait_before(int try)
{
    int64_t ms = (int64_t)FIRST_PAUSE_MS << (try - 1);
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* From the start each time: a move whose answer was lost left nothing to move. */
int upload(const char *path, const char *url,
           void (*progress)(uint64_t done, uint64_t total), struct err *err)
{
    const struct http http = {0};
    struct buf trial = {0};
    bool may_pass = true;
    int code = -1, fd = file_open_regular(path, err);
    if (fd < 0)
        return fd;
    buf_printf(&trial, "%s.part", url);
    for (int try = 0; code && may_pass && try < TRIES; try++) {
        if (try)
            wait_before(try);
        code = http_put(&http, trial.data, fd, progress, &may_pass, err);
        if (!code)
            code = http_move(&http, trial.data, url, &may_pass, err);
    }
    buf_free(&trial);
    close(fd);
    return code;
}

int upload_remove(const char *url, struct err *err)
{
    const struct http http = {0};
    struct buf trial = {0};
    buf_printf(&trial, "%s.part", url);
    int code = http_delete(&http, url, err);
    if (!code)
        code = http_delete(&http, trial.data, err);
    buf_free(&trial);
    return code;
}
