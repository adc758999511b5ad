/* Whether what is answered from is what the files say. */
#ifndef DAEMON_ANSWER_FRESHNESS_H
#define DAEMON_ANSWER_FRESHNESS_H

#include "daemon/verbs/verbs.h"

struct freshness {
    bool current;  /* no manual that is asked is known to be behind its files */
    bool complete; /* every file that should be is indexed, with its memories
                      where they are asked for */
    bool away;   /* the files of one are not here: whether they have changed is
                      not known */
    bool behind; /* packs are fetched here, and not all are the newest */
    int64_t behind_seconds; /* for how long; -1: not known */
    int64_t elsewhere;      /* manuals of the fleet that are not held here */
};

/* Returns the freshness of the manual that the call names, or of all. */
struct freshness freshness_of(const struct call *call,
                              const struct snapshot *snapshot);

/* "fresh", if `fresh` is true and all is current, "complete"; "away", "behind" and
 * "elsewhere" where there is something to say. */
void freshness_put(struct json *json, const struct freshness *freshness,
                   bool fresh);

/* Tells whether the file in which the node begins is as it was read; true of a node
 * without one. */
bool freshness_of_node(const struct view *view, uint32_t node);

#endif
