/* Answers in `lectern eval`: the kinds of answers asked for side by side, and
 * what came of each question. */
#ifndef CLI_EVAL_ANSWERS_H
#define CLI_EVAL_ANSWERS_H

#include "cli/questions.h"

enum reply_kind { REPLY_NONE, REPLY_PASSAGES, REPLY_GENERATED, REPLY_KINDS };

struct reply {
    int kind; /* enum reply_kind */
    double ms, f1, rouge_l;
    bool first_right; /* the first citation */
    int citations, verified, repaired;
    cJSON *result; /* of ask, but for what is large and not needed */
};

struct trial {
    const char *wanted;    /* "auto", "generated" or "passages" */
    struct reply *replies; /* [questions] */
};

enum { MOST_TRIALS = 3 };
struct trials {
    struct trial items[MOST_TRIALS];
    size_t count;
    const struct questions *questions;
};

/* From what --answers says, as "passages,generated".  ERR_USAGE. */
int trials_open(const char *list, const struct questions *questions,
                struct trials *ret, struct err *err);
void trials_close(struct trials *trials);

/* Takes the result over.  `right_node`: of the first right result of the
 * search, "": none. */
void reply_judge(const struct question *question, const char *right_node,
                 cJSON *result, struct reply *ret);

/* The members "answers" (of the first), "compared" (all, if several) and
 * "replies". */
void trials_put(const struct trials *trials, struct json *json);
void trials_print(const struct trials *trials);

#endif
