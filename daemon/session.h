/* Conversations: what was asked under one name, so that a question may follow
 * up the one before ("and for indexes?", "how do I turn it off?").
 *
 * Bounded: so many sessions, turns and bytes; a session that was not used for
 * half an hour is forgotten, and when there are too many, the one that was used
 * longest ago.  Kept in memory only.  Threads may share it. */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSIONS_MOST = 64,
    SESSION_TURNS = 3,       /* remembered */
    SESSION_NODES = 4,       /* of a turn */
    SESSION_QUESTION = 1000, /* bytes remembered of one */
    SESSION_NAME = 64,       /* bytes of its name */
    SESSION_MS = 30 * 60 * 1000
};

struct session_turn {
    char question[SESSION_QUESTION + 1];
    uint64_t nodes[SESSION_NODES]; /* [node_count] that answered it */
    size_t node_count;
    bool follows; /* it followed up the one before */
};

/* What a question may follow up: the last turn first, back to the one that
 * stood alone. */
struct session_past {
    struct session_turn turns[SESSION_TURNS];
    size_t count; /* 0: it begins, or was forgotten */
    size_t asked; /* turns before, also those that are forgotten */
};

/* Takes the question's text, as much of it as is remembered. */
void session_turn_ask(struct session_turn *turn, const char *question);

struct sessions;
struct sessions *sessions_new(void);
void sessions_free(struct sessions *sessions); /* NULL: ok */

/* `now_ms`: clock_ms(). */
void sessions_past(struct sessions *sessions, const char *name, int64_t now_ms,
                   struct session_past *ret);
void sessions_add(struct sessions *sessions, const char *name, int64_t now_ms,
                  const struct session_turn *turn);

/* Whether the question names a subject: a word that not every conversation
 * has. */
bool session_names(const char *question);

/* Whether the question cannot be understood alone: it begins as one that goes
 * on ("and", "what about"), points back ("it", "those") before it names a
 * subject, or names none.  English. */
bool session_follows(const char *question);

#endif
