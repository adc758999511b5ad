/* lectern-get at work, for programs that have no network of their own. */
#ifndef CLI_GETTING_H
#define CLI_GETTING_H

#include "base/err.h"
#include "base/json.h"

/* Called with each {"done","total"} (bytes) that it prints, and with NULL about every
 * `ms` in which it prints nothing; what it returns, if not 0, ends lectern-get and is
 * the error. */
typedef int getting_each(void *user, const cJSON *progress, struct err *err);

/* Runs lectern-get with these words (NULL ends them; its own name is not among them)
 * until it ends.  Errors are those that it says; ERR_CANCELLED: a signal came. */
int getting_run(const char *const *words, getting_each *each, void *user,
                int64_t ms, struct err *err);

#endif
