/* How `lectern eval` shows what it measured. */
#ifndef CLI_EVAL_EVAL_REPORT_H
#define CLI_EVAL_EVAL_REPORT_H

#include "base/json.h"
#include "cli/eval/score.h"

void report_field_score(struct json *json, const char *key,
                        const struct score *score);
/* Milliseconds: median and 95 % quantile, and the interval of each. */
void report_field_times(struct json *json, const char *key,
                        const struct score ms[2]);

/* For people; nothing where there are no values. */
void report_print_score(const char *name, const struct score *score);
void report_print_times(const char *name, const struct score ms[2]);

#endif
