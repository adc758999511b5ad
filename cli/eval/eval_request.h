/* The requests of `lectern eval`. */
#ifndef CLI_EVAL_EVAL_REQUEST_H
#define CLI_EVAL_EVAL_REQUEST_H

#include "cli/eval/questions.h"

struct eval_request {
    const struct question *question;
    const char *query;  /* NULL: the question's text */
    const char *mode;   /* NULL: as the daemon has it */
    const char *answer; /* the kind asked for; NULL: a search */
    const char *whole;  /* not NULL: from the whole document, by this method */
    const char *under;  /* a node; NULL: the whole manual */
    long count;         /* results wanted; below 1: as the daemon has it */
};

/* An error names the question.  *ret_ms: how long it took. */
int eval_request(struct cli *cli, const struct eval_request *request,
                 double *ret_ms, cJSON **ret_result, struct err *err);

#endif
