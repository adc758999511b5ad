/* The citations of the last answer, or the results of the last search, kept for
 * `lectern open NUMBER` and `get NUMBER` in $XDG_STATE_HOME/lectern/last-answer.json. */
#ifndef CLI_OUTPUT_LAST_ANSWER_H
#define CLI_OUTPUT_LAST_ANSWER_H

#include "cli/cli.h"

/* Remembers the citations of a result of ask.  Failing is not worth a word:
 * the answer itself is there. */
void answer_save(const struct cli *cli, const cJSON *result);

/* The same of a result of search, numbered as they are printed. */
void answer_save_results(const struct cli *cli, const cJSON *result);

/* Returns the array of what was kept of this daemon's last answer or search, to be
 * freed with cJSON_Delete; NULL: there is none. */
cJSON *answer_list(const struct cli *cli);

/* 3 or [3]: a number of what was printed last, else -1. */
int64_t answer_number(const char *text);

/* The node meant by an argument: a number, also in brackets, is one of what was
 * printed last, ERR_NOT_FOUND: there is none; else a node.  *ret_node points into
 * `given` or *ret_citation, which is NULL or to be freed with cJSON_Delete. */
int answer_node(const struct cli *cli, const char *given, cJSON **ret_citation,
                const char **ret_node, struct err *err);

/* The parameter `key` for the node meant so; `given` NULL: none. */
int answer_param_node(const struct cli *cli, struct json *json, const char *key,
                      const char *given, struct err *err);

/* Citation `number`; free *ret_citation with cJSON_Delete.  ERR_NOT_FOUND when
 * the last answer of this daemon has none of that number. */
int answer_citation(const struct cli *cli, int64_t number, cJSON **ret_citation,
                    struct err *err);

#endif
