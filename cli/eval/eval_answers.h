/* Answers in `lectern eval`: the kinds of answers asked for side by side, and
 * what came of each question.
 *
 * Beside those that ask gives (auto, generated, passages) there are two that
 * tell finding from answering, both of the right section, which is looked up:
 *   oracle-section  ask's passages under it alone;
 *   best-passage    the sentences of it that answer best, by ROUGE-L.
 * A question whose right section is not known, or is not there, does not count
 * for these.
 *
 * --method compares ways to read (H2MT, 3): h2mt, which is ask's generated,
 * passages, and two that read the whole document, hmt and full (daemon/verbs/full_document.c). */
#ifndef CLI_EVAL_EVAL_ANSWERS_H
#define CLI_EVAL_EVAL_ANSWERS_H

#include "cli/eval/eval_oracle.h"

enum reply_kind { REPLY_NONE, REPLY_PASSAGES, REPLY_GENERATED, REPLY_KINDS };

extern const char *const reply_kind_names[REPLY_KINDS];

struct reply {
    int kind; /* enum reply_kind */
    double ms, f1, rouge_l;
    double first; /* ms until the first token, or the whole of an answer that is
                     not written; 0: there was none */
    double first_kept; /* the same with HMT's memories made before; 0: not so */
    bool first_right;  /* the first citation */
    int citations, verified, repaired;
    bool counted;  /* false: an oracle knew no right section */
    cJSON *result; /* of ask, but for what is large and not needed */
};

enum trial_way { WAY_ASK, WAY_WHOLE, WAY_SECTION, WAY_BEST };

struct trial_method {
    const char *name;
    int way;          /* enum trial_way */
    const char *asks; /* the answer or the method asked for */
};

struct trial {
    const struct trial_method *method;
    struct reply *replies; /* [questions] */
};

enum { MAX_TRIALS = 8 };
struct trials {
    struct trial items[MAX_TRIALS];
    size_t count;
    const struct questions *questions;
};

/* From what --answers says, as "passages,best-passage", and --method; NULL: not
 * given.  ERR_USAGE. */
int trials_open(const char *answers, const char *methods,
                const struct questions *questions, struct trials *ret,
                struct err *err);
void trials_close(struct trials *trials);

/* Whether it, or any, wants the right section looked up. */
bool trial_is_oracle(const struct trial *trial);
bool trials_want_oracle(const struct trials *trials);

/* Asks question `i` once a trial.  `right_node`: of the first right result of
 * the search, "": none.  `oracle`: may be NULL when none is wanted. */
int trials_ask(struct cli *cli, const struct oracle *oracle,
               struct trials *trials, size_t i, const char *right_node,
               struct err *err);

/* eval_totals.c: the members "answers" (of the first), "compared" (all, if
 * several; from the second on with the "difference", the first minus it, where
 * both count) and "replies". */
void trials_put(const struct trials *trials, struct json *json);
void trials_print(const struct trials *trials);

#endif
