/* The right section of a question, looked up instead of searched: what answers
 * would be worth if finding were perfect. */
#ifndef CLI_EVAL_EVAL_ORACLE_H
#define CLI_EVAL_EVAL_ORACLE_H

#include "cli/eval/questions.h"

/* The sections of the manuals, as toc gives them. */
struct oracle {
    cJSON *toc;
    struct oracle_section *sections; /* [count] */
    size_t count, capacity;
};

int oracle_open(struct cli *cli, struct oracle *ret, struct err *err);
void oracle_close(struct oracle *oracle);

/* The first section that is right: by its path; where the question has but
 * evidence, by searching for that.  `node` "": none. */
int oracle_find(struct cli *cli, const struct oracle *oracle,
                const struct question *question, char node[32],
                struct err *err);

/* The neighbouring sentences of one block of the section (or all of the block)
 * that answer best by ROUGE-L, as a result of ask would have it ("kind"
 * passages); NULL: the section has no text. */
int oracle_passage(struct cli *cli, const char *node,
                   const struct question *question, cJSON **ret_result,
                   struct err *err);

#endif
