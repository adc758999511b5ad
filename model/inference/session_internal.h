/* What the files of sessions share. */
#ifndef MODEL_INFERENCE_SESSION_INTERNAL_H
#define MODEL_INFERENCE_SESSION_INTERNAL_H

#include "model/inference/forward.h"
#include "model/inference/sample.h"

/* `logits` are those of the token at length - 1 when `fresh`; they stay on the
 * device until somebody asks for them, or for the likeliest of them.  The tokens
 * from `kept` on, if any, must be read again before the next.  With HiCI
 * attention the first `text` tokens are read as a whole; as published
 * all of them depend on its end, and are read again when that is forgotten. */
struct session {
    struct model *model;
    struct cache cache; /* of the first `kept` tokens */
    int32_t *ids;       /* [length] that were read */
    size_t length, kept, text, id_capacity;
    float *begin;  /* [width] stands in the first token's place; NULL: none */
    float *logits; /* [vocabulary], on the device */
    bool fresh;
    /* Of the fresh ones, as far as they were asked for: */
    bool here, listed;
    float *host_logits; /* [vocabulary] */
    struct kernel_top_k top_k;
    struct sampler sampler;
};

/* Makes room for `count` tokens in all. */
int session_room(struct session *session, size_t count, struct err *err);

#endif
