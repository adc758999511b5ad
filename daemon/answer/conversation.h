/* Conversations: what was asked under one name, so that a question may follow
 * up the one before ("and for indexes?", "how do I turn it off?").
 *
 * Bounded: so many sessions, turns and bytes; a session that was not used for
 * half an hour is forgotten, and when there are too many, the one that was used
 * longest ago.  Kept in memory only.  Threads may share it. */
#ifndef DAEMON_ANSWER_CONVERSATION_H
#define DAEMON_ANSWER_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONVERSATIONS_MAX = 64,
    CONVERSATION_TURNS = 3,       /* remembered */
    CONVERSATION_NODES = 4,       /* of a turn */
    CONVERSATION_QUESTION = 1000, /* bytes remembered of one */
    CONVERSATION_NAME = 64,       /* bytes of its name */
    CONVERSATION_MS = 30 * 60 * 1000
};

struct conversation_turn {
    char question[CONVERSATION_QUESTION + 1];
    uint64_t nodes[CONVERSATION_NODES]; /* [node_count] that answered it */
    size_t node_count;
    bool follows; /* it followed up the one before */
};

/* The turns that a question may follow up: the last first, back to the one that
 * stood alone. */
struct conversation_past {
    struct conversation_turn turns[CONVERSATION_TURNS];
    size_t count; /* 0: it begins, or was forgotten */
    size_t asked; /* turns before, also those that are forgotten */
};

/* Takes the question's text, as much of it as is remembered. */
void conversation_turn_ask(struct conversation_turn *turn,
                           const char *question);

struct conversations;
struct conversations *conversations_new(void);
void conversations_free(struct conversations *all); /* NULL: ok */

/* `now_ms`: clock_ms(). */
void conversations_past(struct conversations *all, const char *name,
                        int64_t now_ms, struct conversation_past *ret);
void conversations_add(struct conversations *all, const char *name,
                       int64_t now_ms, const struct conversation_turn *turn);

/* Whether the question names a subject: a word that not every conversation
 * has.  What things have counts here ("and the parameters?"): a section may be called so. */
bool conversation_names(const char *question);

/* Whether it points back: by "it", "those" and the like before it names a subject, or
 * by "it" in the clause that does.  English. */
bool conversation_points_back(const char *question);

/* Whether the question cannot be understood alone: it begins as one that goes
 * on ("and", "what about"), points back, or names no subject but what things have
 * ("the default").  English. */
bool conversation_follows(const char *question);

#endif
