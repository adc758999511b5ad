/* Expansion: the model that writes answers is asked for the words that the section with
 * the answer would use; these are searched for, too, and what that finds counts a little
 * beside what the question found.  People ask in other words than manuals answer ("kill a
 * query": pg_terminate_backend), and a large model knows both.
 *
 * (Query expansion by a language model, as query2doc, Wang et al. 2023, arXiv:2303.07678;
 * what it buys: docs/log/people.md, "Words by a model".) */
#ifndef DAEMON_VERBS_EXPAND_H
#define DAEMON_VERBS_EXPAND_H

#include "base/json.h"
#include "daemon/verbs/selection.h"
#include "daemon/verbs/verbs.h"
#include "memory/routing/route.h"

enum {
    EXPAND_HITS = 30, /* of either search that are fused */
    EXPAND_WORDS = 8, /* words or names, at most */
    EXPAND_TOKENS = 32
};

/* Whether a question is to be expanded: where the parameter "expand" says so, but not
 * while it is being typed, nor where it follows up others.  ERR_USAGE: in another mode than
 * auto.  ERR_MODEL: no model writes in its own words. */
int expand_wanted(const struct call *call, const struct route_request *request,
                  bool *ret, struct err *err);

/* Has the words for the request's query written: *ret, separated by spaces; empty where
 * the model says nothing of use or fails, which the log tells.  ERR_CANCELLED. */
int expand_write(const struct call *call, const struct snapshot *snapshot,
                 const struct selection *selection, const char *question,
                 struct buf *ret, struct err *err);

/* Fuses what the words found, `also`, into what the question did: a hit of the n-th place,
 * from 0, counts 1 / (3 + n), in `also` half of that.  The hits of `route`, at most `max`
 * then, have falling scores, those of the places before. */
void expand_fuse(struct route_result *route, const struct route_result *also,
                 size_t max);

/* What the model wrote, a list with commas, as words to search for: each once, without
 * quotes around them.  One that has not `ended` broke off within its last, which is
 * none then.  For tests. */
void expand_read(struct slice written, bool ended, struct buf *ret);

/* "expanded", where that was done. */
void expand_put(struct json *json, const struct route_result *route);

#endif
