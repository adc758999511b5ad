/* What --explain shows people of how sections were found. */
#ifndef CLI_OUTPUT_EXPLAIN_H
#define CLI_OUTPUT_EXPLAIN_H

#include "cli/cli.h"

/* Of the "explain" of a result of search or ask; where it has none, nothing. */
void explain_put(struct buf *out, const cJSON *result);

/* The same, on standard output. */
void explain_print(const cJSON *result);

#endif
