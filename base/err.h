/* Errors: one convention everywhere.
 *
 * A function that can fail returns 0 or a negative `enum err_code`, and takes
 * a `struct err *` (which may be NULL) that it fills on failure: code, message,
 * and, where they mean something, path and byte position.  Outputs named
 * `ret_` are untouched on failure; a failed init leaves nothing to clean.
 * Codes of other libraries are translated in the file that wraps the library. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdint.h>

enum err_code {
    ERR_OK = 0,
    ERR_NOT_FOUND = -1,   /* nothing answers the question, or no such thing */
    ERR_USAGE = -2,       /* the caller's arguments are wrong */
    ERR_UNREACHABLE = -3, /* no daemon answers */
    ERR_IO = -4,          /* the operating system refused a file operation */
    ERR_FORMAT = -5,      /* the bytes are not what they should be */
    ERR_LIMIT = -6,       /* a limit on size, depth, time or memory */
    ERR_CRASH = -7,       /* the parser process died on this input */
    ERR_STORE = -8,       /* the store failed, is locked or of another schema */
    ERR_STALE = -9,       /* answered, but from a stale index (--strict) */
    ERR_CANCELLED = -10,  /* stopped on request */
    ERR_INTERNAL = -11,   /* a bug: an invariant of ours does not hold */
    ERR_MODEL = -12,      /* no model, or it cannot be used */
    ERR_BUSY = -13,       /* the daemon cannot do it now; ask again later */
    ERR_LAST = ERR_BUSY
};

struct err {
    int code;          /* enum err_code */
    int64_t position;  /* byte offset in `path` or the input, -1: none */
    char path[512];    /* file concerned, "": none; the caller adds it */
    char message[640]; /* what happened and what to do; no trailing period */
};

/* Fills `err` (NULL is allowed) and returns `code`, so that a caller writes
 * `return err_set(err, ERR_FORMAT, "...")`. */
int err_set(struct err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set with the message of errno: "cannot open X: permission denied". */
int err_errno(struct err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the path when there is none yet.  Returns err->code. */
int err_at(struct err *err, const char *path);

/* Stable name for programs: "not_found", "usage", ... */
const char *err_name(int code);

/* Exit status of the command line: 0 found, 1 nothing found, 2 usage,
 * 3 daemon unreachable, 4 stale, 5 model, 6 store, 7 anything else that failed
 * (files, the parser, want of memory), 130 interrupted. */
int err_exit_status(int code);

#endif
