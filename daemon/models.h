/* What the model in use is, as JSON. */
#ifndef DAEMON_MODELS_H
#define DAEMON_MODELS_H

#include "daemon/engine.h"

/* A member "model". */
void models_put(struct json *json, struct engine *engine);

#endif
