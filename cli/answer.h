/* The citations of the last answer, kept for `lectern open NUMBER` in
 * $XDG_STATE_HOME/lectern/last-answer.json. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "cli/cli.h"

/* Remembers the citations of a result of ask.  Failing is not worth a word:
 * the answer itself is there. */
void answer_save(const struct cli *cli, const cJSON *result);

/* Citation `number`; free *ret_citation with cJSON_Delete.  ERR_NOT_FOUND when
 * the last answer of this daemon has none of that number. */
int answer_citation(const struct cli *cli, int64_t number, cJSON **ret_citation,
                    struct err *err);

#endif
