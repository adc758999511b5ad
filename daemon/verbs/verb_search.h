/* Questions: what `search` and `ask` have in common. */
#ifndef DAEMON_VERBS_VERB_SEARCH_H
#define DAEMON_VERBS_VERB_SEARCH_H

#include "daemon/answer/copies.h"
#include "daemon/answer/question.h"
#include "daemon/verbs/result.h"
#include "memory/routing/route.h"

enum { SEARCH_DEFAULT_HITS = 10 };

/* Routes the question that the parameters hold, for `most` hits, and says what
 * the model did; *ret_question without its vector.  `context`: what it follows
 * up; NULL: it stands alone.  Hits that are copies of one
 * before them (copies.h), within a manual or, asked of all, between them, are left out, and listed in *ret_copies, to be freed with
 * copies_free; NULL: not wanted. */
int search_question(const struct call *call, const struct snapshot *snapshot,
                    size_t max, const struct route_context *context,
                    struct question *ret_question,
                    struct route_result *ret_route, struct copies *ret_copies,
                    struct err *err);

/* The kinds of block that the parameters ask for; 0: all.  ERR_USAGE. */
int search_kinds(const struct call *call, kind_set *ret, struct err *err);

/* "generation" of what is searched. */
void search_generation(struct json *json, const struct call *call,
                       const struct snapshot *snapshot);

/* "terms": stems of what was asked for, without the everyday words. */
void search_terms(struct json *json, const struct route_result *route);

/* "nowhere": phrases of the query that no section holds; no member where there is
 * none. */
void search_nowhere(struct json *json, const struct route_result *route);

/* "explain", when it was asked for. */
void search_explain(struct json *json, const struct call *call,
                    const struct route_result *route);

#endif
