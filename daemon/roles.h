/* Roles: which engine's model makes memories, and which writes answers.
 *
 * Two roles that name one model are held as one: the engine of memories then
 * answers, and the engine of answers holds none.  A reranker has an engine of its
 * own, and so has the included model without layers, whose pieces results are compared
 * by where that of memories has layers (daemon/answer/question_pieces.h): it is opened
 * when it is first needed, and stays. */
#ifndef DAEMON_ROLES_H
#define DAEMON_ROLES_H

#include "base/config.h"
#include "daemon/daemon.h"
#include "daemon/engine/engine.h"

/* Starts the engines with the configured models.  `options`: all but the folder. */
int roles_start(struct daemon *daemon, const struct config *config,
                struct engine_options options, struct err *err);
/* Cancel and stop them; as engine_cancel and engine_stop. */
void roles_cancel(const struct daemon *daemon);
bool roles_stop(struct daemon *daemon, int64_t deadline_ms);

/* Returns the engine whose model writes answers; the same one between roles_ref and
 * roles_unref, unless nobody is to answer any more. */
struct engine *roles_answers(const struct daemon *daemon);
/* Tells whether another model than that of memories, or none, writes answers. */
bool roles_differ(const struct daemon *daemon);

/* Take and release references to the engines. */
void roles_ref(const struct daemon *daemon);
void roles_unref(const struct daemon *daemon);

/* Has the model of a folder ("": none) take a role, or, with ROLES, memories and
 * answers.  ERR_MODEL,
 * and all is as it was, if it cannot be opened. */
int roles_use(struct daemon *daemon, enum config_role role, const char *folder,
              struct err *err);

#endif
