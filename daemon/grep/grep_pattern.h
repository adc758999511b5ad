/* Regular expressions of readers: PCRE2's, over text that nobody has checked, with
 * limits on what one match may cost.  `^` and `$` stand at the lines of a text, `.`
 * ends at them; what matches is never empty. */
#ifndef DAEMON_GREP_GREP_PATTERN_H
#define DAEMON_GREP_GREP_PATTERN_H

#include "base/buf.h"
#include "base/err.h"

struct grep_pattern; /* of one thread */

/* ERR_USAGE, with the position in bytes, when it is no regular expression;
 * ERR_LIMIT when it has more than 4096 bytes. */
int grep_pattern_compile(struct slice source, bool ignore_case,
                         struct grep_pattern **ret_pattern, struct err *err);
void grep_pattern_free(struct grep_pattern *pattern); /* NULL is allowed */

enum grep_found {
    GREP_NONE,
    GREP_FOUND,   /* *ret_start and *ret_end are set, in bytes of the text */
    GREP_GIVEN_UP /* the match went back and forth too often */
};

/* Looks for the first match that starts at `from` or behind it. */
enum grep_found grep_pattern_next(struct grep_pattern *pattern,
                                  struct slice text, size_t from,
                                  size_t *ret_start, size_t *ret_end);

#endif
