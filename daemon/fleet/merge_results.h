/* The results of several readers as one list.
 *
 * Scores of two indexes cannot be compared, ranks and confidences can: a result counts
 * its list's confidence divided by its rank, so that a list that is twice as likely to
 * hold an answer has two results before the other's second. */
#ifndef DAEMON_FLEET_MERGE_RESULTS_H
#define DAEMON_FLEET_MERGE_RESULTS_H

#include "daemon/fleet/other_readers.h"

/* Whether this daemon holds the manual itself. */
typedef bool merge_holds(void *context, const char *manual);

/* Merges the answers to a search into `result`, this daemon's own ("results" and
 * "confidence" may be missing: it has none), `max` results at most: of a manual that is
 * held here or that an earlier reader has answered from, others' are left out.  Each
 * result of another has "reader", its name.  Sums and joins what the answers say
 * of the whole ("searched", "confidence", "confident", "fresh", "behind", "complete",
 * "away"), and adds what merge_put_readers does.  Takes `max` results of each at most. */
void merge_results(cJSON *result, struct reader_answer *answers, size_t count,
                   size_t max, merge_holds *holds, void *context);

/* Adds "readers": {name, searched} or {name, problem} of each.  "complete" is false where
 * one has no result; "nowhere" has what all say of it. */
void merge_put_readers(cJSON *result, const struct reader_answer *answers,
                       size_t count);

/* How sure an answer says it is, 0 to 1; 0: it says no number. */
double merge_confidence(const cJSON *result);

/* Has another reader's answer, its results and its citations say that they are that
 * reader's, whatever they said of themselves. */
void merge_label(cJSON *result, const struct other_reader *reader);

#endif
