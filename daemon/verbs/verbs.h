/* The verbs that the daemon answers: one table of what each takes and where
 * it runs. */
#ifndef DAEMON_VERBS_VERBS_H
#define DAEMON_VERBS_VERBS_H

#include "base/json.h"
#include "daemon/daemon.h"
#include "daemon/jobs/request.h"

/* One run of a verb. */
struct call {
    struct daemon *daemon;
    struct request *request;
    const cJSON *params;   /* checked against the table; may be NULL */
    struct parser *parser; /* of this thread; NULL on the writes' */
};

/* Returned by a verb's function beside 0 and errors: the request was handed on,
 * and whoever has it now answers it. */
enum { CALL_LATER = 1 };

/* Writes one value to `result`. */
typedef int verb_run(struct call *call, struct json *result, struct err *err);

enum param_kind {
    PARAM_TEXT,
    PARAM_INT,
    PARAM_NUMBER,
    PARAM_BOOL,
    PARAM_TEXTS,
    PARAM_ANY
};

struct param {
    const char *name; /* NULL: end of the list */
    enum param_kind kind;
    bool required;
    int64_t min, max; /* of PARAM_INT and PARAM_NUMBER */
};

struct verb {
    const char *name;
    enum verb_thread thread;
    verb_run *run;
    const struct param *params;
};

/* NULL: no such verb. */
const struct verb *verb_find(const char *name);

/* ERR_USAGE, naming the parameter, when one is unknown, missing, of the wrong
 * type or out of bounds. */
int verb_check(const struct verb *verb, const cJSON *params, struct err *err);

verb_run verb_search;                               /* verb_search.c */
verb_run verb_grep;                                 /* verb_grep.c */
verb_run verb_ask;                                  /* verb_ask.c */
verb_run verb_whole;                                /* full_document.c */
verb_run verb_toc, verb_get, verb_open;             /* verb_browse.c */
verb_run verb_add, verb_rm, verb_update, verb_wait; /* verb_manuals.c */
verb_run verb_ls, verb_status, verb_failed;         /* verb_status.c */
verb_run verb_rank;                                 /* verb_rank.c */
verb_run verb_embed;                                /* verb_embed.c */
verb_run verb_quote;                                /* verb_quote.c */
verb_run verb_verify;                               /* verb_verify.c */
verb_run verb_compact, verb_backup;                 /* maintenance.c */
verb_run verb_pack, verb_unpack;                    /* verb_pack.c */
verb_run verb_model;                                /* verb_model.c */

#endif
