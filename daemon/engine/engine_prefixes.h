/* The beginnings of the last prompts as sessions that have read them: a prompt
 * that begins alike is read on from there.
 *
 * A prompt is read in pieces, counted from its start, and what is kept ends with a
 * piece: so the rest is read in the passes in which all would have been, and the
 * logits have the same bits. */
#ifndef DAEMON_ENGINE_ENGINE_PREFIXES_H
#define DAEMON_ENGINE_ENGINE_PREFIXES_H

#include "model/model.h"

enum {
    PREFIX_PIECE = 128,      /* tokens, between which others have their turn */
    PREFIX_LONG_FROM = 8192, /* where each chooses what it reads, longer ones */
    PREFIX_LONG_PIECE = 2048, /* follow: a long prompt takes less time so */
    PREFIXES = 8              /* most that are kept */
};

/* Most bytes that they remember, what several share counted for each. */
static const size_t prefixes_max_bytes = (size_t)512 << 20;

struct prefixes {
    struct session *items[PREFIXES]; /* [count] the one used last first */
    size_t count;
};

/* Tokens of the piece that begins at `at`, where another has ended.  A long one of
 * a larger model is shorter, so that its products are about 2^34 multiplications:
 * a fraction of a second of one core. */
size_t prefixes_piece(const struct model_facts *facts, bool exact, size_t at);

/* *ret: a session that has read what the first of `ids` have in common with the
 * best of those kept, less than all of them; a new one when that is nothing.
 * `exact`: one with that attention (session_open_exact, as it is usual). */
int prefixes_fork(struct prefixes *prefixes, struct model *model, bool exact,
                  const int32_t *ids, size_t count, struct session **ret,
                  struct err *err);
/* Keeps what the session has read of a prompt, all of it in pieces but for the
 * last one; drops the one used longest ago where that is too much. */
void prefixes_keep(struct prefixes *prefixes, struct model *model,
                   struct session *session);
/* Before the model is closed. */
void prefixes_clear(struct prefixes *prefixes);

#endif
