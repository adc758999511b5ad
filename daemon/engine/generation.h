/* Answers under way, on the engine's thread. */
#ifndef DAEMON_ENGINE_GENERATION_H
#define DAEMON_ENGINE_GENERATION_H

#include "daemon/engine/engine_internal.h"

/* A piece of a prompt and a token of each answer under way (at least one is);
 * ends those that are done. */
void generating_round(struct engine *engine);

#endif
