#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    const char *name;
    int exit_status;
} codes[] = {
    {ERR_OK, "ok", 0},
    {ERR_NOT_FOUND, "not_found", 1},
    {ERR_USAGE, "usage", 2},
    {ERR_UNREACHABLE, "unreachable", 3},
    {ERR_IO, "io", 7},
    {ERR_FORMAT, "format", 2},
    {ERR_LIMIT, "limit", 2},
    {ERR_CRASH, "crash", 7},
    {ERR_STORE, "store", 6},
    {ERR_STALE, "stale", 4},
    {ERR_CANCELLED, "cancelled", 130},
    {ERR_INTERNAL, "internal", 7},
    {ERR_MODEL, "model", 5},
    {ERR_BUSY, "busy", 7},
};

/* What was cut ends with a whole character of UTF-8. */
static void end_whole(char *message, size_t size)
{
    size_t end = strlen(message), at = end;
    if (end + 1 < size)
        return;
    while (at > 1 && (message[at - 1] & 0xC0) == 0x80)
        at--;
    unsigned char first = (unsigned char)message[at - 1];
    size_t whole = first >= 0xF0   ? 4
                   : first >= 0xE0 ? 3
                   : first >= 0xC0 ? 2
                                   : 1;
    if (end - (at - 1) < whole)
        message[at - 1] = '\0';
}

static void fill(struct err *err, int code, const char *format, va_list args)
{
    err->code = code;
    err->position = -1;
    err->path[0] = '\0';
    vsnprintf(err->message, sizeof err->message, format, args);
    end_whole(err->message, sizeof err->message);
}

int err_set(struct err *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, code, format, args);
        va_end(args);
    }
    return code;
}

int err_errno(struct err *err, int code, const char *format, ...)
{
    int number = errno;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, code, format, args);
        va_end(args);
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s",
                 strerror(number));
    }
    return code;
}

int err_at(struct err *err, const char *path)
{
    if (!err->path[0])
        snprintf(err->path, sizeof err->path, "%s", path);
    return err->code;
}

const char *err_name(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "internal";
}

int err_exit_status(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].exit_status;
    return 1;
}
