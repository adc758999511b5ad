/* Search in `lectern eval`: modes side by side, and what came of each
 * question. */
#ifndef CLI_EVAL_EVAL_SEARCH_H
#define CLI_EVAL_EVAL_SEARCH_H

#include "cli/eval/questions.h"

/* The result of one question. */
struct outcome {
    int rank;      /* of the first right result, 0: none */
    bool answered; /* search had results */
    double ms;
    char right_node[32]; /* of the first right result; "": none */
};

struct search_run {
    const char *mode;         /* auto, tree, dense, lexical */
    struct outcome *outcomes; /* [questions] */
};

enum { MAX_RUNS = 4 };
struct search_runs {
    struct search_run items[MAX_RUNS]; /* the first is what others are
                                           compared with */
    size_t count;
    long depth; /* results asked for */
    const struct questions *questions;
};

/* `mode` and those of `list` (NULL: none), as "dense,lexical".  ERR_USAGE. */
int search_runs_open(const char *mode, const char *list, long depth,
                     const struct questions *questions, struct search_runs *ret,
                     struct err *err);
void search_runs_close(struct search_runs *runs);

/* Asks question `i` in every mode. */
int search_runs_ask(struct cli *cli, struct search_runs *runs, size_t i,
                    struct err *err);

/* The members of the first run ("mode", "recall@1", ..., "ranks"), and, of
 * several, "modes": each with the "difference", the first minus it. */
void search_runs_put(const struct search_runs *runs, struct json *json);
void search_runs_print(const struct search_runs *runs);

#endif
