/* An answer as it goes out: its text, and citations that were found again in
 * their files. */
#ifndef DAEMON_ANSWER_ANSWER_H
#define DAEMON_ANSWER_ANSWER_H

#include "daemon/answer/cite.h"
#include "daemon/answer/quote.h"
#include "daemon/verbs/result.h"
#include "memory/routing/route.h"

struct citation {
    struct passage passage; /* its text belongs to someone else */
    struct quote quote;     /* empty when it is unverified */
    int status;             /* enum cite_status */
};

struct answer {
    struct buf text;
    struct citation *citations; /* [count]; [n] of the text is the n-th */
    size_t count, capacity;
    bool fresh; /* every file looked at is as it was indexed */
};

/* Adds a citation of the passage, with `status` or a worse one.  An error:
 * nothing was added, the passage cannot be found in its file (any more).
 * `part`: in a file that has changed a part of it will do, as well. */
int answer_cite(const struct call *call, struct answer *answer,
                const struct passage *passage, int status, bool part,
                struct err *err);

/* Tells whether a citation holds all of the passage. */
bool answer_cites(const struct answer *answer, const struct passage *passage);

/* Whether the error of answer_cite is worse than that: there is no parser, so
 * nothing can be shown to be true, or the request was cancelled. */
bool answer_is_lost(int code);

/* Adds one that stands nowhere; the passage is where it was looked for. */
void answer_cite_unverified(struct answer *answer,
                            const struct passage *passage);
void answer_free(struct answer *answer);

/* The passages themselves, of at most `max` sections; those of one section stand
 * together. */
int answer_from_passages(const struct call *call,
                         const struct passages *passages, size_t max,
                         struct answer *answer, struct err *err);

/* A citation as one value, or its members alone. */
void answer_put_citation(struct json *json, const struct answer *answer,
                         size_t index);
void answer_put_citation_members(struct json *json, const struct answer *answer,
                                 size_t index);

/* The sections that were found, as one value. */
void answer_put_route(struct json *json, const struct route_result *route);

#endif
