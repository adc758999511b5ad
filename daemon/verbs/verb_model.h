/* The model in use, as JSON. */
#ifndef DAEMON_VERBS_VERB_MODEL_H
#define DAEMON_VERBS_VERB_MODEL_H

#include "daemon/engine/engine.h"

/* A member "model". */
void models_put(struct json *json, struct engine *engine);

#endif
