/* OpenAI's interface, for programs that speak it: what is asked in its form is put to the
 * daemon, and what comes back into its form.
 *
 * Its models are the manuals: `lectern` is all of them, `lectern:NAME` one. */
#ifndef CLI_WEB_OPENAI_H
#define CLI_WEB_OPENAI_H

#include <microhttpd.h>

#include "base/json.h"
#include "cli/web/web.h"

/* Answers a request to a path below /v1; `body` is a JSON object. */
typedef enum MHD_Result openai_answer(const struct web *web,
                                      struct MHD_Connection *connection,
                                      const cJSON *body);

/* What is for GET, with an empty body: the list of models. */
openai_answer openai_models;

/* What is for POST.  The last message of the user is asked, as by `lectern ask`; the
 * answer's text ends with its citations, which are a member of their own as well. */
openai_answer openai_chat;

/* What is for POST: vectors of `input`, by the daemon's model whatever `model` says. */
openai_answer openai_embeddings;

/* What is for POST: `documents` in the order in which they answer `query`, by the
 * daemon's reranker; the form is that of those who serve rerankers, OpenAI has none. */
openai_answer openai_rerank;

/* Appends the parameters of the daemon that say which manual a model is.  ERR_NOT_FOUND:
 * there is no such model. */
int openai_put_model(struct json *params, const char *model, struct err *err);

#endif
