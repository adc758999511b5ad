#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static _Atomic int max = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&max, (int)level);
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    static const int priorities[] = {3, 4, 6, 7};
    if ((int)level > atomic_load(&max))
        return;
    char line[2048];
    int used;
    if (getenv("JOURNAL_STREAM")) {
        used = snprintf(line, sizeof line, "<%d>", priorities[level]);
    } else {
        time_t now = time(NULL);
        struct tm tm;
        localtime_r(&now, &tm);
        used = (int)strftime(line, sizeof line, "%F %T ", &tm);
        used += snprintf(line + used, sizeof line - (size_t)used,
                         "%s: ", names[level]);
    }
    va_list args;
    va_start(args, format);
    int more =
        vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    size_t size = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (size > sizeof line - 2)
        size = sizeof line - 2;
    /* File names and messages from outside forge no lines. */
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
            line[i] = '?';
    line[size++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written;
}
