/* Answers written by a model from passages, checked against them.
 *
 * A model that was trained on prompts of this program cites as it writes (cite.h).
 * Any other with a chat template answers in its own words, and the evidence of each
 * sentence is located afterwards (evidence.h): a sentence without evidence is not
 * shown. */
#ifndef DAEMON_ANSWER_COMPOSE_H
#define DAEMON_ANSWER_COMPOSE_H

#include "daemon/answer/answer.h"
#include "model/model.h"

struct compose_options {
    size_t
        max; /* tokens of the answer; 0: 96, of a model that answers in its own
                   words 192 */
    struct sampling sampling;
    const struct slice *stops; /* [stop_count] texts that end it, none empty */
    size_t stop_count;
    bool live; /* its text is sent as events while it comes */
    /* All that is written below a node is read, in so many tokens at most, instead
     * of passages; 0: passages. */
    size_t whole_tokens;
    const struct view *view;
    uint32_t node;
    bool
        confident; /* nothing is written when no answer of the model's will do */
};

struct composed {
    struct answer answer;
    const char *model;     /* its name, as long as the daemon */
    const char *attention; /* as session_attention's */
    const char *abstained; /* why it should not be shown; NULL: it may be */
    size_t prompt_tokens, reused_tokens, tokens;
    bool truncated;   /* at the most tokens that it could have */
    bool by_evidence; /* in its own words, the evidence located afterwards */
    size_t dropped;   /* sentences without evidence, which are not shown */
    double mean_log;  /* of the chances of its tokens */
    double pack_ms, first_ms;
    struct buf read; /* with "explain": what it read, as JSON; of the caller */
};

/* An answer from the passages; *ret stays valid as long as the snapshot, freed by
 * answer_free(&ret->answer).  `passages`: at least one, unless a sub-tree is read.  ERR_MODEL, ERR_LIMIT
 * and ERR_CANCELLED beside what answer_cite returns. */
int compose_answer(const struct call *call, const struct snapshot *snapshot,
                   const struct passages *passages,
                   const struct compose_options *options, struct composed *ret,
                   struct err *err);

#endif
