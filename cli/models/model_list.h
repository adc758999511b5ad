/* Folders with models, where these usually lie. */
#ifndef CLI_MODELS_MODEL_LIST_H
#define CLI_MODELS_MODEL_LIST_H

#include "cli/cli.h"

struct listed_model {
    char *path;     /* of the folder */
    char *family;   /* "model_type" of its config.json; "": none */
    uint64_t bytes; /* of its weights' files */
};

struct model_list {
    struct listed_model *models; /* [count], by path */
    size_t count, capacity;
    struct text_list places; /* looked into; their texts are the list's */
};

/* In models/ of our data folder, in the cache of Hugging Face's programs, and
 * beside the models that are configured and that come with Lectern. */
void model_list_find(const struct config *config, struct model_list *list);
void model_list_free(struct model_list *list);

#endif
