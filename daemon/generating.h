/* Answers under way, on the engine's thread. */
#ifndef DAEMON_GENERATING_H
#define DAEMON_GENERATING_H

#include "daemon/engine_parts.h"

/* A piece of a prompt and a token of each answer under way (at least one is);
 * ends those that are done. */
void generating_round(struct engine *engine);

#endif
