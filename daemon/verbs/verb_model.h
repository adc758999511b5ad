/* The models in use, as JSON. */
#ifndef DAEMON_VERBS_VERB_MODEL_H
#define DAEMON_VERBS_VERB_MODEL_H

#include "base/json.h"
#include "daemon/daemon.h"

/* Adds a member "model", and "answer_model" where another one writes answers. */
void models_put(struct json *json, const struct daemon *daemon);
/* Has them opened, and waits for that. */
void models_open(const struct daemon *daemon);

#endif
