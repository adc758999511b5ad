/* Messages on standard error, one line each, safe from any thread.  Under
 * systemd (JOURNAL_STREAM is set) a line starts with its priority, <3>. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* The most that is written; INFO at first. */
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
