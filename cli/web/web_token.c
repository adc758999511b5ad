#include "cli/web/web.h"

#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/file.h"

enum { RANDOM = (WEB_TOKEN - 1) / 2 };

/* A new one; the file is this user's alone by the process's umask. */
static int make(const char *path, char ret_token[WEB_TOKEN], struct err *err)
{
    unsigned char bytes[RANDOM];
    char token[WEB_TOKEN];
    if (getrandom(bytes, sizeof bytes, 0) != RANDOM)
        return err_errno(err, ERR_IO, "no random bytes");
    for (size_t i = 0; i < RANDOM; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    int code = file_write(path, slice_of(token), err);
    if (!code)
        memcpy(ret_token, token, WEB_TOKEN);
    return code;
}

static int read_token(const char *path, char ret_token[WEB_TOKEN],
                      struct err *err)
{
    struct buf text = {0};
    struct stat st;
    int code = file_read(path, WEB_TOKEN, &text, err);
    if (!code && (text.size != WEB_TOKEN - 1 ||
                  strspn(text.data, "0123456789abcdef") != WEB_TOKEN - 1))
        code =
            err_set(err, ERR_FORMAT,
                    "%s holds no token; remove it, and another is made", path);
    if (!code && (stat(path, &st) < 0 || (st.st_mode & 077)))
        code =
            err_set(err, ERR_FORMAT,
                    "others may read %s; remove it, and another is made", path);
    if (!code)
        memcpy(ret_token, text.data, WEB_TOKEN);
    buf_free(&text);
    return code;
}

int web_token(char ret_token[WEB_TOKEN], struct err *err)
{
    struct buf path = {0};
    struct stat st;
    config_user_folder("XDG_STATE_HOME", ".local/state", &path);
    int code = file_make_folder(path.data, 0700, err);
    buf_put_text(&path, "/web-token");
    if (!code)
        code = stat(path.data, &st) == 0 ? read_token(path.data, ret_token, err)
                                         : make(path.data, ret_token, err);
    buf_free(&path);
    return code;
}
