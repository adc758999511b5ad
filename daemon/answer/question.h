/* A question as the model sees it. */
#ifndef DAEMON_ANSWER_QUESTION_H
#define DAEMON_ANSWER_QUESTION_H

#include "daemon/verbs/verbs.h"

struct question {
    float *vector;         /* [key_width] in key space; NULL: words alone */
    struct hash128 policy; /* of the vectors it may be compared with */
    bool embeds;           /* the model is made to embed texts */
    struct pieces *pieces; /* to be compared; NULL: none */
    const char *model;     /* its name; NULL: none took part */
    const char *reranker; /* the name of the model that put the first `reranked`
                              hits in order; NULL: none did */
    size_t reranked;
    double ms;
};

/* For a `mode` of routing.  Where words do, too, a model that fails or takes
 * long to open is no error: the vector is NULL then.  ERR_MODEL,
 * ERR_CANCELLED. */
int question_embed(const struct call *call, const char *text, int mode,
                   struct question *ret, struct err *err);
void question_free(struct question *question);

#endif
