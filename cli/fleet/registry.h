/* The registry: a PostgreSQL database, by libpq.
 *
 * A connection is opened when it is first needed and again after it broke; errors:
 * ERR_UNREACHABLE, the database does not answer (it may later); ERR_USAGE, it does
 * and refuses, or holds no registry of ours. */
#ifndef CLI_FLEET_REGISTRY_H
#define CLI_FLEET_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct registry;

/* Opens nothing yet.  `where` is a connection string of libpq, copied.  ERR_USAGE: it is
 * none, or has a password, which does not belong where others read it. */
int registry_make(const char *where, struct registry **ret, struct err *err);
void registry_free(struct registry *registry);

/* Rows of text; free with rows_free. */
struct rows {
    int count;
    void *result;
};
/* NULL: null */
const char *rows_text(const struct rows *rows, int row, int column);
int64_t rows_int(const struct rows *rows, int row, int column);
void rows_free(struct rows *rows);

enum { REGISTRY_VALUES = 8 };

/* Asks one statement, with a text for each $1...; NULL ends them, so that a null must
 * be made in SQL (nullif).  Nothing is tried again: whether a statement whose answer
 * was lost took effect is not known. */
int registry_ask(struct registry *registry, const char *sql,
                 const char *const values[REGISTRY_VALUES], struct rows *ret,
                 struct err *err);

/* Runs statements, several, in one transaction of their own. */
int registry_run(struct registry *registry, const char *sql, struct err *err);

/* Checks that the registry is of the schema that this program knows, once for each
 * connection. */
int registry_check(struct registry *registry, struct err *err);

/* Hears this channel from the next connection on; a text that lasts. */
void registry_listen(struct registry *registry, const char *channel);

/* Waits until somebody notifies the channel, or the time is over.  A connection that breaks meanwhile is closed, and the wait over in two seconds. */
void registry_wait(struct registry *registry, int64_t ms);

#endif
