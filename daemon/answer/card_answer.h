/* The card of an answer: its pieces found again in their files. */
#ifndef DAEMON_ANSWER_CARD_ANSWER_H
#define DAEMON_ANSWER_CARD_ANSWER_H

#include "daemon/answer/answer.h"
#include "daemon/answer/card.h"

/* Quotes the card of the best section, if the question is about one option and the
 * section is that option's: the title first, then the pieces, whose passages' scores
 * are their fields.  What does not stand whole in its file is left out; without a
 * title or any piece there is no card: ret->count is 0.  Free it with answer_free.
 * ERR_CANCELLED, and what means that nothing can be shown to be true. */
int card_answer(const struct call *call, const struct snapshot *snapshot,
                const struct route_result *route, const char *question,
                struct answer *ret, struct err *err);

/* "card", where there is one. */
void card_put(struct json *json, const struct answer *card);

#endif
