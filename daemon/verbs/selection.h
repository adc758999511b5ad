/* The manuals that a question is asked of, by the parameters `manual` or `manuals`,
 * and what is missing of them. */
#ifndef DAEMON_VERBS_SELECTION_H
#define DAEMON_VERBS_SELECTION_H

#include "daemon/verbs/verbs.h"

enum { SELECTION_MAX = 64 };

struct selection {
    const char *names[SELECTION_MAX];
    size_t count; /* 0: all manuals */
};

struct selection selection_of(const struct call *call);
bool selection_has(const struct selection *selection, const char *name);

/* Takes those out of the selection that are registered and of which nothing is
 * indexed yet (selection_put_missing tells of them).  *ret_none: none is left, and
 * there were some.  ERR_USAGE: a name that no manual has, or more names than
 * SELECTION_MAX; ERR_STORE: a manual that
 * is damaged. */
int selection_check(struct selection *selection, const struct call *call,
                    const struct snapshot *snapshot, bool *ret_none,
                    struct err *err);

/* ERR_STORE when one of the selected manuals is damaged (snapshot_check). */
int selection_check_damage(const struct selection *selection,
                           const struct snapshot *snapshot, struct err *err);

/* "searched": how many manuals are. */
void selection_put_searched(struct json *json, const struct call *call,
                            const struct snapshot *snapshot);

/* "missing": {manual, state, reason}, the selected manuals that were not searched, or
 * not as their files are: state "indexing" (for the first time), "failed" (nothing
 * of it could be indexed) or "stale" (its last update failed); and "damaged"
 * (result_damaged).  No member where there is none. */
void selection_put_missing(struct json *json, const struct call *call,
                           const struct snapshot *snapshot);

#endif
