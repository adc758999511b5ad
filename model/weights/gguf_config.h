/* A model's configuration from a GGUF file's metadata, as a config.json says it. */
#ifndef MODEL_WEIGHTS_GGUF_CONFIG_H
#define MODEL_WEIGHTS_GGUF_CONFIG_H

#include "base/gguf.h"
#include "model/weights/model_config.h"

/* Appends that config.json.  ERR_FORMAT: an architecture that is not supported,
 * or a key that is missing, of another type or not supported, by its name. */
int gguf_config_json(const struct gguf *gguf, struct buf *ret, struct err *err);

/* The same, read; the names of its weights are a GGUF file's. */
int gguf_config_from(const struct gguf *gguf, struct model_config *ret,
                     struct err *err);

#endif
