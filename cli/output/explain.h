/* The output of --explain: how sections were found. */
#ifndef CLI_OUTPUT_EXPLAIN_H
#define CLI_OUTPUT_EXPLAIN_H

#include "cli/cli.h"

/* Appends the "explain" of a result of search or ask; nothing if it has none. */
void explain_put(struct buf *out, const cJSON *result);

/* The same, on standard output. */
void explain_print(const cJSON *result);

#endif
